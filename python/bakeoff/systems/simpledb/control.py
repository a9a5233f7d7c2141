"""bakeoff's own requests to SimpleDB: signed (Signature Version 2), each a POST of parameters, with an answer in XML.

Sources: Amazon SimpleDB Developer Guide, "Making REST Requests", "HMAC-SHA Signature", "API Error Codes".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote
from xml.etree import ElementTree

from bakeoff.systems.aws_control import AbsentError, AwsConnection, AwsControl, ConditionError, SaidError
from bakeoff.systems.aws_credentials import Credentials

_VERSION = "2009-04-15"
#: Codes that say that a condition does not hold.
_UNMET = ("ConditionalCheckFailed", "AttributeDoesNotExist")


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


class SimpledbConnection(AwsConnection):
    def rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """An action and its parameters: one row, of its answer."""
        body = signed(self._credentials, self._host, {"Action": sql, **(parameters[0] if parameters else {})})
        fields = {
            "Host": self._host,
            "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            "User-Agent": f"bakeoff region/{self._region}",  # by which an emulator knows the region
        }
        self._http.request("POST", "/", body, fields)
        answer = self._http.getresponse()
        said = answer.read()
        try:
            found = ElementTree.fromstring(said)
        except ElementTree.ParseError:
            raise SaidError(f"HTTP {answer.status}", answer.reason) from None
        for element in found.iter():
            element.tag = element.tag.rpartition("}")[2]  # of its namespace
        if answer.status == 200:
            return [(found,)]
        code = found.findtext(".//Error/Code", f"HTTP {answer.status}")
        if code in _UNMET:
            return [(ConditionError(),)]
        if code == "NoSuchDomain":
            return [(AbsentError(),)]
        raise SaidError(code, found.findtext(".//Error/Message", code))


class SimpledbControl(AwsControl):
    product = "SimpleDB"
    probe: ClassVar[str] = "ListDomains"

    connection: ClassVar[type[AwsConnection]] = SimpledbConnection
    refused: ClassVar[tuple[str, ...]] = (
        *("AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "RequestExpired"),
    )
    denied: ClassVar[str] = "AccessFailure"

    def ask(self, action: str, parameters: Mapping[str, str]) -> ElementTree.Element:
        """Raises ServerError, ConditionError and AbsentError."""
        found: ElementTree.Element = self.answered(action, parameters)
        return found

    def item(self, domain: str, name: str) -> dict[str, str]:
        """Its attributes; none: there is no such item. Raises AbsentError."""
        found = self.ask("GetAttributes", {"DomainName": domain, "ItemName": name, "ConsistentRead": "true"})
        return {one.findtext("Name", ""): one.findtext("Value") or "" for one in found.iter("Attribute")}

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


def _expected(attributes: Mapping[str, str]) -> dict[str, str]:
    """At most one attribute, and the value that it has to have; "": the item may not have it."""
    of = {}
    for name, value in attributes.items():
        of["Expected.1.Name"] = name
        of |= {"Expected.1.Value": value} if value else {"Expected.1.Exists": "false"}
    return of
