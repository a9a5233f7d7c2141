"""[fleet] says on which machines clients run, in exactly one way; what they cannot run is refused before all starts."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bakeoff.cli import parser
from bakeoff.errors import ExitCode, PlanError
from bakeoff.fleet.clusters import QUIET, opened
from bakeoff.fleet.spec import (
    Existing,
    FleetSpec,
    Kubernetes,
    Local,
    Slurm,
    Ssh,
    Tls,
    is_loopback,
    spread,
    spread_words,
)
from bakeoff.plan import machines
from bakeoff.plan.document import fleet
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.new_plan import Quick, plan_text
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.schedule.machine_sharing import cores_of_all

NULL = "[systems.null]"
SERVER = '[systems.mysql]\naddress = "db1:3306"\nuser = "bench"\npassword = { env = "DB_PASSWORD" }'
HERE = Path("/plans")
HOWTO = Path(__file__).parents[2] / "docs/howto"


def read(fleet: str, *, systems: str = NULL, said: tuple[str, ...] = (), must_run: bool = True) -> ResolvedPlan:
    text = f'title = "t"\nclients = 3\n{systems}\n[workload]\nkind = "ycsb"\npreset = "c"\n{fleet}\n'
    return resolve(text, HERE, said=said, must_run=must_run)


def refused(fleet: str, *, systems: str = NULL) -> PlanError:
    with pytest.raises(PlanError) as caught:
        read(fleet, systems=systems, must_run=False)
    assert caught.value.exit_code == ExitCode.USAGE
    return caught.value


def test_each_way_of_reaching_machines_is_read() -> None:
    ways: dict[str, Any] = {
        "local = 4": Local(4),
        'ssh = ["load1", "load2"]': Ssh(("load1", "load2"), "python3"),
        'ssh = "load1"\nremote_python = "/opt/b/bin/python"': Ssh(("load1",), "/opt/b/bin/python"),
        'address = "tcp://10.0.0.1:8786"': Existing("tcp://10.0.0.1:8786"),
        'address = "tls://s:8786"\ntls = { ca = "ca.pem", cert = "/etc/c.pem", key = "k.pem" }': Existing(
            "tls://s:8786", Tls(HERE / "ca.pem", Path("/etc/c.pem"), HERE / "k.pem")
        ),
        'slurm = { jobs = 3, cores = 8, queue = "batch", walltime = "2h" }': Slurm(
            3, 8, "4GiB", queue="batch", walltime_s=7200.0
        ),
    }
    for words, way in ways.items():
        fleet = read(f"[fleet]\n{words}", must_run=False).fleet
        assert fleet is not None
        assert fleet.way == way, words


def test_a_plan_without_a_fleet_runs_here() -> None:
    plan = read("")
    assert plan.fleet is None
    assert "fleet" not in plan.record.resolved
    assert plan.record.fleet_words == "this machine"


def test_what_a_plan_says_of_its_fleet_is_kept_and_reads_back() -> None:
    tree = read('[fleet]\nssh = ["a", "b"]\nmin_clients = 1\nwait = "1m"\nlisten = "10.0.0.1:7000"').record.resolved
    assert tree["fleet"] == {"ssh": ["a", "b"], "min_clients": 1, "wait": "60s", "listen": "10.0.0.1:7000"}
    spec = fleet.FleetTable.model_validate(tree["fleet"]).spec(HERE)
    assert (spec.min_clients, spec.wait_s, spec.listen, spec.port) == (1, 60.0, "10.0.0.1", 7000)


@pytest.mark.parametrize(
    ("fleet", "what", "hint"),
    [
        ("", "names no load machines", "address, ssh, kubernetes, slurm, local"),
        ("local = 2\nssh = ['a']", "`ssh` and `local` name load machines each", "write one of"),
        ("local = 0", "`local` is 0, and must be at least 1", ""),
        ("locale = 2", "unknown key `locale`", "did you mean `local`?"),
        ("ssh = []", "`ssh` is empty", "at least one"),
        ("ssh = ['a', 'a']", '"a" is named twice', "any number of clients"),
        ("ssh = ['bench@a']", '"bench@a" is not the name of a machine', "~/.ssh/config"),
        ("address = 's:8786'", '"s:8786" is not the address of a scheduler', "tls:// or tcp://"),
        ("address = 'tls://s'", '"tls://s" is not the address of a scheduler', "tls://scheduler:8786"),
        ("address = 'http://s:1'", '"http://s:1" is not the address', "tls:// or tcp://"),
        ("address = 'tls://u:p@s:1'", "is not the address of a scheduler", ""),
        ("address = 'tls://s:1'\ntls = { ca = 'a', cert = 'b' }", "[fleet] tls needs `key`", ""),
        ("address = 'tls://s:1'\ntls = { ca = 'a', crt = 'b', key = 'c' }", "unknown key `crt`", "`cert`"),
        ("address = 'tcp://s:1'\ntls = { ca = 'a', cert = 'b', key = 'c' }", "tcp://s:1 is not encrypted", "tls://"),
        ("local = 2\ntls = { ca = 'a', cert = 'b', key = 'c' }", "`tls` belongs to `address`", "leave out `tls`"),
        ("local = 2\nremote_python = 'python3'", "`remote_python` belongs to `ssh`", "leave out"),
        (
            "local = 2\nmin_clients = 3",
            "`min_clients` is 3, and there are 2 load machines",
            "name more machines, or lower `min_clients`",
        ),
        ("local = 2\nwait = 60", "a duration needs a unit", '"10s"'),
        ("local = 2\nlisten = 'tcp://10.0.0.1'", "an address of this machine", '"10.0.0.1:7000"'),
        ("kubernetes = { image = 'i' }", "[fleet] kubernetes needs `replicas`", ""),
        ("kubernetes = { image = 'i', replicas = 2 }", "pods connect to this machine", 'listen = "10.0.0.1"'),
        ("slurm = { jobs = 1, cores = 1, waltime = '1h' }", "unknown key `waltime`", "`walltime`"),
    ],
)
def test_a_wrong_fleet_is_refused_in_a_sentence(fleet: str, what: str, hint: str) -> None:
    error = refused(f"[fleet]\n{fleet}")
    assert what in error.what
    assert hint in error.hint
    assert "fleet" in error.where


@pytest.mark.parametrize(
    ("fleet", "systems", "what"),
    [
        ("ssh = ['a']", "[systems.sqlite]", "sqlite runs inside the client, on a file of this machine"),
        ("ssh = ['a']", "[systems.null]\nstore = true", "null runs inside the client"),
        ("ssh = ['a']", SERVER.replace("db1", "127.0.0.1"), "only this machine reaches mysql at 127.0.0.1:3306"),
        ("ssh = ['a']", SERVER.replace("db1:3306", "/run/my.sock"), "only this machine reaches mysql at /run/my.sock"),
        ("address = 'tcp://s:1'", SERVER, "the password of mysql would go to the machines of tcp://s:1 unencrypted"),
        ("kubernetes = { image = 'i', replicas = 2 }\nlisten = 'c'", SERVER, "would go to 2 pods of i unencrypted"),
    ],
)
def test_what_load_machines_cannot_reach_or_may_not_know_is_refused(fleet: str, systems: str, what: str) -> None:
    error = refused(f"[fleet]\n{fleet}", systems=systems)
    assert what in error.what
    assert error.hint


def test_a_server_that_is_started_here_is_refused_with_machines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff.systems.mysql.mariadb import MariaDb

    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))
    error = refused('[fleet]\nssh = ["load1"]', systems="[systems.mariadb]\nstart = true")
    assert (
        error.what == "mariadb is a managed server, which only this machine reaches, and the clients run on load1 (SSH)"
    )
    assert read("[fleet]\nlocal = 2", systems="[systems.mariadb]\nstart = true", must_run=False).fleet


@pytest.mark.parametrize(
    "fleet", ["local = 2", "address = 'tcp://127.0.0.1:8786'", "address = 'tls://s:1'", "ssh = ['a']"]
)
def test_a_password_goes_where_the_way_is_encrypted_or_does_not_leave_this_machine(fleet: str) -> None:
    assert read(f"[fleet]\n{fleet}", systems=SERVER, must_run=False).fleet


def test_embedded_databases_run_in_workers_of_this_machine() -> None:
    assert read("[fleet]\nlocal = 2", systems="[systems.sqlite]").fleet


@pytest.mark.parametrize(
    ("fleet", "missing", "extra"),
    [
        ("local = 2", "distributed", "bakeoff[fleet]"),
        ("ssh = ['a']", "asyncssh", "bakeoff[fleet]"),
        ("kubernetes = { image = 'i', replicas = 2 }\nlisten = 'c'", "dask_kubernetes", "bakeoff[kubernetes]"),
        ("slurm = { jobs = 1, cores = 1 }", "dask_jobqueue", "bakeoff[slurm]"),
    ],
)
def test_a_missing_package_is_one_sentence_with_its_extra(
    fleet: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(PlanError) as caught:
        read(f"[fleet]\n{fleet}")
    assert f"the Python package {missing} is missing" in caught.value.what
    assert extra in caught.value.hint
    warnings = read(f"[fleet]\n{fleet}", must_run=False).warnings
    assert any(missing in words and "run will refuse" in words and extra in words for words in warnings)


def test_cores_of_load_machines_are_not_checked_against_this_one() -> None:
    cores = '[measure]\nplacement = { client = "4096" }\n'
    with pytest.raises(PlanError, match="this machine has no core 4096"):
        read(f"{cores}[fleet]\nlocal = 2")
    assert read(f'{cores}[fleet]\nssh = ["a"]').measure.placement.client == [4096]


def test_a_fleet_is_no_part_of_a_cell() -> None:
    cells = [
        [cell.record.id for cell in read(fleet, must_run=False).cells]
        for fleet in ("", "[fleet]\nlocal = 2", '[fleet]\nssh = ["a"]')
    ]
    assert cells[0] == cells[1] == cells[2]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("local=4", "fleet.local=4"),
        ("ssh=load1,load2", 'fleet.ssh=["load1", "load2"]'),
        ("tls://s:8786", 'fleet.address="tls://s:8786"'),
    ],
)
def test_the_command_line_says_the_same_as_the_table(words: str, key: str) -> None:
    assert fleet.said_as_key(words) == key
    for command in (["run", "p.toml"], ["load", "p.toml"], ["quick", "sqlite"]):
        options: argparse.Namespace = parser().parse_args([*command, "--fleet", words])
        assert options.said == [key]


def test_certificates_that_are_not_there_are_reported_before_anything_starts() -> None:
    with pytest.raises(PlanError, match=r"there is no file /plans/nope\.pem"):
        read("[fleet]\naddress = 'tls://s:1'\ntls = { ca = 'nope.pem', cert = 'b', key = 'c' }")
    unnamed = pytest.raises(PlanError, match="tls://s:1 requires certificates, and none are named")
    with unnamed, opened(FleetSpec(Existing("tls://s:1"))):
        pass


@pytest.mark.parametrize("words", ["load1", "local=two", "local=²", "local=" + "9" * 5000, "ssh=", "kubernetes=x"])
def test_what_names_no_machines_is_refused(words: str) -> None:
    with pytest.raises(PlanError, match="names no load machines"):
        fleet.said_as_key(words)


def test_a_way_that_the_command_line_says_takes_the_place_of_the_plans() -> None:
    ssh = '[fleet]\nssh = ["a"]\nremote_python = "p"\nmin_clients = 1'
    fleet = read(ssh, said=("fleet.local=2",)).fleet
    assert fleet is not None
    assert (fleet.way, fleet.min_clients) == (Local(2), 1)
    tls = '[fleet]\naddress = "tls://s:1"\ntls = { ca = "a", cert = "b", key = "c" }'
    other = read(tls, said=('fleet.address="tls://t:2"',), must_run=False).fleet
    assert other is not None
    assert isinstance(other.way, Existing)
    assert other.way.tls is not None
    assert read(tls, said=('fleet.ssh=["a"]',)).record.fleet == "a (SSH)"


def test_a_quick_plan_says_its_fleet() -> None:
    text = plan_text(Quick(["sqlite"], "ycsb-a", fleet=["local = 2"]))
    assert text.endswith("[fleet]\nlocal = 2\n")
    assert resolve(text, HERE).fleet


def test_clients_are_spread_evenly_and_a_dry_run_says_how(tmp_path: Path) -> None:
    assert [spread(clients, 2) for clients in (1, 3, 4)] == [[1, 0], [2, 1], [2, 2]]
    assert spread_words(3, ["load1", "load2"]) == "2 on load1, 1 on load2"
    assert spread_words(1, ["load1", "load2"]) == "1 on load1"
    names = [f"load{number}" for number in range(20)]
    assert spread_words(23, names) == "2 on each of 3 machines, 1 on each of 17 machines"
    said = describe(read('[fleet]\nssh = ["load1", "load2"]'), tmp_path).fleet
    assert said == ["clients run on load1, load2 (SSH)", "3 clients: 2 on load1, 1 on load2"]
    (cluster,) = describe(read('[fleet]\naddress = "tls://s:1"'), tmp_path).fleet
    assert "the machines of tls://s:1" in cluster
    assert describe(read(""), tmp_path).fleet == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("localhost:3306", True),
        ("[::1]:5432", True),
        ("127.9.9.9:1", True),
        ("db1:3306", False),
        ("tls://10.0.0.1:8786", False),
    ],
)
def test_loopback_is_known_by_its_address(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


def test_without_a_fleet_nothing_of_dask_is_imported(tmp_path: Path) -> None:
    """Help, a dry run and the host of a run on this machine: none takes longer because there are fleets."""
    plan = tmp_path / "p.toml"
    plan.write_text('[systems.null]\n[workload]\nkind = "ycsb"\n')
    code = (
        "import sys\n"
        "from bakeoff.cli import main\n"
        "from bakeoff.fleet.hosts import hosted\n"
        "import bakeoff.schedule.conductor\n"
        f"main(['run', {str(plan)!r}, '--dry-run', '--quiet'])\n"
        "with hosted(None, print): pass\n"
        "print('found', {'dask', 'distributed', 'asyncssh', 'tornado', 'cloudpickle'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.endswith("found set()\n")


def test_the_tables_in_the_how_tos_are_read() -> None:
    pages = [(HOWTO / name).read_text() for name in ("fleet.md", "fleet-kubernetes.md")]
    blocks = [block for page in pages for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    plans = [block for block in blocks if "[systems." in block]
    assert [resolve(plan, HERE, must_run=False).record.fleet for plan in plans] == ["load1, load2 (SSH)"]
    ways = [read(block, must_run=False).fleet for block in blocks if block not in plans]
    assert [type(fleet.way) for fleet in ways if fleet] == [Existing, Slurm, Existing, Existing, Kubernetes]


def test_clients_elsewhere_take_no_cores_of_this_machine() -> None:
    assert cores_of_all(read('[fleet]\nssh = ["a"]')) == []
    assert cores_of_all(read("[fleet]\nlocal = 2")) == cores_of_all(read("")) != []


@pytest.mark.parametrize("page", ["fleet.md", "fleet-kubernetes.md"])
def test_workers_started_by_hand_receive_all_that_makes_those_of_bakeoff_quiet(page: str) -> None:
    text = (HOWTO / page).read_text()
    for name, value in QUIET.items():
        variable = f"DASK_{name.replace('.', '__').replace('-', '_').upper()}"
        assert re.search(rf'{variable}(=|, value: "){value}\b', text), variable
