"""The control connection to a service of Amazon's: signed requests, and the errors that somebody has to expect."""

from __future__ import annotations

import http.client
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from bakeoff.errors import BakeoffError
from bakeoff.systems.aws_credentials import Credentials, signed_host
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.http import HttpControl


class SaidError(Exception):
    """An answer of the service's that is an error."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(said)
        self.code = code


class ConditionError(Exception):
    """A conditional write found something else."""


class AbsentError(Exception):
    """There is no such table or domain."""


class AwsConnection(ABC):
    def __init__(self, made: http.client.HTTPConnection, host: str, credentials: Credentials, region: str) -> None:
        self._http = made
        self._host = host
        self._credentials = credentials
        self._region = region

    @abstractmethod
    def rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """An action and its request: one row, of its answer, or of the ConditionError or AbsentError that it is.
        Raises SaidError."""

    def close(self) -> None:
        self._http.close()


class AwsControl(HttpControl):
    connection: ClassVar[type[AwsConnection]]
    #: How the codes begin that refuse the keys, and one that refuses an action.
    refused: ClassVar[tuple[str, ...]]
    denied: ClassVar[str]

    def __init__(
        self,
        login: Login,
        credentials: Credentials,
        region: str,
        *,
        where: str,
        timeout_s: float = 5.0,
        on_open: Callable[[Connection], None] | None = None,
    ) -> None:
        super().__init__(login, where=where, timeout_s=timeout_s, on_open=on_open)
        self._credentials = credentials
        self._region = region

    def again(self) -> Self:
        """Another connection to the same."""
        return type(self)(self.login, self._credentials, self._region, where=self._where, timeout_s=self._timeout_s)

    def answered(self, action: str, request: object) -> Any:
        """Raises ServerError, ConditionError and AbsentError."""
        answer = self.value(action, request)
        if isinstance(answer, ConditionError | AbsentError):
            raise answer
        return answer

    def _log_in(self, connected: socket.socket) -> AwsConnection:
        return self.connection(self._http(connected), signed_host(self.login), self._credentials, self._region)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said, code = str(error), error.code
        if code.startswith(self.refused):
            return self._user_refused(said, "check the access key, its secret, and the machine's clock")
        if code.startswith(self.denied):
            return self._not_allowed(said, "user")
        return self._other_error(said, code)
