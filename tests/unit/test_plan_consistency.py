"""`consistency`: one name for what each kind of system calls its own way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.findings.configuration import configuration_of
from bakeoff.model.levels import CONSISTENCY
from bakeoff.systems import SYSTEMS
from bakeoff.systems.null import Null
from bakeoff.systems.options import option_names
from builders.plans import SQLITE, read, refused

CASSANDRA = "[systems.cassandra]\naddress = 'db1'"
READS = "preset = 'c'"


class Replicated(Null):
    """Slower where more copies have to answer."""

    kind: ClassVar[str] = "replicated"
    consistency: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "strong": {"latency_ns": 500},
        "eventual": {"latency_ns": 100, "latency": "exponential"},
    }


@pytest.fixture(autouse=True)
def replicated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, Replicated.kind, Replicated)


REPLICATED = "[systems.replicated]"


def test_a_level_is_the_drivers_options_that_it_means_on_the_kind() -> None:
    plan = read("consistency = ['strong', 'eventual']", systems=REPLICATED)
    assert [cell.system_options for cell in plan.cells] == [
        {"latency_ns": 500},
        {"latency_ns": 100, "latency": "exponential"},
    ]
    assert [cell.driver.options["latency_ns"] for cell in plan.cells] == [500, 100]
    assert [cell.record.consistency for cell in plan.cells] == ["strong", "eventual"]
    assert plan.cells[0].record.label == "replicated / consistency=strong"


@pytest.mark.parametrize(
    ("systems", "measure"),
    [
        (f"{REPLICATED}\nconsistency = 'strong'", ""),
        (REPLICATED, "consistency = 'strong'"),
    ],
)
def test_it_may_be_said_for_all_or_for_one_system(systems: str, measure: str) -> None:
    assert read(systems=systems, measure=measure).cells[0].system_options == {"latency_ns": 500}


def test_for_one_system_it_is_a_factor_of_that_system() -> None:
    plan = read("'replicated.consistency' = ['strong', 'eventual']", systems=f"{REPLICATED}\n{SQLITE}")
    assert [cell.record.consistency for cell in plan.cells] == ["strong", "eventual", None]


def test_a_name_that_the_kind_does_not_know_is_refused_with_those_that_it_knows() -> None:
    error = refused(systems=f"{REPLICATED}\nconsistency = 'linear'")
    assert (error.what, error.hint) == ("replicated has no consistency linear", "replicated has: strong, eventual")
    assert error.where.endswith("[systems.replicated] consistency")


def test_a_kind_without_any_refuses_the_key() -> None:
    error = refused(systems=SQLITE, measure="consistency = 'eventual'")
    assert error.what == "sqlite has no consistency eventual"
    assert "leave out `consistency`" in error.hint
    assert error.where.endswith("[measure] consistency")


@pytest.mark.parametrize("factors", ["consistency = ['strong']", "'replicated.consistency' = ['strong', 'eventual']"])
def test_what_it_means_is_not_said_again(factors: str) -> None:
    error = refused(factors, systems=f"{REPLICATED}\nlatency_ns = 7")
    assert error.what == '`latency_ns` is set twice: consistency = "strong" means latency_ns = 500'


def test_set_for_every_system_and_for_one_it_is_said_twice() -> None:
    error = refused(systems=f"{REPLICATED}\nconsistency = 'strong'", measure="consistency = 'eventual'")
    assert "set twice, for every system and in [systems.replicated]" in error.what


def test_every_level_of_every_kind_is_of_options_that_its_driver_has() -> None:
    for kind, system in SYSTEMS.items():
        assert system.consistency.keys() <= set(CONSISTENCY), kind
        for level, meaning in system.consistency.items():
            assert meaning.keys() <= set(option_names(system.driver)), (kind, level)


@pytest.mark.parametrize(
    ("level", "writes", "reads"),
    [
        ("strong", "quorum", "quorum"),
        ("quorum", "quorum", None),
        ("eventual", "one", "one"),
        ("local_quorum", "local_quorum", None),
    ],
)
def test_cassandra_takes_portable_names_and_its_own(level: str, writes: str, reads: str | None) -> None:
    plan = read(f"consistency = ['{level}']", systems=CASSANDRA, workload=READS)
    options = plan.cells[0].driver.options
    assert (options["consistency"], options["read_consistency"]) == (writes, reads)


def test_cassandra_refuses_other_names_and_says_its_own() -> None:
    error = refused("consistency = ['most']", systems=CASSANDRA, workload=READS)
    assert "most" in error.what
    assert "local_quorum" in error.hint


def test_two_names_that_mean_the_same_are_two_cells_and_the_drivers_own_name_changes_no_cell() -> None:
    both = read("consistency = ['strong', 'quorum']", systems=CASSANDRA, workload=READS)
    assert len({cell.record.id for cell in both.cells}) == 2
    # The id of before there were portable names: an old bundle of this plan is continued.
    old = read(systems=f"{CASSANDRA}\nconsistency = 'one'", workload=READS)
    assert old.cells[0].record.id == "cxlz56reh"


def test_the_report_says_at_which_level_each_system_ran(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        "title = 't'\nthreads = 1\n[systems.a]\nkind = 'replicated'\nconsistency = 'strong'\n"
        "[systems.b]\nkind = 'replicated'\nconsistency = 'eventual'\n[workload]\nkind = 'ycsb'\nrecords = 10\n"
        "[measure]\nwarm_up = 0\nwindow = '1s'\nrepetitions = 1\n"
    )
    out = tmp_path / "bundle"
    assert main(["run", str(path), "--out", str(out), "--together", "--allow-disturbed", "--quiet"]) == ExitCode.DONE
    found = configuration_of(Bundle.open(out)).declared
    (difference,) = [one for one in found if one.name == "consistency"]
    assert (difference.values, difference.deciding) == ({"a": "strong", "b": "eventual"}, True)
