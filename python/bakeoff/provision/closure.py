"""Programs of many jars from Maven Central: one artifact and all that it needs.

Which jars those are, each with its checksum, stands in a list beside the code that wants them, so that what Maven
brings is what was tried; Maven is asked for these and resolves nothing. Such a list is made by

    python -m bakeoff.provision.closure org.apache.cassandra:cassandra-all:5.0.9 > .../cassandra/jars/5.0.9.txt

and may be cut by hand afterwards: libraries for other operating systems need not be fetched.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bakeoff.errors import ServerError
from bakeoff.provision.installation import Installation, Size, newest_first
from bakeoff.provision.java import JavaNeed
from bakeoff.provision.maven import PACKAGER, Artifact, Maven, run_maven
from bakeoff.provision.store import Content, Part, Progress, Stored, sha256_of

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
#: Where they lie in an installation.
_JARS = "lib"


@dataclass(frozen=True)
class Jar:
    """As Maven names it. classifier: of one that is built for some machines only, or ""."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    sha256: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @property
    def file(self) -> str:
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @property
    def path(self) -> Path:
        """In a repository."""
        return Path(*self.group.split("."), self.artifact, self.version, self.file)


class MavenClosure(Maven):
    """lists: a folder of lists of jars, each named by the version of the program. Of a list the first is the program's
    own. sizes_mib: of all jars of a list together."""

    def __init__(self, product: str, lists: Path, java: JavaNeed, sizes_mib: Mapping[str, int]) -> None:
        self._lists = {path.stem: path for path in lists.glob("*.txt")}
        sizes = {version: Size(mib, mib) for version, mib in sizes_mib.items()}
        heads = {version: read_list(path)[0] for version, path in self._lists.items()}
        artifacts = {
            version: Artifact(jar.group, jar.artifact, jar.version, jar.sha256, sizes.get(version))
            for version, jar in heads.items()
        }
        super().__init__(product, artifacts, lambda _, __: None, _JARS)
        self._java = java
        self.needs = f"Maven; {java}"

    def lacks(self) -> str | None:
        return super().lacks() or self._java.lacks()

    def here(self) -> list[Installation]:
        return [
            one
            for stored in newest_first(self.stored())
            for one in self._java.installation(
                stored.version, self.name, _described(stored), stored.root / _JARS, PACKAGER
            )
        ]

    def _fetch(self, version: str, scratch: Path, root: Path, say: Progress) -> Content:
        jars = read_list(self._lists[version])
        say(f"{self._product} {version}: downloading {jars[0]} and {len(jars) - 1} more jars")
        (root / _JARS).mkdir()
        fetch(jars, root / _JARS, scratch)
        parts = (Part(f"{jar.group}:{jar.artifact}", jar.version, jar.classifier, jar.sha256) for jar in jars)
        return Content(version, version, tuple(parts))


def _described(one: Stored) -> str:
    head, *others = one.packages
    return f"Maven Central: {head.name}:{head.version} and {len(others)} more jars"


def read_list(path: Path) -> list[Jar]:
    """Lines of `SHA-256 group:artifact:version[:classifier]`, the program's own first."""
    lines = (line.split() for line in path.read_text().splitlines())
    return [_named(name, sha256) for sha256, name in lines]


def fetch(jars: Sequence[Jar], folder: Path, scratch: Path) -> None:
    """Puts these jars into `folder`, and no others. Maven's own plugins stay in the cache. Raises ServerError."""
    _copy(jars, scratch, alone=True)
    for jar in jars:
        brought = scratch / "jars" / jar.path
        found = sha256_of(brought) if brought.is_file() else "none"
        if found != jar.sha256:
            raise ServerError(
                f"{jar} has SHA-256 {found}, and {jar.sha256} was tried",
                hint="somebody has changed it on the way, or a mirror has another file: ask whoever runs the mirror",
            )
        shutil.move(brought, folder / jar.file)


def _copy(jars: Sequence[Jar], scratch: Path, *, alone: bool) -> None:
    """Into the folder `jars`, as in a repository. alone: without what they need."""
    (scratch / "pom.xml").write_text(_pom(jars, alone=alone))
    asked = [_COPY, "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
    asked += [f"-DoutputDirectory={scratch / 'jars'}"]
    run_maven(asked, str(jars[0]), scratch, [jar.path.parent for jar in jars])


def _pom(jars: Iterable[Jar], *, alone: bool) -> str:
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


def _named(name: str, sha256: str = "") -> Jar:
    group, artifact, version, *classifier = name.split(":")
    return Jar(group, artifact, version, "".join(classifier), sha256)


def _at(path: Path, sha256: str) -> Jar:
    """By where it lies in a repository."""
    *group, artifact, version, file = path.parts
    classifier = file.removesuffix(".jar").removeprefix(f"{artifact}-{version}").removeprefix("-")
    return Jar(".".join(group), artifact, version, classifier, sha256)


def closure(name: str) -> list[Jar]:
    """That jar first, and all it needs, with checksums."""
    with tempfile.TemporaryDirectory() as scratch:
        _copy([_named(name)], Path(scratch), alone=False)
        folder = Path(scratch, "jars")
        found = (_at(path.relative_to(folder), sha256_of(path)) for path in folder.rglob("*.jar"))
        return sorted(found, key=lambda jar: (str(jar) != name, str(jar)))


if __name__ == "__main__":
    for one in closure(sys.argv[1]):
        sys.stdout.write(f"{one.sha256} {one}\n")
