"""Reading a bundle. What is missing or cut short is named; what is whole stays usable."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from ..errors import BundleError
from ..model.boundary import Document
from ..model.records import BUNDLE_FORMAT, BundleInfo, FactsRecord, LoadRecord, MachineFacts, PlanRecord, RunRecord

if TYPE_CHECKING:
    import pyarrow as pa

D = TypeVar("D", bound=Document)
#: Of a table's columns those that are wanted: a server tells of a hundred, and reading them all takes its time.
Pick = Callable[[list[str]], list[str]]


@dataclass
class Bundle:
    """One result folder. `damage` lists files that were there but could not be read."""

    folder: Path
    info: BundleInfo
    plan: PlanRecord
    machine: MachineFacts
    damage: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path | str) -> Bundle:
        folder = Path(path)
        if folder.is_file() and folder.name == "bundle.json":
            folder = folder.parent
        if not (folder / "bundle.json").is_file():
            raise BundleError(
                f"{folder} is not a bundle: there is no bundle.json in it"
                if folder.exists()
                else f"no such bundle: {folder}",
                hint="give the folder that `bakeoff run` named at its end",
            )
        return cls(
            folder,
            read_document(folder / "bundle.json", BundleInfo),
            read_document(folder / "plan.json", PlanRecord),
            read_document(folder / "machine.json", MachineFacts),
        )

    @cached_property
    def runs(self) -> list[RunRecord]:
        """Finished runs in the order they were made; one whose result is missing or damaged is left out and named."""
        runs: list[RunRecord] = []
        cells = {cell.id for cell in self.plan.cells}
        for folder in sorted((self.folder / "runs").glob("*")):
            path = folder / "result.json"
            if not path.is_file():
                continue
            try:
                run = read_document(path, RunRecord)
            except BundleError as error:
                self.damage.append(error.what)
                continue
            if run.cell in cells:
                runs.append(run)
            else:
                self.damage.append(f"{folder.name}/{path.name} is of cell {run.cell}, which the plan does not have")
        return sorted(runs, key=lambda run: run.order)

    @cached_property
    def facts(self) -> dict[str, FactsRecord]:
        return {p.stem: read_document(p, FactsRecord) for p in sorted((self.folder / "facts").glob("*.json"))}

    @cached_property
    def loads(self) -> list[LoadRecord]:
        return [read_document(p, LoadRecord) for p in sorted((self.folder / "loads").glob("*.json"))]

    def intervals(self, run: str, pick: Pick | None = None) -> pa.Table | None:
        return self._table(run, "intervals.parquet", pick)

    def server(self, run: str, pick: Pick | None = None) -> pa.Table | None:
        return self._table(run, "server.parquet", pick)

    def histograms(self, run: str) -> list[dict[str, Any]]:
        """Per second, operation and outcome: {second, operation, outcome, hdr}."""
        path = self.folder / "runs" / run / "histograms.json.gz"
        try:
            rows: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["intervals"]
            return rows
        except FileNotFoundError:
            return []
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise cut_short(path, error) from error

    def _table(self, run: str, name: str, pick: Pick | None) -> pa.Table | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / "runs" / run / name
        if not path.is_file():
            return None
        try:
            # Without the dataset layer and its thread pool: 80 small files open in a tenth of the time.
            file = pq.ParquetFile(path)
            columns = None if pick is None else pick(file.schema_arrow.names)
            return file.read(columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            self.damage.append(cut_short(path, error).what)
            return None


def read_document(path: Path, model: type[D]) -> D:
    """One JSON file as its model. Newer formats are refused kindly, damaged files by name."""
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text)
    except FileNotFoundError as error:
        raise BundleError(
            f"the bundle is cut short: {path.name} is missing", where=str(path.parent), hint="copy the bundle again"
        ) from error
    except (OSError, ValueError) as error:
        raise cut_short(path, error) from error
    found = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(found, int) and found > BUNDLE_FORMAT:
        raise BundleError(
            f"{path.name} has format {found}; this bakeoff reads up to {BUNDLE_FORMAT}",
            where=str(path.parent),
            hint="install a newer bakeoff to read this bundle",
        )
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BundleError(
            f"{path.name} is not what a bundle holds: {place}: {first['msg']}",
            where=str(path.parent),
            hint="the file was changed or cut short; copy the bundle again",
        ) from error


def cut_short(path: Path, error: Exception) -> BundleError:
    return BundleError(
        f"{path.parent.name}/{path.name} cannot be read: it is cut short or damaged ({type(error).__name__})",
        where=str(path.parent),
        hint="copy the bundle again, or delete that run's folder and continue it with --resume",
    )
