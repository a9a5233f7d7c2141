"""A public service that a system's address leads to: whoever runs a plan on it pays for every request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublicService:
    """name: "DynamoDB". The prices are those of the vendor's list, per million requests, as of `date` (ISO 8601; "":
    they were not compared with it), at `source` (its address)."""

    name: str
    address: str
    read_price_per_million: float
    write_price_per_million: float
    currency: str
    date: str
    source: str

    @property
    def price_words(self) -> str:
        reads, writes = (
            f"{price:g} {self.currency} per million {what}"
            for price, what in ((self.read_price_per_million, "reads"), (self.write_price_per_million, "writes"))
        )
        known = f"list price of {self.date}" if self.date else "estimates, not compared with the list"
        return f"{reads}, {writes} ({known}, {self.source})"

    @property
    def highest_price_per_million(self) -> float:
        return max(self.read_price_per_million, self.write_price_per_million)
