"""Whatever the bytes, the readers of plans, property files and bundles answer or refuse: no other exception, ever.

How to search on for hours: CONTRIBUTING.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.cli.output import print_json
from bakeoff.errors import BakeoffError
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import resolve
from bakeoff.report.answer import answer_of
from bakeoff.report.text.terminal import render_text
from bakeoff.workloads.ycsb import read_ycsb_file
from builders.bundles import MARIADB, Story, write_bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("BAKEOFF_EXAMPLES", "60"))
some = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

PLAN = """
title = "t"
seed = 5
[systems.sqlite]
durability = "full"
settings = { cache_size = -100 }
[systems.other]
kind = "mysql"
address = "127.0.0.1:1"
optional = true
[workload]
kind = "ycsb"
preset = "a"
records = 1000
request_distribution = { kind = "hotspot", data_fraction = 0.1, operation_fraction = 0.9 }
[factors]
threads = [1, 4]
[measure]
pacing = { rate = 500, arrival = "poisson" }
window = "10s"
retry = { retries = 1, on = ["conflict"] }
placement = { client = "0" }
[compare]
baseline = "sqlite"
"""
ODD_VALUES = r"""nan -inf 1e308 -1 0 1e-320 222222222222222222222222222222 "" "\u0000" "\u001b[31m" [] {} [[[[]]]]
{a={b=1}} true 1979-05-27 07:32:00 '1e400s' '99999999999999h' '0-999999999' 'x=y' '../..' '/dev/zero' '/dev/stdin'"""
odd = st.sampled_from([*ODD_VALUES.split(), "9" * 5001, f'"{"x" * 300}"'])


@some
@given(st.integers(0, PLAN.count(" = ") - 1), odd)
def test_a_plan_with_an_odd_value_is_carried_out_or_refused(place: int, value: str) -> None:
    lines = PLAN.splitlines()
    at = [number for number, line in enumerate(lines) if " = " in line]
    number = at[place % len(at)]
    lines[number] = f"{lines[number].split(' = ', 1)[0]} = {value}"
    understood("\n".join(lines))


@some
@given(st.integers(0, len(PLAN)), st.integers(0, 40), st.text(max_size=12))
def test_a_damaged_plan_is_carried_out_or_refused(at: int, length: int, text: str) -> None:
    understood(PLAN[:at] + text + PLAN[at + length :])


@some
@given(st.text(max_size=200))
def test_any_text_is_a_plan_or_refused(text: str) -> None:
    understood(text)


def understood(text: str) -> None:
    with suppress(BakeoffError):
        plan = resolve(text, Path("."), must_run=False)
        json.dumps(describe(plan, Path(".")).to_json(), allow_nan=False)
        plan.record.model_dump_json()


PROPERTIES = b"recordcount=1000\noperationcount=10\nreadproportion=0.5\nfieldlengthdistribution=histogram\n"
with_bytes = st.tuples(st.integers(0, len(PROPERTIES)), st.binary(max_size=8)).map(
    lambda drawn: PROPERTIES[: drawn[0]] + drawn[1] + PROPERTIES[drawn[0] :]
)


@some
@given(st.one_of(st.binary(max_size=100), with_bytes))
def test_any_bytes_are_a_property_file_or_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "workload").write_bytes(data)
    with suppress(BakeoffError):
        read_ycsb_file(tmp_path / "workload")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    story = Story(contenders=(MARIADB,), threads=(2,), presets=("a",), repetitions=2, window_s=3, warm_up_s=1)
    return write_bundle(tmp_path_factory.mktemp("property") / "bundle", story).folder


NAMES = ("bundle.json", "plan.json", "machine.json", "facts/c01.json", "runs/b01-c01/result.json")
any_json = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from([1e308, -1, 2**64, 10**400, "\x1b[31m", "\ud800", "a" * 300]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def places(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


@some
@given(st.sampled_from(NAMES), st.data())
def test_a_bundle_with_an_odd_value_is_reported_or_refused(bundle: Path, name: str, data: st.DataObject) -> None:
    path = bundle / name
    whole = path.read_bytes()
    tree = json.loads(whole)
    *way, last = data.draw(st.sampled_from([place for place in places(tree) if place]))
    inner = tree
    for part in way:
        inner = inner[part]
    inner[last] = data.draw(any_json)
    reported(bundle, path, json.dumps(tree).encode(), whole)


@some
@given(st.sampled_from(NAMES), st.integers(0, 5000), st.integers(0, 20), st.binary(max_size=12))
def test_a_damaged_bundle_is_reported_or_refused(bundle: Path, name: str, at: int, length: int, text: bytes) -> None:
    path = bundle / name
    whole = path.read_bytes()
    at %= len(whole)
    reported(bundle, path, whole[:at] + text + whole[at + length :], whole)


def reported(bundle: Path, path: Path, data: bytes, whole: bytes) -> None:
    path.write_bytes(data)
    try:
        with suppress(BakeoffError):
            answer = answer_of(Bundle.open(bundle))
            assert render_text(answer)
            print_json(answer.model_dump())
    finally:
        path.write_bytes(whole)
