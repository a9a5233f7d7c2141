"""What the servers of one system send each other, to be cut off (partition.py) or delayed (delay.py). Clients, ours
included, still reach all of them.

The kernel lends us the servers' own sockets (pidfd_getfd, Linux 5.6), and an option of a socket concerns no other
program. That needs the right to administer the network (root: without it the kernel lets nobody filter TCP, seen on
Linux 6.18). It leaves nothing behind if we die, because the servers die with us.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import ClassVar

from bakeoff.errors import ServerError
from bakeoff.provision.server import ManagedServer
from bakeoff.provision.sockets import End, TcpSocket, held_by, tcp_sockets

_PIDFD_GETFD = 438  # on every architecture
#: Replicas connect to the port that clients use, too, so a new connection can only be found once it is there.
_LOOKS_EVERY_S = 0.25
#: Between two looks, of the time that one took: of a container it is asked which process it is.
_REST = 10

#: The process has ended, or closed the socket, since we looked.
_GONE = (errno.ESRCH, errno.EBADF, errno.ENOTSOCK)

_libc = ctypes.CDLL(None, use_errno=True)

#: An option of sockets (SOL_SOCKET) and its value.
Option = tuple[int, bytes]


class BetweenServers:
    """An option on all sockets by which one server and the others of its system talk, from `begin` to `end`, which may
    be called any number of times."""

    #: "a partition".
    what: ClassVar[str]

    def __init__(self, server: ManagedServer, others: Sequence[ManagedServer], on: Option, off: Option) -> None:
        self._sides = ([server], list(others))
        self._on, self._off = on, off
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._keep_up, name="between servers", daemon=True)

    def begin(self) -> None:
        """For what is on its way, and all that follows. Raises ServerError where that cannot be done."""
        try:
            connected = self._set_all()
        except OSError as error:
            self.end()
            what = f"{self.what} needs root (CAP_NET_ADMIN) and Linux 5.6: cannot reach the sockets of a server"
            raise ServerError(f"{what}: {error.strerror}") from None
        if not connected:
            self.end()
            raise ServerError("no connection between this server and another one was found")
        self._looking.start()

    def end(self) -> None:
        self._over.set()
        if self._looking.is_alive():
            self._looking.join()
        for side in self._sides:
            for inode, place in held_by(_pids(side)).items():
                with suppress(OSError):  # most have none
                    _set(inode, place, self._off)

    def _keep_up(self) -> None:
        pause_s = _LOOKS_EVERY_S
        while not self._over.wait(pause_s):
            begin_s = time.monotonic()
            with suppress(OSError):
                self._set_all()
            pause_s = max(_LOOKS_EVERY_S, _REST * (time.monotonic() - begin_s))

    def _set_all(self) -> int:
        """How many ends of connections have the option. Raises OSError where none can be reached."""
        connected = 0
        for one, place in self._between():
            connected += not one.listens
            try:
                _set(one.inode, place, self._on)
            except OSError as error:
                if error.errno not in _GONE:
                    raise
        return connected

    def _between(self) -> Iterator[tuple[TcpSocket, tuple[int, int]]]:
        """With process and descriptor: both ends of each connection between the two sides, and all sockets on which any
        of these servers takes connections, but for those that clients use."""
        sockets = list(tcp_sockets())
        held = [held_by(_pids(side)) for side in self._sides]
        inodes = {(one.local, one.remote): one.inode for one in sockets}
        for own, other in (held, reversed(held)):
            taking = [one.local for one in sockets if one.listens and one.inode in other]
            for one in sockets:
                if one.inode not in own:
                    continue
                if one.listens:
                    chosen = not self._is_for_clients(one)
                else:
                    reached = inodes.get((one.remote, one.local)) in other
                    chosen = reached or any(end.takes(one.remote) for end in taking)
                if chosen:
                    yield one, own[one.inode]

    def _is_for_clients(self, listening: TcpSocket) -> bool:
        return any(listening.local.takes(End(server.host, server.port)) for side in self._sides for server in side)


def _pids(servers: Sequence[ManagedServer]) -> list[int]:
    return [pid for server in servers for pid in server.pids()]


def _set(inode: str, place: tuple[int, int], option: Option) -> None:
    """An option of another process's socket. place: the process and its descriptor, which may be another's by
    now. Raises OSError."""
    pid, descriptor = place
    process = os.pidfd_open(pid)
    try:
        number = _libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
        if number < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
    finally:
        os.close(process)
    try:
        if os.fstat(number).st_ino != int(inode):
            raise OSError(errno.EBADF, "another one by now")
        with socket.socket(fileno=os.dup(number)) as lent:
            lent.setsockopt(socket.SOL_SOCKET, *option)
    finally:
        os.close(number)
