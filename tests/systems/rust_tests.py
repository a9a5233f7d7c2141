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
# Of the whole workspace, as `make test-rust` compiles it: one package alone has other features, and is compiled again.
_CARGO_TEST = ("cargo", "test", "--locked", "--quiet", "--workspace", "--test")
_ALLOCATION = "session_allocation"


def run_driver_tests(files: Sequence[str], address: Mapping[str, str], *, of: str) -> list[str]:
    """Runs the tests in these files of crates/drivers/tests, which must pass; returns why some of them were left out,
    those for another kind of server than this scheme's aside. `address`: environment variables that name it."""
    modules = [f"{file}::" for file in files if file != _ALLOCATION]
    # `acid::mysql_wire::` is not what `mysql_wire::` asks for.
    not_asked = () if "acid" in files else ("--skip", "acid::")
    printed = _passed(["drivers", "--", "--nocapture", *not_asked, *modules], address)
    if _ALLOCATION in files:
        printed += _passed([_ALLOCATION, "--", "--nocapture"], address)
    # Threads print at once, so that one line may hold several.
    skipped = ["skipped:" + words.splitlines()[0] for words in printed.split("skipped:")[1:]]
    of_others = (
        ("server to test against" in words and f"no {of} server" not in words)
        or ("library of" in words and f"library of {of} " not in words)
        for words in skipped
    )
    return [words for words, other in zip(skipped, of_others, strict=True) if not other]


def _passed(arguments: Sequence[str], address: Mapping[str, str]) -> str:
    """What these tests printed."""
    done = subprocess.run(
        [*_CARGO_TEST, *arguments],
        cwd=_ROOT,
        env={**os.environ, **address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout
