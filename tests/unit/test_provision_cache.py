"""Where fetched programs go, and that servers which run as nobody could read them there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision import cache
from bakeoff.provision.instance import new_instance


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAKEOFF_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


def test_bakeoff_cache_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path))
    assert cache.cache_dir() == tmp_path


def test_an_ordinary_users_cache_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_dir() == tmp_path / ".cache" / "bakeoff"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_dir() == tmp_path / "xdg" / "bakeoff"


def test_roots_cache_is_shared_when_the_home_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    assert cache.cache_dir() == cache.SHARED_CACHE


def test_the_folder_that_is_closed_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    tmp_path.chmod(0o755)
    around = cache.first_unsearchable(tmp_path)  # where TMPDIR is itself in a closed place
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o700)
    assert cache.first_unsearchable(closed / "inner" / "file") == (around or closed)
    closed.chmod(0o755)
    assert cache.first_unsearchable(closed / "inner" / "file") == around
    assert cache.searchable_by_others(closed / "inner" / "file") == (around is None)


def test_a_cache_that_cannot_be_written_is_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match="cannot be written") as refused, cache.cache_lock(tmp_path / "file" / "x"):
        pass
    assert "BAKEOFF_CACHE" in refused.value.hint


def test_folders_that_we_make_can_be_passed_by_servers_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        cache.make_passable(tmp_path / "a" / "b")
        new_instance("x", tmp_path / "c" / "d").outside(tmp_path / "e" / "f")
    finally:
        os.umask(before)
    assert {
        oct(path.stat().st_mode & 0o777) for path in map(tmp_path.joinpath, ("a", "a/b", "c", "c/d", "e", "e/f"))
    } == {"0o755"}


def test_a_user_without_a_home_has_a_cache_that_cannot_be_made_and_no_other_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HOME", "BAKEOFF_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: (_ for _ in ()).throw(KeyError()))
    assert cache.cache_dir().is_absolute()
