"""Crashes one after another: which records each writes, and what stays where one of them cannot be carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.cli.commands.verify_crashes import CRASHES_MAX
from bakeoff.errors import BakeoffError, EngineError, ServerError
from bakeoff.fleet.engines import EngineTrouble
from bakeoff.fleet.hosts import LocalEngines
from bakeoff.model.boundary import Trouble
from bakeoff.provision.server import PortTaken, failed_start
from bakeoff.schedule import crashes
from bakeoff.schedule.instance import Instance
from bakeoff.verify.ledger import KINDS, Crash, Kind

DONE = Crash(acknowledged=400)


def instance(servers: Mapping[str, Any] | None = None) -> Instance:
    """Of a system that is embedded, or of these servers."""

    def make_outside(path: object) -> str:
        return "journal"

    system = SimpleNamespace(
        managed=True,
        keeps_data=True,
        servers=lambda: servers or {},
        capabilities=lambda: SimpleNamespace(embedded=True),
        data_paths=lambda: [SimpleNamespace(parent=SimpleNamespace(parent="place"))],
    )
    found = SimpleNamespace(
        system=system,
        cell=SimpleNamespace(record=SimpleNamespace(label="one", id="c1")),
        folder=SimpleNamespace(outside=make_outside),
        open=lambda: None,
        facts=lambda cell: SimpleNamespace(portable={}, embedded=True, product="P", version="1"),
    )
    return cast(Instance, found)


def survived(
    monkeypatch: pytest.MonkeyPatch, carry_out: Callable[[int], Crash], *, seed: int = 1, **asked: int
) -> tuple[crashes.Survived, list[tuple[int, float]]]:
    """What was found, and the first number and the moment of each crash. carry_out: by their count."""
    begun: list[tuple[int, float]] = []

    def one(victim: object, first: int, at_s: float) -> Crash:
        begun.append((first, at_s))
        return carry_out(len(begun))

    monkeypatch.setattr(crashes, "_crash", one)
    counts: dict[Kind, int] = {
        "kill": asked.get("kills", 0),
        "kill of one node": asked.get("node_kills", 0),
        "power cut": asked.get("cuts", 0),
    }
    return crashes._survived(instance(), lambda said: None, counts, seed), begun


def failing_at(count: int, error: Exception) -> Callable[[int], Crash]:
    def carry_out(number: int) -> Crash:
        if number == count:
            raise error
        return DONE

    return carry_out


def test_each_crash_has_numbers_of_its_own_that_fit_into_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    _, begun = survived(monkeypatch, lambda count: DONE, kills=3, cuts=3)
    firsts = [first for first, _ in begun]
    assert firsts == sorted(set(firsts)), "a power cut may bring back what the kills before it left"
    assert len(KINDS) * CRASHES_MAX * crashes._NUMBERS <= 10**12


def test_the_moments_are_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [survived(monkeypatch, lambda count: DONE, seed=seed, cuts=2)[1] for seed in (7, 7, 8)]
    assert moments[0] == moments[1] != moments[2]


def test_nothing_follows_a_crash_after_which_nothing_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = survived(monkeypatch, lambda count: Crash(unreadable="no table"), kills=5)
    assert [len(one.crashes) for one in found.crashes] == [1]


def test_a_cut_that_cannot_be_judged_leaves_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = survived(monkeypatch, failing_at(3, crashes._NotJudged("tc.log")), cuts=5)
    (cuts,) = found.crashes
    assert (len(cuts.crashes), cuts.ended_early, cuts.not_tried) == (2, "tc.log", "")
    found, _ = survived(monkeypatch, failing_at(1, crashes._NotJudged("tc.log")), cuts=5)
    assert (found.verdict, found.crashes[0].words) == ("N/A", "tc.log")


def test_an_error_leaves_the_crashes_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = survived(monkeypatch, failing_at(4, ServerError("the port is taken")), kills=3, cuts=3)
    kills, cuts = found.crashes
    assert (len(kills.crashes), kills.ended_early, cuts.not_tried) == (3, "", "the port is taken")
    with pytest.raises(ServerError, match="the port is taken"):
        survived(monkeypatch, failing_at(1, ServerError("the port is taken")), kills=3)


class Server:
    def __init__(self, name: str = "", done: list[str] | None = None, ended: str = "") -> None:
        self.name, self.done, self.ended = name, done if done is not None else [], ended

    def freeze(self) -> None:
        self.done.append(f"freeze {self.name}")

    def kill(self) -> None:
        self.done.append(f"kill {self.name}")

    def exit_text(self) -> str:
        return self.ended


def test_all_servers_stand_still_before_the_end_of_one_is_waited_for() -> None:
    done: list[str] = []
    victim = crashes._Servers(instance({name: Server(name, done) for name in "ab"}))
    victim.kill(cast(LocalEngines, SimpleNamespace(events=lambda silence_s: [])))
    assert done == ["freeze a", "freeze b", "kill a", "kill b"]


def test_of_one_node_one_server_is_killed_and_the_load_goes_on_without_it() -> None:
    done: list[str] = []
    victim = crashes._OneNode(instance({name: Server(name, done) for name in "abc"}), Random(1))

    def events(*_: float, **__: float) -> list[object]:
        done.append("load")
        return []

    victim.kill(cast(LocalEngines, SimpleNamespace(events=events, stop=lambda: done.append("stop"))))
    assert done == [next(f"kill {name}" for name in "abc" if f"kill {name}" in done), "load", "stop", "load"]


def test_nodes_that_do_not_catch_up_are_no_loss_but_the_end_of_the_series() -> None:
    stuck = SimpleNamespace(name="c", caught_up=lambda timeout_s: False)
    victim = crashes._OneNode(cast(Instance, SimpleNamespace(system=stuck)), Random(1))
    with pytest.raises(ServerError, match="did not hold the same again"):
        victim.read_at()


def test_one_server_has_no_node_to_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    found, begun = survived(monkeypatch, lambda count: DONE, node_kills=2)
    assert begun == []
    assert [one.words for one in found.crashes] == ["it has one server"]


def start_error(log: str) -> BakeoffError:
    return failed_start(log, "exit code 1", where="systems.m", port=3306)


SILENT = EngineError("the engine (pid 7) has sent nothing for 60 s")
REFUSED = EngineTrouble(Trouble(what="malformed", where="", hint="", kind="environment"), "reading")


@pytest.mark.parametrize(
    ("error", "ended", "unreadable"),
    [
        (start_error("InnoDB: the page is corrupt"), "", True),
        (start_error("No space left on device"), "", False),
        (PortTaken(3306, "systems.m"), "", False),
        (ServerError("the server did not answer within 120 s after its start"), "", False),
        (SILENT, "", False),
        (REFUSED, "", False),
        (REFUSED, "killed by SIGABRT", True),
    ],
)
def test_a_server_is_not_readable_where_it_ended_by_itself(
    monkeypatch: pytest.MonkeyPatch, error: BakeoffError, ended: str, unreadable: bool
) -> None:
    monkeypatch.setattr(crashes, "_DYING_S", 0.0)
    victim = crashes._Servers(instance({"a": Server(), "b": Server(ended=ended)}))
    assert victim.is_unreadable(error) == unreadable


def test_an_embedded_database_is_not_readable_where_it_says_so_or_ends_the_engine() -> None:
    victim = crashes._Embedded(instance())
    ended = LocalEngines("reading")
    ended.ended(ended.add("the engine (pid 7)"), -11, "")
    with pytest.raises(EngineError) as caught:
        list(ended.events())
    assert [victim.is_unreadable(error) for error in (REFUSED, caught.value, SILENT)] == [True, True, False]
