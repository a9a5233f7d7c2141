"""The drivers' own Rust tests, against a server that a test has started."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not on the PATH")

_ROOT = Path(__file__).parents[2]
_CARGO_TEST = ("cargo", "test", "--locked", "--quiet", "-p", "bakeoff-drivers")


def run_driver_tests(tests: Sequence[str], address: Mapping[str, str], *, of: str, only: str = "") -> list[str]:
    """Runs these test binaries, which must pass; returns why some of their tests were left out, those for another
    kind of server than this scheme's aside. `address`: environment variables that name it. `only`: a part of names."""
    done = subprocess.run(
        [
            *_CARGO_TEST,
            *(word for name in tests for word in ("--test", name)),
            "--",
            "--nocapture",
            *filter(None, [only]),
        ],
        cwd=_ROOT,
        env={**os.environ, **address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " 1 passed" in done.stdout or not only, done.stdout[-4000:]
    # Threads print at once, so that one line may hold several.
    skipped = ["skipped:" + words.splitlines()[0] for words in done.stdout.split("skipped:")[1:]]
    return [words for words in skipped if "server to test against" not in words or f"no {of} server" in words]
