"""The schema of plans, as an editor applies it. That its file is current is a test of the documents."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.plan.new_plan import SCHEMA
from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").rglob("*.toml"))
VALIDATOR = Draft7Validator(json.loads(SCHEMA.read_text()))
GOOD = """
threads = [1, 8]
[systems.sqlite]
settings = { cache_size = -65536 }
[systems.mine]
kind = "mariadb"
start = { version = "10.11" }
[workload]
kind = "ycsb"
records = 1000
[measure]
window = "10s"
placement = { client = "0-1", server = [2, 3] }
"""


def wrong(text: str) -> list[list[Any]]:
    """Places of the plan at which the schema refuses it."""
    return [list(error.absolute_path) for error in VALIDATOR.iter_errors(tomllib.loads(text))]


def test_it_is_a_schema_itself() -> None:
    Draft7Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_it_accepts_every_plan_that_comes_with_bakeoff(path: Path) -> None:
    assert wrong(path.read_text()) == []


@pytest.mark.parametrize(
    ("right", "instead", "place"),
    [
        ("threads", "thread", []),
        ("threads = [1, 8]", 'threads = ["8"]', ["threads"]),
        ("[systems.sqlite]", "[systems.unknown]", ["systems", "unknown"]),
        ("settings", "setings", ["systems", "sqlite"]),
        ("version", "versoin", ["systems", "mine", "start"]),
        ('"mariadb"', '"sqlite"', ["systems", "mine"]),
        ("records", "warehouses", ["workload"]),
        ("records = 1000", "records = 0", ["workload", "records"]),
        ('kind = "ycsb"', "", ["workload"]),
        ('"10s"', "10", ["measure", "window"]),
        ('"0-1"', '"first"', ["measure", "placement", "client"]),
    ],
)
def test_it_refuses_a_wrong_key_or_value_where_it_is(right: str, instead: str, place: list[str]) -> None:
    assert wrong(GOOD) == []
    assert place in wrong(GOOD.replace(right, instead, 1))


def test_every_key_that_a_page_explains_is_explained_in_the_editor() -> None:
    schema = VALIDATOR.schema
    mariadb = schema["definitions"]["system mariadb"]["properties"]
    for key in (schema["properties"]["seed"], mariadb["version"], mariadb["semi_sync"]):
        assert len(key["description"]) > 20
        assert "](" not in key["description"]


def test_a_first_plan_names_the_schema_which_replaces_an_older_one_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "one.toml")]) == ExitCode.DONE
    assert (tmp_path / "one.toml").read_text().startswith("#:schema plan.schema.json\n")
    assert wrong((tmp_path / "one.toml").read_text()) == []
    copy = tmp_path / "plan.schema.json"
    copy.write_text('{"title": "bakeoff plan", "of": "an older version"}')
    assert main(["init", str(tmp_path / "two.toml")]) == ExitCode.DONE
    assert copy.read_bytes() == SCHEMA.read_bytes()
    copy.write_text("{}")
    assert main(["init", str(tmp_path / "three.toml")]) == ExitCode.USAGE
    assert copy.read_text() == "{}"
    assert "plan.schema.json" in capsys.readouterr().err
