"""Installations: how the programs of one version are run here; and sources: where installations come from.

A system names its sources in order of preference, and everything else follows from that list: which program a plan's
`version` finds, what `bakeoff systems install` fetches, what `bakeoff systems` and `doctor` tell.

    SOURCES = Sources("mariadb", "MariaDB server", (
        OnPath("mariadbd", version_of),                     # what this machine has by itself
        Debian("mariadb", PACKAGES),                        # debian.py: this machine's own apt sources
        Debian("mariadb", PACKAGES, suite="trixie"),        # any other suite, on its own C library
        Maven("mysql", {"5.5.9": Artifact(...)}, unpack),   # maven.py: jars with known checksums
    ))
    installation = SOURCES.find("10.11")                    # ServerError says what is installed and how to get one
    installation.run([installation.program, "--help"], timeout_s=30, cwd=folder)
    process = installation.start([installation.program, ...], log=log, cwd=folder)

An installation is whatever can be run by the path of its program. A program built for another C library is no
exception: debian.py puts a word in its place that starts it with its own. What is in a container image is one, too
(container.py): there `run` and `start` go through podman or docker, and `installation_for` finds either.

To write another source: a class with `here`, and `fetch` with `lacks` and `versions` if it can obtain anything; keep
what is fetched in cache.py, which checks, locks and renames.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.cache import CachedProgram, Content, Progress, cache_program, cached_programs, discard
from bakeoff.provision.process import ServerProcess, identity, run_to_end
from bakeoff.suggestions import one_of

#: What a server gets of our environment: little, and nothing of our secrets.
_KEPT = ("PATH", "TZ", "LD_PRELOAD")


@dataclass(frozen=True)
class Installation:
    """Programs of one version that run here. `described`: where it came from, in words, for the facts of a run."""

    version: str
    source: str
    described: str
    program: Path
    environment: Mapping[str, str] = field(default_factory=dict, compare=False)
    #: Who built it: two versions are alike but for their version only where one packager built both.
    packager: str = field(default="", compare=False)

    @property
    def base(self) -> Path:
        """The folder that holds bin, lib and share."""
        return self.program.resolve().parent.parent

    @property
    def moved(self) -> bool:
        """Whether its files lie elsewhere than it was built for."""
        return True

    def tool(self, *names: str) -> Path | None:
        """The first of its companions that exists."""
        places = (self.program.parent, *(self.base / folder for folder in ("bin", "sbin", "scripts")))
        return next((place / name for name in names for place in places if (place / name).is_file()), None)

    def run(
        self, argv: Sequence[str | Path], *, timeout_s: float, cwd: Path, seen: Sequence[Path] = (), text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of its programs to the end, as the account that servers have; output and errors in one text.
        seen: further folders that it reads or writes, besides its own and `cwd`. text: its input. May raise
        TimeoutExpired."""
        own = {"env": self.child_environment(), "cwd": cwd, "start_new_session": True, **identity()}
        return run_to_end(_words(argv), timeout_s=timeout_s, text=text, **own)

    def start(self, argv: Sequence[str | Path], *, log: Path, cwd: Path, seen: Sequence[Path] = ()) -> ServerProcess:
        """Starts its server; see process.py for what that promises."""
        return ServerProcess(_words(argv), env=self.child_environment(), log=log, cwd=cwd)

    def child_environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **kept, **self.environment}


@dataclass(frozen=True)
class Size:
    """Of what a source gives, in MiB: what comes over the network, and what it is once unpacked. As it
    was when it was tried."""

    download_mib: int
    unpacked_mib: int


@dataclass(frozen=True)
class Offer:
    """What can be fetched: a version, or in words which one it will be."""

    version: str
    size: Size | None = None  # None: nobody knows before


class Source(ABC):
    """One way to have installations of one program. `name` is what `--from` says, `needs` what it fetches with."""

    name: str
    needs: str = ""

    @abstractmethod
    def here(self) -> Sequence[Installation]:
        """Those that can be used now, preferred first."""

    def cached(self) -> list[CachedProgram]:
        """What it has put into the cache."""
        return []

    def lacks(self) -> str | None:
        """What keeps it from fetching on this machine, as a clause; None: nothing known of."""
        return "it downloads nothing"

    def versions(self) -> Sequence[str]:
        """Those that it is known to have before it is asked; empty: nobody knows."""
        return ()

    def offers(self) -> Sequence[Offer]:
        """What can be fetched from it; empty: nothing, on no machine."""
        return [Offer(version) for version in self.versions()]

    def offer(self) -> str:
        """The same in words."""
        return ", ".join(one.version for one in self.offers())

    def fetch(self, version: str | None, say: Progress) -> CachedProgram:
        """Fetches that version (None: the newest) unless it is here. Raises NotOffered, ServerError."""
        raise NotOffered(f"{self.name} {self.lacks()}")

    def have(self, version: str | None = None, say: Progress = lambda _: None) -> Installation:
        """Fetched if need be."""
        wanted = self.fetch(version, say).version
        return next(one for one in self.here() if one.version == wanted)


class NotOffered(ServerError):
    """A source does not have what was asked for; another may."""


class CachedSource(Source):
    """One that keeps what it fetches in the cache. program: the path in there without which it is broken."""

    def __init__(self, product: str, program: str) -> None:
        self._product = product
        self._program = program

    @abstractmethod
    def _installed(self, one: CachedProgram) -> list[Installation]:
        """What can be used of it."""

    def here(self) -> list[Installation]:
        return [found for one in self.cached() for found in self._installed(one)]

    def cached(self) -> list[CachedProgram]:
        found = [one for one in cached_programs(self._product, self.name) if (one.root / self._program).exists()]
        return sorted(found, key=lambda one: (version_key(one.version), one.date), reverse=True)

    def _cached_or(self, version: str | None, fetch: Callable[[Path, Path], Content], say: Progress) -> CachedProgram:
        """The newest that fits, else what `fetch` gives, as `cache_program` asks for it."""

        def present() -> CachedProgram | None:
            return next((one for one in self.cached() if version is None or version_fits(one.version, version)), None)

        done = cache_program(self._product, self.name, present, fetch, self._program)
        say(f"{self._product} {done.version}: in {done.folder}")
        return done


@dataclass(frozen=True)
class Named:
    """Servers by the names that they may have in an image, preferred first; version_of as of OnPath."""

    programs: tuple[str, ...]
    version_of: Callable[[str], str | None]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sources:
    """The sources of one kind of system, preferred first."""

    kind: str
    what: str  # "MariaDB server"
    all: tuple[Source, ...]
    in_images: Named | None = None  # None: it is not started from images
    #: What every one of them needs of this machine; raises ServerError where it is not there.
    requires: Callable[[], object] = lambda: None

    def here(self) -> list[Installation]:
        """Every installation that can be used now, in order of preference."""
        return [one for source in self.all for one in source.here()]

    def find(self, version: str | None, source: str | None = None) -> Installation:
        """The one to use for `version` (`10.11` fits 10.11.19); None: the preferred one. source: take only its."""
        self.requires()
        there = [one for one in self.here() if source in (None, one.source)]
        for one in there:
            if _is(one, version):
                return one
        if version is None or not there:
            asked = f" {version}" if version else ""
            whose = f" from {source}" if source else ""
            raise ServerError(f"no {self.what}{asked}{whose} on this machine", hint=self.install_hint(version, source))
        have = ", ".join(f"{one.version} ({one.program})" for one in there)
        raise ServerError(
            f"no {self.what} {version} on this machine; it has {have}",
            hint=f"use one of these, put {version} on the PATH, or try {self.install_command(version, source)}",
        )

    def refuse_unknown(self, source: str | None, where: str) -> None:
        known = [one.name for one in self.all]
        if source is not None and source not in known:
            raise PlanError(f"{self.kind} is not available from {source!r}", where=where, hint=one_of(source, known))

    def alike(self, versions: Sequence[str | None]) -> Mapping[str | None, str]:
        """The source to take each version from, so that all were built alike: the first that has them all here, else
        those of the first packager who has; empty: nobody has them all."""
        here = self.here()
        for key in ("source", "packager"):
            for wanted in dict.fromkeys(getattr(one, key) for one in here):
                theirs = [one for one in here if getattr(one, key) == wanted]
                found = {version: next((one for one in theirs if _is(one, version)), None) for version in versions}
                if None not in found.values():
                    return {version: one.source for version, one in found.items() if one}
        return {}

    def would_make_alike(self, versions: Sequence[str]) -> str:
        """Commands after which one source has all of these versions; "" where none is known to offer them."""
        for source in self.fetching():
            have = [one.version for one in source.here()]
            missing = [one for one in versions if not any(version_fits(version, one) for version in have)]
            if missing and all(_has(source, one) for one in missing):
                return " and ".join(self.install_command(one, source.name) for one in missing)
        return ""

    def install_command(self, version: str | None, source: str | None = None) -> str:
        of_version, of_source = f"@{version}" if version else "", f" --from {source}" if source else ""
        return f"`bakeoff systems install {self.kind}{of_version}{of_source}`"

    def install_hint(self, version: str | None, source: str | None = None) -> str:
        return f"{self.install_command(version, source)} downloads one, without root"

    def fetching(self) -> list[Source]:
        """Those that can fetch something on some machine."""
        return [source for source in self.all if source.offers()]

    def source(self, name: str) -> Source:
        """Raises PlanError, which names those that fetch."""
        for source in self.fetching():
            if source.name == name:
                return source
        known = ", ".join(source.name for source in self.fetching())
        raise PlanError(f"{self.kind} is not available from {name!r}", hint=f"known: {known}" if known else "")

    def install(self, version: str | None, source: str | None, say: Progress) -> CachedProgram:
        """From the source named, else from the first that has it; those that are known to are asked first."""
        asked = [self.source(source)] if source else sorted(self.fetching(), key=lambda one: not _has(one, version))
        refusals: list[ServerError] = []
        for one in asked:
            if lacking := one.lacks():
                refusals.append(ServerError(f"{one.name}: {lacking}"))
                continue
            try:
                return one.fetch(version, say)
            except NotOffered as error:
                refusals.append(error)
        if len(refusals) == 1:
            raise refusals[0]
        said = "; ".join(error.what for error in refusals) or "it has no source for downloads"
        wanted = f"{self.kind} {version}" if version else self.kind
        raise ServerError(
            f"{wanted} cannot be downloaded: {said}", hint="or install it yourself and put it on the PATH"
        )

    def remove(self, version: str | None) -> list[CachedProgram]:
        """Removes from the cache what fits `version`, or all of it; returns what was removed."""
        found = [one for source in self.all for one in source.cached()]
        gone = [one for one in found if version is None or version_fits(one.version, version)]
        discard(gone)
        return gone


def version_fits(version: str, wanted: str) -> bool:
    return version == wanted or version.startswith(wanted + ".")


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def _is(one: Installation, version: str | None) -> bool:
    return version is None or version_fits(one.version, version)


def _has(source: Source, version: str | None) -> bool:
    return version is not None and any(version_fits(one, version) for one in source.versions())


def _words(argv: Sequence[str | Path]) -> list[str]:
    return [str(word) for word in argv]


#: Who built a program that no package has.
OWN = "this machine's own"
_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/libexec")


class OnPath(Source):
    """program: its name. version_of: from what `program --version` prints; None: it is another product's.
    places: folders to search in addition to the usual ones; they may be patterns ("/usr/lib/postgresql/*/bin")."""

    name = "path"

    def __init__(
        self, program: str, version_of: Callable[[str], str | None], places: Sequence[str] = (), *, flags: str = ""
    ) -> None:
        self._program = program
        self._version_of = version_of
        self._places = (*_PLACES, *places)
        self._flags = (*flags.split(), "--version")

    def here(self) -> list[Installation]:
        folders = [str(folder) for place in self._places for folder in sorted(Path("/").glob(place.lstrip("/")))]
        paths = [shutil.which(self._program), *(f"{folder}/{self._program}" for folder in folders)]
        unique = dict.fromkeys(self._real(Path(path)) for path in paths if path and os.access(path, os.X_OK))
        return [
            Installation(version, self.name, f"this machine's own {path}", path, packager=_packager(path))
            for path in unique
            if (version := self._version_of(said_by((str(path), *self._flags))))
        ]

    def _real(self, path: Path) -> Path:
        """Under its own name, by which one program may be several: a Redis server is a link to a tool of its."""
        real = path.resolve()
        named = real.with_name(self._program)
        return named if os.access(named, os.X_OK) else real


def os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def distribution() -> str:
    """Who packaged this machine's own packages: "Debian"."""
    return os_release().get("ID", "this machine's distribution").capitalize()


def _packager(path: Path) -> str:
    """Its distribution's, if a package has the file; else nobody knows whose."""
    return distribution() if said_by(("dpkg", "-S", str(path))) else OWN


@cache
def said_by(argv: tuple[str, ...]) -> str:
    """What a program prints; empty if it does not run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
