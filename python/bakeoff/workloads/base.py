"""What the plan and the schedule need of a workload whose options are decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from .. import input_files
from ..errors import PlanError
from ..model.resolve import OptionFile, Resolved


@dataclass(frozen=True)
class Hints:
    """What a workload says about the load rather than the work, where the plan does not say it. Counts and rates are
    of one client."""

    threads: int | None = None
    rate_ops_per_s: float | None = None
    operations: int | None = None
    window_s: float | None = None


@dataclass(frozen=True)
class Asked:
    """A plan's [workload] in the words of the engine's request."""

    options: dict[str, Any]
    file: OptionFile | None = None
    hints: Hints = Hints()
    #: Files that the options came from; a bundle keeps copies.
    sources: list[Path] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


class Workload(Resolved):
    """Every option decided, and what a file of the original said in addition."""

    hints: Hints = Hints()
    sources: list[Path] = Field(default_factory=list)

    @property
    def foreign_keys(self) -> bool:
        """Whether its tables refer to each other. Of your own SQL only the server knows."""
        if self.spec["kind"] == "hatshop":
            layout, indexed = self.spec["layout"], bool(self.spec["secondary_index"])
            return layout == "line_items_by_order" or (layout == "line_items" and indexed)
        return bool(self.spec.get("foreign_keys", False))

    @property
    def pauses(self) -> bool:
        """Its users wait between operations: they key in and think, or keep the pace of a log."""
        return bool(self.spec.get("keying_and_think")) or (self.spec["kind"] == "replay" and self.spec["speed"] > 0)

    @property
    def operations_max(self) -> int | None:
        """Of a run over all clients, where its operations are in a file and so have an end."""
        if self.spec["kind"] == "replay":
            return int(self.spec["log"]["rows"])
        return self.spec["events"] if self.spec.get("events_file") else None

    def continued(self, turn: int) -> dict[str, Any] | None:
        """`spec` for a run on data in which `turn` runs before may have inserted rows: with other keys than theirs.
        None: it would insert the same rows again."""
        if self.continues_by is None:
            return None
        return self.spec | {name: self.spec[name] + turn * step for name, step in self.continues_by.items()}


def locate(base_dir: Path, name: str) -> Path:
    """Relative to the plan; a plan in a bundle has its files next to it in `files`."""
    kept = base_dir / "files"
    places = [base_dir / name, kept / name, kept / Path(name).name]
    return next((path for path in places if path.exists()), places[0])


def read_text(path: Path, option: str, *, encoding: str = "utf-8") -> str:
    """Raises PlanError naming the file."""
    try:
        return input_files.read_text(path, encoding=encoding)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or error
        raise PlanError(
            f"the workload file cannot be read: {why}",
            where=str(path),
            hint=f"`{option}` is relative to the plan's folder",
        ) from error
