"""Settings that a version of Cassandra does not know, before it is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.provision.installation import Installation, Sources
from bakeoff.systems.cassandra.options import RUN_TIME, names_of
from bakeoff.systems.cassandra.process import DEFAULTS, OURS
from bakeoff.systems.cassandra.system import Cassandra

VERSIONS = ("4.1.10", "5.0.9")


def refused(name: str, version: str, monkeypatch: pytest.MonkeyPatch) -> PlanError | None:
    """What a plan with this setting gets where this version is here."""
    here = Installation(version, "path", "of this machine", Path("/bin/java"))
    monkeypatch.setattr(Sources, "find", lambda self, version, source=None: here)
    try:
        assert Cassandra.available({"start": {"settings": {name: 64}}}) is None
    except PlanError as error:
        return error
    return None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_misspelt_setting_is_refused_with_the_nearest(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused("concurrent_write", version, monkeypatch)
    assert error is not None
    assert error.what == f"Cassandra {version} does not know the setting 'concurrent_write'"
    assert error.hint == "did you mean `concurrent_writes`?"
    assert error.where == "systems.cassandra.start.settings.concurrent_write"


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("concurrent_writes", "5.0.9"),
        ("concurrent_writes", "5.0.2"),
        ("read_request_timeout_in_ms", "5.0.9"),  # of before 4.1, still taken
        ("concurrent_replicates", "4.1.10"),
        ("memtable.configurations", "5.0.9"),
        ("Concurrent-Writes", "5.0.9"),
        ("what_nobody_has_listed", "7.0.1"),
    ],
)
def test_what_the_version_knows_or_nobody_has_listed_is_taken(
    name: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(name, version, monkeypatch) is None


def test_a_setting_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused("concurrent_replicates", "5.0.9", monkeypatch) is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_the_names_are_those_of_all_settings(version: str) -> None:
    """What we set ourselves, and a plan may, is among them, but for options of a start."""
    known = names_of(version)
    assert known == sorted(known)
    assert DEFAULTS.keys() | OURS <= {*known}
    assert RUN_TIME - {*known} <= {"heap", "file_cache_enabled"}


def test_each_version_that_can_be_fetched_has_its_names() -> None:
    offered = {version for source in Cassandra.sources().all for version in source.versions()}
    assert offered == {*VERSIONS}
    assert all(map(names_of, offered))
