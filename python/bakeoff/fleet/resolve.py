"""The engine's answers to what a plan asks of drivers and workloads: one process for any number of questions, and no
question asked twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from ..analysis.wording import bytes_words, count_words, seconds_words
from ..errors import EngineError
from ..model.boundary import ANSWER, Answer, PreviewRequest, Request, WorkloadRequest, WriteEventsRequest
from ..provision.process import exit_words
from ..terminal import printable, said_if_slow
from .binary import engine_path

#: For thousands of questions of a fraction of a millisecond each, beside what they read and write.
_PATIENCE_S = 60
#: Of a file of events, each of which is checked; slow disks and other programs have their share in the patience.
_READ_BYTES_PER_S = 150e6
_WRITTEN_EVENTS_PER_S = 1e6
_PATIENCE_RATIO = 20
#: What takes longer is told beforehand.
_TOLD_S = 2
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
    new = {key: request for key, request in zip(asked, requests, strict=True) if key not in _ANSWERS}
    long_s = sum(map(_announced_s, new.values()))
    with said_if_slow(_about(list(new.values()))):
        _ANSWERS.update(zip(new, _ask(engine, [line for _, line in new], long_s), strict=True))
    return [_ANSWERS[key] for key in asked]


def _line(request: Request) -> str:
    return json.dumps({"ask": request.ask, **request.model_dump(mode="json")})


def _about(requests: Sequence[Request]) -> str:
    """What the engine is asked, for who waits for it."""
    kinds = dict.fromkeys(
        str(request.workload.get("kind")) if isinstance(request, PreviewRequest) else request.kind
        for request in requests
        if isinstance(request, PreviewRequest | WorkloadRequest)
    )
    work = f" of {', '.join(kinds)}" if kinds else ""
    if any(isinstance(request, PreviewRequest) for request in requests):
        return f"drawing the first operations{work}; after {_PATIENCE_S} s this is given up"
    return f"reading the options{work}; after {_PATIENCE_S} s this is given up"


def _announced_s(request: Request) -> float:
    """About how long the answer takes because of a long file, which is told to whoever waits."""
    about, long_s = "", 0.0
    if isinstance(request, WorkloadRequest) and isinstance(file := request.options.get("events_file"), dict):
        with suppress(OSError):
            size_bytes = Path(file["path"]).stat().st_size
            about, long_s = f"reading {file['name']} ({bytes_words(size_bytes)})", size_bytes / _READ_BYTES_PER_S
    elif isinstance(request, WriteEventsRequest):
        events = request.workload["events"]
        about, long_s = f"writing {count_words(events)} events", events / _WRITTEN_EVENTS_PER_S
    if long_s > _TOLD_S:
        with suppress(OSError):  # nobody has to listen
            sys.stderr.write(printable(f"{about}: about {seconds_words(long_s)}\n"))
            sys.stderr.flush()
    return long_s


def _ask(engine: Path, lines: list[str], long_s: float) -> list[Answer]:
    if not lines:
        return []
    patience_s = _PATIENCE_S + _PATIENCE_RATIO * long_s
    try:
        done = subprocess.run(
            [engine, "resolve"],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=patience_s,
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
        return f"the measuring program did not decide the plan's options within {error.timeout:g} s", hint
    if isinstance(error, subprocess.CalledProcessError):
        said = f": {error.stderr.strip()[-500:]}" if error.stderr.strip() else ""
        what = f"the measuring program ended while it decided the plan's options ({exit_words(error.returncode)}){said}"
        return what, _KILLED if error.returncode == -signal.SIGKILL else _REINSTALL
    return f"the measuring program does not decide the plan's options: {error}", _REINSTALL
