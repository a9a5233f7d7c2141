"""Load machines that SSH reaches, as its own configuration names them. Each client's keeper is started over SSH, and
what it and the controller say to each other goes over that channel: a machine needs Python alone, and no open port."""

from __future__ import annotations

import asyncio
import inspect
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import asyncssh

from ..errors import BakeoffError
from . import remote_keeper
from .keeper_connection import Link, Machine, Switchboard
from .load_machines import LoadMachines
from .spec import Ssh

_CONNECT_TIMEOUT_S = 15.0
#: A machine that was lost is connected again after this, for as long as the plan is carried out.
_AGAIN_S = 2.0
_ALIVE_S = 5
_KILL_TIMEOUT_S = 3.0
_LOOK_S = 0.02
#: Of what a keeper, or the shell before it, says in its own words.
_LAST_WORDS_BYTES = 2000
_PYTHON_MIN = (3, 11)
_VERSION = "import platform; print(platform.python_version())"


class SshHost(LoadMachines):
    """Raises BakeoffError naming the machine that cannot be had."""

    what_to_start = "those machines"

    def __init__(
        self,
        way: Ssh,
        *,
        min_clients: int | None = None,
        wait_s: float = 600.0,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._python = way.remote_python
        self._connections: dict[str, asyncssh.SSHClientConnection] = {}
        self._held: dict[str, set[Link]] = {host: set() for host in way.hosts}
        self._command = shlex.join([self._python, "-I", "-c", inspect.getsource(remote_keeper)])
        board = Switchboard()
        try:
            board.wait(self._connect_all(way.hosts))
        except BaseException:
            board.wait(self._disconnect())
            board.close()
            raise
        super().__init__(way.words, board, min_clients=min_clients, wait_s=wait_s, tell=tell)
        self._machines = {host: Machine(host, host) for host in way.hosts}
        for host in way.hosts:
            board.do(board.spawn, self._stay_connected(host))

    def close(self) -> None:
        self.board.wait(self._disconnect())
        self.board.close()

    def refuse_plain(self) -> None:
        """SSH encrypts."""

    def machines(self) -> list[Machine]:
        return [self._machines.setdefault(host, Machine(host, host)) for host in list(self._connections)]

    def holds_client(self, address: str) -> bool:
        return bool(self._held[address])

    def send(self, link: Link, *, takes_machine: bool) -> None:
        self._held[link.machine.address].add(link)
        self.board.do(self.board.spawn, self._hold(link))

    async def _hold(self, link: Link) -> None:
        """A client's keeper, from its start to its end."""
        host = link.machine.address
        session = _Session()
        try:
            if (connection := self._connections.get(host)) is None:
                raise remote_keeper.Gone("the connection to it ended")
            await connection.create_session(lambda: session, self._command, encoding=None)
            session.writer.write(b"{}\n")  # the errand
            self.board.expect(link)
            while not session.begun and not link.finished:
                await asyncio.sleep(_LOOK_S)
            if link.finished:  # it took too long, or nobody wants it any more
                session.kill()
                return
            kind, greeting = await remote_keeper.read_frame(session.reader)
            if kind != remote_keeper.HELLO:
                raise remote_keeper.Gone("it sent an unexpected frame")
            link.machine.greeted = time.monotonic()
            await link.converse(session.reader, session.writer, remote_keeper.said(greeting))
            if link.is_lost:  # its keeper may be frozen, and hold the engine
                await asyncio.wait_for(connection.run(f"kill -KILL {int(link.greeting['pid'])}"), _KILL_TIMEOUT_S)
        except (OSError, asyncssh.Error, remote_keeper.Gone) as error:
            link.lose(session.last_words or str(error))
            session.kill()
        finally:
            self._held[host].discard(link)

    async def _connect_all(self, hosts: tuple[str, ...]) -> None:
        await asyncio.gather(*map(self._connect, hosts))

    async def _disconnect(self) -> None:
        while self._connections:
            _, connection = self._connections.popitem()
            connection.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(connection.wait_closed(), _KILL_TIMEOUT_S)

    async def _stay_connected(self, host: str) -> None:
        while True:
            if connection := self._connections.get(host):
                await connection.wait_closed()
                self._connections.pop(host, None)
            await asyncio.sleep(_AGAIN_S)
            with suppress(BakeoffError):  # it is away for longer; whoever waits for it says so
                await self._connect(host)

    async def _connect(self, host: str) -> None:
        try:
            connection = await asyncssh.connect(host, connect_timeout=_CONNECT_TIMEOUT_S, keepalive_interval=_ALIVE_S)
        except (OSError, asyncssh.Error) as error:
            raise BakeoffError(
                f"{host} cannot be reached by SSH: {error}",
                where="[fleet] ssh",
                hint=f"`ssh {host} true` must work without a prompt; set user, port and key in ~/.ssh/config",
            ) from error
        try:
            await self._refuse_other_python(connection, host)
        except BaseException:
            connection.close()
            raise
        self._connections[host] = connection

    async def _refuse_other_python(self, connection: asyncssh.SSHClientConnection, host: str) -> None:
        why = f"no answer within {_CONNECT_TIMEOUT_S:.0f} s"
        try:
            command = shlex.join([self._python, "-I", "-c", _VERSION])
            done = await connection.run(command, timeout=_CONNECT_TIMEOUT_S)
            version = str(done.stdout).strip()
            if tuple(map(int, version.split(".")[:2])) >= _PYTHON_MIN:
                return
            why = f"it is Python {version}"
        except ValueError:
            why = str(done.stderr).strip().rpartition("\n")[2] or "it prints nothing"
        except (OSError, asyncssh.Error):
            pass
        raise BakeoffError(
            f"{self._python} on {host} cannot run a client: {why}",
            where="[fleet] ssh",
            hint=f"install Python {'.'.join(map(str, _PYTHON_MIN))} or newer there, and name it in `remote_python`",
        )


class _Session(asyncssh.SSHClientSession[bytes]):
    """A channel as two streams of asyncio's."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader()
        self._protocol = asyncio.StreamReaderProtocol(self.reader)
        #: It has said something, or has ended.
        self.begun = False
        self._channel: Any = None
        self._said = b""

    def kill(self) -> None:
        """What SSH started, as far as its server does so (OpenSSH 7.9 and newer)."""
        if self._channel is not None:
            with suppress(OSError, asyncssh.Error):
                self._channel.kill()
            self._channel.abort()

    def connection_made(self, channel: Any) -> None:
        self._channel = channel
        self._protocol.connection_made(channel)
        self.writer = asyncio.StreamWriter(channel, self._protocol, self.reader, asyncio.get_running_loop())

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if datatype is None:
            self.begun = True
            self._protocol.data_received(data)
        else:
            self._said = (self._said + data)[-_LAST_WORDS_BYTES:]

    def eof_received(self) -> bool:
        self.begun = True
        return bool(self._protocol.eof_received())

    def connection_lost(self, error: Exception | None) -> None:
        self.begun = True
        self._protocol.connection_lost(ConnectionResetError(str(error)) if error else None)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    @property
    def last_words(self) -> str:
        """The last line of its standard error."""
        return self._said.decode(errors="replace").strip().rpartition("\n")[2]
