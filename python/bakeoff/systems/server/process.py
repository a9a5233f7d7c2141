"""A managed server as a system of a plan needs it: with our own account, for our connection, and one for the load.
The life of its process is `bakeoff.provision.server`."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from bakeoff.provision.certificate import Certificate, make_certificate
from bakeoff.provision.files import allocated_bytes
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ManagedServer, ServerSpec
from bakeoff.systems.server.control import Address, Control, Login, Tls

#: The account that makes the load.
BENCH_USER = "bench"


class DatabaseServer(ManagedServer):
    def __init__(self, spec: ServerSpec, folder: InstanceFolder, *, where: str) -> None:
        super().__init__(spec, folder, where=where)
        self.authority: Path | None = None  # the certificate that clients are to trust, if there is TLS
        self._control: Control | None = None

    @abstractmethod
    def make_control(self, timeout_s: float = 5.0) -> Control:
        """A new connection with all rights, over the socket, where the plan's tables are. timeout_s: of a statement."""

    def drain_debt(self, timeout_s: float) -> bool:
        """As of a system. Raises ServerError if it has ended."""
        return True

    def size_on_disk_bytes(self) -> int | None:
        return allocated_bytes(self.data)

    def file_size_bytes(self) -> int | None:
        return None

    def adjusted(self) -> list[str]:
        """Settings that it changed when it took them, in its own words."""
        return []

    @property
    def control(self) -> Control:
        """The connection that stays open."""
        if self._control is None:
            self._control = self.make_control()
        return self._control

    def disconnect(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    def bench_login(self, connect: str) -> Login:
        """As the load logs in: over "tcp" or the "socket"."""
        address = self.bench_address(connect)
        return Login(address, BENCH_USER, self.bench_password, self.encryption, self.server_key_file())

    @property
    def encryption(self) -> Tls | None:
        """Of connections over TCP."""
        return Tls(ca_file=str(self.authority)) if self.authority else None

    def bench_address(self, connect: str) -> Address:
        return self.socket_address() if connect == "socket" else Address(self.host, self.port)

    def socket_address(self) -> Address:
        return Address(socket=str(self.socket))

    def server_key_file(self) -> Path | None:
        """PEM: to which a password may be encrypted over plain TCP, where logging in needs that."""
        return None

    def make_certificate(self, *addresses: str) -> Certificate:
        """One for all servers of a system: the load trusts one authority. addresses: of all of them."""
        files = make_certificate(self.folder.whole, addresses or (self.host,))
        self.authority = files.authority
        return files
