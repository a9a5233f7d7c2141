"""A public service of Amazon's, by its region or by an address, as its kinds share it: DynamoDB and SimpleDB.

[systems.dynamodb]
region = "eu-central-1"          # or address = "https://host:port"
consistent_read = true

Credentials are those of the environment or of a profile, as AWS's own tools find them. Every request is paid for.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems import aws_credentials
from bakeoff.systems.aws_credentials import Credentials
from bakeoff.systems.base import Capabilities, Configuration, System
from bakeoff.systems.options import address_of
from bakeoff.systems.public_service import PublicService
from bakeoff.systems.server.control import Address, Control, Login
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import AddressedFamily, Server, ServerNode, Status

#: What the service is said to promise by nobody but itself.
DURABILITY = "written to several places before it is acknowledged, says AWS"


#: It is a part of addresses, signatures and fields.
_REGION = re.compile(r"[a-z0-9-]+")


def refuse_region(region: object, where: str) -> None:
    """Raises PlanError."""
    if isinstance(region, str) and not _REGION.fullmatch(region):
        hint = 'write one as AWS does: region = "us-east-1"'
        raise PlanError(f"{region!r} is not the name of a region", where=f"{where}.region", hint=hint)


class AwsOptions(ServerOptions):
    user: str = ""

    @property
    def region(self) -> str:
        return str(self.driver["region"])

    def credentials(self, login: Login, where: str) -> Credentials:
        """Of the login where it has any. Raises PlanError."""
        if login.password:
            return Credentials(login.user, login.password)
        return aws_credentials.find(self.driver["profile"], where)


class AwsNode(ServerNode):
    """A service says of itself neither a version nor a setting, and counts nothing."""

    options: Mapping[str, Any] = {}

    def read_status(self) -> Status:
        return Status({}, {})

    def read_debt(self) -> dict[str, float]:
        return {}


class AwsFamily(AddressedFamily[AwsOptions]):
    options: type[AwsOptions] = AwsOptions
    #: There is nothing to set.
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    run_time: ClassVar[Collection[str]] = ()
    ours: ClassVar[Collection[str]] = ()

    def place(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(options.get("region", "")),)

    def level(self, control: Control) -> str:
        raise ServerError(f"how durable {control.product} is cannot be asked", hint="leave `durability` out")

    def size_on_disk_bytes(self, control: Control, options: AwsOptions) -> int | None:
        return None


class AwsServer(Server):
    """A service, or an emulator of it."""

    _options: AwsOptions
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "strong": {"consistent_read": True},
        "eventual": {"consistent_read": False},
    }

    def _asked(self) -> dict[str, str]:
        return {"consistent reads": "on" if self._options.driver["consistent_read"] else "off"}


class AwsEmulator(AwsServer, StartedServer):
    """What bakeoff starts, with all its data in memory."""

    in_first_plan: ClassVar[bool] = False
    restart_s: ClassVar[float] = 4.0
    #: As errors call it, and what it has in place of settings.
    product: ClassVar[str]
    has: ClassVar[str] = ""

    @classmethod
    def capabilities(cls) -> Capabilities:
        """What is in memory alone has no copy."""
        return replace(super().capabilities(), restore=False)

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        made = super().configure(asked)
        assert isinstance(made, AwsEmulator)
        refuse_region(made._options.region, asked.where)
        if made._start.settings:
            what, where = f"{cls.product} has no settings", f"{asked.where}.start.settings"
            raise PlanError(what, where=where, hint=f"leave them out{cls.has}")
        if made._options.driver["tls"]:
            raise PlanError(f"{cls.product} has no tls", where=f"{asked.where}.tls", hint="leave `tls` out")
        return made

    def make_cold(self) -> None:
        raise ServerError(
            f"{self.product} has its data in memory alone, and a restart would lose them",
            where=self._where,
            hint='leave out cache = "cold"',
        )

    def _own_facts(self, server: DatabaseServer) -> dict[str, str]:
        return {**super()._own_facts(server), **self._asked()}


class AwsService(AwsServer, ExistingServer):
    group: ClassVar[str] = "services"
    in_first_plan: ClassVar[bool] = False
    product: ClassVar[str]
    #: In words: where a plan can be tried.
    emulator: ClassVar[str]
    #: At its list price; the address is that of a plan.
    service: ClassVar[PublicService]

    @classmethod
    @abstractmethod
    def host(cls, region: str) -> str: ...

    @classmethod
    def capabilities(cls) -> Capabilities:
        return replace(super().capabilities(), managed=False, restore=False)

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        """A region has an address, which is encrypted; so is one that begins with https://."""
        address, region = options.get("address"), options.get("region")
        refuse_region(region, where)
        if address is None and isinstance(region, str) and not {"start", "settings"} & options.keys():
            options = {"tls": True, **options, "address": f"{cls.host(region)}:443"}
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
                f"{cls.product} is a service, which bakeoff cannot start",
                where=asked.where,
                hint=f'write region = "us-east-1"; {cls.emulator}',
            )
        return super().configure(replace(asked, options=spelled))

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        spelled = cls.in_one_spelling(dict(options), f"systems.{cls.kind}")
        return None if address_of(spelled) is not None else "it needs a `region`: it is a service"

    @classmethod
    def public_service(cls, options: Mapping[str, Any]) -> PublicService | None:
        """At any address but this machine's own: a gateway of a private network leads to the service, too."""
        address = address_of(cls.in_one_spelling(dict(options), f"systems.{cls.kind}")) or ""
        host = Address.parse(address, "", default_port=443).host if address else ""
        if not host or host == "localhost" or host == "::1" or host.startswith("127."):
            return None
        return replace(cls.service, address=address)

    def nodes(self) -> list[ServerNode]:
        nodes = super().nodes()
        for node in nodes:
            assert isinstance(node, AwsNode)
            node.options = self._options.driver
        return nodes

    def _own_facts(self) -> dict[str, str]:
        return {**super()._own_facts(), **self._asked()}
