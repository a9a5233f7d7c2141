"""The requests to a container runtime, which a script replaces. With a real one:
tests/systems/test_container.py."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision import container, instance
from bakeoff.provision.container import ImageInstallation, _pull_hint, installation_for
from bakeoff.provision.instance import new_instance, remove_stale
from bakeoff.systems.mysql.mariadb import SOURCES
from builders.systems import configured

DIGEST = "sha256:feed"
IMAGE = [{"Id": "0123", "RepoDigests": [f"db@{DIGEST}"]}]
#: Has one image; writes down what it is asked.
SCRIPT = """#!/bin/sh
echo "$*" >> ASKED
case "$1 $2" in
  "version ") exit 0;;
  "image inspect") [ "$3" = db:1 ] && echo 'IMAGE' || { echo "no such image" >&2; exit 1; };;
  "pull db:1") exit 0;;
  "pull "*) echo "denied" >&2; exit 1;;
  "run "*) case "$*" in *"--entrypoint mysqld "*) echo "mysqld Ver 10.11.4-MariaDB";; *) exit 127;; esac;;
  "ps "*) echo c1; echo c2;;
esac
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that podman was asked, a line each."""
    log = tmp_path / "asked"
    log.touch()
    (tmp_path / "podman").write_text(SCRIPT.replace("ASKED", str(log)).replace("IMAGE", json.dumps(IMAGE)))
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    return log


def test_an_image_is_run_by_its_id_and_reported_by_its_digest(asked: Path) -> None:
    found = installation_for(SOURCES, None, "db:1")
    assert isinstance(found, ImageInstallation)
    assert (found.version, found.program, found.image) == ("10.11.4", Path("mysqld"), "0123")  # it has no mariadbd
    assert found.described == f"image db:1 ({DIGEST}) by podman"


def test_a_server_in_a_container_gets_what_one_outside_has(asked: Path) -> None:
    found = installation_for(SOURCES, None, "db:1")
    assert isinstance(found, ImageInstallation)
    argv = found.command(["mysqld", "--port=1"], Path("/instances/a"), [Path("/disk"), Path("/instances/a")])
    assert argv[-4:] == ["--entrypoint", "mysqld", "0123", "--port=1"]
    words = " ".join(argv)
    assert words.startswith("podman run --rm --pull=never")
    assert "--network=host" in argv
    assert words.count("-v ") == 2
    assert "-v /instances/a:/instances/a -v /disk:/disk" in words
    assert "--label bakeoff.instance=/instances/a" in words
    account = (65534, 65534) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    assert f"--user {account[0]}:{account[1]} --cap-drop=all" in words
    assert "--pids-limit=-1" in argv


def test_an_image_that_is_not_here_is_refused_with_the_command_that_pulls_it(asked: Path) -> None:
    system = configured("mysql", Path("/"), {"start": {"image": "mysql:8.4"}})
    with pytest.raises(ServerError, match=r"the image mysql:8\.4 is not installed") as refused:
        system.start()
    assert "`bakeoff systems install mysql --image mysql:8.4`" in refused.value.hint
    assert "pull" not in asked.read_text()


def test_an_image_of_something_else_is_refused(asked: Path) -> None:
    with pytest.raises(ServerError, match=r"mysqld of the image db:1 do not run: mysqld Ver 10\.11\.4"):
        configured("mysql", Path("/"), {"start": {"image": "db:1"}}).start()


def test_install_pulls_an_image(asked: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["systems", "install", "mariadb", "--image", "db:1"]) == 0
    assert f'pulled db:1 ({DIGEST}): start = {{ image = "db:1" }}' in capfd.readouterr().out
    assert main(["systems", "install", "mariadb", "--image", "other"]) == 3
    assert "podman could not pull other" in capfd.readouterr().err
    assert main(["systems", "install", "mariadb", "--image=--privileged"]) == 2
    assert '"--privileged" is not the name of an image' in capfd.readouterr().err


def test_version_and_image_exclude_each_other() -> None:
    with pytest.raises(PlanError, match="`version` and `image` exclude each other"):
        configured("mysql", Path("/"), {"start": {"version": "9.7", "image": "db:1"}})


def test_a_machine_without_a_runtime_that_works_says_what_each_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\necho 'is the daemon running?' >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    (tmp_path / "sh").symlink_to("/bin/sh")
    with pytest.raises(ServerError, match=r"neither podman nor docker works here \(docker reported: is the daemon"):
        container.runtime()


def test_what_a_killed_bakeoff_left_in_containers_goes_with_its_folder(asked: Path, tmp_path: Path) -> None:
    folder = new_instance("a", tmp_path / "instances")
    folder.record_runtime("podman")
    owner = json.loads((folder.path / "owner.json").read_text())
    (folder.path / "owner.json").write_text(json.dumps({**owner, "pid": 2**22 + 1}))
    instance._held.pop(folder.path).free()
    asked.write_text("")
    assert remove_stale(tmp_path / "instances") == [folder.path]
    assert asked.read_text().splitlines() == [
        f"ps --all --quiet --filter label=bakeoff.instance={folder.path}",
        "rm --force --volumes c1 c2",
    ]


def test_only_runtimes_that_we_know_are_run_from_a_record(asked: Path, tmp_path: Path) -> None:
    container.remove_containers("/bin/false", tmp_path)
    assert asked.read_text() == ""


def test_a_pull_of_a_short_name_says_how_the_whole_one_is_written() -> None:
    assert "docker.io/library/mysql:8.4" in _pull_hint("mysql:8.4")
    assert "docker.io/percona/percona-server:8.4" in _pull_hint("percona/percona-server:8.4")
    assert "docker.io" not in _pull_hint("localhost/mine:1") + _pull_hint("quay.io/mine/mine:1")
