"""Cost per billion operations: its formula, in a bundle, at what a search found, and between two machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bakeoff.analysis.cost import cost_metric
from bakeoff.analysis.metric import Observed
from bakeoff.analysis.registry import all_metrics, metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli.arguments import named
from bakeoff.cli.commands.compare import show_found
from bakeoff.errors import BundleError, PlanError
from bakeoff.findings.between_bundles.both_sides import Joined
from bakeoff.findings.between_bundles.comparison import compare, compared
from bakeoff.model.boundary import CapacityUnits
from bakeoff.model.prices import COST, Priced, Prices
from bakeoff.model.records.plan import SearchRecord
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import analysed, answer_of
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, SQLITE, Story, write_bundle

STORY = Story(threads=(8,), presets=("a",), window_s=3, warm_up_s=1)
SEARCHED = Story(
    contenders=(MARIADB,), presets=("c",), threads=(4, 8, 9, 10, 11, 12), repetitions=3, window_s=2, warm_up_s=1
)
SEARCH = SearchRecord(
    factor="rate", highest=True, limits=["latency_p99 < 2ms"], low=100, high=1e6, first=1000, whole=False,
    precision_ratio=0.05, runs=25,
)  # fmt: skip


def prices(**said: Any) -> Prices:
    return Prices(**{"currency": "USD", "date": "2026-11-20", "source": "a list", **said})


def priced(bundle: Bundle, of: dict[str, Prices], **fields: Any) -> Bundle:
    assert bundle.runs  # they are read before: they would not be those of another plan
    cells = [cell.model_copy(update={"prices": of.get(cell.system)}) for cell in bundle.plan.cells]
    bundle.plan = bundle.plan.model_copy(update={"cells": cells, **fields})
    return bundle


def searched(folder: Path, story: Story = SEARCHED, **said: Any) -> Bundle:
    """The levels are rates that were tried in turn."""
    bundle = write_bundle(folder, story)
    runs = [run.model_copy(update={"block": number}) for number, run in enumerate(bundle.runs, 1)]
    bundle.runs = bundle.attempts = runs
    rates = {cell.id: 1000.0 * cell.threads for cell in bundle.plan.cells}
    cells = [
        cell.model_copy(update={"levels": {"system": cell.system, "rate": rates[cell.id]}, "threads": 8})
        for cell in bundle.plan.cells
    ]
    fields = {"search": SEARCH, "repetitions": SEARCH.runs, "cells": cells}
    bundle.plan = bundle.plan.model_copy(update=fields)
    return priced(bundle, {MARIADB.name: prices(**said)}) if said else bundle


def value(run: RunRecord, **said: Any) -> float | None:
    return cost_metric("USD").of(Observed(run, prices=prices(**said)))


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return write_bundle(tmp_path / "b", STORY)


@pytest.mark.parametrize(("monthly", "share", "rate"), [(262.8, 1.0, 1000.0), (262.8, 0.25, 91_000.0), (9.5, 0.5, 3.0)])
def test_the_part_of_machines_is_the_formula_of_articles(
    bundle: Bundle, monthly: float, share: float, rate: float
) -> None:
    article = monthly * share / (rate * 2.63e6) * 1e9
    run = bundle.runs[0].model_copy(update={"rate_ops_per_s": rate})
    assert value(run, machine_per_hour=monthly * share / 730.5) == pytest.approx(article, rel=1e-4)


def test_storage_and_requests_are_added(bundle: Bundle) -> None:
    run = bundle.runs[0]
    run = run.model_copy(update={"ok": 3000, "window_s": 3.0, "rate_ops_per_s": 1000.0, "retries": 240})
    run = run.model_copy(
        update={"errors": {"fail_conflict": 60}, "capacity_units": CapacityUnits(read=6000, write=1500)}
    )
    machine = 0.36 / 3600 / 1000 * 1e9
    assert value(run, machine_per_hour=0.36) == pytest.approx(machine) == pytest.approx(100)
    storage = value(run, storage_per_gb_month=2.0)
    assert storage == pytest.approx(0.15 * 2.0 / 2_629_800 / 1000 * 1e9)
    assert value(run, million_requests=0.25) == pytest.approx(0.25 * 1000 * 1.1)
    assert value(run, million_reads=0.25, million_writes=1.25) == pytest.approx(0.25 * 1000 * 2 + 1.25 * 1000 * 0.5)
    every = value(run, machine_per_hour=0.36, storage_per_gb_month=2.0, million_requests=0.25)
    assert every == pytest.approx(machine + storage + 275)


def test_what_is_not_known_has_no_cost_if_it_has_a_price(bundle: Bundle) -> None:
    run = bundle.runs[0]
    unknown = run.server.model_copy(update={"size_on_disk_bytes": None})
    run = run.model_copy(update={"server": unknown})
    assert value(run, machine_per_hour=1.0, storage_per_gb_month=0.1) is None
    assert value(run, machine_per_hour=1.0, storage_per_gb_month=0.0) is not None
    assert value(run, machine_per_hour=1.0, million_reads=0.25) is None
    assert value(run.model_copy(update={"rate_ops_per_s": 0.0}), machine_per_hour=1.0) is None
    assert cost_metric().of(Observed(run)) is None


def test_the_currency_is_the_unit() -> None:
    found = metric(COST, [Priced(currency="EUR")])
    assert (found.unit, found.words(0.01234), found.words(12_345.6)) == ("EUR", "0.0123 EUR", "12,346 EUR")
    assert [one.unit for one in all_metrics([Priced(currency="EUR")]) if one.name == COST] == ["EUR"]


def test_machines_of_one_price_differ_in_cost_as_in_throughput(bundle: Bundle) -> None:
    """With twice the price, the cost is 2 / the ratio of the throughputs, and so are the ends of its interval."""
    (rate,) = answer_of(bundle).comparisons
    of = {MARIADB.name: prices(machine_per_hour=1.0), SQLITE.name: prices(machine_per_hour=2.0)}
    answer = answer_of(priced(bundle, of, objective=COST))
    (cost,) = answer.comparisons
    found = [cost.ratio, cost.low, cost.high]
    assert all(found)
    assert rate.ratio
    assert rate.low
    assert rate.high
    assert found == pytest.approx([2 / rate.ratio, 2 / rate.high, 2 / rate.low])
    assert "cost per billion operations" in answer.headline[0]
    mean = answer.cells[0].metrics[COST]
    assert mean.low
    assert mean.high
    assert mean.low < mean.value < mean.high
    assert any("1 USD per hour of its machines (2026-11-20, a list)" in words for words in answer.limits)


def test_a_verdict_on_cost_does_not_outlive_its_prices(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", STORY)

    def verdicts(other: float, **said: Any) -> list[str]:
        of = {MARIADB.name: prices(machine_per_hour=1.0), SQLITE.name: prices(machine_per_hour=other, **said)}
        fails = {"fail_if": ["rate < -5%"]}
        answer = analysed(priced(bundle, of, objective=COST, **fails))
        (rate,) = answer.thresholds
        return [answer.comparisons[0].verdict, rate.status, str(answer.analysis)]

    cheap = verdicts(0.001)
    assert (cheap[0], cheap[2]) == ("lower", "1")
    assert verdicts(0.001, date="2026-11-21") == cheap, "the day says nothing of the cost"
    assert verdicts(1000.0) == ["higher", cheap[1], "2"]
    assert len({one.family[-1] for one in bundle.analyses}) == 1, "the throughput is one question at all prices"
    assert verdicts(0.001)[0] == "lower"


def test_a_verdict_on_cost_between_bundles_does_not_outlive_their_prices(tmp_path: Path) -> None:
    old, new = (
        write_bundle(tmp_path / name, replace(STORY, noise=noise)) for name, noise in (("o", 0.02), ("n", 0.03))
    )

    def verdict(before: float, after: float) -> str:
        for bundle, price in ((old, before), (new, after)):
            priced(bundle, {MARIADB.name: prices(machine_per_hour=price)})
        return compared([old], [new], named([COST], "--objective", [old, new])).comparisons[0].verdict

    assert [verdict(1, 3), verdict(3, 1), verdict(1, 3)] == ["higher", "lower", "higher"]


def test_it_is_in_the_report_whatever_is_compared(bundle: Bundle) -> None:
    assert COST not in answer_of(bundle).cells[0].metrics
    answer = answer_of(priced(bundle, {MARIADB.name: prices(machine_per_hour=1.0)}))
    assert [(one.name, one.unit) for one in answer.metrics] == [(COST, "USD")]
    assert {cell.system: COST in cell.metrics for cell in answer.cells} == {"mariadb": True, "sqlite_full": False}


def test_a_search_says_what_operations_cost_at_what_it_found(tmp_path: Path) -> None:
    answer = answer_of(searched(tmp_path / "b", machine_per_hour=0.36, million_requests=0.001))
    assert answer.search
    (found,) = answer.search.found
    assert found.estimate
    assert found.low
    assert found.high
    assert found.cost
    expected = [0.36 / 3600 / rate * 1e9 + 1.0 for rate in (found.estimate, found.high, found.low)]
    assert [found.cost.estimate, found.cost.low, found.cost.high] == pytest.approx(expected)
    assert f"; there a billion operations cost {found.cost.estimate:.3g} USD (95 % CI " in answer.headline[0]


def test_a_search_without_prices_has_no_cost(tmp_path: Path) -> None:
    bundle = searched(tmp_path / "b")
    assert (answer := answer_of(bundle)).search
    assert answer.search.found[0].estimate
    assert answer.search.found[0].cost is None
    assert "cost" not in answer.headline[0]


def test_systems_of_one_search_are_compared_by_cost(tmp_path: Path) -> None:
    twin = replace(MARIADB, name="twin")
    bundle = searched(tmp_path / "b", replace(SEARCHED, contenders=(MARIADB, twin)), machine_per_hour=1.0)
    of = {MARIADB.name: prices(machine_per_hour=1.0), "twin": prices(machine_per_hour=3.0)}
    search = answer_of(priced(bundle, of)).search
    assert search
    (capacity,), (cost,) = search.differences, search.cost_differences
    assert (cost.ratio, cost.low, cost.high) == pytest.approx((3 / capacity.ratio, 3 / capacity.high, 3 / capacity.low))
    assert "twin's cost per billion operations at the highest rate is " in cost.words
    assert cost.words.rstrip(".") in " ".join(answer_of(bundle).headline)


def test_two_machines_are_compared_by_the_cost_at_their_capacities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The faster machine costs four times as much, and has less than four times the capacity."""
    faster = replace(MARIADB, rate_1=MARIADB.rate_1 * 1.5, rate_max=MARIADB.rate_max * 1.5)
    small = searched(tmp_path / "small", machine_per_hour=0.2)
    story = replace(SEARCHED, contenders=(faster,), threads=(8, 14, 16, 18, 20, 24))
    large = searched(tmp_path / "large", story, machine_per_hour=0.8)
    found = compare([small], [large], [metric("rate")])
    capacity, cost = found.comparisons
    assert (capacity.objective.name, cost.objective.name) == ("capacity", COST)
    assert capacity.ratio
    assert cost.ratio
    assert cost.low
    assert cost.ratio == pytest.approx(4 / capacity.ratio)
    assert (cost.verdict, cost.objective.unit) == ("higher", "USD")
    assert cost.low > 1
    assert "prices of mariadb" in {change.name for change in found.changed}
    show_found(found, Joined([small], [large], found.matches, "rate", ""), [])
    shown = capsys.readouterr().out
    assert "* These two bundles differ: the highest rate of after is " in shown
    assert "* These two bundles differ: the cost per billion operations at the highest rate of after is " in shown


def test_a_cost_that_only_one_of_two_searches_has_is_not_compared(tmp_path: Path) -> None:
    small, large = (
        searched(tmp_path / "small", machine_per_hour=0.2),
        searched(tmp_path / "large", replace(SEARCHED, noise=0.03)),
    )
    assert compare([small], [large], [metric("rate")]).comparisons[1].words == "not compared: zero or not known after"
    other = searched(tmp_path / "other", replace(SEARCHED, noise=0.03), machine_per_hour=0.2, currency="EUR")
    words = compare([small], [other], [metric("rate")]).comparisons[1].words
    assert words == "not compared: the prices are in EUR and USD"


def test_what_costs_nothing_has_no_cost_to_compare(tmp_path: Path, bundle: Bundle) -> None:
    twin = replace(MARIADB, name="twin")
    free = searched(tmp_path / "free", replace(SEARCHED, contenders=(MARIADB, twin)), machine_per_hour=0.0)
    of = {MARIADB.name: prices(machine_per_hour=1.0), "twin": prices(machine_per_hour=0.0)}
    search = answer_of(priced(free, of)).search
    assert search
    assert [one.cost is None for one in search.found] == [False, True]
    assert (len(search.differences), search.cost_differences) == (1, [])
    before = searched(tmp_path / "before", machine_per_hour=0.0)
    after = searched(tmp_path / "after", replace(SEARCHED, noise=0.03), machine_per_hour=0.2)
    words = compare([before], [after], [metric("rate")]).comparisons[1].words
    assert words == "not compared: zero or not known before"
    of = {MARIADB.name: prices(machine_per_hour=0.0), SQLITE.name: prices(machine_per_hour=0.0)}
    fails = {"fail_if": [f"{COST} > 5%", f"{COST} > 30"], "limits": [f"{COST} < 20"]}
    answer = answer_of(priced(bundle, of, objective=COST, **fails))
    assert "cost per billion operations of mariadb is zero" in answer.comparisons[0].words
    assert render_text(answer)


def test_a_cost_of_requests_alone_has_no_interval_and_no_difference(tmp_path: Path) -> None:
    twin = replace(MARIADB, name="twin")
    bundle = searched(tmp_path / "b", replace(SEARCHED, contenders=(MARIADB, twin)), million_requests=0.25)
    of = {MARIADB.name: prices(million_requests=0.25), "twin": prices(million_requests=0.5)}
    search = answer_of(priced(bundle, of)).search
    assert search
    assert (len(search.differences), search.cost_differences) == (1, [])
    cost = search.found[0].cost
    assert cost
    assert (cost.estimate, cost.low, cost.high) == (pytest.approx(250), None, None)
    assert cost.words == "there a billion operations cost 250 USD (requests only, so no interval)"
    old = searched(tmp_path / "old", million_requests=0.25)
    new = searched(tmp_path / "new", replace(SEARCHED, noise=0.03), million_requests=0.5)
    words = compare([old], [new], [metric("rate")]).comparisons[1].words
    more = [
        searched(tmp_path / f"{n}", replace(SEARCHED, noise=0.04 + n / 100), million_requests=n / 4) for n in (1, 2)
    ]
    several = compare([old, more[0]], [new, more[1]], [metric("rate")]).comparisons[1]
    assert several.ratio == pytest.approx(2), "several searches a side differ by themselves"
    assert words == "not compared: requests are all that is paid before and after, so no interval is known"


def test_bundles_are_compared_by_cost_in_one_currency(tmp_path: Path) -> None:
    old, new = (
        priced(write_bundle(tmp_path / name, replace(STORY, noise=noise)), {"mariadb": prices(**said)})
        for name, noise, said in (
            ("old", 0.02, {"machine_per_hour": 1.0}),
            ("new", 0.03, {"machine_per_hour": 3.0}),
        )
    )
    (cost, _) = compare([old], [new], named([COST], "--objective", [old, new])).comparisons
    (rate, _) = compare([old], [new], [metric("rate")]).comparisons
    assert cost.ratio
    assert rate.ratio
    assert cost.ratio == pytest.approx(3 / rate.ratio)
    found = compare([old], [new], [metric("rate")])
    assert [one.unit for one in answer_of(Joined([old], [new], found.matches, "rate", "")).metrics] == ["USD"]
    priced(new, {"mariadb": prices(machine_per_hour=3.0, currency="EUR")})
    found = compare([old], [new], [metric("rate")])
    page = answer_of(Joined([old], [new], found.matches, "rate", ""))
    assert page.metrics == []
    assert all(cell.metrics.keys().isdisjoint({COST}) for cell in page.cells)
    (changed,) = (change for change in found.changed if change.key == "prices")
    assert "1 USD" in changed.before
    assert "3 EUR" in changed.after
    with pytest.raises(BundleError, match="prices in EUR and USD cannot be compared"):
        compare([old], [new], [metric(COST)])
    with pytest.raises(PlanError, match="these bundles have no prices"):
        named([COST], "--objective", [priced(old, {}), priced(new, {})])
