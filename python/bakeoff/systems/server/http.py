"""Control connections that speak HTTP: one request and its answer at a time."""

from __future__ import annotations

import base64
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.systems.server.control import Control, Login

#: Of a request, where its control waits no longer for a part of the answer.
REQUEST_MAX_S = 60.0
#: A server may have closed a connection that was unused for longer (Node.js after 5 s).
_IDLE_S = 1.0


def basic(login: Login) -> dict[str, str]:
    """The field of an account with a password."""
    if not login.password:
        return {}
    account = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
    return {"Authorization": f"Basic {account}"}


class HttpControl(Control):
    _used_at = 0.0
    _made: http.client.HTTPConnection | None = None
    _line: socket.socket | None = None

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        has_ended = self._made is not None and self._made.sock is None  # an answer said so
        if has_ended or time.monotonic() - self._used_at > _IDLE_S:
            self.close()
        try:
            with self._bound():
                return super().rows(sql, *parameters)
        finally:
            self._used_at = time.monotonic()

    @contextmanager
    def _bound(self) -> Iterator[None]:
        """Ends a request whose answer drips: each read alone is bounded, and there may be many."""
        late = threading.Event()

        def end() -> None:
            late.set()
            if (line := self._line) is not None:
                with suppress(OSError):
                    socket.socket.shutdown(line, socket.SHUT_RDWR)  # that of TLS would forget its state

        limit_s = max(REQUEST_MAX_S, self._timeout_s)
        timer = threading.Timer(limit_s, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except BakeoffError as error:
            if not late.is_set():
                raise
            what = f"{self.login.address} did not end its answer within {limit_s:.0f} s, though it sends"
            hint = "is there a proxy or a slow network in between?"
            raise ServerError(what, where=self._where, hint=hint) from error
        finally:
            timer.cancel()

    def _http(self, connected: socket.socket) -> http.client.HTTPConnection:
        """Over this connection, encrypted where that is asked for. One that was lost is replaced by us alone."""
        address = self.login.address
        if tls := self.login.tls:
            connected = tls.context(self._where).wrap_socket(connected, server_hostname=address.host)
        made = http.client.HTTPConnection(address.host or "localhost", address.port or None)
        made.auto_open = 0
        made.sock = connected
        self._made, self._line = made, connected
        return made

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if isinstance(error, http.client.HTTPException):
            return self._lost(str(error) or type(error).__name__)
        return super()._explained(error, logged_in=logged_in)
