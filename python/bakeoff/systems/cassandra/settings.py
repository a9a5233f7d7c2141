"""Settings of Cassandra that leave what is stored as it is, and options of a start that do."""

_RUN_TIME_NAMES = """
    batch_size_fail_threshold batch_size_warn_threshold cas_contention_timeout commitlog_segment_size commitlog_sync
    commitlog_sync_group_window commitlog_sync_period commitlog_total_space concurrent_compactors
    concurrent_counter_writes concurrent_reads concurrent_writes counter_cache_size disk_access_mode
    file_cache_enabled file_cache_size file_cache_round_up heap hinted_handoff_enabled hints_flush_period
    key_cache_save_period key_cache_size max_hint_window native_transport_max_frame_size
    native_transport_max_threads paxos_variant periodic_commitlog_sync_lag_block prepared_statements_cache_size
    range_request_timeout read_request_timeout request_timeout row_cache_save_period row_cache_size
    slow_query_log_timeout truncate_request_timeout write_request_timeout
"""
#: So that systems which differ in them can share one copy of a loaded data set.
RUN_TIME = frozenset(_RUN_TIME_NAMES.split())
