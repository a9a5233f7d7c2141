"""Real servers for whoever needs one: fetched if this machine has none, started once, shared by the session."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.errors import BakeoffError
from bakeoff.provision.installation import Installation
from bakeoff.systems.mysql import mariadb as mariadb_installations
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.postgresql import system as postgresql_installations
from bakeoff.systems.postgresql.system import PostgreSql
from builders.systems import running
from commands import DB
from mariadb_servers import managed

from benches.suite.peers.sysbench import PACKAGES


@pytest.fixture(scope="session")
def mariadb_program() -> Installation:
    """A MariaDB server of this machine, or else a fetched one (needs apt and the network)."""
    sources = mariadb_installations.SOURCES
    if not sources.here():
        sources.install(None, None, lambda _: None)
    return sources.find(None)


@pytest.fixture(scope="session")
def postgresql_program() -> Installation:
    """A PostgreSQL server of this machine, or else a fetched one (needs Maven and the network)."""
    sources = postgresql_installations.SOURCES
    if not sources.here():
        sources.install(None, None, lambda _: None)
    return sources.find(None)


@pytest.fixture
def db(request: pytest.FixtureRequest) -> str:
    """See `commands.on_systems`."""
    if request.param != "sqlite":
        request.getfixturevalue(f"{request.param}_program")
    return f'[systems.db]\n{DB[request.param]}\ndurability = "none"\n'


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that a server may reach which runs as nobody (pytest's own are closed to other users)."""
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-test-"))
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own(place: Path) -> Iterator[MariaDb]:
    """A server that a test may stop, kill and fill."""
    system = managed(place)
    system.start()
    yield system
    system.stop()


@pytest.fixture(scope="session")
def mariadb(mariadb_program: Installation) -> Iterator[MariaDb]:
    """A running managed MariaDB, for tests that leave it as they found it."""
    with running("mariadb", {}) as system:
        yield cast(MariaDb, system)


@pytest.fixture(scope="session")
def postgresql(postgresql_program: Installation) -> Iterator[PostgreSql]:
    """A running managed PostgreSQL, for tests that leave it as they found it."""
    with running("postgresql", {}) as system:
        yield cast(PostgreSql, system)


@pytest.fixture(scope="session")
def sysbench_program() -> tuple[str, dict[str, str]]:
    """The real sysbench and what its environment needs; fetched if there is none (needs apt and the network)."""
    if found := shutil.which("sysbench"):
        return found, {}
    try:
        fetched = PACKAGES.have()
    except BakeoffError as error:
        pytest.skip(f"sysbench is not on the PATH and cannot be fetched: {error}")
    return str(fetched.program), dict(fetched.environment)
