"""Where a server listens, and how one logs in there: the same for every kind of server."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bakeoff.errors import PlanError
from bakeoff.provision.listening import at_port, at_socket
from bakeoff.systems.options import Options

CERTIFICATE_HINT = (
    "`tls.ca_file` names the authority that signed the server's certificate; `tls = { verify = false }` takes any"
)


class Tls(Options):
    """Encryption of an existing server's connections."""

    ca_file: str | None = None
    verify: bool = True

    def context(self, where: str) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise PlanError(f"cannot read the certificates in {self.ca_file}: {error}", where=where) from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True)
class Address:
    """Where a server listens: host and port, or the path of a unix socket."""

    host: str = ""
    port: int = 0
    socket: str = ""

    @classmethod
    def parse(cls, text: str, where: str, *, default_port: int) -> Address:
        if text.startswith("/"):
            return cls(socket=text)
        host, separator, port = text.rpartition(":")
        if not separator or text.endswith("]"):
            host, port = text, str(default_port)
        host = host.strip("[]")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise PlanError(
                f"{text!r} is not an address", where=where, hint='write "host:port", or "/path" for a unix socket'
            )
        return cls(host=host, port=int(port))

    @property
    def is_here(self) -> bool:
        """Whether it is one of this machine's own."""
        return bool(self.socket or self._own_hosts)

    @cached_property
    def _own_hosts(self) -> list[str]:
        """IP addresses of the host that are this machine's: a port can be bound to them."""
        try:
            found = socket.getaddrinfo(self.host, 0, type=socket.SOCK_DGRAM) if self.host else []
        except OSError:
            return []
        return [str(address[0]) for family, _, _, _, address in found if _can_bind(family, address)]

    def pids(self) -> list[int]:
        """Processes of this machine that listen there; empty where they are elsewhere, or may not be looked at."""
        return at_socket(self.socket) if self.socket else at_port(self._own_hosts, self.port) if self._own_hosts else []

    def __str__(self) -> str:
        """As the engine's document wants it."""
        if self.socket:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _can_bind(family: int, address: tuple[Any, ...]) -> bool:
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind(address)
        return True
    return False


@dataclass(frozen=True)
class Login:
    address: Address
    user: str
    password: str
    tls: Tls | None = None
    server_key_file: Path | None = None  # PEM, of a MySQL server: to whom the password may be given over plain TCP

    def __repr__(self) -> str:
        return f"Login({self.user} at {self.address})"  # never the password
