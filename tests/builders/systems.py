"""Makes systems the way a plan would."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import BakeoffError
from bakeoff.provision.installation import Sources
from bakeoff.systems import SYSTEMS
from bakeoff.systems.base import Configuration, Facts, Node, System


def configured(kind: str, workdir: Path, options: dict[str, Any], **levels: Any) -> System:
    """A system as a plan would configure it."""
    arguments: dict[str, Any] = {"durability": None, "isolation": None, "timeout_s": 10.0, "base_dir": workdir}
    return SYSTEMS[kind].configure(Configuration(kind, options, workdir=workdir, **{**arguments, **levels}))


def fetched(sources: Sources, version: str) -> str:
    """The version, installed if necessary; the test is skipped if it cannot be installed."""
    if not any(one.version.startswith(f"{version}.") for one in sources.here()):
        try:
            sources.install(version, None, lambda _: None)
        except BakeoffError as error:
            pytest.skip(f"{sources.what} {version} cannot be installed: {error}")
    return version


@contextmanager
def running(kind: str, options: dict[str, Any], **levels: Any) -> Iterator[System]:
    """A managed server in a folder that any account may reach; ended and removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-test-"))
    folder.chmod(0o755)
    system = configured(kind, folder / kind, options, **levels)
    try:
        system.start()
        yield system
    finally:
        system.stop()
        shutil.rmtree(folder)


def node_of(system: System) -> Node:
    """Of a system of one server."""
    (node,) = system.nodes()
    return node


class GivenNode(Node):
    """A node whose answers are given."""

    def __init__(
        self,
        name: str,
        *,
        role: str = "primary",
        pids: tuple[int, ...] = (),
        facts: Facts | None = None,
        **said: dict[str, float],
    ) -> None:
        """said: counters, gauges, debt."""
        super().__init__(name, role, f"{name}:1")
        self._pids = pids
        self._facts = facts or Facts("Database", "1")
        self._said = said

    def pids(self) -> list[int]:
        return list(self._pids)

    def facts(self) -> Facts:
        return self._facts

    def counters(self) -> dict[str, float]:
        return self._said.get("counters", {})

    def gauges(self) -> dict[str, float]:
        return self._said.get("gauges", {})

    def debt(self) -> dict[str, float]:
        return self._said.get("debt", {})
