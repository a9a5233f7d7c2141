"""What is read from logs and variables of the MySQL family, without a server."""

from __future__ import annotations

import pytest
from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.server import PortTaken
from bakeoff.systems.mysql.node import Product, detect_product, like, quoted
from bakeoff.systems.mysql.process import adjusted_settings, explain_failed_start, refused_values

UNKNOWN = """\
2026-11-21  2:20:11 0 [Note] Starting MariaDB 10.11.19-MariaDB
2026-11-21  2:20:11 0 [ERROR] /x/mariadbd: unknown variable 'innodb_bufer_pool_size=1G'
2026-11-21  2:20:11 0 [ERROR] Aborting
"""
PORT = """\
2026-11-21  2:20:11 0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use
2026-11-21  2:20:11 0 [ERROR] Do you already have another server running on port: 3306 ?
2026-11-21  2:20:11 0 [ERROR] Aborting
"""
DISK = "2026-11-21  2:20:11 0 [ERROR] InnoDB: Error number 28 means 'No space left on device'\n"
OTHER = """\
2026-11-21  2:20:11 0 [ERROR] InnoDB: File ./ibdata1 is corrupted
2026-11-21  2:20:11 0 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.
2026-11-21  2:20:11 0 [ERROR] Unknown/unsupported storage engine: InnoDB
2026-11-21  2:20:11 0 [ERROR] Aborting
"""


def explained(log: str) -> BakeoffError:
    known = {"innodb_buffer_pool_size", "max_connections"}
    return explain_failed_start(log, "exit code 1", where="systems.m", port=3306, known=lambda: known)


@pytest.mark.parametrize(
    ("log", "kind", "what", "hint"),
    [
        (UNKNOWN, PlanError, "does not know the setting 'innodb_bufer_pool_size'", "did you mean `innodb_buffer_pool"),
        (PORT, PortTaken, "port 3306 is used", "leave out `port`"),
        (DISK, ServerError, "the disk is full", "free some space"),
        (OTHER, ServerError, "did not start (exit code 1): InnoDB: File ./ibdata1 is corrupted", "loads/*/server.log"),
        ("", ServerError, "no output", "loads/*/server.log"),
    ],
)
def test_a_failed_start_is_one_sentence_with_a_hint(log: str, kind: type[BakeoffError], what: str, hint: str) -> None:
    error = explained(log)
    assert type(error) is kind
    assert what in error.what
    assert hint in error.hint
    assert "Unknown/unsupported" not in error.what


def test_values_that_the_server_passes_over_are_refused() -> None:
    log = "[Warning] /x/mariadbd: ignoring option '--innodb-doublewrite' due to invalid value 'maybe'"
    refused = refused_values(log, "systems.m")
    assert refused is not None
    assert refused.what == "the server does not take 'maybe' as 'innodb_doublewrite'"
    assert refused_values("[Note] ready for connections", "systems.m") is None


def test_adjusted_settings_are_listed_once() -> None:
    line = "[Warning] option 'innodb-log-file-size': unsigned value 1000 adjusted to 4194304\n"
    assert adjusted_settings(line * 2) == ["option 'innodb-log-file-size': unsigned value 1000 adjusted to 4194304"]


@pytest.mark.parametrize(
    ("version", "comment", "product"),
    [
        ("10.11.19-MariaDB-0+deb12u1", "Debian 12", Product("MariaDB", "10.11.19")),
        ("5.5.5-10.6.16-MariaDB-log", "mariadb.org binary distribution", Product("MariaDB", "10.6.16")),
        ("8.0.36-28", "Percona Server (GPL), Release 28", Product("Percona Server", "8.0.36")),
        ("9.7.4", "MySQL Community Server - GPL", Product("MySQL", "9.7.4")),
    ],
)
def test_the_product_is_distinguished_from_version_and_comment(version: str, comment: str, product: Product) -> None:
    assert detect_product(version, comment) == product


def test_identifiers_and_patterns_cannot_break_out() -> None:
    assert quoted("a`b") == "`a``b`"
    assert like("my_db%") == r"my\_db\%"
