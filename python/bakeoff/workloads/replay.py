"""A captured log in a plan: the engine reads it where it lies, and gets the texts that make its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import Asked, locate
from .sql import Reader


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    reader = Reader(base_dir)
    said = {name: reader.option(name, value) if name == "setup" else value for name, value in options.items()}
    if isinstance(name := options.get("log"), str):
        said["log"] = {"name": name, "path": str(locate(base_dir, name).absolute())}
    return Asked(said, sources=reader.sources)
