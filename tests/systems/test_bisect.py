"""The recipe of docs/howto/track.md finds the commit that made a system slower."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import PROGRAM

PAGE = Path(__file__).parents[2] / "docs/howto/track.md"
#: What a commit changes: how long the null system takes. The fifth takes half as long again.
LATENCIES_US = (1000, 1000, 1010, 1000, 1500, 1510, 1500)
SLOW = 4
PLAN = """
title = "Nightly"
[systems.fast]
kind = "null"
latency_ns = {}_000
[workload]
kind = "ycsb"
preset = "c"
records = 100
[measure]
warm_up = 0
window = "1s"
repetitions = 5
"""


@pytest.mark.slow
@pytest.mark.servers
def test_the_first_slow_commit_is_found(tmp_path: Path) -> None:
    if not (shutil.which("git") and shutil.which("make")):
        pytest.skip("git or make is missing")
    text = PAGE.read_text().partition("## Which commit was it?")[2]
    script, commands = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[:2]
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bakeoff").write_text(f'#!/bin/sh\nexec {" ".join(map(str, PROGRAM))} "$@"\n')
    (programs / "bakeoff").chmod(0o755)
    who = {f"GIT_{role}_{what}": "somebody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{programs}:{os.environ['PATH']}"
    environment = {**os.environ, **who, "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull}

    def shell(words: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    (tmp_path / "bisect.sh").write_text(script)
    (tmp_path / ".gitignore").write_text("bin\nbisect\nbisect.sh\nnightly.toml\n")
    (tmp_path / "Makefile").write_text("all:\n\tcp product nightly.toml\n")
    shell("git init --quiet && git add .gitignore Makefile")
    commits = []
    for number, latency_us in enumerate(LATENCIES_US):
        (tmp_path / "product").write_text(PLAN.format(latency_us) + f"# {number}\n")
        shell("git add product && git commit --quiet --message commit")
        commits.append(shell("git rev-parse HEAD"))
    said = shell(commands.replace("BAD", commits[-1]).replace("GOOD", commits[0]))
    assert f"{commits[SLOW]} is the first bad commit" in said, said
