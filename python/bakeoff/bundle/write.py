"""Writing a bundle as its runs finish. Every method leaves the folder readable: a late failure loses nothing early."""

from __future__ import annotations

import io
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import input_files
from ..errors import BakeoffError, BundleError, BundleHeld, ExitCode, PlanError
from ..locks import Held, Holder, Lock
from ..model.boundary import Document, RunSpec
from ..model.records.bundle import BundleInfo, FactsRecord, LoadRecord, MachineFacts
from ..model.records.plan import PlanRecord
from ..model.records.run import RunRecord
from ..model.records.verification import VerificationRecord
from . import files, resume
from .read import Bundle
from .run_files import RunFiles

if TYPE_CHECKING:
    import pyarrow as pa


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_folder(parent: Path, title: str) -> Path:
    """`parent`/<title>-<time>, made now; a number is added when that exists."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:48] or "bundle"
    stem = f"{slug}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    for number in range(100):
        folder = parent / (stem if number == 0 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            raise files.disk_trouble(error, folder) from error
    raise BundleError(
        f"cannot create a new folder for results: {parent / stem} exists", hint="choose another with --out"
    )


def folder_at(path: Path) -> Path:
    """`path`, made now unless it is an empty folder. BundleError where something is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = any(path.iterdir())
    except OSError as error:
        raise files.disk_trouble(error, path) from error
    if not taken:
        return path
    what, how = "this folder is not empty", "choose another with --out"
    if (path / "bundle.json").exists():
        what, how = "this folder holds a bundle already", f"{how}, or continue this one with --resume"
    raise BundleError(what, where=str(path), hint=how)


def hold(folder: Path, title: str) -> Lock:
    """The right to write into a bundle, until it is freed or this process ends. BundleHeld if another has it."""
    try:
        return Lock.take(folder / "bundle.lock", Holder(os.getpid(), title))
    except Held as held:
        raise BundleHeld(
            f"another bakeoff run is writing into this bundle ({held})",
            where=str(folder),
            hint="wait until it ends, or stop it with Ctrl-C",
        ) from None


class BundleWriter:
    """One bundle being written. `folder` exists; call `begin` (or `resume`) once, then the rest in any order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: BundleInfo | None = None
        self.new = False  # rather than continued

    def begin(self, info: BundleInfo, plan: PlanRecord, plan_text: str, machine: MachineFacts) -> None:
        self.new = True
        files.write_text(self.folder, "plan.toml", plan_text)
        self.plan(plan)
        self._write("machine.json", machine)
        self.update(info.model_copy(update={"id": secrets.token_hex(8)}))

    def keep_files(self, paths: Iterable[Path]) -> None:
        """Copies of the files that the plan names. They lie to each other as they did, so that one of them can name
        another, and two of one name are two."""
        names = sorted({os.path.abspath(path) for path in paths})
        if not names:
            return
        common = os.path.commonpath([os.path.dirname(name) for name in names])
        kept = {f"files/{os.path.relpath(name, common)}": name for name in names}
        if self.info is not None:  # before they are written: what is ours is known after a kill, too
            self.update(self.info.model_copy(update={"kept": sorted({*self.info.kept, *kept})}))
        for place, name in kept.items():
            try:
                data = input_files.read_bytes(name, input_files.TEXT_MAX_BYTES)
            except OSError as error:
                raise PlanError(f"cannot read a file that the plan names: {error.strerror}", where=name) from error
            files.write_bytes(self.folder, place, data)

    @property
    def measured(self) -> bool:
        """Whether a load or a run has been written down."""
        return self._has("loads/*.json", "runs/*/result.json")

    @property
    def tried(self) -> bool:
        """Whether the making of data was begun, or a server left a log."""
        return self._has("loads/*/load.json", "loads/*/server.log")

    @property
    def finished_runs(self) -> int:
        return len(list((self.folder / "runs").glob("*/result.json")))

    def is_left_empty_by(self, error: BaseException) -> bool:
        """Whether this ends a plan that left nothing in its new bundle: it was wrong, or met what it cannot work with
        (a password, a table) before any data were made or a server of ours had said something."""
        if not isinstance(error, BakeoffError) or not self.new or self.measured:
            return False
        return error.exit_code == ExitCode.USAGE or not self.tried

    def _has(self, *kept: str) -> bool:
        return any(next(self.folder.glob(pattern), None) for pattern in kept)

    def resume(self, now: resume.Present, plan_text: str) -> Bundle:
        """Opens the folder again, for a plan that may have grown. BundleError where other runs would come of it."""
        bundle = Bundle.open(self.folder)
        resume.refuse_changes(bundle, now)
        finished = sum(run.state == "done" for run in bundle.runs)
        told = [resume.words_of_break(bundle, now, finished)] if finished else []
        told += [f"found on resuming: {damage} (a run without a result was repeated)" for damage in bundle.damage]
        self._judge_anew(bundle, now.plan.error_budget_ratio)  # before the plan says so: it may be cut short
        if any(run.disturbance_allowed != now.info.allow_disturbed for run in bundle.attempts):
            self._rewrite(bundle, resume.judged_by(bundle.attempts, allow_disturbed=now.info.allow_disturbed))
        files.write_text(self.folder, "plan.toml", plan_text)
        self.plan(now.plan)
        changes = {
            "state": "running",
            "command": now.info.command,
            "finished": None,
            "skipped": dict(now.skipped),
            "inputs": {**bundle.info.inputs, **now.info.inputs},
            "allow_disturbed": now.info.allow_disturbed,
            "labels": {**bundle.info.labels, **now.info.labels},
            "messages": [*bundle.info.messages, *told],
            "analysed_repetitions": bundle.info.analysed_repetitions or _analysed_repetitions_of_old(bundle),
        }
        self.update(bundle.info.model_copy(update=changes))
        return bundle

    def _judge_anew(self, bundle: Bundle, error_budget_ratio: float) -> None:
        if error_budget_ratio != bundle.plan.error_budget_ratio:
            self._rewrite(bundle, [resume.judged_anew(run, error_budget_ratio) for run in bundle.attempts])

    def _rewrite(self, bundle: Bundle, attempts: list[RunRecord]) -> None:
        bundle.attempts = attempts
        bundle.__dict__.pop("runs", None)  # which of them count may have changed
        for run in attempts:
            self.run_result(run)

    def update(self, info: BundleInfo) -> None:
        self.info = info
        self._write("bundle.json", info)

    def resume_command(self, command: str) -> None:
        if self.info is not None:
            self.update(self.info.model_copy(update={"resume_command": command}))

    def plan(self, plan: PlanRecord) -> None:
        """A search's plan grows as it goes."""
        self._write("plan.json", plan)

    def facts(self, cell: str, facts: FactsRecord) -> None:
        self._write(f"facts/{cell}.json", facts)

    def load(self, key: str, load: LoadRecord) -> None:
        self._write(f"loads/{key}.json", load)

    def verification(self, record: VerificationRecord) -> None:
        self._write(f"verify/{record.cells[0]}.json", record)

    def run_folder(self, run: str) -> Path:
        return files.make_folder(self.folder, f"runs/{run}")

    def run_spec(self, run: str, client: int, spec: RunSpec, phase: str = "run") -> Path:
        name = f"{phase}.json" if client == 0 else f"{phase}.{client}.json"
        return files.write_text(self.run_folder(run), name, dumps(spec))

    def run_tables(
        self, run: str, tables: Mapping[str, Sequence[Mapping[str, Any]]], histograms: Sequence[Mapping[str, Any]]
    ) -> None:
        """Tables without rows are left out."""
        kept = self.run_files(run)
        for name, rows in tables.items():
            for row in rows:
                getattr(kept, name).add(row)
        for row in histograms:
            kept.histograms.add(row)
        kept.finish()

    def run_files(self, run: str) -> RunFiles:
        self.run_folder(run)
        return RunFiles(self.folder, run)

    def run_result(self, record: RunRecord) -> None:
        """The last file of a run. In a bundle of somebody who allows disturbed runs it counts though it was one."""
        allowed = self.info is not None and self.info.allow_disturbed
        record.disturbance_allowed = record.disturbance_allowed or allowed
        self._write(f"runs/{record.id}/result.json", record)

    def _write(self, name: str, document: Document) -> None:
        files.write_text(self.folder, name, dumps(document))


def _analysed_repetitions_of_old(bundle: Bundle) -> list[int]:
    """A complete bundle from before analyses were recorded was analysed at its end."""
    return [bundle.plan.repetitions] if bundle.info.state == "complete" and not bundle.analyses else []


def dumps(document: Document) -> str:
    return document.model_dump_json(indent=1) + "\n"


def packed(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()
