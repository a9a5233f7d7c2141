"""Programs from Debian packages, unpacked into the cache without root and without touching the system.

From the machine's own apt sources the packages' closure is unpacked except for the C library: loader and C library
must be of one build, and a machine that has apt has both. From any other suite (`suite="sid"`) the whole closure is,
C library included, and in the place of each program comes a script that starts it on the suite's own loader. So it is
run by its path like any other, also by the tools that come with it.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.apt import Candidate, PrivateApt, missing
from bakeoff.provision.cache import (
    CachedProgram,
    Content,
    Part,
    Progress,
    folder_of,
    make_passable,
    sha256_of,
)
from bakeoff.provision.installation import (
    CachedSource,
    Installation,
    NotOffered,
    Offer,
    Size,
    distribution,
    os_release,
    version_fits,
    version_key,
)

#: Not unpacked from the machine's own sources: see the module's text.
_SYSTEMS_OWN = {"libc6", "libc-bin"}
#: Where programs lie in packages. Patterns.
_PROGRAMS = ("usr/bin", "usr/sbin", "bin", "sbin", "usr/lib/postgresql/*/bin")
#: Where a suite's programs themselves go, so that a script can take their place.
_MOVED = "elf"
#: Where the loader has the name of each: a process is called by the name that was started, and scripts look for that.
_LOADERS = "loader"


@dataclass(frozen=True)
class PackageSet:
    """Packages that make up something one can run; the first gives the set its version."""

    packages: tuple[str, ...]
    #: Its main program inside the unpacked root: an installation without it is broken.
    program: str
    #: Folders of libraries that a package keeps to itself, as patterns inside the root.
    libraries: tuple[str, ...] = ()
    #: Variables that its programs need; `{root}` stands for the unpacked root.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Of the version, where the packages' names have it; "": not.
    major: str = ""
    #: Of the version that suites have, by their names: `{"bookworm": "10.11"}`. No promise: it says whom to ask first.
    series: Mapping[str, str] = field(default_factory=dict)
    #: Packages of which files are needed, and nothing that they depend on.
    alone: tuple[str, ...] = ()
    #: The same, where the suite has them.
    extras: tuple[str, ...] = ()


class Debian(CachedSource):
    """One package set from the machine's own sources, or from a suite of the same mirror with the same keys."""

    needs = "apt and dpkg"

    def __init__(
        self, product: str, packages: PackageSet, suite: str | None = None, *, size: Size | None = None
    ) -> None:
        super().__init__(product, packages.program)
        self.name = suite or "debian"
        self._set = packages
        self._suite = suite
        self._size = size

    def lacks(self) -> str | None:
        return missing()

    def versions(self) -> list[str]:
        series = self._set.series.get(self._suite or _own_suite())
        return [series] if series else []

    def offers(self) -> list[Offer]:
        if newest := self._set.major or "".join(self.versions()):
            words = f"the newest {newest}"
        else:
            words = "what its packages have" if self._suite else "what this machine's apt sources have"
        return [Offer(words, self._size)]

    def fetch(self, version: str | None, say: Progress) -> CachedProgram:
        major = self._set.major
        if version is not None and major and version_key(version)[0] != int(major):
            raise NotOffered(f"Debian {self._suite} has {self._product} {major}, not {version}")

        return self._cached_or(version, lambda scratch, root: self._fetch(version, scratch, root, say), say)

    def _installed(self, one: CachedProgram) -> list[Installation]:
        environment = {name: value.format(root=one.root) for name, value in self._set.environment.items()}
        if self._suite is None:
            environment["LD_LIBRARY_PATH"] = ":".join(map(str, library_folders(one.root, self._set)))
        where = f"Debian {self._suite}" if self._suite else "this machine's apt sources"
        described = f"{where}: {self._set.packages[0]} {one.package_version}"
        packager = "Debian" if self._suite else distribution()
        return [Installation(one.version, self.name, described, one.root / self._program, environment, packager)]

    def _fetch(self, version: str | None, scratch: Path, root: Path, say: Progress) -> Content:
        named = f"{self._product} from {self._suite}" if self._suite else self._product
        say(f"{named}: reading package lists")
        apt = PrivateApt(scratch / "apt", self._suite)
        (scratch / "apt").chmod(0o755)
        apt.update()
        candidate = apt.candidate(self._set.packages[0])
        self._refuse_other_version(candidate, version)
        say(f"{named} {candidate.upstream}: downloading")
        extras = [name for name in self._set.extras if apt.has(name)]
        debs = apt.download(self._set.packages, [*self._set.alone, *extras])
        say(f"{named} {candidate.upstream}: unpacking {len(debs)} packages")
        left_out = _SYSTEMS_OWN if self._suite is None else set()
        parts = tuple(_unpack(deb, root, left_out) for deb in debs)
        if self._suite is not None:
            put_scripts_in_place(root, folder_of(self._product, self.name, candidate.version) / "root", self._set)
        return Content(candidate.upstream, candidate.version, parts)

    def _refuse_other_version(self, candidate: Candidate, version: str | None) -> None:
        if version is not None and not version_fits(candidate.upstream, version):
            offerer = f"Debian {self._suite} offers" if self._suite else "this machine's apt sources offer"
            raise NotOffered(
                f"{offerer} {self._product} {candidate.upstream}, not {version}",
                hint=f"use {candidate.upstream}, or put a {self._product} {version} on the PATH",
            )


def _own_suite() -> str:
    """This machine's; "" where it has no such name."""
    return os_release().get("VERSION_CODENAME", "")


def library_folders(root: Path, packages: PackageSet) -> list[Path]:
    """Some packages of merged-/usr releases still ship /lib."""
    patterns = ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*", *packages.libraries)
    return [folder for pattern in patterns for folder in sorted(root.glob(pattern)) if folder.is_dir()]


def put_scripts_in_place(root: Path, final: Path, packages: PackageSet) -> None:
    """Puts a script in the place of every program: it starts the program, moved aside, on the loader in `root`. Links
    stay and lead to scripts. `final`: where `root` is going to lie; the scripts name that. Raises ServerError."""
    loader = next((path for top in ("usr/lib", "lib") for path in root.glob(f"{top}/*/ld-linux*.so.*")), None)
    if loader is None:
        raise ServerError(f"the packages of {packages.packages[0]} contain no C library")
    folders = library_folders(root, packages)
    libraries = ":".join(str(final / folder.relative_to(root)) for folder in folders)
    for program in [path for pattern in _PROGRAMS for folder in root.glob(pattern) for path in folder.iterdir()]:
        if program.is_symlink() or not program.is_file() or not _is_elf(program):
            continue
        moved = Path(_MOVED) / program.relative_to(root)
        (root / moved).parent.mkdir(parents=True, exist_ok=True)
        program.rename(root / moved)
        named = Path(_LOADERS) / program.relative_to(root)
        (root / named).parent.mkdir(parents=True, exist_ok=True)
        (root / named).symlink_to(final / loader.relative_to(root))
        words = shlex.join([str(final / named), "--library-path", libraries])
        program.write_text(f'#!/bin/sh\nexec {words} --argv0 "$0" {shlex.quote(str(final / moved))} "$@"\n')
        program.chmod(0o755)


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _unpack(deb: Path, root: Path, left_out: set[str]) -> Part:
    fields = _dpkg_deb(deb, "-W", "--showformat=${Package}\n${Version}\n${Architecture}", str(deb)).split("\n")
    part = Part(fields[0], fields[1], fields[2], sha256_of(deb))
    if part.name not in left_out:
        make_passable(root)
        _dpkg_deb(deb, "-x", str(deb), str(root))
    return part


def _dpkg_deb(deb: Path, *arguments: str) -> str:
    done = subprocess.run(["dpkg-deb", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerError(
            f"could not unpack {deb.name}: {done.stderr.strip()}",
            hint="free some space there, or set BAKEOFF_CACHE to another folder",
        )
    return done.stdout
