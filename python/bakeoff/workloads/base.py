"""What the plan and the schedule need of a workload whose options are decided; `bakeoff.workloads` lists the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..model.boundary import Retry


@dataclass(frozen=True)
class Hints:
    """What a workload says about the load rather than the work, where the plan does not say it. Counts and rates are
    of one client."""

    threads: int | None = None
    rate_ops_per_s: float | None = None
    operations: int | None = None
    window_s: float | None = None
    retry: Retry | None = None


class Workload(Protocol):
    """Every option decided. Nothing is generated here: the engine generates data and operations."""

    @property
    def spec(self) -> dict[str, Any]:
        """As the engine reads it (`workload` of run.json)."""

    @property
    def hints(self) -> Hints: ...

    @property
    def label(self) -> str:
        """ "YCSB A (records 10000)": what tells the workloads of one report apart."""

    @property
    def sources(self) -> Sequence[Path]:
        """Files that the options came from; a bundle keeps copies."""

    @property
    def tables(self) -> Sequence[str]:
        """The tables it makes, at least one: of two data sets with the same ones, a schema holds one at a time."""

    @property
    def writes(self) -> bool:
        """Whether the run phase changes data."""

    @property
    def keeps_session(self) -> bool:
        """Operations share transactions, so each user needs a session of its own (no pool)."""

    @property
    def users_max(self) -> int | None:
        """Most threads over all clients, where each needs a table of its own; None: as many as one likes."""

    @property
    def loaded_rows(self) -> int:
        """Rows that the load phase stores."""

    @property
    def size_estimate_bytes(self) -> int:
        """User bytes after the load, without what a system adds."""

    def data_identity(self, seed: int) -> str:
        """Equal for equal loaded data sets, which cells then share."""

    def continued(self, turn: int) -> dict[str, Any] | None:
        """`spec` for a run on data in which `turn` runs before may have inserted rows: with other keys than theirs.
        None: it would insert the same rows again."""

    def advice(self) -> list[str]:
        """What is allowed but will limit the answer, a sentence each."""
