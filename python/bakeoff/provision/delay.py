"""A longer way between the servers of one system: what one sends the others, and they send it, arrives later, as from
another data centre. Their sockets get a mark, and `bakeoff-engine delay` (crates/delay) delays packets that have it.
docs/decisions/0076-a-delay-is-a-queue-of-marked-packets.md."""

from __future__ import annotations

import json
import select
import struct
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.between import BetweenServers
from bakeoff.provision.server import ManagedServer

_SO_MARK = 36
#: Of all packets that we delay: the number is ours alone among those that programs are known to use.
_MARK = 0x0BAC_E0FF
_READY_S = 10.0
_ENDS_S = 5.0


class Delay(BetweenServers):
    """Between one server and the others of its system. by_s: one way, so an answer takes twice as long. engine: the
    program."""

    what = "a delay"

    def __init__(self, server: ManagedServer, others: Sequence[ManagedServer], by_s: float, engine: Path) -> None:
        super().__init__(server, others, (_SO_MARK, struct.pack("I", _MARK)), (_SO_MARK, struct.pack("I", 0)))
        self._asked = {"mark": _MARK, "delay_us": round(by_s * 1e6)}
        self._engine = engine
        self._queue: subprocess.Popen[str] | None = None
        self._ended_early = False

    def begin(self) -> None:
        pipe = subprocess.PIPE
        queue = subprocess.Popen([self._engine, "delay"], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert queue.stdin is not None
        with suppress(BrokenPipeError):  # it says why
            queue.stdin.write(f"{json.dumps(self._asked)}\n")
            queue.stdin.flush()
        if not self._is_ready(queue):
            said = self._end_queue(queue)
            what = "a delay needs root (CAP_NET_ADMIN), Linux 5.12 and the kernel's NFQUEUE"
            raise ServerError(f"{what}: {said or 'the program that delays packets does not answer'}")
        self._queue = queue
        super().begin()

    def end(self) -> None:
        """Raises ServerError where packets were in time again before."""
        super().end()
        if self._queue is not None:
            self._ended_early = self._queue.poll() is not None
            self._end_queue(self._queue)
            self._queue = None
        if self._ended_early:
            raise ServerError("the program that delays packets ended before the delay did")

    def _is_ready(self, queue: subprocess.Popen[str]) -> bool:
        assert queue.stdout is not None
        return bool(select.select([queue.stdout], [], [], _READY_S)[0] and queue.stdout.readline())

    def _end_queue(self, queue: subprocess.Popen[str]) -> str:
        """It releases what it holds. Returns what it said of an error."""
        try:
            return queue.communicate(timeout=_ENDS_S)[1].strip().removeprefix("error: ")
        except subprocess.TimeoutExpired:
            queue.kill()
            return queue.communicate()[1].strip()
