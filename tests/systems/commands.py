"""Running bakeoff as a user does: in a process of its own, with a plan in a folder."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forked
import pytest
from bakeoff.bundle import results_folder
from bakeoff.bundle.read import Bundle
from bakeoff.fleet.engine_program import engine_path
from bakeoff.systems.base import System

SQLITE = """
title = "A short one"
seed = 5

[systems.sqlite]
durability = "relaxed"

[workload]
kind = "ycsb"
preset = "a"
records = 500
data_integrity = true

[factors]
threads = [1, 2]

# By number: a window holds what the machine has time for. Two threads ask the 10,000 each that their hashes take in.
[measure]
warm_up = "200ms"
operations = 20_000
timeout = "10m"
repetitions = 2
"""
OPERATIONS = 20_000


def endless(plan: str) -> str:
    """`plan` with runs of many minutes: they go on until they are ended. (More might not fit the disk.)"""
    assert f"operations = {OPERATIONS:_}" in plan
    return plan.replace(f"operations = {OPERATIONS:_}", "operations = 100_000_000")


#: For `engine_through`: the second measured run goes on until it is ended, as in `endless`, unless $TAME is set.
ENDLESS_SECOND_RUN = """
case "$1" in */runs/*/run.json)
    if [ -z "$TAME" ] && [ "$(ls "${1%/*}"/../*/result.json | wc -l)" = 1 ]; then
        sed 's/"operations": *20000/"operations": 100000000/' "$1" > "$1.endless"
        set -- "$1.endless"
    fi
esac
exec "$ENGINE" "$@"
"""


#: Of a plan whose workload is the same on every system, its `[systems.db]` by kind.
DB = {
    "sqlite": 'kind = "sqlite"',
    "mariadb": 'kind = "mariadb"\nstart = { settings = { innodb_buffer_pool_size = "64M" } }',
    "postgresql": 'kind = "postgresql"\nstart = { settings = { shared_buffers = "32MB" } }',
}


def on_systems(*kinds: str, slow: Sequence[str] = ()) -> pytest.MarkDecorator:
    """For each of these kinds its `[systems.db]`, as the fixture `db`; slow: those are left to `make test-systems`."""
    marks = {kind: [pytest.mark.servers] * (kind != "sqlite") + [pytest.mark.slow] * (kind in slow) for kind in DB}
    given = [pytest.param(kind, marks=marks[kind]) for kind in (*kinds, *slow)]
    return pytest.mark.parametrize("db", given, indirect=True)


PROGRAM = (sys.executable, "-m", "bakeoff")


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def engine_through(folder: Path, script: str) -> dict[str, str]:
    """The environment in which every start of the engine goes through a bash script: its arguments are the engine's,
    and $ENGINE is the real one."""
    through = folder / "through.sh"
    through.write_text(f"#!/usr/bin/env bash\nENGINE={shlex.quote(str(engine_path()))}\n{script}")
    through.chmod(0o755)
    return {"BAKEOFF_ENGINE": str(through)}


def _words(arguments: Sequence[str | Path], on_any_machine: bool) -> list[str]:
    measures = arguments[0] in ("run", "quick") and "--dry-run" not in arguments
    return [*map(str, arguments), *(["--allow-disturbed"] if measures and on_any_machine else [])]


def bakeoff(
    *arguments: str | Path,
    cwd: Path,
    env: dict[str, str] | None = None,
    timeout_s: float = 600,
    through: Sequence[str] = (),
    on_any_machine: bool = True,
) -> Done:
    """through: a command that runs another. on_any_machine: tests pass on busy ones, too, so disturbed runs count."""
    said, environment = _words(arguments, on_any_machine), {**os.environ, **(env or {})}
    if through:
        command = [*through, *PROGRAM, *said]
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    else:
        done = forked.parent().run(said, cwd, environment, timeout_s)
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def started(
    *arguments: str | Path,
    cwd: Path,
    env: dict[str, str] | None = None,
    through: Sequence[str] = (),
    on_any_machine: bool = True,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*through, *PROGRAM, *_words(arguments, on_any_machine)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str], timeout_s: float = 600) -> Done:
    out, err = process.communicate(timeout=timeout_s)
    assert "Traceback" not in err, err
    return Done(process.returncode, out, err)


def write_plan(folder: Path, text: str, name: str = "plan.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def only_bundle(folder: Path) -> Bundle:
    found = list((folder / "bakeoff-results").iterdir())
    assert len(found) == 1, found
    left = results_folder.left_by_removal(found[0])
    unknown = [name for name in left if "/run.json." not in name]  # of scripts of `engine_through`
    assert not unknown, f"bundle/files.py lacks {unknown}"
    return Bundle.open(found[0])


def wait_until(
    true: Callable[[], Any], what: str, timeout_s: float = 120, *, of: subprocess.Popen[str] | None = None
) -> Any:
    """For what is bound to happen: the time only ends a test that has failed. `of`: whose work it is; should that end
    before, the test fails with what it said."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        ended = of is not None and of.poll() is not None
        found = true()
        if found:
            return found
        if of is not None and ended:
            out, err = of.communicate()
            raise AssertionError(f"it ended with {of.returncode} before {what}: {out}{err}")
        time.sleep(0.02)
    raise AssertionError(f"waited {timeout_s} s in vain until {what}")


def descendants(pid: int, name: str) -> list[int]:
    """Living processes below `pid` whose command is `name`."""
    import psutil

    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    found = []
    for child in children:
        try:
            if child.name() == name[:15] and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def gone(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def end(process: subprocess.Popen[str]) -> None:
    """For tests that failed half way."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def engine_phase(system: System, phase: str, workload: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One phase of the engine on a system that runs; its result."""
    driver, environment = system.engine_driver()
    document = {"format": 1, "phase": phase, "seed": 3, "driver": driver, "workload": workload, **more}
    done = subprocess.run(
        [str(engine_path()), "--now", "-"],
        input=json.dumps(document) + "\n",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["event"] == "result", result
    return result
