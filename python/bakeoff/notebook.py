"""What notebooks see of a bundle: tables, response times, judged comparisons and charts. docs/reference/python.md
promises what stays as it is; what begins with an underscore is nobody else's. It gives what a report shows, to other
programs.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .analysis.histograms import Histogram, HistogramError
from .analysis.metric import Metric
from .analysis.percentiles import Distribution, merged_distribution, operation_distribution
from .analysis.registry import all_metrics, metric
from .bundle import files
from .bundle.read import PACKED_MAX_BYTES, UNPACKED_MAX_BYTES, Bundle
from .errors import BundleError
from .findings.runs import used_runs
from .model.records.bundle import BundleInfo, FactsRecord, LoadRecord, MachineFacts
from .model.records.plan import PlanRecord, Scalar
from .model.records.run import RunRecord
from .report import tables as table
from .report.answer import Answer, analysed, answer_of

if TYPE_CHECKING:
    import pyarrow as pa

#: What to select cells by: {"system": "mariadb", "threads": 8}, as in the tables.
Where = Mapping[str, Scalar]


@dataclass(frozen=True)
class Chart:
    """A drawing as SVG, which a notebook shows as a picture. label: what it shows, in words."""

    name: str
    label: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.svg, encoding="utf-8")


class OpenBundle:
    """One bundle, read when something is asked of it. Made by `bakeoff.bundle.open_bundle`."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return f"<bundle {self.folder.name}: {self.plan.title}, {len(self.records)} runs, {self.info.state}>"

    @property
    def folder(self) -> Path:
        return self._bundle.folder

    @property
    def info(self) -> BundleInfo:
        """Who made it, when, and how it ended."""
        return self._bundle.info

    @property
    def plan(self) -> PlanRecord:
        """As it was carried out, with its cells."""
        return self._bundle.plan

    @property
    def machine(self) -> MachineFacts:
        return self._bundle.machine

    @property
    def facts(self) -> dict[str, FactsRecord]:
        """By cell: product, version and settings of its system, read back after its start."""
        return self._bundle.facts

    @property
    def loads(self) -> list[LoadRecord]:
        return self._bundle.loads

    @property
    def records(self) -> list[RunRecord]:
        """Every finished run whole, in the order in which they were made; of several attempts the one that counts."""
        return self._bundle.runs

    @property
    def attempts(self) -> list[RunRecord]:
        """Every run that was made, also those that were disturbed and repeated: `standing` says what each is."""
        return self._bundle.attempts

    @property
    def damage(self) -> list[str]:
        """What could not be read of it so far, in sentences."""
        return self._bundle.damage

    def runs(self, *metrics: str) -> pa.Table:
        """One row a run: run, cell, block, started, system, workload, the factors, valid, standing; then each metric
        that some run has, or those named, in the unit that its field's metadata tell. Null: not defined or not known.
        UnknownMetric (a ValueError) for a name that is none."""
        made = table.runs_table(self._bundle, self._metrics(metrics))
        return made if metrics else table.without_empty(made)

    def cells(self, *metrics: str) -> pa.Table:
        """One row per cell, of its valid repetitions: each metric's geometric mean, next to it `_low` and `_high` (its
        95 % interval), `_minimum`, `_maximum` and `_cv` (standard deviation over mean)."""
        made = table.cells_table(self._bundle, self._metrics(metrics))
        return made if metrics else table.without_empty(made)

    def seconds(self, *columns: str) -> pa.Table:
        """One row per second of every run: what the run is; second (since the warm-up began), length_s, warm_up; then
        ok and errors (counts), rate_ops_per_s, mean_ms to max_ms of successful operations, statements, retries,
        reconnects, or the columns named."""
        return table.seconds_table(self._bundle, columns)

    def samples(self, *columns: str) -> pa.Table:
        """One row a sample of server and machine, of every run: what the run is; second (since the warm-up began),
        length_s; then columns `os.*`, `db.*` and `machine.*`, or those named."""
        return table.samples_table(self._bundle, columns)

    def response_times(self, where: Where | None = None, operation: str = "") -> Distribution:
        """Of the valid runs of the cells chosen (of all finished ones, where none is valid), merged from their
        histograms: of all operations of the window, or of one. ValueError where there is no such run."""
        runs = self._chosen(where or {})
        if not operation:
            return merged_distribution(runs)
        found = operation_distribution(runs, operation)
        if found is None:
            known = ", ".join(dict.fromkeys(s.operation for run in runs for s in run.series))
            raise ValueError(f"unknown operation {operation!r}; the runs have {known}")
        return found

    def histograms(self, run: str) -> list[OfSecond]:
        """Of one run, by second, operation and outcome; `bakeoff.analysis.histograms.merge` puts them together."""
        return read_histograms(self.folder, run)

    def answer(self, objective: str = "") -> Answer:
        """What the report says, with every comparison; judged by the plan's objective, and then an analysis that the
        bundle records; or by another metric, which is not recorded: whoever looks for one by which a difference is
        shown will find it. See docs/method/interim-analyses.md."""
        if objective in ("", self.plan.objective):
            return analysed(self._bundle)
        plan = self.plan.model_copy(update={"objective": self._metric(objective).name})
        return answer_of(replace(self._bundle, plan=plan))

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Those of the report, by name."""
        from .report.charts.figures import figures_of

        drawn = figures_of(self._bundle, self.answer()).files()
        return {one.name: Chart(one.name, one.label, one.canvas.standalone(one.label)) for one in drawn}

    def _metric(self, name: str) -> Metric:
        return metric(name, self.plan.rates)

    def _metrics(self, names: tuple[str, ...]) -> list[Metric]:
        return [self._metric(name) for name in names] or all_metrics(self.plan.rates)

    def _chosen(self, where: Where) -> list[RunRecord]:
        known = {cell.id: {"cell": cell.id, "system": cell.system, **cell.levels} for cell in self.plan.cells}
        cells = {cell for cell, levels in known.items() if where.items() <= levels.items()}
        runs = used_runs([run for run in self.records if run.cell in cells])
        if not runs:
            names = dict.fromkeys(name for levels in known.values() for name in levels)
            raise ValueError(f"no finished run matches {dict(where)}; cells are selected by {', '.join(names)}")
        return runs


@dataclass(frozen=True, slots=True)
class OfSecond:
    """second: since the warm-up began. outcome: "ok", "fail_conflict", "unknown", ... seconds: how many it is of, 1 in
    the first hour of a run and later up to 60."""

    second: int
    operation: str
    outcome: str
    response: Histogram
    seconds: int = 1


def read_histograms(folder: Path, run: str) -> list[OfSecond]:
    """Second by second, all clients merged; BundleError where they are missing or damaged."""
    name = f"runs/{run}/histograms.json.gz"
    try:
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
        data = unpacking.decompress(files.read_bytes(folder, name, PACKED_MAX_BYTES), UNPACKED_MAX_BYTES)
        if not unpacking.eof:
            raise ValueError("it ends too early, or is too large when unpacked")
        return [
            OfSecond(
                int(one["second"]),
                str(one["operation"]),
                str(one["outcome"]),
                Histogram.from_hdr(one["hdr"]),
                int(one.get("seconds", 1)),
            )
            for one in json.loads(data)["intervals"]
        ]
    except FileNotFoundError as error:
        raise BundleError(f"{name} is missing", where=str(folder), hint="copy the bundle again") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError, zlib.error, HistogramError) as error:
        raise BundleError(
            f"{name} cannot be read: {error}", where=str(folder), hint="it was changed or cut short; copy it again"
        ) from error
