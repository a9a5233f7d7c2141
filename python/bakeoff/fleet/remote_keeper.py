"""A program on a load machine that starts one engine and stands between it and the controller: carries lines, log and
files, tells the time, and ends the engine once nobody wants it any more.

It is carried there as this text and run by a Python of that machine, so it uses the standard library alone. Its stdin
begins with the errand, one line of JSON. Where that names an address, it connects to the controller there, and its
stdin is a beat each second of the Dask worker that started it, its stdout a beat of its own; else SSH started it, and
stdin and stdout are the connection. The engine is ended when the connection ends, when the controller or the worker
has said nothing for `SILENCE_S`, or when the worker has ended. Killed itself, it takes the engine's input with it, and
that is the engine's end as well.

A frame is four bytes of length, one byte for its kind, and as many bytes as the length. The controller reads and
writes frames by the functions here.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import json
import os
import platform
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

#: Whoever has said nothing for so long is taken for gone. Everybody says something each second.
SILENCE_S = 5.0
BEAT_S = 1.0
#: Between asking the engine to end and insisting, which is done twice.
GRACE_S = 1.5
#: Of a frame; of what is carried in several of them, each.
FRAME_MAX_BYTES = 1 << 20
PART_BYTES = 1 << 18
#: For a question to the engine, and for a connection to a server.
ASK_TIMEOUT_S = 4.0
_TRIES = 3

# From the controller.
PING = b"p"  # its monotonic clock, 8 bytes
FILE = b"f"  # {name, size_bytes}: an input, then its parts. Both ways: an output of the engine comes back so
PART = b"d"
BINARY = b"b"  # {sha256, size_bytes, checked}: answered by HAVE; then its parts where it lacks them
ASK = b"a"  # {arguments}: of the engine, answered by SAID
REACH = b"c"  # {addresses: {name: [host, port]}}: answered by REACHED
RUN = b"r"  # {env, outputs, size_bytes}: then the document's parts; answered by RUNNING
LINE = b"l"  # for the engine's input
START = b"s"  # {monotonic_ns} of this machine; answered by STARTED
END = b"e"  # {grace_s}: enough, end it
# To the controller.
HELLO = b"H"  # {token, machine, ...}
PONG = b"P"  # what PING said, when it came, when this left: 24 bytes
HAVE = b"A"  # {have}
SAID = b"B"  # {code, out, err}
REACHED = b"C"  # {name: round trip in ns}
RUNNING = b"R"  # {pid}
STARTED = b"S"  # {unix_ns}, as sent to the engine
OUT = b"O"  # of the engine's output
LOG = b"L"  # of its log
ENDED = b"X"  # {code}; after it only PONG
TROUBLE = b"T"  # {what}: why this client ends

_HEAD = struct.Struct(">I1s")
_PING = struct.Struct(">q")
_PONG = struct.Struct(">qqq")


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Gone(Exception):
    """Why a connection, or what is at its other end, is of no use any more, in words."""


def frame(kind: bytes, payload: bytes | dict[str, Any] = b"") -> bytes:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return _HEAD.pack(len(body), kind) + body


async def read_frame(reader: asyncio.StreamReader, whose: str = "it") -> tuple[bytes, bytes]:
    """Raises Gone where the other end has gone, is silent, or says what is no frame. whose: the other end, in words."""
    try:
        async with asyncio.timeout(SILENCE_S):
            size, kind = _HEAD.unpack(await reader.readexactly(_HEAD.size))
            if size > FRAME_MAX_BYTES:
                raise Gone(f"received a frame of {size} bytes, and the limit is {FRAME_MAX_BYTES}")
            return kind, await reader.readexactly(size)
    except TimeoutError:
        raise Gone(f"received nothing from {whose} for {SILENCE_S:.0f} s") from None
    except (OSError, asyncio.IncompleteReadError):
        raise Gone(f"the connection to {whose} ended") from None


def said(payload: bytes) -> dict[str, Any]:
    """Of a frame that carries JSON. Raises Gone."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Gone("received a frame of unknown kind")
    return found


def ping() -> bytes:
    return frame(PING, _PING.pack(time.monotonic_ns()))


def pong(ping: bytes, arrived_ns: int) -> bytes:
    (sent_ns,) = _PING.unpack(ping)
    return frame(PONG, _PONG.pack(sent_ns, arrived_ns, time.monotonic_ns()))


def stamps(pong: bytes) -> tuple[int, int, int]:
    """(sent, arrived, answered), ns. Raises Gone."""
    if len(pong) != _PONG.size:
        raise Gone("received a frame of unknown kind")
    sent, arrived, answered = _PONG.unpack(pong)
    return sent, arrived, answered


def here() -> str:
    """Which processes this one sees: the machine since it was started, and the room of process ids in it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def machine(*, of_dask: bool = False) -> dict[str, Any]:
    libc = " ".join(platform.libc_ver())
    return {
        "host": socket.gethostname(),
        "here": here(),
        "pid": os.getpid(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "kernel": platform.release(),
        "libc": libc.strip(),
        "python": platform.python_version(),
        "distributed": _version_of("distributed") if of_dask else "",
        "clock_source": _clock_source(),
    }


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _clock_source() -> str:
    try:
        with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as file:
            return file.read().strip()
    except OSError:
        return ""


class Keeper:
    """One connection and one engine. In the folder that is its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._binary = ""
        self._engine: asyncio.subprocess.Process | None = None
        self._concluding: asyncio.Task[None] | None = None

    def say(self, kind: bytes, payload: bytes | dict[str, Any] = b"") -> None:
        self._writer.write(frame(kind, payload))

    def close(self) -> None:
        self._writer.close()

    async def serve(self) -> float:
        """Until the controller has had enough; how long the engine then has to end, in s. Raises Gone."""
        while True:
            kind, payload = await self._hear()
            if kind == FILE:
                told = said(payload)
                with open(os.path.basename(told["name"]), "wb") as file:
                    async for part in self._parts(told["size_bytes"]):
                        file.write(part)
            elif kind == BINARY:
                await self._obtain(**said(payload))
            elif kind == ASK:
                self.say(SAID, await self._ask(said(payload)["arguments"]))
            elif kind == REACH:
                self.say(REACHED, await _round_trips(said(payload)["addresses"]))
            elif kind == RUN:
                await self._run(**said(payload))
            elif kind == LINE:
                self._to_engine(payload)
            elif kind == START:
                self._start(said(payload)["monotonic_ns"])
            elif kind == END:
                return float(said(payload)["grace_s"])

    async def _hear(self) -> tuple[bytes, bytes]:
        """The next frame that is no ping: those are answered at once."""
        while True:
            kind, payload = await read_frame(self._reader, "the controller")
            if kind != PING:
                return kind, payload
            self._writer.write(pong(payload, time.monotonic_ns()))

    async def _parts(self, size_bytes: int) -> AsyncIterator[bytes]:
        while size_bytes > 0:
            kind, payload = await self._hear()
            if kind != PART:
                raise Gone("it ended during the transfer of a file")
            size_bytes -= len(payload)
            yield payload

    async def _obtain(self, sha256: str, size_bytes: int, checked: bool) -> None:
        """The engine, by its content: from the cache, or carried here and kept there. checked: another keeper of this
        run has just looked whether the one in the cache is whole."""
        folder = _cache() or os.getcwd()
        self._binary = os.path.join(folder, sha256)
        have = os.path.exists(self._binary) if checked else _sha256(self._binary) == sha256
        self.say(HAVE, {"have": have})
        if have:
            return
        part_file = f"{self._binary}.{time.time_ns()}"
        try:
            with open(part_file, "wb", opener=_only_ours) as file:
                async for part in self._parts(size_bytes):
                    file.write(part)
            if _sha256(part_file) != sha256:
                raise Gone("the engine was damaged in transfer")
            os.rename(part_file, self._binary)
        except OSError as error:
            raise Gone(f"the engine cannot be written to {folder}: {error.strerror}") from None
        finally:
            if os.path.exists(part_file):
                os.unlink(part_file)

    async def _ask(self, arguments: list[str]) -> dict[str, Any]:
        """What the engine answers to a question; code None: it could not be asked."""
        try:
            asked = await asyncio.create_subprocess_exec(
                self._binary, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            return {"code": None, "out": "", "err": str(error.strerror)}
        try:
            out, err = await asyncio.wait_for(asked.communicate(), ASK_TIMEOUT_S)
        except TimeoutError:
            asked.kill()
            return {"code": None, "out": "", "err": f"no answer within {ASK_TIMEOUT_S:.0f} s"}
        half = FRAME_MAX_BYTES // 8  # JSON may need six characters for one
        return {"code": asked.returncode, "out": out[:half].decode(), "err": err[-half:].decode(errors="replace")}

    async def _run(self, env: dict[str, str], outputs: list[str], size_bytes: int) -> None:
        document = b"".join([part async for part in self._parts(size_bytes)])
        try:
            self._engine = await asyncio.create_subprocess_exec(
                self._binary,
                "-",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **env},
                process_group=0,
                limit=PART_BYTES,
            )
        except OSError as error:
            raise Gone(f"the engine cannot be started there: {error.strerror}") from None
        self.say(RUNNING, {"pid": self._engine.pid})
        self._to_engine(document + b"\n")
        self._concluding = asyncio.create_task(self._conclude(self._engine, outputs))

    async def _conclude(self, engine: asyncio.subprocess.Process, outputs: list[str]) -> None:
        """All that the engine says, to its end, and what it leaves."""
        assert engine.stdout is not None
        assert engine.stderr is not None
        await asyncio.gather(self._carry(OUT, engine.stdout), self._carry(LOG, engine.stderr))
        code = await engine.wait()
        for name in outputs:
            if os.path.exists(name):
                await self._send_file(name)
        self.say(ENDED, {"code": code})

    async def _carry(self, kind: bytes, pipe: asyncio.StreamReader) -> None:
        while part := await pipe.read(PART_BYTES):
            self.say(kind, part)
            await self._writer.drain()

    async def _send_file(self, name: str) -> None:
        with open(name, "rb") as file:
            self.say(FILE, {"name": name, "size_bytes": os.fstat(file.fileno()).st_size})
            while part := file.read(PART_BYTES):
                self.say(PART, part)
                await self._writer.drain()

    def _start(self, monotonic_ns: int) -> None:
        unix_ns = _unix_ns(monotonic_ns)
        self._to_engine(b'{"control":"start_at","unix_ns":%d}\n' % unix_ns)
        self.say(STARTED, {"unix_ns": unix_ns})

    def _to_engine(self, lines: bytes) -> None:
        if self._engine is not None and self._engine.stdin is not None and not self._engine.stdin.is_closing():
            self._engine.stdin.write(lines)

    async def end(self, grace_s: float) -> None:
        """Ends the engine: end of input, then SIGTERM, then SIGKILL. It is gone when this returns."""
        engine, self._engine = self._engine, None
        if self._concluding is not None:
            self._concluding.cancel()
        if engine is None:
            return
        if engine.stdin is not None:
            engine.stdin.close()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                await asyncio.wait_for(engine.wait(), grace_s)
                return
            except TimeoutError:
                engine.send_signal(sign)
        await engine.wait()


async def _round_trips(addresses: dict[str, list[Any]]) -> dict[str, int]:
    """To each server: the least time that a connection takes to be made, ns. Without those that cannot be reached."""
    found: dict[str, int] = {}
    for name, (host, port) in addresses.items():
        for _ in range(_TRIES):
            began = time.monotonic_ns()
            try:
                async with asyncio.timeout(ASK_TIMEOUT_S / _TRIES / len(addresses)):
                    _, writer = await asyncio.open_connection(host, port)
            except OSError:
                break
            took = time.monotonic_ns() - began
            found[name] = min(took, found.get(name, took))
            writer.close()
    return found


def _unix_ns(monotonic_ns: int) -> int:
    """The same time on the other clock. Of several looks at both the one that nothing came between."""
    looks = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(5)]
    before, unix_ns, after = min(looks, key=lambda look: look[2] - look[0])
    return unix_ns + monotonic_ns - (before + after) // 2


def _cache() -> str:
    """The folder of engines that were carried here, ours alone; "" where there can be none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "bakeoff", "engines")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder, follow_symlinks=False)
    except OSError:
        return ""
    ours = status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return folder if ours and os.access(folder, os.W_OK | os.X_OK) else ""


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o700)


def _sha256(path: str) -> str:
    """ "" where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _context(tls: dict[str, str] | None) -> ssl.SSLContext | None:
    """As Dask has it: both sides show a certificate of one authority. Values are PEM, or files of it."""
    if tls is None:
        return None
    ca = tls["ca"]
    context = ssl.create_default_context(cadata=ca) if "\n" in ca else ssl.create_default_context(cafile=ca)
    context.check_hostname = False
    context.load_cert_chain(_as_file(tls["cert"]), _as_file(tls["key"]))
    return context


def _as_file(pem: str) -> str:
    """That OpenSSL can read; what was no file is in memory alone."""
    if "\n" not in pem:
        return pem
    number = os.memfd_create("pem")
    os.write(number, pem.encode())
    return f"/proc/self/fd/{number}"


async def _beat(stdout: asyncio.StreamWriter) -> None:
    while True:
        stdout.write(b".")
        await asyncio.sleep(BEAT_S)


async def _worker_gone(stdin: asyncio.StreamReader) -> None:
    """Returns never. Raises Gone."""
    while True:
        try:
            if not await asyncio.wait_for(stdin.read(4096), SILENCE_S):
                raise Gone("its Dask worker ended")
        except TimeoutError:
            raise Gone(f"its Dask worker is frozen: it has sent nothing for {SILENCE_S:.0f} s") from None


async def _first(*parts: Coroutine[Any, Any, Any]) -> Any:
    """What the first of them to end comes to; the others are given up."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(done)).result()
    finally:
        for task in tasks:
            task.cancel()


async def _standard_streams() -> Streams:
    """Stdin and stdout: pipes, or, of some SSH servers, one socket."""
    if stat.S_ISSOCK(os.fstat(0).st_mode):
        return await asyncio.open_connection(sock=socket.socket(fileno=0))
    loop, reader, unread = asyncio.get_running_loop(), asyncio.StreamReader(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    pipe, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(unread), sys.stdout)
    return reader, asyncio.StreamWriter(pipe, protocol, unread, loop)


async def _connected(address: list[Any], tls: dict[str, str] | None) -> Streams:
    """To the controller. Raises Gone."""
    host, port = address
    try:
        return await asyncio.wait_for(asyncio.open_connection(host, port, ssl=_context(tls)), SILENCE_S)
    except (OSError, ssl.SSLError) as error:
        why = "it does not answer" if isinstance(error, TimeoutError) else str(error)
        raise Gone(f"it cannot reach the controller at {host} port {port}: {why}") from None


async def keep() -> None:
    """Raises Gone where the controller could not be reached, or has gone."""
    stdin, stdout = await _standard_streams()
    errand = json.loads(await stdin.readline())
    if "address" not in errand:
        with tempfile.TemporaryDirectory(prefix="bakeoff-", ignore_cleanup_errors=True) as folder:
            os.chdir(folder)
            await _serve(Keeper(stdin, stdout), machine())
        return
    keeper = Keeper(*await _connected(errand["address"], errand["tls"]))
    greeting = {"token": errand["token"], **machine(of_dask=True)}
    await _serve(keeper, greeting, _worker_gone(stdin), _beat(stdout))


async def _serve(keeper: Keeper, greeting: dict[str, Any], *besides: Coroutine[Any, Any, None]) -> None:
    grace_s = GRACE_S
    keeper.say(HELLO, greeting)
    try:
        grace_s = await _first(keeper.serve(), *besides)
    except Gone as gone:
        keeper.say(TROUBLE, {"what": str(gone)})
    finally:
        await keeper.end(grace_s)
        keeper.close()


if __name__ == "__main__":
    try:
        asyncio.run(keep())
    except (Gone, OSError) as ended:
        sys.exit(str(ended))
