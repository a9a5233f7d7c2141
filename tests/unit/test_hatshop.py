"""The Hat Shop's list of events: written to a file, named in a plan, and refused where it is another one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError
from bakeoff.plan.read import resolve
from bakeoff.workloads.hatshop import write_events
from builders.workloads import decided
from builders.workloads import refused as refused_of


def test_the_file_is_the_list_whose_hash_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events.jsonl"
    asked = ["workloads", "hatshop", "--write", str(path), "--seed", "1", "--set", "events=500", "--json"]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    text = path.read_bytes()
    assert told == {"file": str(path), "events": 500, "sha256": hashlib.sha256(text).hexdigest()}
    events = [json.loads(line) for line in text.splitlines()]
    assert len(events) == 500
    assert {event["type"] for event in events} == {"CREATE", "READ", "UPDATE", "UPDATE_ATTRIBUTE", "DELETE"}
    for order in (event["data"] for event in events if event["type"] == "CREATE"):
        assert sum(round(100 * line["linePrice"]) for line in order["lineItems"]) == round(100 * order["subTotal"])


def test_the_list_is_the_same_each_time_and_another_with_another_seed(tmp_path: Path) -> None:
    one, again, other = (write_events({"events": 100}, seed, tmp_path / "events") for seed in (1, 1, 2))
    assert one == again != other


def test_a_plan_s_file_tells_its_length_and_its_hash(tmp_path: Path) -> None:
    written = write_events({"events": 50}, 1, tmp_path / "events.jsonl")
    found = decided("hatshop", {"events_file": "events.jsonl"}, tmp_path)
    assert (found.spec["events"], found.spec["events_sha256"]) == (50, written.sha256)
    assert found.label == "Hat Shop (500 orders, line_items_by_order, events.jsonl)"


def test_another_list_than_the_plan_says_is_refused(tmp_path: Path) -> None:
    said = {
        "events_file": "events.jsonl",
        "events_sha256": write_events({"events": 50}, 1, tmp_path / "events.jsonl").sha256,
    }
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write("{}\\n")
    assert "events.jsonl is another list: its SHA-256 is " in refused_of("hatshop", said, tmp_path).what
    said["events_file"] = "none.jsonl"
    assert "none.jsonl cannot be read" in refused_of("hatshop", said, tmp_path).what


PLAN = """
title = "Events"
[systems.sqlite]
[workload]
kind = "hatshop"
events_file = "events.jsonl"
[factors]
threads = 1
[measure]
{measure}
"""


@pytest.mark.parametrize(
    "measure",
    [
        'warm_up = 0\nwindow = "1s"',
        "warm_up = 0\noperations = 51",
        'warm_up = "1s"\noperations = 50',
        "warm_up = 0\noperations = 50\npacing = { rate = 100 }",
    ],
)
def test_a_run_that_may_go_beyond_the_file_is_refused_with_the_plan(measure: str, tmp_path: Path) -> None:
    write_events({"events": 50}, 1, tmp_path / "events.jsonl")
    with pytest.raises(PlanError, match="the 50 operations of its file have an end") as refused:
        resolve(PLAN.format(measure=measure), tmp_path)
    assert "operations = 50 or fewer" in refused.value.hint
    assert "measure" in refused.value.where


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "its `type` is"),
        ('{"type":"READ","data":{"id":"00000000-0000-4000-8000-000000000000"}}', "is neither loaded nor made"),
        ("", "it is empty or cut off"),
    ],
)
def test_a_line_that_is_wrong_is_reported_with_its_number_when_the_plan_is_read(
    line: str, why: str, tmp_path: Path
) -> None:
    write_events({"events": 50}, 1, tmp_path / "events.jsonl")
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(PlanError) as refused:
        resolve(PLAN.format(measure="warm_up = 0\noperations = 50"), tmp_path)
    assert refused.value.what.startswith("events.jsonl, line 51: ")
    assert why in refused.value.what


def test_a_run_of_the_whole_file_is_planned(tmp_path: Path) -> None:
    write_events({"events": 50}, 1, tmp_path / "events.jsonl")
    assert resolve(PLAN.format(measure="warm_up = 0\noperations = 50"), tmp_path).cells


def test_events_in_one_go_are_refused_where_the_system_takes_one_statement_at_a_time(tmp_path: Path) -> None:
    write_events({"events": 50}, 1, tmp_path / "events.jsonl")
    plan = PLAN.format(measure="warm_up = 0\noperations = 50").replace("[factors]", "pipeline = true\n[factors]")
    with pytest.raises(PlanError, match="a pipeline"):
        resolve(plan, tmp_path)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (["ycsb", "--write", "FILE"], "only the Hat Shop has events to write"),
        (["hatshop", "--write", "FILE", "--set", "orders"], "`orders` is not KEY=VALUE"),
        (["hatshop", "--write", "FILE", "--set", "ordres=5"], "unknown"),
        (["hatshop", "--write", "FILE/none/x"], "cannot be written"),
        (["hatshups"], "unknown workload `hatshups`"),
    ],
)
def test_what_cannot_be_written_is_refused(
    asked: list[str], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("FILE", str(tmp_path / "events")) for word in asked]
    assert main(["workloads", *words]) == 2
    assert what in capsys.readouterr().err


def test_options_that_cannot_be_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no event has a share"):
        write_events(dict.fromkeys(["create", "read", "update", "update_attribute", "delete"], 0), 0, tmp_path / "x")
