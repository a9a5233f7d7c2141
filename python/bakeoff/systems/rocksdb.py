"""RocksDB: a log-structured merge tree, in the engine itself, which loads RocksDB's shared library.

[systems.rocksdb]
version = "7.8"                              # of the installed ones; default: the first that is found
settings = { write_buffer_size = 67108864 }  # RocksDB's own options
library = "/opt/rocksdb/librocksdb.so"       # one of your own, instead of `version`
"""

from __future__ import annotations

import platform
import shutil
import zipfile
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from bakeoff.errors import BakeoffError, PlanError
from bakeoff.model.durability import NOTHING, Survival
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation, Size, Sources, os_release
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.systems.base import Configuration, System
from bakeoff.systems.embedded import EmbeddedStore, StoreOptions
from bakeoff.systems.options import Settings, read_own

_MACHINE = platform.machine()
#: The package of a suite has the version of its interface in its name.
_SERIES = {"bookworm": "7.8", "trixie": "9.10"}
_OWN_SERIES = _SERIES.get(os_release().get("VERSION_CODENAME", ""), "7.8")
_PACKAGES = PackageSet(
    (f"librocksdb{_OWN_SERIES}",),
    f"usr/lib/{_MACHINE}-linux-gnu/librocksdb.so.{_OWN_SERIES}",
    series=_SERIES,
)
_IN_JAR = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}
_UNPACKED = "librocksdb.so"


def unpack(jar: Path, root: Path) -> None:
    """The library for Java has the C API, too, and all that it needs but the C and C++ libraries."""
    name = _IN_JAR.get(_MACHINE, f"librocksdbjni-linux-{_MACHINE}.so")
    with zipfile.ZipFile(jar) as files, files.open(name) as source, (root / _UNPACKED).open("wb") as target:
        shutil.copyfileobj(source, target)


_JAR = Artifact(
    "org.rocksdb",
    "rocksdbjni",
    "10.10.1.1",
    "3948e3537f413c697200ff2c316d8c614454685ad347625057479997d8757585",
    Size(28, 15),
    "linux64",
)
SOURCES = Sources(
    "rocksdb",
    "RocksDB library",
    (
        Debian("rocksdb", _PACKAGES, size=Size(5, 16)),
        Maven("rocksdb", {"10.10.1.1": _JAR}, unpack, _UNPACKED),
    ),
)

#: Of hundreds of options those that decide comparisons.
DECISIVE = """
    allow_mmap_reads block_size bottommost_compression bytes_per_sync compaction_style compression enable_blob_files
    enable_pipelined_write filter_policy level0_file_num_compaction_trigger level_compaction_dynamic_level_bytes
    max_background_jobs max_bytes_for_level_base max_open_files max_write_buffer_number target_file_size_base
    unordered_write use_direct_io_for_flush_and_compaction use_direct_reads wal_bytes_per_sync write_buffer_size
"""
_SINCE_FLUSHED = "everything since the last memtable was flushed"


class RocksdbOptions(StoreOptions):
    version: str | None = None
    source: str | None = None
    library: str | None = None
    settings: Settings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_library(self) -> RocksdbOptions:
        if self.library is not None and (self.version or self.source) is not None:
            raise ValueError("`library` excludes `version` and `source`")
        for name, value in self.settings.items():
            if not name.isidentifier() or ("{" not in value and ";" in value):
                raise ValueError(f"{name!r} = {value!r} is not a valid setting")
        return self


class Rocksdb(EmbeddedStore):
    """Sources: RocksDB wiki, "WAL Performance" (WriteOptions.sync; "non-sync mode": a crash of the machine loses what
    the kernel had not written, one of the process nothing) and "Basic Operations" (disableWAL)."""

    kind: ClassVar[str] = "rocksdb"
    driver: ClassVar[str] = "rocksdb"
    product: ClassVar[str] = "RocksDB"
    summary: ClassVar[str] = "RocksDB, an embedded LSM tree: records (YCSB), no SQL; loads RocksDB's library"
    setting_example: ClassVar[str] = "write_buffer_size = 67108864"
    durability: ClassVar[dict[str, Survival]] = {
        "full": Survival(NOTHING, NOTHING),
        "relaxed": Survival(NOTHING, "commits that the kernel had not written"),
        "none": Survival(_SINCE_FLUSHED, _SINCE_FLUSHED),
    }
    default_durability: ClassVar[str] = "relaxed"
    isolation: ClassVar[str] = "read-committed"

    def __init__(self, asked: Configuration, options: RocksdbOptions) -> None:
        super().__init__(asked, options)
        self._own = options
        self._library = (asked.base_dir / options.library).absolute() if options.library else None
        self._found: Installation | None = None

    @classmethod
    def options_model(cls) -> type[RocksdbOptions]:
        return RocksdbOptions

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        """Unlike other embedded systems it has versions."""
        versions = {key: options[key] for key in ("version",) if key in options}
        rest = {key: value for key, value in options.items() if key not in versions}
        return {**super().in_one_spelling(rest, where), **versions}

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        system = super().configure(asked)
        assert isinstance(system, Rocksdb)
        SOURCES.refuse_unknown(system._own.source, f"{asked.where}.source")
        return system

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_own(RocksdbOptions, options, cls.kind)
        if read.library is not None:
            return None
        SOURCES.refuse_unknown(read.source, f"systems.{cls.kind}.source")
        try:
            SOURCES.find(read.version, read.source)
        except BakeoffError as error:
            return f"{error.what} ({error.hint})" if error.hint else error.what
        return None

    def start(self) -> None:
        if self._library is None and self._found is None:
            self._found = SOURCES.find(self._own.version, self._own.source)
        if self._library is not None and not self._library.is_file():
            raise PlanError(f"there is no library {self._library}", where=f"{self.where}.library")
        super().start()

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        driver, environment = super().engine_driver()
        found = self._found
        library = self._library if found is None else found.program
        own = {"library": str(library), "settings": dict(self._own.settings)}
        return {**driver, **own}, {**environment, **(found.environment if found else {})}

    def version(self) -> str:
        return self._found.version if self._found else ""

    def settings(self) -> dict[str, str]:
        """As RocksDB itself writes them into the store, once it was opened; before, as the plan has them."""
        shown = {*DECISIVE.split(), *self._own.settings}
        told = {name: value for name, value in self._written().items() if name in shown}
        library = {"library": self._found.described if self._found else str(self._library)}
        return {**self._own.settings, **told, **library}

    def declared(self) -> dict[str, str]:
        return dict(self._own.settings)

    def _written(self) -> dict[str, str]:
        files = sorted(self.store.glob("OPTIONS-*"))
        lines = files[-1].read_text(errors="replace").splitlines() if files else []
        pairs = (line.strip().partition("=") for line in lines if "=" in line and not line.startswith("["))
        return {name: value for name, _, value in pairs}
