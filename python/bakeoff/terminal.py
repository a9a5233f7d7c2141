"""Text for a terminal or a pipe: text of others with control characters escaped, progress on stderr of
what takes long, and columns."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

#: Control characters but for line end and tab; marks that turn the direction of letters; halves of letters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Text of others (titles, servers, error messages): control characters, and marks that change the direction of
    text, become escapes. Line ends and tabs stay."""
    return text if text.isprintable() else _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


#: The first time, and after that.
SAID_AFTER_S = 2.0
SAID_EVERY_S = 30.0


@contextmanager
def said_if_slow(what: str, so_far: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Reports a step that has not ended after 2 s, and again every half minute: how long it has taken, and how far it
    has come."""
    ended = threading.Event()
    says = threading.Thread(target=_say, args=(what, so_far, ended), name="progress of a slow step", daemon=True)
    says.start()
    try:
        yield
    finally:
        ended.set()
        says.join()  # or it would report a step that has ended


def _say(what: str, so_far: Callable[[], str], ended: threading.Event) -> None:
    begun, wait_s = time.monotonic(), SAID_AFTER_S
    while not ended.wait(wait_s):
        far = so_far()
        words = f"{what}: {time.monotonic() - begun:.0f} s so far{f', {far}' if far else ''}"
        with suppress(OSError, ValueError):  # stderr may be closed
            sys.stderr.write(printable(f"{words}\n"))
            sys.stderr.flush()
        wait_s = SAID_EVERY_S


def one_line(words: str) -> str:
    """Whatever a database said, as one line of printable characters."""
    return "".join(c if c.isprintable() else " " for c in words)


def aligned(lines: Sequence[Sequence[str]], left: Collection[int]) -> Iterator[str]:
    """Two spaces apart; the columns in `left` to the left, the others, figures, to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = enumerate(zip(line, widths, strict=True))
        yield "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in cells).rstrip()


def rule(lines: Sequence[Sequence[str]]) -> str:
    """The line under the header of such columns."""
    return "  ".join("-" * max(map(len, column)) for column in zip(*lines, strict=True))
