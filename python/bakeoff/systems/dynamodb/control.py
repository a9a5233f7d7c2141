"""bakeoff's own requests to DynamoDB: signed (Signature Version 4), each a POST whose body and answer are JSON.

Sources: Amazon DynamoDB Developer Guide, "DynamoDB low-level API"; AWS documentation, "Create a signed AWS API
request".
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from bakeoff.systems.aws_control import AbsentError, AwsConnection, AwsControl, ConditionError, SaidError
from bakeoff.systems.aws_credentials import Credentials

_TYPE = "application/x-amz-json-1.0"


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


class DynamoConnection(AwsConnection):
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
            return [(AbsentError(),)]
        raise SaidError(code, str(error.get("message") or error.get("Message") or code))


class DynamoControl(AwsControl):
    product = "DynamoDB"
    probe: ClassVar[str] = "ListTables"

    connection: ClassVar[type[AwsConnection]] = DynamoConnection
    refused: ClassVar[tuple[str, ...]] = (
        *("UnrecognizedClient", "InvalidSignature", "MissingAuthenticationToken", "ExpiredToken"),
    )
    denied: ClassVar[str] = "AccessDenied"

    def ask(self, action: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ServerError, ConditionError and AbsentError."""
        found: dict[str, Any] = self.answered(action, request)
        return found

    def table(self, name: str) -> dict[str, Any] | None:
        """Its description; None: there is no such table, or not for long."""
        try:
            table: dict[str, Any] = self.ask("DescribeTable", {"TableName": name})["Table"]
        except AbsentError:
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
