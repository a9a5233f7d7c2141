"""Package sets in the cache. Fetching for real is shown by the tests of the systems."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision import apt, debian
from bakeoff.provision.cache import CachedProgram, Progress
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.provision.installation import Offer, Size, Sources, version_fits

MARIADB = PackageSet(("mariadb-server-core", "mariadb-client-core"), "usr/sbin/mariadbd")
SOURCES = Sources("mariadb", "MariaDB server", (Debian("mariadb", MARIADB), Debian("mariadb", MARIADB, suite="sid")))


def install(version: str | None = None, source: str | None = "debian", say: Progress = lambda _: None) -> CachedProgram:
    return SOURCES.install(version, source, say)


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path))
    return tmp_path


def put(store: Path, version: str, date: str = "2026-01-01T00:00:00+00:00", **changes: Any) -> Path:
    """An installation as a finished `install` leaves it."""
    folder = store / "packages" / "mariadb" / version
    program = folder / "root" / "usr" / "sbin" / "mariadbd"
    program.parent.mkdir(parents=True)
    program.write_text("")
    manifest = {
        "format": 1,
        "name": "mariadb",
        "version": version,
        "package_version": f"1:{version}-0",
        "date": date,
        "size_bytes": 1,
        "packages": [{"name": "mariadb-server-core", "version": version, "architecture": "amd64", "sha256": "00"}],
    }
    (folder / "manifest.json").write_text(json.dumps({**manifest, **changes}))
    return folder


@pytest.mark.parametrize(
    ("debian_version", "upstream"),
    [
        ("1:10.11.19-0+deb12u1", "10.11.19"),
        ("1.0.20+ds-5", "1.0.20"),
        ("156.0.8078.79-1~deb12u1", "156.0.8078.79"),
        ("2.4", "2.4"),
    ],
)
def test_the_upstream_version_is_debians_without_epoch_and_revision(debian_version: str, upstream: str) -> None:
    assert apt.upstream_version(debian_version) == upstream


def test_a_version_fits_by_whole_parts() -> None:
    assert version_fits("10.11.19", "10.11")
    assert version_fits("10.11.19", "10.11.19")
    assert not version_fits("10.11.19", "10.1")
    assert not version_fits("10.1", "10.11")


def test_the_newest_that_fits_is_found(store: Path) -> None:
    put(store, "10.11.9", date="2026-03-01")
    put(store, "10.11.19", date="2026-02-01")
    put(store, "11.4.2")
    assert SOURCES.find("10.11").version == "10.11.19"
    assert SOURCES.find(None).version == "11.4.2"
    with pytest.raises(ServerError, match=r"no MariaDB server 12 on this machine; it has 11\.4\.2"):
        SOURCES.find("12")


def test_what_is_broken_or_foreign_is_passed_over(store: Path) -> None:
    put(store, "10.11.19", date="2026-02-01")
    put(store, "10.6.1", date="2026-01-01")
    put(store, "1.0", format=2)
    put(store, "2.0", packages=[{"nonsense": 1}])
    (put(store, "3.0") / "root" / "usr" / "sbin" / "mariadbd").unlink()
    (store / "packages" / "mariadb" / "4.0").mkdir()
    (put(store, "5.0") / "manifest.json").write_text("{")
    assert [one.version for one in SOURCES.here()] == ["10.11.19", "10.6.1"]


def test_what_exists_is_not_fetched_again(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "10.11.19")
    monkeypatch.setattr(debian, "PrivateApt", lambda _: pytest.fail("asked apt"))
    assert install("10.11").version == "10.11.19"


def test_remove_takes_only_what_fits(store: Path) -> None:
    gone = put(store, "10.11.19")
    kept = put(store, "10.6.1")
    assert [one.version for one in SOURCES.remove("10.11")] == ["10.11.19"]
    assert not gone.exists()
    assert kept.exists()
    assert [one.version for one in SOURCES.remove(None)] == ["10.6.1"]


def test_an_unknown_source_names_the_known_ones() -> None:
    with pytest.raises(PlanError, match="is not available from 'oracle'") as refused:
        install(source="oracle")
    assert refused.value.hint == "known: debian, sid"


def test_a_machine_without_apt_gets_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerError, match="apt-get and apt-cache and dpkg-deb not found"):
        install()
    with pytest.raises(ServerError, match=r"debian: apt-get .* not found.*; sid: apt-get") as refused:
        install(source=None)
    assert "PATH" in refused.value.hint


class FakeApt:
    """Offers one version and hands out ready .deb files."""

    def __init__(self, debs: list[Path], version: str = "1:10.11.19-0+deb12u1") -> None:
        self.debs, self.version = debs, version
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def __call__(self, folder: Path, suite: str | None) -> FakeApt:
        folder.mkdir()
        return self

    def update(self) -> None: ...

    def candidate(self, package: str) -> apt.Candidate:
        return apt.Candidate(package, self.version)

    def has(self, package: str) -> bool:
        return package.endswith("-lz4")

    def download(self, packages: Sequence[str], alone: Sequence[str]) -> list[Path]:
        self.asked.append((tuple(packages), tuple(alone)))
        return self.debs


def make_deb(folder: Path, name: str, files: dict[str, str]) -> Path:
    tree = folder / name
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    (tree / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody\nDescription: test\n"
    (tree / "DEBIAN" / "control").write_text(control)
    subprocess.run(["dpkg-deb", "-b", str(tree), str(folder / f"{name}.deb")], check=True, capture_output=True)
    return folder / f"{name}.deb"


needs_dpkg = pytest.mark.skipif(apt.missing() is not None, reason="needs dpkg-deb")


@needs_dpkg
def test_an_installation_has_its_files_and_a_manifest_with_checksums(
    store: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("debs")
    server = make_deb(outside, "mariadb-server-core", {"usr/sbin/mariadbd": "program"})
    libc = make_deb(outside, "libc6", {"lib/x86_64-linux-gnu/libc.so.6": "library"})
    monkeypatch.setattr(debian, "PrivateApt", FakeApt([server, libc]))
    said: list[str] = []
    one = install("10.11", say=said.append)
    assert SOURCES.find("10.11").program.read_text() == "program"
    assert not (one.root / "lib").exists()  # the C library stays the system's own
    assert {p.name: p.sha256 for p in one.packages}["libc6"] == hashlib.sha256(libc.read_bytes()).hexdigest()
    assert "unpacking 2 packages" in " ".join(said)
    assert not list(store.glob(".partial-*"))


def test_libraries_that_a_package_keeps_to_itself_are_found(store: Path) -> None:
    root = put(store, "1.0") / "root"
    private = root / "usr/lib/x86_64-linux-gnu/pulseaudio"
    private.mkdir(parents=True)
    packages = PackageSet(("p",), "usr/sbin/mariadbd", ("usr/lib/*-linux-gnu*/pulseaudio",), {"FONTS": "{root}/fonts"})
    (one,) = Debian("mariadb", packages).here()
    assert one.environment == {"LD_LIBRARY_PATH": f"{private.parent}:{private}", "FONTS": f"{root}/fonts"}


@needs_dpkg
def test_a_program_of_another_suite_runs_on_that_suites_own_c_library(
    store: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, and by a link's name, which it receives. The loader is a stand-in that prints what it is called and
    given: the process has the program's name."""
    outside = tmp_path_factory.mktemp("debs")
    loader = '#!/bin/sh\necho "${0##*/}" "$@"\n'
    libc = make_deb(outside, "libc6", {"usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": loader})
    server = make_deb(outside, "mariadb-server-core", {"usr/sbin/mariadbd": "\x7fELF", "usr/bin/tool": "#!/bin/sh\n"})
    monkeypatch.setattr(debian, "PrivateApt", FakeApt([libc, server], "1:11.8.6-1"))
    root = install("11.8", source="sid").root
    (root / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2").chmod(0o755)
    (root / "usr/sbin/mysqld").symlink_to("mariadbd")
    (one,) = SOURCES.here()
    assert (one.version, one.source, one.environment) == ("11.8.6", "sid", {})
    libraries = f"{root}/usr/lib/x86_64-linux-gnu"
    for name in ("mariadbd", "mysqld"):
        path = root / "usr/sbin" / name
        said = subprocess.run([path, "--port=1", "two words"], capture_output=True, text=True, check=True).stdout
        wanted = f"mariadbd --library-path {libraries} --argv0 {path} {root}/elf/usr/sbin/mariadbd --port=1 two words\n"
        assert said == wanted
    assert (root / "usr/bin/tool").read_text() == "#!/bin/sh\n"  # a script needs no loader


@needs_dpkg
def test_of_some_packages_nothing_that_they_depend_on_is_fetched(
    store: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeApt([make_deb(tmp_path_factory.mktemp("debs"), "p", {"usr/sbin/mariadbd": "it"})])
    monkeypatch.setattr(debian, "PrivateApt", fake)
    Debian("mariadb", PackageSet(("p",), "usr/sbin/mariadbd", alone=("scripts",))).fetch(None, lambda _: None)
    assert fake.asked == [(("p",), ("scripts",))]


@needs_dpkg
def test_a_broken_package_leaves_nothing_behind(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = store / "broken.deb"
    broken.write_text("not a package")
    monkeypatch.setattr(debian, "PrivateApt", FakeApt([broken]))
    with pytest.raises(ServerError, match=r"could not unpack broken\.deb"):
        install()
    assert SOURCES.here() == []
    assert not list(store.glob(".partial-*"))


def test_another_version_than_the_sources_have_is_refused_before_the_download(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "PrivateApt", FakeApt([]))
    with pytest.raises(ServerError, match=r"offer mariadb 10\.11\.19, not 11\.4"):
        install("11.4")


def test_leftovers_of_a_killed_installation_are_cleared(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (store / ".partial-abc" / "apt").mkdir(parents=True)
    monkeypatch.setattr(debian, "PrivateApt", FakeApt([]))
    with pytest.raises(ServerError):
        install("11.4")
    assert not list(store.glob(".partial-*"))


def fake_program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_network_that_refuses_is_said_with_apts_own_words(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    fake_program(folder, "apt-get", "echo 'W: Failed to fetch x  Could not resolve host' >&2; exit 0")
    fake_program(folder, "apt-cache", "echo 'mariadb-server-core:'; echo '  Candidate: (none)'")
    fake_program(folder, "dpkg-deb", "exit 1")
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(ServerError, match="Could not resolve host") as refused:
        install()
    assert "network" in refused.value.hint


@pytest.mark.parametrize(
    ("file", "machines", "asked"),
    [
        (
            "debian.sources",
            "Types: deb\nURIs: http://m.example/else\nSuites: x\n\nTypes: deb deb-src\n# a note\n"
            "URIs: http://m.example/debian\nSuites: stable x\nComponents: main contrib\nSigned-By: /k.gpg\n",
            "Types: deb\nURIs: http://m.example/debian\nSuites: sid\nComponents: main\nSigned-By: /k.gpg\n",
        ),
        (
            "debian.list",
            "deb http://m.example/else x main\ndeb [signed-by=/k.gpg] http://m.example/debian/ stable main contrib\n",
            "deb [signed-by=/k.gpg] http://m.example/debian/ sid main\n",
        ),
    ],
)
@needs_dpkg
def test_another_suite_is_asked_of_the_machines_own_mirror_with_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, machines: str, asked: str
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / file).write_text(machines)
    monkeypatch.setattr(apt, "_ETC", tmp_path)
    apt.PrivateApt(tmp_path / "apt", "sid")
    sources = tmp_path / "apt" / f"suite{Path(file).suffix}"
    assert sources.read_text().strip() == asked.strip()
    assert f'Dir::Etc::sourcelist "{sources}";' in (tmp_path / "apt" / "apt.conf").read_text()


@needs_dpkg
def test_a_machine_without_a_debian_mirror_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt, "_ETC", tmp_path)
    (tmp_path / "sources.list").write_text("deb http://m.example/ubuntu noble main\n")
    with pytest.raises(ServerError, match="has no Debian mirror for sid"):
        apt.PrivateApt(tmp_path / "apt", "sid")


def test_a_suite_with_one_major_is_not_asked_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "PrivateApt", None)
    suite = Debian("postgresql", PackageSet(("postgresql-15",), "bin/postgres", major="15"), suite="bookworm")
    assert suite.offer() == "the newest 15"
    with pytest.raises(ServerError, match=r"has postgresql 15, not 16\.4"):
        suite.fetch("16.4", lambda _: None)


@pytest.mark.parametrize(("codename", "newest"), [("bookworm", "10.11"), ("trixie", "11.8"), ("", "")])
def test_what_a_suite_has_is_known_before_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, codename: str, newest: str
) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"VERSION_CODENAME": codename})
    packages = PackageSet(("mariadb-server-core",), "bin/db", series={"bookworm": "10.11", "trixie": "11.8"})
    own, suite = Debian("mariadb", packages), Debian("mariadb", packages, suite="trixie", size=Size(21, 110))
    assert own.versions() == ([newest] if newest else [])
    assert own.offer() == (f"the newest {newest}" if newest else "what this machine's apt sources have")
    assert suite.versions() == ["11.8"]
    assert suite.offers() == [Offer("the newest 11.8", Size(21, 110))]


@needs_dpkg
def test_what_may_be_left_out_is_asked_for_where_the_suite_has_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = FakeApt([make_deb(tmp_path, "mariadb-server-core", {"usr/sbin/mariadbd": "program"})])
    monkeypatch.setattr(debian, "PrivateApt", offered)
    packages = PackageSet(("mariadb-server-core",), "usr/sbin/mariadbd", alone=("scripts",), extras=("p-lz4", "p-lzo"))
    Debian("mariadb", packages).fetch(None, lambda _: None)
    assert offered.asked == [(("mariadb-server-core",), ("scripts", "p-lz4"))]
