"""bakeoff's own requests to SimpleDB: signed (Signature Version 2), each a POST of parameters, with an answer in XML.

Sources: Amazon SimpleDB Developer Guide, "Making REST Requests", "HMAC-SHA Signature", "API Error Codes".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote
from xml.etree import ElementTree

from bakeoff.errors import BakeoffError
from bakeoff.systems.aws_credentials import Credentials, signed_host
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.http import HttpControl

_VERSION = "2009-04-15"
_REFUSED = ("AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "RequestExpired")
#: Codes that say that a condition does not hold.
_UNMET = ("ConditionalCheckFailed", "AttributeDoesNotExist")


class SaidError(Exception):
    """An answer of the service's that is an error."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(said)
        self.code = code


class ConditionError(Exception):
    """A conditional write found something else."""


class NoDomainError(Exception):
    """There is no such domain."""


def signed(credentials: Credentials, host: str, parameters: Mapping[str, str]) -> str:
    """A request's parameters with those that say who sends it and when."""
    who = {"AWSAccessKeyId": credentials.key_id, "SignatureMethod": "HmacSHA256", "SignatureVersion": "2"}
    if credentials.token:
        who["SecurityToken"] = credentials.token
    moment = {"Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "Version": _VERSION}
    every = sorted({**parameters, **who, **moment}.items())
    body = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in every)
    said = signature(credentials.secret, f"POST\n{host.lower()}\n/\n{body}")
    return f"{body}&Signature={quote(said, safe='')}"


def signature(secret: str, said: str) -> str:
    return base64.b64encode(hmac.new(secret.encode(), said.encode(), hashlib.sha256).digest()).decode()


class SimpledbConnection:
    def __init__(self, made: http.client.HTTPConnection, host: str, credentials: Credentials, region: str) -> None:
        self._http = made
        self._host = host
        self._credentials = credentials
        self._fields = {
            "Host": host,
            "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            "User-Agent": f"bakeoff region/{region}",  # by which an emulator knows the region
        }

    def rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """An action and its parameters: one row, of its answer."""
        body = signed(self._credentials, self._host, {"Action": sql, **(parameters[0] if parameters else {})})
        self._http.request("POST", "/", body, self._fields)
        answer = self._http.getresponse()
        said = answer.read()
        try:
            told = ElementTree.fromstring(said)
        except ElementTree.ParseError:
            raise SaidError(f"HTTP {answer.status}", answer.reason) from None
        for element in told.iter():
            element.tag = element.tag.rpartition("}")[2]  # of its namespace
        if answer.status == 200:
            return [(told,)]
        code = told.findtext(".//Error/Code", f"HTTP {answer.status}")
        if code in _UNMET:
            return [(ConditionError(),)]
        if code == "NoSuchDomain":
            return [(NoDomainError(),)]
        raise SaidError(code, told.findtext(".//Error/Message", code))

    def close(self) -> None:
        self._http.close()


class SimpledbControl(HttpControl):
    product = "SimpleDB"
    probe: ClassVar[str] = "ListDomains"

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

    def again(self) -> SimpledbControl:
        """Another connection to the same."""
        return SimpledbControl(
            self.login, self._credentials, self._region, where=self._where, timeout_s=self._timeout_s
        )

    def ask(self, action: str, parameters: Mapping[str, str]) -> ElementTree.Element:
        """Raises ServerError, ConditionError and NoDomainError."""
        answer = self.value(action, parameters)
        if isinstance(answer, ConditionError | NoDomainError):
            raise answer
        found: ElementTree.Element = answer
        return found

    def item(self, domain: str, name: str) -> dict[str, str]:
        """Its attributes; none: there is no such item. Raises NoDomainError."""
        told = self.ask("GetAttributes", {"DomainName": domain, "ItemName": name, "ConsistentRead": "true"})
        return {one.findtext("Name", ""): one.findtext("Value") or "" for one in told.iter("Attribute")}

    def put(self, domain: str, name: str, attributes: Mapping[str, str], **expected: str) -> None:
        """In place of values that there are. expected: see `_expected`."""
        of = {}
        for number, (attribute, value) in enumerate(attributes.items(), 1):
            of[f"Attribute.{number}.Name"], of[f"Attribute.{number}.Value"] = attribute, value
            of[f"Attribute.{number}.Replace"] = "true"
        self.ask("PutAttributes", {"DomainName": domain, "ItemName": name, **of, **_expected(expected)})

    def delete(self, domain: str, name: str, **expected: str) -> None:
        self.ask("DeleteAttributes", {"DomainName": domain, "ItemName": name, **_expected(expected)})

    def is_empty(self, domain: str) -> bool:
        select = f"select itemName() from `{domain}` limit 1"
        return self.ask("Select", {"SelectExpression": select, "ConsistentRead": "true"}).find(".//Item") is None

    def _log_in(self, connected: socket.socket) -> SimpledbConnection:
        return SimpledbConnection(self._http(connected), signed_host(self.login), self._credentials, self._region)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said, code = str(error), error.code
        if code in _REFUSED:
            return self._user_refused(said, "check the access key, its secret, and the machine's clock")
        if code == "AccessFailure":
            return self._not_allowed(said, "user")
        return self._other_error(said, code)


def _expected(attributes: Mapping[str, str]) -> dict[str, str]:
    """At most one attribute, and the value that it has to have; "": the item may not have it."""
    of = {}
    for name, value in attributes.items():
        of["Expected.1.Name"] = name
        of |= {"Expected.1.Value": value} if value else {"Expected.1.Exists": "false"}
    return of
