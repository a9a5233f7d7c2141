"""Makes systems the way a plan would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff.systems import SYSTEMS
from bakeoff.systems.base import System


def configured(kind: str, workdir: Path, options: dict[str, Any], **levels: Any) -> System:
    """A system as a plan would configure it."""
    arguments: dict[str, Any] = {"durability": None, "isolation": None, "timeout_s": 10.0, "base_dir": workdir}
    return SYSTEMS[kind].configure(kind, options, workdir=workdir, **{**arguments, **levels})
