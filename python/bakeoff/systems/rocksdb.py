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
from typing import ClassVar

from pydantic import model_validator

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Size, Sources, os_release
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.systems.embedded_library import LibraryOptions, LibraryStore

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


class RocksdbOptions(LibraryOptions):
    @model_validator(mode="after")
    def _no_further_setting(self) -> RocksdbOptions:
        for name, value in self.settings.items():
            if not name.isidentifier() or ("{" not in value and ";" in value):
                raise ValueError(f"{name!r} = {value!r} is not a valid setting")
        return self


class Rocksdb(LibraryStore):
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

    installed_from = SOURCES

    @classmethod
    def options_model(cls) -> type[RocksdbOptions]:
        return RocksdbOptions

    def settings(self) -> dict[str, str]:
        """As RocksDB itself writes them into the store, once it was opened; before, as the plan has them."""
        shown = {*DECISIVE.split(), *self.declared()}
        told = {name: value for name, value in self._written().items() if name in shown}
        return {**super().settings(), **told}

    def _written(self) -> dict[str, str]:
        files = sorted(self.store.glob("OPTIONS-*"))
        lines = files[-1].read_text(errors="replace").splitlines() if files else []
        pairs = (line.strip().partition("=") for line in lines if "=" in line and not line.startswith("["))
        return {name: value for name, _, value in pairs}
