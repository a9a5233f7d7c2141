"""Where MySQL servers come from: Debian sid has the newest, Maven Central one of 2011."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from pathlib import Path

from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Named, Size, Sources
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.provision.on_path import OnPath

_PACKAGES = PackageSet(("mysql-server-core", "mysql-client-core"), "usr/sbin/mysqld")
_JAR = Artifact(
    "mysql",
    "mysql-connector-mxj-db-files",
    "5.0.12",
    "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
    Size(134, 51),
)
#: Its ready-made system tables, which stand in for an initialisation.
TABLES = "data"


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not MySQL's or Percona's."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)", said)
    return found[1] if found and "MariaDB" not in said else None


def unpack(jar: Path, root: Path) -> None:
    """The server as bin/mysqld, with share/ and the system tables beside it."""
    with zipfile.ZipFile(jar) as files:
        program = root / "bin" / "mysqld"
        program.parent.mkdir()
        with files.open("5-5-9/Linux-x86_64/mysqld") as source, program.open("wb") as target:
            shutil.copyfileobj(source, target)
        program.chmod(0o755)
        for name, folder in (("share_dir", "."), ("data_dir", TABLES)):
            with zipfile.ZipFile(io.BytesIO(files.read(f"5-5-9/{name}.jar"))) as inner:
                inner.extractall(root / folder, [one for one in inner.namelist() if not one.startswith("META-INF")])


SOURCES = Sources(
    "mysql",
    "MySQL server",
    (
        OnPath("mysqld", version_of, ("/usr/local/mysql/bin",), flags="--no-defaults"),
        Debian("mysql", _PACKAGES, suite="sid", size=Size(60, 402)),
        Maven("mysql", {"5.5.9": _JAR}, unpack, "bin/mysqld"),
    ),
    Named(("mysqld",), version_of, ("--no-defaults",)),
)
