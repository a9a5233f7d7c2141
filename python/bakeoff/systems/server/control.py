"""The control connection to a server: a few statements alongside the load, never in it.

One connection, used under a lock because the metrics sampler has a thread of its own; after any failure it is closed
and the next statement opens a new one. Every failure becomes a ServerError that names the server.
"""

from __future__ import annotations

import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.sockets import at_port, at_socket
from bakeoff.systems.options import Options

CERTIFICATE_HINT = (
    "`tls.ca_file` names the authority that signed the server's certificate; `tls = { verify = false }` accepts any"
)


class Tls(Options):
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


ENCRYPT_HINT = f"set `tls = true`; {CERTIFICATE_HINT}"
#: Several round trips over a slow line, and a busy server.
LOGIN_MAX_S = 30.0
_PASSWORD_HINT = "check `user`, and the password that `password = { env = ... }` or `{ file = ... }` names"


class Refused(ServerError):
    """The server has understood a statement, and does not do it."""


class NotAllowed(Refused):
    """The account lacks a right."""


class Connection(Protocol):
    """What a product's client library is wrapped into."""

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]: ...

    def close(self) -> None:
        """Without a word to somebody who may be frozen."""


class Control(ABC):
    """Statements to one server. Thread-safe; each takes at most `timeout_s`.

    on_open: what every new connection is asked first. If it raises, the connection is closed.
    """

    product: ClassVar[str]  # for sentences
    #: A statement that every server of the kind takes, and answers by a row.
    probe: ClassVar[str] = "SELECT 1"

    def __init__(
        self,
        login: Login,
        *,
        where: str,
        timeout_s: float = 5.0,
        on_open: Callable[[Connection], None] | None = None,
    ) -> None:
        self.login = login
        self._where = where
        self._timeout_s = timeout_s
        self._on_open = on_open
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    @abstractmethod
    def _log_in(self, connected: socket.socket) -> Connection: ...

    def _connect(self) -> Connection:
        """Connected by us, because client libraries leak their own where nobody listens (PyMySQL 1.1, pg8000 1.31)."""
        connected = open_socket(self.login.address, self._timeout_s)
        try:
            with _login_bound(connected, self.login, self._where):
                return self._log_in(connected)
        except BaseException:
            connected.close()
            raise

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._lock:
            logged_in = False
            try:
                opened = self._connection is None
                connection = self._connection = self._connection or self._connect()
                logged_in = True
                if opened and self._on_open is not None:
                    self._on_open(connection)
                return connection.rows(sql, parameters)
            except (BakeoffError, ImportError):
                self._drop()
                raise
            except Exception as error:  # what is no server makes client libraries stumble in many ways
                self._drop()
                raise self._explained(error, logged_in=logged_in) from error

    def value(self, sql: str, *parameters: object) -> Any:
        """The first column of the first row, or None."""
        rows = self.rows(sql, *parameters)
        return rows[0][0] if rows else None

    def answers(self) -> bool:
        try:
            return bool(self.rows(self.probe))
        except ServerError:
            return False

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(Exception):
                connection.close()

    # -- errors as sentences ----------------------------------------------------------------------------------------

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        """Without `logged_in` the login itself has failed. A product's own says what answers of the server mean."""
        if isinstance(error, ssl.SSLError):
            return self._not_encrypted(getattr(error, "verify_message", "") or str(error.reason))
        if isinstance(error, ConnectionResetError) and not logged_in:
            return self._hung_up()
        if isinstance(error, OSError):
            why = error.strerror or str(error) or type(error).__name__
            return (self._lost if logged_in else self._not_reached)(why)
        return self._unreadable(error)

    def _failed(self, what: str, hint: str = "") -> ServerError:
        return ServerError(what, where=self._where, hint=hint)

    def _password_withheld(self, why: str, hint: str) -> ServerError:
        return self._failed(f"could not log in to {self.login.user}@{self.login.address}: {why}", hint)

    def _not_encrypted(self, why: str) -> ServerError:
        hint = f"leave out `tls`, or set the server up for it; {CERTIFICATE_HINT}"
        return self._failed(f"no encrypted connection to {self.login.address}: {why}", hint)

    def _not_reached(self, why: str) -> ServerError:
        hint = "is the server running and the address right? Without `address` bakeoff starts a managed server"
        return self._failed(f"could not connect to {self.login.address}: {_small(why)}", hint)

    def _hung_up(self) -> ServerError:
        return self._failed(f"{self.login.address} closed the connection during the login", self._no_server)

    def _lost(self, why: str) -> ServerError:
        hint = "has the server ended, does it hang, or does a proxy close connections?"
        return self._failed(f"the connection to {self.login.address} was lost: {_small(why)}", hint)

    def _unreadable(self, error: object) -> ServerError:
        return self._failed(f"{self.login.address} sent an unreadable answer: {error}", self._no_server)

    @property
    def _no_server(self) -> str:
        return f"is this the address of a {self.product} server, or of a proxy that cannot reach one?"

    def _user_refused(self, said: str, hint: str = _PASSWORD_HINT) -> ServerError:
        return self._failed(f"{self.login.address} refused user {self.login.user!r}: {said}", hint)

    def _not_allowed(self, said: str, place: str) -> ServerError:
        """place: what the plan calls where its tables are."""
        what = f"{self.login.user}@{self.login.address} lacks a privilege: {said}"
        return NotAllowed(what, where=self._where, hint=f"grant it, or name another `{place}`")

    def _no_room(self, said: str) -> ServerError:
        return self._failed(f"{self.login.address} refused the connection: {said}")

    def _other_error(self, said: str, code: object) -> ServerError:
        what = f"{self.login.user}@{self.login.address} reported an error: {said}"
        return Refused(what + (f" ({code})" if code else ""), where=self._where)


@contextmanager
def _login_bound(connected: socket.socket, login: Login, where: str) -> Iterator[None]:
    """Ends a login that takes longer than `LOGIN_MAX_S`. Client libraries bound each read alone, so a proxy that sends
    a byte now and then is waited for without end."""
    line = connected.dup()  # TLS takes the socket itself over
    late = threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(LOGIN_MAX_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if not late.is_set():
            raise
        what = f"the login at {login.address} did not end within {LOGIN_MAX_S:.0f} s, though it answers"
        raise ServerError(what, where=where, hint="is there a proxy or a slow network in between?") from error
    finally:
        timer.cancel()
        line.close()


def open_socket(address: Address, timeout_s: float) -> socket.socket:
    if not address.socket:
        connected = socket.create_connection((address.host, address.port), timeout_s)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.settimeout(timeout_s)
        connected.connect(address.socket)
    except BaseException:
        connected.close()
        raise
    return connected


def _small(reason: str) -> str:
    return reason[:1].lower() + reason[1:]
