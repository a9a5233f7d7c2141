"""Real servers in a container. The image is made of programs that bakeoff has fetched and of this machine's shell and C
library: no registry is asked, and nothing else is downloaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from bakeoff.errors import BakeoffError
from bakeoff.provision.cache import cache_dir
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import remove_stale
from bakeoff.systems.mysql.mariadb import SOURCES as MARIADB
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.systems.postgresql.system import SOURCES as POSTGRESQL
from builders.systems import configured, node_of
from test_mariadb_life import starter

pytestmark = pytest.mark.servers

IMAGE = "localhost/bakeoff-test-servers:1"
#: What the servers' scripts call.
TOOLS = ("sh", "cat", "chmod", "chown", "dirname", "hostname", "id", "ls", "mkdir", "rm", "sed", "true", "uname")


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Skips, with the reason, where no container starts or no image can be made."""
    if shutil.which("podman") is None:
        pytest.skip("no container starts here: podman is not on the PATH")
    folder = tmp_path_factory.mktemp("image")
    with pytest.MonkeyPatch.context() as patch:
        try:
            write_image(folder / "small.tar", [])
            # Where the usual runtime refuses (control groups of both versions at once), another may not.
            if (refusal := why_no_container_starts()) and shutil.which("runc"):
                (config := folder / "containers.conf").write_text('[engine]\nruntime = "runc"\n')
                patch.setenv("CONTAINERS_CONF", str(config))
                refusal = why_no_container_starts() and refusal
            if refusal:
                pytest.skip(f"podman starts no container here: {refusal}")
            try:
                mariadb = MARIADB.source("debian").have()
                postgresql = POSTGRESQL.source("maven").have()
            except BakeoffError as error:
                pytest.skip(f"no image can be made here: {error}")
            write_image(
                folder / "servers.tar", [(mariadb, mariadb.base.parent, "."), (postgresql, postgresql.base, "opt")]
            )
            yield IMAGE
        finally:
            podman("rmi", "--force", IMAGE)


def why_no_container_starts() -> str:
    limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
    done = podman("run", "--rm", "--network=host", *limits, IMAGE, "true")
    return done.stderr.strip() if done.returncode else ""


def write_image(archive: Path, servers: list[tuple[Installation, Path, str]]) -> None:
    """Of these servers, each with its folder and its place in the image, and this machine's tools and libraries."""
    libraries: set[str] = set()
    names: set[str] = set()

    def once(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        info.name = info.name.removeprefix("./")
        if not info.isdir() and info.name in names:
            return None
        names.add(info.name)
        return info

    with tarfile.open(archive, "w") as files:
        files.add("/etc/passwd")
        for program in filter(None, map(shutil.which, TOOLS)):
            files.add(Path(program).resolve(), f"usr/bin/{Path(program).name}", filter=once)
            libraries |= libraries_of(program, {})
        for one, folder, place in servers:
            files.add(folder, place, filter=once)
            for path in one.program.parent.iterdir():
                libraries |= libraries_of(str(path), one.environment)
        for path in sorted(libraries):
            files.add(Path(path).resolve(), path.lstrip("/"), filter=once)
        link = tarfile.TarInfo("bin")
        link.type, link.linkname = tarfile.SYMTYPE, "usr/bin"
        files.addfile(link)
    done = podman("import", "--change", "ENV PATH=/usr/sbin:/usr/bin:/opt/bin", str(archive), IMAGE)
    assert done.returncode == 0, done.stderr
    archive.unlink()


def libraries_of(program: str, environment: Mapping[str, str]) -> set[str]:
    """Those of this machine alone."""
    done = subprocess.run(["ldd", program], env={**os.environ, **environment}, capture_output=True, text=True)
    found = set(re.findall(r"(?:^|=>)\s*(/\S+) \(0x", done.stdout, re.MULTILINE))
    return {path for path in found if not Path(path).resolve().is_relative_to(cache_dir())}


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
