"""[prices] and the prices of a system: what it has of its own comes before what the plan says for all."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from ..model.prices import COST, Prices
from .document.source import Source
from .document.tables import PlanDocument, PricesTable
from .resolved import Cell

_NEEDED = {
    "currency": 'currency = "USD"',
    "date": 'date = "2026-11-20", the day on which the price was read',
    "source": 'source = "...", the address of the price list, or "our contract"',
}
_AMOUNTS = [name for name in PricesTable.model_fields if name not in _NEEDED]
_OF_UNITS = ("million_reads", "million_writes")
#: Whose service says how many capacity units a request consumed.
_DRIVERS_WITH_UNITS = ("dynamodb",)


def prices_of(document: PlanDocument, system: str, driver: str, source: Source) -> Prices | None:
    """None where neither the plan nor the system says any. Raises PlanError for prices that could not be used."""
    own = document.systems[system].prices
    tables = [table for table in (document.prices, own) if table is not None]
    said = {key: value for table in tables for key, value in table.model_dump(exclude_none=True).items()}
    if not tables:
        return None
    place = ("prices",) if own is None else ("systems", system, "prices")
    amounts = [name for name in _AMOUNTS if name in said]
    if not amounts:
        raise source.error(f"{system} has no price", *place, hint=f"write one of {', '.join(_AMOUNTS)}")
    for key, example in _NEEDED.items():
        if key not in said:
            raise source.error(f"the prices of {system} have no `{key}`", *place, hint=f"write {example}")
    if document.prices is not None and own is not None:
        _refuse_relabelled(system, document.prices, own, source)
    _check_date(said["date"], place, source)
    of_units = [name for name in _OF_UNITS if name in said]
    if of_units and "million_requests" in said:
        what = f"the prices of {system} have `million_requests` and `{of_units[0]}`, which pay for the same"
        raise source.error(what, *place, of_units[0], hint="keep the one by which you are charged")
    if of_units and driver not in _DRIVERS_WITH_UNITS:
        what = f"`{of_units[0]}` is a price of capacity units, which {system} does not count"
        raise source.error(what, *place, of_units[0], hint="write million_requests for a price of each operation")
    return Prices(**said)


def _refuse_relabelled(system: str, plans: PricesTable, own: PricesTable, source: Source) -> None:
    """An amount belongs to the currency, date and source with which it was written."""
    inherited = [name for name in _AMOUNTS if getattr(plans, name) is not None and getattr(own, name) is None]
    for key in _NEEDED:
        was, now = getattr(plans, key), getattr(own, key)
        if inherited and None not in (was, now) and was != now:
            what = f"`{key}` of {system} is another than in [prices], from which it has `{inherited[0]}`"
            hint = f"write `{inherited[0]}` in the prices of {system}, too, or leave out its `{key}`"
            raise source.error(what, "systems", system, "prices", key, hint=hint)


def _check_date(text: str, place: tuple[str, ...], source: Source) -> None:
    """Of the forms of ISO 8601 only the one that everybody reads."""
    try:
        is_date = date.fromisoformat(text).isoformat() == text
    except ValueError:
        is_date = False
    if not is_date:
        raise source.error(f'"{text}" is not a date', *place, "date", hint="write YYYY-MM-DD")


def refuse_currencies(cells: Iterable[Cell], source: Source) -> None:
    """Nobody knows the rate of exchange."""
    found = {cell.record.prices.currency: cell.record.system for cell in cells if cell.record.prices}
    if len(found) > 1:
        words = " and ".join(f"{currency} ({system})" for currency, system in found.items())
        hint = "convert the prices of one system, and name the rate of exchange in its `source`"
        raise source.error(f"prices in {words} cannot be compared", "prices", "currency", hint=hint)


def check_cost(metric: str, cells: Iterable[Cell], source: Source, *place: str) -> list[str]:
    """Of a metric that the plan names: words on systems without prices. Raises PlanError if none has any."""
    if metric != COST:
        return []
    priced = {cell.record.system: cell.record.prices is not None for cell in cells}
    if not any(priced.values()):
        hint = "add [prices] with machine_per_hour, currency, date and source, or choose another metric"
        raise source.error(f"`{COST}` needs prices, and the plan has none", *place, hint=hint)
    return [f"{system} has no prices" for system, known in priced.items() if not known]
