"""The null system: no database, only the null driver's known behaviour. The test bench of the instrument.

[systems.null]
latency_ns = 100_000
latency = "exponential"
stalls = [{ at_s = 20.0, for_s = 1.0 }]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.files import allocated_bytes, copy_tree
from bakeoff.provision.instance import InstanceFolder
from bakeoff.systems.base import Capabilities, Facts, System
from bakeoff.systems.options import Options, read_options


class Stall(Options):
    at_s: float = Field(ge=0, le=1e6)
    for_s: float = Field(gt=0, le=1e6)


class NullOptions(Options):
    """As the driver's NullSpec."""

    latency_ns: int = Field(default=0, ge=0, le=3_600_000_000_000)  # an hour: no longer time can be recorded
    latency: Literal["constant", "exponential"] = "constant"
    error_ratio: float = Field(default=0.0, ge=0, le=1)
    wrong_ratio: float = Field(default=0.0, ge=0, le=1)
    stalls: list[Stall] = Field(default_factory=list)
    store: bool = False
    lost_write_ratio: float = Field(default=0.0, ge=0, le=1)


class Null(System):
    kind: ClassVar[str] = "null"
    driver: ClassVar[str] = "null"
    summary: ClassVar[str] = "no database: answers after a known time (tests of bakeoff itself)"
    private = True

    def __init__(self, name: str, options: NullOptions, workdir: Path) -> None:
        self.name = name
        self._options = options
        self._workdir = workdir
        self._rows: Path | None = None

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            private=True,
            existing=False,
            embedded=True,
            restore=True,
            isolation=(),
            durability=(),
            runners=("tokio", "thread", "reactor"),
            pool=True,
        )

    @classmethod
    def configure(
        cls,
        name: str,
        options: dict[str, Any],
        *,
        durability: str | None,
        isolation: str | None,
        workdir: Path,
        timeout_s: float,
        base_dir: Path,
    ) -> System:
        where = f"systems.{name}"
        for asked, word in ((durability, "durability"), (isolation, "isolation")):
            if asked is not None:
                raise PlanError(f"the null system has no {word}", where=where, hint=f"leave out `{word}`")
        return cls(name, read_options(NullOptions, options, where), workdir)

    @property
    def keeps_data(self) -> bool:
        return self._options.store

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
        return {"kind": self.driver, **self._options.model_dump(), **kept}, {}

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
            raise ServerError(f"there is no snapshot in {path}", where=f"systems.{self.name}", hint="load again")
        copy_tree(path, self._rows, where=f"systems.{self.name}")

    def facts(self) -> Facts:
        settings = {name: str(value) for name, value in self._options.model_dump().items()}
        return Facts(product="null driver", version="", settings=settings, portable={})
