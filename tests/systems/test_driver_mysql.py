"""The engine's MySQL driver against a real MariaDB, without TLS and with it, and where LOAD DATA LOCAL is
refused: runs the driver's own Rust tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bakeoff.systems.mariadb import MariaDb
from builders.systems import configured

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]

CARGO_TEST = ("cargo", "test", "--locked", "--quiet", "-p", "bakeoff-drivers")
TESTS = ("mysql", "mysql_wire", "conformance", "values", "bulk", "allocation")
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not on the PATH")
@pytest.mark.parametrize(
    ("tls", "local_infile", "io"),
    [(False, "ON", "io_uring"), (False, "ON", "epoll"), (True, "ON", "io_uring"), (False, "OFF", "io_uring")],
)
def test_the_drivers_own_tests_pass(place: Path, tls: bool, local_infile: str, io: str) -> None:
    start = {"settings": {"local_infile": local_infile}}
    system = configured("mariadb", place / "a", {"start": start, "tls": tls})
    assert isinstance(system, MariaDb)
    system.start()
    try:
        server = system.server
        address = {
            "BAKEOFF_TEST_MYSQL": f"mysql://bench@127.0.0.1:{server.port}/bakeoff",
            "BAKEOFF_TEST_MYSQL_PASSWORD": server.bench_password,
            "BAKEOFF_TEST_MYSQL_SOCKET": str(server.socket),
            "BAKEOFF_TEST_IO": io,
            **({"BAKEOFF_TEST_MYSQL_CA": str(server.authority)} if tls else {}),
        }
        tests = [word for name in TESTS for word in ("--test", name)]
        done = subprocess.run(
            [*CARGO_TEST, *tests, "--", "--nocapture"],
            cwd=ROOT,
            env={**os.environ, **address},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        assert done.stdout.count("skipped:") == 1  # only what is meant for the other kind of server
        assert system.alive()
    finally:
        system.stop()
