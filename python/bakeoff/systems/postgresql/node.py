"""What a PostgreSQL server says about itself: effective settings, counters, gauges, write-back debt, size.

Everything here only reads. Its statistics views differ from major to major, so each is asked for as a whole, and only
where it is there: `wal.wal_bytes` is the column `wal_bytes` of `pg_stat_wal`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property
from typing import Any

from bakeoff.errors import ServerError
from bakeoff.systems.base import Facts
from bakeoff.systems.durability import of_postgresql
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.system import TRANSACTIONS, ServerNode, Status

#: Settings that decide comparisons: shown even where they have their default value.
_DECISIVE_NAMES = """
    autovacuum checkpoint_completion_target checkpoint_timeout commit_delay data_checksums
    default_transaction_isolation effective_cache_size fsync full_page_writes huge_pages io_method jit
    max_connections max_wal_size shared_buffers ssl synchronous_commit synchronous_standby_names wal_compression
    wal_level wal_sync_method work_mem
"""
DECISIVE = frozenset(_DECISIVE_NAMES.split())
#: Settings of text that shape a load. Others may hold passwords (of replication, of commands), so of an existing server
#: none but these are copied; numbers, switches and choices hold no secret.
_TEXT = ("default_table_access_method", "lc_collate", "server_encoding", "synchronous_standby_names", "TimeZone")
#: Say where an instance is or who made it, or pass by, and would only make noise in a comparison of settings.
_NOT_SETTINGS = re.compile(
    r"(_directory|_directories|_file|_command|_library)$|^(port|listen_addresses|cluster_name|application_name|"
    r"client_encoding|data_directory_mode|in_hot_standby|lc_(messages|monetary|numeric|time)|log_\w+|"
    r"server_version|server_version_num|shared_memory_size\w*|num_os_semaphores|transaction_\w+|"
    r"default_text_search_config|config_file|external_pid_file|unix_socket_\w+|event_source|"
    r"ssl_\w+|DateStyle|TimeZone|timezone_abbreviations|log_timezone|dynamic_shared_memory_type|max_stack_depth|primary_conninfo|"
    r"primary_slot_name)$"
)

#: Views of one row for the whole server or the database; a major has those that exist.
_VIEWS = ("pg_stat_wal", "pg_stat_bgwriter", "pg_stat_checkpointer")
#: Columns of those that come and go, or are no measure.
_NOT_COUNTERS = {"datid", "numbackends", "checksum_last_failure", "stats_reset", "datname"}
#: Of all tables of the database together.
_TABLES_NAMES = """
    seq_scan idx_scan n_tup_hot_upd vacuum_count autovacuum_count analyze_count autoanalyze_count
"""
_TABLES = tuple(_TABLES_NAMES.split())


def durability_settings(control: Control) -> dict[str, str]:
    """Those that decide what survives, as `of_postgresql` wants them."""
    names = ("fsync", "full_page_writes", "synchronous_commit", "wal_writer_delay")
    return {name: str(control.value("SELECT current_setting($1)", name)) for name in names}


#: Where the write-ahead log ends, bytes since its beginning; of a standby where it has been replayed to.
_WAL_POSITION = (
    "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - '0/0'::pg_lsn)"
)


_CHECKPOINT_AGE = f"{_WAL_POSITION} - (redo_lsn - '0/0'::pg_lsn) FROM pg_control_checkpoint()"
_DEAD_ROWS = "COALESCE(sum(n_dead_tup), 0) FROM pg_catalog.pg_stat_user_tables"
_DIRTY_BYTES = "count(*) FILTER (WHERE isdirty) * current_setting('block_size')::bigint FROM {schema}.pg_buffercache"


class PostgreSqlNode(ServerNode):
    def read_facts(self) -> Facts:
        settings, value = self._settings(), self.control.value
        collation = "SELECT datcollate FROM pg_catalog.pg_database WHERE datname = current_database()"
        return Facts(
            product="PostgreSQL",
            version=str(value("SHOW server_version")).partition(" ")[0],  # without what the packager adds
            settings=settings,
            portable={
                **of_postgresql(durability_settings(self.control)).facts(),
                "isolation": settings["default_transaction_isolation"].replace(" ", "-"),
                "memory_bytes": str(value("SELECT pg_size_bytes(current_setting('shared_buffers'))")),
                "collation": str(value(collation)),  # what texts are sorted by
            },
        )

    def _settings(self) -> dict[str, str]:
        """Decisive ones, and others that differ from what the server was compiled with, as the server writes them."""
        rows = self.control.rows(
            "SELECT name, current_setting(name, true), setting IS DISTINCT FROM boot_val, vartype = 'string'"
            " FROM pg_catalog.pg_settings ORDER BY name"
        )
        return {
            str(name): str(value)
            for name, value, changed, is_text in rows
            if value is not None and self._is_told(str(name), bool(changed), bool(is_text))
        }

    def _is_told(self, name: str, changed: bool, is_text: bool) -> bool:
        if name in DECISIVE:
            return True
        if not changed or _NOT_SETTINGS.search(name):
            return name in _TEXT and changed
        return self.access.managed or not is_text or name in _TEXT

    @cached_property
    def _views(self) -> list[str]:
        """Those of `_VIEWS` that this major has."""
        rows = self.control.rows(
            "SELECT viewname FROM pg_catalog.pg_views WHERE schemaname = 'pg_catalog' AND viewname = ANY($1)",
            list(_VIEWS),
        )
        return sorted(str(name) for (name,) in rows)

    def read_status(self) -> Status:
        ones = "".join(f", '{name}', (SELECT to_jsonb(v) FROM pg_catalog.{name} v)" for name in self._views)
        sums = ", ".join(f"'{name}', sum({name})" for name in _TABLES)
        told: dict[str, Any] = self.control.value(
            "SELECT jsonb_build_object("
            "'pg_stat_database', (SELECT to_jsonb(d) FROM pg_catalog.pg_stat_database d"
            " WHERE datname = current_database()),"
            f"'tables', (SELECT jsonb_build_object({sums}) FROM pg_catalog.pg_stat_user_tables),"
            "'sessions', (SELECT jsonb_build_object('active', count(*) FILTER (WHERE state = 'active'),"
            " 'idle_in_transaction', count(*) FILTER (WHERE state LIKE 'idle in transaction%'),"
            " 'waiting_for_locks', count(*) FILTER (WHERE wait_event_type = 'Lock'))"
            " FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),"
            f"'wal_position_bytes', {_WAL_POSITION}{ones})"
        )
        counters = {"wal_position_bytes": float(told.pop("wal_position_bytes"))}
        gauges = {f"sessions.{name}": float(value) for name, value in told.pop("sessions").items()}
        for view, row in told.items():
            for column, value in row.items():
                if column not in _NOT_COUNTERS and isinstance(value, int | float):
                    counters[f"{view.removeprefix('pg_stat_')}.{column}"] = float(value)
        counters[TRANSACTIONS] = counters["database.xact_commit"] + counters["database.xact_rollback"]
        return Status(counters, gauges)

    def read_debt(self) -> dict[str, float]:
        """A part that the server does not tell is left out. checkpoint_age_bytes: log written since the last checkpoint
        began. dead_rows: an estimate of the server's own."""
        asked = {"checkpoint_age_bytes": _CHECKPOINT_AGE, "dead_rows": _DEAD_ROWS}
        buffercache = self.control.value(
            "SELECT quote_ident(nspname) FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n"
            " ON n.oid = e.extnamespace WHERE extname = 'pg_buffercache'"
        )
        if buffercache is not None:
            asked = {"dirty_bytes": _DIRTY_BYTES.format(schema=buffercache), **asked}
        debt: dict[str, float] = {}
        for name, sql in asked.items():
            with suppress(ServerError):  # needs a privilege that an ordinary account has not
                debt[name] = float(self.control.value(f"SELECT {sql}"))
        return debt

    def cipher(self, control: Control) -> str:
        return str(control.value("SELECT cipher FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid()") or "")
