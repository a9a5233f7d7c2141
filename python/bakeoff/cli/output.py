"""The terminal's edge: everything that a command prints goes through `show`, `print_json` or `say`.

Titles, servers and error messages may hold anything; what would steer a terminal is shown as its escape. A reader that
has gone (`| head -1`) ends the printing and nothing else: the work goes on, and the exit code is that of the work.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from ..errors import BakeoffError
from ..terminal import aligned, printable


def open_streams() -> BakeoffError | None:
    """Streams that our caller closed become /dev/null, lest the next file that is opened take their place. Returns what
    is wrong: without stdout there is nowhere to put an answer."""
    closed = sys.stdout is None
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter must not cost the answer
    what = "standard output is closed, so there is nowhere to put an answer"
    return BakeoffError(what, hint="send it to a file, or to /dev/null") if closed else None


def _nowhere() -> TextIO:
    return open(os.devnull, "w")


def show(text: str = "") -> None:
    """What was asked for, to stdout."""
    try:
        sys.stdout.write(printable(text) + "\n")
    except OSError as error:
        _lose_stdout(error)


def print_json(document: Any) -> None:
    """Strict JSON: no NaN, no infinity."""
    show(json.dumps(document, indent=1, default=str, allow_nan=False))


def flush() -> None:
    """A full disk is noticed here, not by Python at exit."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _lose_stdout(error)


def _lose_stdout(error: OSError) -> None:
    """A reader that has gone had enough; anything else lost what was asked for."""
    forget(sys.stdout)
    if not isinstance(error, BrokenPipeError):
        raise BakeoffError(
            f"standard output cannot be written: {error.strerror}", hint="send it to a file on a disk with room"
        ) from error


def forget(stream: TextIO) -> None:
    """What could not be written to it is not tried again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def confirmed(question: str) -> bool:
    """Asks the person; False also where nobody is there to answer."""
    if not sys.stdin.isatty():
        return False
    say(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> str:
    """All columns to the left."""
    return "\n".join(aligned([[str(cell) for cell in row] for row in [head, *rows]], left=range(len(head))))


def say(words: str, *, before: str = "", end: str = "\n") -> None:
    """To the person, not to the pipe. before: control sequences of our own."""
    try:
        sys.stderr.write(f"{before}{printable(words)}{end}")
        sys.stderr.flush()
    except OSError:
        forget(sys.stderr)
