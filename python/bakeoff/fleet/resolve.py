"""The engine's answers to what a plan asks of drivers and workloads: one process for any number of questions, and no
question asked twice."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ..errors import EngineError
from ..model.boundary import ANSWER, Answer, Request
from ..provision.process import exit_words
from .binary import engine_path

#: For thousands of questions of a fraction of a millisecond each.
_PATIENCE_S = 60
_REINSTALL = "reinstall it with `pip install .`"
_KILLED = "a machine that runs out of memory kills what takes most of it: the kernel's log (`dmesg`) tells"

#: By the engine and the question's line.
_ANSWERS: dict[tuple[Path, str], Answer] = {}


def resolve(requests: Sequence[Request]) -> list[Answer]:
    """One answer to each, in order. Raises EngineError."""
    if not requests:
        return []
    engine = engine_path()
    asked = [(engine, _line(request)) for request in requests]
    new = list(dict.fromkeys(key for key in asked if key not in _ANSWERS))
    _ANSWERS.update(zip(new, _ask(engine, [line for _, line in new]), strict=True))
    return [_ANSWERS[key] for key in asked]


def _line(request: Request) -> str:
    return json.dumps({"ask": request.ask, **request.model_dump(mode="json")})


def _ask(engine: Path, lines: list[str]) -> list[Answer]:
    if not lines:
        return []
    try:
        done = subprocess.run(
            [engine, "resolve"],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=True,
        )
        answers = [ANSWER.validate_json(line) for line in done.stdout.splitlines()]
    except (OSError, subprocess.SubprocessError, ValidationError) as error:
        what, hint = _explained(error)
        raise EngineError(what, where=str(engine), hint=hint) from error
    if len(answers) != len(lines):
        raise EngineError(
            f"the measuring program answered {len(answers)} of {len(lines)} questions",
            where=str(engine),
            hint=_REINSTALL,
        )
    return answers


def _explained(error: Exception) -> tuple[str, str]:
    """(what, hint). One that was killed or is slow is not a broken one."""
    if isinstance(error, subprocess.TimeoutExpired):
        hint = "is the machine overloaded, or a file that the plan names very large or on a slow disk?"
        return f"the measuring program did not decide the plan's options within {_PATIENCE_S} s", hint
    if isinstance(error, subprocess.CalledProcessError):
        said = f": {error.stderr.strip()[-500:]}" if error.stderr.strip() else ""
        what = f"the measuring program ended while it decided the plan's options ({exit_words(error.returncode)}){said}"
        return what, _KILLED if error.returncode == -signal.SIGKILL else _REINSTALL
    return f"the measuring program does not decide the plan's options: {error}", _REINSTALL
