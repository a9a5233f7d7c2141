"""Instance folders: owned by one living bakeoff, cleared away after a dead one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import ServerError
from bakeoff.provision.instance import InstanceFolder, new_instance, remove_stale
from bakeoff.provision.process import start_ticks

DEAD = {"pid": 2**22 + 1, "start_ticks": 1}


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def change_owner(folder: InstanceFolder, **changes: Any) -> None:
    file = folder.path / "owner.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_living_owners_folder_is_left_alone(place: Path) -> None:
    folder = new_instance("a system", place)
    assert remove_stale(place) == []
    assert folder.path.exists()


def test_a_dead_owners_folder_goes_with_the_server_it_left(place: Path) -> None:
    folder = new_instance("a", place)
    elsewhere = folder.outside(place / "other")
    with subprocess.Popen(["sleep", "60"]) as server:
        folder.record_server(server.pid, start_ticks(server.pid) or 0)
        change_owner(folder, **DEAD)
        assert remove_stale(place) == [folder.path]
        assert server.wait() == -9
    assert not folder.path.exists()
    assert not elsewhere.exists()


def test_a_process_that_only_has_the_pid_of_the_dead_server_lives_on(place: Path) -> None:
    folder = new_instance("a", place)
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.record_server(other.pid, (start_ticks(other.pid) or 0) - 1)
        change_owner(folder, **DEAD)
        remove_stale(place)
        assert other.poll() is None
        other.kill()
    assert not folder.path.exists()


def test_processes_of_another_boot_are_nobodys(place: Path) -> None:
    folder = new_instance("a", place)
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.record_server(other.pid, start_ticks(other.pid) or 0)
        change_owner(folder, boot_id="another")
        assert remove_stale(place) == [folder.path]
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99, "pid": 1}', '{"format": 1, "pid": "x"}'])
def test_a_folder_whose_record_we_do_not_understand_is_left_alone(place: Path, text: str) -> None:
    (place / "theirs").mkdir()
    (place / "theirs" / "owner.json").write_text(text)
    assert remove_stale(place) == []
    assert (place / "theirs").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can plant a file of another user")
def test_a_record_that_another_user_planted_removes_nothing(place: Path) -> None:
    precious = place / "precious"
    precious.mkdir()
    folder = new_instance("a", place)
    change_owner(folder, **DEAD, extra=[str(precious)])
    os.chown(folder.path / "owner.json", 65534, 65534)
    assert remove_stale(place) == []
    assert precious.exists()
    assert folder.path.exists()


def test_a_folder_of_another_living_bakeoff_is_refused(place: Path) -> None:
    folder = InstanceFolder(place / "a")
    with subprocess.Popen(["sleep", "60"]) as other:
        change_owner(folder, pid=other.pid, start_ticks=start_ticks(other.pid))
        with pytest.raises(ServerError, match=f"in use by another bakeoff .pid {other.pid}."):
            InstanceFolder(place / "a")
        other.kill()


def test_two_objects_for_one_folder_know_of_each_others_additions(place: Path) -> None:
    first = new_instance("a", place)
    elsewhere = InstanceFolder(first.path).outside(place / "other")
    first.remove()
    assert not elsewhere.exists()
    assert not first.path.exists()


def test_a_socket_path_always_fits_into_an_address(place: Path) -> None:
    near = InstanceFolder(place / "a")
    assert near.socket_path("s.sock") == place / "a" / "s.sock"
    far = InstanceFolder(place / ("long" * 30))
    path = far.socket_path("s.sock")
    assert len(os.fsencode(path)) <= 107
    far.remove()
    assert not path.parent.exists()


def test_a_parent_that_is_a_file_is_refused(place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(ServerError, match="cannot make a folder in"):
        new_instance("a", place / "file" / "b")
