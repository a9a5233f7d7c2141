"""Answers about isolation: what a level means in each product, who failed for good, and times that are no advantage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from bakeoff.analysis.compare import ComparisonAnswer
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.model.boundary import IsolationName
from bakeoff.model.isolation import MEANINGS, meaning_words
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from bakeoff.report.words.failures_and_isolation import failure_words
from bakeoff.report.words.pairs import operation_words
from builders.bundles import MARIADB, SQLITE, Contender, Story, write_bundle

POSTGRESQL = Contender("postgresql", kind="postgresql", product="PostgreSQL", version="17.2", rate_max=30_000.0)
NEWER = Contender("newer", version="11.8.2", settings={"innodb_snapshot_isolation": "ON"}, rate_max=30_000.0)
PAIR = Story(contenders=(POSTGRESQL, MARIADB), presets=("a",), threads=(8,), window_s=2, warm_up_s=0, noise=0.01)
SNAPSHOT = "a transaction sees one snapshot, and is aborted where it changes a row that another changed since"


def at_levels(folder: Path, story: Story, *levels: str, asked: bool = True) -> Bundle:
    """Each contender's cells at its level; asked: because the plan says so."""
    bundle = write_bundle(folder / "b", story)
    own = dict(zip((one.name for one in story.contenders), levels, strict=True))
    for cell in bundle.plan.cells:
        cell.isolation = own[cell.system] if asked else None
        bundle.facts[cell.id].portable["isolation"] = own[cell.system]
    return bundle


def failing(share: float, cell: str, retries: int = 0) -> Callable[[RunRecord], RunRecord]:
    """That share of the cell's updates ended in a conflict, and those that did not were tried so often."""

    def change(run: RunRecord) -> RunRecord:
        if run.cell != cell:
            return run
        tried = {"retries": retries * run.ok, "retries_after_conflict": retries * run.ok}
        update = run.operations[-1]
        failed = round(update.ok * share / (1 - share))
        if not failed:
            return run.model_copy(update=tried)
        times = to_document(Histogram.from_values([1_000_000] * failed))
        ended = {"outcome": "fail_conflict", "count": failed, "response": times, "service": times}
        errors = {"fail_conflict": failed}
        changes = {
            "errors": errors,
            "completed": run.ok + failed,
            "operations": [*run.operations[:-1], update.model_copy(update={"errors": errors})],
            "series": [*run.series, run.series[-1].model_copy(update=ended)],
        }
        return run.model_copy(update={**changes, **tried})

    return change


def sentences(answer: Answer) -> str:
    return " ".join(answer.headline)


def test_one_level_that_means_two_things_is_said_first_where_the_plan_names_it(tmp_path: Path) -> None:
    found = answer_of(at_levels(tmp_path, PAIR, "repeatable-read", "repeatable-read"))
    assert (
        f"The level repeatable-read means different things: in postgresql {SNAPSHOT}; in mariadb plain reads see one"
        " snapshot, but updates apply to what others committed since, and updates can be lost."
    ) in found.headline
    assert "means different things" not in " ".join(found.limits)


@pytest.mark.parametrize(
    ("other", "level"),
    [(MARIADB, "read-committed"), (NEWER, "repeatable-read")],
    ids=["read committed", "a MariaDB with snapshot isolation"],
)
def test_a_level_that_means_the_same_in_both_needs_no_sentence(tmp_path: Path, other: Contender, level: str) -> None:
    found = answer_of(at_levels(tmp_path, replace(PAIR, contenders=(POSTGRESQL, other)), level, level))
    assert "means different things" not in " ".join([*found.headline, *found.limits])


def test_two_versions_that_do_not_mean_the_same_by_their_default_are_distinguished(tmp_path: Path) -> None:
    story = replace(PAIR, contenders=(MARIADB, NEWER))
    found = answer_of(at_levels(tmp_path, story, "repeatable-read", "repeatable-read", asked=False))
    (words,) = [words for words in found.limits if "means different things" in words]
    assert f"in newer {SNAPSHOT}" in words
    assert "means different things" not in sentences(found), "nobody asked, and nothing failed"


def test_a_session_s_own_snapshot_isolation_is_what_counts(tmp_path: Path) -> None:
    bundle = at_levels(tmp_path, replace(PAIR, contenders=(POSTGRESQL, NEWER)), *2 * ["repeatable-read"])
    bundle.plan.resolved["systems"] = {"newer": {"session": {"innodb_snapshot_isolation": "OFF"}}}
    assert "in newer plain reads see one snapshot, but updates" in sentences(answer_of(bundle))


def test_contestants_at_different_defaults_have_both_levels_named(tmp_path: Path) -> None:
    found = answer_of(at_levels(tmp_path, PAIR, "read-committed", "repeatable-read", asked=False))
    (words,) = [words for words in found.limits if words.startswith("They ran at different levels of isolation: ")]
    assert "postgresql at read-committed, its default (each statement sees" in words
    assert "; mariadb at repeatable-read, its default (plain reads" in words
    assert not [words for words in unknown(tmp_path).limits if "levels of isolation" in words]
    asked = answer_of(at_levels(tmp_path / "asked", PAIR, "read-committed", "repeatable-read"))
    assert "postgresql at read-committed (each statement sees" in sentences(asked)


def unknown(folder: Path) -> Answer:
    return answer_of(at_levels(folder / "unknown", PAIR, "read-committed", "unknown", asked=False))


def test_a_system_without_levels_is_reported_in_its_own_words(tmp_path: Path) -> None:
    own = "each row by itself, no transactions"
    found = answer_of(at_levels(tmp_path, PAIR, own, "repeatable-read", asked=False))
    (words,) = [words for words in found.limits if words.startswith("They ran at different levels of isolation: ")]
    assert f": postgresql: {own}; mariadb at repeatable-read, its default (" in words


def test_levels_that_are_compared_within_one_product_need_no_sentence(tmp_path: Path) -> None:
    story = replace(PAIR, contenders=(POSTGRESQL, replace(POSTGRESQL, name="again")))
    bundle = at_levels(tmp_path, story, "read-committed", "serializable")
    by_isolation(bundle)
    found = answer_of(bundle)
    assert found.compared == "isolation"
    assert not [words for words in [*found.headline, *found.limits] if "different" in words and "level" in words]


def by_isolation(bundle: Bundle) -> None:
    """As if the plan compared the levels of one system."""
    bundle.plan.compare_factor = "isolation"
    for cell in bundle.plan.cells:
        cell.system, cell.levels = "postgresql", {"system": "postgresql", "isolation": cell.isolation or ""}


def test_where_levels_are_compared_the_answer_says_what_failed_for_good(tmp_path: Path) -> None:
    story = replace(PAIR, contenders=(POSTGRESQL, replace(POSTGRESQL, name="again")), change=failing(0.5, "c02", 2))
    bundle = at_levels(tmp_path, story, "read-committed", "serializable")
    by_isolation(bundle)
    found = answer_of(bundle)
    assert (
        "33 % of serializable isolation's and 0 % of read-committed isolation's operations failed for good, with 2.0"
        " and 0 retries for each that succeeded."
    ) in found.headline[0]
    assert "Of the attempts" not in sentences(found), "that would be said twice"
    assert not {"abort_ratio", "retries_per_op"} & {figure.name for figure in found.comparisons[0].differs}
    quiet = at_levels(tmp_path / "quiet", replace(story, change=lambda run: run), "read-committed", "serializable")
    by_isolation(quiet)
    assert "No operation failed or was tried again on either side." in answer_of(quiet).headline[0]


def test_shares_that_failed_are_in_any_answer_where_they_lie_apart(tmp_path: Path) -> None:
    alike = at_levels(tmp_path, PAIR, "read-committed", "read-committed")
    assert answer_of(alike).comparisons[0].failures == ""
    some = at_levels(tmp_path / "some", replace(PAIR, change=failing(0.06, "c02")), "read-committed", "read-committed")
    found = answer_of(some)
    assert "3.1 % of mariadb's and 0 % of postgresql's operations failed." in found.headline[0]
    lost = [cell.model_copy(update={"errors": {"unknown": 9}}) for cell in found.cells]
    assert failure_words(found.comparisons[0], lost) == (
        "3.1 % of mariadb's and 0 % of postgresql's operations failed, had no answer in time or may have been applied."
    )
    few = replace(PAIR, change=failing(0.0005, "c02"))
    assert answer_of(at_levels(tmp_path / "few", few, *2 * ["read-committed"])).comparisons[0].failures == ""


def test_settings_in_which_operations_failed_are_named_next_to_that_of_the_figures(tmp_path: Path) -> None:
    story = replace(PAIR, threads=(4, 8), change=failing(0.06, "c03"))
    bundle = at_levels(tmp_path, story, "read-committed", "read-committed")
    found = answer_of(bundle)
    told = "At 4 threads: 3.1 % of mariadb's and 0 % of postgresql's operations failed."
    assert told in found.headline[0]
    assert "note: mariadb, 4 threads: 3.1 % of mariadb's" in render_text(found)
    page = write_report(bundle, tmp_path / "out", found).html.read_text()
    assert page.count("operations failed.") == 2, "in the answer, and in the table of comparisons"


def test_retries_that_are_next_to_none_have_no_digits_of_noise(tmp_path: Path) -> None:
    def once(run: RunRecord) -> RunRecord:
        return run.model_copy(update={"retries": int(run.cell == "c02" and run.block == 1)})

    found = answer_of(at_levels(tmp_path, replace(PAIR, change=once), "read-committed", "repeatable-read"))
    words = "No operation failed for good on either side, with under 0.001 and 0 retries for each that succeeded."
    assert found.comparisons[0].failures == words


def test_a_side_without_a_figure_has_no_share(tmp_path: Path) -> None:
    found = answer_of(at_levels(tmp_path, PAIR, "read-committed", "read-committed"))
    refused = found.comparisons[0].model_copy(update={"verdict": "invalid runs"})
    assert failure_words(refused, found.cells, always=True) == ""


def read_is_short(found: Answer) -> tuple[ComparisonAnswer, Answer]:
    """Of mariadb's, which is slower in all."""
    cells = []
    for cell in found.cells:
        p50_ms = 0.0105 if cell.contestant == "mariadb" else 0.375
        times = {"p50_ms": p50_ms, "p99_ms": 1.0}
        operations = [
            one.model_copy(update={"response": one.response.model_copy(update=times)})
            if one.operation == "read"
            else one.model_copy(update={"response": one.response.model_copy(update={"p50_ms": None, "p99_ms": None})})
            for one in cell.by_operation
        ]
        cells.append(cell.model_copy(update={"by_operation": operations}))
    return found.comparisons[0], found.model_copy(update={"cells": cells})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda run: run, ""),
        (failing(0.5, "c02"), "; no advantage of mariadb by itself, because 50 % of its update failed"),
        (failing(0.0, "c02", 1), "; no advantage of mariadb by itself, because 50 % of its attempts were aborted"),
        (failing(0.5, "c01"), ""),
    ],
    ids=["nothing failed", "it gave up", "it was aborted", "the other gave up"],
)
def test_an_operation_that_is_faster_because_others_abort_is_no_advantage(
    tmp_path: Path, change: Callable[[RunRecord], RunRecord], why: str
) -> None:
    slow = replace(MARIADB, rate_max=6_000.0)
    story = replace(PAIR, contenders=(replace(POSTGRESQL, rate_max=200_000.0), slow), change=change)
    bundle = at_levels(tmp_path, story, "read-committed", "read-committed")
    one, found = read_is_short(answer_of(bundle, [metric("abort_ratio")]))
    assert one.better == "postgresql"
    (words,) = operation_words(one, found.cells)
    assert words == f"But its read takes less time: p50 10.5 µs against 375 µs (not tested{why})."
    turned = one.model_copy(update={"base": one.other, "other": one.base})
    (words,) = operation_words(turned, found.cells)
    assert words == f"But its read takes longer: p50 375 µs against 10.5 µs (not tested{why})."


def test_every_level_of_a_plan_has_a_meaning_in_some_product() -> None:
    assert {level for one in MEANINGS for level in one.levels} == set(get_args(IsolationName))
    ours = [one for one in MEANINGS if not one.source.startswith("https://")]
    assert {product for one in ours for product in one.products} == {"reference store"}


@pytest.mark.parametrize(
    ("product", "version", "settings", "has"),
    [
        ("MariaDB", "11.6.1", {}, False),
        ("MariaDB", "11.6.2", {}, True),
        ("MariaDB", "12.1.2", {}, True),
        ("MariaDB", "10.11.19", {"innodb_snapshot_isolation": "ON"}, True),
        ("MariaDB", "11.8.6", {"innodb_snapshot_isolation": "OFF"}, False),
        ("MySQL", "9.7.4", {}, False),
        ("Percona Server", "8.0.36", {}, False),
    ],
)
def test_repeatable_read_of_innodb_is_what_the_server_says(
    product: str, version: str, settings: dict[str, str], *, has: bool
) -> None:
    words = meaning_words("mariadb", product, version, settings, "repeatable-read")
    assert (words == SNAPSHOT) == has
    assert words


def test_galera_adds_what_holds_between_nodes_and_an_unknown_level_means_nothing() -> None:
    own = meaning_words("mariadb", "MariaDB", "10.11.19", {}, "serializable")
    across = meaning_words("galera", "MariaDB", "10.11.19", {}, "serializable")
    assert across.startswith(f"{own}; between nodes the first to commit wins")
    assert meaning_words("cassandra", "Apache Cassandra", "5.0.9", {}, "each row by itself, no transactions") == ""
    assert meaning_words("sqlite", "SQLite", "3.46.0", {}, "serializable") == (
        "one transaction writes at a time, and the others wait, or are refused if they have read before"
    )


def test_an_embedded_database_at_its_one_level_is_reported_next_to_a_server(tmp_path: Path) -> None:
    story = replace(PAIR, contenders=(SQLITE, MARIADB))
    found = answer_of(at_levels(tmp_path, story, "serializable", "serializable"))
    assert "in sqlite_full one transaction writes at a time" in sentences(found)
