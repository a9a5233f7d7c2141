"""DuckDB: an analytical SQL database in one file, in the engine itself, which loads DuckDB's shared library.

[systems.duckdb]
settings = { threads = 1, memory_limit = "1GB" }  # DuckDB's own configuration
library = "/opt/duckdb/libduckdb.so"              # one of your own, instead of the one that is installed
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any, ClassVar

from pydantic import model_validator

from bakeoff.model.durability import NOTHING, Survival
from bakeoff.provision.installation import Sources
from bakeoff.provision.npm import NpmLibrary
from bakeoff.systems.embedded_library import LibraryOptions, LibraryStore

_ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
#: DuckDB's own package for Node.js, whose library has the C API.
_PACKAGE = f"@duckdb/node-bindings-linux-{_ARCH}"
SOURCES = Sources(
    "duckdb",
    "DuckDB library",
    (
        NpmLibrary(
            "duckdb",
            Path(__file__).parent / f"npm/linux-{_ARCH}",
            "libduckdb.so",
            {"1.5.6": (24, 68)},
            package=_PACKAGE,
        ),
    ),
)
#: Behind checksum, "DUCK", version of the format, and flags. Source: DuckDB's source, MainHeader.
_VERSION_AT, _VERSION_BYTES = 52, 32
#: Those by which it would read, write or fetch outside of its folder, in lower case.
_OURS = {
    "access_mode", "allowed_directories", "allowed_paths", "enable_external_access", "extension_directory",
    "home_directory", "log_query_path", "profile_output", "profiling_output", "secret_directory", "temp_directory",
}  # fmt: skip


class DuckdbOptions(LibraryOptions):
    @model_validator(mode="after")
    def _own_settings(self) -> DuckdbOptions:
        for name in self.settings:
            if name.lower() in _OURS:
                raise ValueError(f"{name!r} is set by bakeoff")
        return self


class Duckdb(LibraryStore):
    """Sources: DuckDB documentation, "Transaction Management" and "Files Created by DuckDB" (the write-ahead log); in
    its source, WriteAheadLog::Flush (a commit syncs the log)."""

    kind: ClassVar[str] = "duckdb"
    driver: ClassVar[str] = "duckdb"
    product: ClassVar[str] = "DuckDB"
    summary: ClassVar[str] = "DuckDB, an embedded SQL database of columns; loads DuckDB's library"
    setting_example: ClassVar[str] = 'memory_limit = "1GB"'
    durability: ClassVar[dict[str, Survival]] = {"full": Survival(NOTHING, NOTHING)}
    isolation: ClassVar[str] = "snapshot"
    installed_from = SOURCES

    @classmethod
    def options_model(cls) -> type[DuckdbOptions]:
        return DuckdbOptions

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        """It has one level of durability, and no option for it."""
        driver, environment = super().engine_driver()
        return {name: value for name, value in driver.items() if name != "durability"}, environment

    def version(self) -> str:
        """Of a library of one's own: as DuckDB writes it into the head of its file, which a load makes."""
        file = self.store / "db"
        if self._found is not None or not file.is_file():
            return super().version()
        with file.open("rb") as head:
            head.seek(_VERSION_AT)
            return head.read(_VERSION_BYTES).partition(b"\0")[0].decode(errors="replace").removeprefix("v")
