"""Settings of the MySQL family that shape a load: speed, memory, durability, isolation, the meaning of statements.

Of an existing server the values of these alone are copied into bundles. It is a list of names because nobody can list
all that may be secret there: credentials of replication, keys of plugins, commands with passwords in them.

A star is at settings that leave the bytes of a loaded data set as they are, so that systems which differ in them can
share one: where a server takes data that were written under any other value. (The size of the redo log has none: older
servers refuse to start.)
"""

_NAMES = """
    alter_algorithm analyze_max_length analyze_sample_percentage aria_block_size aria_checkpoint_interval
    aria_checkpoint_log_activity aria_encrypt_tables aria_force_start_after_recovery_failures aria_group_commit
    aria_group_commit_interval aria_log_file_size aria_log_purge_type aria_max_sort_file_size aria_page_checksum
    aria_pagecache_age_threshold aria_pagecache_buffer_size aria_pagecache_division_limit
    aria_pagecache_file_hash_size aria_recover_options aria_repair_threads aria_sort_buffer_size aria_stats_method
    aria_sync_log_dir autocommit back_log* big_tables binlog_alter_two_phase binlog_annotate_row_events
    binlog_cache_size binlog_checksum binlog_commit_wait_count binlog_commit_wait_usec
    binlog_direct_non_transactional_updates binlog_encryption binlog_expire_logs_seconds binlog_file_cache_size
    binlog_format binlog_optimize_thread_scheduling binlog_row_event_max_size binlog_row_image binlog_row_metadata
    binlog_stmt_cache_size binlog_transaction_compression bulk_insert_buffer_size character_set_client_handshake
    character_set_filesystem character_set_server collation_server completion_type concurrent_insert
    deadlock_search_depth_long deadlock_search_depth_short deadlock_timeout_long deadlock_timeout_short
    default_storage_engine default_table_encryption default_time_zone default_tmp_storage_engine delay_key_write
    div_precision_increment encrypt_binlog encrypt_tmp_disk_tables encrypt_tmp_files enforce_gtid_consistency
    eq_range_index_dive_limit event_scheduler expensive_subquery_limit expire_logs_days
    explicit_defaults_for_timestamp external_locking extra_max_connections flush flush_time general_log*
    group_concat_max_len gtid_mode gtid_strict_mode histogram_size histogram_type idle_readonly_transaction_timeout
    idle_transaction_timeout idle_write_transaction_timeout in_predicate_conversion_threshold
    innodb_adaptive_flushing* innodb_adaptive_flushing_lwm* innodb_adaptive_hash_index*
    innodb_adaptive_hash_index_parts* innodb_alter_copy_bulk innodb_autoextend_increment innodb_autoinc_lock_mode
    innodb_buffer_pool_chunk_size* innodb_buffer_pool_dump_at_shutdown* innodb_buffer_pool_dump_pct*
    innodb_buffer_pool_in_core_dump innodb_buffer_pool_instances* innodb_buffer_pool_load_at_startup*
    innodb_buffer_pool_size* innodb_buffer_pool_size_auto_min innodb_buffer_pool_size_max
    innodb_change_buffer_max_size innodb_change_buffering innodb_checksum_algorithm innodb_cleaner_lsn_age_factor
    innodb_commit_concurrency* innodb_compression_algorithm innodb_compression_default
    innodb_compression_failure_threshold_pct innodb_compression_level innodb_compression_pad_pct_max
    innodb_ddl_buffer_size innodb_ddl_threads innodb_deadlock_detect* innodb_deadlock_report innodb_dedicated_server
    innodb_default_row_format innodb_defragment innodb_defragment_fill_factor innodb_defragment_fill_factor_n_recs
    innodb_defragment_frequency innodb_defragment_n_pages innodb_defragment_stats_accuracy
    innodb_disable_sort_file_cache innodb_doublewrite* innodb_doublewrite_batch_size innodb_doublewrite_files
    innodb_doublewrite_pages innodb_empty_free_list_algorithm innodb_encrypt_log innodb_encrypt_tables
    innodb_encrypt_temporary_tables innodb_encryption_rotate_key_age innodb_encryption_rotation_iops
    innodb_encryption_threads innodb_extend_and_initialize innodb_fast_shutdown
    innodb_fatal_semaphore_wait_threshold innodb_fill_factor innodb_flush_log_at_timeout*
    innodb_flush_log_at_trx_commit* innodb_flush_method* innodb_flush_neighbors* innodb_flush_sync*
    innodb_flushing_avg_loops* innodb_force_primary_key innodb_force_recovery innodb_idle_flush_pct
    innodb_immediate_scrub_data_uncompressed innodb_instant_alter_column_allowed innodb_io_capacity*
    innodb_io_capacity_max* innodb_linux_aio innodb_lock_wait_timeout* innodb_log_buffer_size*
    innodb_log_compressed_pages innodb_log_file_buffering innodb_log_file_mmap innodb_log_file_size
    innodb_log_files_in_group innodb_log_spin_wait_delay innodb_log_write_ahead_size innodb_log_writer_threads
    innodb_lru_scan_depth* innodb_max_purge_lag* innodb_max_purge_lag_delay* innodb_max_purge_lag_wait
    innodb_max_undo_log_size innodb_numa_interleave* innodb_old_blocks_pct* innodb_old_blocks_time*
    innodb_online_alter_log_max_size innodb_open_files innodb_optimize_fulltext_only innodb_page_cleaners*
    innodb_page_size innodb_parallel_read_threads innodb_prefix_index_cluster_optimization innodb_purge_batch_size*
    innodb_purge_threads* innodb_random_read_ahead* innodb_read_ahead_threshold* innodb_read_io_threads*
    innodb_read_only innodb_read_only_compressed innodb_redo_log_capacity innodb_rollback_on_timeout
    innodb_snapshot_isolation* innodb_sort_buffer_size innodb_spin_wait_delay* innodb_stats_auto_recalc
    innodb_stats_include_delete_marked innodb_stats_method innodb_stats_modified_counter innodb_stats_on_metadata
    innodb_stats_persistent innodb_stats_persistent_sample_pages innodb_stats_traditional
    innodb_stats_transient_sample_pages innodb_strict_mode innodb_sync_spin_loops* innodb_table_locks
    innodb_thread_concurrency* innodb_undo_log_truncate innodb_undo_tablespaces innodb_use_atomic_writes
    innodb_use_fdatasync innodb_use_native_aio* innodb_write_io_threads* interactive_timeout*
    internal_tmp_mem_storage_engine join_buffer_size* join_buffer_space_limit join_cache_level key_buffer_size*
    key_cache_age_threshold key_cache_block_size key_cache_division_limit key_cache_file_hash_size
    key_cache_segments large_pages* lock_wait_timeout* log_bin log_error_verbosity log_output
    log_queries_not_using_indexes log_replica_updates log_slave_updates log_slow_admin_statements
    log_slow_disabled_statements log_slow_max_warnings log_slow_min_examined_row_limit log_slow_query
    log_slow_query_time log_slow_rate_limit log_slow_slave_statements log_slow_verbosity long_query_time*
    low_priority_updates lower_case_table_names max_allowed_packet max_binlog_cache_size max_binlog_size
    max_binlog_stmt_cache_size max_connections* max_delayed_threads max_execution_time* max_heap_table_size*
    max_join_size max_length_for_sort_data max_prepared_stmt_count* max_session_mem_used max_sort_length
    max_statement_time* max_user_connections* memlock metadata_locks_cache_size metadata_locks_hash_instances*
    min_examined_row_limit mrr_buffer_size myisam_mmap_size myisam_repair_threads myisam_sort_buffer_size
    net_buffer_length net_read_timeout* net_retry_count net_write_timeout* old_mode open_files_limit*
    optimizer_adjust_secondary_key_costs optimizer_extra_pruning_depth optimizer_join_limit_pref_ratio
    optimizer_max_sel_arg_weight optimizer_max_sel_args optimizer_prune_level* optimizer_search_depth*
    optimizer_selectivity_sampling_limit optimizer_switch* optimizer_use_condition_selectivity performance_schema*
    preload_buffer_size progress_report_time query_alloc_block_size query_cache_limit* query_cache_min_res_unit
    query_cache_size* query_cache_strip_comments query_cache_type* query_cache_wlock_invalidate query_prealloc_size
    range_alloc_block_size read_buffer_size* read_rnd_buffer_size* replica_parallel_type replica_parallel_workers
    replica_preserve_commit_order require_secure_transport rocksdb_block_cache_size*
    rocksdb_flush_log_at_trx_commit* rocksdb_max_background_jobs rowid_merge_buff_size rpl_semi_sync_master_enabled
    rpl_semi_sync_master_timeout rpl_semi_sync_master_wait_no_slave rpl_semi_sync_master_wait_point
    rpl_semi_sync_replica_enabled rpl_semi_sync_slave_enabled rpl_semi_sync_source_enabled
    rpl_semi_sync_source_wait_point skip_name_resolve* skip_networking slave_parallel_max_queued slave_parallel_mode
    slave_parallel_threads slave_parallel_workers slow_query_log* sort_buffer_size* sql_mode sql_safe_updates
    stored_program_cache sync_binlog* sync_frm sync_master_info sync_relay_log sync_relay_log_info
    table_definition_cache* table_encryption_privilege_check table_open_cache* table_open_cache_instances*
    temptable_max_mmap temptable_max_ram thread_cache_size* thread_handling* thread_pool_algorithm
    thread_pool_idle_timeout thread_pool_max_threads* thread_pool_oversubscribe* thread_pool_prio_kickup_timer
    thread_pool_priority thread_pool_size* thread_pool_stall_limit* thread_stack* time_zone tls_version
    tmp_disk_table_size tmp_memory_table_size tmp_table_size* transaction_alloc_block_size transaction_isolation*
    transaction_prealloc_size transaction_read_only transaction_write_set_extraction tx_isolation* use_stat_tables
    userstat wait_timeout* wsrep_causal_reads wsrep_max_ws_rows wsrep_max_ws_size wsrep_on wsrep_retry_autocommit
    wsrep_slave_threads wsrep_sync_wait wsrep_trx_fragment_size wsrep_trx_fragment_unit
"""
SHAPING = frozenset(name.removesuffix("*") for name in _NAMES.split())
RUN_TIME = frozenset(name.removesuffix("*") for name in _NAMES.split() if name.endswith("*")) | {
    "innodb_concurrency_tickets", "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm",
    "innodb_thread_sleep_delay",
}  # fmt: skip
