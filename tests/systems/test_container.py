"""A real server in a container, from an image that is built here of Debian's packages: no registry is asked."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.provision.instance import remove_stale
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.systems import configured, node_of
from test_mariadb_life import starter

pytestmark = pytest.mark.servers

IMAGE = "localhost/bakeoff-test-servers:1"


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """Skips, with the reason, where no image can be built or no container started."""
    for program in ("podman", "mmdebstrap"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
    if os.geteuid() != 0:
        pytest.skip("only root builds the image from the machine's packages")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        files = Path(folder) / "files.tar"
        packages = "--include=mariadb-server-core,mariadb-client-core,postgresql"
        suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
        done = subprocess.run(
            ["mmdebstrap", "--variant=minbase", packages, suite, files], capture_output=True, text=True
        )
        if done.returncode:
            pytest.skip(f"no image can be built here: {done.stderr.strip()[-200:]}")
        (server,) = (name for name in _names(files) if name.endswith("/bin/postgres"))
        path = f"ENV PATH=/{Path(server).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        assert podman("import", "--change", path, str(files), IMAGE).returncode == 0
        files.unlink()
        # Where the usual runtime refuses (control groups of both versions at once), another may not.
        config = Path(folder) / "containers.conf"
        config.write_text('[engine]\nruntime = "runc"\n')
        limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
        try:
            done = podman("run", "--rm", "--network=host", *limits, IMAGE, "true")
            if done.returncode and shutil.which("runc"):
                patch.setenv("CONTAINERS_CONF", str(config))
                done = podman("run", "--rm", "--network=host", *limits, IMAGE, "true")
            if done.returncode:
                pytest.skip(f"podman starts no container here: {done.stderr.strip()}")
            yield IMAGE
        finally:
            podman("rmi", "--force", IMAGE)


def _names(archive: Path) -> list[str]:
    with tarfile.open(archive) as files:
        return [name.removeprefix("./") for name in files.getnames()]


def containers() -> list[str]:
    return podman("ps", "--all", "--quiet", "--filter", "label=bakeoff.instance").stdout.split()


def test_a_server_in_a_container_is_a_server_like_any_other(image: str, place: Path) -> None:
    system = cast(MariaDb, configured("mariadb", place / "a", {"start": {"image": image}}, durability="relaxed"))
    try:
        system.start()
        (pid,) = system.pids()
        assert "mariadbd" in Path(f"/proc/{pid}/cmdline").read_text()
        assert f"image {image} (sha256:" in node_of(system).facts().portable["installation"]
        system.control.rows("CREATE TABLE bakeoff.t (id INT PRIMARY KEY)")
        system.snapshot(place / "snapshot")
        system.control.rows("DROP TABLE bakeoff.t")
        system.restore(place / "snapshot")
        assert system.control.rows("SELECT COUNT(*) FROM bakeoff.t") == [(0,)]
        assert len(containers()) == 1
    finally:
        system.stop()
    assert containers() == []
    assert "Shutdown complete" in system.log_tail()


def test_postgresql_starts_from_an_image_too(image: str, place: Path) -> None:
    system = configured("postgresql", place / "a", {"start": {"image": image}})
    try:
        system.start()
        assert len(system.pids()) > 1  # it starts processes of its own
        assert f"image {image} (sha256:" in node_of(system).facts().portable["installation"]
        assert len(containers()) == 1
    finally:
        system.stop()
    assert containers() == []


def test_what_a_killed_bakeoff_left_running_is_removed_by_the_next(image: str, place: Path) -> None:
    with starter(place, start={"image": image}) as (process, _):
        process.kill()
        process.wait()
    assert len(containers()) == 1
    assert remove_stale(place) == [place / "m"]
    assert containers() == []
