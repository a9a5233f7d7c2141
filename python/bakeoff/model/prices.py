"""What a system costs whoever runs it: the prices that a plan says, and what a billion operations cost at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .boundary import Document

#: Of an average year: 2.63e6 s.
MONTH_S = 365.25 / 12 * 86400
HOUR_S = 3600.0
GB = 1e9


@dataclass(frozen=True, slots=True)
class Cost:
    """per_s: whatever it does. per_op: of each operation."""

    per_s: float
    per_op: float

    def per_billion(self, rate_ops_per_s: float) -> float:
        """rate_ops_per_s: above 0."""
        return 1e9 * (self.per_s / rate_ops_per_s + self.per_op)


class Prices(Document):
    """Of one system. machine_per_hour: of all machines that it runs on. None: nothing is paid for that. date: ISO 8601,
    when `source` had these prices."""

    machine_per_hour: float | None = None
    storage_per_gb_month: float | None = None
    million_requests: float | None = None
    #: Of capacity units, in place of requests.
    million_reads: float | None = None
    million_writes: float | None = None
    currency: str
    date: str
    source: str

    def cost(
        self,
        *,
        size_bytes: float | None,
        requests_per_op: float | None,
        read_units_per_op: float | None,
        write_units_per_op: float | None,
    ) -> Cost | None:
        """None where an amount is not known that a price is for."""
        per_s = [_product(self.machine_per_hour, 1 / HOUR_S)]
        per_s += [_product(self.storage_per_gb_month, size_bytes, 1 / (GB * MONTH_S))]
        per_op = [
            _product(self.million_requests, requests_per_op, 1e-6),
            _product(self.million_reads, read_units_per_op, 1e-6),
            _product(self.million_writes, write_units_per_op, 1e-6),
        ]
        known = [value for value in (*per_s, *per_op) if value is not None]
        if len(known) < len(per_s) + len(per_op):
            return None
        return Cost(sum(known[: len(per_s)]), sum(known[len(per_s) :]))

    @property
    def amounts(self) -> str:
        """What a cost depends on: where two have the same, all costs are the same."""
        return self.model_dump_json(exclude={"date", "source"}, exclude_none=True)

    @property
    def words(self) -> str:
        """ "0.192 USD per hour of its machines (2026-11-20, https://...)"."""
        said = {
            "per hour of its machines": self.machine_per_hour,
            "per GB-month of storage": self.storage_per_gb_month,
            "per million requests": self.million_requests,
            "per million read units": self.million_reads,
            "per million write units": self.million_writes,
        }
        prices = (f"{price:g} {self.currency} {what}" for what, price in said.items() if price is not None)
        return f"{', '.join(prices)} ({self.date}, {self.source})"


def _product(price: float | None, *amounts: float | None) -> float | None:
    """0 where nothing is paid; None where an amount is not known."""
    if not price:
        return 0.0
    for amount in amounts:
        if amount is None:
            return None
        price *= amount
    return price


COST: Literal["cost_per_billion_ops"] = "cost_per_billion_ops"


class Priced(Document):
    """What a plan with prices brings to the list of metrics."""

    name: Literal["cost_per_billion_ops"] = COST
    currency: str
