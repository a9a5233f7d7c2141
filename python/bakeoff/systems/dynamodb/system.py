"""Amazon DynamoDB: the service, by its region or by an address.

[systems.dynamodb]
region = "eu-central-1"          # or address = "https://host:port"
consistent_read = true

Credentials are those of the environment or of a profile, as AWS's own tools find them. Every request is paid for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.base import Capabilities, Configuration, Facts, System
from bakeoff.systems.dynamodb import credentials
from bakeoff.systems.dynamodb.control import DynamoControl
from bakeoff.systems.dynamodb.credentials import Credentials
from bakeoff.systems.dynamodb.ledger import DynamoLedger
from bakeoff.systems.options import address_of
from bakeoff.systems.public_service import PublicService
from bakeoff.systems.server.control import Address, Control, Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.system import AddressedFamily, Server, ServerNode, Status

#: Of what the service is said to promise by nobody but itself.
_DURABILITY = "written to several places before it is acknowledged, says AWS"


class DynamoOptions(ServerOptions):
    user: str = ""


class DynamoNode(ServerNode):
    options: Mapping[str, Any] = {}

    def read_facts(self) -> Facts:
        """The service says of itself neither a version nor a setting."""
        self.control.rows(self.control.probe)
        settings = {"region": str(self.options["region"]), "API": "2012-08-10", "billing": "on demand"}
        return Facts("DynamoDB", "service", settings, {"durability": _DURABILITY})

    def read_status(self) -> Status:
        return Status({}, {})

    def read_debt(self) -> dict[str, float]:
        return {}


class DynamoFamily(AddressedFamily[DynamoOptions]):
    driver = "dynamodb"
    default_port = 8000
    options: type[DynamoOptions] = DynamoOptions
    node: ClassVar[type[ServerNode]] = DynamoNode
    #: There is nothing to set.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    run_time: ClassVar[Collection[str]] = ()
    ours: ClassVar[Collection[str]] = ()

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("region", "")),)

    def control(self, login: Login, options: DynamoOptions, where: str, timeout_s: float) -> DynamoControl:
        keys = (
            Credentials(login.user, login.password)
            if login.password
            else credentials.find(options.driver["profile"], where)
        )
        return DynamoControl(login, keys, options.driver["region"], where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: DynamoOptions, where: str) -> DynamoLedger:
        return DynamoLedger(self.control(login, options, where, 5.0), options.driver["region"], where)

    def level(self, control: Control) -> str:
        raise ServerError("how durable DynamoDB is cannot be asked", hint="leave `durability` out")

    def size_on_disk_bytes(self, control: Control, options: DynamoOptions) -> int | None:
        return None


class DynamoServer(Server):
    """The service, or its emulator."""

    _options: DynamoOptions
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "strong": {"consistent_read": True},
        "eventual": {"consistent_read": False},
    }

    def _asked(self) -> dict[str, str]:
        return {"consistent reads": "on" if self._options.driver["consistent_read"] else "off"}


class DynamoDb(DynamoServer, ExistingServer):
    kind: ClassVar[str] = "dynamodb"
    group: ClassVar[str] = "services"
    summary: ClassVar[str] = "Amazon DynamoDB: the service by `region` or `address`; documents, and records (YCSB)"
    in_first_plan: ClassVar[bool] = False
    family = DynamoFamily()

    @classmethod
    def capabilities(cls) -> Capabilities:
        return replace(super().capabilities(), managed=False, restore=False)

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        """A region has an address, which is encrypted; so is one that begins with https://."""
        address, region = options.get("address"), options.get("region")
        if address is None and isinstance(region, str) and not {"start", "settings"} & options.keys():
            options = {"tls": True, **options, "address": f"dynamodb.{region}.amazonaws.com:443"}
        elif isinstance(address, str):
            bare = address.removeprefix("https://").removeprefix("http://").rstrip("/")
            if address.startswith("https://"):
                bare = bare if ":" in bare else f"{bare}:443"
                options = {"tls": True, **options}
            options = {**options, "address": bare}
        return super().in_one_spelling(options, where)

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        spelled = cls.in_one_spelling(asked.options, asked.where)
        if address_of(spelled) is None:
            raise PlanError(
                "DynamoDB is a service, which bakeoff cannot start",
                where=asked.where,
                hint='write region = "us-east-1"; the kind dynamodb-local is Amazon\'s emulator, to try a plan',
            )
        return super().configure(replace(asked, options=spelled))

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        spelled = cls.in_one_spelling(dict(options), f"systems.{cls.kind}")
        return None if address_of(spelled) is not None else "it needs a `region`: it is a service"

    @classmethod
    def public_service(cls, options: Mapping[str, Any]) -> PublicService | None:
        """At any address but this machine's own: a gateway of a private network leads to the service, too."""
        address = address_of(cls.in_one_spelling(dict(options), "systems.dynamodb")) or ""
        host = Address.parse(address, "", default_port=443).host if address else ""
        if not host or host == "localhost" or host == "::1" or host.startswith("127."):
            return None
        return PublicService(
            name="Amazon DynamoDB",
            address=address,
            read_price_per_million=0.125,
            write_price_per_million=0.625,
            currency="USD",
            date="2024-11-01",
            source="https://aws.amazon.com/dynamodb/pricing/on-demand/, us-east-1, for 4 KB read and 1 KB written",
        )

    def nodes(self) -> list[ServerNode]:
        nodes = super().nodes()
        for node in nodes:
            assert isinstance(node, DynamoNode)
            node.options = self._options.driver
        return nodes

    def _own_facts(self) -> dict[str, str]:
        return {**super()._own_facts(), **self._asked()}
