"""Bundles against bundles: what must match, what is reported, and that all that is asked at once is one family."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.cli.commands.compare import show_found
from bakeoff.errors import BakeoffError, BundleError, PlanError
from bakeoff.findings.between_bundles.both_sides import Joined
from bakeoff.findings.between_bundles.comparison import BundleComparison, compare, compared
from bakeoff.model.records.bundle import AnalysisRecord, FactsRecord
from bakeoff.model.records.run import RunRecord, Validity
from builders.bundles import MARIADB, SQLITE, Story, failed, invalid, write_bundle

STORY = Story(contenders=(MARIADB,), threads=(8,), presets=("a",), window_s=3, warm_up_s=1)
RATE = [metric("rate")]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("made") / "before", STORY).folder


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("made") / "after", replace(STORY, noise=0.03)).folder


@pytest.fixture
def pair(before: Path, after: Path) -> tuple[Bundle, Bundle]:
    """Opened again, so that a test may change what the bundle says."""
    return Bundle.open(before), Bundle.open(after)


def held(old: Bundle, new: Bundle, *allowed: str) -> BundleComparison:
    return compare([old], [new], RATE, allowed)


def changed(bundle: Bundle, **fields: Any) -> Bundle:
    """Its runs are read before: they would not be those of another plan."""
    assert bundle.runs
    bundle.plan = bundle.plan.model_copy(update=fields)
    return bundle


def with_facts(bundle: Bundle, change: Callable[[FactsRecord], None]) -> Bundle:
    for facts in bundle.facts.values():
        change(facts)
    return bundle


def test_nothing_different_is_reported_of_two_bundles_made_alike(pair: tuple[Bundle, Bundle]) -> None:
    found = held(*pair)
    assert (found.changed, found.left_out) == ([], [])
    assert [c.design for c in found.comparisons] == ["two bundles"]


def test_three_objectives_and_two_cells_are_one_family(tmp_path: Path) -> None:
    story = replace(STORY, threads=(1, 8))
    old, new = (write_bundle(tmp_path / name, replace(story, seed=n)) for n, name in enumerate(("old", "new")))
    for bundle in (old, new):
        changed(bundle, seed=1)
    objectives = [metric(name) for name in ("rate", "latency_mean", "latency_p99")]
    found = compare([old], [new], objectives).comparisons
    assert [c.objective.name for c in found] == ["rate"] * 2 + ["latency_mean"] * 2 + ["latency_p99"] * 2
    assert [c.level for c in found] == pytest.approx([1 - 0.04 / 6] * 6)


MEANINGLESS = [
    ("seed", {"seed": 2}),
    ("window", {"window_s": 4.0}),
    ("warm-up", {"warm_up_s": 9.0}),
    ("pacing", {"pacing": "open loop, 5000/s, constant arrivals"}),
    ("reset", {"reset": "reuse"}),
    ("cache", {"cache": "cold"}),
    ("placement", {"placement": {"client": [0]}}),
    ("timeout", {"resolved": {"measure": {"timeout": 1.0}, "workload": {"kind": "ycsb", "records": 100_000}}}),
    ("workload", {"resolved": {"workload": {"kind": "ycsb", "records": 100_000, "scan_proportion": 0.5}}}),
    ("sessions", {"factors": {"threads": [8], "preset": ["a"], "sessions": [2]}}),
]


@pytest.mark.parametrize(("key", "fields"), MEANINGLESS, ids=[key for key, _ in MEANINGLESS])
def test_what_makes_a_comparison_meaningless_is_refused_unless_told(
    pair: tuple[Bundle, Bundle], key: str, fields: dict[str, Any]
) -> None:
    old, new = pair[0], changed(pair[1], **fields)
    with pytest.raises(BundleError, match="cannot be compared") as refused:
        held(old, new)
    assert f"--allow-different {key}" in refused.value.hint
    found = held(old, new, key)
    assert {change.key for change in found.changed} == {key}
    assert found.comparisons[0].ratio is not None


def test_a_misspelt_key_of_what_may_differ_is_refused_with_the_nearest(pair: tuple[Bundle, Bundle]) -> None:
    with pytest.raises(PlanError, match="nothing that may differ is called 'windo'") as refused:
        held(*pair, "windo")
    assert refused.value.hint == "did you mean `window`?"


def test_the_same_rows_stored_otherwise_are_no_other_data(pair: tuple[Bundle, Bundle]) -> None:
    old, new = pair
    old.plan.cells[0].content = new.plan.cells[0].content = "ycsb-1-rows"
    new.plan.cells[0].dataset = "ycsb-1-other-index"
    assert "data" not in {change.key for change in held(old, new).changed}


def test_other_data_durability_and_isolation_are_refused(pair: tuple[Bundle, Bundle]) -> None:
    old, new = pair
    new.plan.cells[0].dataset = "ycsb-2-other"
    with_facts(new, lambda facts: facts.portable.update(durability="relaxed", isolation="serializable"))
    with pytest.raises(BundleError) as refused:
        held(old, new)
    for words in (
        "data: ycsb-1-7f3a before, ycsb-2-other after",
        "durability: full before, relaxed after",
        "isolation",
    ):
        assert words in refused.value.what
    assert {c.key for c in held(old, new, "data", "durability", "isolation").changed} == {
        "data",
        "durability",
        "isolation",
    }


def test_other_operations_are_refused(pair: tuple[Bundle, Bundle]) -> None:
    old, new = pair
    for run in (*old.runs, *new.runs):
        run.ok = 10**7  # long enough for whole hashes
    new.runs[3].stream_hashes = ["feed"] * 8
    with pytest.raises(BundleError, match="operations of mariadb") as refused:
        held(old, new)
    assert "--allow-different operations" in refused.value.hint


def test_what_may_be_the_subject_is_reported_and_the_machine_and_engine_are_flagged(
    pair: tuple[Bundle, Bundle],
) -> None:
    old, new = pair
    new.machine = new.machine.model_copy(update={"cores": 2, "kernel": "6.9"})
    new.info = new.info.model_copy(update={"bakeoff_version": "0.2.0"})
    for run in new.runs:
        run.engine_version = "0.2.0"

    def upgrade(facts: FactsRecord) -> None:
        facts.version = "11.4.2"
        facts.settings["innodb_flush_method"] = "O_DIRECT"
        facts.settings["innodb_buffer_pool_size"] = "1"

    with_facts(new, upgrade)
    found = held(old, new)
    assert [(c.weight, str(c)) for c in found.changed] == [
        ("loud", "machine's cores: 8 before, 2 after"),
        ("loud", "machine's kernel: 6.1.0-18-amd64 before, 6.9 after"),
        ("loud", "engine: 0.1.0 before, 0.2.0 after"),
        ("stated", "mariadb: MariaDB 10.11.6 before, MariaDB 11.4.2 after"),
        ("stated", "bakeoff: 0.1.0 before, 0.2.0 after"),
        ("stated", "mariadb: innodb_buffer_pool_size: 1073741824 before, 1 after"),
        ("stated", "mariadb: innodb_flush_method: not set before, O_DIRECT after"),
    ]


def test_what_is_the_same_in_another_order_or_only_an_instance_s_own_has_not_changed(
    pair: tuple[Bundle, Bundle],
) -> None:
    for bundle, modes, folder in zip(pair, ("A,B", "B,A"), ("/tmp/a/data", "/tmp/b/data"), strict=True):
        with_facts(bundle, lambda facts, m=modes, f=folder: facts.settings.update(sql_mode=m, datadir=f))  # type: ignore[misc]
    assert held(*pair).changed == []


def test_cells_match_by_their_levels_even_where_one_plan_has_only_one(tmp_path: Path, before: Path) -> None:
    several = write_bundle(tmp_path / "several", replace(STORY, threads=(1, 8)))
    found = held(Bundle.open(before), several)
    assert [c.cell for c in found.comparisons] == ["mariadb / threads=8"]
    assert found.left_out == ["mariadb / threads=1: only after"]


def test_a_cell_that_is_gone_is_not_passed_over(tmp_path: Path, before: Path) -> None:
    both = write_bundle(tmp_path / "both", replace(STORY, contenders=(MARIADB, SQLITE)))
    found = held(both, Bundle.open(before))
    assert [(c.cell, c.verdict) for c in found.comparisons] == [
        ("mariadb", "no difference"),
        ("sqlite_full", "not comparable"),
    ]
    assert main(["compare", str(both.folder), str(before), "--fail-if", "rate < -50%"]) == 1


def test_bundles_without_a_common_cell_are_refused(tmp_path: Path, before: Path) -> None:
    other = write_bundle(tmp_path / "other", replace(STORY, contenders=(SQLITE,)))
    with pytest.raises(BundleError, match="no cell in common"):
        held(Bundle.open(before), other)


def test_results_that_cannot_be_read_fail_the_comparison_and_lead_its_headline(
    tmp_path: Path, before: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(after, tmp_path / "copy")
    next((copy / "runs").glob("*/result.json")).write_text("{")
    page = tmp_path / "page.html"
    assert main(["compare", str(before), str(copy), "--json", "--html", str(page)]) == 1
    first = json.loads(capsys.readouterr().out)["headline"][0]
    assert first.startswith(f"{copy}: The result of 1 run could not be read")
    assert "The result of 1 run could not be read" in page.read_text()


def test_a_bundle_that_is_given_twice_is_refused(before: Path, after: Path) -> None:
    old, new, copy = Bundle.open(before), Bundle.open(after), Bundle.open(before)
    with pytest.raises(BundleError, match="the same bundle as"):
        compare([old, copy], [new], RATE)


def test_a_bundle_and_its_copy_are_said_to_be_the_same(
    tmp_path: Path, before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = str(shutil.copytree(before, tmp_path / "copy"))
    assert main(["compare", str(before), copy]) == 0
    assert capsys.readouterr().out == "the same bundle: nothing to compare\n"
    assert main(["compare", str(before), copy, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["same"], document["comparisons"]) == (True, [])
    assert main(["compare", copy, copy, "--fail-if", "rate < -5%"]) == 1
    assert "not judged: the same bundle" in capsys.readouterr().out


def test_the_answer_then_a_screen_of_what_changed_stand_before_the_findings(
    pair: tuple[Bundle, Bundle], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = pair
    new.machine = new.machine.model_copy(update={"cores": 2})

    def upgrade(facts: FactsRecord) -> None:
        facts.version = "11.4.2"
        facts.settings.update({f"a_default_{n}": "x" * 99 for n in range(40)}, innodb_flush_method="O_DIRECT")
        facts.declared["innodb_flush_method"] = "O_DIRECT"

    with_facts(new, upgrade)
    found = held(old, new)
    show_found(found, Joined([old], [new], found.matches, "rate", ""), [])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "after cannot be distinguished from before.",
        "UNDECIDED: with one bundle per side, this applies to these two bundles, not to",
        "the systems",
    ]
    changed = next(number for number, line in enumerate(lines) if "changed, the worst first" in line)
    shown = lines[changed - 3 :]
    assert shown[5].split() == ["!", "machine's", "cores", "8", "2"]
    assert [line.split()[0:2] for line in shown[6:8]] == [["mariadb", "MariaDB"], ["mariadb:", "innodb_flush_method"]]
    assert shown[25] == "    and 23 more: see --json"
    assert max(map(len, shown[:26])) <= 150
    assert shown[27].startswith("* After against before: no difference")


def test_differences_within_a_side_are_reported_too(tmp_path: Path, before: Path, after: Path) -> None:
    old, new, third = Bundle.open(before), Bundle.open(after), write_bundle(tmp_path / "third", STORY)
    third.info = third.info.model_copy(update={"created": "2026-11-22T12:00:00+00:00"})
    new.info = new.info.model_copy(update={"created": "2026-11-23T12:00:00+00:00"})
    with_facts(third, lambda facts: facts.portable.update(durability="none"))
    with pytest.raises(BundleError, match=r"durability: full \| none before, full after"):
        compare([old, third], [new], RATE)
    found = compare([old, third], [new], RATE, ["durability"])
    assert found.comparisons[0].design == "several bundles"
    (spread,) = found.spreads
    assert str(spread).startswith("throughput: runs of one bundle vary by about ")
    assert spread.parts["mariadb"].runs == pytest.approx(5)
    assert compare([old], [new], RATE).spreads == []


@pytest.mark.parametrize("break_it", [invalid, failed])
def test_a_side_with_an_invalid_run_fails_every_condition(tmp_path: Path, before: Path, break_it: Any) -> None:
    story = replace(STORY, repetitions=8, change=lambda run: break_it(run) if run.block == 2 else run)
    broken = write_bundle(tmp_path / "broken", story)
    found = held(Bundle.open(before), broken)
    assert found.comparisons[0].verdict == "invalid runs"
    assert found.comparisons[0].words.startswith("not compared: 1 of 8 runs of after was invalid (")
    assert main(["compare", str(before), str(broken.folder), "--fail-if", "rate < -50%"]) == 1


@pytest.mark.parametrize(
    "name", ["latency_p1", "latency_p50", "latency_p90", "latency_p999", "latency_max", "latency_mean"]
)
def test_every_objective_that_is_accepted_is_judged(
    before: Path, after: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    condition = f"{name} > 900%"
    assert main(["compare", str(before), str(after), "--json", "--fail-if", condition]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [c["objective"] for c in document["comparisons"]] == ["rate", name]
    assert [c["status"] for c in document["conditions"]] == ["passed"]


def test_percentiles_of_a_run_come_from_its_histogram(pair: tuple[Bundle, Bundle]) -> None:
    bundle = pair[0]
    p90 = compare([bundle], [pair[1]], [metric("latency_p90")]).comparisons[0].base_value
    run = bundle.runs[0].response
    assert p90 is not None
    assert run.p50_ms is not None
    assert run.p95_ms is not None
    assert run.p50_ms < p90 < run.p95_ms


def test_doubts_about_runs_are_reported_next_to_their_comparison(pair: tuple[Bundle, Bundle]) -> None:
    doubt = Validity(name="other processes", severity="warning", ok=False, words="30 % of the CPU time went to others")
    for run in pair[1].runs[:2]:
        run.validity.append(doubt)
    assert held(*pair).doubts == ["after: other processes in 2 of 5 runs"]


def test_a_bundle_that_is_not_whole_says_so(tmp_path: Path, before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = write_bundle(tmp_path / "half", replace(STORY, state="interrupted", noise=0.021)).folder
    assert main(["compare", str(before), str(half)]) == 0
    assert f"warning: {half} is incomplete: its state is 'interrupted'" in capsys.readouterr().err


def test_what_two_bundles_cannot_tell_is_said_in_the_text(
    before: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(before), str(after)]) == 0
    said = capsys.readouterr().out
    assert "between these two bundles" in said
    assert "note: one bundle a side: how much two bundles of one and the same system differ is not known" in said


def test_as_many_runs_are_planned_as_the_bundles_of_both_sides_planned(
    four: list[Bundle], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, another, _ = (str(bundle.folder) for bundle in four)
    runs = sum(len(bundle.runs) for bundle in four[:3])
    assert main(["compare", old, another, "--against", new]) == 0
    said = capsys.readouterr().out
    assert f"\n{runs} of {runs} runs valid" in said
    assert ", of " not in said


def test_disturbed_runs_that_count_are_the_first_doubt_of_two_bundles(
    tmp_path: Path, before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Validity(name="stall", severity="disturbed", ok=False, words="2.3 s", value=2.3, value_words="2.3 s")

    def busy(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"validity": [found], "disturbance_allowed": True})

    after = write_bundle(tmp_path / "after", replace(STORY, change=busy, noise=0.021)).folder
    assert main(["compare", str(before), str(after)]) == 0
    said = " ".join(capsys.readouterr().out.splitlines()[:5])
    assert "NOT TRUSTWORTHY: disturbed runs count (" in said
    assert "; with one bundle per side, this applies to these two bundles" in said
    assert "5 of them disturbed" in said


def test_one_bundle_has_nothing_to_be_compared_with(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(before)]) == 2
    assert "one bundle is given, and nothing to compare it with" in capsys.readouterr().err


def test_sides_of_several_bundles_need_to_be_distinguished(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(before), str(before), str(before)]) == 2
    assert "--against" in capsys.readouterr().err


@pytest.fixture
def four(tmp_path: Path) -> list[Bundle]:
    return [write_bundle(tmp_path / str(n), replace(STORY, noise=0.01 * n)) for n in (1, 2, 3, 4)]


def test_a_comparison_to_which_bundles_are_added_is_the_next_analysis(four: list[Bundle]) -> None:
    a, b, c, d = four
    alphas = [compared(*sides, RATE).alpha for sides in (([a], [b]), ([a], [b, c]), ([a, d], [b, c]))]
    assert alphas == pytest.approx([0.04, 0.008, 0.0016])
    again = compared([a], [b, c], RATE)
    assert (again.analysis, again.alpha) == (2, pytest.approx(0.008))
    assert compared([b, c], [a, d], RATE).alpha == pytest.approx(0.00032)  # the same question, turned


def test_another_bundle_against_the_same_one_is_another_question(four: list[Bundle]) -> None:
    assert [compared([four[0]], [other], RATE).alpha for other in four[1:]] == pytest.approx([0.04] * 3)


def test_other_objectives_of_the_same_bundles_are_a_further_analysis(four: list[Bundle]) -> None:
    a, b = four[:2]
    assert [compared([a], [b], [metric(name)]).analysis for name in ("rate", "latency_p50", "rate")] == [1, 2, 1]


def test_a_comparison_is_recorded_where_it_can_be_and_else_claims_nothing(four: list[Bundle]) -> None:
    class Sealed(Bundle):
        def record(self, records: list[AnalysisRecord], known: int) -> bool:
            raise BakeoffError("cannot write")

    a, b = (Sealed(one.folder, one.info, one.plan, one.machine) for one in four[:2])
    found = compared([a], [b], RATE)
    assert found.alpha is None
    assert found.comparisons[0].verdict == "not comparable"
    assert compared([a], [four[1]], RATE).alpha == pytest.approx(0.04)
    assert compared([a], [b], RATE).alpha == pytest.approx(0.04)  # given before
    assert len(four[1].analyses) == 1
    assert four[0].analyses == []
