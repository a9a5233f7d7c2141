"""How members of a replicated system come together, by a replication that writes down what it is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.mysql.replication import MariaDbReplication, settings_of
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import WITHOUT_PRIMARY
from builders.servers import Followers


@pytest.fixture
def pair() -> Iterator[Followers]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        system = Followers(Path(folder) / "system", replicas=1)
        system.start()
        system.done.clear()
        yield system
        system.stop()


def test_a_replica_follows_a_primary_that_exists(pair: Followers) -> None:
    pair.sleeper("replica1").kill()
    assert pair.rejoin("replica1") == ""
    assert pair.done == ["start replica1", "admit replica1", "follow replica1", "connected replica1"]


def test_a_replica_comes_back_before_its_primary_and_follows_it_once_that_exists(pair: Followers) -> None:
    for name in ("primary", "replica1"):
        pair.sleeper(name).kill()
    assert pair.rejoin("replica1") == WITHOUT_PRIMARY
    assert pair.done == ["start replica1", "follow replica1"]
    pair.done.clear()
    assert pair.rejoin("primary") == ""
    assert pair.done == ["start primary", "admit replica1", "follow replica1", "connected replica1"]


def test_a_primary_that_is_frozen_is_not_waited_for(pair: Followers) -> None:
    pair.sleeper("primary").freeze()
    pair.sleeper("replica1").kill()
    assert pair.rejoin("replica1") == WITHOUT_PRIMARY


def test_a_primary_comes_back_without_a_replica_that_is_frozen(pair: Followers) -> None:
    pair.sleeper("replica1").freeze()
    pair.sleeper("primary").kill()
    assert pair.rejoin("primary") == ""
    assert pair.done == ["start primary"]


def status(running: str, number: int, error: str) -> list[str]:
    """SHOW SLAVE STATUS, as far as it is read."""
    return [*[""] * 10, running, "Yes", *[""] * 22, str(number), error, "0", ""]


class Replica:
    """Says one status after the other."""

    where = "systems.m"

    def __init__(self, *said: list[str]) -> None:
        self._said = iter(said)
        self.control = SimpleNamespace(rows=lambda _: [next(self._said)])


def wait_for(replica: Replica) -> None:
    server = cast(Any, replica)
    MariaDbReplication().wait_until_connected(server, cast(DatabaseServer, None))


def test_a_connection_that_a_replica_tries_again_is_waited_for() -> None:
    lost = "error connecting to master - retry-time: 1: Lost connection to server"
    wait_for(Replica(status("Connecting", 2013, lost), status("Connecting", 2013, lost), status("Yes", 0, "")))


def test_what_a_primary_refuses_is_said_at_once() -> None:
    with pytest.raises(ServerError, match=r"the replica does not follow its primary: Access denied"):
        wait_for(Replica(status("Connecting", 1045, "Access denied")))


def test_what_old_builds_have_no_plugin_for_is_refused_before_anything_is_made() -> None:
    with pytest.raises(PlanError, match=r"semi_sync needs MariaDB 10\.3\.3 or later, and this is 10\.2\.11"):
        settings_of("primary", 1, "10.2.11", semi_sync=True, where="systems.m.start.semi_sync")
    assert settings_of("primary", 1, "10.2.11", semi_sync=False, where="")["log_bin"] == "binlog"
    assert settings_of("primary", 1, "10.11.5", semi_sync=True, where="")["rpl_semi_sync_master_enabled"] == "ON"
