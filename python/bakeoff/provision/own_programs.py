"""Where programs of this package may be that pip, cargo or `make` put there."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path


def places(name: str) -> list[Path]:
    """In order: this environment, the user scheme, `pip --target`, a source checkout."""
    package = Path(__file__).resolve().parent.parent
    return [
        Path(sysconfig.get_path("scripts")) / name,
        Path(sysconfig.get_path("scripts", f"{os.name}_user")) / name,
        package.parent / "bin" / name,
        package.parent.parent / "target" / "release" / name,
    ]
