"""What load machines lack is carried there once, to those that show the right certificate; and nothing is said that
others could read on its way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.errors import ExitCode
from bakeoff.fleet.engine_program import engine_sha256
from bakeoff.provision.certificate import make_certificate
from builders.hosts import Host, lacks
from commands import Done, bakeoff, engine_through, only_bundle, wait_until, write_plan
from fleet_on_hosts import Cluster, Fleet, MariaDbOnHost, fleet_on_hosts

pytestmark = [pytest.mark.servers, pytest.mark.skipif(lacks() is not None, reason=str(lacks()))]

NULL = """
title = "What is carried"
[systems.null]
latency_ns = 1_000_000
[workload]
kind = "ycsb"
preset = "c"
records = 1000
[factors]
clients = [4]
[measure]
warm_up = "0s"
operations = 100
timeout = "10m"
repetitions = 1
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_on_hosts(tmp_path_factory.mktemp("fleet"), delays_s=[0.0, 0.0]) as fleet:
        yield fleet


def ran(fleet: Fleet, folder: Path, plan: str, **how: dict[str, str]) -> Done:
    return bakeoff("run", write_plan(folder, plan), "--together", cwd=folder, through=fleet.network.controller, **how)


def assert_measured(done: Done, folder: Path) -> None:
    assert done.code == 0, done.out + done.err
    (run,) = only_bundle(folder).runs
    assert run.state == "done", run.failure


def assert_refused(done: Done, code: ExitCode, *words: str) -> None:
    """In one sentence, and a hint."""
    assert done.code == code, done.err
    assert all(word in done.err for word in words), done.err
    assert done.err.count("error: ") == 1, done.err


# -- the engine --------------------------------------------------------------------------------------------------------


def carried_engine(host: Host) -> Path:
    """The only one that it has; each of its parts was removed."""
    (engine,) = (host.tmp / ".cache" / "bakeoff" / "engines").iterdir()
    return engine


def test_the_engine_is_carried_once_to_each_machine_and_again_where_it_was_damaged(
    fleet: Fleet, tmp_path: Path
) -> None:
    engines = {}
    for place in ("first", "second", "third"):
        (folder := tmp_path / place).mkdir()
        assert_measured(ran(fleet, folder, NULL + fleet.cluster.plan), folder)
        found = {host.name: carried_engine(host) for host in fleet.machines}
        assert {hashlib.sha256(engine.read_bytes()).hexdigest() for engine in found.values()} == {engine_sha256()}
        assert {engine.stat().st_mode & 0o777 for engine in found.values()} == {0o700}
        engines[place] = {name: engine.stat().st_ino for name, engine in found.items()}
        if place == "second":
            found["load1"].write_bytes(b"something else")
    assert engines["first"] == engines["second"]
    assert engines["third"]["load1"] != engines["second"]["load1"]
    assert engines["third"]["load2"] == engines["second"]["load2"]


def test_a_machine_whose_engine_says_another_version_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    """A program that says so wherever the real one is not."""
    says = 'if [ -s "$ENGINE" ]; then exec "$ENGINE" "$@"; fi; echo "{\\"engine_version\\": \\"0.0.7\\"}"'
    done = ran(fleet, tmp_path, NULL + fleet.cluster.plan, env=engine_through(tmp_path, says))
    assert_refused(done, ExitCode.ENVIRONMENT, "0.0.7", "load1")


# -- files -------------------------------------------------------------------------------------------------------------

HATSHOP = """
title = "Hats"
seed = 1
[systems.db]
kind = "mariadb"
address = "{address}"
user = "{user}"
password = {{ file = "password" }}
[workload]
kind = "hatshop"
orders = 50
events_file = "events.jsonl"
[measure]
reset = "reload"
warm_up = 0
operations = 500
timeout = "10m"
repetitions = 1
event_log = true
"""


@pytest.fixture(scope="module")
def server(fleet: Fleet, mariadb_program: object) -> MariaDbOnHost:
    return MariaDbOnHost(fleet.network.host("server"))


def test_files_that_a_plan_names_are_there_and_what_a_client_wrote_comes_back(
    fleet: Fleet, server: MariaDbOnHost, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(f"{server.password}\n")
    list_of_them = ("--write", "events.jsonl", "--seed", "1", "--set", "orders=50", "--set", "events=500")
    assert bakeoff("workloads", "hatshop", *list_of_them, cwd=tmp_path).code == 0
    plan = HATSHOP.format(address=server.address, user=server.user) + fleet.cluster.plan
    assert_measured(ran(fleet, tmp_path, plan), tmp_path)
    bundle = only_bundle(tmp_path)
    (run,) = bundle.runs
    log = (bundle.folder / "runs" / run.id / "events.csv").read_text()
    assert log.count("\n") == 1 + run.ok == 501
    left = [path for host in fleet.machines for path in host.tmp.rglob("*") if "input" in path.name]
    assert left == []


# -- whom it speaks to -------------------------------------------------------------------------------------------------


def test_a_certificate_of_another_authority_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    others = make_certificate(tmp_path)
    own = fleet.cluster.certificate
    assert own is not None
    plan = fleet.cluster.plan.replace(str(own.authority.parent), str(others.authority.parent))
    assert_refused(ran(fleet, tmp_path, NULL + plan), ExitCode.ENVIRONMENT, "certificate", fleet.cluster.address)


def test_a_worker_of_another_authority_is_none_of_the_machines(fleet: Fleet, tmp_path: Path) -> None:
    stranger = fleet.network.host("stranger")
    (tmp_path / "others").mkdir()
    fleet.cluster.start_worker(stranger, certificate=make_certificate(tmp_path / "others"))
    scheduler = fleet.cluster.scheduler_host.last_log
    turned_away = "TLS handshake failed with remote 'tls://" + stranger.address
    wait_until(lambda: turned_away in scheduler.read_text(), "it was turned away")
    assert_measured(ran(fleet, tmp_path, NULL + fleet.cluster.plan), tmp_path)
    (run,) = only_bundle(tmp_path).runs
    assert {client.machine for client in run.clients} == {host.name for host in fleet.machines}


def test_a_scheduler_in_plain_sight_receives_no_password_and_may_be_asked_without_one(
    fleet: Fleet, tmp_path: Path
) -> None:
    plain = Cluster(fleet.network.host("plain"), folder=None)
    plain.start_worker(fleet.network.host("load9"))
    (tmp_path / "password").write_text("open-sesame\n")
    secret = HATSHOP.format(address="10.99.0.99:3306", user="load").replace('events_file = "events.jsonl"\n', "")
    assert_refused(ran(fleet, tmp_path, secret + plain.plan), ExitCode.USAGE, "password", plain.address)
    assert_measured(ran(fleet, tmp_path, NULL + plain.plan), tmp_path)
