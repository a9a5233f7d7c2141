"""The reference store: a small replicated store inside the engine, with faults to switch on. It tests `bakeoff verify`.

[systems.reference]
nodes = 3
write_nodes = 2
read_nodes = 2
bug = "drop_write"
"""

from __future__ import annotations

from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.model.isolation import ReadPromise
from bakeoff.systems.base import Capabilities, Configuration, Facts, Node, System
from bakeoff.systems.options import Options, read_options


class Reference(System):
    kind: ClassVar[str] = "reference"
    driver: ClassVar[str] = "reference"
    in_first_plan: ClassVar[bool] = False
    summary: ClassVar[str] = "no database: a simulated replicated store with known faults (tests `bakeoff verify`)"
    managed = True

    def __init__(self, asked: Configuration, options: Options) -> None:
        self.name = asked.name
        self._options = options.driver
        self._isolation = asked.isolation or "serializable"

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(managed=True, existing=False, embedded=True, restore=False, durability=())

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if asked.durability is not None:
            raise PlanError("the reference store has no durability", where=asked.where, hint="leave out `durability`")
        isolation = asked.isolation
        return cls(asked, read_options(Options, asked.options, asked.where, driver=cls.driver, isolation=isolation))

    @property
    def keeps_data(self) -> bool:
        return False

    def start(self) -> None:
        """The store lives as long as an experiment."""

    def stop(self) -> None:
        """Nothing runs."""

    def alive(self) -> bool:
        return True

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        endpoints = [node.endpoint() for node in self.nodes()]
        return {"kind": self.driver, "endpoints": endpoints, **self._options}, {}

    def nodes(self) -> list[Node]:
        numbers = range(1, self._options["nodes"] + 1)
        return [ReferenceNode(f"node {number}", self._options, self._isolation) for number in numbers]

    @property
    def promise_of_reads(self) -> ReadPromise:
        """Each read reaches a node that has what was acknowledged."""
        overlap = self._options["read_nodes"] + self._options["write_nodes"] > self._options["nodes"]
        return "one copy" if overlap else ""


class ReferenceNode(Node):
    def __init__(self, name: str, options: dict[str, Any], isolation: str) -> None:
        super().__init__(name, "node", "")
        self._options = options
        self._isolation = isolation

    def facts(self) -> Facts:
        settings = {name: str(value) for name, value in self._options.items()}
        return Facts("reference store", "", settings, {"isolation": self._isolation})
