"""MongoDB's driver and control plane against its peer: managed, and as a server at an address. What the peer does not
have (accounts, transactions, UUIDs) is tested at servers that follow a script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.model.levels import PACKAGER
from bakeoff.provision import java
from bakeoff.systems.mongodb.control import ADMIN, Control
from bakeoff.systems.mongodb.java_server import JAVA, SOURCES, MongoJavaServer
from bakeoff.systems.mongodb.ledger import MongoLedger
from bakeoff.systems.mongodb.node import survival
from bakeoff.systems.mongodb.system import MongoDb
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

KIND = "mongo-java-server"


@pytest.fixture(scope="module")
def version() -> str:
    """Skips where there is no JDK, or the jars can neither be found nor fetched."""
    if lacking := JAVA.lacks():
        pytest.skip(f"{KIND} needs a JDK: {lacking}")
    return fetched(SOURCES, "1.47")


@pytest.fixture(scope="module")
def peer(version: str) -> Iterator[MongoJavaServer]:
    with running(KIND, {"start": {"heap_mib": 256}}) as system:
        yield cast(MongoJavaServer, system)


def existing(peer: MongoJavaServer, **options: Any) -> MongoDb:
    address = str(peer.server.bench_address("tcp"))
    return cast(MongoDb, configured("mongodb", Path("/"), {"address": address, "database": "bakeoff", **options}))


# -- the peer ----------------------------------------------------------------------------------------------------------


def test_it_says_that_it_is_a_peer_and_keeps_nothing(peer: MongoJavaServer) -> None:
    facts = node_of(peer).facts()
    assert (facts.product, facts.version) == (KIND, "1.47.0")
    assert facts.settings == {"backend": "memory", "speaks as MongoDB": "5.0.0"}
    assert facts.portable["durability"] == "none"
    assert facts.portable[PACKAGER] == "Maven"
    assert MongoJavaServer.peer_of == "MongoDB"
    assert peer.size_on_disk_bytes() is None
    driver, environment = peer.engine_driver()
    assert (driver["user"], driver["password"], driver["database"]) == (None, None, "bakeoff")
    assert node_of(peer).gauges()["cursors.open"] >= 0
    assert set(environment) == {"BAKEOFF_PASSWORD_MONGO_JAVA_SERVER"}


def test_it_runs_without_rights_on_loopback(peer: MongoJavaServer) -> None:
    (pid,) = peer.pids()
    assert os.geteuid() != 0 or os.stat(f"/proc/{pid}").st_uid != 0
    assert str(peer.server.bench_address("tcp")).startswith("127.0.0.1:")


def test_data_in_memory_are_not_made_cold_and_a_file_is(peer: MongoJavaServer, version: str) -> None:
    with pytest.raises(ServerError, match="memory alone"):
        peer.make_cold()
    with running(KIND, {"start": {"backend": "h2", "heap_mib": 256}}) as system:
        control = cast(Control, cast(MongoJavaServer, system).control)
        control.ask({"insert": "c", "documents": [{"_id": "kept", "x": 1}]})
        system.make_cold()
        control = cast(Control, cast(MongoJavaServer, system).control)
        assert control.documents({"find": "c"}, "c") == [{"_id": "kept", "x": 1}]
        assert (system.size_on_disk_bytes() or 0) > 0
        assert node_of(system).facts().settings["backend"] == "h2"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"start": {"settings": {"x": 1}}}, "has no settings"),
        ({"start": {}, "transactions": True}, "has no transactions"),
        ({"start": {}, "tls": True}, "has no tls"),
        ({"start": {}, "user": "u"}, "has no accounts"),
        ({"start": {"backend": "disk"}}, "backend"),
    ],
)
def test_what_it_has_not_is_refused(options: Mapping[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=what):
        configured(KIND, tmp_path, dict(options))


def test_a_jre_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_compiles", lambda program: False)
    if "this machine has no Java" in str(JAVA.lacks()):
        pytest.skip("without Java on this machine nothing can be taken for a JRE")
    assert "needs Java 17 or 21 or 25 with its compiler (a JDK)" in str(JAVA.lacks())
    assert "a JRE" in str(JAVA.lacks())


# -- a server at an address --------------------------------------------------------------------------------------------


def dumped(peer: MongoJavaServer) -> dict[str, Any]:
    """All that is in it, by database and collection, but for claims: an empty collection of them stays until a drop."""
    control = cast(Control, peer.control)
    found: dict[str, Any] = {}
    for database in control.ask({"listDatabases": 1}, ADMIN)["databases"]:
        name = str(database["name"])
        for one in control.ask({"listCollections": 1, "cursor": {}}, name)["cursor"]["firstBatch"]:
            if one["name"] == "bakeoff_claim":
                continue
            answer = control.ask({"find": one["name"], "batchSize": 1000}, name)
            found[f"{name}.{one['name']}"] = answer["cursor"]["firstBatch"]
    return found


@pytest.fixture
def theirs(peer: MongoJavaServer) -> dict[str, Any]:
    """Data of somebody else's, in the plan's database and in another."""
    control = cast(Control, peer.control)
    for database in ("bakeoff", "other"):
        for collection in ("theirs", "usertable2"):
            documents = [{"_id": number, "of": collection} for number in range(3)]
            control.ask({"delete": collection, "deletes": [{"q": {}, "limit": 0}]}, database)
            control.ask({"insert": collection, "documents": documents}, database)
    return dumped(peer)


def test_only_what_bakeoff_made_is_dropped(peer: MongoJavaServer, theirs: dict[str, Any]) -> None:
    system = existing(peer)
    system.start()
    try:
        ledger = system.ledger()
        tables = ["usertable", "usertable2"]
        assert ledger.strangers(tables) == ["usertable2"]
        ledger.begin(["usertable"], "data", "bundle")
        cast(Control, system.control).ask({"insert": "usertable", "documents": [{"_id": "k"}]})
        assert [(found.name, found.ours, found.whole) for found in ledger.there(["usertable"])] == [
            ("usertable", True, False)
        ]
        ledger.loaded(["usertable"])
        (found,) = ledger.there(["usertable"])
        assert (found.ours, found.whole, found.dataset) == (True, True, "data")
        assert ledger.sizes(tables).keys() == {"usertable", "usertable2"}
        ledger.drop(tables)
        assert ledger.there(["usertable"]) == []
    finally:
        system.stop()
    assert dumped(peer) == theirs


def test_two_do_not_work_in_one_database(peer: MongoJavaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = existing(peer), existing(peer)
    first.start()
    try:
        with monkeypatch.context() as another_process:
            another_process.setattr(MongoLedger, "_claims", {})
            with pytest.raises(ServerError, match=r"another bakeoff run .* is using the database 'bakeoff'"):
                second.start()
        elsewhere = existing(peer, database="elsewhere")
        elsewhere.start()
        elsewhere.stop()
        second.start()  # of this process
        second.stop()
    finally:
        first.stop()
    with monkeypatch.context() as another_process:
        another_process.setattr(MongoLedger, "_claims", {})
        third = existing(peer)
        third.start()
        third.stop()


def test_facts_are_read_and_a_server_that_is_none_is_named(peer: MongoJavaServer) -> None:
    system = existing(peer)
    facts = node_of(system).facts()
    assert (facts.product, facts.version, facts.settings["topology"]) == ("MongoDB", "5.0.0", "one server")
    assert facts.portable["durability"] == "none"
    assert system.level() == "none"
    assert existing(peer, journal=True).level() == "full"
    assert system.size_on_disk_bytes() is not None
    system.stop()
    with pytest.raises(ServerError, match=r"could not connect to 127\.0\.0\.1:1"):
        configured("mongodb", Path("/"), {"address": "127.0.0.1:1"}).start()


def test_without_an_address_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="bakeoff starts no MongoDB"):
        configured("mongodb", tmp_path, {})


@pytest.mark.parametrize(
    ("options", "default", "is_replica", "level"),
    [
        ({"write_concern": None, "journal": None}, 1, False, "none"),
        ({"write_concern": None, "journal": None}, "majority", True, "full"),
        ({"write_concern": "1", "journal": None}, "majority", True, "none"),
        ({"write_concern": "majority", "journal": None}, 1, False, "none"),
        ({"write_concern": "majority", "journal": False}, 1, True, "none"),
        ({"write_concern": "1", "journal": True}, 1, False, "full"),
    ],
)
def test_what_survives_follows_from_the_write_concern(
    options: dict[str, Any], default: object, is_replica: bool, level: str
) -> None:
    assert survival(options, default, is_replica=is_replica).level == level


def test_portable_names_of_consistency_are_options_of_the_driver() -> None:
    for said in MongoDb.consistency.values():
        configured("mongodb", Path("/"), {"address": "127.0.0.1:1", **said})


# -- from plan to report -----------------------------------------------------------------------------------------------


@needs_cargo
def test_the_drivers_own_tests_pass(peer: MongoJavaServer) -> None:
    address = {"BAKEOFF_TEST_MONGODB": f"mongodb://bench@{peer.server.bench_address('tcp')}/bakeoff"}
    tests = ("mongodb", "conformance", "documents", "session_allocation")
    assert run_driver_tests(tests, address, of="mongodb") == []
    assert peer.alive()


PLAN = """
title = "A peer"

[systems.mongo-java-server]
start = {{ backend = "{backend}", heap_mib = 256 }}

[workload]
kind = "ycsb"
records = 200
data_integrity = true
{mix}

[measure]
threads = 4
warm_up = "300ms"
operations = 400
repetitions = 1
"""
MIXES = {
    "memory": "read_proportion = 0.5\nupdate_proportion = 0.5",  # workload A
    "h2": "read_proportion = 0\nupdate_proportion = 0\ninsert_proportion = 0.05\nscan_proportion = 0.95",  # E
}


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize("backend", ["memory", "h2"])
def test_ycsb_goes_from_plan_to_report(tmp_path: Path, backend: str) -> None:
    plan = write_plan(tmp_path, PLAN.format(backend=backend, mix=MIXES[backend]))
    done = bakeoff("run", plan, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    operations = {"memory": {"READ", "UPDATE"}, "h2": {"INSERT", "SCAN"}}[backend]
    assert {series.operation for series in run.series} >= operations


DOCUMENTS = """
title = "Documents on a peer"

[systems.mongo-java-server]
start = { heap_mib = 256 }

[workload]
kind = "documents"
records = 200
verify = true
get = 0.3
put = 0.1
patch = 0.2
insert = 0.1
delete = 0.05
find = 0.1
range = 0.1
put_batch = 0.05

[measure]
threads = 4
warm_up = "300ms"
operations = 400
repetitions = 1
"""


@pytest.mark.usefixtures("version")
def test_documents_go_from_plan_to_report(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, DOCUMENTS), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    assert len({series.operation for series in run.series}) >= 8


EXISTING = """
title = "By address"

[systems.mongodb]
address = "{address}"
database = "bakeoff"

[workload]
kind = "ycsb"
records = 300

[measure]
threads = 2
warm_up = "200ms"
operations = 500
repetitions = 1
reset = "reload"
"""


def test_a_run_by_address_leaves_everything_else_as_it_was(
    peer: MongoJavaServer, theirs: dict[str, Any], tmp_path: Path
) -> None:
    plan = write_plan(tmp_path, EXISTING.format(address=peer.server.bench_address("tcp")))
    done = bakeoff("run", plan, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    during = dumped(peer)
    assert {name: during[name] for name in theirs} == theirs
    dropped = bakeoff("drop", plan, "--yes", cwd=tmp_path)
    assert dropped.code == 0, dropped.err
    assert dumped(peer) == theirs


def test_both_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    listed = capsys.readouterr().out
    assert "MongoDB: existing by `address`" in listed
    assert "a peer of MongoDB" in listed
