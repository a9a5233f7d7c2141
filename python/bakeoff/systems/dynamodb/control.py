"""bakeoff's own requests to DynamoDB: signed (Signature Version 4), each a POST whose body and answer are JSON.

Sources: Amazon DynamoDB Developer Guide, "DynamoDB low-level API"; AWS documentation, "Create a signed AWS API
request".
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.systems.aws_credentials import Credentials, signed_host
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.http import HttpControl

_TYPE = "application/x-amz-json-1.0"
_REFUSED = ("UnrecognizedClient", "InvalidSignature", "MissingAuthenticationToken", "ExpiredToken")


class SaidError(Exception):
    """An answer of the service's that is an error."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(said)
        self.code = code


class ConditionError(Exception):
    """A conditional write found something else."""


class NoTableError(Exception):
    """There is no such table."""


def authorization(credentials: Credentials, region: str, fields: Mapping[str, str], body: bytes) -> str:
    """The field of that name. fields: all that are signed, in small letters and in their order, "x-amz-date" among
    them."""
    names = ";".join(fields)
    canonical = "".join(f"{name}:{value}\n" for name, value in fields.items())
    request = f"POST\n/\n\n{canonical}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    moment = fields["x-amz-date"]
    scope = f"{moment[:8]}/{region}/dynamodb/aws4_request"
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signed = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signature = hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"


class DynamoConnection:
    def __init__(self, made: http.client.HTTPConnection, host: str, credentials: Credentials, region: str) -> None:
        self._http = made
        self._host = host
        self._credentials = credentials
        self._region = region

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """An action and its request: one row, of its answer."""
        body = json.dumps(parameters[0] if parameters else {}).encode()
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        fields = {"content-type": _TYPE, "host": self._host, "x-amz-date": moment}
        if self._credentials.token:
            fields["x-amz-security-token"] = self._credentials.token
        fields["x-amz-target"] = f"DynamoDB_20120810.{sql}"
        signature = authorization(self._credentials, self._region, fields, body)
        self._http.request("POST", "/", body, {**fields, "authorization": signature})
        answer = self._http.getresponse()
        said = answer.read()
        if answer.status == 200:
            return [(json.loads(said),)]
        try:
            error = json.loads(said)
            code = str(error["__type"]).rpartition("#")[2]
        except (ValueError, KeyError, TypeError):
            raise SaidError(f"HTTP {answer.status}", answer.reason) from None
        if code == "ConditionalCheckFailedException":
            return [(ConditionError(),)]
        if code == "ResourceNotFoundException":
            return [(NoTableError(),)]
        raise SaidError(code, str(error.get("message") or error.get("Message") or code))

    def close(self) -> None:
        self._http.close()


class DynamoControl(HttpControl):
    product = "DynamoDB"
    probe: ClassVar[str] = "ListTables"

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

    def again(self) -> DynamoControl:
        """Another connection to the same."""
        return DynamoControl(self.login, self._credentials, self._region, where=self._where, timeout_s=self._timeout_s)

    def ask(self, action: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ServerError, ConditionError and NoTableError."""
        answer = self.value(action, request)
        if isinstance(answer, ConditionError | NoTableError):
            raise answer
        found: dict[str, Any] = answer
        return found

    def table(self, name: str) -> dict[str, Any] | None:
        """Its description; None: there is no such table, or not for long."""
        try:
            table: dict[str, Any] = self.ask("DescribeTable", {"TableName": name})["Table"]
        except NoTableError:
            return None
        return None if table["TableStatus"] == "DELETING" else table

    def scan(self, name: str) -> Iterator[dict[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            answer = self.ask("Scan", {"TableName": name, "ConsistentRead": True, **start})
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _log_in(self, connected: socket.socket) -> DynamoConnection:
        return DynamoConnection(self._http(connected), signed_host(self.login), self._credentials, self._region)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said, code = str(error), error.code
        if code.startswith(_REFUSED):
            return self._user_refused(said, "check the access key, its secret, and the machine's clock")
        if code.startswith("AccessDenied"):
            return self._not_allowed(said, "user")
        return self._other_error(said, code)
