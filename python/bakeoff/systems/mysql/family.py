"""What servers of the MySQL family share, managed or existing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field
from pymysql.constants import ER

from bakeoff.errors import PlanError
from bakeoff.systems.base import SizeOnDisk, TableSize
from bakeoff.systems.durability import of_innodb
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.formats import MariaDbFormats, MySqlFormats
from bakeoff.systems.mysql.ledger import MySqlLedger
from bakeoff.systems.mysql.node import MySqlNode, quoted, read_product, read_variables, schema_size_bytes
from bakeoff.systems.mysql.settings import RUN_TIME
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.control import Login, Refused
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.replication import ReplicaStart
from bakeoff.systems.server.system import AddressedFamily, refuse_variables
from bakeoff.systems.table_format import read_format

_USUAL = TableSize(
    ratio=1.5, row_bytes=30, table_bytes=4e6
)  # a file grows in steps of up to four extents for each index
_MEASURED = {
    "ycsb": TableSize(ratio=1.74, row_bytes=33, table_bytes=9.5e6),  # keys come in an order of chance: pages 60 % full
    "sysbench": TableSize(ratio=1.25, table_bytes=8.1e6),
    "tpcc": TableSize(ratio=1.46, table_bytes=5e6),
    # Each link twice, in an order of chance. An index takes whole extents from its 33rd page on, in each part's file.
    "linkbench": TableSize(ratio=2.77, table_bytes=5e6, part_bytes=4.7e6, part_from_bytes=5.3e5),
    "pgbench": TableSize(ratio=5.6, table_bytes=2.2e6),  # CHAR is filled up, which its values do not tell
}
#: Besides the tables: redo and undo logs, catalogs.
MARIADB_STORAGE = SizeOnDisk(_USUAL, _MEASURED, own_bytes=150_000_000)
MYSQL_STORAGE = SizeOnDisk(_USUAL, _MEASURED, own_bytes=195_000_000)


#: Of InnoDB, in whole seconds; deadlocks end at once.
LOCK_LIMIT = ("SET SESSION innodb_lock_wait_timeout = 3",)


class MySqlOptions(ServerOptions):
    user: str = "root"
    schema_: str = Field(default="bakeoff", alias="schema", min_length=1, max_length=64)
    table_format: str | None = None  # None: whatever the server makes

    @property
    def tables_in(self) -> str:
        return self.schema_


class MariaDbStart(ReplicaStart):
    waiting = "semi_sync"
    semi_sync: bool = False  # a commit is acknowledged once a replica has received it


class MariaDbOptions(MySqlOptions):
    start: MariaDbStart | None = None


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class MySqlFamily(AddressedFamily[MySqlOptions]):
    driver = "mysql"
    default_port = 3306
    options: type[MySqlOptions] = MySqlOptions
    node: ClassVar[type[MySqlNode]] = MySqlNode
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "full": {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "innodb_doublewrite": "ON"},
        "relaxed": {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
        "none": {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"},
    }
    run_time = RUN_TIME
    direct_reads = "reads by HANDLER, of which the server promises no consistent view; writes by SQL"
    formats: ClassVar[type[MySqlFormats]] = MySqlFormats
    ours = frozenset(
        {
            "basedir", "bind_address", "datadir", "init_file", "log_error", "pid_file", "port", "skip_grant_tables",
            "skip_networking", "skip_ssl", "socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key", "tmpdir", "user",
        }
    )  # fmt: skip

    def read(self, options: dict[str, Any], isolation: str | None, where: str) -> MySqlOptions:
        read = super().read(options, isolation, where)
        if read.start is not None and read.driver["server_public_key_file"] is not None:
            raise PlanError(
                "a managed server's password needs no key",
                where=f"{where}.server_public_key_file",
                hint="leave it out: the password is generated for this run",
            )
        self.table_format(read, where)
        return read

    def table_format(self, options: MySqlOptions, where: str) -> MySqlFormats | None:
        if options.table_format is None:
            return None
        return self.formats(read_format(options.table_format, where), options.schema_, where)

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("schema", "")),)

    def key_file(self, options: MySqlOptions, base_dir: Path) -> Path | None:
        file = options.driver["server_public_key_file"]
        return (base_dir / file).absolute() if file else None

    def document(self, login: Login, options: MySqlOptions) -> dict[str, Any]:
        key_file = login.server_key_file
        asked = self.table_format(options, "")
        return {
            "schema": options.schema_,
            "server_public_key_file": key_file and str(key_file),
            **({"table_options": asked.options} if asked else {}),
        }

    def control(self, login: Login, options: MySqlOptions, where: str, timeout_s: float) -> Control:
        return Control(login, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: MySqlOptions, where: str) -> MySqlLedger:
        return MySqlLedger(login, options.schema_, where)

    def refuse_session(self, login: Login, options: MySqlOptions, where: str) -> None:
        """With autocommit off nothing that a workload does outside of its own transactions is ever committed, and all
        of it looks fast."""
        said = {name.lower(): value for name, value in options.session.items()}
        with closing(Control(login, where=where)) as control:
            autocommit = said.get("autocommit") or str(control.value("SELECT @@GLOBAL.autocommit"))
            refuse_variables(options.session, partial(_set_variable, control), where)
        if autocommit.upper() not in ("1", "ON"):
            raise PlanError(
                "with autocommit off, loads and runs would commit nothing",
                where=f"{where}.session",
                hint="set autocommit = 1 there: workloads have options for transactions of more than one statement",
            )

    def level(self, control: ServerControl) -> str:
        return of_innodb(read_variables(control)).level

    def size_on_disk_bytes(self, control: ServerControl, options: MySqlOptions) -> int | None:
        return schema_size_bytes(control, read_product(control), options.schema_)


def _set_variable(control: Control, name: str, value: str) -> None:
    """As the engine sets it, which refuses a value that the server has changed."""
    control.rows(f"SET @@SESSION.{quoted(name)} = {_literal(value)}")
    for _, code, message in control.rows("SHOW WARNINGS"):
        if code == ER.TRUNCATED_WRONG_VALUE:
            raise Refused(str(message))


def _literal(value: str) -> str:
    """A number stays a number (a quoted one is refused), all else is text."""
    if _NUMBER.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


class MariaDbFamily(MySqlFamily):
    """It is started with replicas, too, and knows more formats of tables."""

    options = MariaDbOptions
    formats = MariaDbFormats


FAMILY, MARIADB_FAMILY = MySqlFamily(), MariaDbFamily()
