"""LinkBench in a plan: property files of the original beside the engine's options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import PlanError
from ..model.boundary import Described, OptionFile
from .base import Asked
from .linkbench_file import read_linkbench_file
from .property_files import locate

FILE_OPTIONS = [
    Described(
        name="linkbench_file",
        default=None,
        values="a text",
        meaning="A workload or configuration file of the original, relative to the plan's folder.",
    )
]


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    said = dict(options)
    name = said.pop("linkbench_file", None)
    if name is None:
        return Asked(said)
    if not isinstance(name, str):
        raise PlanError("`linkbench_file` must be the name of a file")
    file = read_linkbench_file(locate(base_dir, name))
    return Asked(said, OptionFile(name=Path(name).name, options=file.options), file.hints, file.sources, file.advice)
