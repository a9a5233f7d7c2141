"""Where the servers of a Galera cluster come from: MariaDB, the provider library, and what hands a node its data."""

from __future__ import annotations

from pathlib import Path

from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Installation, Size, Sources
from bakeoff.provision.on_path import OnPath
from bakeoff.systems.mysql.mariadb_installations import SERIES, version_of

#: mariadb-backup and socat hand a node its data, by scripts that look at processes and ports.
_PACKAGES = PackageSet(
    ("mariadb-server-core", "mariadb-client-core", "galera-4", "mariadb-backup", "socat", "lsof", "libproc2-0", "mawk"),
    "usr/sbin/mariadbd",
    alone=("mariadb-server", "procps"),  # the scripts, and ps; their packages depend on much that neither needs
    series=SERIES,
    environment={"PATH": "{root}/usr/sbin:{root}/usr/bin:{root}/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
)


def provider_of(installation: Installation) -> Path:
    return installation.base / "lib" / "galera" / "libgalera_smm.so"


class _OnPath(OnPath):
    """MariaDB servers that this machine has by itself, with all that a cluster needs beside them."""

    def here(self) -> list[Installation]:
        return [one for one in super().here() if provider_of(one).exists() and one.tool("wsrep_sst_mariabackup")]


SOURCES = Sources(
    "galera",
    "MariaDB server with Galera",
    (
        _OnPath("mariadbd", version_of, ("/usr/local/mysql/bin", "/opt/mariadb/bin"), flags="--no-defaults"),
        Debian("galera", _PACKAGES, size=Size(29, 164)),
        Debian("galera", _PACKAGES, suite="trixie", size=Size(33, 195)),
    ),
)
