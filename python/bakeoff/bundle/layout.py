"""The names of all files that bakeoff writes into a bundle: what has another name is somebody else's.

A test compares this list with the bundles of real runs. What removes files asks here, so it takes nothing that a user
put next to ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

#: At the top of a bundle; model/records.py says what each is.
TOP_FILES = frozenset(
    {"bundle.json", "plan.toml", "plan.json", "machine.json", "bundle.lock", "report.html", "analyses.jsonl"}
)
TOP_FOLDERS = frozenset({"files", "facts", "loads", "runs", "charts"})

_CELL = r"c[a-z0-9]{2,8}"
#: Of a client's number or none: the first client has none.
_N = r"(\.[0-9]+)?"
_OF_AN_ENGINE = rf"(load|run|warm|check|drop){_N}\.json|engine{_N}\.log|server\.log|events{_N}\.csv"
_OF_A_RUN = re.compile(rf"{_OF_AN_ENGINE}|result\.json|(intervals|tenths|server|nodes)\.parquet|histograms\.json\.gz")
_OF_A_LOAD = re.compile(_OF_AN_ENGINE)
#: schedule/instance.py: a name of at most 80 letters that ends in ten digits of a hash, unless it was cut.
_LOAD = re.compile(r"[A-Za-z0-9._-]*-[0-9a-f]{10}|[A-Za-z0-9._-]{80}")
_CHART = re.compile(
    r"(throughput|spectrum|timeline|server|latency-p[0-9.]+|(metric|search)-[A-Za-z0-9_.:-]+)\.(svg|png)"
)
#: bundle/files.py writes each file under such a name first.
_PART = re.compile(r"\.(.+)\.[0-9a-f]{12}\.part")


@dataclass(frozen=True)
class Layout:
    """What one bundle may hold. cells: of its plan; None where the plan cannot be read, and every name of the right
    form counts. kept: the copies of files that the plan names."""

    cells: Collection[str] | None = None
    kept: Collection[str] = field(default_factory=tuple)

    def is_folder(self, path: str) -> bool:
        """Whether bakeoff makes a folder there. path: relative to the bundle."""
        match path.split("/"):
            case [name]:
                return name in TOP_FOLDERS
            case ["files", *_]:
                return any(kept.startswith(f"{path}/") for kept in self.kept)
            case ["runs", name]:
                return self._is_run(name)
            case ["loads", name]:
                return _LOAD.fullmatch(name) is not None
        return False

    def is_file(self, path: str) -> bool:
        """Whether bakeoff writes a file there, or was writing it when it was killed."""
        if self._is_whole(path):
            return True
        folder, _, name = path.rpartition("/")
        part = _PART.fullmatch(name)
        return part is not None and self._is_whole(f"{folder}/{part[1]}" if folder else part[1])

    def _is_whole(self, path: str) -> bool:
        match path.split("/"):
            case [name]:
                return name in TOP_FILES
            case ["files", *_]:
                return path in self.kept
            case ["facts", name]:
                return name.endswith(".json") and self._is_cell(name.removesuffix(".json"))
            case ["charts", name]:
                return _CHART.fullmatch(name) is not None
            case ["loads", name]:
                return name.endswith(".json") and _LOAD.fullmatch(name.removesuffix(".json")) is not None
            case ["loads", folder, name]:
                return _LOAD.fullmatch(folder) is not None and _OF_A_LOAD.fullmatch(name) is not None
            case ["runs", folder, name]:
                return self._is_run(folder) and _OF_A_RUN.fullmatch(name) is not None
        return False

    def _is_run(self, name: str) -> bool:
        block, _, rest = name.partition("-")
        cell = re.sub(r"\.[0-9]+$", "", rest)  # another attempt
        return re.fullmatch(r"b[0-9]{2,}", block) is not None and self._is_cell(cell)

    def _is_cell(self, name: str) -> bool:
        return re.fullmatch(_CELL, name) is not None if self.cells is None else name in self.cells
