"""Cost per billion operations, as a metric: what is in it is in docs/howto/cost.md."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ..model.prices import COST, Cost
from .metric import Currency, Metric, Observed

_ABOUT = (
    "Price of the machines for the time that a billion correct operations took at the run's throughput, plus storage of"
    " the size on disk, plus requests; only for plans with `[prices]`, in their currency."
)


def running_cost(seen: Observed) -> Cost | None:
    """None without prices, and where an amount is not known that one of them is for."""
    run, units = seen.run, seen.run.capacity_units
    if seen.prices is None:
        return None
    return seen.prices.cost(
        size_bytes=run.server.size_on_disk_bytes,
        requests_per_op=seen.per_op(run.ok + sum(run.errors.values()) + run.retries),
        read_units_per_op=seen.per_op(units.read if units else None),
        write_units_per_op=seen.per_op(units.write if units else None),
    )


def typical_cost(seen: Sequence[Observed]) -> Cost | None:
    """The mean of several runs; None where one of them has none."""
    costs = [cost for one in seen if (cost := running_cost(one)) is not None]
    if not costs or len(costs) < len(seen):
        return None
    return Cost(*(fmean(getattr(cost, part) for cost in costs) for part in ("per_s", "per_op")))


def cost_metric(currency: str = "currency") -> Metric:
    return Metric(COST, Currency(currency), "lower", "cost per billion operations", _ABOUT, _per_billion)


def _per_billion(seen: Observed) -> float | None:
    cost = running_cost(seen)
    return None if cost is None or seen.run.rate_ops_per_s <= 0 else cost.per_billion(seen.run.rate_ops_per_s)
