"""Finding the engine binary that came with this package."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import EngineError

NAME = "bakeoff-engine"


def candidates() -> list[Path]:
    """Where the binary may be, in order: override, this environment, user scheme, `pip --target`, a source checkout."""
    package = Path(__file__).resolve().parent.parent
    override = os.environ.get("BAKEOFF_ENGINE")
    if override:
        return [Path(override)]
    return [
        Path(sysconfig.get_path("scripts")) / NAME,
        Path(sysconfig.get_path("scripts", f"{os.name}_user")) / NAME,
        package.parent / "bin" / NAME,
        package.parent.parent / "target" / "release" / NAME,
    ]


def engine_path() -> Path:
    for path in candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise EngineError(
        f"the measuring program {NAME} was not found",
        where=", ".join(str(p) for p in candidates()),
        hint="reinstall with `pip install .` (needs Rust), or set BAKEOFF_ENGINE to its path",
    )


@cache
def engine_sha256() -> str:
    """Of the binary: two builds of one version are two instruments."""
    try:
        with engine_path().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EngineError(
            f"the measuring program cannot be read: {error.strerror}", where=str(engine_path())
        ) from error


@cache
def engine_list() -> dict[str, Any]:
    """What the engine can do: `bakeoff-engine list`."""
    try:
        done = subprocess.run([str(engine_path()), "list"], capture_output=True, text=True, timeout=20, check=True)
        listing: dict[str, Any] = json.loads(done.stdout)
        return listing
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise EngineError(
            f"the measuring program does not answer: {error}",
            where=str(engine_path()),
            hint="reinstall it with `pip install .`",
        ) from error
