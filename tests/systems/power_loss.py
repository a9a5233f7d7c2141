"""Power losses of managed servers, by the library of crates/powerloss: docs/method/power-loss.md."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from bakeoff.provision.installation import Installation

_ROOT = Path(__file__).parents[2]


@cache
def _program() -> Path:
    subprocess.run(["cargo", "build", "--locked", "--quiet", "-p", "bakeoff-powerloss"], cwd=_ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target")) / "debug/bakeoff-powerloss"


@contextmanager
def power_loss(data: Path, place: Path) -> Iterator[None]:
    """Servers that are started within, and killed, have lost then what they had not synced below `data`."""
    journal = place / "journal"
    # Servers run as an account that may not read everything.
    library = shutil.copy(_program().with_name("libbakeoff_powerloss.so"), place)
    shown = _run("run", "--data", data, "--journal", journal, "--library", library, "--", "env")
    own = [line for line in shown.splitlines() if line.startswith(("LD_PRELOAD=", "BAKEOFF_STORAGE_"))]
    added = dict(line.split("=", 1) for line in own)
    given = Installation.child_environment
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Installation, "child_environment", lambda installation: {**given(installation), **added})
        yield
    _run("check", "--journal", journal)
    _run("apply", "--data", data, "--journal", journal)


def _run(*words: str | Path) -> str:
    return subprocess.run([_program(), *words], check=True, capture_output=True, text=True).stdout
