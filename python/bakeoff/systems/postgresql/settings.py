"""Settings of PostgreSQL that leave what is stored as it is."""

_RUN_TIME_NAMES = """
    autovacuum autovacuum_analyze_scale_factor autovacuum_analyze_threshold autovacuum_max_workers autovacuum_naptime
    autovacuum_vacuum_cost_delay autovacuum_vacuum_cost_limit autovacuum_vacuum_scale_factor
    autovacuum_vacuum_threshold autovacuum_work_mem backend_flush_after bgwriter_delay bgwriter_flush_after
    bgwriter_lru_maxpages bgwriter_lru_multiplier checkpoint_completion_target checkpoint_flush_after
    checkpoint_timeout commit_delay commit_siblings deadlock_timeout default_transaction_isolation
    effective_cache_size effective_io_concurrency fsync full_page_writes hash_mem_multiplier huge_pages
    io_combine_limit io_method io_workers jit lock_timeout maintenance_work_mem max_connections max_parallel_workers
    max_parallel_workers_per_gather max_wal_size max_worker_processes min_wal_size plan_cache_mode random_page_cost
    seq_page_cost shared_buffers statement_timeout synchronous_commit temp_buffers track_io_timing wal_buffers
    wal_compression wal_sync_method wal_writer_delay wal_writer_flush_after work_mem
"""
#: Settings that leave the bytes of a loaded data set as they are, so that systems which differ in them can share one.
RUN_TIME = frozenset(_RUN_TIME_NAMES.split())
