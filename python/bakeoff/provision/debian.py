"""Programs from Debian packages, unpacked into the cache without root and without touching the system.

    installed = install("mariadb")            # or install("mariadb", "10.11"): fetch, unpack, record
    subprocess.run([installed.root / "usr/sbin/mariadbd", ...], env=installed.environment())

The packages' closure is unpacked except for the C library: loader and C library must be of one build, and a machine
that has apt has both. An installation appears by one rename, so it is either whole or not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.apt import Candidate, PrivateApt, upstream_version
from bakeoff.provision.cache import cache_dir, cache_lock, make_passable

FORMAT = 1
Progress = Callable[[str], None]


@dataclass(frozen=True)
class PackageSet:
    """Packages that make up something one can run; the first gives the set its version."""

    summary: str
    packages: tuple[str, ...]
    #: Its main program inside the unpacked root: an installation without it is broken.
    program: str


PACKAGE_SETS: dict[str, PackageSet] = {
    "mariadb": PackageSet("MariaDB server", ("mariadb-server-core", "mariadb-client-core"), "usr/sbin/mariadbd"),
    "sysbench": PackageSet("sysbench, to compare with", ("sysbench",), "usr/bin/sysbench"),
    "chromium-headless-shell": PackageSet(
        "headless browser, for tests of the report",
        ("chromium-headless-shell", "fonts-dejavu-core"),
        "usr/lib/chromium/chromium-headless-shell",
    ),
}

#: Not unpacked: see the module's text.
_SYSTEMS_OWN = {"libc6", "libc-bin"}


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    sha256: str


@dataclass(frozen=True)
class Installed:
    """One unpacked package set."""

    name: str
    version: str  # upstream's: 10.11.19
    package_version: str  # Debian's: 1:10.11.19-0+deb12u1
    date: str  # UTC, ISO 8601
    folder: Path
    packages: tuple[Package, ...]
    size_bytes: int

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def program(self) -> Path:
        return self.root / PACKAGE_SETS[self.name].program

    def library_folders(self) -> list[Path]:
        """Folders for LD_LIBRARY_PATH. Some packages of merged-/usr releases still ship /lib; libraries that a package
        keeps to itself lie in a folder below, which its own libraries no longer find outside /usr (PulseAudio's)."""
        multiarch = [folder for top in ("usr/lib", "lib") for folder in sorted((self.root / top).glob("*-linux-gnu*"))]
        private = [folder / "pulseaudio" for folder in multiarch]
        return [folder for folder in (*multiarch, *private) if folder.is_dir()]

    def environment(self) -> dict[str, str]:
        """Variables that its programs need, to be added to the caller's."""
        variables = {"LD_LIBRARY_PATH": ":".join(str(folder) for folder in self.library_folders())}
        if (self.root / "etc" / "fonts").is_dir():
            variables["FONTCONFIG_SYSROOT"] = str(self.root)  # its own fonts: a bare machine has none
        if (scripts := self.root / "usr" / "share" / "sysbench").is_dir():
            variables["LUA_PATH"] = f"{scripts}/?.lua;;"  # before those of the system, if it has any
        return variables

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder)}


def installed(name: str | None = None) -> list[Installed]:
    """What is in the cache, oldest installation first."""
    manifests = (cache_dir() / "packages").glob(f"{name or '*'}/*/manifest.json")
    found = [_read_manifest(manifest) for manifest in manifests]
    return sorted((one for one in found if one is not None), key=lambda one: one.date)


def find(name: str, version: str | None = None) -> Installed | None:
    """The newest installation whose version is `version` or begins with it (`10.11` finds 10.11.19)."""
    fitting = [one for one in installed(name) if version is None or version_fits(one.version, version)]
    return max(fitting, key=lambda one: (version_key(one.version), one.date), default=None)


def version_fits(version: str, wanted: str) -> bool:
    return version == wanted or version.startswith(wanted + ".")


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def install(name: str, version: str | None = None, progress: Progress | None = None) -> Installed:
    """Fetches a package set unless a fitting one is there. Safe to call at the same time from several processes."""
    package_set = _package_set(name)
    say = progress or (lambda _: None)
    with cache_lock(cache_dir()):
        if present := find(name, version):
            return present
        _remove_leftovers(cache_dir())
        scratch = Path(tempfile.mkdtemp(prefix=".partial-", dir=cache_dir()))
        try:
            return _fetch(name, package_set, version, scratch, say)
        except OSError as error:
            raise ServerError(
                f"could not unpack {name} in {cache_dir()}: {error.strerror or error}",
                hint="free some space there, or set BAKEOFF_CACHE to another folder",
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def remove(name: str, version: str | None = None) -> list[Installed]:
    """Removes the installations of a package set (those that fit `version`, or all); returns what was removed."""
    _package_set(name)
    with cache_lock(cache_dir()):
        gone = [one for one in installed(name) if version is None or version_fits(one.version, version)]
        for one in gone:
            shutil.rmtree(one.folder)
    return gone


def _package_set(name: str) -> PackageSet:
    if name not in PACKAGE_SETS:
        raise PlanError(f"nothing to install is called {name!r}", hint=f"known: {', '.join(PACKAGE_SETS)}")
    return PACKAGE_SETS[name]


def _fetch(name: str, package_set: PackageSet, version: str | None, scratch: Path, say: Progress) -> Installed:
    say(f"{name}: reading package lists")
    apt = PrivateApt(scratch / "apt")
    (scratch / "apt").chmod(0o755)
    apt.update()
    candidate = apt.candidate(package_set.packages[0])
    _refuse_other_version(name, candidate, version)
    say(f"{name} {candidate.upstream}: downloading")
    debs = apt.download(list(package_set.packages))
    say(f"{name} {candidate.upstream}: unpacking {len(debs)} packages")
    new = scratch / "new"
    packages = [_unpack(deb, new / "root") for deb in debs]
    if not (new / "root" / package_set.program).exists():
        raise ServerError(f"the packages of {name} {candidate.upstream} do not contain {package_set.program}")
    new.chmod(0o755)
    manifest = {
        "format": FORMAT,
        "name": name,
        "version": candidate.upstream,
        "package_version": candidate.version,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "size_bytes": _size_bytes(new),
        "packages": [asdict(package) for package in packages],
    }
    (new / "manifest.json").write_text(json.dumps(manifest, indent=1))
    folder = cache_dir() / "packages" / name / candidate.version.replace(":", "_")
    make_passable(folder.parent)
    if folder.exists():  # not a fitting installation, so a broken one
        shutil.rmtree(folder)
    os.rename(new, folder)
    done = _read_manifest(folder / "manifest.json")
    if done is None:
        raise ServerError(f"the manifest just written in {folder} cannot be read")
    say(f"{name} {done.version}: installed in {folder}")
    return done


def _refuse_other_version(name: str, candidate: Candidate, version: str | None) -> None:
    if version is None or version_fits(candidate.upstream, version):
        return
    raise ServerError(
        f"this machine's apt sources offer {name} {candidate.upstream}, not {version}",
        hint=f"ask for {candidate.upstream}, or put a {name} {version} on the PATH",
    )


def _unpack(deb: Path, root: Path) -> Package:
    fields = _dpkg_deb(deb, "-W", "--showformat=${Package}\n${Version}\n${Architecture}", str(deb)).split("\n")
    with deb.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    package = Package(fields[0], fields[1], fields[2], sha256)
    if package.name not in _SYSTEMS_OWN:
        make_passable(root)
        _dpkg_deb(deb, "-x", str(deb), str(root))
    return package


def _dpkg_deb(deb: Path, *arguments: str) -> str:
    done = subprocess.run(["dpkg-deb", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerError(
            f"could not unpack {deb.name}: {done.stderr.strip()}",
            hint="free some space there, or set BAKEOFF_CACHE to another folder",
        )
    return done.stdout


def _size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _remove_leftovers(cache: Path) -> None:
    """Scratch folders of killed installations; the lock is held, so nobody is working in one."""
    for leftover in cache.glob(".partial-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _read_manifest(path: Path) -> Installed | None:
    """None for an installation that is broken or of another format: it is fetched anew when asked for."""
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            return None
        one = Installed(
            name=data["name"],
            version=data["version"],
            package_version=data["package_version"],
            date=data["date"],
            folder=path.parent,
            packages=tuple(Package(**package) for package in data["packages"]),
            size_bytes=data["size_bytes"],
        )
        return one if one.name in PACKAGE_SETS and one.program().exists() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


__all__ = [
    "PACKAGE_SETS",
    "Installed",
    "Package",
    "PackageSet",
    "find",
    "install",
    "installed",
    "remove",
    "upstream_version",
    "version_fits",
]
