"""A plan after reading, checking and expanding: everything decided, nothing started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..fleet.spec import FleetSpec
from ..model.boundary import IoName, Limit, Pacing, Retry, RunnerName, Thinking, TimeLimit
from ..model.levels import PORTABLE
from ..model.records.plan import CellRecord, PlanRecord, Scalar
from ..model.resolve import ResolvedDriver
from .document.tables import MeasureTable, VerifyTable
from .factors import Routing

if TYPE_CHECKING:
    from ..systems.base import System
    from ..workloads.base import Workload


#: Of a client, where a limit by operations says nothing about time.
OPERATIONS_PER_S = 2_000


@dataclass(frozen=True)
class Cell:
    """One combination of factor levels, with all that is needed to run it."""

    record: CellRecord
    #: Options for System.configure: the plan's [systems.NAME] table with this cell's factor levels merged in.
    system_options: dict[str, Any]
    #: Those options that are the driver's, decided.
    driver: ResolvedDriver
    workload: Workload
    threads: int
    sessions: int | None
    routing: Routing
    clients: int
    workers: int
    runner: RunnerName | None  # None: the driver's own
    io: IoName | None
    pacing: Pacing  # per client
    limit: Limit  # per client
    retry: Retry
    event_log: bool
    data: str  # load | existing
    #: Cells with equal keys share one system: same name, same options, same data.
    instance_key: str
    #: Cells with equal keys share one loaded data set: whatever shapes its bytes is the same.
    load_key: str
    #: Where an existing system keeps the tables; None: bakeoff starts it.
    place: tuple[str, ...] | None

    @property
    def portable(self) -> dict[str, Any]:
        """What systems are asked for by names that all of them share: durability, isolation, consistency."""
        return {name: getattr(self.record, name) for name in PORTABLE}

    @property
    def reset(self) -> str:
        """restore | reload | reuse | none."""
        return self.record.reset

    @property
    def expected_window_s(self) -> float:
        """How long a run of it measures: a guess where neither its limit nor a rate says it."""
        if isinstance(self.limit, TimeLimit):
            return self.limit.window_s
        rate = self.record.rate_ops_per_s
        guess_s = self.limit.operations / (rate / self.clients if rate else OPERATIONS_PER_S)
        if most := self.workload.operations_max:
            share = min(1.0, self.limit.operations * self.clients / most)
            guess_s = max(guess_s, self.workload.lasts_s * share)
        return min(guess_s, self.limit.max_s) if self.limit.max_s else guess_s

    @property
    def runner_taken(self) -> RunnerName:
        return self.runner or self.driver.runners[0]

    @property
    def pauses(self) -> bool:
        """Its users wait between operations, also where answers come at once."""
        return self.workload.pauses or isinstance(self.pacing, Thinking)

    def configure(self, kind: type[System], *, workdir: Path, timeout_s: float, base_dir: Path) -> System:
        """The cell's system, not started; PlanError if its options cannot be."""
        from ..systems.base import Configuration

        asked = self.portable
        del asked["consistency"]  # the options have it
        further: dict[str, Any] = {**asked, "workdir": workdir, "timeout_s": timeout_s, "base_dir": base_dir}
        return kind.configure(Configuration(self.record.system, self.system_options, **further))


@dataclass(frozen=True)
class ResolvedPlan:
    path: Path | None
    text: str
    record: PlanRecord
    cells: list[Cell]
    #: Systems of the plan that this machine cannot run, where the plan says `optional = true`: name -> why.
    skipped: dict[str, str]
    warm_up_s: float
    timeout_s: float
    #: What the plan says of measuring; what follows from it and from the systems is in `record`.
    measure: MeasureTable
    #: Of one client, cells that are left out this time included. What suits these is what every run is asked with: a
    #: sweep that changed its way of asking the kernel in the middle would show a step of the client's.
    sessions_of_largest_run: int
    #: Files whose content shapes the runs, by the name that the plan knows them by.
    inputs: dict[str, Path]
    warnings: list[str] = field(default_factory=list)
    #: Of a search: the plan with these levels of what is sought, by subject.
    with_levels: Callable[[Mapping[str, Sequence[Scalar]]], ResolvedPlan] | None = None
    #: What is checked of each system after the runs; None: nothing.
    verify: VerifyTable | None = None
    #: Where clients run; None: on this machine, as processes of ours.
    fleet: FleetSpec | None = None

    def seed_of_block(self, block: int) -> int:
        """Of its runs' operations, the same for all cells; the data have the plan's. A search varies it: runs that all
        draw the same operations would make its interval one of that draw only."""
        return self.record.seed + block if self.measure.vary_seed or self.record.search else self.record.seed

    def arrival_seed_of_block(self, block: int) -> int:
        """Of its runs' arrivals, the same for all cells: repetitions that all met one draw of them would agree about
        that draw."""
        return self.record.seed + block

    @property
    def base_dir(self) -> Path:
        """Where relative paths start."""
        return self.path.parent if self.path else Path.cwd()
