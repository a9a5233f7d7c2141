"""The engine's short phases besides the measured one: load, warm, check. One client, no schedule, no figures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..analysis.wording import seconds_words
from ..bundle.files import write_text
from ..bundle.write import dumps
from ..errors import EngineError, ServerError
from ..fleet.engines import EngineTrouble, Host
from ..model.boundary import (
    CheckSpec,
    ClientSpec,
    Experiment,
    IsolationName,
    Phase,
    Progress,
    RoleRoute,
    Routing,
    RunResult,
    RunSpec,
)
from ..plan.resolved import Cell, ResolvedPlan
from ..provision.server import LOG_KEPT
from ..systems.base import System
from .machine_sharing import shares_cores

#: Nothing short may hang for ever, and a load of hours is no error: the bound is on silence, not on length. (The engine
#: itself gives a chunk of a load up after `timeout_s`, and a step after it once the server answers nobody else.)
SILENCE_S = 120.0
#: How long replicas may take to apply what was committed; afterwards a check reports what they lack.
CATCH_UP_TIMEOUT_S = 120.0


def spec(
    plan: ResolvedPlan, cell: Cell, system: System, phase: Phase, client: int = 0
) -> tuple[RunSpec, dict[str, str]]:
    """The engine's document for one phase of one cell, and the environment that carries its secrets."""
    driver, env = system.engine_driver()
    document = RunSpec(
        phase=phase,
        driver=driver,
        workload=cell.workload.spec,
        client=ClientSpec(index=client, count=cell.clients if phase == "run" else 1),
        seed=plan.record.seed,
        routing=cell.routing.document() if phase == "run" else home(system),
        workers=cell.workers or _workers_beside(system),
        runner=cell.runner,
        io=cell.io,
        sessions_of_largest_run=plan.sessions_of_largest_run,
        spin=not shares_cores(plan, system),
        timeout_s=plan.timeout_s,
        isolation=cell.record.isolation,
        cores=plan.measure.placement.client,
    )
    return document, env


def home(system: System) -> Routing:
    """Where data are created and checked: nodes like the first, which take writes."""
    nodes = system.nodes()
    return RoleRoute(role=nodes[0].role) if len(nodes) > 1 else "any"


def _workers_beside(system: System) -> int:
    """OS threads of the client where the plan names none. With a server on the same machine half of the cores: with
    more, client and server only take turns more often. 0: as many as cores."""
    shared = system.managed and not system.capabilities().embedded
    return max(1, len(os.sched_getaffinity(0)) // 2) if shared else 0


class Answering:
    """Called while an engine sends nothing: checks whether the system still answers others. In a long step of a
    load only the engine is silent, so this sends the server two requests. Raises ServerError."""

    def __init__(self, system: System, where: str, patience_s: float) -> None:
        self._system = system
        self._where = where
        self._patience_s = max(1.0, patience_s)
        self._next_s = self._patience_s
        self._failed = False

    def __call__(self, silent_s: float) -> None:
        if silent_s < self._patience_s:
            self._next_s, self._failed = self._patience_s, False
        if silent_s < self._next_s:
            return
        self._next_s = silent_s + self._patience_s
        answers = self._system.whole()
        if not answers and self._failed:
            raise ServerError(
                f"{self._system.name} has not answered for {silent_s:.0f} s",
                where=self._where,
                hint=f"is it frozen, or overloaded? {LOG_KEPT}",
            )
        self._failed = not answers


@dataclass
class Phases:
    """The short phases of one system's data, on one host. warned: the engine's warnings in them."""

    host: Host
    warned: list[str] = field(default_factory=list)

    def load(
        self,
        plan: ResolvedPlan,
        cell: Cell,
        system: System,
        folder: Path,
        *,
        drop_existing: bool,
        on_progress: Callable[[Progress], None],
    ) -> RunResult:
        document, env = spec(plan, cell, system, "load")
        document.drop_existing = drop_existing
        # One writer where the database is inside the engine; a few connections where a server can use them.
        document.threads = 1 if system.capabilities().embedded else 4
        document.timeout_s = max(60.0, plan.timeout_s)
        return self._carry_out(system, document, env, folder, "load", plan.timeout_s, on_progress)

    def warm(
        self, plan: ResolvedPlan, cell: Cell, system: System, folder: Path, stage: Callable[[str], None]
    ) -> RunResult:
        """Reads all rows, however long it takes: the engine reports as long as the system answers."""
        document, env = spec(plan, cell, system, "warm")
        document.timeout_s = max(60.0, plan.timeout_s)

        def tell(progress: Progress) -> None:
            stage(f"warming for {seconds_words(progress.elapsed_s)} ({system.name} answers)")

        return self._carry_out(system, document, env, folder, "warming", plan.timeout_s, tell)

    def check(self, plan: ResolvedPlan, cell: Cell, system: System, folder: Path, expected: CheckSpec) -> RunResult:
        """Checks the data where they are written, and whether replicas hold the same once they had the time."""
        document, env = spec(plan, cell, system, "check")
        document.check = expected
        result = self._carry_out(system, document, env, folder, "check", plan.timeout_s)
        system.caught_up(CATCH_UP_TIMEOUT_S)
        result.checks += system.agreement(cell.workload.tables)
        return result

    def verify(
        self,
        plan: ResolvedPlan,
        cell: Cell,
        system: System,
        folder: Path,
        experiment: Experiment,
        isolation: IsolationName | None,
        on_progress: Callable[[Progress], None],
    ) -> RunResult:
        """An experiment at this level instead of the cell's, whose tables belong to bakeoff."""
        document, env = spec(plan, cell, system, "verify")
        document.routing = "any" if system.multi_writer else document.routing
        document.experiment, document.isolation, document.drop_existing = experiment, isolation, system.managed
        result = self._carry_out(system, document, env, folder, "verify", plan.timeout_s, on_progress)
        if result.interrupted:
            raise EngineError("the experiment was stopped before its end", where=f"verify of {system.name}")
        return result

    def warnings(self) -> list[str]:
        """The warnings since the last call."""
        found, self.warned = self.warned, []
        return found

    def _carry_out(
        self,
        system: System,
        document: RunSpec,
        env: dict[str, str],
        folder: Path,
        what: str,
        patience_s: float,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> RunResult:
        path = write_text(folder, f"{document.phase}.json", dumps(document))
        where = f"{what} of {system.name}"
        with ended_servers_named(system), self.host.engines(where) as engines:
            engines.start(path, env, folder / "engine.log")
            engines.wait_ready(max(30.0, document.timeout_s))
            engines.begin(time.time_ns())
            silence_s = max(SILENCE_S, 2 * document.timeout_s)
            for _, event in engines.events(silence_s=silence_s, quiet=Answering(system, where, patience_s)):
                if isinstance(event, Progress):
                    on_progress(event)
            self.warned += [f"{where}: {warning.what}" for _, warning in engines.warnings]
            return engines.results()[0]


#: The kernel closes the connections of a process a little before it says that the process has ended.
_PATIENCE_S = 1.0
_POLL_S = 0.02


@contextmanager
def ended_servers_named(system: System) -> Iterator[None]:
    """An engine's trouble with a server is reported as the end of those managed servers that have ended by themselves.
    Raises ServerError."""
    try:
        yield
    except EngineTrouble as trouble:
        ended = _ended(system) if trouble.kind == "server" else {}
        if not ended:
            raise
        several = len(system.servers()) > 1
        words = [f"{name if several else 'the server'} of {system.name} ended ({how})" for name, how in ended.items()]
        raise ServerError(
            f"{'; '.join(words)}, and not by bakeoff",
            where=trouble.where,
            hint=f"{LOG_KEPT}; if the machine ran out of memory, the kernel's log (`dmesg`) shows it",
        ) from trouble


def _ended(system: System) -> dict[str, str]:
    """How, by the names of nodes; empty if none has within `_PATIENCE_S`."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        found = {name: how for name, server in system.servers().items() if (how := server.exit_text())}
        if found or not system.servers() or time.monotonic() > deadline:
            return found
        time.sleep(_POLL_S)
