r"""Settings of Cassandra: which there are, and which of them, as of a start's options, leave what is stored as it is.

The names that a series of versions knows lie in a file beside this one, those of before it was renamed included. Such a
file is made, with a JDK, from the jars of one of the series:

    javap -v -public -cp '.../lib/*' org.apache.cassandra.config.Config |
        grep -oP '^  public (?!static).* \K\w+(?=;$)|oldName="\K\w+' | sort -u > .../cassandra/setting_names/5.0.txt
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bakeoff.errors import PlanError

from ...suggestions import meant

_NAMES = Path(__file__).parent / "setting_names"
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


def names_of(version: str) -> list[str]:
    """Of the settings that this version knows; empty for a series that nobody has listed."""
    path = _NAMES / f"{'.'.join(version.split('.')[:2])}.txt"
    return path.read_text().split() if path.is_file() else []


def refuse_unknown(names: Iterable[str], version: str, where: str) -> None:
    """Settings of a plan, some of them by a place inside them (`memtable.configurations`). Raises PlanError."""
    known = names_of(version)
    for name in names if known else ():
        if name.partition(".")[0] not in known:
            what = f"Cassandra {version} does not know the setting {name!r}"
            raise PlanError(what, where=f"{where}.start.settings", hint=meant(name, known))
