"""DynamoDB's driver and control plane against Amazon's emulator: managed, and as a service at an address. Nothing here
goes to the service itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.analysis.metric import Observed
from bakeoff.analysis.registry import metric
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.model.levels import PACKAGER
from bakeoff.systems.aws_credentials import Credentials, find
from bakeoff.systems.dynamodb.control import DynamoControl, authorization
from bakeoff.systems.dynamodb.ledger import DynamoLedger
from bakeoff.systems.dynamodb.local import JAVA, PRODUCT, SOURCES, DynamoDbLocal
from bakeoff.systems.dynamodb.system import DynamoDb
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

KIND = "dynamodb-local"
PASSWORD = "BAKEOFF_TEST_DYNAMODB_PASSWORD"


@pytest.fixture(scope="module")
def version() -> str:
    """Skips where there is no JDK, or the jars can neither be found nor fetched."""
    if lacking := JAVA.lacks():
        pytest.skip(f"DynamoDB Local needs a JDK: {lacking}")
    return fetched(SOURCES, "2.6")


@pytest.fixture(scope="module")
def local(version: str) -> Iterator[DynamoDbLocal]:
    with running(KIND, {"start": {"heap_mib": 256}}) as system:
        yield cast(DynamoDbLocal, system)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nobody: the emulator does not check them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "bench")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)


def existing(local: DynamoDbLocal, **options: Any) -> DynamoDb:
    address = f"http://{local.server.bench_address('tcp')}/"
    return cast(DynamoDb, configured("dynamodb", Path("/"), {"address": address, **options}))


def tables(local: DynamoDbLocal) -> list[str]:
    return list(cast(DynamoControl, local.control).ask("ListTables", {})["TableNames"])


# -- requests ----------------------------------------------------------------------------------------------------------


def test_a_request_says_who_signed_what_and_no_secret() -> None:
    """The driver's tests compare signatures with published ones; this one's form, and the service takes both alike."""
    keys = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    fields = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}
    said = authorization(keys, "us-east-1", fields, b"")
    assert said.startswith(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request,"
        " SignedHeaders=host;x-amz-date, Signature="
    )
    assert len(said.rpartition("=")[2]) == 64
    assert "wJalr" not in repr(keys)


def test_credentials_are_found_where_amazons_tools_find_them(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = s\n[half]\naws_access_key_id = B\n")
    there = {"AWS_SHARED_CREDENTIALS_FILE": str(file)}
    assert find(None, "x", there) == Credentials("A", "s")
    both = {**there, "AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
    assert find(None, "x", both) == Credentials("E", "s", "t")
    assert find("default", "x", both).key_id == "A"
    for profile, environment in (("half", there), ("none", there), (None, {"HOME": str(tmp_path)})):
        with pytest.raises(PlanError, match="there are no credentials"):
            find(profile, "x", environment)


# -- the emulator ------------------------------------------------------------------------------------------------------


def test_it_says_that_it_is_an_emulator_and_keeps_nothing(local: DynamoDbLocal) -> None:
    facts = node_of(local).facts()
    assert (facts.product, facts.version) == (PRODUCT, "2.6.1")
    assert facts.settings == {"storage": "memory", "region": "us-east-1"}
    assert facts.portable["durability"] == "none"
    assert facts.portable["consistent reads"] == "off"
    assert facts.portable[PACKAGER] == "Maven"
    assert DynamoDbLocal.peer_of == "DynamoDB"
    assert local.size_on_disk_bytes() is None
    with pytest.raises(ServerError, match="memory alone"):
        local.make_cold()


def test_it_listens_on_loopback_alone_and_runs_without_rights(local: DynamoDbLocal) -> None:
    (pid,) = local.pids()
    assert os.geteuid() != 0 or os.stat(f"/proc/{pid}").st_uid != 0
    port = f"{int(str(local.server.bench_address('tcp')).rpartition(':')[2]):04X}"
    listening = [
        line.split()[1]
        for family in ("tcp", "tcp6")
        for line in Path("/proc/net", family).read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port}")
    ]
    assert listening
    assert all(address.rpartition(":")[0].endswith("0100007F") for address in listening), listening


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"start": {"settings": {"x": 1}}}, "has no settings"),
        ({"start": {}, "tls": True}, "tls"),
        ({"start": {"heap_mib": 1}}, "heap_mib"),
        ({"start": {}, "consistent_reads": True}, "unknown key"),
    ],
)
def test_what_it_has_not_is_refused(options: Mapping[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=what):
        configured(KIND, tmp_path, dict(options))


# -- the service -------------------------------------------------------------------------------------------------------


def test_a_region_is_an_address_that_costs_and_this_machine_does_not() -> None:
    options = DynamoDb.in_one_spelling({"region": "eu-central-1"}, "systems.dynamodb")
    assert options["address"] == "dynamodb.eu-central-1.amazonaws.com:443"
    assert options["tls"] is True
    service = DynamoDb.public_service(options)
    assert service is not None
    assert "0.625 USD per million writes" in service.price_words
    https = DynamoDb.in_one_spelling({"address": "https://gateway.example"}, "systems.dynamodb")
    assert (https["address"], https["tls"]) == ("gateway.example:443", True)
    assert DynamoDb.public_service(https) is not None
    for here in ("127.0.0.1:8000", "localhost", "http://localhost:8000/"):
        assert DynamoDb.public_service({"address": here}) is None
    with pytest.raises(PlanError, match="a service, which bakeoff cannot start"):
        configured("dynamodb", Path("/"), {})


def test_a_plan_on_the_service_begins_only_where_somebody_agrees_to_pay(tmp_path: Path) -> None:
    text = PLAN.replace("dynamodb-local", "dynamodb").replace("start = { heap_mib = 256 }", 'region = "us-east-1"')
    done = bakeoff("run", write_plan(tmp_path, text), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 2, done.err
    assert "--allow-cost" in done.err
    assert "Amazon DynamoDB" in done.err


def test_portable_names_of_consistency_are_options_of_the_driver() -> None:
    for said in DynamoDb.consistency.values():
        configured("dynamodb", Path("/"), {"address": "127.0.0.1:1", **said})


def test_only_what_bakeoff_made_is_dropped(local: DynamoDbLocal) -> None:
    control = cast(DynamoControl, local.control)
    key = {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    }
    control.ask("CreateTable", {"TableName": "theirs", **key})
    system = existing(local)
    system.start()
    try:
        ledger = system.ledger()
        both = ["ours", "theirs"]
        assert ledger.strangers(both) == ["theirs"]
        ledger.begin(["ours"], "data", "bundle")
        control.ask("CreateTable", {"TableName": "ours", **key})
        assert [(found.name, found.ours, found.whole) for found in ledger.there(["ours"])] == [("ours", True, False)]
        ledger.loaded(["ours"])
        (found,) = ledger.there(["ours"])
        assert (found.ours, found.whole, found.dataset) == (True, True, "data")
        assert ledger.sizes(both).keys() == {"ours", "theirs"}
        ledger.drop(both)
        assert ledger.there(["ours"]) == []
    finally:
        system.stop()
    assert tables(local) == ["theirs"]
    control.ask("DeleteTable", {"TableName": "theirs"})


def test_two_do_not_work_in_one_region(local: DynamoDbLocal, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = existing(local), existing(local)
    first.start()
    try:
        with monkeypatch.context() as another_process:
            another_process.setattr(DynamoLedger, "_claims", {})
            with pytest.raises(ServerError, match=r"another bakeoff run .* is using 127"):
                second.start()
        second.start()  # of this process
        second.stop()
    finally:
        first.stop()
    assert tables(local) == []


def test_facts_are_read_and_a_server_that_is_none_is_named(local: DynamoDbLocal) -> None:
    system = existing(local, consistent_read=True)
    facts = node_of(system).facts()
    assert (facts.product, facts.settings["API"]) == ("DynamoDB", "2012-08-10")
    assert facts.portable["consistent reads"] == "on"
    system.stop()
    with pytest.raises(ServerError, match=r"could not connect to 127\.0\.0\.1:1"):
        configured("dynamodb", Path("/"), {"address": "127.0.0.1:1"}).start()


# -- from plan to report -----------------------------------------------------------------------------------------------


@needs_cargo
def test_the_drivers_own_tests_pass(local: DynamoDbLocal) -> None:
    address = {
        "BAKEOFF_TEST_DYNAMODB": f"dynamodb://bench@{local.server.bench_address('tcp')}/",
        PASSWORD: "none",
    }
    assert run_driver_tests(("conformance", "documents", "session_allocation"), address, of="dynamodb") == []
    assert local.alive()


PLAN = """
title = "An emulator"

[systems.dynamodb-local]
start = { heap_mib = 256 }

[workload]
kind = "ycsb"
preset = "c"
records = 200
data_integrity = true

[measure]
threads = 4
warm_up = "300ms"
operations = 400
repetitions = 1
"""


@pytest.mark.usefixtures("version")
def test_ycsb_goes_from_plan_to_report(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    assert {series.operation for series in run.series} >= {"READ"}


DOCUMENTS = """
title = "Documents on an emulator"

[systems.dynamodb-local]
start = { heap_mib = 256 }
consistent_read = false

[workload]
kind = "documents"
records = 200
verify = true
index = ["account"]
get = 0.4
put = 0.1
patch = 0.2
insert = 0.1
delete = 0.05
find = 0.1
put_batch = 0.05

[measure]
threads = 4
warm_up = "300ms"
operations = 400
repetitions = 1
reset = "reload"
"""


@pytest.mark.usefixtures("version")
def test_documents_go_from_plan_to_report(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, DOCUMENTS), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    assert len({series.operation for series in run.series}) >= 7


BATCHES = """
title = "What its requests consume"

[systems.dynamodb-local]
start = {{ heap_mib = 256 }}
{modes}

[workload]
kind = "documents"
records = 200
batch = 10
get = 0
get_batch = {reads}
put_batch = {writes}

[workload.template]
text = "text:1000"

[measure]
threads = 2
warm_up = 0
operations = 100
repetitions = 1
reset = "reload"
"""


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize(
    ("modes", "reads", "writes", "read_units", "write_units"),
    [
        ("", 1, 0, 5.0, 0.0),
        ("consistent_read = true", 1, 0, 10.0, 0.0),
        ("transactional_batches = true", 1, 0, 20.0, 0.0),
        ("", 0, 1, 0.0, 20.0),
        ("transactional_batches = true", 0, 1, 0.0, 8.0),  # the emulator says so; the service charges 40
    ],
)
def test_the_units_that_requests_consume_are_a_metric(
    tmp_path: Path, modes: str, reads: int, writes: int, read_units: float, write_units: float
) -> None:
    """Ten documents of between 1 and 2 KB: half a unit for an eventual read, one for a strong one, two in a
    transaction; two units for a write, four in a transaction. Source: Amazon DynamoDB Developer Guide, "Read and write
    capacity"."""
    text = BATCHES.format(modes=modes, reads=reads, writes=writes)
    done = bakeoff("run", write_plan(tmp_path, text), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err + done.out
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid
    assert all(check.ok for check in run.checks)
    found = [metric(f"{kind}_units_per_op").of(Observed(run)) for kind in ("read", "write")]
    assert found == [pytest.approx(read_units), pytest.approx(write_units)]


@pytest.mark.usefixtures("version")
def test_an_index_has_no_consistent_reads(tmp_path: Path) -> None:
    text = DOCUMENTS.replace("consistent_read = false", 'consistency = "strong"')
    done = bakeoff("run", write_plan(tmp_path, text), "--dry-run", cwd=tmp_path)
    assert done.code == 2, done.err
    assert "indexes on paths" in done.err


def test_both_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    listed = capsys.readouterr().out
    assert "Amazon DynamoDB: the service" in listed
    assert "Amazon's emulator" in listed
