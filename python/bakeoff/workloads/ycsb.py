"""YCSB in a plan: property files of the original beside the engine's options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import PlanError
from ..model.boundary import Described, OptionFile
from .base import Asked
from .property_files import locate
from .ycsb_file import read_ycsb_file

FILE_OPTIONS = [
    Described(
        name="ycsb_file",
        default=None,
        values="a text",
        meaning="A property file of the original, relative to the plan's folder.",
    )
]


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    said = dict(options)
    name = said.pop("ycsb_file", None)
    if name is None:
        return Asked(said)
    if not isinstance(name, str):
        raise PlanError("`ycsb_file` must be the name of a file")
    file = read_ycsb_file(locate(base_dir, name))
    ignored = [f"property `{name}` of the original has no meaning here and is ignored" for name in file.ignored]
    return Asked(said, OptionFile(name=Path(name).name, options=file.options), file.hints, file.sources, ignored)
