"""Instance folders: owned by one living bakeoff, cleared away after a dead one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.cli.commands import doctor
from bakeoff.errors import ServerError
from bakeoff.locks import Held
from bakeoff.provision import instance
from bakeoff.provision import instance as owner
from bakeoff.provision.instance import Host, InstanceFolder, hold, new_instance, of_other_hosts, remove_stale
from bakeoff.provision.process import start_ticks


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def abandon(folder: InstanceFolder, **changes: str) -> None:
    """What the end of its process does to a folder: the kernel frees the lock. changes: to the host in its record."""
    instance._held.pop(folder.path).free()
    file = folder.path / "owner.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "host": {**record["host"], **changes}}))


def test_a_living_owners_folder_is_left_alone(place: Path) -> None:
    folder = new_instance("a system", place)
    assert remove_stale(place) == []
    assert folder.path.exists()
    folder.remove()
    assert not folder.path.exists()


def test_a_living_owner_in_another_container_is_seen_by_its_lock(place: Path) -> None:
    """Whose process numbers mean nothing here, and whose container has a machine id of its own."""
    folder = new_instance("a", place)
    lock = instance._held[folder.path]
    abandoned = json.loads((folder.path / "owner.json").read_text())
    host = {**abandoned["host"], "pid_namespace": "pid:[1]", "machine_id": "another"}
    (folder.path / "owner.json").write_text(json.dumps({**abandoned, "pid": 2**22 + 1, "host": host}))
    assert remove_stale(place) == []
    with pytest.raises(Held):
        hold(folder.path)
    lock.free()
    assert remove_stale(place) == [folder.path]


def test_a_dead_owners_folder_goes_with_the_server_it_left(place: Path) -> None:
    folder = new_instance("a", place)
    elsewhere = folder.outside(place / "other")
    with subprocess.Popen(["sleep", "60"]) as server:
        folder.record_server(server.pid, start_ticks(server.pid) or 0)
        abandon(folder)
        assert remove_stale(place) == [folder.path]
        assert server.wait() == -9
    assert not folder.path.exists()
    assert not elsewhere.exists()


def test_all_servers_of_a_dead_owner_are_ended(place: Path) -> None:
    """A system of several nodes has several."""
    folder = new_instance("a", place)
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        for server in (one, other):
            folder.record_server(server.pid, start_ticks(server.pid) or 0)
        abandon(folder)
        assert remove_stale(place) == [folder.path]
        assert (one.wait(), other.wait()) == (-9, -9)


def test_of_a_server_started_again_only_the_last_process_is_recorded(place: Path) -> None:
    folder = new_instance("a", place)
    folder.record_server(2**22 + 1, 1)
    folder.record_server(os.getpid(), start_ticks(os.getpid()) or 0)
    assert [pid for pid, _ in json.loads((folder.path / "owner.json").read_text())["servers"]] == [os.getpid()]


def test_a_process_that_only_has_the_pid_of_the_dead_server_lives_on(place: Path) -> None:
    folder = new_instance("a", place)
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.record_server(other.pid, (start_ticks(other.pid) or 0) - 1)
        abandon(folder)
        remove_stale(place)
        assert other.poll() is None
        other.kill()
    assert not folder.path.exists()


@pytest.mark.parametrize("host", [{"boot_id": "another"}, {"pid_namespace": "pid:[1]"}])
def test_processes_of_another_boot_or_container_are_nobodys(
    place: Path, host: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine before a reboot; or a container that has ended."""
    monkeypatch.setattr(owner, "file_system", lambda path: "ext4")
    monkeypatch.setattr(Host, "here", classmethod(lambda cls: Host("boot", "machine", "pid:[2]")))
    folder = new_instance("a", place)
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.record_server(other.pid, start_ticks(other.pid) or 0)
        abandon(folder, **host)
        assert remove_stale(place) == [folder.path]
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize(
    ("kind", "machine"), [("ext4", "another"), ("nfs4", "machine"), ("fuse.sshfs", "machine"), ("ext4", "")]
)
def test_a_folder_of_another_host_is_reported_and_never_removed(
    place: Path, kind: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another boot, and another machine; or storage that hosts share: one image gives many of them one machine id."""
    monkeypatch.setattr(owner, "file_system", lambda path: kind)
    monkeypatch.setattr(Host, "here", classmethod(lambda cls: Host("boot", "machine" if machine else "", "pid:[2]")))
    folder = new_instance("a", place)
    abandon(folder, boot_id="another", machine_id=machine)
    assert remove_stale(place) == []
    assert of_other_hosts(place) == [folder.path]
    with pytest.raises(ServerError, match="belongs to bakeoff on another machine"):
        InstanceFolder(folder.path)
    (found,) = doctor._left_alone(place)
    assert folder.path.name in found.words


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99, "pid": 1}', '{"format": 2, "pid": "x"}', "[" * 100_000])
def test_a_folder_whose_record_we_do_not_understand_is_left_alone(place: Path, text: str) -> None:
    (place / "theirs").mkdir()
    (place / "theirs" / "owner.json").write_text(text)
    assert remove_stale(place) == []
    assert (place / "theirs").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can plant a file of another user")
@pytest.mark.parametrize("planted", ["owner.json", "."])
def test_a_record_that_another_user_planted_removes_nothing(place: Path, planted: str) -> None:
    precious = place / "precious"
    precious.mkdir()
    folder = new_instance("a", place)
    record = json.loads((folder.path / "owner.json").read_text())
    (folder.path / "owner.json").write_text(json.dumps({**record, "extra": [str(precious)]}))
    abandon(folder)
    os.chown(folder.path / planted, 65534, 65534)
    assert remove_stale(place) == []
    assert precious.exists()
    assert folder.path.exists()


def test_a_record_that_is_a_link_is_none(place: Path) -> None:
    folder = new_instance("a", place)
    abandon(folder)
    (folder.path / "owner.json").rename(place / "elsewhere.json")
    (folder.path / "owner.json").symlink_to(place / "elsewhere.json")
    assert remove_stale(place) == []
    assert folder.path.exists()


def test_a_folder_of_another_living_bakeoff_is_refused(place: Path) -> None:
    folder = InstanceFolder(place / "a")
    lock = instance._held.pop(folder.path)
    with pytest.raises(ServerError, match=f"in use by another bakeoff run .pid {os.getpid()}."):
        InstanceFolder(place / "a")
    lock.free()
    InstanceFolder(place / "a").remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as another account")
def test_the_account_of_servers_can_plant_nothing_where_we_write(place: Path) -> None:
    """It owns folders of its own, and no other on the way: what it could replace by a link, we never name."""
    folder = InstanceFolder(place / "a")
    ours, theirs = [folder.path, folder.outside(place / "other")], [folder.subfolder("tmp")]
    theirs.append(folder.socket_path("s.sock").parent)
    assert [path.stat().st_uid for path in ours + theirs] == [0, 0, 65534, 65534]
    assert [path.stat().st_mode & 0o777 for path in ours + theirs] == [0o711, 0o711, 0o700, 0o700]
    folder.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets folders of another account")
def test_a_folder_that_is_another_users_is_not_taken(place: Path) -> None:
    (place / "a").mkdir()
    os.chown(place / "a", 65534, 65534)
    with pytest.raises(ServerError, match="cannot create the folder"):
        InstanceFolder(place / "a")


def test_two_objects_for_one_folder_know_of_each_others_additions(place: Path) -> None:
    first = new_instance("a", place)
    elsewhere = InstanceFolder(first.path).outside(place / "other")
    first.remove()
    assert not elsewhere.exists()
    assert not first.path.exists()


def test_a_socket_path_always_fits_into_an_address(place: Path) -> None:
    near = InstanceFolder(place / "a")
    assert near.socket_path("s.sock") == place / "a" / "run" / "s.sock"
    far = InstanceFolder(place / ("long" * 30))
    path = far.socket_path("s.sock")
    assert len(os.fsencode(path)) <= 107
    far.remove()
    assert not path.parent.exists()


def test_a_parent_that_is_a_file_is_refused(place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(ServerError, match="cannot create a folder in"):
        new_instance("a", place / "file" / "b")


def test_a_disk_whose_folders_cannot_be_closed_to_others_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As FAT and some network file systems have no permissions."""
    folder = InstanceFolder(place / "a")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    with pytest.raises(ServerError, match=r"cannot create a folder in .*: Operation not permitted"):
        folder.outside(place / "other")


def test_a_place_named_from_here_is_the_same_from_anywhere(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert InstanceFolder(place / "a").outside(Path("here")).is_absolute()
