"""Reading a bundle, which may come from anybody. What is missing, cut short or contradicts itself is named; what is
whole stays usable. Nothing is followed out of the folder, and nothing is read without bound."""

from __future__ import annotations

import errno
import gc
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from ..errors import BundleError
from ..model.boundary import Document
from ..model.records.bundle import BUNDLE_FORMAT, AnalysisRecord, BundleInfo, FactsRecord, LoadRecord, MachineFacts
from ..model.records.plan import CellRecord, PlanRecord
from ..model.records.run import RunRecord, runs_that_count
from ..model.records.verification import VerificationRecord
from . import analysis_log, files
from .consistency import bad_number, contradiction, contradiction_of_verification

if TYPE_CHECKING:
    import pyarrow as pa

#: Several times what the largest plans leave: a result has a histogram for each operation and outcome.
DOCUMENT_MAX_BYTES = 16 << 20
TABLE_MAX_BYTES = 256 << 20
TABLE_CELLS_MAX = 50_000_000
PACKED_MAX_BYTES = 256 << 20
#: Of histograms second by second: an hour of a dozen operations. They are read into memory.
UNPACKED_MAX_BYTES = 1 << 30
#: A window is the plan's by the clock of the engines, which all begin and end it together.
WINDOW_SLACK_RATIO = 0.01
_CHUNK_BYTES = 1 << 20

D = TypeVar("D", bound=Document)
#: The wanted columns of a table: a server reports a hundred, and reading them all takes long.
Pick = Callable[[list[str]], list[str]]


@dataclass
class Bundle:
    """One result folder. `damage` lists existing files that could not be read."""

    folder: Path
    info: BundleInfo
    plan: PlanRecord
    machine: MachineFacts
    damage: list[str] = field(default_factory=list)
    #: Of the damage, why results of runs could not be read: these runs are missing in every figure.
    unreadable_runs: list[str] = field(default_factory=list)
    _cells: tuple[list[CellRecord], dict[str, CellRecord]] = field(default=([], {}), init=False, repr=False)

    @classmethod
    def open(cls, path: Path | str) -> Bundle:
        folder = Path(path)
        if folder.is_file() and folder.name == "bundle.json":
            folder = folder.parent
        if not (folder / "bundle.json").is_file():
            raise BundleError(
                f"{folder} is not a bundle: it has no bundle.json" if folder.exists() else f"no such bundle: {folder}",
                hint="name the folder that `bakeoff run` printed at its end",
            )
        return cls(
            folder,
            read_document(folder, "bundle.json", BundleInfo),
            read_document(folder, "plan.json", PlanRecord),
            read_document(folder, "machine.json", MachineFacts),
        )

    @property
    def cells(self) -> dict[str, CellRecord]:
        """Those of the plan by id."""
        listed, by_id = self._cells
        if listed is not self.plan.cells or len(listed) != len(by_id):  # another plan, or one that grew
            by_id = {cell.id: cell for cell in reversed(self.plan.cells)}
            self._cells = self.plan.cells, by_id
        return by_id

    @cached_property
    def runs(self) -> list[RunRecord]:
        """One finished run for each place of the plan, in the order they were made: of several attempts the one that
        counts."""
        return runs_that_count(self.attempts)

    @property
    def runs_planned(self) -> int:
        """Of a search, the most that it may take."""
        return self.plan.runs_max

    @cached_property
    def attempts(self) -> list[RunRecord]:
        """Every run that was made, disturbed and failed attempts included, in that order; one whose result is missing
        or damaged is left out and named."""
        runs: dict[tuple[int, str, int], RunRecord] = {}
        cells = self.cells
        with _many_that_stay():
            for folder in sorted(_entries(self.folder / "runs")):
                name = f"runs/{folder}/result.json"
                if not os.path.lexists(self.folder / name):
                    continue
                try:
                    run = read_document(self.folder, name, RunRecord)
                    self._refuse_misplaced(run, folder, runs, cells.get(run.cell))
                except BundleError as error:
                    self._note(error.what)
                    self.unreadable_runs.append(error.what)
                    continue
                runs[run.block, run.cell, run.attempt] = run
                self._look_at_histograms(run)
        return sorted(runs.values(), key=lambda run: run.order)

    @cached_property
    def facts(self) -> dict[str, FactsRecord]:
        """By cell. What lacks of a cell that was measured is named."""
        found = {name: self._read(f"facts/{name}.json", FactsRecord) for name in self._names("facts")}
        for cell in dict.fromkeys(run.cell for run in self.runs if run.state == "done" and run.cell not in found):
            self._note(f"facts/{cell}.json is missing, so the settings and durability of its system are unknown")
        return found

    @cached_property
    def loads(self) -> list[LoadRecord]:
        return [self._read(f"loads/{name}.json", LoadRecord) for name in self._names("loads")]

    @cached_property
    def verifications(self) -> list[VerificationRecord]:
        """What experiments showed after the runs; a file that is damaged, or not of this plan, is left out and
        named. Not those that the plan does not ask for (any more)."""
        found: dict[str, VerificationRecord] = {}
        if not self.plan.verifies:
            return []
        for name in self._names("verify"):
            try:
                record = self._read(f"verify/{name}.json", VerificationRecord)
                self._refuse_foreign(record, name, found)
            except BundleError as error:
                self._note(error.what)
                continue
            if record.is_asked_by(self.plan):
                found |= dict.fromkeys(record.cells, record)
        return list({id(record): record for record in found.values()}.values())

    @property
    def unverified(self) -> list[str]:
        """Cells of a plan that verifies, of whose system nothing was checked yet."""
        return unverified(self.plan, self)

    @property
    def analyses(self) -> list[AnalysisRecord]:
        """The answers that were given of it, read from disk each time."""
        return analysis_log.read(self.folder)

    def record(self, records: list[AnalysisRecord], known: int) -> bool:
        """Adds them; False where another command recorded one since `known` were read. BakeoffError: it cannot."""
        return analysis_log.add(self.folder, records, known)

    def plan_text(self) -> str:
        """The plan as its author wrote it."""
        return _read_bytes(self.folder, "plan.toml", DOCUMENT_MAX_BYTES).decode(errors="replace")

    def intervals(self, run: str, pick: Pick | None = None) -> pa.Table | None:
        return self._table(run, "intervals.parquet", pick)

    def server(self, run: str, pick: Pick | None = None) -> pa.Table | None:
        return self._table(run, "server.parquet", pick)

    def tenths(self, run: str) -> pa.Table | None:
        return self._table(run, "tenths.parquet", None)

    def nodes(self, run: str, pick: Pick | None = None) -> pa.Table | None:
        return self._table(run, "nodes.parquet", pick)

    def _names(self, folder: str) -> list[str]:
        return sorted(path.stem for path in (self.folder / folder).glob("*.json"))

    def _read(self, name: str, model: type[D]) -> D:
        return read_document(self.folder, name, model)

    def _refuse_misplaced(
        self, run: RunRecord, folder: str, others: dict[tuple[int, str, int], RunRecord], cell: CellRecord | None
    ) -> None:
        """A result that is not that of its folder, or of nothing in the plan, was put there by somebody."""
        name = f"{folder}/result.json"
        if cell is None:
            raise BundleError(f"{name} is of cell {run.cell}, which the plan does not have")
        if run.id != folder:
            raise BundleError(f"{name} is of run {run.id}")
        if not 1 <= run.block <= self.plan.repetitions:
            raise BundleError(f"{name} is of block {run.block}, and the plan has {self.plan.repetitions}")
        planned_s = self.plan.window_s if self.plan.operations is None else None
        if run.valid and planned_s is not None and abs(run.window_s - planned_s) > WINDOW_SLACK_RATIO * planned_s:
            raise BundleError(f"{name} has a window of {run.window_s:g} s, and the plan says {planned_s:g} s")
        nodes, planned = [node.name for node in run.nodes], _nodes_of(self.plan, cell)
        if run.state == "done" and nodes != planned:
            theirs, plans = (", ".join(names) or "none" for names in (nodes, planned))
            raise BundleError(f"{name} has results of the nodes {theirs}, and the plan has {plans}")
        place = run.block, run.cell, run.attempt
        if place in others:
            raise BundleError(f"{name} is of the same cell and block as {others[place].id}")

    def _refuse_foreign(self, record: VerificationRecord, name: str, others: Collection[str]) -> None:
        known = {cell.id for cell in self.plan.cells}
        if strangers := [cell for cell in record.cells if cell not in known]:
            raise BundleError(f"verify/{name}.json is of cell {strangers[0]}, which the plan does not have")
        if record.cells[0] != name:
            raise BundleError(f"verify/{name}.json is of cell {record.cells[0]}")
        if twice := [cell for cell in record.cells if cell in others]:
            raise BundleError(f"verify/{name}.json is of cell {twice[0]}, of which another file is")

    def _look_at_histograms(self, run: RunRecord) -> None:
        """Histograms of single seconds are for those who plot them; here they only have to be complete."""
        name = f"runs/{run.id}/histograms.json.gz"
        if run.state != "done":
            return
        try:
            _unpack(files.read_bytes(self.folder, name, PACKED_MAX_BYTES))
        except (OSError, ValueError, zlib.error) as error:
            self._note(_cut_short(name, error).what)

    def _note(self, words: str) -> None:
        if words not in self.damage:
            self.damage.append(words)

    def _table(self, run: str, table: str, pick: Pick | None) -> pa.Table | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        name = f"runs/{run}/{table}"
        try:
            data = files.read_bytes(self.folder, name, TABLE_MAX_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._note(_cut_short(name, error).what)
            return None
        try:
            # Without the dataset layer and its thread pool: 80 small files open in a tenth of the time.
            file = pq.ParquetFile(pa.BufferReader(data))
            columns = file.schema_arrow.names if pick is None else pick(file.schema_arrow.names)
            if file.metadata.num_rows * len(columns) > TABLE_CELLS_MAX:
                raise ValueError("it states an impossible number of rows")
            return _numbers(file.read(columns=columns, use_threads=False))
        except (pa.ArrowException, OSError, ValueError) as error:
            self._note(_cut_short(name, error).what)
            return None


def unverified(plan: PlanRecord, bundle: Bundle) -> list[str]:
    """Cells of this plan, which may have grown, of whose system the bundle says nothing though the plan verifies."""
    if not plan.verifies:
        return []
    there = {cell for record in bundle.verifications if record.is_asked_by(plan) for cell in record.cells}
    return [cell.id for cell in plan.cells if cell.id not in there]


@contextmanager
def _many_that_stay() -> Iterator[None]:
    """Python looks for garbage in all objects that there are each time their number has grown by a quarter. 10,000 runs
    have millions, which refer to nothing but their parts: looking through them would take a third of the time."""
    gc.unfreeze()  # those of bundles that nobody needs any more
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def _entries(folder: Path) -> list[str]:
    """The names in a folder; none where there is no such folder."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _nodes_of(plan: PlanRecord, cell: CellRecord) -> list[str]:
    """By name, those with separate figures: with a single node, all figures are its own."""
    if cell.nodes:
        return cell.nodes
    try:
        nodes = [str(node["name"]) for node in plan.tree_of(cell)["systems"][cell.system]["nodes"]]
    except (LookupError, TypeError):
        return []
    return nodes if len(nodes) > 1 else []


def _numbers(table: pa.Table) -> pa.Table:
    """The table, whose columns are all of numbers: ValueError if one is not, or holds something infinite."""
    import numpy as np
    import pyarrow as pa

    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_floating(kind):
            if not np.isfinite(column.drop_null().to_numpy()).all():
                raise ValueError(f"{name} holds NaN or infinity")
        elif not (pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind)):
            raise ValueError(f"{name} does not hold numbers")
    return table


def _unpack(data: bytes) -> None:
    """Reads a gzip file to its end, where its checksum is, and keeps nothing of it."""
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    unpacked = 0
    while data and not unpacking.eof:
        unpacked += len(unpacking.decompress(data, _CHUNK_BYTES))
        data = unpacking.unconsumed_tail
        if unpacked > UNPACKED_MAX_BYTES:
            raise ValueError("it unpacks without end")
    if not unpacking.eof:
        raise ValueError("it ends too early")


def read_document(root: Path, name: str, model: type[D]) -> D:
    """One JSON file as its model. Newer formats, damaged files and contradictory figures are refused by name."""
    raw = _parse(name, _read_bytes(root, name, DOCUMENT_MAX_BYTES))
    found = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(found, int) and found != BUNDLE_FORMAT:
        older = "its results were counted differently: rerun its plan.toml, or read it with the bakeoff that wrote it"
        raise BundleError(
            f"{_short(name)} has format {found}; this bakeoff reads format {BUNDLE_FORMAT}",
            where=str(root),
            hint="install a newer bakeoff to read this bundle" if found > BUNDLE_FORMAT else older,
        )
    try:
        _refuse_figure(root, name, bad_number(raw, signed=model not in (RunRecord, LoadRecord)))
        document = model.model_validate(raw)
    except ValidationError as error:
        raise _not_that(root, name, error) from error
    if isinstance(document, RunRecord):
        _refuse_figure(root, name, contradiction(document))
    if isinstance(document, VerificationRecord):
        _refuse_figure(root, name, contradiction_of_verification(document))
    return document


def _refuse_figure(root: Path, name: str, words: str | None) -> None:
    if words is not None:
        raise BundleError(
            f"{_short(name)} holds an impossible figure: {words}",
            where=str(root),
            hint="the file was changed or damaged; copy the bundle again",
        )


def _read_bytes(root: Path, name: str, max_bytes: int) -> bytes:
    try:
        return files.read_bytes(root, name, max_bytes)
    except FileNotFoundError as error:
        raise BundleError(
            f"the bundle is cut short: {_short(name)} is missing", where=str(root), hint="copy the bundle again"
        ) from error
    except OSError as error:
        raise _cut_short(name, error) from error


def _parse(name: str, data: bytes) -> Any:
    with suppress(ValueError):  # in half the time
        return from_json(data)
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _cut_short(name, error) from error


def _not_that(root: Path, name: str, error: ValidationError) -> BundleError:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return BundleError(
            f"{_short(name)} holds a key that this bakeoff does not know: {place}",
            where=str(root),
            hint="it was written by a newer bakeoff, or changed; bundle.json names the version that wrote it",
        )
    return BundleError(
        f"{_short(name)} is not valid: {place}: {first['msg']}",
        where=str(root),
        hint="the file was changed or cut short; copy the bundle again",
    )


def _short(name: str) -> str:
    """Run and file: enough to find it."""
    return name.removeprefix("runs/")


def _cut_short(name: str, error: Exception) -> BundleError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return BundleError(
            f"{_short(name)} is a link, and bakeoff follows no links in bundles",
            hint="replace it with the file itself, or copy the bundle again",
        )
    return BundleError(
        f"{_short(name)} cannot be read: it is cut short or damaged ({why})",
        hint="copy the bundle again, or delete that run's folder and continue with --resume",
    )
