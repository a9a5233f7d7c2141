"""What must hold for every plan: it survives a round trip, its cells are counted by multiplication, and a misspelt key
is answered with a known one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.levels import LOAD
from bakeoff.model.records.plan import PlanRecord
from bakeoff.plan.document.tables import TABLES, PlanDocument, keys_of, plan_tree
from bakeoff.plan.read import resolve
from bakeoff.renamed import PLAN_KEYS
from bakeoff.suggestions import nearest
from bakeoff.workloads import workloads
from hypothesis import given, settings
from hypothesis import strategies as st

few = settings(max_examples=60)


def toml(tree: dict[str, Any]) -> str:
    """A tree as TOML: inline tables throughout. JSON's texts, numbers and lists are TOML's."""
    return "\n".join(f"{_key(name)} = {_value(value)}" for name, value in tree.items()) + "\n"


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)


counts = st.integers(1, 64)
durations = st.one_of(
    st.integers(1, 900).map(lambda s: f"{s}s"),
    st.integers(1000, 99_999).map(lambda ms: f"{ms}ms"),
    st.integers(1, 9).map(lambda m: f"{m}m"),
    st.floats(1, 1e4).map(lambda s: f"{s!r}s"),
)
rates = st.one_of(st.integers(1, 10**6), st.integers(1, 900).map(lambda k: f"{k}k/s"), st.floats(0.5, 1e6))


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, min_size=1, max_size=3, unique=True)


measures = st.fixed_dictionaries(
    {"repetitions": st.integers(1, 9)},
    optional={
        "window": durations,
        "warm_up": durations,
        "timeout": durations,
        "pacing": st.one_of(
            st.just("closed"),
            st.fixed_dictionaries({"rate": rates}, optional={"arrival": st.sampled_from(["poisson", "constant"])}),
        ),
        "error_budget": st.one_of(st.floats(0, 1), st.integers(0, 100).map(lambda p: f"{p}%")),
        "objective": st.sampled_from(["rate", "latency_p99", "latency_mean"]),
        "reset": st.sampled_from(["restore", "reload", "reuse"]),
        "cache": st.sampled_from(["warm", "cold", "as-is"]),
        "latency_probe": st.one_of(st.booleans(), st.integers(1, 1000)),
        "vary_seed": st.booleans(),
        "check_sample": st.integers(0, 1000),
        "retry": st.fixed_dictionaries(
            {"retries": st.integers(0, 5), "on": some(st.sampled_from(["conflict", "overload"]))},
            optional={"backoff": durations},
        ),
    },
)
factors = st.fixed_dictionaries(
    {},
    optional={
        "threads": some(counts),
        "clients": some(counts),
        "workers": some(counts),
        "durability": some(st.sampled_from(["full", "relaxed", "none"])),
        "request_distribution": some(st.sampled_from(["uniform", "zipfian"])),
        "settings.cache_size": some(st.integers(-9999, -1)),
        "one.settings.page_size": some(st.sampled_from([4096, 8192, 16384])),
    },
)
plans = st.fixed_dictionaries(
    {
        "title": st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20),
        "systems": st.sampled_from(
            [{"one": {"kind": "sqlite"}}, {"one": {"kind": "sqlite"}, "two": {"kind": "sqlite", "path": "x"}}]
        ),
        "workload": st.fixed_dictionaries({"kind": st.just("ycsb"), "preset": st.just("c"), "records": counts}),
        "factors": factors,
        "measure": measures,
    },
    optional={"seed": st.integers(0, 2**63 - 1), "demonstration": st.booleans(), "description": st.just("d")},
)


@few
@given(plans)
def test_a_plan_survives_a_round_trip(tree: dict[str, Any]) -> None:
    """The resolved tree in the record is itself a plan, and means the same."""
    first = resolve(toml(tree), Path("."))
    again = resolve(toml(first.record.resolved), Path("."))
    assert again.record == first.record
    assert [cell.load_key for cell in again.cells] == [cell.load_key for cell in first.cells]
    assert [cell.pacing for cell in again.cells] == [cell.pacing for cell in first.cells]


@few
@given(plans)
def test_the_record_survives_json(tree: dict[str, Any]) -> None:
    record = resolve(toml(tree), Path(".")).record
    assert PlanRecord.model_validate_json(record.model_dump_json()) == record


@few
@given(plans)
def test_the_document_survives_its_own_tree(tree: dict[str, Any]) -> None:
    document = PlanDocument.model_validate(tomllib.loads(toml(tree)))
    for closed in (True, False):
        written = plan_tree(document, closed=closed)
        assert plan_tree(PlanDocument.model_validate(written), closed=closed) == written


@few
@given(plans)
def test_cells_are_counted_by_multiplication_and_have_names_of_their_own(tree: dict[str, Any]) -> None:
    expected = 0
    for system in tree["systems"]:
        cells = 1
        for name, levels in tree["factors"].items():
            if not name.startswith("one.") or system == "one":
                cells *= len(levels)
        expected += cells
    cells_made = resolve(toml(tree), Path(".")).cells
    assert len(cells_made) == expected
    assert len({cell.record.id for cell in cells_made}) == expected
    assert len({cell.record.label for cell in cells_made}) == expected


#: Of tables.
LISTS = (("faults",), ("measure", "pacing", "stages"))
PLACES = [(place, key) for place, model in TABLES.items() for key in keys_of(model)]


@pytest.mark.parametrize("place", [p for p in TABLES if p not in (("systems", "*"), ("workload",), ("workloads", "*"))])
@few
@given(data=st.data())
def test_an_unknown_key_always_names_a_known_one(place: tuple[str, ...], data: st.DataObject) -> None:
    known = {*keys_of(TABLES[place]), *PLAN_KEYS}  # an old name is refused with the new one
    key = data.draw(st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=14).filter(lambda k: k not in known))
    tree: dict[str, Any] = {
        "title": "t",
        "systems": {"one": {"kind": "sqlite"}},
        "workload": {"kind": "ycsb"},
        "measure": {},
        "compare": {},
    }
    table = tree
    for part in place:
        table = table.setdefault(part, {})
    table[key] = 1
    if place in LISTS:
        above = tree
        for part in place[:-1]:
            above = above[part]
        above[place[-1]] = [table]
    with pytest.raises(PlanError) as caught:
        resolve(toml(tree), Path("."))
    assert caught.value.what == f"unknown key `{key}`"
    options = {name for kind in workloads().values() for name in kind.option_names}
    everything = {name for _, name in PLACES} | set(LOAD) | options
    assert any(f"`{name}`" in caught.value.hint for name in everything)


@few
@given(st.sampled_from(keys_of(TABLES["measure",])), st.data())
def test_one_letter_left_out_still_finds_the_key(key: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(key) - 1))
    assert nearest(key[:at] + key[at + 1 :], keys_of(TABLES["measure",])) == key
