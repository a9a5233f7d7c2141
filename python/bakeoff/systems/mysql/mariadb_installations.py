"""Where MariaDB servers come from."""

from __future__ import annotations

import re

from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Named, Sources
from bakeoff.provision.on_path import OnPath

_PACKAGES = PackageSet(("mariadb-server-core", "mariadb-client-core"), "usr/sbin/mariadbd")


def version_of(said: str) -> str | None:
    """From what `--version` prints; None: it is not MariaDB."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)-MariaDB", said)
    return found[1] if found else None


SOURCES = Sources(
    "mariadb",
    "MariaDB server",
    (
        OnPath("mariadbd", version_of, ("/usr/local/mysql/bin", "/opt/mariadb/bin"), flags="--no-defaults"),
        Debian("mariadb", _PACKAGES),
        Debian("mariadb", _PACKAGES, suite="trixie"),
        Debian("mariadb", _PACKAGES, suite="sid"),
    ),
    Named(("mariadbd", "mysqld"), version_of, ("--no-defaults",)),
)
