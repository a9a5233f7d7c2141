"""Which source a version comes from, and what is said where none has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.cache import CachedProgram, Progress
from bakeoff.provision.installation import Installation, NotOffered, Offer, OnPath, Source, Sources


def stored(version: str, source: str) -> CachedProgram:
    return CachedProgram("db", source, version, version, "2026-11-22", Path("/nowhere"), (), 0)


class Scripted(Source):
    """has: what it can fetch; known: what it is known to have before it is asked."""

    def __init__(self, name: str, has: str, *, known: bool = False, lacking: str | None = None) -> None:
        self.name, self.has, self.known, self.lacking = name, has, known, lacking
        self.asked = 0

    def here(self) -> list[Installation]:
        return []

    def lacks(self) -> str | None:
        return self.lacking

    def versions(self) -> list[str]:
        return [self.has] if self.known else []

    def offers(self) -> list[Offer]:
        return [Offer("something")]

    def fetch(self, version: str | None, say: Progress) -> CachedProgram:
        self.asked += 1
        if version not in (None, self.has):
            raise NotOffered(f"{self.name} has {self.has}")
        return stored(self.has, self.name)


def quiet(_: str) -> None: ...


def test_the_first_source_that_has_the_version_gives_it() -> None:
    sources = Sources("db", "database", (Scripted("debian", "8.0"), Scripted("sid", "9.7")))
    assert sources.install("9.7", None, quiet).source == "sid"
    assert sources.install(None, None, quiet).source == "debian"
    assert sources.install(None, "sid", quiet).version == "9.7"


def test_a_source_that_is_known_to_have_it_is_asked_before_those_that_would_have_to_look() -> None:
    debian, maven = Scripted("debian", "9.7"), Scripted("maven", "5.5", known=True)
    assert Sources("db", "database", (debian, maven)).install("5.5", None, quiet).source == "maven"
    assert debian.asked == 0


def test_where_nobody_has_it_each_says_why() -> None:
    sources = Sources("db", "database", (Scripted("debian", "8.0"), Scripted("maven", "5.5", lacking="mvn not found")))
    with pytest.raises(ServerError) as refused:
        sources.install("7.0", None, quiet)
    assert refused.value.what == "db 7.0 cannot be downloaded: debian has 8.0; maven: mvn not found"


def test_one_that_is_not_here_is_refused_with_the_command_that_fetches_it() -> None:
    with pytest.raises(ServerError, match="no database 7 on this machine") as refused:
        Sources("db", "database", (Scripted("debian", "8.0"),)).find("7")
    assert "`bakeoff systems install db@7`" in refused.value.hint


def test_a_program_on_the_path_keeps_the_name_by_which_it_knows_what_it_is(tmp_path: Path) -> None:
    """A Redis server is a link to one of its tools."""
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\necho "$(basename "$0") 7.0"\n')
    tool.chmod(0o755)
    (tmp_path / "server").symlink_to("tool")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "server").symlink_to(tmp_path / "server")
    found = OnPath("server", lambda said: said.removeprefix("server ").strip() or None, (str(elsewhere),)).here()
    assert [(one.program, one.version) for one in found] == [(tmp_path / "server", "7.0")]
