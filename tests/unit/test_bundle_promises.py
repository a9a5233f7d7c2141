"""Files under `verify/` of a bundle, which may come from anybody."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bakeoff.bundle.files import Layout
from bakeoff.bundle.read import Bundle, unverified
from bakeoff.bundle.write import BundleWriter
from bakeoff.model.boundary import StalenessProbe
from bakeoff.report.answer import answer_of
from bakeoff.report.tables import cells_table
from builders.promises import checked, lists, under_load, verifying

NAME = "verify/c01.json"
ONE = {"session": 0, "node": 0, "outcome": "ok"}
RECORD = checked("c01", seen=["P4"], judged=[lists()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return verifying(tmp_path / "b", RECORD).folder


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Bundle:
    document = json.loads((folder / NAME).read_text())
    change(document)
    (folder / NAME).write_text(json.dumps(document))
    return Bundle.open(folder)


def test_what_was_written_is_read(folder: Path) -> None:
    bundle = Bundle.open(folder)
    assert bundle.verifications == [RECORD]
    assert bundle.damage == []
    assert bundle.unverified == ["c02"]


def test_a_plan_that_does_not_verify_lacks_nothing(folder: Path) -> None:
    bundle = Bundle.open(folder)
    assert unverified(bundle.plan.model_copy(update={"resolved": {}}), bundle) == []


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "is of cell c99, which the plan does not have": lambda it: it["cells"].append("c99"),
    "is of cell c02": lambda it: it["cells"].insert(0, "c02"),
    "has format 99": lambda it: it.update(format=99),
    "key that this bakeoff does not know: mood": lambda it: it.update(mood="good"),
    "not valid: judged.0.verdict": lambda it: it["judged"][0].update(verdict="PASS"),
    "`P99` is no experiment": lambda it: it["schedules"][0].update(name="P99"),
    "`list_append` is no experiment of bakeoff's, or there twice": lambda it: it["judged"].append(it["judged"][0]),
    "of 1000000000 transactions of G0 committed": lambda it: it["schedules"][0]["tries"][0].update(
        transactions=1_000_000_000
    ),
    "G0 has 2 sessions, and steps of others": lambda it: it["schedules"][0]["tries"][0]["steps"][0].update(session=7),
    "G0 without a try": lambda it: it["schedules"][0].update(tries=[]),
    "5,000 experiments, and bakeoff has 8": lambda it: it.update(judged=it["judged"] * 5_000),
    "a cell is there twice": lambda it: it["cells"].append("c01"),
    "`strict` is no level": lambda it: it["judged"][0].update(implied="strict"),
    "a proof of 100 transactions with up to 101 statements": lambda it: it["judged"][0].update(
        proofs=[{"title": "G1c", "count": 1, "reasons": [], "transactions": [{**ONE, "statements": ["r"] * 101}] * 100}]
    ),
    "no experiment": lambda it: it.update(schedules=[], judged=[]),
    "experiments, although none could be tried": lambda it: it.update(not_applicable="no SQL"),
    "is not a number": lambda it: it.update(elapsed_s=float("nan")),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_is_named_left_out_and_no_pass(folder: Path, words: str) -> None:
    bundle = changed(folder, WRONG[words])
    assert bundle.verifications == []
    (damage,) = bundle.damage
    assert words in damage
    assert NAME in damage
    assert answer_of(bundle).cells[0].promise == "not checked"


def test_files_of_a_plan_that_does_not_verify_are_not_read(folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    del plan["resolved"]["verify"]
    (folder / "plan.json").write_text(json.dumps(plan))
    bundle = Bundle.open(folder)
    assert bundle.verifications == []
    assert "promise" not in cells_table(bundle, []).column_names


def test_a_cell_is_verified_once(folder: Path) -> None:
    other = RECORD.model_copy(update={"cells": ["c02", "c01"]})
    (folder / "verify/c02.json").write_text(other.model_dump_json())
    bundle = Bundle.open(folder)
    assert bundle.verifications == [RECORD]
    assert bundle.damage == ["verify/c02.json is of cell c01, of which another file is"]


@pytest.mark.parametrize("what", ["link", "large", "no JSON"])
def test_what_is_no_file_of_the_bundle_is_not_read(folder: Path, tmp_path: Path, what: str) -> None:
    path = folder / NAME
    if what == "link":
        path.rename(tmp_path / "elsewhere.json")
        path.symlink_to(tmp_path / "elsewhere.json")
    elif what == "large":
        os.truncate(path, 1 << 30)
    else:
        path.write_text("{")
    bundle = Bundle.open(folder)
    assert bundle.verifications == []
    assert len(bundle.damage) == 1


def test_a_run_whose_probe_has_a_proof_without_end_is_left_out(folder: Path) -> None:
    run = Bundle.open(folder).runs[0]
    proof = {"title": "stale-read", "reasons": [], "transactions": [{**ONE, "statements": ["r"] * 10_001}]}
    report = under_load("VIOLATED", [{"count": 1, "proof": proof}])
    probe = StalenessProbe(sessions=1, writes=1, reads=1, report=report, troubles=[])
    BundleWriter(folder).run_result(run.model_copy(update={"staleness_probe": probe}))
    bundle = Bundle.open(folder)
    assert run.id not in [each.id for each in bundle.runs]
    (why,) = bundle.unreadable_runs
    assert "a proof of 1 transactions with up to 10,001 statements" in why


def test_the_files_are_the_bundles_own() -> None:
    layout = Layout({"c01"})
    assert layout.is_folder("verify")
    assert layout.is_file(NAME)
    assert not layout.is_file("verify/c02.json")
