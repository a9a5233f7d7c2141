"""Amazon DynamoDB: the service, by its region or by an address."""

from __future__ import annotations

from typing import ClassVar

from bakeoff.systems.aws_service import DURABILITY, AwsFamily, AwsNode, AwsOptions, AwsService
from bakeoff.systems.base import Facts
from bakeoff.systems.dynamodb.control import DynamoControl
from bakeoff.systems.dynamodb.ledger import DynamoLedger
from bakeoff.systems.public_service import PublicService
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.system import ServerNode


class DynamoNode(AwsNode):
    def read_facts(self) -> Facts:
        self.control.rows(self.control.probe)
        settings = {"region": str(self.options["region"]), "API": "2012-08-10", "billing": "on demand"}
        return Facts("DynamoDB", "service", settings, {"durability": DURABILITY})


class DynamoFamily(AwsFamily):
    driver = "dynamodb"
    default_port = 8000
    node: ClassVar[type[ServerNode]] = DynamoNode

    def control(self, login: Login, options: AwsOptions, where: str, timeout_s: float) -> DynamoControl:
        keys = options.credentials(login, where)
        return DynamoControl(login, keys, options.region, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: AwsOptions, where: str) -> DynamoLedger:
        return DynamoLedger(self.control(login, options, where, 5.0), options.region, where)


class DynamoDb(AwsService):
    kind: ClassVar[str] = "dynamodb"
    summary: ClassVar[str] = "Amazon DynamoDB: the service by `region` or `address`; documents, and records (YCSB)"
    family = DynamoFamily()
    product: ClassVar[str] = "DynamoDB"
    emulator: ClassVar[str] = "the kind dynamodb-local is Amazon's emulator, to try a plan"
    service: ClassVar[PublicService] = PublicService(
        name="Amazon DynamoDB",
        address="",
        read_price_per_million=0.125,
        write_price_per_million=0.625,
        currency="USD",
        date="2024-11-01",
        source="https://aws.amazon.com/dynamodb/pricing/on-demand/, us-east-1, for 4 KB read and 1 KB written",
    )

    @classmethod
    def host(cls, region: str) -> str:
        return f"dynamodb.{region}.amazonaws.com"
