"""What servers of the MySQL family say about themselves: effective settings, counters, gauges, write-back debt, size.

Everything here only reads. MariaDB and MySQL keep some of it in different places.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from bakeoff.errors import ServerError
from bakeoff.systems.base import Facts
from bakeoff.systems.durability import of_innodb
from bakeoff.systems.mysql.settings import SHAPING
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.system import TRANSACTIONS, ServerNode, Status

#: Settings that decide comparisons: shown even where they have their default value.
_DECISIVE_NAMES = """
    innodb_flush_log_at_trx_commit sync_binlog log_bin innodb_doublewrite innodb_buffer_pool_size
    innodb_log_file_size innodb_redo_log_capacity innodb_flush_method innodb_io_capacity innodb_io_capacity_max
    innodb_page_size innodb_file_per_table innodb_compression_algorithm innodb_use_native_aio
    innodb_adaptive_hash_index innodb_snapshot_isolation rocksdb_block_cache_size rocksdb_flush_log_at_trx_commit
    transaction_isolation tx_isolation autocommit max_connections thread_handling query_cache_type
    performance_schema character_set_server collation_server sql_mode have_ssl require_secure_transport
"""
DECISIVE = frozenset(_DECISIVE_NAMES.split())

#: Say where an instance is, or pass by, and would only make noise in a comparison of settings.
_NOT_SETTINGS = re.compile(
    r"(dir|_basename|_index|_log_file)$|^(socket|port|bind_address|report_port|hostname|server_id|server_uid|server_uuid|log_error|init_file|"
    r"pid_file|gtid_(binlog_pos|binlog_state|current_pos|slave_pos|executed|purged)|system_time_zone|license|"
    r"version_.*|ssl_(ca|cert|key|capath|crl|crlpath)|tls_version)$"
)

#: Momentary values in SHOW GLOBAL STATUS; what else is a number there and fits `_WATCHED` only ever grows.
_GAUGES = re.compile(
    r"^(Threads_(cached|connected|running)|Open_(tables|files)|Innodb_buffer_pool_(pages|bytes)_(data|dirty|free|total|"
    r"misc|old)|Innodb_history_list_length|Innodb_checkpoint_age|Innodb_row_lock_current_waits|Innodb_data_pending_\w+|"
    r"Innodb_os_log_pending_\w+|Memory_used|Innodb_mem_\w+|Prepared_stmt_count)$",
    re.IGNORECASE,
)
_WATCHED = re.compile(
    r"^(Questions|Connections|Slow_queries|Aborted_\w+|Bytes_(received|sent)|Com_(select|insert|update|delete|replace|"
    r"begin|commit|rollback|stmt_execute|stmt_prepare)|Created_tmp_\w+|Handler_(commit|delete|read_\w+|rollback|update|"
    r"write)|Innodb_buffer_pool_(pages_flushed|pages_lru_flushed|read_requests|reads|wait_free|write_requests)|"
    r"Innodb_data_(fsyncs|read|reads|writes|written)|Innodb_dblwr_\w+|Innodb_deadlocks|Innodb_log_(waits|write_requests|"
    r"writes)|Innodb_lsn_current|Innodb_os_log_(fsyncs|written)|Innodb_pages_(created|read|written)|"
    r"Innodb_row_lock_(time|waits)|Innodb_rows_(deleted|inserted|read|updated)|Innodb_num_pages_page_\w+|"
    r"Opened_tables|Select_(scan|full_join|range)|Sort_(rows|merge_passes)|"
    r"Table_locks_waited|Rows_(read|sent)|Binlog_\w*commits)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Product:
    name: str  # "MariaDB", "MySQL", "Percona Server"
    version: str  # "10.11.19"

    @property
    def is_mariadb(self) -> bool:
        return self.name == "MariaDB"

    @property
    def tells_changes(self) -> bool:
        """Whether it says which settings are not its own defaults: MySQL does from 5.7 on."""
        return self.is_mariadb or tuple(map(int, self.version.split(".")[:2])) >= (5, 7)


def read_product(control: Control) -> Product:
    version, comment = control.rows("SELECT VERSION(), @@version_comment")[0]
    return detect_product(str(version), str(comment))


def detect_product(version: str, comment: str) -> Product:
    """From `10.11.19-MariaDB-0+deb12u1` and `Debian 12`, or `8.0.36-28` and `Percona Server (GPL)`."""
    both = f"{version} {comment}".lower()
    name = "MariaDB" if "mariadb" in both else "Percona Server" if "percona" in both else "MySQL"
    return Product(name, version.removeprefix("5.5.5-").partition("-")[0])


def read_variables(control: Control) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in control.rows("SHOW GLOBAL VARIABLES")}


@cache
def kind_of(name: str) -> Literal["gauge", "counter"] | None:
    """None: not watched. Names are few and asked for every second."""
    return "gauge" if _GAUGES.match(name) else "counter" if _WATCHED.match(name) else None


def read_status(control: Control, kind_of: Callable[[str], Literal["gauge", "counter"] | None] = kind_of) -> Status:
    counters: dict[str, float] = {}
    gauges: dict[str, float] = {}
    for name, value in control.rows("SHOW GLOBAL STATUS"):
        kind = kind_of(str(name))
        number = _number(value) if kind else None
        if number is not None:
            (gauges if kind == "gauge" else counters)[str(name)] = number
    counters[TRANSACTIONS] = counters["Com_commit"] + counters["Com_rollback"]
    return Status(counters, gauges)


def dirty_pages(status: Status) -> float:
    return status.gauges["Innodb_buffer_pool_pages_dirty"]


def read_debt(control: Control, status: Status, page_size_bytes: int) -> dict[str, float]:
    """What the server still has to write back or clean up. A part that the server does not tell is left out."""
    gauges = status.gauges
    debt: dict[str, float] = {}
    if "Innodb_buffer_pool_bytes_dirty" in gauges:
        debt["dirty_bytes"] = gauges["Innodb_buffer_pool_bytes_dirty"]
    elif "Innodb_buffer_pool_pages_dirty" in gauges:
        debt["dirty_bytes"] = gauges["Innodb_buffer_pool_pages_dirty"] * page_size_bytes
    if "Innodb_checkpoint_age" in gauges:
        debt["checkpoint_age_bytes"] = gauges["Innodb_checkpoint_age"]
    history = gauges.get("Innodb_history_list_length")
    if history is None:
        history = _number_or_none(
            control, "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'"
        )
    if history is not None:
        debt["history_length"] = history
    return debt


def schema_size_bytes(control: Control, product: Product, schema: str) -> int | None:
    """Space that the schema's files occupy, or where the server will not tell, what its tables claim."""
    table = "INNODB_SYS_TABLESPACES" if product.is_mariadb else "INNODB_TABLESPACES"
    allocated = _number_or_none(
        control, f"SELECT SUM(ALLOCATED_SIZE) FROM information_schema.{table} WHERE NAME LIKE %s", f"{like(schema)}/%"
    )
    if allocated is not None:
        return int(allocated)
    claimed = _number_or_none(
        control,
        "SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
        schema,
    )
    return None if claimed is None else int(claimed)


def quoted(identifier: str) -> str:
    return "`" + identifier.replace("`", "``") + "`"


def like(text: str) -> str:
    """For a LIKE pattern or the schema of a GRANT, where `_` and `%` mean more than themselves."""
    return re.sub(r"([\\_%])", r"\\\1", text)


def _number_or_none(control: Control, sql: str, *parameters: object) -> float | None:
    try:
        return _number(control.value(sql, *parameters))
    except ServerError:
        return None  # needs a privilege that an ordinary account has not


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


#: Names of settings that are not the product's compiled defaults.
_CHANGED_IN_MARIADB = (
    "SELECT VARIABLE_NAME FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL "
    "AND GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO') AND NOT (GLOBAL_VALUE <=> DEFAULT_VALUE)"
)
_CHANGED_IN_MYSQL = "SELECT VARIABLE_NAME FROM performance_schema.variables_info WHERE VARIABLE_SOURCE <> 'COMPILED'"


class MySqlNode(ServerNode):
    @cached_property
    def _page_size_bytes(self) -> int:
        """InnoDB's: a variable of newer servers, a status of all."""
        return int(self.control.rows("SHOW GLOBAL STATUS LIKE 'Innodb_page_size'")[0][1])

    def read_facts(self) -> Facts:
        product = read_product(self.control)
        variables = read_variables(self.control)
        isolation = variables.get("transaction_isolation") or variables.get("tx_isolation") or "unknown"
        return Facts(
            product=product.name,
            version=product.version,
            settings=self.read_settings(product, variables),
            portable={
                **of_innodb(variables).facts(),
                "isolation": isolation.lower(),
                "memory_bytes": variables.get("innodb_buffer_pool_size", "unknown"),
            },
        )

    def read_settings(self, product: Product, variables: dict[str, str]) -> dict[str, str]:
        """Decisive ones, and others that differ from the product's compiled default: of a server of ours all, of an
        existing one those that are known to shape a load, because anything else may be its owner's secret. Of a server
        that does not tell which differ: all that are known to shape a load."""
        if product.tells_changes:
            rows = self.control.rows(_CHANGED_IN_MARIADB if product.is_mariadb else _CHANGED_IN_MYSQL)
            changed = {str(name).lower() for (name,) in rows}
        else:
            changed = set(SHAPING)
        kept = (
            (name for name in changed if not _NOT_SETTINGS.search(name)) if self.access.managed else changed & SHAPING
        )
        return {name: variables[name] for name in sorted(DECISIVE.union(kept)) if name in variables}

    def read_status(self) -> Status:
        return read_status(self.control)

    def read_debt(self) -> dict[str, float]:
        return read_debt(self.control, read_status(self.control), self._page_size_bytes)

    def cipher(self, control: Control) -> str:
        rows = control.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return str(rows[0][1]) if rows else ""
