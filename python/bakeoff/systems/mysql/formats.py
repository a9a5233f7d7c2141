"""Formats of tables on servers of the MySQL family (`bakeoff.systems.table_format` says what each is).

MariaDB compresses pages with one algorithm for the whole server, MySQL with one for each table. What a server took and
did not do shows in information_schema; how much space it saved, only in the blocks that its files have.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import ClassVar

from bakeoff.errors import PlanError
from bakeoff.model.levels import TABLE_FORMAT
from bakeoff.provision.installation import Installation, version_key
from bakeoff.systems.ledger import TABLE
from bakeoff.systems.mysql.node import read_product
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.system import TableFormats
from bakeoff.systems.table_format import TableFormat

_PLUGINS = ("lib/mysql/plugin", "lib/plugin")
_NOT_PLAIN = re.compile(
    r"page_compressed\W*(1|on|yes)|compression\W*(zlib|lz4)|row format compressed|rocksdb", re.IGNORECASE
)


class MySqlFormats(TableFormats):
    product: ClassVar[str] = "MySQL"
    #: With which pages can be compressed.
    algorithms: ClassVar[Collection[str]] = ("zlib", "lz4")
    #: Since which version.
    pages_since: ClassVar[str] = "5.7"

    def __init__(self, wanted: TableFormat, schema: str, where: str) -> None:
        self.wanted = wanted
        self._schema = schema
        self._where = where
        self.options, shown = self._made()
        self._shown = re.compile(shown, re.IGNORECASE)

    def _made(self) -> tuple[str, str]:
        """Options of CREATE TABLE, and what information_schema shows of a table that has them."""
        kind, detail = self.wanted.name, self.wanted.detail
        if kind == "page-compressed":
            return self.page_options(detail)
        if kind == "row-compressed":
            size = f"KEY_BLOCK_SIZE={detail}"
            return f"ROW_FORMAT=COMPRESSED {size}", rf"row format compressed.*{size}\b"
        if kind == "rocksdb":
            return "ENGINE=ROCKSDB", r"^rocksdb\b"
        return "", ""

    def page_options(self, algorithm: str) -> tuple[str, str]:
        if algorithm not in self.algorithms:
            hint = f"it has {' and '.join(self.algorithms)}"
            raise self.refused(f"{self.product} compresses no pages with {algorithm}", hint)
        return f"COMPRESSION='{algorithm}'", rf"COMPRESSION\W*{algorithm}"

    def settings(self, said: Mapping[str, str]) -> dict[str, str]:
        return {}

    def refuse_installation(self, installation: Installation) -> None:
        """Percona's has RocksDB, and is none that is started."""
        if self.wanted.name == "rocksdb":
            raise self.refused("MySQL has no RocksDB", "MariaDB has, and Percona Server by `address`")

    def refuse_server(self, control: Control) -> None:
        self.refuse_version(read_product(control).version)
        if self.wanted.name == "rocksdb" and not control.rows(
            "SELECT 1 FROM information_schema.ENGINES WHERE ENGINE = 'ROCKSDB' AND SUPPORT IN ('YES', 'DEFAULT')"
        ):
            raise self.refused("the server has no storage engine RocksDB", "load the plugin ha_rocksdb")

    def refuse_version(self, version: str) -> None:
        if self.wanted.name == "page-compressed" and version_key(version) < version_key(self.pages_since):
            what = f"{self.product} {version} does not free the space that compressed pages save"
            raise self.refused(what, f"{self.pages_since} and later do; row-compressed works with both")

    def refuse_tables(self, control: Control, tables: Collection[str]) -> None:
        for name, words in self._read(control).items():
            if name.lower() in {table.lower() for table in tables} and not self._is_done(words):
                what = f"the table `{name}` should be {self.wanted}, and the server created it as {words}"
                raise self.refused(what, "its log or SHOW WARNINGS after CREATE TABLE may say why")

    def _is_done(self, words: str) -> bool:
        return bool(self._shown.search(words)) if self.options else not _NOT_PLAIN.search(words)

    def words(self, control: Control) -> str:
        return "; ".join(sorted(set(self._read(control).values())))

    def _read(self, control: Control) -> dict[str, str]:
        """By table: "InnoDB, row format Dynamic, PAGE_COMPRESSED=1"."""
        rows = control.rows(
            "SELECT TABLE_NAME, ENGINE, ROW_FORMAT, CREATE_OPTIONS FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME <> %s",
            self._schema,
            TABLE,
        )
        return {str(name): _words(*(str(part or "") for part in said)) for name, *said in rows}

    def refused(self, what: str, hint: str) -> PlanError:
        return PlanError(what, where=f"{self._where}.{TABLE_FORMAT}", hint=hint)


class MariaDbFormats(MySqlFormats):
    product = "MariaDB"
    algorithms = ("zlib", "lz4", "lzo", "lzma", "bzip2", "snappy")
    pages_since = "10.2"  # 10.1 turns off what gives the space back as soon as it uses it (10.1.23 on ext4, 2026-11)

    def page_options(self, algorithm: str) -> tuple[str, str]:
        return "PAGE_COMPRESSED=1", r"PAGE_COMPRESSED=1"

    @property
    def plugin(self) -> str:
        """That the server must load; "" if none."""
        if self.wanted.name == "rocksdb":
            return "ha_rocksdb"
        pages = self.wanted.name == "page-compressed"
        return f"provider_{self.wanted.detail}" if pages and self.wanted.detail != "zlib" else ""

    def settings(self, said: Mapping[str, str]) -> dict[str, str]:
        """A commit in RocksDB survives what one in InnoDB would."""
        found = {"plugin_load_add": self.plugin} if self.plugin else {}
        if self.wanted.name == "page-compressed":
            found["innodb_compression_algorithm"] = self.wanted.detail
        if self.wanted.name == "rocksdb":
            found["rocksdb_flush_log_at_trx_commit"] = said.get("innodb_flush_log_at_trx_commit", "1")
        return found

    def refuse_installation(self, installation: Installation) -> None:
        places = [installation.base / place for place in _PLUGINS]
        if self.plugin and installation.moved and not any((place / f"{self.plugin}.so").exists() for place in places):
            what = f"the MariaDB {installation.version} here has no {self.plugin}, which {self.wanted} needs"
            raise self.refused(f"{what} ({installation.described})", _how_to_get(installation))

    def refuse_server(self, control: Control) -> None:
        super().refuse_server(control)
        if self.wanted.name == "page-compressed":
            self._refuse_pages(control)

    def _refuse_pages(self, control: Control) -> None:
        algorithm = self.wanted.detail
        status = {str(name): str(value) for name, value in control.rows("SHOW GLOBAL STATUS LIKE 'Innodb_have_%'")}
        if status.get(f"Innodb_have_{algorithm}", "ON") != "ON":
            raise self.refused(f"the server cannot compress with {algorithm}", f"load the plugin {self.plugin}")
        # 10.2 says OFF of a file system where it does give space back.
        if status.get("Innodb_have_punch_hole") == "OFF" and version_key(read_product(control).version) >= (10, 3):
            what = "the file system of the data does not support the holes that page compression needs"
            raise self.refused(what, "ext4, XFS and Btrfs do; `path` puts the data on another")
        if (used := str(control.value("SELECT @@GLOBAL.innodb_compression_algorithm"))) != algorithm:
            what = f"the server compresses pages with {used}, not {algorithm}"
            raise self.refused(
                what, "bakeoff does not change the settings of an existing server: write the algorithm that it uses"
            )


def _how_to_get(installation: Installation) -> str:
    """Debian's packages come with every plugin since bakeoff asks for them; Maven's builds have none."""
    if installation.source == "maven":
        with_plugins = "Debian's builds of 10.11 and 11.8 have it, those from Maven do not"
        return f"{with_plugins}: name such a `version`, or leave this combination out with [[cells]]"
    again = f"mariadb@{installation.version}"
    return f"reinstall it: `bakeoff systems remove {again}`, then `bakeoff systems install {again}`"


def _words(engine: str, row_format: str, said: str) -> str:
    """Servers write options as they were written, or in capitals, or not."""
    options = re.sub(r"[`'\"]", "", said).upper()
    return ", ".join([engine, f"row format {row_format}", *([options] if options else [])])
