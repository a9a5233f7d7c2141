"""Amazon SimpleDB: the service, by its region or by an address."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import ClassVar

from bakeoff.errors import PlanError
from bakeoff.systems.aws_control import AbsentError
from bakeoff.systems.aws_service import DURABILITY, AwsFamily, AwsNode, AwsOptions, AwsService
from bakeoff.systems.base import Facts
from bakeoff.systems.ledger import TABLE
from bakeoff.systems.public_service import PublicService
from bakeoff.systems.server.control import Login, NotAllowed, Refused
from bakeoff.systems.server.system import ServerNode
from bakeoff.systems.simpledb.control import SimpledbControl
from bakeoff.systems.simpledb.ledger import SimpledbLedger

#: A request's share of a machine hour (`BoxUsage`), as the Developer Guide's examples tell it, and what an hour costs.
_HOURS_OF_A_READ, _HOURS_OF_A_WRITE = 0.0000093222, 0.0000219907
_PRICE_OF_AN_HOUR = 0.14


class SimpledbNode(AwsNode):
    def read_facts(self) -> Facts:
        self.control.rows(self.control.probe)
        settings = {"region": str(self.options["region"]), "API": "2009-04-15", "billing": "machine hours"}
        return Facts("SimpleDB", "service", settings, {"durability": DURABILITY})


class SimpledbFamily(AwsFamily):
    driver = "simpledb"
    default_port = 80
    node: ClassVar[type[ServerNode]] = SimpledbNode

    def control(self, login: Login, options: AwsOptions, where: str, timeout_s: float) -> SimpledbControl:
        keys = options.credentials(login, where)
        return SimpledbControl(login, keys, options.region, where=where, timeout_s=timeout_s)

    def ledger(self, login: Login, options: AwsOptions, where: str) -> SimpledbLedger:
        return SimpledbLedger(self.control(login, options, where, 30.0), options.region, where)

    def refuse_session(self, login: Login, options: AwsOptions, where: str) -> None:
        """An emulator that has no Select can neither scan nor count. Raises PlanError."""
        with closing(self.control(login, options, where, 30.0)) as control, suppress(AbsentError):
            try:
                control.is_empty(TABLE)
            except NotAllowed:
                raise
            except Refused as error:
                what = f"{login.address} takes no Select, which runs need: {error.what}"
                hint = "is it an emulator? The kind moto-simpledb starts one, and does without"
                raise PlanError(what, where=f"{where}.address", hint=hint) from error


class SimpleDb(AwsService):
    kind: ClassVar[str] = "simpledb"
    summary: ClassVar[str] = "Amazon SimpleDB: the service by `region` or `address`; records (YCSB)"
    family = SimpledbFamily()
    product: ClassVar[str] = "SimpleDB"
    emulator: ClassVar[str] = "the kind moto-simpledb is an emulator of some of its calls, to try a plan"
    service: ClassVar[PublicService] = PublicService(
        name="Amazon SimpleDB",
        address="",
        read_price_per_million=round(_HOURS_OF_A_READ * _PRICE_OF_AN_HOUR * 1e6, 2),
        write_price_per_million=round(_HOURS_OF_A_WRITE * _PRICE_OF_AN_HOUR * 1e6, 2),
        currency="USD",
        date="",
        source="https://aws.amazon.com/simpledb/pricing/, us-east-1, for the machine hours of small requests",
    )

    @classmethod
    def host(cls, region: str) -> str:
        return "sdb.amazonaws.com" if region == "us-east-1" else f"sdb.{region}.amazonaws.com"
