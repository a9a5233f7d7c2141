"""What takes longer than a user waits in silence is said on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .printable import printable

#: The first time, and from then on.
SAID_AFTER_S = 2.0
SAID_EVERY_S = 30.0


@contextmanager
def said_if_slow(what: str, so_far: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Says what is done here, if it has not ended after 2 s, and every half minute again: for how long it has gone on,
    and how far it has come."""
    ended = threading.Event()
    says = threading.Thread(target=_say, args=(what, so_far, ended), name="words of what is slow", daemon=True)
    says.start()
    try:
        yield
    finally:
        ended.set()
        says.join()  # or it would speak of what has ended


def _say(what: str, so_far: Callable[[], str], ended: threading.Event) -> None:
    begun, wait_s = time.monotonic(), SAID_AFTER_S
    while not ended.wait(wait_s):
        far = so_far()
        words = f"{what}: {time.monotonic() - begun:.0f} s so far{f', {far}' if far else ''}"
        with suppress(OSError, ValueError):  # nobody has to listen
            sys.stderr.write(printable(f"{words}\n"))
            sys.stderr.flush()
        wait_s = SAID_EVERY_S
