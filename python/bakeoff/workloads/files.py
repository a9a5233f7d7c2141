"""Files that a plan's workload names."""

from __future__ import annotations

from pathlib import Path

from .. import input_files
from ..errors import PlanError


def locate(base_dir: Path, name: str) -> Path:
    """Relative to the plan; a plan that lies in a bundle has its files beside it in `files`."""
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
