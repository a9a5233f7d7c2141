"""What each kind of system keeps of its acknowledged commits, from its own settings as they are read back.

One function a family; each says where its makers say so. The words are those of `bakeoff.model.durability`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bakeoff.model.durability import NOTHING, Survival

_OFF = ("OFF", "0", "FALSE", "NO")
_SINCE_CHECKPOINT = "commits since the last checkpoint"


def of_innodb(settings: Mapping[str, str]) -> Survival:
    """MariaDB and MySQL, of what the kernel or the process still held.

    Sources: MySQL reference manual, innodb_flush_log_at_trx_commit, innodb_flush_log_at_timeout, innodb_doublewrite,
    innodb_flush_method, sync_binlog; MariaDB's pages of the same names. A binary log decides at recovery which prepared
    transactions are committed, so one that is not synced loses them as the redo log does.
    """
    flush = settings.get("innodb_flush_log_at_trx_commit", "1")
    last = f"commits of the last {settings.get('innodb_flush_log_at_timeout', '1')} s"
    binlog_unsynced = settings.get("log_bin", "OFF").upper() not in _OFF and settings.get("sync_binlog") != "1"
    never_synced = settings.get("innodb_flush_method", "").lower() == "nosync"
    torn_pages = settings.get("innodb_doublewrite", "ON").upper() in (*_OFF, "DETECT_ONLY")
    if never_synced:
        at_power_loss = "commits that the kernel had not written"
    elif flush in ("0", "2"):
        at_power_loss = last
    else:
        at_power_loss = "commits that the kernel had not written to the binary log" if binlog_unsynced else NOTHING
    return Survival(
        lost_when_killed=last if flush == "0" else NOTHING,
        lost_at_power_loss=at_power_loss,
        whole=not (torn_pages or never_synced),
    )


def of_galera(settings: Mapping[str, str]) -> Survival:
    """A commit is acknowledged when the other nodes have its write set in their memory, and it is in the node's own log
    as InnoDB's settings say: it is lost only with all nodes.

    Source: Galera Cluster documentation, "Certification-Based Replication", "Two Node Clusters" (on what all lose).
    """
    one = of_innodb(settings)
    killed, power = (
        told if told == NOTHING else f"{told}, if all nodes {end}"
        for told, end in ((one.lost_when_killed, "are killed at once"), (one.lost_at_power_loss, "lose their power"))
    )
    return Survival(killed, power, one.whole)


def of_sqlite(pragmas: Mapping[str, str]) -> Survival:
    """SQLite's own defaults are a rollback journal and synchronous = FULL.

    Source: sqlite.org/pragma.html, `synchronous` and `journal_mode`. Of a rollback journal that was deleted the kernel
    may have written nothing yet when the commit is acknowledged; only EXTRA, or a truncated journal, closes that gap.
    """
    asked = pragmas.get("synchronous", "FULL").upper()
    synchronous = {"0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"}.get(asked, asked)
    journal = pragmas.get("journal_mode", "DELETE").upper()
    if synchronous == "OFF":
        return Survival(NOTHING, "commits that the kernel had not written", whole=False)
    if journal in ("OFF", "MEMORY"):
        return Survival(NOTHING, NOTHING, whole=False)
    if journal == "WAL":
        return Survival(NOTHING, _SINCE_CHECKPOINT if synchronous == "NORMAL" else NOTHING)
    if synchronous == "NORMAL":
        return Survival(NOTHING, "the last commit", whole=False)
    return Survival(NOTHING, "the last commit" if journal == "DELETE" and synchronous == "FULL" else NOTHING)


def of_postgresql(settings: Mapping[str, str]) -> Survival:
    """Without `synchronous_commit` a commit is acknowledged while it is in the server's own memory, so that it is lost
    with the process; without `fsync` it has been given to the kernel, which a killed process leaves behind.

    Sources: PostgreSQL documentation, "Asynchronous Commit" ("three times wal_writer_delay"), fsync, full_page_writes.
    """
    last = f"commits of the last {3 * _postgresql_s(settings.get('wal_writer_delay', '200ms')):g} s"
    asynchronous = settings.get("synchronous_commit", "on").lower() in ("off", "0", "false", "no")
    synced = settings.get("fsync", "on").lower() == "on"
    at_power_loss = last if asynchronous else NOTHING
    return Survival(
        lost_when_killed=last if asynchronous else NOTHING,
        lost_at_power_loss=at_power_loss if synced else "commits that the kernel had not written",
        whole=synced and settings.get("full_page_writes", "on").lower() == "on",
    )


def of_cassandra(settings: Mapping[str, str], *, acknowledging: int) -> Survival:
    """acknowledging: copies, on as many nodes, that have a write which was acknowledged. With `periodic` a node
    acknowledges what it will write later. One that is killed loses what it wrote since it last marked the end of its
    log, 0.1 s before (of 755 writes/s the last 112 were gone, Cassandra 5.0.9); copies on other nodes stay.

    Sources: cassandra.yaml, commitlog_sync, commitlog_sync_period; CASSANDRA-13987 (markers between syncs).
    """
    if settings.get("commitlog_sync", "periodic").lower() in ("batch", "group"):
        return Survival(NOTHING, NOTHING)
    period_s = _cassandra_s(settings.get("commitlog_sync_period", "10000ms"))
    return Survival(
        lost_when_killed=NOTHING if acknowledging > 1 else "commits of about the last 0.1 s",
        lost_at_power_loss=f"commits of the last {period_s:g} s",
    )


def _cassandra_s(text: str) -> float:
    """A time as the server writes it: `10000ms`, `10s`."""
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()  # type: ignore[union-attr]  # the server's own words
    return int(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}[unit or "ms"]


def _postgresql_s(text: str) -> float:
    """A time as the server writes it: `200ms`, `1s`."""
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()  # type: ignore[union-attr]  # the server's own words
    return int(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}[unit or "ms"]
