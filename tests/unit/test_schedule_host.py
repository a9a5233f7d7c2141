"""The schedule asks a host for engines, whatever that is. Here it is a script: what each engine answers is written down
beforehand, and nothing is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import EngineError
from bakeoff.fleet.engines import Engines, Host, Place
from bakeoff.fleet.hosts import LocalHost
from bakeoff.model.boundary import (
    Check,
    CheckSpec,
    ClientCost,
    ClientSpec,
    Event,
    HistogramDoc,
    Progress,
    QueryCounts,
    Ready,
    RunResult,
    RunSpec,
    Warning,
)
from bakeoff.plan.document.tables import MeasureTable
from bakeoff.schedule.phases import Phases

PROGRESS = [Progress(elapsed_s=1.0, done=10, total=20), Progress(elapsed_s=2.0, done=20, total=20)]


class Scripted:
    """A host whose engines say what they are told to say. asked: what the schedule did, in order."""

    name = "a script"

    def __init__(self, *events: Event) -> None:
        self.said = list(events)
        self.asked: list[str] = []
        self.specs: list[RunSpec] = []

    def engines(self, where: str) -> ScriptedEngines:
        self.asked.append(where)
        return ScriptedEngines(self)


class ScriptedEngines(Engines):
    lead_s = 0.0

    def __init__(self, host: Scripted) -> None:
        super().__init__("nothing")
        self.host = host

    def close(self) -> None:
        self.host.asked.append("closed")

    def start(self, document: Path, env: Mapping[str, str], log: Path) -> None:
        self.host.specs.append(RunSpec.model_validate_json(document.read_text()))
        self.host.asked.append("start")

    def wait_ready(self, timeout_s: float) -> list[Ready]:
        self.host.asked.append("ready")
        return []

    def begin(self, unix_ns: int) -> None:
        self.host.asked.append("begin")

    def _send(self, line: str) -> None: ...

    def events(
        self,
        deadline: float | None = None,
        *,
        silence_s: float | None = None,
        quiet: Callable[[float], None] = lambda _: None,
    ) -> Iterator[tuple[int, Event]]:
        for event in self.host.said:
            if isinstance(event, Warning):
                self.warnings.append((0, event))
            yield 0, event
        if not self.results():
            raise EngineError("it ended")

    def results(self) -> list[RunResult]:
        return [event for event in self.host.said if isinstance(event, RunResult)]

    def places(self) -> list[Place]:
        return []

    def pids(self) -> list[int]:
        return []


def result(phase: str) -> RunResult:
    empty = HistogramDoc.empty()
    return RunResult(
        format=1, phase=cast(Any, phase), client=ClientSpec(), seed=1, rows=20, elapsed_s=2.0, window_start_s=0.0,
        window_end_s=2.0, epoch_unix_ns=0, interrupted=False, series=[], unfinished=empty, backlog=empty, revoked=0,
        due=0, completed=0, ok_from_warm_up=0, lateness=empty, pool_wait=empty, queries=QueryCounts(), retries=0,
        retries_after_conflict=0,
        reconnects=0, connections_lost=0, error_ratio=0.0, error_budget_exceeded=False, errors=[], stream_hashes=[],
        nodes=[],
        cost=ClientCost(
            cpu_user_s=0, cpu_system_s=0, memory_peak_bytes=0, context_switches_voluntary=0,
            context_switches_involuntary=0, workers=[], steal_ratio=0, cpu_mhz=None,
        ),
        latency_probe=None, evidence=None, user_bytes_written=0, checks=[],
    )  # fmt: skip


def setting() -> Sequence[Any]:
    """A plan, a cell and a system, as far as the short phases look."""
    plan = SimpleNamespace(
        record=SimpleNamespace(seed=1), timeout_s=10.0, measure=MeasureTable(), sessions_of_largest_run=4
    )
    cell = SimpleNamespace(
        workload=SimpleNamespace(spec={"kind": "ycsb"}, tables=["t"]),
        clients=1,
        workers=1,
        runner=None,
        io=None,
        record=SimpleNamespace(isolation=None),
    )
    system = SimpleNamespace(
        name="s",
        managed=True,
        runs_here=lambda: True,
        nodes=list,
        engine_driver=lambda: ({"kind": "null"}, {}),
        capabilities=lambda: SimpleNamespace(embedded=False),
        caught_up=lambda timeout_s: True,
        agreement=lambda tables: [],
    )
    return plan, cell, system


def test_a_phase_runs_on_any_host_and_is_closed_at_its_end(tmp_path: Path) -> None:
    host, seen = Scripted(*PROGRESS, result("load")), list[Progress]()
    done = Phases(host).load(*setting(), tmp_path, drop_existing=True, on_progress=seen.append)
    assert (done.rows, seen) == (20, PROGRESS)
    assert host.asked == ["load of s", "start", "ready", "begin", "closed"]
    assert (host.specs[0].phase, host.specs[0].threads, host.specs[0].drop_existing) == ("load", 4, True)


def test_a_long_warm_up_is_reported(tmp_path: Path) -> None:
    stages = list[str]()
    sign = Progress(elapsed_s=150.0, done=3, total=0)
    Phases(Scripted(sign, result("warm"))).warm(*setting(), tmp_path, stage=stages.append)
    assert stages == ["warming for 2 min 30 s (s answers)"]


def test_what_an_engine_warns_of_in_a_short_phase_is_kept_and_reported_once(tmp_path: Path) -> None:
    warning = Warning(what="clock_source is hpet", at_s=0.0)
    phases = Phases(Scripted(warning, result("warm")))
    phases.warm(*setting(), tmp_path, stage=lambda words: None)
    phases.check(*setting(), tmp_path, CheckSpec())
    assert phases.warnings() == ["warming of s: clock_source is hpet", "check of s: clock_source is hpet"]
    assert phases.warnings() == []


def test_nodes_that_follow_the_first_are_checked_next_to_it_once_they_had_the_time(tmp_path: Path) -> None:
    plan, cell, system = setting()
    asked: list[Any] = []
    held = Check(name="replica1 has the same rows as primary", ok=True, expected="it", actual="it", evidence=[])
    system.caught_up = lambda timeout_s: asked.append(timeout_s)
    system.agreement = lambda tables: [asked.append(tables), held][1:]
    done = Phases(Scripted(result("check"))).check(plan, cell, system, tmp_path, CheckSpec())
    assert done.checks[-1] == held
    assert asked == [120.0, ["t"]]


def test_an_engine_that_ends_without_a_result_is_closed_all_the_same(tmp_path: Path) -> None:
    host = Scripted()
    with pytest.raises(EngineError):
        Phases(host).warm(*setting(), tmp_path, stage=lambda words: None)
    assert host.asked[-1] == "closed"


def test_this_machine_and_a_script_are_hosts() -> None:
    hosts: list[Host] = [LocalHost(), Scripted()]
    engines: list[Engines] = [host.engines("nothing") for host in hosts]
    assert [host.name for host in hosts] == ["this machine", "a script"]
    assert [each.pids() for each in engines] == [[], []]
