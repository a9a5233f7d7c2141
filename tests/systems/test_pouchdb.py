"""CouchDB's driver and control plane against its peer: managed, and as a server at an address. What the peer does not
have (quorums, bookmarks, revisions told by HEAD) is tested at servers that follow a script."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.model.durability import NOTHING
from bakeoff.model.levels import PACKAGER
from bakeoff.systems.couchdb.control import Control
from bakeoff.systems.couchdb.ledger import CouchLedger
from bakeoff.systems.couchdb.node import survival
from bakeoff.systems.couchdb.pouchdb_server import SOURCES, PouchDbServer
from bakeoff.systems.couchdb.system import CouchDb
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

KIND = "pouchdb-server"


@pytest.fixture(scope="module")
def version() -> str:
    """Skips where there is no Node.js or no npm, or the packages can neither be found nor fetched."""
    if lacking := SOURCES.source("npm").lacks():
        pytest.skip(lacking)
    return fetched(SOURCES, "4.2")


@pytest.fixture(scope="module")
def peer(version: str) -> Iterator[PouchDbServer]:
    with running(KIND, {"start": {}}) as system:
        yield cast(PouchDbServer, system)


def control_of(system: Any) -> Control:
    return cast(Control, system.control)


def existing(peer: PouchDbServer, monkeypatch: pytest.MonkeyPatch, **options: Any) -> CouchDb:
    login = peer.server.bench_login("tcp")
    monkeypatch.setenv("POUCH_PASSWORD", login.password)
    said = {"address": str(login.address), "user": login.user, "password": {"env": "POUCH_PASSWORD"}}
    return cast(CouchDb, configured("couchdb", Path("/"), {**said, "prefix": "bakeoff_", **options}))


# -- the peer ---------------------------------------------------------------------------------------------------------


def test_it_says_that_it_is_a_peer_and_keeps_nothing(peer: PouchDbServer) -> None:
    facts = node_of(peer).facts()
    assert (facts.product, facts.version, facts.settings) == (KIND, "4.2.0", {"backend": "memory"})
    assert facts.portable["durability"] == "none"
    assert facts.portable[PACKAGER] == "npm"
    assert PouchDbServer.peer_of == "CouchDB"
    assert peer.size_on_disk_bytes() is None
    assert node_of(peer).debt() == {"active_tasks": 0}
    driver, environment = peer.engine_driver()
    assert (driver["kind"], driver["user"]) == ("couchdb", "bench")
    assert driver["password"] == {"env": "BAKEOFF_PASSWORD_POUCHDB_SERVER"}
    assert environment == {"BAKEOFF_PASSWORD_POUCHDB_SERVER": peer.server.bench_password}


def test_it_runs_without_rights_on_loopback_and_its_password_is_in_no_file(peer: PouchDbServer) -> None:
    (pid,) = peer.pids()
    assert os.geteuid() != 0 or os.stat(f"/proc/{pid}").st_uid != 0
    assert str(peer.server.bench_address("tcp")).startswith("127.0.0.1:")
    for path in peer.server.folder.path.rglob("*"):
        assert not path.is_file() or peer.server.bench_password.encode() not in path.read_bytes(), path


def test_data_in_memory_are_not_made_cold_and_files_are(peer: PouchDbServer) -> None:
    with pytest.raises(ServerError, match="memory alone"):
        peer.make_cold()
    with running(KIND, {"start": {"backend": "leveldb"}}) as system:
        control = control_of(system)
        assert control.ask("PUT", "/d").status == 201
        assert control.ask("PUT", "/d/kept", {"x": 1}).status == 201
        system.make_cold()
        assert control_of(system).get("/d/kept")["x"] == 1
        assert (system.size_on_disk_bytes() or 0) > 0
        facts = node_of(system).facts()
        assert (facts.settings["backend"], facts.portable["durability"]) == ("leveldb", "relaxed")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"start": {"settings": {"x": 1}}}, "has no settings"),
        ({"start": {}, "tls": True}, "has no tls"),
        ({"start": {}, "shards": 2}, "has no shards"),
        ({"start": {}, "read_quorum": 1}, "has no read_quorum"),
        ({"start": {"backend": "disk"}}, "backend"),
    ],
)
def test_what_it_has_not_is_refused(options: Mapping[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=what):
        configured(KIND, tmp_path, dict(options))


def test_a_durability_that_a_backend_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="backend = \"memory\" has durability 'none'"):
        configured(KIND, tmp_path, {"start": {}}, durability="relaxed")
    configured(KIND, tmp_path, {"start": {"backend": "leveldb"}}, durability="relaxed")


def test_what_it_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert SOURCES.source("npm").lacks() == "node not found (install Node.js)"
    with pytest.raises(ServerError, match="node not found"):
        SOURCES.find(None)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/node" if name == "node" else None)
    assert SOURCES.source("npm").lacks() == "npm not found (install npm)"


# -- a server at an address -------------------------------------------------------------------------------------------


def dumped(peer: PouchDbServer) -> dict[str, Any]:
    """All that is in it, by database, with local documents of bakeoff's."""
    control = control_of(peer)
    databases = [name for name in control.get("/_all_dbs") if not name.startswith("_")]
    return {
        name: (
            control.get(f"/{name}/_all_docs?include_docs=true")["rows"],
            control.get(f"/{name}/_local/bakeoff"),
        )
        for name in databases
    }


@pytest.fixture
def theirs(peer: PouchDbServer) -> dict[str, Any]:
    """Databases of somebody else's, one of them with the name of a plan's."""
    control = control_of(peer)
    for name in ("theirs", "bakeoff_usertable2"):
        control.ask("PUT", f"/{name}")
        control.ask("PUT", f"/{name}/k", {"of": name})
    return dumped(peer)


def test_only_what_bakeoff_made_is_dropped(
    peer: PouchDbServer, theirs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = existing(peer, monkeypatch)
    system.start()
    try:
        ledger, control = system.ledger(), control_of(system)
        tables = ["usertable", "usertable2"]
        assert ledger.strangers(tables) == ["usertable2"]
        ledger.begin(["usertable"], "data", "bundle")
        control.ask("PUT", "/bakeoff_usertable")
        assert ledger.strangers(["usertable"]) == ["usertable"], "without the driver's mark it may be anybody's"
        control.ask("PUT", "/bakeoff_usertable/_local/bakeoff", {"made": "by the driver"})
        assert [(one.name, one.ours, one.whole) for one in ledger.there(["usertable"])] == [("usertable", True, False)]
        ledger.loaded(["usertable"])
        (found,) = ledger.there(["usertable"])
        assert (found.ours, found.whole, found.dataset) == (True, True, "data")
        ledger.drop(tables)
        assert ledger.there(["usertable"]) == []
    finally:
        system.stop()
    assert dumped(peer) == theirs


def test_two_do_not_work_on_one_server(peer: PouchDbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dumped(peer)
    first, second = existing(peer, monkeypatch), existing(peer, monkeypatch)
    first.start()
    try:
        with monkeypatch.context() as another_process:
            another_process.setattr(CouchLedger, "_claims", {})
            with pytest.raises(ServerError, match=r"another bakeoff run \(pid \d+ on .*\) is using"):
                second.start()
        elsewhere = existing(peer, monkeypatch, prefix="elsewhere_")
        elsewhere.start()
        elsewhere.stop()
        second.start()  # of this process
        second.stop()
    finally:
        first.stop()
    third = existing(peer, monkeypatch)
    third.start()
    third.stop()
    assert dumped(peer) == before


def test_who_is_not_let_in_or_not_there_is_named(peer: PouchDbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(peer, monkeypatch)
    monkeypatch.setenv("POUCH_PASSWORD", "wrong")
    with pytest.raises(ServerError, match="refused user 'bench'"):
        system.start()
    with pytest.raises(ServerError, match=r"could not connect to 127\.0\.0\.1:1"):
        configured("couchdb", Path("/"), {"address": "127.0.0.1:1"}).start()


def test_without_an_address_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="bakeoff starts no CouchDB"):
        configured("couchdb", tmp_path, {})


def test_what_survives_follows_from_the_version() -> None:
    assert survival("3.3.3", {}).level == "full"
    assert survival("3.3.3", {}).facts() == survival("2.3.1", {"couchdb.delayed_commits": "false"}).facts()
    assert survival("1.7.2", {}).level == "none"
    assert NOTHING in survival("3.0.0", {}).facts().values()


def test_portable_names_of_consistency_are_options_of_the_driver() -> None:
    for said in CouchDb.consistency.values():
        configured("couchdb", Path("/"), {"address": "127.0.0.1:1", **said})


# -- from plan to report ----------------------------------------------------------------------------------------------


@needs_cargo
def test_the_drivers_own_tests_pass(peer: PouchDbServer) -> None:
    login = peer.server.bench_login("tcp")
    address = {
        "BAKEOFF_TEST_COUCHDB": f"couchdb://{login.user}@{login.address}/",
        "BAKEOFF_TEST_COUCHDB_PASSWORD": login.password,
    }
    assert run_driver_tests(("couchdb", "conformance", "documents", "session_allocation"), address, of="couchdb") == []
    assert peer.alive()


DOCUMENTS = """
title = "A peer"
seed = 1

[systems.pouchdb-server]
start = { backend = "memory" }

[workload]
kind = "documents"
records = 200
index = ["account"]
get = 4
get_part = 2
put = 2
patch = 2
insert = 2
delete = 1
find = 1
find_unindexed = 0.2
contains = 0.2
count = 0.2
range = 0.5
get_batch = 0.5
put_batch = 0.2
batch = 5

[measure]
threads = 1
warm_up = 0
operations = 500
timeout = "10m"
repetitions = 1
"""
YCSB = """
title = "A peer"

[systems.pouchdb-server]
start = { backend = "leveldb" }

[workload]
kind = "ycsb"
preset = "a"
records = 300
data_integrity = true

[measure]
threads = 2
warm_up = 0
operations = 500
timeout = "10m"
repetitions = 1
retry = { retries = 10, on = ["conflict"] }
"""


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize("plan", [DOCUMENTS, YCSB], ids=["documents", "ycsb"])
def test_a_plan_goes_to_its_report(tmp_path: Path, plan: str) -> None:
    done = bakeoff("run", write_plan(tmp_path, plan), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert run.ok == 500
    assert all(check.ok for check in run.checks), run.checks
    operations = {"GET", "PATCH", "FIND", "CONTAINS", "RANGE", "PUT-BATCH"} if plan is DOCUMENTS else {"READ", "UPDATE"}
    assert {series.operation for series in run.series} >= operations
    assert "pouchdb-server (peer)" in (bundle.folder / "report.html").read_text(encoding="utf-8")


EXISTING = """
title = "By address"

[systems.couchdb]
address = "{address}"
user = "{user}"
password = {{ env = "POUCH_PASSWORD" }}
prefix = "bakeoff_"

[workload]
kind = "ycsb"
preset = "c"
records = 200

[measure]
threads = 2
warm_up = 0
operations = 300
repetitions = 1
"""


def test_a_run_by_address_leaves_everything_else_as_it_was(
    peer: PouchDbServer, theirs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = peer.server.bench_login("tcp")
    monkeypatch.setenv("POUCH_PASSWORD", login.password)
    plan = write_plan(tmp_path, EXISTING.format(address=login.address, user=login.user))
    done = bakeoff("run", plan, "--together", "--allow-disturbed", "--allow-drop", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    after = dumped(peer)
    assert {name: after[name] for name in theirs} == theirs
    assert set(after) - set(theirs) <= {"bakeoff_usertable", "bakeoff_bakeoff_tables"}
    dropped = bakeoff("drop", plan, "--yes", cwd=tmp_path)
    assert dropped.code == 0, dropped.err
    assert dumped(peer) == theirs


def test_both_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    listed = capsys.readouterr().out
    assert "CouchDB: existing by `address`" in listed
    assert "a peer of CouchDB" in listed
