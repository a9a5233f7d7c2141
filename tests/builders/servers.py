"""A kind of managed servers that are real processes and nothing else: for what holds of all, in milliseconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.provision.files import write_private
from bakeoff.provision.installation import Installation, Source, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.base import Configuration, Facts
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.options import ServerOptions, StartOptions
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import ReplicaStart, Replicated, Replication
from bakeoff.systems.server.started import StartedServer
from bakeoff.systems.server.system import Access, Family, ServerNode, Status


class Sleeper(DatabaseServer):
    """Serves as long as its process lives and is not frozen. done: what was done to all of a system's, in order."""

    product = "Sleeper"
    cold_options: ClassVar[tuple[str, ...]] = ("forgetful",)

    def __init__(self, spec: ServerSpec, folder: InstanceFolder, done: list[str]) -> None:
        super().__init__(spec, folder, where="systems.sleeper")
        self.name = folder.path.name
        self.frozen = False
        self._done = done

    def start(self, *options: str) -> None:
        self._done.append(" ".join(["start", self.name, *options]))
        self.frozen = False
        super().start(*options)

    def freeze(self) -> None:
        super().freeze()
        self.frozen = True

    def stop(self) -> None:
        self._done.append(f"stop {self.name}")
        super().stop()

    def end(self) -> None:
        self._done.append(f"end {self.name}")
        super().end()

    def has_data(self, folder: Path) -> bool:
        return (folder / "whose").is_file()

    def make_data(self) -> None:
        (self.data / "whose").write_text(self.name)

    def write_config(self) -> None:
        write_private(self.folder.path / "conf", "")

    def command(self, options: Sequence[str]) -> Sequence[str | Path]:
        return [self.spec.installation.program, "600"]

    def answers(self) -> bool:
        return self.alive() and not self.frozen

    def explain(self, log: str, how_it_ended: str) -> BakeoffError:
        return ServerError(f"{self.name}: {how_it_ended}")

    def before_snapshot(self) -> None:
        self._done.append(f"settle {self.name}")

    def make_control(self, timeout_s: float = 5.0) -> Control:
        raise ServerError("it says nothing")

    def drain_debt(self, timeout_s: float) -> bool:
        return True

    def size_on_disk_bytes(self) -> int | None:
        return 100


class _Here(Source):
    name = "here"

    def here(self) -> Sequence[Installation]:
        return [Installation("1", "here", "of this machine", Path("/bin/sleep"))]


class _Options(ServerOptions):
    user: str = "nobody"

    @property
    def tables_in(self) -> str:
        return "bakeoff"


class _Family:
    driver = "null"
    default_port = 1
    durability: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    run_time: Collection[str] = ()
    ours: Collection[str] = ()
    options = _Options

    def refuse_session(self, *_: object) -> None: ...

    def table_format(self, *_: object) -> None: ...

    def node(self, name: str, role: str, address: str, access: Access) -> ServerNode:
        return _Node(name, role, address, access)


class _Node(ServerNode):
    def read_facts(self) -> Facts:
        return Facts("Sleeper", "1")

    def read_status(self) -> Status:
        return Status({}, {})

    def read_debt(self) -> dict[str, float]:
        return {}

    def cipher(self, control: Control) -> str:
        return ""


class Sleepers(StartedServer):
    """As many as there are names."""

    kind: ClassVar[str] = "sleeper"
    driver: ClassVar[str] = "null"
    summary: ClassVar[str] = ""
    family: ClassVar[Family[Any]] = cast("Family[Any]", _Family())

    def __init__(self, workdir: Path, *names: str, start: StartOptions | None = None) -> None:
        options = _Options()
        options._driver = {"tls": None}
        asked = Configuration("sleeper", {}, None, None, workdir, 1.0, workdir)
        super().__init__(asked, options, start or StartOptions(), {})
        self.done: list[str] = []
        self._names = names

    @classmethod
    def sources(cls) -> Sources:
        return Sources("sleeper", "sleeper", (_Here(),))

    @classmethod
    def process_of(cls, version: str, where: str) -> type[DatabaseServer]:
        return Sleeper

    def roles(self) -> dict[str, str]:
        return {name: "replica" if place else "primary" for place, name in enumerate(self._names)}

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> Sleeper:
        return Sleeper(spec, folder, self.done)

    def sleeper(self, name: str) -> Sleeper:
        return cast(Sleeper, self.servers()[name])


class _Following(Replication):
    """Writes down what it is asked. All replicas hold what the primary holds."""

    unit: ClassVar[str] = "transactions"

    def __init__(self, done: list[str]) -> None:
        self._done = done

    def breaking(self, settings: Mapping[str, str], replicas: int) -> Mapping[str, str]:
        return {}

    def admit(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        self._done.append(f"admit {replica.folder.path.name}")

    def follow(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        self._done.append(f"follow {replica.folder.path.name}")

    def wait_until_connected(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        self._done.append(f"connected {replica.folder.path.name}")

    def committed(self, primary: DatabaseServer) -> int:
        return 0

    def applied(self, replica: DatabaseServer) -> int:
        return 0

    def trouble(self, replica: DatabaseServer) -> str:
        return ""

    def fallen_back(self, primary: DatabaseServer) -> str:
        return ""

    def content(self, server: DatabaseServer, table: str) -> str:
        return "0 rows"

    def facts_of_primary(self, primary: DatabaseServer) -> dict[str, str]:
        return {}

    def facts_of_replica(self, replica: DatabaseServer) -> dict[str, str]:
        return {}


class Followers(Replicated, Sleepers):
    """A primary and replicas of it."""

    def __init__(self, workdir: Path, replicas: int) -> None:
        super().__init__(workdir, start=ReplicaStart(replicas=replicas))
        self.replication = _Following(self.done)  # type: ignore[misc]  # of this one system
