"""The wheel in dist/, in an environment that has nothing else, on a machine without Rust."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
ARCH = os.environ.get("ARCH", platform.machine())
WHEEL = ROOT / f"dist/bakeoff-{VERSION}-py3-none-manylinux_2_17_{ARCH}.whl"
QUICK_MAX_S = 30.0


def test_it_is_for_its_machine_and_any_linux_and_carries_what_it_needs() -> None:
    with zipfile.ZipFile(WHEEL) as opened:
        names = opened.namelist()
        ours = ("scripts/bakeoff-engine", "scripts/bakeoff-powerloss", "provision/libbakeoff_powerloss.abi3.so")
        programs = [opened.read(name) for name in names if name.endswith(ours)]
    assert len(programs) == len(ours)
    for program in programs:
        machine = int.from_bytes(program[18:20], "little")  # in an ELF head
        assert machine == {"x86_64": 62, "aarch64": 183}[ARCH]
        needed = {tuple(map(int, found)) for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", program)}
        assert max(needed) <= (2, 17)
    carried = ("LICENSE", "THIRD-PARTY-NOTICES", "plan.schema.json", "claims.schema.json", "report.css")
    for wanted in (*carried, "share/man/man1/bakeoff.1"):
        assert any(name.endswith(f"/{wanted}") for name in names), wanted


@pytest.mark.skipif(platform.machine() != ARCH, reason="the wheel is for another machine")
def test_a_quick_comparison_ends_within_half_a_minute(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    commands = tmp_path / "venv/bin"
    bare = {**os.environ, "PATH": f"{commands}:/usr/bin:/bin", "BAKEOFF_LOCK_DIR": str(tmp_path)}
    bare.pop("BAKEOFF_ENGINE", None)
    subprocess.run([commands / "pip", "install", "--quiet", "--only-binary=:all:", WHEEL], check=True, env=bare)
    began = time.monotonic()
    command = [commands / "bakeoff", "quick", "sqlite", "--out", tmp_path / "bundle", "--allow-disturbed"]
    done = subprocess.run(command, env=bare, cwd=tmp_path, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert "95 % CI" in done.stdout
    assert (tmp_path / "bundle/report.html").exists()
    print(f"bakeoff quick sqlite: {took_s:.1f} s")
    assert took_s < QUICK_MAX_S
