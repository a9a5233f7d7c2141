"""The engine's program: where it is, whether it is of one build with this package, and its answers to what a plan asks
of drivers and workloads (one process for any number of questions, and no question asked twice)."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from ..analysis.wording import bytes_words, count_words, seconds_words
from ..errors import EngineError
from ..model.boundary import Document, Interval, IntervalNode, NodeResult, Ready, RunResult, RunSpec
from ..model.resolve import (
    ANSWER,
    Answer,
    Listed,
    ListedDriver,
    PreviewRequest,
    Request,
    WorkloadRequest,
    WriteEventsRequest,
)
from ..provision.own_programs import places
from ..provision.process import exit_words
from ..terminal import printable, said_if_slow

NAME = "bakeoff-engine"
_REINSTALL = "reinstall it with `pip install .`"
One = TypeVar("One", Listed, ListedDriver)


def candidates() -> list[Path]:
    """Where the binary may be, in order."""
    override = os.environ.get("BAKEOFF_ENGINE")
    return [Path(override)] if override else places(NAME)


def engine_path() -> Path:
    for path in candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise EngineError(
        f"the engine {NAME} was not found",
        where=", ".join(str(p) for p in candidates()),
        hint="reinstall with `pip install .` (needs Rust), or set BAKEOFF_ENGINE to its path",
    )


@cache
def engine_sha256() -> str:
    """Of the binary: two builds of one version are two instruments."""
    try:
        with engine_path().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EngineError(f"the engine cannot be read: {error.strerror}", where=str(engine_path())) from error


@cache
def engine_list() -> dict[str, Any]:
    """What the engine can do: `bakeoff-engine list`."""
    try:
        return _printed_by(engine_path(), "list")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        what = f"the engine does not answer: {error}"
        raise EngineError(what, where=str(engine_path()), hint=_REINSTALL) from error


def _printed_by(engine: Path, command: str) -> dict[str, Any]:
    done = subprocess.run([str(engine), command], capture_output=True, text=True, timeout=20, check=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def listed(what: str, model: type[One]) -> dict[str, One]:
    """The "drivers" or "workloads" of that list, by kind. Raises EngineError."""
    try:
        return {one.kind: one for one in map(model.model_validate, engine_list()[what])}
    except ValidationError as error:
        why = f"the engine is not of this version: {error.errors()[0]['msg']}"
        raise EngineError(why, where=str(engine_path()), hint=_REINSTALL) from error


_TOLD: tuple[type[Document], ...] = (Ready, Interval, IntervalNode, RunResult, NodeResult)
_HINT = "install both together with `pip install .`"


def refuse_other_build() -> None:
    """Raises EngineError. Before anything starts: a cluster takes half a minute."""
    engine = engine_path()
    if differing := _differing(engine):
        raise EngineError(differing, where=str(engine), hint=_HINT)


@cache
def _differing(engine: Path) -> str:
    try:
        return first_difference(_printed_by(engine, "schema"))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        return f"the engine does not print its schemas: {error}"


def first_difference(schemas: Mapping[str, Any]) -> str:
    """In words; "" if there is none. schemas: as `bakeoff-engine schema` prints them."""
    what = "the engine was built from another version than this bakeoff"
    told = schemas["event"]["$defs"]
    if unread := sorted(RunSpec.model_fields.keys() - _fields(schemas["run"])):
        return f"{what}: it does not read `{unread[0]}` of a run"
    for model in _TOLD:
        if untold := sorted(_fields(told[model.__name__]) - model.model_fields.keys()):
            return f"{what}: it sends `{untold[0]}`, which bakeoff does not know"
    return ""


def _fields(schema: Mapping[str, Any]) -> set[str]:
    return set(schema["properties"])


#: For thousands of requests of a fraction of a millisecond each, without what they read and write.
_PATIENCE_S = 60
#: Of a file of events, each of which is checked; slow disks and other programs have their share in the patience.
_READ_BYTES_PER_S = 150e6
_WRITTEN_EVENTS_PER_S = 1e6
_PATIENCE_RATIO = 20
#: What takes longer is announced.
_TOLD_S = 2
_KILLED = "Linux kills large processes when memory runs out: see the kernel's log (`dmesg`)"

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
    """What the engine is doing, for the user who waits for it."""
    kinds = dict.fromkeys(
        str(request.workload.get("kind")) if isinstance(request, PreviewRequest) else request.kind
        for request in requests
        if isinstance(request, PreviewRequest | WorkloadRequest)
    )
    work = f" of {', '.join(kinds)}" if kinds else ""
    if any(isinstance(request, PreviewRequest) for request in requests):
        return f"generating the first operations{work} (timeout {_PATIENCE_S} s)"
    return f"reading the options{work} (timeout {_PATIENCE_S} s)"


def _announced_s(request: Request) -> float:
    """About how long the answer takes because of a long file; reported to the user."""
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
            f"the engine answered {len(answers)} of {len(lines)} requests",
            where=str(engine),
            hint=_REINSTALL,
        )
    return answers


def _explained(error: Exception) -> tuple[str, str]:
    """(what, hint). A killed or slow engine is not a broken one."""
    if isinstance(error, subprocess.TimeoutExpired):
        hint = "is the machine overloaded, or is a file of the plan very large or on a slow disk?"
        return f"the engine did not resolve the plan's options within {error.timeout:g} s", hint
    if isinstance(error, subprocess.CalledProcessError):
        said = f": {error.stderr.strip()[-500:]}" if error.stderr.strip() else ""
        what = f"the engine ended while resolving the plan's options ({exit_words(error.returncode)}){said}"
        return what, _KILLED if error.returncode == -signal.SIGKILL else _REINSTALL
    return f"the engine does not resolve the plan's options: {error}", _REINSTALL
