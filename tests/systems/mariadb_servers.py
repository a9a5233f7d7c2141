"""MariaDB servers of tests: managed ones, logins to them, and the same server as an existing one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pymysql
import pytest
from bakeoff.provision.process import start_ticks
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.server.existing import ExistingServer
from builders.systems import configured


def managed(place: Path, settings: dict[str, Any] | None = None, name: str = "a", **levels: Any) -> MariaDb:
    return cast(MariaDb, configured("mariadb", place / name, {"start": {"settings": settings or {}}}, **levels))


def bench_login(system: MariaDb, **changes: Any) -> pymysql.Connection[Any]:
    """Connects as a driver would."""
    login: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": system.server.port,
        "user": "bench",
        "password": system.server.bench_password,
    }
    return pymysql.connect(**{**login, **changes})


def existing(
    system: MariaDb, monkeypatch: pytest.MonkeyPatch, password: str | None = None, **options: Any
) -> ExistingServer:
    """The same server again, as an existing one at its address."""
    monkeypatch.setenv("TEST_PASSWORD", password or system.server.bench_password)
    address = {"address": f"127.0.0.1:{system.server.port}", "user": "bench", "password": {"env": "TEST_PASSWORD"}}
    levels = {"durability": options.pop("durability")} if "durability" in options else {}
    return cast(ExistingServer, configured("mariadb", Path("/"), {**address, **options}, **levels))


def wait_until_gone(pid: int, ticks: int | None, timeout_s: float = 120.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while start_ticks(pid) == ticks and time.monotonic() < deadline:
        time.sleep(0.02)
    return start_ticks(pid) != ticks


def write_rows(system: MariaDb, rows: int) -> None:
    with bench_login(system, database="bakeoff", autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(400))")
        for _ in range(rows // 1000):
            cursor.executemany("INSERT INTO t (v) VALUES (%s)", [("x" * 400,)] * 1000)


def count_rows(system: MariaDb) -> int:
    return int(system.control.value("SELECT COUNT(*) FROM bakeoff.t"))
