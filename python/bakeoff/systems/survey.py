"""The survey of systems: what each promises, with its sources. The data are in survey.toml; what bakeoff has for a
system follows from the kinds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from bakeoff.systems import SYSTEMS

#: In the order in which they are shown, with their heads.
COLUMNS = {
    "data_model": "data model",
    "consistency": "consistency options",
    "transactions": "transactions",
    "replication": "replication",
    "conflicts": "conflict handling",
    "durability": "durability knobs",
    "licence": "licence",
    "maturity": "maturity",
    "use": "typical use",
}


#: Of the documentation, with their titles.
PAGES = {
    "sql": "SQL servers and clusters",
    "distributed": "stores of keys, documents and rows",
    "embedded": "databases inside the program",
}


class Surveyed(BaseModel):
    """One system. page: of PAGES. kinds: as plans name it. absent: why no driver speaks to it and none ever will.
    names: as somebody may name it as a kind nevertheless. sources: by column, "all" for those without one of their
    own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    page: str
    kinds: list[str]
    absent: str = ""
    names: list[str] = Field(default_factory=list)
    data_model: str
    consistency: str
    transactions: str
    replication: str
    conflicts: str
    licence: str
    maturity: str
    use: str
    durability: str
    sources: dict[str, str]

    def cell(self, column: str) -> str:
        return str(getattr(self, column))

    def source(self, column: str) -> str:
        return self.sources.get(column, self.sources["all"])

    @property
    def driver(self) -> str:
        """What a plan may name for it here: "`cassandra`"; peers, with what they are; or why there is nothing."""
        here = [f"`{kind}`" for kind in self.kinds if kind in SYSTEMS]
        peers = [f"`{kind}` (peer)" for kind, system in SYSTEMS.items() if system.peer_of and self._is(system.peer_of)]
        return ", ".join([*here, *peers]) or f"none: {self.absent or 'not in this version'}"

    def _is(self, product: str) -> bool:
        return product.lower() in (self.name.lower(), self.name.split()[-1].lower(), *self.kinds)


class Survey(BaseModel):
    """tests: by column, what bakeoff tests of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tests: Mapping[str, str]
    system: list[Surveyed]


@cache
def survey() -> Survey:
    return Survey.model_validate(tomllib.loads((Path(__file__).parent / "survey.toml").read_text(encoding="utf-8")))


def without_driver() -> list[Surveyed]:
    """Those that have none, and never will."""
    return [one for one in survey().system if one.absent]


def why_absent(kind: str) -> str:
    """Of a kind that a plan names: "DeeDS has no driver: ..."; "" where nothing is known of it."""
    found = next((one for one in without_driver() if kind.lower() in one.names), None)
    return f"{found.name} has no driver: {found.absent}" if found else ""


def as_json() -> dict[str, object]:
    found = survey()
    systems = [{**one.model_dump(), "driver": one.driver} for one in found.system]
    return {"tests": dict(found.tests), "systems": systems}
