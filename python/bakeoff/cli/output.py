"""Everything that a command prints goes through `show`, `print_json` or `say`.

Titles, servers and error messages may hold anything; control characters are shown as escapes. A reader that
closes the pipe (`| head -1`) ends only the printing: the work continues and decides the exit code.
"""

from __future__ import annotations

import io
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

from ..errors import BakeoffError
from ..terminal import aligned, printable


def open_streams() -> BakeoffError | None:
    """Streams that our caller closed become /dev/null, so that the next opened file does not take their place. Returns
    an error where stdout is closed: an answer would be lost."""
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
    what = "standard output is closed, so the answer cannot be printed"
    return BakeoffError(what, hint="redirect it to a file, or to /dev/null") if closed else None


def _nowhere() -> TextIO:
    return open(os.devnull, "w")


def show(text: str = "", *, escaped: bool = False) -> None:
    """Prints a command's result to stdout. escaped: what others wrote is printable in it, and colours are ours."""
    try:
        sys.stdout.write((text if escaped else printable(text)) + "\n")
    except OSError as error:
        _lose_stdout(error)


def print_json(document: Any) -> None:
    """Strict JSON: no NaN, no infinity."""
    show(json.dumps(document, indent=1, default=str, allow_nan=False))


def flush() -> None:
    """Notices a full disk here, not at Python's exit."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _lose_stdout(error)


def _lose_stdout(error: OSError) -> None:
    """A closed pipe is no error; any other failure lost the result."""
    forget(sys.stdout)
    if not isinstance(error, BrokenPipeError):
        raise BakeoffError(
            f"standard output cannot be written: {error.strerror}",
            hint="redirect it to a file on a disk with free space",
        ) from error


def forget(stream: TextIO) -> None:
    """Discards what could not be written, so that Python does not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def confirmed(question: str) -> bool:
    """Asks the user; False where stdin is no terminal."""
    if not sys.stdin.isatty():
        return False
    say(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> str:
    """All columns to the left."""
    return "\n".join(aligned([[str(cell) for cell in row] for row in [head, *rows]], left=range(len(head))))


#: Of what people read in a terminal.
WIDTH = 80


def hanging(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    """All columns to the left; the last is wrapped to the terminal's width, below itself."""
    lines = [list(row) for row in ([head] if head else []) + [*rows]]
    used = sum(max(len(line[i]) for line in lines) + 2 for i in range(len(lines[0]) - 1))
    found: list[list[str]] = []
    for *first, last in lines:
        parts = textwrap.wrap(last, max(WIDTH - used, 20), break_on_hyphens=False) or [""]
        found += [[*first, parts[0]], *([""] * len(first) + [part] for part in parts[1:])]
    return "\n".join(aligned(found, left=range(len(lines[0]))))


def say(words: str, *, before: str = "", end: str = "\n") -> None:
    """Prints to stderr, for the user. before: control sequences of our own."""
    try:
        sys.stderr.write(f"{before}{printable(words)}{end}")
        sys.stderr.flush()
    except OSError:
        forget(sys.stderr)
