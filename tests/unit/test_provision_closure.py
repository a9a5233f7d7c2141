"""A program of several jars through the machine's own Maven, which a script replaces."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision import java
from bakeoff.provision.installation import Size, Sources
from bakeoff.provision.java import JavaNeed
from bakeoff.provision.maven import Artifact, MavenClosure, read_list

NEED = JavaNeed("Database", (17, 11))
#: Puts into the folder, as in a repository, a jar for every artifact of the pom that it is given.
MVN = """#!/bin/sh
for word in "$@"; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done
for one in $(sed -n 's:.*<artifactId>\\([a-z]*\\)</artifactId><version>.*:\\1:p' pom.xml); do
  mkdir -p $out/org/example/$one/1 && printf $one > $out/org/example/$one/1/$one-1.jar
done
"""


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the list of version 1.0: the jars `db` and `lib`. Java and Maven are on the PATH."""
    program(tmp_path / "bin" / "mvn", MVN)
    put_java(tmp_path / "bin", "17.0.15")
    monkeypatch.setattr(java, "_PLACES", ())
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "lists"
    folder.mkdir()
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()} org.example:{name}:1\n" for name in ("db", "lib")]
    (folder / "1.0.txt").write_text("".join(lines))
    return folder


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def put_java(folder: Path, version: str) -> None:
    program(folder / "java", f"#!/bin/sh\necho 'openjdk {version} 2026-01-01'\n")


def sources(lists: Path) -> Sources:
    return Sources("db", "database", (MavenClosure("db", lists, NEED, {"1.0": 3}),), requires=NEED.find)


def test_the_jars_of_the_list_lie_together_and_java_runs_them(lists: Path, tmp_path: Path) -> None:
    done = sources(lists).install("1.0", None, lambda _: None)
    found = sources(lists).find("1")
    assert (found.version, found.described) == ("1.0", "Maven Central: org.example:db:1 and 1 more jars")
    assert found.program == tmp_path / "bin" / "java"
    assert sorted(path.name for path in (done.root / "lib").iterdir()) == ["db-1.jar", "lib-1.jar"]
    assert [part.name for part in done.packages] == ["org.example:db", "org.example:lib"]


def test_another_jar_than_was_tried_is_refused(lists: Path) -> None:
    listed = lists / "1.0.txt"
    listed.write_text(listed.read_text() + "00 org.example:other:1\n")
    with pytest.raises(ServerError, match=r"org\.example:other:1 has SHA-256 .*, and bakeoff expects 00"):
        sources(lists).install("1.0", None, lambda _: None)
    assert sources(lists).here() == []


def test_a_jar_for_some_machines_bears_its_classifier(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("ab org.example.net:lib:1.2:linux-x86_64\n")
    (jar,) = read_list(tmp_path / "list")
    assert jar == Artifact("org.example.net", "lib", "1.2", "ab", classifier="linux-x86_64")
    assert str(jar.path) == "org/example/net/lib/1.2/lib-1.2-linux-x86_64.jar"


def test_a_java_that_does_not_run_it_is_named(lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_java(tmp_path / "new", "25.0.3")
    monkeypatch.setenv("PATH", f"{tmp_path}/new:/usr/bin:/bin")
    with pytest.raises(ServerError, match=r"Database needs Java 17 or 11, and this machine has Java 25 \(/.*/new/java"):
        sources(lists).find(None)


def test_a_machine_without_java_is_reported(lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError, match="Database needs Java 17 or 11, and this machine has no Java") as caught:
        sources(lists).find(None)
    assert "openjdk-17" in caught.value.hint


def test_nothing_is_fetched_that_could_not_run(lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin" / "java").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ServerError, match="maven: Database needs Java 17 or 11"):
        sources(lists).install("1.0", None, lambda _: None)


def test_what_can_be_fetched_is_reported_with_its_size_and_what_it_takes(lists: Path) -> None:
    (source,) = sources(lists).fetching()
    assert [(one.version, one.size) for one in source.offers()] == [("1.0", Size(3, 3))]
    assert source.needs == "Maven; Java 17 or 11"


def test_a_fitting_java_elsewhere_is_taken(lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_java(tmp_path / "new", "25.0.3")
    put_java(tmp_path / "home" / "bin", "11.0.2")
    monkeypatch.setenv("PATH", f"{tmp_path}/new:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert NEED.find().version == 11
