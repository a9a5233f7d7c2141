"""Which processes hold which sockets, by what the kernel says in /proc."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Hold a port for a server that is in a container: what they use is not what it uses.
FORWARDERS = frozenset({"docker-proxy", "rootlessport", "slirp4netns", "pasta", "pasta.avx2"})

_PROC = Path("/proc")
_TCP_LISTENS = "0A"
_UNIX_LISTENS = 0x10000  # SO_ACCEPTCON among a unix socket's flags
_ANY = frozenset({"0.0.0.0", "::"})


@dataclass(frozen=True)
class End:
    """An address and a port of TCP."""

    host: str
    port: int

    def takes(self, other: End) -> bool:
        """Whether one that listens here takes connections to the other end."""
        return self.port == other.port and self.host in (other.host, *_ANY)


@dataclass(frozen=True)
class TcpSocket:
    """inode: "0" until a program has accepted the connection."""

    local: End
    remote: End
    listens: bool
    inode: str


def tcp_sockets() -> Iterator[TcpSocket]:
    for path in (_PROC / "net" / "tcp", _PROC / "net" / "tcp6"):
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            row = line.split()
            yield TcpSocket(_end(row[1]), _end(row[2]), row[3] == _TCP_LISTENS, row[9])


def at_port(hosts: Collection[str], port: int) -> list[int]:
    """Processes that listen at one of the IP addresses; empty if there is none, or none that may be looked at."""
    wanted = [End(host, port) for host in hosts]
    return _holders({one.inode for one in tcp_sockets() if one.listens and any(map(one.local.takes, wanted))})


def at_socket(path: str) -> list[int]:
    """The same of a unix socket."""
    rows = (line.split(maxsplit=7) for line in (_PROC / "net" / "unix").read_text().splitlines()[1:])
    real = os.path.realpath(path)
    listening = (row for row in rows if len(row) == 8 and int(row[3], 16) & _UNIX_LISTENS)
    return _holders({row[6] for row in listening if os.path.realpath(row[7]) == real})


def held_by(pids: Iterable[int]) -> dict[str, tuple[int, int]]:
    """Sockets of these processes: by inode, the process and its descriptor."""
    return {
        link.removeprefix("socket:[").removesuffix("]"): (pid, descriptor)
        for pid in pids
        for descriptor, link in _descriptors(pid)
        if link.startswith("socket:[")
    }


def _end(words: str) -> End:
    """words: "0100007F:0CEA", the address in words of the machine's byte order."""
    address, _, port = words.partition(":")
    numbers = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    family = socket.AF_INET if len(numbers) == 1 else socket.AF_INET6
    host = socket.inet_ntop(family, struct.pack(f"={len(numbers)}I", *numbers))
    return End(host.removeprefix("::ffff:"), int(port, 16))


def _holders(inodes: Collection[str]) -> list[int]:
    if not inodes:
        return []
    pids = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if _name(pid) not in FORWARDERS and not held_by([pid]).keys().isdisjoint(inodes)]


def _name(pid: int) -> str:
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text().strip()
    return ""


def _descriptors(pid: int) -> Iterator[tuple[int, str]]:
    folder = _PROC / str(pid) / "fd"
    with suppress(OSError):  # it has ended, or is another user's
        for name in os.listdir(folder):
            with suppress(OSError):
                yield int(name), os.readlink(folder / name)
