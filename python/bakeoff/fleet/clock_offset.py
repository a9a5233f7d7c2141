"""How far the clocks of two machines are apart, from time stamps that they exchange. Pure arithmetic, all in ns.

One machine sends at `sent`, the other has it at `arrived` and answers at `answered`, the first has that at `back`;
`sent` and `back` are read on the first one's clock, the others on the other's. Whatever each way took, the other's
clock was ahead by at least `answered - back` and at most `arrived - sent`: a message arrives after it was sent. The
middle of the two is the estimate, and half of what lies between them, half the round trip, bounds its error. (Cristian
1989, Probabilistic clock synchronization; the same exchange is NTP's, RFC 5905 section 8.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Exchange:
    sent_ns: int
    arrived_ns: int
    answered_ns: int
    back_ns: int

    @property
    def round_trip_ns(self) -> int:
        """On the way, there and back; never negative while both clocks run at one speed."""
        return (self.back_ns - self.sent_ns) - (self.answered_ns - self.arrived_ns)


@dataclass(frozen=True)
class Offset:
    """ahead_ns: what the other's clock shows more than ours, to within bound_ns."""

    ahead_ns: int
    bound_ns: int
    round_trip_ns: int


def offset(exchanges: Iterable[Exchange]) -> Offset:
    """Of the exchange that was least on the way; at least one."""
    best = min(exchanges, key=lambda exchange: exchange.round_trip_ns)
    ahead_ns = (best.arrived_ns - best.sent_ns + best.answered_ns - best.back_ns) // 2
    return Offset(ahead_ns, (best.round_trip_ns + 1) // 2 + 1, best.round_trip_ns)


def bound_over(before: Offset, after: Offset) -> int:
    """ns. How far `before.ahead_ns` may be from the truth from the one to the other, where the clocks drift one way."""
    return max(before.bound_ns, abs(after.ahead_ns - before.ahead_ns) + after.bound_ns)
