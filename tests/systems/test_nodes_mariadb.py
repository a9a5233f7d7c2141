"""Two servers as the nodes of one system, one of them killed, frozen or stopped in the middle of a run: what becomes of
its operations and of its sessions."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from bakeoff.bundle.write import dumps
from bakeoff.fleet.hosts import LocalHost
from bakeoff.model.boundary import Interval, NameRoute, Phase, RunResult, RunSpec, TimeLimit
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.server.process import DatabaseServer
from mariadb_servers import managed

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]

RECORDS = 200
INSERTS = {"kind": "ycsb", "records": RECORDS, "field_count": 1, "read_proportion": 0, "update_proportion": 0}
#: Seconds of a run in which the node is down from end to end, and then those in which it serves again.
LOOKS = 2


@pytest.fixture(scope="module")
def pair(mariadb_program: object) -> Iterator[tuple[MariaDb, MariaDb]]:
    """With one password."""
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-test-"))
    folder.chmod(0o755)  # the server may run as nobody, to whom pytest's own folders are closed
    both = managed(folder, name="a"), managed(folder, name="b")
    both[1].server.bench_password = both[0].server.bench_password
    try:
        for system in both:
            system.start()
        yield both
    finally:
        for system in both:
            system.stop()
        shutil.rmtree(folder, ignore_errors=True)


def document(pair: tuple[MariaDb, MariaDb], phase: Phase, **other: object) -> RunSpec:
    driver, _ = pair[0].engine_driver()
    named = zip("ab", pair, strict=True)
    driver["endpoints"] = [{**system.nodes()[0].endpoint(), "name": name} for name, system in named]
    workload = {**INSERTS, "insert_proportion": 1}
    return RunSpec(phase=phase, driver=driver, workload=workload, workers=1, timeout_s=1.0, **other)  # type: ignore[arg-type]


def carry_out(
    spec: RunSpec, env: Mapping[str, str], place: Path, each: Callable[[Interval], bool] = lambda _: False
) -> RunResult:
    """each: told of every second; True ends the run."""
    path = place / f"{spec.phase}.json"
    path.write_text(dumps(spec))
    with LocalHost().engines("test") as engines:
        engines.start(path, env, place / "engine.log")
        engines.wait_ready(60.0)
        engines.begin(time.time_ns())
        for _, event in engines.events(silence_s=60.0):
            if isinstance(event, Interval) and each(event):
                engines.stop()
        return engines.results()[0]


def rows(system: MariaDb) -> int:
    return int(system.control.value("SELECT COUNT(*) FROM bakeoff.usertable"))


def killed(server: DatabaseServer) -> Callable[[], None]:
    server.kill()
    return server.start


def frozen(server: DatabaseServer) -> Callable[[], None]:
    server.freeze()
    return server.thaw


def stopped(server: DatabaseServer) -> Callable[[], None]:
    server.stop()
    return server.start


@pytest.mark.parametrize("fault", [killed, frozen, stopped])
def test_a_node_that_is_away_costs_what_was_on_it_and_gets_its_sessions_back(
    pair: tuple[MariaDb, MariaDb], tmp_path: Path, fault: Callable[[DatabaseServer], Callable[[], None]]
) -> None:
    _, env = pair[0].engine_driver()
    for name in "ab":
        carry_out(document(pair, "load", drop_existing=True, routing=NameRoute(name=name)), env, tmp_path)
    heal: Callable[[], None] | None = None
    down: list[Interval] = []
    back: list[Interval] = []
    begun = time.time()
    whole_from = 0

    def each(second: Interval) -> bool:
        nonlocal heal, whole_from
        if heal is None and second.second >= 1:
            heal = fault(pair[1].server)
            whole_from = int(time.time() - begun) + 1
        elif heal and len(down) < LOOKS and second.second >= whole_from:
            down.append(second)
            if len(down) == LOOKS:
                heal()
        elif len(down) == LOOKS and second.nodes[1].outcomes.get("ok"):
            back.append(second)
        return len(back) >= LOOKS

    run = document(pair, "run", threads=8, limit=TimeLimit(window_s=60.0), error_budget_ratio=1.0)
    result = carry_out(run, env, tmp_path, each)
    a, b = result.nodes
    assert set(b.outcomes) <= {"ok", "unknown", "fail_refused", "fail_other"}, result.errors
    assert b.outcomes["unknown"] >= 1
    assert set(a.outcomes) == {"ok"}
    assert all(second.nodes[0].outcomes["ok"] > 0 and not second.nodes[1].outcomes.get("ok") for second in down)
    # Four of the users were its own.
    assert len(back) >= LOOKS
    assert b.reconnects is not None
    assert b.reconnects >= 4
    # What was acknowledged is there, and beyond that nothing but what may have been applied.
    for system, node in zip(pair, result.nodes, strict=True):
        stored = rows(system) - RECORDS
        perhaps = node.outcomes.get("unknown", 0) + result.unfinished.count
        assert node.outcomes["ok"] <= stored <= node.outcomes["ok"] + perhaps
