"""[prices] of a plan: which hold for a system, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.model.prices import COST
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import read_plan
from bakeoff.plan.several_plans import side_by_side
from builders.plans import SQLITE, read, refused

SAID = "currency = 'USD'\ndate = 2026-11-20\nsource = 'a list'"
PRICES = f"[prices]\nmachine_per_hour = 0.2\n{SAID}"
TWO = f"{SQLITE}\n[systems.b]\nkind = 'sqlite'"


def test_a_systems_own_prices_come_before_the_plans() -> None:
    plan = read(systems=f"{PRICES}\n{TWO}\nprices = {{ machine_per_hour = 1, date = '2026-11-21' }}")
    found = [cell.record.prices for cell in plan.cells]
    assert [(one.machine_per_hour, one.currency, one.date, one.source) for one in found if one] == [
        (0.2, "USD", "2026-11-20", "a list"), (1.0, "USD", "2026-11-21", "a list"),
    ]  # fmt: skip
    assert plan.record.resolved["prices"]["source"] == "a list"


def test_prices_change_no_run() -> None:
    assert [cell.record.id for cell in read(systems=f"{PRICES}\n{TWO}").cells] == [
        cell.record.id for cell in read(systems=TWO).cells
    ]


def test_the_dry_run_says_the_prices(tmp_path: Path) -> None:
    words = describe(read(systems=f"{PRICES}\n{SQLITE}"), tmp_path).comparison_words
    assert words[-1] == "prices of sqlite: 0.2 USD per hour of its machines (2026-11-20, a list)"


def test_cost_is_objective_limit_and_threshold() -> None:
    rest = f"[compare]\nlimit = '{COST} < 20 USD'\nfail_if = ['{COST} > 5%', '{COST} > 30']"
    plan = read(systems=f"{PRICES}\n{TWO}", measure=f"objective = '{COST}'\nrepetitions = 5", rest=rest)
    assert plan.record.objective == COST
    assert not any("price" in words for words in plan.warnings)


def test_a_system_without_prices_is_named() -> None:
    systems = f"{TWO}\nprices = {{ machine_per_hour = 1, {SAID.replace(chr(10), ', ')} }}"
    assert (
        "sqlite has no prices, so those are not compared"
        in read(systems=systems, measure=f"objective = '{COST}'").warnings
    )


@pytest.mark.parametrize(
    ("prices", "what", "hint"),
    [
        (f"[prices]\nmachine_per_our = 1\n{SAID}", "unknown key `machine_per_our`", "machine_per_hour"),
        (f"[prices]\nmachine_per_hour = -1\n{SAID}", "", ""),
        (f"[prices]\n{SAID}", "sqlite has no price", "write one of machine_per_hour"),
        (PRICES.replace("date = 2026-11-20", ""), "the prices of sqlite have no `date`", 'write date = "2026-11-20"'),
        (PRICES.replace("source = 'a list'", ""), "the prices of sqlite have no `source`", "write source"),
        (PRICES.replace("2026-11-20", "'yesterday'"), '"yesterday" is not a date', "YYYY-MM-DD"),
        (PRICES.replace("2026-11-20", "'20261120'"), '"20261120" is not a date', "YYYY-MM-DD"),
        (PRICES.replace("2026-11-20", "'2026-W47-5'"), '"2026-W47-5" is not a date', "YYYY-MM-DD"),
        (PRICES.replace("USD", "dollars"), "", ""),
        (f"{PRICES}\nmillion_requests = 1\nmillion_reads = 1", "which pay for the same", "keep the one"),
        (f"{PRICES}\nmillion_reads = 1", "capacity units, which sqlite does not count", "million_requests"),
    ],
)
def test_prices_that_could_not_be_used_are_refused(prices: str, what: str, hint: str) -> None:
    error = refused(systems=f"{prices}\n{SQLITE}")
    assert what in error.what
    assert hint in error.hint
    assert "[prices]" in error.where or "prices" in error.where


def test_a_misspelt_key_of_a_systems_prices_is_named_where_it_is() -> None:
    error = refused(systems=f"{PRICES}\n{SQLITE}\nprices = {{ machine_per_our = 1 }}")
    assert (error.what, "machine_per_hour" in error.hint) == ("unknown key `machine_per_our`", True)
    assert "[systems.sqlite] prices" in error.where


@pytest.mark.parametrize("own", ["currency = 'EUR'", "date = 2026-11-21", "source = 'another'"])
def test_an_inherited_amount_keeps_its_currency_date_and_source(own: str) -> None:
    prices = f"{PRICES}\nstorage_per_gb_month = 0.1\n{TWO}\nprices = {{ machine_per_hour = 1, {own} }}"
    error = refused(systems=prices)
    key = own.partition(" ")[0]
    assert error.what == f"`{key}` of b is another than in [prices], from which it has `storage_per_gb_month`"
    assert "write `storage_per_gb_month` in the prices of b, too" in error.hint
    same = read(systems=f"{PRICES}\n{TWO}\nprices = {{ storage_per_gb_month = 0.1, {SAID.replace(chr(10), ', ')} }}")
    assert [cell.record.prices.currency for cell in same.cells if cell.record.prices] == ["USD", "USD"]


def test_two_currencies_are_refused() -> None:
    error = refused(systems=f"{PRICES}\n{TWO}\nprices = {{ machine_per_hour = 1, currency = 'EUR' }}")
    assert error.what == "prices in USD (sqlite) and EUR (b) cannot be compared"


def test_cost_without_prices_is_refused() -> None:
    error = refused(measure=f"objective = '{COST}'")
    assert error.what == f"`{COST}` needs prices, and the plan has none"
    assert "[measure] objective" in error.where
    error = refused(rest=f"[search]\nhighest = 'rate'\nwhile = '{COST} < 5'")
    assert "[search] while" in error.where
    error = refused(systems=f"{PRICES}\n{SQLITE}", rest=f"[compare]\nlimit = '{COST} < 5 EUR'")
    assert error.what == f'"EUR" is not a unit of {COST}'


def test_plans_side_by_side_may_have_prices_of_their_own(tmp_path: Path) -> None:
    text = f"{PRICES}\n{SQLITE}\n[workload]\nkind = 'ycsb'\npreset = 'c'\n"
    (tmp_path / "small.toml").write_text(text)
    (tmp_path / "large.toml").write_text(text.replace("0.2", "0.4"))
    plan = side_by_side([read_plan(tmp_path / "small.toml"), read_plan(tmp_path / "large.toml")])
    assert [cell.record.prices.machine_per_hour for cell in plan.cells if cell.record.prices] == [0.2, 0.4]
    assert "prices.machine_per_hour" in plan.record.differences
