"""The null system: no database, only the null driver's known behaviour. The test bench of the instrument.

[systems.null]
latency_ns = 100_000
latency = "exponential"
stalls = [{ at_s = 20.0, for_s = 1.0 }]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.files import allocated_bytes, copy_tree
from bakeoff.provision.instance import InstanceFolder
from bakeoff.systems.base import Capabilities, Configuration, Facts, Node, System
from bakeoff.systems.options import Options, read_options


class Null(System):
    kind: ClassVar[str] = "null"
    driver: ClassVar[str] = "null"
    in_first_plan: ClassVar[bool] = False
    summary: ClassVar[str] = "no database: answers after a fixed time (tests bakeoff itself)"
    managed = True

    def __init__(self, asked: Configuration, options: Options) -> None:
        self.name = asked.name
        self._options = options
        self._workdir = asked.workdir
        self._rows: Path | None = None

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(managed=True, existing=False, embedded=True, restore=True, durability=())

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if asked.durability is not None:
            raise PlanError("the null system has no durability", where=asked.where, hint="leave out `durability`")
        isolation = asked.isolation
        return cls(asked, read_options(Options, asked.options, asked.where, driver=cls.driver, isolation=isolation))

    @property
    def keeps_data(self) -> bool:
        return bool(self._options.driver["store"])

    def start(self) -> None:
        """The folder for the rows appears with the engine's load."""
        if self._rows is None and self.keeps_data:
            self._rows = InstanceFolder(self._workdir, for_servers=False).path / "rows"

    def stop(self) -> None:
        """Nothing runs; the rows go with the instance's folder."""

    def alive(self) -> bool:
        return True

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        kept = {} if self._rows is None else {"store_path": str(self._rows)}
        return {"kind": self.driver, **self._options.driver, **kept}, {}

    def data_paths(self) -> list[Path]:
        return [] if self._rows is None else [self._rows]

    def size_on_disk_bytes(self) -> int | None:
        return None if self._rows is None else allocated_bytes(self._rows)

    def snapshot(self, path: Path) -> None:
        if self._rows is not None:
            copy_tree(self._rows, path, where=f"systems.{self.name}")

    def restore(self, path: Path) -> None:
        self.start()
        if self._rows is None:
            return
        if not path.is_dir():
            raise ServerError(f"{path} has no snapshot", where=f"systems.{self.name}", hint="load again")
        copy_tree(path, self._rows, where=f"systems.{self.name}")

    def nodes(self) -> list[Node]:
        return [NullNode(self._options.driver)]


class NullNode(Node):
    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__("null", "embedded", "")
        self._options = options

    def facts(self) -> Facts:
        settings = {name: str(value) for name, value in self._options.items()}
        return Facts(product="null driver", version="", settings=settings, portable={})
