"""One loaded system: its data made once, put back before every run, and gone at the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ..bundle.files import make_folder
from ..errors import PlanError
from ..model.boundary import CheckSpec, Progress
from ..model.records import FactsRecord, LoadRecord
from ..plan.resolved import Cell, ResolvedPlan
from ..provision.files import MEMORY_FILE_SYSTEMS, file_system
from ..provision.instance import InstanceFolder, new_instance
from ..provision.os_metrics import pin
from ..systems import SYSTEMS
from ..systems.base import System
from . import phases


def file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", key)[:80]


class Instance:
    """The system of all cells that share a `load_key`. `stop` may be called at any time and ends everything."""

    def __init__(self, plan: ResolvedPlan, cell: Cell, bundle: Path, *, allow_drop: bool, work: Path | None) -> None:
        self.plan = plan
        self.cell = cell
        self.allow_drop = allow_drop
        self.folder: InstanceFolder = new_instance(file_name(cell.record.system), work)
        self.system: System = SYSTEMS[cell.record.kind].configure(
            cell.record.system,
            cell.system_options,
            durability=cell.durability,
            isolation=cell.isolation,
            workdir=self.folder.path,
            timeout_s=plan.timeout_s,
            base_dir=plan.path.parent if plan.path else Path.cwd(),
        )
        self.logs = make_folder(bundle, f"loads/{file_name(cell.load_key)}")
        self.rows = 0
        self.loaded = False
        self._started = False

    @property
    def snapshot(self) -> Path:
        return self.folder.path / "snapshot"

    def start(self) -> None:
        """Starts a private system unless it runs; looks at an existing one the first time."""
        if not self._started or (self.system.private and not self.system.alive()):
            self.system.start()
            self._started = True
            self._pin()

    def load(self, on_progress: Callable[[Progress], None]) -> LoadRecord:
        """Makes the tables, loads and checks them, and keeps a copy for `reset = "restore"`."""
        self.start()
        if self.plan.cache == "cold":
            self._refuse_memory()
        drop_existing = self.system.private or self.allow_drop
        done = phases.load(
            self.plan, self.cell, self.system, self.logs, drop_existing=drop_existing, on_progress=on_progress
        )
        self.rows = done.rows
        checks = []
        if self.system.capabilities().keeps_data:
            expected = CheckSpec(rows_min=done.rows, rows_max=done.rows, sample=self.plan.check_sample)
            checks = phases.check(self.plan, self.cell, self.system, self.logs, expected).checks
        record = LoadRecord(
            dataset=self.cell.record.dataset,
            system=self.cell.record.system,
            rows=done.rows,
            elapsed_s=done.elapsed_s,
            rows_per_s=done.rows / done.elapsed_s if done.elapsed_s > 0 else 0.0,
            size_on_disk_bytes=self.system.size_on_disk_bytes(),
            checks=checks,
            cells=[c.record.id for c in self.plan.cells if c.load_key == self.cell.load_key],
        )
        if self.plan.reset == "restore":
            self.system.snapshot(self.snapshot)
        self.loaded = True
        return record

    def reset(self, folder: Path) -> None:
        """Makes the data what it was after the load, as the plan says; the system runs afterwards."""
        if self.plan.reset == "restore":
            self.system.restore(self.snapshot)
            self._pin()
        elif self.plan.reset == "reload":
            self.start()
            phases.load(
                self.plan,
                self.cell,
                self.system,
                folder,
                drop_existing=self.system.private or self.allow_drop,
                on_progress=lambda _: None,
            )
        self.start()

    def make_cold(self) -> None:
        """Nothing of the data is in memory afterwards, neither the kernel's nor the server's; the system runs."""
        self.system.make_cold()
        self._pin()

    def _refuse_memory(self) -> None:
        """Data that live in memory are never cold; said before they are loaded."""
        for path in self.system.data_paths():
            if (kind := file_system(path)) in MEMORY_FILE_SYSTEMS:
                raise PlanError(
                    f"the data of {self.system.name} would lie in memory ({kind} at {path}) and cannot be made cold",
                    where="measure.cache",
                    hint='choose a folder on a disk (--work-dir, or `path` of the system), or write cache = "warm"',
                )

    def facts(self, cell: Cell) -> FactsRecord:
        facts = self.system.facts()
        portable = dict(facts.portable)
        if cell.isolation:
            portable["isolation"] = cell.isolation
        return FactsRecord(
            product=facts.product,
            version=facts.version,
            settings=facts.settings,
            portable=portable,
            declared=self.system.declared(),
            private=self.system.private,
        )

    def stop(self) -> None:
        """Ends the server and removes its folder."""
        try:
            self.system.stop()
        finally:
            self.folder.remove()

    def _pin(self) -> None:
        """Keeps the server on the cores that the plan gives it: every thread it has now, and so those it starts."""
        if not self.plan.server_cores:
            return
        for pid in self.system.pids():
            try:
                pin(pid, self.plan.server_cores)
            except OSError as error:
                raise PlanError(
                    f"cannot keep the server on cores {self.plan.server_cores}: {error.strerror}",
                    where="measure.placement.server",
                    hint="name cores that this machine has",
                ) from error
