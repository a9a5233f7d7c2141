"""The machines that tests of the fleet are made of are what they are taken for."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bakeoff.provision.certificate import make_certificate
from bakeoff.provision.installation import Installation
from builders.hosts import Host, Network, lacks
from commands import wait_until
from fleet_on_hosts import Cluster, MariaDbOnHost

pytestmark = [pytest.mark.servers, pytest.mark.skipif(lacks() is not None, reason=str(lacks()))]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with Network(tmp_path_factory.mktemp("network")) as network:
        network.host("near")
        network.host("ahead", ahead_s=36_000, hidden=[Path(__file__).parent])
        network.host("slow", delay_s=0.005)
        yield network


@pytest.fixture
def ahead(network: Network) -> Host:
    return network.hosts[1]


def said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


#: A host answers at once that nobody listens at port 1. Seconds, or "inf".
ROUND_TRIP = """
import socket, sys, time
with socket.socket() as asker:
    asker.settimeout(0.5)
    begin = time.monotonic()
    try:
        asker.connect((sys.argv[1], 1))
    except ConnectionRefusedError:
        print(time.monotonic() - begin)
    except OSError:
        print("inf")
"""


def round_trip_s(network: Network, host: Host) -> float:
    return float(said([*network.controller, *python(ROUND_TRIP), host.address]))


def test_a_host_s_monotonic_clock_is_ahead_and_the_time_of_day_is_not(ahead: Host) -> None:
    before = time.monotonic(), time.time()
    there = said(ahead.command(python("import time; print(time.monotonic(), time.time())"))).split()
    after = time.monotonic(), time.time()
    assert before[0] + 36_000 <= float(there[0]) <= after[0] + 36_000
    assert before[1] <= float(there[1]) <= after[1]


def test_a_host_sees_no_file_of_ours_in_tmp_and_nothing_hidden(ahead: Host, tmp_path: Path) -> None:
    (tmp_path / "ours").touch()
    (ahead.tmp / "theirs").write_text("of the host")
    look = "import os, sys; print(os.path.exists(sys.argv[1]), open('/tmp/theirs').read(), os.listdir(sys.argv[2]))"
    command = [*python(look), str(tmp_path / "ours"), str(Path(__file__).parent)]
    assert said(ahead.command(command)) == "False of the host []"


def test_a_cut_host_is_not_heard_until_it_is_mended(network: Network, ahead: Host) -> None:
    assert round_trip_s(network, ahead) < math.inf
    ahead.cut()
    assert round_trip_s(network, ahead) == math.inf
    ahead.mend()
    wait_until(lambda: round_trip_s(network, ahead) < math.inf, "the mended host answers")


def test_a_round_trip_to_a_slow_host_takes_its_delay_twice(network: Network) -> None:
    assert 0.010 <= min(round_trip_s(network, network.hosts[2]) for _ in range(5)) < 0.1


def test_what_runs_on_a_host_can_be_frozen_and_killed(ahead: Host) -> None:
    def state() -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    process = ahead.start(["sleep", "600"])
    pid = ahead.pid_of(process)
    assert pid in ahead.pids()
    ahead.freeze(process)
    wait_until(lambda: state() == "T", "it is frozen")
    ahead.thaw(process)
    wait_until(lambda: state() == "S", "it goes on")
    ahead.freeze(process)
    ahead.kill(process)
    assert ahead.pids() == []


def test_dask_runs_tasks_on_hosts_over_tls_and_takes_no_other_certificate(network: Network, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    cluster = Cluster(network.host("scheduler"), tmp_path)
    for host in network.hosts[:3]:
        cluster.start_worker(host)
    ask = """
import sys, time
from distributed import Client
from distributed.security import Security
address, ca, cert, key = sys.argv[1:]
security = Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)
with Client(address, security=security, timeout="5s") as client:
    print(*sorted(worker["name"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()))
    print(client.submit(time.monotonic, workers=["ahead"], pure=False).result() > time.monotonic() + 35_000)
"""
    files = cluster.certificate
    assert files is not None
    asking = [*network.controller, *python(ask), cluster.address]
    own = map(str, (files.authority, files.certificate, files.key))
    assert said([*asking, *own]).split() == ["ahead", "near", "slow", "True"]
    (elsewhere := tmp_path / "elsewhere").mkdir()
    others = make_certificate(elsewhere)
    wrong = map(str, (others.authority, others.certificate, others.key))
    done = subprocess.run([*asking, *wrong], capture_output=True, text=True, check=False)
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


def test_a_server_on_a_host_answers_others_by_its_address(network: Network, mariadb_program: Installation) -> None:
    server = MariaDbOnHost(network.host("server"))
    address, _, port = server.address.partition(":")
    count = """
import pymysql, sys
with pymysql.connect(host=sys.argv[1], port=int(sys.argv[2]), user=sys.argv[3], password=sys.argv[4]) as there:
    with there.cursor() as cursor:
        cursor.execute("SELECT @@hostname IS NOT NULL")
        print(cursor.fetchall()[0][0])
"""
    assert said(network.hosts[0].command([*python(count), address, port, server.user, server.password])) == "1"
    assert server.sessions() == 0


def test_hosts_and_all_that_runs_there_end_with_the_process_that_made_them(tmp_path: Path) -> None:
    """Also where it is killed: the kernel sees to it."""
    script = """
import sys, time
from pathlib import Path
from bakeoff.provision.certificate import make_certificate
from bakeoff.provision.installation import Installation
from builders.hosts import Network
with Network(Path(sys.argv[1])) as network:
    host = network.host("only", delay_s=0.001)
    host.start(["sleep", "600"])
    time.sleep(0.2)
    print(host.pid, *host.pids(), *(holder.pid for holder in network._holders), flush=True)
    time.sleep(600)
"""
    maker = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        env={"PYTHONPATH": str(Path(__file__).parent.parent), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert maker.stdout is not None
    pids = maker.stdout.readline().split()
    maker.kill()
    maker.wait()
    maker.stdout.close()
    assert len(pids) == 5, pids
    wait_until(lambda: not any(Path("/proc", pid, "root", "tmp").exists() for pid in pids), "all of them have ended")
