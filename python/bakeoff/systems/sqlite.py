"""SQLite: a file, opened by the engine itself. Needs nothing to be installed.

    [systems.sqlite]
    settings = { journal_mode = "WAL", synchronous = "FULL", cache_size = -65536 }
    path = "/mnt/fast"          # the folder for the file; default: the run's own

    [systems.mine]
    kind = "sqlite"
    file = "orders.sqlite"      # one that stays: existing data, or what `bakeoff load` makes

`settings` are pragmas by their own names; the engine sets them on every connection and reads them back. The library
under test is the engine's own; Python's is used only to checkpoint the file between runs.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from bakeoff.errors import EngineError, PlanError, ServerError
from bakeoff.provision.files import allocated_bytes, copy_tree, remove_tree
from bakeoff.provision.instance import InstanceFolder
from bakeoff.suggestions import meant
from bakeoff.systems.base import Capabilities, Configuration, Facts, Node, SizeOnDisk, System, TableSize
from bakeoff.systems.durability import of_sqlite
from bakeoff.systems.ledger import TABLE, Entry, Ledger
from bakeoff.systems.options import Options, Settings, drivers, option_names, read_options

STORAGE = SizeOnDisk(
    usual=TableSize(ratio=1.15, row_bytes=15),
    measured={
        "ycsb": TableSize(ratio=1.34, row_bytes=31),  # three rows of 1 kB in a page of 4 KiB
        "sysbench": TableSize(ratio=1.10),
        "tpcc": TableSize(ratio=1.12),
        "linkbench": TableSize(ratio=1.0, row_bytes=50),  # each link twice
        "pgbench": TableSize(ratio=0.46),  # small numbers take a byte
    },
)


_LEDGER_TIMEOUT_S = 60.0
_COLUMNS = "(name TEXT PRIMARY KEY, dataset TEXT, bundle TEXT, definition TEXT, at INTEGER) WITHOUT ROWID"


class SqliteLedger(Ledger):
    """A table's mark is its definition. Once a table is loaded that ends in a comment with a random number, which a
    table that somebody else makes with the same words lacks. While it is being loaded, its name is enough."""

    place = "file"

    def __init__(self, file: Path, where: str) -> None:
        super().__init__(where)
        self._file = file

    def claim(self) -> None:
        """SQLite itself lets one writer at a time into a file. ServerError where there can be no file."""
        if not self._file.parent.is_dir():
            raise ServerError(f"there is no folder {self._file.parent}", where=self._where, hint="create it first")

    def release(self) -> None: ...

    def make_place(self) -> None: ...

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        """The file has no sizes of single tables, so the first table gets the size of all."""
        return {tables[0]: self._file.stat().st_size} if tables and self._file.exists() else {}

    def _marks(self) -> dict[str, str | None]:
        if not self._file.exists():
            return {}
        of_table = "CASE type WHEN 'table' THEN sql END"
        return dict(self._rows(f"SELECT name, {of_table} FROM sqlite_master WHERE type IN ('table', 'view')"))

    def _entries(self, names: Collection[str]) -> dict[str, Entry]:
        rows = self._rows(f"SELECT name, dataset, definition FROM {TABLE}") if TABLE in names else []
        return {name: Entry(dataset, definition is not None, definition) for name, dataset, definition in rows}

    def _is_younger(self, mark: object, before: object) -> bool:
        return True

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        self._rows(f"CREATE TABLE IF NOT EXISTS {TABLE} {_COLUMNS}")
        for name in names:
            insert = f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, NULL, ?)"
            self._rows(insert, name, dataset, bundle, int(time.time()))

    def _enter_loaded(self, names: Sequence[str]) -> None:
        """No ALTER TABLE writes a comment; SQLite's own way to edit a definition does, and none is read otherwise."""
        definition = "SELECT sql FROM sqlite_master WHERE type = 'table' AND sqlite_master.name = bakeoff_tables.name"
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("PRAGMA writable_schema = ON")
            for name in names:
                mark = f" /* bakeoff {secrets.randbits(60)} */"
                connection.execute(
                    "UPDATE sqlite_master SET sql = sql || ? WHERE type = 'table' AND name = ?", (mark, name)
                )
                connection.execute(f"UPDATE {TABLE} SET definition = ({definition}) WHERE name = ?", (name,))
            connection.execute("PRAGMA writable_schema = RESET")
            connection.execute("COMMIT")

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._rows(f"DROP TABLE {_quoted(name)}")

    def _remove_entries(self, names: Sequence[str]) -> None:
        """A file that has nothing left in it goes, too."""
        if TABLE not in self._marks():
            return
        for name in names:
            self._rows(f"DELETE FROM {TABLE} WHERE name = ?", name)
        if not self._rows(f"SELECT 1 FROM {TABLE}"):
            self._rows(f"DROP TABLE {TABLE}")
            if not self._rows("SELECT 1 FROM sqlite_master"):
                for suffix in ("", *_SIDE_FILES):
                    remove_tree(_side(self._file, suffix))

    def drop_words(self, tables: Sequence[str]) -> str:
        return " ".join(f"DROP TABLE {_quoted(name)};" for name in tables)

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file, timeout=_LEDGER_TIMEOUT_S, isolation_level=None)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise ServerError(f"cannot use {self._file}: {error}", where=self._where) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


DURABILITY: dict[str, dict[str, str]] = {
    "full": {"journal_mode": "WAL", "synchronous": "FULL"},
    "relaxed": {"journal_mode": "WAL", "synchronous": "NORMAL"},
    "none": {"synchronous": "OFF"},
}

#: Pragmas that matter only while a connection is open. (A file remembers its journal_mode.)
RUN_TIME = frozenset(
    {
        "automatic_index", "busy_timeout", "cache_size", "cache_spill", "journal_size_limit", "locking_mode",
        "mmap_size", "read_uncommitted", "synchronous", "temp_store", "threads", "wal_autocheckpoint",
    }
)  # fmt: skip

#: Files that belong to a database besides the file itself.
_SIDE_FILES = ("-wal", "-shm", "-journal")


class SqliteOptions(Options):
    settings: Settings = Field(default_factory=dict)
    path: str | None = None  # a folder
    file: str | None = None  # one that stays

    @model_validator(mode="after")
    def _one_place(self) -> SqliteOptions:
        if self.path is not None and self.file is not None:
            raise ValueError("`path` and `file` exclude each other: a kept file has its own folder")
        return self


class Sqlite(System):
    kind: ClassVar[str] = "sqlite"
    driver: ClassVar[str] = "sqlite"
    summary: ClassVar[str] = "SQLite, embedded in the engine; nothing to install"
    no_direct_access = "what lies below its SQL finds rows by number alone, and records have keys of text"
    storage = STORAGE
    setting_example: ClassVar[str] = "cache_size = -65536"

    def __init__(self, asked: Configuration, options: SqliteOptions, pragmas: dict[str, str]) -> None:
        self.name = asked.name
        self.managed = options.file is None
        self._existing = (asked.base_dir / options.file).absolute() if options.file else None
        self._where = asked.where
        self._options = options
        self._pragmas = pragmas
        self._workdir = asked.workdir
        self._place = asked.base_dir / options.path if options.path else None
        self._folder: Path | None = None

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(managed=True, existing=False, embedded=True, restore=True, durability=tuple(DURABILITY))

    @classmethod
    def options_model(cls) -> type[Options]:
        return SqliteOptions

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        where, isolation = asked.where, asked.isolation
        read = read_options(SqliteOptions, asked.options, where, driver=cls.driver, isolation=isolation)
        return cls(asked, read, _pragmas(read.settings, asked.durability, where))

    @classmethod
    def place(cls, options: dict[str, Any]) -> tuple[str, ...] | None:
        return (str(options["file"]),) if "file" in options else None

    @classmethod
    def shaping_options(cls, options: dict[str, Any], durability: str | None) -> dict[str, Any]:
        said = options.get("settings", {})
        pragmas = {**DURABILITY.get(durability or "", {}), **{name.lower(): value for name, value in said.items()}}
        own = {name: value for name, value in options.items() if name not in option_names(cls.driver)}
        return {**own, "settings": {name: pragmas[name] for name in pragmas.keys() - RUN_TIME}}

    def start(self) -> None:
        """Makes the folder; the file appears with the first connection of the engine."""
        if (ledger := self.ledger()) is not None:
            ledger.claim()
        if self.alive():
            return
        instance = InstanceFolder(self._workdir, for_servers=False)
        self._folder = instance.path if self._place is None else instance.outside(self._place)

    def stop(self) -> None:
        """Nothing runs; the file goes with the instance's folder."""

    def alive(self) -> bool:
        return self._folder is not None or self._existing is not None

    def ledger(self) -> SqliteLedger | None:
        return None if self._existing is None else SqliteLedger(self._existing, self._where)

    @property
    def file(self) -> Path:
        if self._existing is not None:
            return self._existing
        if self._folder is None:
            raise ServerError("the system has not been started", where=self._where)
        return self._folder / "data.sqlite"

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        own = {"kind": self.driver, "path": str(self.file), "pragmas": dict(self._pragmas)}
        return {**self._options.driver, **own}, {}

    def nodes(self) -> list[Node]:
        return [SqliteFile(self.file, self._pragmas, self._where)]

    def declared(self) -> dict[str, str]:
        return dict(self._pragmas)

    def drain_debt(self, timeout_s: float) -> bool:
        return self._checkpoint(timeout_s)

    def size_on_disk_bytes(self) -> int | None:
        return sum(allocated_bytes(path) for path in self._files())

    def data_paths(self) -> list[Path]:
        """The connections' own caches go with the engine."""
        return [self.file, *(_side(self.file, suffix) for suffix in _SIDE_FILES)]

    def snapshot(self, path: Path) -> None:
        if not self.file.exists():
            raise ServerError("there is no data to snapshot: nothing was loaded", where=self._where)
        if not self._checkpoint(60.0):
            raise ServerError(f"could not checkpoint {self.file}: another process has it open", where=self._where)
        copy_tree(self.file, path, where=self._where)

    def restore(self, path: Path) -> None:
        if not path.is_file():
            raise ServerError(f"{path} has no snapshot", where=self._where, hint="load the data again")
        self.start()
        for suffix in _SIDE_FILES:
            remove_tree(_side(self.file, suffix))
        copy_tree(path, self.file, where=self._where)

    def _checkpoint(self, timeout_s: float) -> bool:
        """Moves the log into the file and empties it. False if a reader or writer was in the way for too long."""
        if not self.file.exists():
            return True
        try:
            with closing(sqlite3.connect(self.file, timeout=timeout_s, isolation_level=None)) as connection:
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
        except sqlite3.Error as error:
            raise ServerError(f"could not checkpoint {self.file}: {error}", where=self._where) from error

    def _files(self) -> list[Path]:
        return [path for path in self.data_paths() if path.exists()]


class SqliteFile(Node):
    def __init__(self, file: Path, pragmas: dict[str, str], where: str) -> None:
        super().__init__("file", "embedded", "")
        self._file = file
        self._pragmas = pragmas
        self._where = where

    def facts(self) -> Facts:
        """The pragmas as set (the engine refuses to run if one did not take), and the file's own properties."""
        settings = {**self._file_settings(), **self._pragmas}
        return Facts(
            product="SQLite",
            version=_engine_sqlite_version(),
            settings=settings,
            portable={
                **of_sqlite(settings).facts(),
                "isolation": "serializable",
                "memory_bytes": str(cache_bytes(settings)),
                "tls": "off",
            },
        )

    def gauges(self) -> dict[str, float]:
        sizes = {"file_bytes": self._file, "wal_bytes": _side(self._file, "-wal")}
        return {name: float(path.stat().st_size) for name, path in sizes.items() if path.exists()}

    def debt(self) -> dict[str, float]:
        """What is in the log and not yet in the file."""
        wal = _side(self._file, "-wal")
        return {"wal_bytes": float(wal.stat().st_size) if wal.exists() else 0.0}

    def _file_settings(self) -> dict[str, str]:
        """What the file itself remembers, where there is one."""
        if not self._file.exists():
            return {}
        try:
            with closing(sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True, timeout=5.0)) as connection:
                names = ("journal_mode", "page_size", "auto_vacuum", "encoding")
                return {name: str(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names}
        except sqlite3.Error as error:
            raise ServerError(f"cannot read {self._file}: {error}", where=self._where) from error


def _side(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _pragmas(settings: dict[str, str], durability: str | None, where: str) -> dict[str, str]:
    pragmas = {name.lower(): value for name, value in settings.items()}
    known = _known_pragmas() if pragmas else []
    for name, value in pragmas.items():
        if not re.fullmatch(r"[a-z_]+", name) or not re.fullmatch(r"[\w.+-]+", value):
            raise PlanError(f"{name!r} = {value!r} is not a valid pragma", where=f"{where}.settings")
        if known and name not in known:
            what = f"SQLite has no pragma `{name}`"
            raise PlanError(what, where=f"{where}.settings", hint=meant(name, known))
    if durability is None:
        return pragmas
    if durability not in DURABILITY:
        raise PlanError(f"unknown durability {durability!r}", where=where, hint=f"known: {', '.join(DURABILITY)}")
    implied = DURABILITY[durability]
    if "synchronous" in pragmas:
        raise PlanError(
            f"the plan sets synchronous and also durability = {durability!r}, which implies it",
            where=f"{where}.settings",
            hint="leave out one of the two",
        )
    return {**implied, **pragmas}


def _known_pragmas() -> list[str]:
    """Those of Python's own SQLite; empty: it does not list them."""
    with closing(sqlite3.connect(":memory:")) as base:
        return [name for (name,) in base.execute("PRAGMA pragma_list")]


def cache_bytes(settings: dict[str, str]) -> int:
    """A connection's page cache: `cache_size` is in KiB when negative (the default is -2000), in pages otherwise."""
    size = int(settings.get("cache_size", "-2000"))
    return -size * 1024 if size < 0 else size * int(settings.get("page_size", "4096"))


def _engine_sqlite_version() -> str:
    """The version of the library inside the engine, if the engine says; never Python's, which is another."""
    try:
        library = drivers()[Sqlite.driver].library
    except (EngineError, KeyError):
        return ""
    return library.removeprefix("SQLite").strip()
