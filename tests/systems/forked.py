"""bakeoff in a process of its own, forked from one that has imported it: a command that a test waits for begins without
the second or so that the imports take. Files import each other in no circle (`tests/unit/test_imports.py`), so what was
imported before matters to none of them. `started` in `commands.py` begins with nothing, as a user does."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: What most commands import, directly or not, and that starts no thread: a fork would lose it.
IMPORTED = (
    "bakeoff.cli.commands.run",
    "bakeoff.cli.progress",
    "bakeoff.plan.several_plans",
    "bakeoff.schedule.conductor",
    "bakeoff.report.html.page",
    "bakeoff.report.html.write",
    "bakeoff.report.text.terminal",
    "scipy.special",
)


class Parent:
    """The process to fork from. One command at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def run(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            streams = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (out, err)]
            asked = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "streams": streams}
            pipe = self._process.stdin
            assert pipe is not None
            pipe.write(json.dumps(asked).encode() + b"\n")
            pipe.flush()
            pid = self._told()
            try:
                status = self._told(timeout_s)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._told()
                raise
            said = []
            for stream in (out, err):
                stream.seek(0)
                said.append(stream.read().decode())
            return subprocess.CompletedProcess(list(arguments), os.waitstatus_to_exitcode(status), *said)

    def end(self) -> None:
        self._process.communicate()

    def _told(self, timeout_s: float | None = None) -> int:
        pipe = self._process.stdout
        assert pipe is not None
        if not select.select([pipe], [], [], timeout_s)[0]:
            raise TimeoutError(f"bakeoff has not ended after {timeout_s} s")
        return int(pipe.readline())


@cache
def parent() -> Parent:
    """Of this process, until it ends."""
    one = Parent()
    atexit.register(one.end)
    return one


def _serve() -> dict[str, Any] | None:
    """Forks for each line of standard input. Returns in a fork with what was asked of it, and None at the end."""
    while line := os.read(0, 1 << 20):
        while not line.endswith(b"\n"):
            line += os.read(0, 1 << 20)
        if (pid := os.fork()) == 0:
            return dict(json.loads(line))
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)
    return None


def _become(asked: dict[str, Any]) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    streams = [os.open(name, os.O_WRONLY | os.O_APPEND) for name in asked["streams"]]
    for number, opened in enumerate([null, *streams]):
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    module = importlib.import_module("bakeoff.__main__")
    sys.argv = [str(module.__file__), *asked["arguments"]]
    sys.exit(module.main())


if __name__ == "__main__":
    for name in IMPORTED:
        importlib.import_module(name)
    templates = importlib.import_module("bakeoff.report.html.write").templates()
    for name in templates.list_templates(["html"]):
        templates.get_template(name)
    assert len(os.listdir("/proc/self/task")) == 1, "a fork has one thread alone"
    gc.freeze()
    if (asked := _serve()) is not None:
        _become(asked)
