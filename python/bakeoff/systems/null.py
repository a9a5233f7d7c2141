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

from bakeoff.errors import PlanError
from bakeoff.systems.base import Capabilities, Facts, System
from bakeoff.systems.options import Options, read_options


class Stall(Options):
    at_s: float = Field(ge=0)
    for_s: float = Field(gt=0)


class NullOptions(Options):
    """As the driver's NullSpec."""

    latency_ns: int = Field(default=0, ge=0)
    latency: Literal["constant", "exponential"] = "constant"
    error_ratio: float = Field(default=0.0, ge=0, le=1)
    wrong_ratio: float = Field(default=0.0, ge=0, le=1)
    stalls: list[Stall] = Field(default_factory=list)
    store: bool = False
    lost_write_ratio: float = Field(default=0.0, ge=0, le=1)


class Null(System):
    kind: ClassVar[str] = "null"
    summary: ClassVar[str] = "no database: answers after a known time (tests of bakeoff itself)"
    private = True

    def __init__(self, name: str, options: NullOptions) -> None:
        self.name = name
        self._options = options

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            private=True,
            existing=False,
            embedded=True,
            restore=False,
            isolation=(),
            durability=(),
            runners=("tokio", "thread", "reactor"),
            pool=True,
            sql=False,
            keeps_data=False,
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
        return cls(name, read_options(NullOptions, options, where))

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def alive(self) -> bool:
        return True

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        return {"kind": "null", **self._options.model_dump()}, {}

    def facts(self) -> Facts:
        settings = {name: str(value) for name, value in self._options.model_dump().items()}
        return Facts(product="null driver", version="", settings=settings, portable={})
