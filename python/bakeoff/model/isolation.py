"""What a level of isolation means in each product: one name is not one thing. docs/method/isolation.md is made of this,
and the report says what differs between those that are compared.

Two entries mean the same where their words are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_INNODB = ("MariaDB", "MySQL", "Percona Server")
#: InnoDB with `innodb_snapshot_isolation`, on by default from here on.
SNAPSHOT_SETTING = "innodb_snapshot_isolation"
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
_REFERENCE = "../reference/systems/reference.md"
_ROCKSDB = "https://github.com/facebook/rocksdb/wiki/Transactions"

_READ_COMMITTED = (
    "each statement sees what was committed when it began, an update applies to what others committed meanwhile, and"
    " updates can be lost"
)
_SNAPSHOT = "a transaction sees one snapshot, and is aborted where it changes a row that another changed since"


#: Anomalies by the names of the schedules that `bakeoff verify` runs (crates/experiments).
WRITE_SKEW = ("G2-item", "G2", "G2-three")
#: Writes see more than reads do.
_OF_WRITES = ("PMP-write", "P4", "G-single-write", *WRITE_SKEW)
_BETWEEN_STATEMENTS = ("PMP", "G-single", "G-single-predicate", *_OF_WRITES)
_UNCOMMITTED = ("G1a", "G1b", "G1c", "OTV", *_BETWEEN_STATEMENTS)


LevelName = Literal["read-uncommitted", "read-committed", "snapshot", "serializable"]


@dataclass(frozen=True)
class Meaning:
    """products: as they name themselves. levels: as plans name them. where: which of their versions, as they are set;
    "": all. words: a clause about a transaction. source: of the vendor. allows: anomalies that these words do not
    exclude. snapshot: `innodb_snapshot_isolation`, where that decides."""

    products: tuple[str, ...]
    levels: tuple[str, ...]
    words: str
    source: str
    allows: tuple[str, ...] = ()
    where: str = ""
    snapshot: bool | None = None


#: The first that fits is taken.
MEANINGS = (
    Meaning(_INNODB, ("read-uncommitted",), "reads see what others have not committed yet", _MYSQL, _UNCOMMITTED),
    Meaning(_INNODB, ("read-committed",), _READ_COMMITTED, _MYSQL, _BETWEEN_STATEMENTS),
    Meaning(
        _INNODB,
        ("repeatable-read",),
        "plain reads see one snapshot, but updates apply to what others committed since, and updates can be lost",
        _MYSQL,
        _OF_WRITES,
        "MySQL, Percona Server; MariaDB before 11.6.2, or with `innodb_snapshot_isolation = OFF`",
        snapshot=False,
    ),
    Meaning(
        ("MariaDB",),
        ("repeatable-read",),
        _SNAPSHOT,
        _MARIADB,
        WRITE_SKEW,
        "from 11.6.2 on, or with `innodb_snapshot_isolation = ON`",
        snapshot=True,
    ),
    Meaning(
        _INNODB,
        ("serializable",),
        "reads lock the rows that they read, so that others wait, and of two that wait for each other one is aborted",
        _MYSQL,
    ),
    Meaning(("PostgreSQL",), ("read-uncommitted", "read-committed"), _READ_COMMITTED, _POSTGRESQL, _BETWEEN_STATEMENTS),
    Meaning(("PostgreSQL",), ("repeatable-read", "snapshot"), _SNAPSHOT, _POSTGRESQL, WRITE_SKEW),
    Meaning(
        ("PostgreSQL",),
        ("serializable",),
        "no read blocks a write, and a transaction is aborted where it may fit into no serial order with the others",
        _POSTGRESQL,
        where="from 9.1 on",
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
        _BETWEEN_STATEMENTS,
    ),
    Meaning(("DuckDB",), ("snapshot",), _SNAPSHOT, _DUCKDB, WRITE_SKEW),
    Meaning(("reference store",), ("snapshot",), _SNAPSHOT, _REFERENCE, WRITE_SKEW),
    Meaning(
        ("reference store",),
        ("serializable",),
        "a transaction that writes is aborted where others have changed since what it changes or has read",
        _REFERENCE,
    ),
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
    own = _meaning(product, version, settings, level)
    if own is None:
        return ""
    return f"{own.words}; {GALERA.words}" if kind == "galera" else own.words


def allowed_anomalies(product: str, version: str, settings: Mapping[str, str], level: str) -> tuple[str, ...] | None:
    """Anomalies that the vendor's words do not exclude, on one node; None where nobody knows. Arguments: as of
    `meaning_words`."""
    own = _meaning(product, version, settings, level)
    return None if own is None else own.allows


#: What a system promises of reads: those of one copy; that what was acknowledged before them is there; or nothing.
ReadPromise = Literal["one copy", "newest", ""]


def claimed_level(allowed: tuple[str, ...] | None, *, multi_writer: bool) -> LevelName | None:
    """The strongest level by which histories are judged that allows all of these; None: nothing is known. multi_writer:
    of sessions on several nodes, between which nobody promises more than committed reads."""
    if allowed is None:
        return None
    may = set(allowed)
    if may <= set(WRITE_SKEW) and not multi_writer:
        return "snapshot" if may else "serializable"
    return "read-committed" if may <= set(_BETWEEN_STATEMENTS) else "read-uncommitted"


def _meaning(product: str, version: str, settings: Mapping[str, str], level: str) -> Meaning | None:
    snapshot = _has_snapshots(product, version, settings)
    found = (
        one for one in MEANINGS if product in one.products and level in one.levels and one.snapshot in (None, snapshot)
    )
    return next(found, None)


def _has_snapshots(product: str, version: str, settings: Mapping[str, str]) -> bool:
    if product != "MariaDB":
        return False
    if said := settings.get(SNAPSHOT_SETTING):
        return said.upper() in ("ON", "1")
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) >= _ON_FROM
