"""What a level of isolation means in each product: one name is not one thing. docs/method/isolation.md is made of this,
and the report says what differs between those that are compared.

Two entries mean the same where their words are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_INNODB = ("MariaDB", "MySQL", "Percona Server")
#: InnoDB with `innodb_snapshot_isolation`, on by default from here on.
_SETTING = "innodb_snapshot_isolation"
_ON_FROM = (11, 6, 2)

_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html"
_MARIADB = "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables"
_GALERA = "https://mariadb.com/docs/galera-cluster/reference/mariadb-galera-cluster-known-limitations"
_POSTGRESQL = "https://www.postgresql.org/docs/current/transaction-iso.html"
_SQLITE = "https://www.sqlite.org/isolation.html"
_STORES = {
    "redb": "https://docs.rs/redb/latest/redb/struct.Database.html",
    "LMDB": "https://docs.rs/lmdb-master-sys/latest/lmdb_master_sys/",
    "fjall": "https://docs.rs/fjall/latest/fjall/struct.SingleWriterTxDatabase.html",
}
_DUCKDB = "https://duckdb.org/docs/stable/connect/concurrency.html"
_ROCKSDB = "https://github.com/facebook/rocksdb/wiki/Transactions"

_READ_COMMITTED = (
    "each statement sees what was committed when it began, an update applies to what others committed meanwhile, and"
    " updates can be lost"
)
_SNAPSHOT = "a transaction sees one snapshot, and is aborted where it changes a row that another changed since"


@dataclass(frozen=True)
class Meaning:
    """products: as they name themselves. levels: as plans name them. where: which of their versions, as they are set;
    "": all. words: a clause about a transaction. source: of the vendor. snapshot: `innodb_snapshot_isolation`, where
    that decides."""

    products: tuple[str, ...]
    levels: tuple[str, ...]
    words: str
    source: str
    where: str = ""
    snapshot: bool | None = None


#: The first that fits is taken.
MEANINGS = (
    Meaning(_INNODB, ("read-uncommitted",), "reads see what others have not committed yet", _MYSQL),
    Meaning(_INNODB, ("read-committed",), _READ_COMMITTED, _MYSQL),
    Meaning(
        _INNODB,
        ("repeatable-read",),
        "plain reads see one snapshot, but updates apply to what others committed since, and updates can be lost",
        _MYSQL,
        "MySQL, Percona Server; MariaDB before 11.6.2, or with `innodb_snapshot_isolation = OFF`",
        snapshot=False,
    ),
    Meaning(
        ("MariaDB",),
        ("repeatable-read",),
        _SNAPSHOT,
        _MARIADB,
        "from 11.6.2 on, or with `innodb_snapshot_isolation = ON`",
        snapshot=True,
    ),
    Meaning(
        _INNODB,
        ("serializable",),
        "reads lock the rows that they read, so that others wait, and of two that wait for each other one is aborted",
        _MYSQL,
    ),
    Meaning(("PostgreSQL",), ("read-uncommitted", "read-committed"), _READ_COMMITTED, _POSTGRESQL),
    Meaning(("PostgreSQL",), ("repeatable-read", "snapshot"), _SNAPSHOT, _POSTGRESQL),
    Meaning(
        ("PostgreSQL",),
        ("serializable",),
        "no read blocks a write, and a transaction is aborted where it may fit into no serial order with the others",
        _POSTGRESQL,
        "from 9.1 on",
    ),
    Meaning(
        ("SQLite",),
        ("serializable",),
        "one transaction writes at a time, and the others wait, or are refused if they have read before",
        _SQLITE,
    ),
    *(
        Meaning((product,), ("serializable",), "one transaction writes at a time, and the others wait", source)
        for product, source in _STORES.items()
    ),
    Meaning(
        ("RocksDB",),
        ("read-committed",),
        "each read sees the newest commits, a row that is written is locked, and updates can be lost",
        _ROCKSDB,
    ),
    Meaning(("DuckDB",), ("snapshot",), _SNAPSHOT, _DUCKDB),
)
#: Besides what MariaDB's own level means.
GALERA = Meaning(
    ("Galera",),
    (),
    "between nodes the first to commit wins, others that changed the same rows are aborted, and reads are not checked",
    _GALERA,
)


def meaning_words(kind: str, product: str, version: str, settings: Mapping[str, str], level: str) -> str:
    """As a clause; "" where nobody knows. kind: of system. settings: as the server says they are."""
    snapshot = _has_snapshots(product, version, settings)
    found = (
        one for one in MEANINGS if product in one.products and level in one.levels and one.snapshot in (None, snapshot)
    )
    own = next((one.words for one in found), "")
    return f"{own}; {GALERA.words}" if own and kind == "galera" else own


def _has_snapshots(product: str, version: str, settings: Mapping[str, str]) -> bool:
    if product != "MariaDB":
        return False
    if said := settings.get(_SETTING):
        return said.upper() in ("ON", "1")
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) >= _ON_FROM
