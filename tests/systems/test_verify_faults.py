"""Faults while random transactions run on a real server: nothing that was acknowledged is lost, and no false alarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bakeoff.provision.installation import Installation
from bakeoff.systems.redis.system import SOURCES as REDIS
from commands import bakeoff, write_plan
from test_verify_isolation import PLAN

pytestmark = pytest.mark.servers

QUIET = ("--json", "--together", "--quiet", "--set", "isolation=serializable")
SHORT = (*QUIET, "--tries", "1", "--schedule", "G0")


def verified(folder: Path, *arguments: str) -> dict[str, Any]:
    done = bakeoff(
        "verify", write_plan(folder, PLAN.format(system="mariadb", options="")), *SHORT, *arguments, cwd=folder
    )
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["verified"]
    return dict(found)


def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path: Path, mariadb_program: Installation) -> None:
    found = verified(tmp_path, "--seconds", "2", "--fault", "kill", "--fault", "freeze", "--seed", "7")
    assert [one["planned"]["do"] for one in found["faults"]].count("kill") == 3
    killed = [one for one in found["faults"] if one["planned"]["do"] == "kill"]
    assert all(one["begun_s"] is not None and one["back_s"] is not None for one in killed)
    lists = found["histories"][0]
    assert found["verdict"] in ("HELD", "INCONCLUSIVE"), found["histories"]
    assert lists["report"]["violations"] == []
    assert lists["report"]["exposure"]["committed"] > 100
    assert found["seed"] == 7


def test_without_sql_faults_are_done_while_old_values_are_looked_for(tmp_path: Path) -> None:
    if not REDIS.here():
        REDIS.install(None, None, lambda _: None)
    plan = write_plan(tmp_path, PLAN.format(system="redis", options=""))
    done = bakeoff("verify", plan, *QUIET[:3], "--seconds", "2", "--fault", "freeze", "--fault", "skew", cwd=tmp_path)
    assert done.code == 0, done.err
    (found,) = json.loads(done.out)["verified"]
    assert sorted(one["planned"]["do"] for one in found["faults"]) == ["freeze", "skew"]
    assert all(one["back_s"] is not None for one in found["faults"])
    assert found["histories"][0]["name"] == "staleness"
    assert "0 of " in found["histories"][0]["words"]


def test_a_search_runs_only_transactions_and_other_seeds_draw_other_moments(
    tmp_path: Path, mariadb_program: Installation
) -> None:
    plan = write_plan(tmp_path, PLAN.format(system="mariadb", options=""))
    search = ("--seconds", "0.5", "--fault", "freeze", "--search", "2", "--seed", "3")
    done = bakeoff("verify", plan, *QUIET, *search, cwd=tmp_path)
    assert done.code == 0, done.err
    first, second = json.loads(done.out)["verified"]
    assert (first["seed"], second["seed"]) == (3, 4)
    assert first["schedules"] == second["schedules"] == []
    assert [one["planned"] for one in first["faults"]] != [one["planned"] for one in second["faults"]]
    assert len(first["histories"]) == 3


@pytest.mark.parametrize(
    ("system", "arguments", "words"),
    [
        ("sqlite", ("--fault", "kill"), "no fault is possible on sqlite: it is not a managed server"),
        ("mariadb", ("--fault", "kill", "--seconds", "0"), "--fault needs random transactions"),
        ("mariadb", ("--search", "3"), "--search names no fault"),
        ("mariadb", ("--fault", "kil"), "there is no fault kil; did you mean `kill`?"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, system: str, arguments: tuple[str, ...], words: str) -> None:
    done = bakeoff("verify", write_plan(tmp_path, PLAN.format(system=system, options="")), *arguments, cwd=tmp_path)
    assert done.code == 2
    assert words in done.err
