"""Programs of jars, and the Java that runs them.

A Java is looked for where JAVA_HOME says, on the PATH and where packages put it, and asked what it is: the name of a
folder says nothing for sure.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ServerError
from bakeoff.provision.installation import Installation, said_by

_PLACES = ("/usr/lib/jvm/*/bin/java", "/opt/*/bin/java")


@dataclass(frozen=True)
class JavaInstallation(Installation):
    """`program` is the Java. jars: the folder of the program's own."""

    jars: Path = Path()


@dataclass(frozen=True)
class Java:
    program: Path
    version: int  # 17
    lacks_compiler: bool = False  # where one is needed

    def __str__(self) -> str:
        return f"Java {self.version} ({self.program}{', a JRE' if self.lacks_compiler else ''})"


@dataclass(frozen=True)
class JavaNeed:
    """what: the program. versions: those that run it, best first. compiles: it needs the compiler, too, which a JRE
    has not."""

    what: str
    versions: tuple[int, ...]
    compiles: bool = False

    def __str__(self) -> str:
        return f"Java {' or '.join(map(str, self.versions))}{' with its compiler (a JDK)' if self.compiles else ''}"

    def lacks(self) -> str | None:
        """Why it does not run here; None: it does."""
        try:
            self.find()
        except ServerError as error:
            return error.what
        return None

    def find(self) -> Java:
        """The best that is installed. Raises ServerError."""
        found: list[Java] = []
        for program in _places():
            if (version := _version(program)) is not None:
                found.append(Java(program, version, self.compiles and not _compiles(program)))
                if self._is_usable(found[-1]) and version == self.versions[0]:
                    break
        usable = [java for java in found if self._is_usable(java)]
        if usable:
            return min(usable, key=lambda java: self.versions.index(java.version))
        best, there = self.versions[0], ", ".join(map(str, found)) or "no Java"
        package = f"openjdk-{best}-{'jdk' if self.compiles else 'jre'}-headless"
        raise ServerError(
            f"{self.what} needs {self}, and this machine has {there}",
            hint=f"install Java {best} (Debian: apt install {package}), or set JAVA_HOME to one",
        )

    def _is_usable(self, java: Java) -> bool:
        return java.version in self.versions and not java.lacks_compiler

    def installation(
        self, version: str, source: str, described: str, jars: Path, packager: str
    ) -> list[JavaInstallation]:
        """Of a program whose jars are here: none without a Java."""
        if self.lacks():
            return []
        return [JavaInstallation(version, source, described, self.find().program, packager=packager, jars=jars)]


def _places() -> Iterator[Path]:
    """Each once, in order of preference."""
    named = [f"{home}/bin/java"] if (home := os.environ.get("JAVA_HOME")) else []
    on_path = shutil.which("java")
    packaged = [str(path) for place in _PLACES for path in sorted(Path("/").glob(place.lstrip("/")))]
    for path in dict.fromkeys(Path(path).resolve() for path in [*named, *([on_path] if on_path else []), *packaged]):
        if os.access(path, os.X_OK):
            yield path


def _version(program: Path) -> int | None:
    found = re.match(r"\w+ (\d+)", said_by((str(program), "--version")))
    return int(found[1]) if found else None


def _compiles(program: Path) -> bool:
    return "jdk.compiler" in said_by((str(program), "--list-modules"))
