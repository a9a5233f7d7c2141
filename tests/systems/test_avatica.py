"""Avatica's server on HSQLDB as a managed server, from plan to report; and LeanXcale's kind against the same server,
which tests the protocol and nothing of the product."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems import SYSTEMS
from bakeoff.systems.avatica.hsqldb import JAVA, SOURCES, AvaticaHsqldb, survival
from bakeoff.systems.avatica.protocol import AvaticaControl, field, fields
from bakeoff.systems.server.control import Address, Login
from builders.systems import configured, fetched, node_of, running
from commands import bakeoff, only_bundle, write_plan
from rust_tests import needs_cargo, run_driver_tests

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def version() -> str:
    """Skips where the JDK is missing, or the server can neither be found nor fetched."""
    if why := JAVA.lacks():
        pytest.skip(f"HSQLDB's server needs a JDK: {why}")
    here = SOURCES.here()
    return here[0].version if here else fetched(SOURCES, "1.27")


@pytest.fixture(scope="module")
def avatica(version: str) -> Iterator[AvaticaHsqldb]:
    with running("avatica-hsqldb", {"start": {"version": version}}, durability="full") as system:
        yield cast(AvaticaHsqldb, system)


def test_it_says_what_it_is_and_how_durable(avatica: AvaticaHsqldb) -> None:
    facts = node_of(avatica).facts()
    assert (facts.product, facts.version) == ("Avatica on HSQLDB", "2.7.3")
    assert "LeanXcale" not in str(facts)
    assert facts.settings["hsqldb.tx"].lower() == "mvcc"
    assert (facts.portable["durability"], facts.portable["isolation"]) == ("full", "read-committed")
    assert node_of(avatica).gauges()["sessions"] >= 1


def test_it_listens_on_loopback_alone_and_runs_without_rights(avatica: AvaticaHsqldb) -> None:
    (pid,) = avatica.pids()
    assert os.stat(f"/proc/{pid}").st_uid != 0
    assert not (avatica.server.folder.path / "account").exists()
    port = f":{avatica.server.port:04X}"
    tables = (Path(f"/proc/{pid}/net/{name}").read_text().splitlines() for name in ("tcp", "tcp6"))
    listening = [line.split()[1] for lines in tables for line in lines if port in line.split()[1] and " 0A " in line]
    assert [place.removesuffix(port) for place in listening] == ["0100007F"]


def test_nobody_else_is_let_in_and_errors_are_sentences(avatica: AvaticaHsqldb) -> None:
    address = Address("127.0.0.1", avatica.server.port)
    with pytest.raises(ServerError, match="refused user 'bench'"):
        AvaticaControl(Login(address, "bench", "wrong"), where="systems.a").rows("VALUES (1)")
    with pytest.raises(ServerError, match=r"unexpected token: NONSENSE"):
        avatica.control.rows("NONSENSE")


def test_a_session_that_ends_leaves_nothing_at_the_server(avatica: AvaticaHsqldb) -> None:
    def sessions() -> float:
        ((count,),) = avatica.control.rows("SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS")
        return float(count)

    controls = [avatica.server.make_control() for _ in range(5)]
    for control in controls:
        control.rows("SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS")
    during = sessions()
    for control in controls:
        control.close()
    assert sessions() <= during - 4  # those of earlier tests may end meanwhile


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize("durability", ["full", pytest.param("none", marks=pytest.mark.slow)])
def test_a_copy_of_its_data_is_put_back(tmp_path: Path, durability: str) -> None:
    with running("avatica-hsqldb", {}, durability=durability) as system:
        avatica = cast(AvaticaHsqldb, system)
        assert node_of(avatica).facts().portable["durability"] == durability
        avatica.control.rows("CREATE TABLE kept (a INTEGER PRIMARY KEY, b VARCHAR(20))")
        avatica.control.rows("INSERT INTO kept VALUES (?, ?)", 1, "it's a value")
        avatica.snapshot(tmp_path / "copy")
        avatica.control.rows("DELETE FROM kept")
        avatica.restore(tmp_path / "copy")
        assert avatica.control.rows("SELECT a, b FROM kept") == [(1, "it's a value")]
        assert node_of(avatica).facts().portable["durability"] == durability
        if durability == "full":
            avatica.control.rows("INSERT INTO kept VALUES (?, ?)", 2, None)
            avatica.server.kill()
            avatica.start()
            assert avatica.control.rows("SELECT a, b FROM kept ORDER BY a") == [(1, "it's a value"), (2, None)]


@needs_cargo
def test_the_drivers_own_tests_pass(avatica: AvaticaHsqldb) -> None:
    address = {
        "BAKEOFF_TEST_AVATICA": f"avatica://bench@{avatica.server.bench_address('tcp')}/",
        "BAKEOFF_TEST_AVATICA_PASSWORD": avatica.server.bench_password,
    }
    files = ("avatica", "conformance", "values", "bulk", "session_allocation")
    assert run_driver_tests(files, address, of="avatica") == []
    assert avatica.alive()


WORKLOADS = {
    "ycsb": """
kind = "ycsb"
records = 1000
data_integrity = true
read_proportion = 0.4
update_proportion = 0.3
insert_proportion = 0.2
scan_proportion = 0.1
""",
    "sysbench": 'kind = "sysbench"\ntables = 2\ntable_size = 1000\nscript = "oltp_read_write"\n',
    "linkbench": 'kind = "linkbench"\nmaxid1 = 501\nloader_chunk_size = 200\n',
    "hatshop": 'kind = "hatshop"\norders = 50\nevents = 500\n',
    "sql": """
kind = "sql"
schema = "counter.sql"
scripts = [{ file = "count.sql", expect = [{ statement = 1, rows = 1 }, { statement = 2, rows = 1 }] }]
load = { counter = { file = "counter.csv" } }
checks = [{ name = "rows", equal = ["SELECT COUNT(*) FROM counter", "SELECT 4"] }]
""",
}
FILES = {
    "counter.sql": "CREATE TABLE counter (id INTEGER NOT NULL PRIMARY KEY, n BIGINT NOT NULL, made DATE);",
    "count.sql": "\\set id random(1, 4)\nUPDATE counter SET n = n + 1 WHERE id = :id;\n"
    "SELECT n, made FROM counter WHERE id = :id;",
    "counter.csv": "id,n,made\n1,0,2020-02-29\n2,0,\n3,0,2021-01-01\n4,0,\n",
}
#: Where rows that a statement found must not be another's until it changes them.
ISOLATION = {"ycsb": "repeatable-read"}
PLAN = """
title = "Avatica"
[systems.avatica-hsqldb]
[workload]
{workload}
[factors]
threads = 4
isolation = "{isolation}"
[measure]
warm_up = 0
operations = 500
timeout = "10m"
repetitions = 1
retry = {{ retries = 100, on = ["conflict"], backoff = "1ms" }}    # for a busy machine
"""


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize(
    "workload",
    ["ycsb", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sql", "sysbench", "linkbench", "hatshop"))],
)
def test_a_workload_is_measured_and_its_data_are_right(tmp_path: Path, workload: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    plan = write_plan(
        tmp_path, PLAN.format(workload=WORKLOADS[workload], isolation=ISOLATION.get(workload, "read-committed"))
    )
    done = bakeoff("run", plan, "--together", "--allow-disturbed", cwd=tmp_path)
    assert done.code == 0, done.err + done.out
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    assert run.ok >= 450
    assert run.server.cpu_s


def test_tpcc_is_refused_before_anything_starts(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, PLAN.format(workload='kind = "tpcc"\n', isolation="serializable"))
    done = bakeoff("run", plan, "--together", cwd=tmp_path)
    assert done.code == 2
    assert "tpcc needs reads that lock their rows" in done.err


LEANXCALE = """
title = "The protocol of LeanXcale"
[systems.leanxcale]
address = "127.0.0.1:{port}"
user = "bench"
password = {{ env = "LEANXCALE_PASSWORD" }}
[workload]
kind = "ycsb"
records = 100
[measure]
reset = "reload"
warm_up = 0
operations = 200
repetitions = 1
"""


def test_leanxcales_kind_speaks_to_an_address(avatica: AvaticaHsqldb, tmp_path: Path) -> None:
    plan = write_plan(tmp_path, LEANXCALE.format(port=avatica.server.port))
    env = {"LEANXCALE_PASSWORD": avatica.server.bench_password}
    done = bakeoff("run", plan, "--together", "--allow-changes", "--allow-disturbed", cwd=tmp_path, env=env)
    assert done.code == 0, done.err + done.out
    (run,) = only_bundle(tmp_path).runs
    assert run.ok == 200
    assert avatica.control.rows(
        "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'BAKEOFF_CLAIM'"
    ) == [(0,)]


def test_leanxcale_without_an_address_is_refused(place: Path) -> None:
    with pytest.raises(PlanError, match="bakeoff has no package of it"):
        configured("leanxcale", place / "l", {})


def test_they_are_listed_for_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert not SYSTEMS["leanxcale"].capabilities().managed
    assert AvaticaHsqldb.peer_of == "LeanXcale"
    assert main(["systems"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "speaks LeanXcale's protocol, nothing more" in said
    assert "never tried against the product" in said


@pytest.mark.parametrize(
    ("settings", "level"),
    [({"hsqldb.write_delay": "false"}, "full"), ({}, "none"), ({"hsqldb.log_data": "false"}, "none")],
)
def test_what_survives_follows_from_two_settings(settings: dict[str, str], level: str) -> None:
    assert survival(settings).level == level


def test_messages_are_read_as_they_were_written() -> None:
    message = field(1, 300) + field(2, "Grün") + field(2, b"\xff")
    assert fields(message) == {1: [300], 2: ["Grün".encode(), b"\xff"]}
