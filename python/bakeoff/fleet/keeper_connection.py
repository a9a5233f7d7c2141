"""The controller's end of the connections that keepers open: who may, what they are sent, and what comes of what they
say. One thread for all of them, so that thousands cost no more than their bytes."""

from __future__ import annotations

import asyncio
import errno
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..errors import BakeoffError, EngineError
from . import remote_keeper
from .clock_offset import Exchange, Offset, bound_over, offset
from .engine_program import engine_list, engine_path, engine_sha256
from .engines import LAST_WORDS_CHARS, MachineLost, Place, StoodStill, not_through_a_link
from .portable_spec import Carried

#: Exchanges of time stamps in a row, of which the fastest counts; and the number of clients at a time, so that they do
#: not wait for each other.
_EXCHANGES = 16
_COMPARING = 4
#: A line is an event; a result holds some hundred histograms of some KB.
_LINE_MAX_BYTES = 256 << 20
#: How long a load machine may take to begin with a client, since it began with the last one.
_BEGIN_TIMEOUT_S = 9.0


Done = TypeVar("Done")


class Listening(Protocol):
    """Takes what a client says; `Engines` do."""

    where: str

    def receive(self, client: int, line: str | bytes) -> None: ...

    def ended(self, client: int, code: int, last_words: str) -> None: ...

    def lost(self, client: int, why: BakeoffError) -> None: ...


@dataclass
class Machine:
    """A load machine: a Dask worker. capacity: of clients, as the worker declares it; 0: it does not. carrying: one
    client at a time brings the engine there."""

    name: str
    address: str
    capacity: float = 0.0
    carrying: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: It has our engine, which runs there.
    equipped: bool = False
    #: When a keeper of it was last heard of for the first time (monotonic).
    greeted: float = 0.0
    #: To each server, once it was asked.
    server_round_trip_ns: dict[str, int] | None = None


class Link:
    """One client: its keeper's connection, once there is one. Made by `Switchboard.expect`; its methods may be called
    from any thread."""

    def __init__(
        self, board: Switchboard, machine: Machine, client: int, lines: Listening, carried: Carried, log: Path
    ) -> None:
        self.machine = machine
        self.token = secrets.token_hex(16)
        #: Set once it is over, and nothing of it is left on a machine that can still be reached.
        self.over = threading.Event()
        self.greeting: dict[str, Any] = {}
        self.engine_pid: int | None = None
        self._board = board
        self._client = client
        self._lines = lines
        self._carried = carried
        self._log = log
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        #: Set once its clock has been compared with ours since `compare` was asked for.
        self.compared = threading.Event()
        self._ponged = asyncio.Event()
        self._exchanges: list[Exchange] = []
        self._before: Offset | None = None
        self._after: Offset | None = None
        self._told_unix_ns: int | None = None
        self._last_words = b""
        self._line: list[bytes] = []
        self._line_bytes = 0
        #: It has told all it will, or nobody listens any more.
        self.finished = False
        self.is_lost = False
        self._since = 0.0

    # -- what the run asks of it ---------------------------------------------------------------------------------------

    def send(self, line: str) -> None:
        self._board.do(self._write, remote_keeper.LINE, line.encode() + b"\n")

    def compare(self) -> None:
        """Its clock with ours; `compared` says when that has been done."""
        self._board.do(lambda: self._board.spawn(self._compare()))

    def begin(self, monotonic_ns: int) -> None:
        """At this time of the controller's monotonic clock."""
        self._board.do(self._begin, monotonic_ns)

    def end(self, grace_s: float) -> None:
        """Ends it; `over` says when. No further reports."""
        self._board.do(self._end, grace_s)

    def lose(self, why: str) -> None:
        """Of a client that cannot be reached, in words that follow "was lost: "."""
        self._board.do(self._lose, why)

    @property
    def round_trip_ns(self) -> int:
        """0: not known yet."""
        return min((exchange.round_trip_ns for exchange in list(self._exchanges)), default=0)

    def place(self, epoch_unix_ns: int) -> Place:
        """epoch_unix_ns: as the client's own result has it; 0: there is none."""
        before, late = self._before, None
        if epoch_unix_ns and self._told_unix_ns is not None:
            late = epoch_unix_ns - self._told_unix_ns
        if before is None:
            return Place(self.machine.name, is_here=False)
        same = bool(remote_keeper.here()) and self.greeting.get("here") == remote_keeper.here()
        return Place(
            machine=self.machine.name,
            is_here=same and abs(before.ahead_ns) <= before.bound_ns,
            cores=self.greeting.get("cores"),
            clock_offset_ns=before.ahead_ns,
            clock_bound_ns=bound_over(before, self._after) if self._after else before.bound_ns,
            round_trip_ns=before.round_trip_ns,
            server_round_trip_ns=self.machine.server_round_trip_ns or {},
            start_late_ns=late,
        )

    # -- in the switchboard's thread -----------------------------------------------------------------------------------

    async def converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: dict[str, Any]
    ) -> None:
        """From the greeting to the end of the connection."""
        self._reader, self._writer, self.greeting = reader, writer, greeting
        beating = asyncio.create_task(self._beat())
        try:
            await self._set_up()
            await self._listen()
        except remote_keeper.Gone as gone:
            self._lose(str(gone))
        except EngineError as error:
            self._finish(error)
        finally:
            beating.cancel()
            writer.transport.abort()  # nothing is left to be said, and a frozen machine would not hear a farewell
            self.over.set()
            self._ponged.set()  # whoever waits for it sees that it is over

    async def _set_up(self) -> None:
        self._refuse_platform()
        async with self.machine.carrying:
            await self._bring_engine()
            if self.machine.server_round_trip_ns is None:
                self._write(remote_keeper.REACH, {"addresses": self._carried.addresses})
                self.machine.server_round_trip_ns = remote_keeper.said(await self._expect(remote_keeper.REACHED))
        for name, path in self._carried.inputs.items():
            await self._send_file(name, path)
        document = self._carried.document.encode()
        outputs = list(self._carried.outputs)
        self._write(remote_keeper.RUN, {"env": self._carried.env, "outputs": outputs, "size_bytes": len(document)})
        for begin in range(0, len(document), remote_keeper.PART_BYTES):
            await self._part(document[begin : begin + remote_keeper.PART_BYTES])
        self.engine_pid = remote_keeper.said(await self._expect(remote_keeper.RUNNING))["pid"]

    def _refuse_platform(self) -> None:
        ours, theirs = remote_keeper.machine()["system"], self.greeting.get("system")
        if ours != theirs:
            raise EngineError(
                f"{self.machine.name} cannot run the engine, which is built for {ours}: it is {theirs}",
                where=self._lines.where,
                hint="load machines need the same platform as the controller",
            )

    async def _bring_engine(self) -> bool:
        """Under its content's name; carried there where the machine lacks it, which is what it returns."""
        path, equipped = engine_path(), self.machine.equipped
        size_bytes = path.stat().st_size
        self._write(remote_keeper.BINARY, {"sha256": engine_sha256(), "size_bytes": size_bytes, "checked": equipped})
        carried = not remote_keeper.said(await self._expect(remote_keeper.HAVE))["have"]
        if carried:
            await self._send_parts(path, size_bytes)
        if equipped:
            return carried
        self._write(remote_keeper.ASK, {"arguments": ["list"]})
        answer = remote_keeper.said(await self._expect(remote_keeper.SAID))
        ours = engine_list()["engine_version"]
        if answer["code"] != 0:
            why = str(answer["err"]).strip() or "it gives no reason"
            raise EngineError(
                f"{self.machine.name} cannot run the engine: {why}",
                where=self._lines.where,
                hint=f"it has {self.greeting['libc']}; build bakeoff on the machine with the oldest libc: that"
                " build runs on all",
            )
        theirs = remote_keeper.said(str(answer["out"]).encode()).get("engine_version")
        if theirs != ours:
            raise EngineError(
                f"the engine on {self.machine.name} has version {theirs}, and this bakeoff has {ours}",
                where=self._lines.where,
                hint="install both together with `pip install .`",
            )
        self.machine.equipped = True
        return carried

    async def _send_file(self, name: str, path: Path) -> None:
        try:
            size_bytes = path.stat().st_size
            self._write(remote_keeper.FILE, {"name": name, "size_bytes": size_bytes})
            await self._send_parts(path, size_bytes)
        except OSError as error:
            raise EngineError(f"{path} cannot be read: {error.strerror}", where=self._lines.where) from error

    async def _send_parts(self, path: Path, size_bytes: int) -> None:
        with open(path, "rb") as file:
            while size_bytes > 0:
                part = file.read(min(remote_keeper.PART_BYTES, size_bytes))
                if not part:
                    raise EngineError(f"{path} became shorter while it was read", where=self._lines.where)
                size_bytes -= len(part)
                await self._part(part)

    async def _part(self, part: bytes) -> None:
        self._write(remote_keeper.PART, part)
        with suppress(OSError):  # told when reading
            assert self._writer is not None
            await self._writer.drain()

    async def _listen(self) -> None:
        """All that the engine says, to its end; then until the keeper closes the connection."""
        with open(self._log, "ab", opener=not_through_a_link) as log:
            while True:
                kind, payload = await self._hear()
                if kind == remote_keeper.OUT:
                    self._take_lines(payload)
                elif kind == remote_keeper.LOG:
                    log.write(payload)
                    log.flush()
                    self._last_words = (self._last_words + payload)[-4 * LAST_WORDS_CHARS :]
                elif kind == remote_keeper.FILE:
                    await self._receive(**remote_keeper.said(payload))
                elif kind == remote_keeper.ENDED:
                    self._board.spawn(self._conclude(int(remote_keeper.said(payload)["code"])))
                else:
                    self._take(kind, payload)

    async def _conclude(self, code: int) -> None:
        """It has told all it will; what is left is the clock after the run, where there was a start."""
        if self._before is not None:
            self._exchanges.clear()
            await self._compare()
            self._after = offset(self._exchanges) if self._exchanges else None
        if not self.finished:
            self.finished = True
            self._lines.ended(self._client, code, self._last_words.decode(errors="replace"))

    async def _compare(self) -> None:
        async with self._board.comparing:
            for _ in range(_EXCHANGES):
                if self.over.is_set():
                    break
                self._ponged.clear()
                self._ping()
                await self._ponged.wait()
        self.compared.set()

    async def _receive(self, name: str, size_bytes: int) -> None:
        """An output of the engine's, to where the document had it."""
        path = self._carried.outputs.get(name)
        if path is None:
            raise remote_keeper.Gone("it sent a file that was not requested")
        with open(path, "wb", opener=not_through_a_link) as file:
            while size_bytes > 0:
                part = await self._expect(remote_keeper.PART)
                size_bytes -= len(part)
                file.write(part)

    def _take_lines(self, part: bytes) -> None:
        *whole, rest = part.split(b"\n")
        for piece in whole:
            self._lines.receive(self._client, b"".join([*self._line, piece]))
            self._line, self._line_bytes = [], 0
        self._line.append(rest)
        self._line_bytes += len(rest)
        if self._line_bytes > _LINE_MAX_BYTES:
            raise remote_keeper.Gone(f"its engine sent more than {_LINE_MAX_BYTES} bytes in one line")

    async def _expect(self, wanted: bytes) -> bytes:
        while True:
            kind, payload = await self._hear()
            if kind == wanted:
                return payload
            self._take(kind, payload)

    async def _hear(self) -> tuple[bytes, bytes]:
        assert self._reader is not None
        kind, payload = await remote_keeper.read_frame(self._reader)
        if kind == remote_keeper.TROUBLE:
            raise remote_keeper.Gone(str(remote_keeper.said(payload).get("what")))
        return kind, payload

    def _take(self, kind: bytes, payload: bytes) -> None:
        """What may come at any time."""
        back_ns = time.monotonic_ns()
        if kind == remote_keeper.PONG:
            self._exchanges.append(Exchange(*remote_keeper.stamps(payload), back_ns))
            self._ponged.set()
        elif kind == remote_keeper.STARTED:
            self._told_unix_ns = int(remote_keeper.said(payload)["unix_ns"])
        else:
            raise remote_keeper.Gone("it sent an unexpected frame")

    async def _beat(self) -> None:
        while True:
            self._ping()
            await asyncio.sleep(remote_keeper.BEAT_S)

    def _ping(self) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(remote_keeper.ping())

    def _write(self, kind: bytes, payload: bytes | dict[str, Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(remote_keeper.frame(kind, payload))

    def expire(self) -> None:
        """Loses it, where its machine begins with none any more; looks again later where it does."""
        if self._writer is not None or self.finished:
            return
        self._since = self._since or time.monotonic()
        left_s = max(self._since, self.machine.greeted) + _BEGIN_TIMEOUT_S - time.monotonic()
        if left_s > 0:
            self._board.later(left_s, self.expire)
        else:
            self._lose(
                f"it has not started its client within {_BEGIN_TIMEOUT_S:.0f} s:"
                " it is frozen or cut off, or another run uses it"
            )

    def _begin(self, monotonic_ns: int) -> None:
        self._before = offset(self._exchanges)
        self._exchanges.clear()
        self._write(remote_keeper.START, {"monotonic_ns": monotonic_ns + self._before.ahead_ns})

    def _end(self, grace_s: float) -> None:
        self.finished = True
        self._board.forget(self)
        if self._writer is None:
            self.over.set()
        self._write(remote_keeper.END, {"grace_s": grace_s})

    def _lose(self, why: str) -> None:
        if (stalled_s := self._board.stalled_s) > remote_keeper.SILENCE_S / 2:
            self._finish(StoodStill(stalled_s, self._lines.where))
        else:
            self.machine.equipped = False  # its equipment may be the cause: check it again
            self._finish(MachineLost(self.machine.name, why, self._lines.where))

    def _finish(self, why: BakeoffError) -> None:
        if not self.finished:
            self.finished = self.is_lost = True
            self._lines.lost(self._client, why)
        self._board.forget(self)
        if self._writer is None:
            self.over.set()
        else:
            self._writer.transport.abort()


class Switchboard:
    """Where keepers connect: at this host and port; 0 is any that is free, which `port` then tells. Without a host
    nobody connects: connections are brought. tls: as Dask's own, or None."""

    def __init__(self, host: str = "", tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.host = host
        self.encrypted = tls is not None
        self._beaten = time.monotonic()
        self._stalled_s = 0.0
        self.comparing = asyncio.Semaphore(_COMPARING)
        self._expected: dict[str, Link] = {}
        self._spawned: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet", daemon=True)
        self._thread.start()
        self._server: asyncio.Server | None = None
        self.port = port
        self.do(lambda: self.spawn(self._beat()))
        if not host:
            return
        try:
            self._server = self.wait(asyncio.start_server(self._admit, host, port, ssl=tls, backlog=1024))
        except OSError as error:
            self.close()
            raise EngineError(
                f"load machines cannot connect to {host}: {error.strerror or error}",
                where="fleet.listen",
                hint="another run uses this port: wait for it, or choose another port"
                if error.errno == errno.EADDRINUSE
                else "name an address of this machine that load machines reach",
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def stalled_s(self) -> float:
        """For how long this process stood still just now. Whoever is frozen hears of nobody, and nobody of it."""
        return max(self._stalled_s, time.monotonic() - self._beaten - remote_keeper.BEAT_S)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(remote_keeper.BEAT_S)
            self._stalled_s = time.monotonic() - self._beaten - remote_keeper.BEAT_S
            self._beaten = time.monotonic()

    def expect(self, link: Link) -> None:
        """From now on its keeper may come, and has to before long."""
        self.do(self._expected.__setitem__, link.token, link)
        self.do(link.expire)

    def forget(self, link: Link) -> None:
        self._expected.pop(link.token, None)

    def do(self, what: Callable[..., object], *arguments: Any) -> None:
        """In the switchboard's thread, in the order asked for."""
        with suppress(RuntimeError):  # closed
            self._loop.call_soon_threadsafe(what, *arguments)

    def spawn(self, what: Coroutine[Any, Any, None]) -> None:
        """In the switchboard's thread, alongside its other work; from that thread."""
        task = self._loop.create_task(what)
        self._spawned.add(task)  # a task that nobody holds may be forgotten
        task.add_done_callback(self._spawned.discard)

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        self._loop.call_later(seconds, what)

    def close(self) -> None:
        """All connections end, and with them what keepers hold. Any number of times."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result()
        self.do(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end_all(self) -> None:
        if self._server is not None:
            self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # connections that were given up are closed in the loop's next turn

    def wait(self, what: Coroutine[Any, Any, Done]) -> Done:
        """In the switchboard's thread, and what comes of it."""
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Only one that knows a token, and each once: whoever else connects is let go without a word."""
        try:
            kind, payload = await remote_keeper.read_frame(reader)
            greeting = remote_keeper.said(payload) if kind == remote_keeper.HELLO else {}
        except remote_keeper.Gone:
            greeting = {}
        link = self._expected.pop(str(greeting.get("token")), None)
        if link is None:
            writer.close()
            return
        link.machine.greeted = time.monotonic()
        await link.converse(reader, writer, greeting)
