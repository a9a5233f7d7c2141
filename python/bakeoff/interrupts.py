"""Ctrl-C, SIGTERM and SIGHUP all mean the same: end, keep what is finished, leave nothing running."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = False


def listen() -> None:
    """From now on each raises KeyboardInterrupt. One that our caller had us ignore (nohup) is still ignored."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def meant(error: BaseException) -> bool:
    """Whether an error is such an end: a library may have made another exception of it."""
    return isinstance(error, KeyboardInterrupt) or (_came and isinstance(error, Exception))


@contextmanager
def ignored() -> Iterator[None]:
    """While everything is being stopped, a second Ctrl-C must not leave half of it running. Signals reach the main
    thread alone; in another there is nothing to ignore."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt
