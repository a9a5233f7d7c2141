"""What a report needs of a bundle; `bakeoff.bundle.read.Bundle` is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..model.records.bundle import AnalysisRecord, BundleInfo, FactsRecord, LoadRecord, MachineFacts
from ..model.records.plan import PlanRecord
from ..model.records.run import RunRecord

Pick = Callable[[list[str]], list[str]]

if TYPE_CHECKING:
    import pyarrow as pa


class Source(Protocol):
    folder: Path
    info: BundleInfo
    plan: PlanRecord
    machine: MachineFacts

    @property
    def facts(self) -> dict[str, FactsRecord]: ...

    @property
    def loads(self) -> list[LoadRecord]: ...

    @property
    def runs(self) -> list[RunRecord]:
        """One for each place of the plan."""
        ...

    @property
    def attempts(self) -> list[RunRecord]:
        """All that were made."""
        ...

    @property
    def analyses(self) -> list[AnalysisRecord]: ...

    def intervals(self, run: str, pick: Pick | None = None) -> pa.Table | None: ...

    def server(self, run: str, pick: Pick | None = None) -> pa.Table | None: ...

    def nodes(self, run: str, pick: Pick | None = None) -> pa.Table | None: ...


class Recording(Source, Protocol):
    """A bundle whose analyses can be written down."""

    def record(self, records: list[AnalysisRecord], known: int) -> bool:
        """False where another command recorded one since `known` were read. BakeoffError where it cannot."""
