"""Which processes of this machine listen at an address: the kernel lists sockets with their numbers in /proc/net, and
in /proc/PID/fd which process holds which. Linux; of another user's processes that is told to root alone."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

#: Hold a port for a server that is in a container: what they use is not what it uses.
FORWARDERS = frozenset({"docker-proxy", "rootlessport", "slirp4netns", "pasta", "pasta.avx2"})

_PROC = Path("/proc")
_TCP_LISTENS = "0A"
_UNIX_LISTENS = 0x10000  # SO_ACCEPTCON among a unix socket's flags
_ANY = frozenset({"0.0.0.0", "::"})


def at_port(hosts: Collection[str], port: int) -> list[int]:
    """Processes that listen at one of the IP addresses; empty if there is none, or none that may be looked at."""
    wanted = {*hosts, *_ANY}
    tables = ((_PROC / "net" / name).read_text() for name in ("tcp", "tcp6") if (_PROC / "net" / name).exists())
    rows = (line.split() for table in tables for line in table.splitlines()[1:])
    return _holders({row[9] for row in rows if row[3] == _TCP_LISTENS and _listens_at(row[1], wanted, port)})


def at_socket(path: str) -> list[int]:
    """The same of a unix socket."""
    rows = (line.split(maxsplit=7) for line in (_PROC / "net" / "unix").read_text().splitlines()[1:])
    real = os.path.realpath(path)
    listening = (row for row in rows if len(row) == 8 and int(row[3], 16) & _UNIX_LISTENS)
    return _holders({row[6] for row in listening if os.path.realpath(row[7]) == real})


def _listens_at(local: str, wanted: Collection[str], port: int) -> bool:
    """local: "0100007F:0CEA", the address in words of the machine's byte order."""
    address, _, local_port = local.partition(":")
    if int(local_port, 16) != port:
        return False
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words)).removeprefix("::ffff:") in wanted


def _holders(inodes: Collection[str]) -> list[int]:
    if not inodes:
        return []
    links = {f"socket:[{inode}]" for inode in inodes}
    pids = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if _name(pid) not in FORWARDERS and any(link in links for link in _descriptors(pid))]


def _name(pid: int) -> str:
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text().strip()
    return ""


def _descriptors(pid: int) -> Iterator[str]:
    folder = _PROC / str(pid) / "fd"
    with suppress(OSError):  # it has ended, or is another user's
        for name in os.listdir(folder):
            with suppress(OSError):
                yield os.readlink(folder / name)
