"""A plan, its cells and its search, as a bundle holds them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, model_validator

from ...renamed import in_plan
from ..boundary import Document
from ..faults import PlannedFault
from ..prices import Priced, Prices
from ..resolve import Rate, ResponseLimit
from .bundle import BUNDLE_FORMAT

#: Before the identity of a data set that bakeoff did not load for the plan: its shape is checked, not every value.
EXISTING_PREFIX = "existing-"

Scalar = str | int | float | bool


class CellRecord(Document):
    """One combination of factor levels."""

    id: str  # "ck3v9x2mq": a hash of what the cell is, see plan/cells.py
    system: str  # name in the plan
    kind: str  # kind of system
    label: str  # "sqlite_full / preset=a / threads=4"
    #: Every factor with more than one level, "system" first; the report's axes come from here.
    levels: dict[str, Scalar]
    threads: int  # per client
    clients: int
    rate_ops_per_s: float | None  # offered over all clients; None: closed loop
    workload: str  # "YCSB A (records 10000)"
    dataset: str  # identity of the data as they are stored
    durability: str | None
    isolation: str | None
    consistency: str | None = None
    #: restore | reload | reuse | none; "": the plan's, in a bundle from before systems had their own.
    reset: str = ""
    #: The workload's own figures.
    rates: list[Rate] = Field(default_factory=list)
    limits: list[ResponseLimit] = Field(default_factory=list)
    #: Names of its system's servers, where they are several; empty in a bundle from before cells had them.
    nodes: list[str] = Field(default_factory=list)
    #: What is done to its servers in the window of every run.
    faults: list[PlannedFault] = Field(default_factory=list)
    #: A hash of what is asked, however the plan spelled it; "" in a bundle from before cells had it.
    work: str = ""
    #: Identity of the rows, however they are stored; "" in a bundle from before cells had it.
    content: str = ""
    #: The product whose protocol its system speaks, without being it; "" of a product (model/peers.py).
    peer_of: str = ""
    #: Whether its operations change rows; taken for true in a bundle from before cells had it.
    writes: bool = True
    #: Of its system; None where the plan says none.
    prices: Prices | None = None

    def has_rows_of(self, other: CellRecord) -> bool:
        """Whether both have the same rows, stored alike or not."""
        return self.dataset == other.dataset or (self.content == other.content != "")


def priced(cells: Iterable[CellRecord]) -> list[Priced]:
    """All of a plan have one currency."""
    return [Priced(currency=cell.prices.currency) for cell in cells if cell.prices][:1]


def price_words(cells: Iterable[CellRecord]) -> list[str]:
    """ "prices of mariadb: 0.192 USD per hour of its machines (...)", of each system once."""
    found = {cell.system: cell.prices.words for cell in cells if cell.prices}
    return [f"prices of {system}: {words}" for system, words in found.items()]


class SearchRecord(Document):
    """The highest (or lowest) level of a factor that keeps all limits; see analysis/search.py. runs: the most of each
    subject: of each combination of all else that varies."""

    factor: str
    highest: bool
    limits: list[str]
    low: float
    high: float
    first: float
    whole: bool
    precision_ratio: float
    runs: int

    @property
    def sought_words(self) -> str:
        """ "highest rate", "lowest number of threads"."""
        return f"{'highest' if self.highest else 'lowest'} {self.level_name}"

    @property
    def level_name(self) -> str:
        return self.factor if self.factor == "rate" else f"number of {self.factor}"

    def question_words(self, limits: Iterable[str]) -> str:
        """limits: in words. "the highest rate with p99 below 2 ms"."""
        return f"the {self.sought_words} with {' and '.join(limits)}"

    def subject(self, cell: CellRecord) -> str:
        return subject_of({name: level for name, level in cell.levels.items() if name != self.factor})


def subject_of(levels: dict[str, Scalar]) -> str:
    return json.dumps(levels, sort_keys=True)


class PlanRecord(Document):
    format: int = BUNDLE_FORMAT
    title: str
    description: str = ""
    demonstration: bool = False
    seed: int
    objective: str  # a metric's name
    compare_factor: str  # the factor whose levels are compared: "system" unless the plan says otherwise
    baseline: Scalar | None
    repetitions: int
    warm_up_s: float
    window_s: float | None  # None: limited by operations
    operations: int | None
    pacing: str  # in words: "closed loop", "open loop, 5000/s, Poisson arrivals"
    error_budget_ratio: float
    reset: str  # in words: that of all systems, or each with the systems it is of
    cache: str
    placement: dict[str, list[int]]
    factors: dict[str, list[Scalar]]
    #: "latency_p99 < 2ms": the limits that every run is checked against.
    limits: list[str] = Field(default_factory=list)
    #: "rate < -5%", "latency_p99 > 2ms": what makes `run` end with exit code 1.
    fail_if: list[str] = Field(default_factory=list)
    #: From which relative size on a difference matters; None: the plan does not say.
    matters_ratio: float | None = None
    #: What a `fail_if` on a change that is undecided makes of the exit code.
    undecided: Literal["separate", "pass", "fail"] = "separate"
    #: Its cells are the levels tried so far, and a block is one step of it.
    search: SearchRecord | None = None
    cells: list[CellRecord]
    #: The plan as a tree after defaults, secrets as names only. Of several plans side by side: what they share, and in
    #: "plans" what is each one's own.
    resolved: dict[str, Any]
    #: Of several plans side by side, by key: what each says where they do not say the same.
    differences: dict[str, dict[str, str]] = Field(default_factory=dict)
    #: The part of the plan that was wanted, as `--only` said it, any of these; empty: all of it.
    only: list[str] = Field(default_factory=list)
    #: How many runs may be made in all beyond those planned, in place of disturbed ones; None: as many as are planned.
    repeat_disturbed: int | None = None
    #: Where its clients run, in words: "load1, load2 (SSH)"; empty: on the machine that carries it out.
    fleet: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_bakeoff(cls, record: Any) -> Any:
        return in_plan(record)

    @property
    def fleet_words(self) -> str:
        return self.fleet or "this machine"

    @property
    def runs_max(self) -> int:
        """All of them; of a search, the most that it may take."""
        if self.search is None:
            return len(self.cells) * self.repetitions
        return len({self.search.subject(cell) for cell in self.cells}) * self.search.runs

    @property
    def repeats_max(self) -> int:
        return self.runs_max if self.repeat_disturbed is None else self.repeat_disturbed

    @property
    def part_words(self) -> str:
        """ "only mariadb, threads=8 or sqlite"; empty: the whole plan."""
        parts = [", ".join(term.strip() for term in words.split(",")) for words in self.only]
        return f"only {' or '.join(parts)}" if parts else ""

    @property
    def verifies(self) -> bool:
        """Whether it asks for checks of what its systems promise."""
        return self.resolved.get("verify") is not None

    @property
    def rates(self) -> list[Rate | Priced]:
        """Its workloads' own, each name once, and the cost, where there are prices."""
        rates = {rate.name: rate for cell in reversed(self.cells) for rate in cell.rates}
        return [*rates.values(), *priced(self.cells)]

    def tree_of(self, cell: CellRecord) -> dict[str, Any]:
        """The tree that has the cell's system and workload: its own plan's, where there are several."""
        plans = self.resolved.get("plans")
        tree = plans.get(cell.levels.get("plan")) if isinstance(plans, dict) else None
        return tree if isinstance(tree, dict) else self.resolved
