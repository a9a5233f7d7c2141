"""A managed server that ended or froze between two runs is reported by name with the next run."""

from __future__ import annotations

import os
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bakeoff.plan.document.tables import MeasureTable
from bakeoff.schedule import run_record
from bakeoff.schedule.instance import Instance
from bakeoff.schedule.nodes import away_words
from bakeoff.systems.base import System
from builders.servers import Sleepers


@dataclass
class Server:
    """ended: how it did by itself."""

    ended: str = ""
    says: bool = True
    lives: bool = True

    def alive(self) -> bool:
        return self.lives and not self.ended

    def exit_text(self) -> str:
        return self.ended

    def answers(self) -> bool:
        return self.alive() and self.says


class Three:
    """A system whose servers all serve again once it was started."""

    managed = True

    def __init__(self) -> None:
        self.found = {name: Server() for name in ("n1", "n2", "n3")}

    def servers(self) -> dict[str, Server]:
        return self.found

    def whole(self) -> bool:
        return all(server.answers() for server in self.found.values())

    def start(self) -> None:
        self.found = {name: Server() for name in self.found}


def instance(system: Three, *, started: bool) -> Instance:
    """Nothing is put back before its runs."""
    made = object.__new__(Instance)
    parts: dict[str, Any] = {
        "system": system,
        "cell": SimpleNamespace(reset="none"),
        "plan": SimpleNamespace(measure=MeasureTable()),
        "data": None,
        "_started": started,
    }
    for name, value in parts.items():
        setattr(made, name, value)
    return made


def test_those_that_ended_and_those_that_do_not_answer_are_named() -> None:
    system = Three()
    assert away_words(cast(System, system)) == ""
    system.found["n2"].ended = "killed by SIGKILL"
    system.found["n3"].says = False
    assert away_words(cast(System, system)) == "n2 had ended (killed by SIGKILL), n3 did not answer"


def test_a_server_that_was_away_before_a_run_is_reported_with_that_run_alone(tmp_path: Path) -> None:
    system = Three()
    system.found["n2"].ended = "killed by SIGKILL"
    made = instance(system, started=True)
    made.reset(tmp_path)
    assert system.whole()
    assert made.started_again == "n2 had ended (killed by SIGKILL)"
    found = run_record.started_again("galera", made.started_again)
    assert (found.severity, found.ok) == ("warning", False)
    assert found.words == (
        "before this run of galera n2 had ended (killed by SIGKILL); restarted:"
        " server.log of galera's run before may say why"
    )
    made.reset(tmp_path)
    assert made.started_again == ""


def test_a_server_that_nobody_has_started_yet_is_no_news(tmp_path: Path) -> None:
    system = Three()
    system.found["n1"].ended = "exit code 1"
    made = instance(system, started=False)
    made.reset(tmp_path)
    assert made.started_again == ""


def test_a_system_that_waited_for_its_turn_is_no_news() -> None:
    """One managed system runs at a time: before a run all others are stopped."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        system = Sleepers(Path(folder) / "system", "a", "b")
        try:
            system.start()
            system.stop()
            assert away_words(system) == ""
            system.start()
            a, b = system.servers().values()
            os.kill(a.pids()[0], signal.SIGKILL)
            b.freeze()
            while a.alive():
                os.sched_yield()
            assert away_words(system) == f"a had ended ({a.exit_text()}), b did not answer"
            a.kill()
            assert away_words(system) == "b did not answer", "a fault that was planned"
        finally:
            system.stop()


def test_of_two_systems_that_run_by_turns_only_the_one_that_ended_by_itself_is_reported(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        systems = [Sleepers(Path(folder) / name, "server") for name in ("postgresql", "cassandra")]
        made = [instance(cast(Any, system), started=True) for system in systems]
        told: list[list[str]] = [[], []]
        try:
            for block in range(3):
                for mine, words in zip(made, told, strict=True):
                    mine.reset(tmp_path)
                    words.append(mine.started_again)
                    if (block, mine) == (1, made[1]):
                        (server,) = mine.system.servers().values()
                        os.kill(server.pids()[0], signal.SIGKILL)
                        while server.alive():
                            os.sched_yield()
                    else:
                        mine.system.stop()
        finally:
            for system in systems:
                system.stop()
        assert told[0] == ["", "", ""]
        assert told[1][:2] == ["", ""]
        assert told[1][2].startswith("server had ended (")
