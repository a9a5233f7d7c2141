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


def _postgresql_s(text: str) -> float:
    """A time as the server writes it: `200ms`, `1s`."""
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()  # type: ignore[union-attr]  # the server's own words
    return int(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}[unit or "ms"]
