"""SimpleDB's driver and control plane: against moto's emulator of five calls, managed, and against exchanges that are
written down from Amazon's Developer Guide for what it does not have. Nothing here goes to the service itself."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.model.levels import PACKAGER
from bakeoff.provision import pip
from bakeoff.systems.aws_control import AbsentError
from bakeoff.systems.aws_credentials import Credentials
from bakeoff.systems.lease import LEASE_S
from bakeoff.systems.simpledb.control import SimpledbControl, signature, signed
from bakeoff.systems.simpledb.ledger import SimpledbLedger
from bakeoff.systems.simpledb.moto import SOURCES, MotoSimpleDb
from bakeoff.systems.simpledb.system import SimpleDb
from builders.exchanges import Exchange, replaying
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

KIND = "moto-simpledb"
NOW_S = 1_317_396_275.0


@pytest.fixture(scope="module")
def version() -> str:
    """Skips where there is no pip, or the packages can neither be found nor fetched."""
    if lacking := SOURCES.source("pypi").lacks():
        pytest.skip(lacking)
    return fetched(SOURCES, "5.2")


@pytest.fixture(scope="module")
def moto(version: str) -> Iterator[MotoSimpleDb]:
    with running(KIND, {"start": {}}) as system:
        yield cast(MotoSimpleDb, system)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nobody."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "bench")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)


# -- requests ---------------------------------------------------------------------------------------------------------


def test_a_published_request_has_its_published_signature() -> None:
    """Of AWS's documentation of signature version 2 ("DescribeJobFlows")."""
    said = (
        "GET\nelasticmapreduce.amazonaws.com\n/\nAWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Action=DescribeJobFlows"
        "&SignatureMethod=HmacSHA256&SignatureVersion=2&Timestamp=2011-10-03T15%3A19%3A30&Version=2009-03-31"
    )
    key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    assert signature(key, said) == "i91nKc4PWAt0JJIdXwz9HxZCJDdiy6cf/Mj6vPxyYIs="


def test_parameters_are_sorted_and_the_secret_is_not_among_them() -> None:
    body = signed(
        Credentials("A", "secret", "token"), "sdb.amazonaws.com", {"Action": "Select", "SelectExpression": "*"}
    )
    names = [name for name, _ in parse_qsl(body)]
    assert names[:-1] == sorted(names[:-1])
    assert (names[-1], dict(parse_qsl(body))["SecurityToken"]) == ("Signature", "token")
    assert "secret" not in body


# -- the emulator -----------------------------------------------------------------------------------------------------


def control_of(system: Any) -> SimpledbControl:
    return cast(SimpledbControl, system.control)


def test_it_says_that_it_is_an_emulator_and_keeps_nothing(moto: MotoSimpleDb) -> None:
    facts = node_of(moto).facts()
    assert (facts.product, facts.version) == ("moto", "5.2.5")
    assert facts.settings == {"storage": "memory", "region": "us-east-1"}
    assert (facts.portable["durability"], facts.portable["consistent reads"]) == ("none", "off")
    assert facts.portable[PACKAGER] == "PyPI"
    assert MotoSimpleDb.peer_of == "SimpleDB"
    assert moto.size_on_disk_bytes() is None
    with pytest.raises(ServerError, match="memory alone"):
        moto.make_cold()


def test_it_listens_on_loopback_alone_and_runs_without_rights(moto: MotoSimpleDb) -> None:
    (pid,) = moto.pids()
    assert os.geteuid() != 0 or os.stat(f"/proc/{pid}").st_uid != 0
    port = f"{int(str(moto.server.bench_address('tcp')).rpartition(':')[2]):04X}"
    listening = [
        line.split()[1]
        for family in ("tcp", "tcp6")
        for line in Path("/proc/net", family).read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port}")
    ]
    assert listening
    assert all(address.rpartition(":")[0].endswith("0100007F") for address in listening), listening


def test_items_and_errors_are_read(moto: MotoSimpleDb) -> None:
    control = control_of(moto)
    with pytest.raises(AbsentError):
        control.item("theirs", "k")
    control.ask("CreateDomain", {"DomainName": "theirs"})
    control.put("theirs", "k", {"a": "1 &<", "b": "2"})
    control.put("theirs", "k", {"a": "3"})
    assert control.item("theirs", "k") == {"a": "3", "b": "2"}
    assert control.item("theirs", "no") == {}
    control.ask("DeleteDomain", {"DomainName": "theirs"})
    with pytest.raises(ServerError, match="DomainName"):
        control.item("?", "k")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"start": {"settings": {"x": 1}}}, "has no settings"),
        ({"start": {}, "tls": True}, "has no tls"),
        ({"start": {}, "consistent_reads": True}, "unknown key"),
    ],
)
def test_what_it_has_not_is_refused(options: Mapping[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=what):
        configured(KIND, tmp_path, dict(options))


def test_what_it_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "interpreter", lambda: None)
    with pytest.raises(ServerError, match="that other accounts may run"):
        SOURCES.find(None)


def test_at_an_address_the_emulator_is_refused_by_what_it_lacks(moto: MotoSimpleDb) -> None:
    before = domains(moto)
    address = str(moto.server.bench_address("tcp"))
    with pytest.raises(PlanError, match="takes no Select") as refused:
        configured("simpledb", Path("/"), {"address": address}).start()
    assert "moto-simpledb" in refused.value.hint
    assert domains(moto) == before


def domains(moto: MotoSimpleDb) -> list[str]:
    return [one.text or "" for one in control_of(moto).ask("ListDomains", {}).iter("DomainName")]


# -- the service ------------------------------------------------------------------------------------------------------


def test_a_region_is_an_address_that_costs_and_this_machine_does_not() -> None:
    options = SimpleDb.in_one_spelling({"region": "eu-west-1"}, "systems.simpledb")
    assert (options["address"], options["tls"]) == ("sdb.eu-west-1.amazonaws.com:443", True)
    first = SimpleDb.in_one_spelling({"region": "us-east-1"}, "systems.simpledb")
    assert first["address"] == "sdb.amazonaws.com:443"
    service = SimpleDb.public_service(options)
    assert service is not None
    assert "1.31 USD per million reads, 3.08 USD per million writes (estimates, not compared" in service.price_words
    for here in ("127.0.0.1:8000", "localhost", "http://localhost:8000/"):
        assert SimpleDb.public_service({"address": here}) is None
    for elsewhere in ("x.example.org/", "eu\r\nX: y", ""):
        with pytest.raises(PlanError, match="is not the name of a region"):
            SimpleDb.in_one_spelling({"region": elsewhere}, "systems.simpledb")
    with pytest.raises(PlanError, match="a service, which bakeoff cannot start") as refused:
        configured("simpledb", Path("/"), {})
    assert "moto-simpledb" in refused.value.hint


def test_portable_names_of_consistency_are_options_of_the_driver() -> None:
    for said in SimpleDb.consistency.values():
        configured("simpledb", Path("/"), {"address": "127.0.0.1:1", **said})


def shown(asked: str, _: Mapping[str, str], body: str) -> str:
    """The action and its own parameters."""
    common = ("AWSAccessKeyId", "Signature", "SignatureMethod", "SignatureVersion", "Timestamp", "Version")
    said = {name: value for name, value in parse_qsl(body, keep_blank_values=True) if name not in common}
    assert asked == "POST /"
    return " ".join([said.pop("Action"), *(f"{name}={value}" for name, value in sorted(said.items()))])


XML = {"Content-Type": "text/xml"}
_META = "<ResponseMetadata><RequestId>b1e8f1f7</RequestId><BoxUsage>0.0000219907</BoxUsage></ResponseMetadata>"


def said(asked: str, result: str = "") -> Exchange:
    call = asked.partition(" ")[0]
    namespace = "http://sdb.amazonaws.com/doc/2009-04-15/"
    return Exchange(asked, 200, f'<{call}Response xmlns="{namespace}">{result}{_META}</{call}Response>', XML)


def refused(asked: str, status: int, code: str, words: str) -> Exchange:
    error = f"<Error><Code>{code}</Code><Message>{words}</Message><BoxUsage>0.0000219907</BoxUsage></Error>"
    body = f'<?xml version="1.0"?>\n<Response><Errors>{error}</Errors><RequestID>f2ae9b45</RequestID></Response>'
    return Exchange(asked, status, body, XML)


def get(domain: str, item: str, **attributes: str) -> Exchange:
    held = "".join(f"<Attribute><Name>{name}</Name><Value>{value}</Value></Attribute>"
                   for name, value in attributes.items())  # fmt: skip
    asked = f"GetAttributes ConsistentRead=true DomainName={domain} ItemName={item}"
    return said(asked, f"<GetAttributesResult>{held}</GetAttributesResult>")


def no_domain(domain: str, item: str) -> Exchange:
    return refused(get(domain, item).asked, 400, "NoSuchDomain", "The specified domain does not exist.")


def put(domain: str, item: str, expected: str = "", **attributes: str) -> Exchange:
    parts = []
    for number, (name, value) in enumerate(attributes.items(), 1):
        of = f"Attribute.{number}"
        parts += [f"{of}.Name={name}", f"{of}.Replace=true", f"{of}.Value={value}"]
    return said(" ".join(["PutAttributes", *parts, f"DomainName={domain}", *expected.split(), f"ItemName={item}"]))


LEDGER = "bakeoff_tables"
SELECT = f"Select ConsistentRead=true SelectExpression=select itemName() from `{LEDGER}` limit 1"
EMPTY = said(SELECT, "<SelectResult></SelectResult>")
HOLDER = f"pid {os.getpid()} on {socket.gethostname()}, 1"
UNTIL = str(round(NOW_S + LEASE_S))
BEFORE = (EMPTY, said("ListDomains", "<ListDomainsResult></ListDomainsResult>"))
FREE = "Expected.1.Exists=false Expected.1.Name=holder"
DELETED = said(f"DeleteAttributes DomainName={LEDGER} Expected.1.Name=holder Expected.1.Value={HOLDER} ItemName=#claim")


def claimed(expected: str = FREE) -> Exchange:
    return put(LEDGER, "#claim", expected, holder=HOLDER, until=UNTIL)


@pytest.fixture
def written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder and the time that the exchanges have."""
    monkeypatch.setattr(uuid, "uuid4", lambda: 1)
    monkeypatch.setattr(time, "time", lambda: NOW_S)


@contextmanager
def service(exchanges: Sequence[Exchange], **options: Any) -> Iterator[SimpleDb]:
    with replaying(exchanges, shown) as address:
        system = configured("simpledb", Path("/"), {"address": address, **options})
        try:
            yield cast(SimpleDb, system)
        finally:
            system.stop()


@pytest.mark.usefixtures("written_down")
def test_a_claim_is_taken_on_a_condition_and_given_up_with_the_ledger() -> None:
    script = [
        refused(SELECT, 400, "NoSuchDomain", "The specified domain does not exist."),
        BEFORE[1],
        no_domain(LEDGER, "#claim"),
        said(f"CreateDomain DomainName={LEDGER}"),
        get(LEDGER, "#claim"),
        claimed(),
        DELETED,
        EMPTY,
        said(f"DeleteDomain DomainName={LEDGER}"),
    ]
    with service(script) as system:
        system.start()


@pytest.mark.usefixtures("written_down")
def test_two_do_not_work_in_one_region() -> None:
    there = get(LEDGER, "#claim", holder="pid 1 on db2", until=str(round(NOW_S + 5)))
    with (
        service([*BEFORE, there, there]) as system,
        pytest.raises(ServerError, match=r"another bakeoff run \(pid 1 on db2\) is using"),
    ):
        system.start()
    unmet = refused(claimed().asked, 409, "ConditionalCheckFailed", "Conditional check failed.")
    with (
        service([*BEFORE, get(LEDGER, "#claim"), get(LEDGER, "#claim"), unmet]) as system,
        pytest.raises(ServerError, match="which was faster"),
    ):
        system.start()


@pytest.mark.usefixtures("written_down")
def test_a_claim_that_was_not_renewed_is_taken_over_from_its_holder_alone() -> None:
    killed = get(LEDGER, "#claim", holder="pid1", until=str(round(NOW_S - 1)))
    over = claimed("Expected.1.Name=holder Expected.1.Value=pid1")
    other = said(SELECT, "<SelectResult><Item><Name>usertable</Name></Item></SelectResult>")
    with service([*BEFORE, killed, killed, over, DELETED, other]) as system:
        system.start()


def test_only_what_bakeoff_made_is_dropped() -> None:
    entry = {"dataset": "data", "bundle": "bundle", "state": "loading", "mark": "none"}
    loaded = {**entry, "state": "loaded", "mark": "m1"}
    mark = get("ours", "#bakeoff", made="m1")
    theirs = (get("theirs", "#bakeoff"), get(LEDGER, "theirs"))
    script = [
        *theirs,
        # begin
        no_domain("ours", "#bakeoff"),
        *(get(LEDGER, "#claim"), no_domain("ours", "#bakeoff"), put(LEDGER, "ours", **entry)),
        # while it is loaded
        *(mark, get(LEDGER, "ours", **entry)),
        # loaded
        *(mark, put(LEDGER, "ours", state="loaded", mark="m1")),
        *(mark, get(LEDGER, "ours", **loaded)),
        # somebody has made one of that name since
        *(get("ours", "#bakeoff", made="m2"), get(LEDGER, "ours", **loaded)),
        # drop
        *(mark, theirs[0], get(LEDGER, "ours", **loaded), theirs[1]),
        *(mark, theirs[0], said("DeleteDomain DomainName=ours")),
        *(said(f"DeleteAttributes DomainName={LEDGER} ItemName={name}") for name in ("ours", "theirs")),
    ]
    with service(script) as system:
        ledger = cast(SimpledbLedger, system.ledger())
        assert ledger.strangers(["theirs"]) == ["theirs"]
        ledger.begin(["ours"], "data", "bundle")
        assert [(one.ours, one.whole) for one in ledger.there(["ours"])] == [(True, False)]
        ledger.loaded(["ours"])
        assert [(one.ours, one.whole, one.dataset) for one in ledger.there(["ours"])] == [(True, True, "data")]
        assert ledger.strangers(["ours"]) == ["ours"]
        ledger.drop(["ours", "theirs"])


def test_who_is_refused_or_not_there_is_named() -> None:
    words = "The request signature we calculated does not match the signature you provided."
    with (
        service([refused(SELECT, 403, "SignatureDoesNotMatch", words)]) as system,
        pytest.raises(ServerError, match=r"refused user '': The request signature"),
    ):
        system.start()
    with (
        service([refused(SELECT, 403, "AccessFailure", "Access to the resource is denied.")]) as system,
        pytest.raises(ServerError, match=r"lacks a privilege: Access to the resource is denied"),
    ):
        system.start()
    with pytest.raises(ServerError, match=r"could not connect to 127\.0\.0\.1:1"):
        configured("simpledb", Path("/"), {"address": "127.0.0.1:1"}).start()


# -- from plan to report ----------------------------------------------------------------------------------------------


@needs_cargo
def test_the_drivers_own_tests_pass(moto: MotoSimpleDb) -> None:
    variable = "BAKEOFF_TEST_MOTO_SIMPLEDB"
    login = moto.server.bench_login("tcp")
    address = {variable: f"{KIND}://{login.user}@{login.address}/", f"{variable}_PASSWORD": login.password}
    assert run_driver_tests(("simpledb", "conformance"), address, of=KIND) == []
    assert moto.alive()


PLAN = """
title = "An emulator"

[systems.moto-simpledb]
start = {}

[workload]
kind = "ycsb"
preset = "a"
records = 100
data_integrity = true

[measure]
threads = 2
warm_up = 0
operations = 300
repetitions = 1
reset = "reload"
"""


@pytest.mark.usefixtures("version")
def test_ycsb_goes_from_plan_to_report(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, PLAN), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    assert run.valid, run.validity
    assert run.ok == 300
    assert all(check.ok for check in run.checks), run.checks
    assert {series.operation for series in run.series} >= {"READ", "UPDATE"}
    assert "moto-simpledb (peer)" in (bundle.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('preset = "a"', 'preset = "e"', "moto-simpledb"),
        ('preset = "a"', 'preset = "a"\nfield_length = 2000', "values of 2000 bytes"),
        ('kind = "ycsb"\npreset = "a"\nrecords = 100\ndata_integrity = true', 'kind = "documents"', "moto-simpledb"),
        ("start = {}", 'consistency = "quorum"', "moto-simpledb has no consistency quorum"),
    ],
)
def test_what_it_lacks_is_refused_before_anything_starts(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in PLAN
    done = bakeoff("run", write_plan(tmp_path, PLAN.replace(old, new)), "--dry-run", cwd=tmp_path)
    assert done.code == 2, done.out + done.err
    assert words in done.err


def test_a_plan_on_the_service_begins_only_where_somebody_agrees_to_pay(tmp_path: Path) -> None:
    text = PLAN.replace(KIND, "simpledb").replace("start = {}", 'region = "us-east-1"')
    done = bakeoff("run", write_plan(tmp_path, text), "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 2, done.err
    assert "--allow-cost" in done.err
    assert "Amazon SimpleDB" in done.err


def test_both_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    listed = capsys.readouterr().out
    assert "Amazon SimpleDB: the service" in listed
    assert "emulator of five calls" in listed
