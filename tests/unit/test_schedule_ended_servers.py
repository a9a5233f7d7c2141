"""What is reported where an engine has trouble with a server of ours that has ended."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from bakeoff.errors import BakeoffError, ServerError
from bakeoff.fleet.engines import EngineTrouble
from bakeoff.model.boundary import Trouble
from bakeoff.schedule import phases as ended
from bakeoff.schedule.phases import ended_servers_named
from bakeoff.schedule.verification import log_shown
from builders.servers import Sleepers

#: For what is bound to happen: only ends a test that has failed.
TIMEOUT_S = 120.0


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def told(system: Any, kind: Literal["usage", "server", "environment"] = "server") -> BakeoffError:
    """Of a connection that broke in a load."""
    trouble = Trouble(what="Connection reset", where="row 7", hint="is the server up?", kind=kind)
    with pytest.raises(BakeoffError) as caught, ended_servers_named(system):
        raise EngineTrouble(trouble, "load of sleeper")
    return caught.value


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("server",), "the server of sleeper ended (killed by SIGKILL), and not by bakeoff"),
        (("a", "b", "c"), "c of sleeper ended (killed by SIGKILL), and not by bakeoff"),
    ],
)
def test_a_server_that_was_killed_is_named(
    names: tuple[str, ...], what: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended, "_PATIENCE_S", TIMEOUT_S)
    system = Sleepers(place / "system", *names)
    try:
        system.start()
        os.kill(system.pids()[-1], signal.SIGKILL)
        error = told(system)
    finally:
        system.stop()
    assert (type(error), error.what, error.where) == (ServerError, what, "load of sleeper, row 7")
    assert "loads/*/server.log" in error.hint


def test_without_a_bundle_the_end_of_the_log_is_shown(place: Path) -> None:
    """As in `bakeoff verify`."""
    system = Sleepers(place / "system", "server")
    try:
        system.start()
        system.sleeper("server").log.write_text("began\n\nout of luck\n")
        os.kill(system.pids()[-1], signal.SIGKILL)
        with pytest.raises(ServerError) as caught, log_shown(system), ended_servers_named(system):
            raise EngineTrouble(Trouble(what="Connection reset", where="", hint="", kind="server"), "verify of sleeper")
    finally:
        system.stop()
    assert "the bundle" not in caught.value.hint
    assert caught.value.hint.endswith("the server's log ends with:\n    began\n    out of luck")
    assert caught.value.hint.startswith("if the machine ran out of memory, the kernel's log (`dmesg`) shows it\n")


def test_trouble_with_servers_that_live_is_reported_as_it_is(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended, "_PATIENCE_S", 0.0)
    system = Sleepers(place / "system", "a", "b")
    try:
        system.start()
        assert told(system).what == "Connection reset"
        system.sleeper("b").kill()  # as a fault of the plan does
        assert told(system).what == "Connection reset"
        os.kill(system.pids()[0], signal.SIGKILL)
        assert told(system, "usage").what == "Connection reset"
    finally:
        system.stop()
