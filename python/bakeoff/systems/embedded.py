"""What embedded key-value stores have in common: a store in a folder or file of the instance's, opened by the engine.

    [systems.lmdb]
    durability = "relaxed"
    path = "/mnt/fast"          # the folder for the store; default: the run's own
    map_bytes = 8_589_934_592   # options of the driver

The control plane never opens a store: while no engine runs, it copies its files. A kind's file has its levels of
durability, and says of each what an acknowledged commit survives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import EngineError, PlanError, ServerError
from bakeoff.model.durability import Survival
from bakeoff.provision.files import allocated_bytes, copy_tree, file_bytes, remove_tree
from bakeoff.provision.instance import InstanceFolder
from bakeoff.systems.base import Capabilities, Configuration, Facts, Node, System
from bakeoff.systems.options import Options, drivers, option_names, read_options


class StoreOptions(Options):
    path: str | None = None  # a folder


class EmbeddedStore(System):
    product: ClassVar[str]
    #: By level.
    durability: ClassVar[Mapping[str, Survival]]
    #: The store's own.
    default_durability: ClassVar[str] = "full"
    #: As plans name levels.
    isolation: ClassVar[str] = "serializable"
    #: Whether several engines may have a store open at the same time.
    several_clients: ClassVar[bool] = False
    #: Options of the driver that decide how bytes are stored; the others matter only while a store is open.
    shaping: ClassVar[frozenset[str]] = frozenset()
    #: The driver's option that is the size of its cache; "": it has none.
    cache_option: ClassVar[str] = ""
    in_first_plan: ClassVar[bool] = False
    managed = True

    def __init__(self, asked: Configuration, options: StoreOptions) -> None:
        self.name = asked.name
        self.options = options
        self.level = asked.durability or self.default_durability
        self.where = asked.where
        self._workdir = asked.workdir
        self._place = asked.base_dir / options.path if options.path else None
        self._folder: Path | None = None

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            managed=True,
            existing=False,
            embedded=True,
            restore=True,
            durability=tuple(cls.durability),
            several_clients=cls.several_clients,
        )

    @classmethod
    def options_model(cls) -> type[StoreOptions]:
        return StoreOptions

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        if asked.durability is not None and asked.durability not in cls.durability:
            what = f"{cls.kind} has no durability {asked.durability!r}"
            raise PlanError(what, where=asked.where, hint=f"known: {', '.join(cls.durability)}")
        model, isolation = cls.options_model(), asked.isolation
        return cls(asked, read_options(model, asked.options, asked.where, driver=cls.driver, isolation=isolation))

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        run_time = {*option_names(cls.driver)} - cls.shaping
        return {name: value for name, value in options.items() if name not in run_time}

    def start(self) -> None:
        """Makes the folder; the store appears with the first engine."""
        if self._folder is None:
            instance = InstanceFolder(self._workdir, for_servers=False)
            self._folder = instance.path if self._place is None else instance.outside(self._place)

    def stop(self) -> None:
        """Nothing runs; the store goes with the instance's folder."""

    def alive(self) -> bool:
        return self._folder is not None

    @property
    def store(self) -> Path:
        """A file or a folder."""
        if self._folder is None:
            raise ServerError("the system has not been started", where=self.where)
        return self._folder / f"data.{self.kind}"

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        own = {"kind": self.driver, "path": str(self.store), "durability": self.level}
        return {**self.options.driver, **own}, {}

    def settings(self) -> dict[str, str]:
        """That were in effect."""
        return {name: str(value) for name, value in self.options.driver.items()}

    def version(self) -> str:
        """Of the library inside the engine, if the engine says."""
        try:
            return drivers()[self.driver].library.rpartition(" ")[2]
        except (EngineError, KeyError):
            return ""

    def nodes(self) -> Sequence[Node]:
        return [StoreNode(self)]

    def size_on_disk_bytes(self) -> int | None:
        return allocated_bytes(self.store)

    def data_paths(self) -> list[Path]:
        """The store's own caches go with the engine."""
        return [self.store]

    def snapshot(self, path: Path) -> None:
        if not self.store.exists():
            raise ServerError("there is no data to snapshot: nothing was loaded", where=self.where)
        copy_tree(self.store, path, where=self.where)

    def restore(self, path: Path) -> None:
        if not path.exists():
            raise ServerError(f"{path} has no snapshot", where=self.where, hint="load the data again")
        self.start()
        remove_tree(self.store)
        copy_tree(path, self.store, where=self.where)


class StoreNode(Node):
    def __init__(self, system: EmbeddedStore) -> None:
        super().__init__("store", "embedded", "")
        self._system = system

    def facts(self) -> Facts:
        system = self._system
        settings = system.settings()
        memory = {"memory_bytes": settings[system.cache_option]} if system.cache_option else {}
        return Facts(
            product=system.product,
            version=system.version(),
            settings=settings,
            portable={
                **system.durability[system.level].facts(),
                "isolation": system.isolation,
                **memory,
                "tls": "off",
            },
        )

    def gauges(self) -> dict[str, float]:
        return {"store_bytes": float(file_bytes(self._system.store))}
