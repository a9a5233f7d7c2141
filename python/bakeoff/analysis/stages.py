"""An offered rate that changes: the parts of a window that have figures of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..model.boundary import Stage

#: More stages, as a recorded rate has, are shown as this many equal parts of the time.
PARTS_MAX = 24
#: A ramp is shown in at most this many parts, none of them shorter than PART_MIN_S.
RAMP_PARTS_MAX = 5
PART_MIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Part:
    """Of the window: seconds since its start; rates over all clients. name: "2", "2.3" of a ramp, or "7/24" where
    there are too many stages to show each; then the rates are the lowest and the highest in it."""

    name: str
    from_s: float
    to_s: float
    from_ops_per_s: float
    to_ops_per_s: float


def parts_of(stages: Sequence[Stage], clients: int = 1) -> list[Part]:
    """stages: those of each client."""
    whole, at_s = [], 0.0
    for number, stage in enumerate(stages, 1):
        rates = stage.from_ops_per_s * clients, stage.to_ops_per_s * clients
        whole.append(Part(str(number), at_s, at_s + stage.for_s, *rates))
        at_s += stage.for_s
    if len(whole) > PARTS_MAX:
        return [_together(whole, number, at_s) for number in range(PARTS_MAX)]
    ramps = sum(_is_ramp(part) for part in whole)
    room = (PARTS_MAX - len(whole)) // max(ramps, 1) + 1
    return [piece for part in whole for piece in _pieces(part, min(room, RAMP_PARTS_MAX))]


def _is_ramp(part: Part) -> bool:
    return part.from_ops_per_s != part.to_ops_per_s


def _pieces(part: Part, most: int) -> Iterator[Part]:
    count = min(most, int((part.to_s - part.from_s) / PART_MIN_S)) if _is_ramp(part) else 1
    if count <= 1:
        yield part
        return
    for number in range(count):
        begin, end = number / count, (number + 1) / count
        yield Part(
            f"{part.name}.{number + 1}",
            _between(part.from_s, part.to_s, begin),
            _between(part.from_s, part.to_s, end),
            _between(part.from_ops_per_s, part.to_ops_per_s, begin),
            _between(part.from_ops_per_s, part.to_ops_per_s, end),
        )


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def _together(stages: Sequence[Part], number: int, end_s: float) -> Part:
    """One of PARTS_MAX equal parts of the time."""
    found = Part(f"{number + 1}/{PARTS_MAX}", end_s * number / PARTS_MAX, end_s * (number + 1) / PARTS_MAX, 0.0, 0.0)
    rates = [rate for stage in stages for rate in _rates_within(stage, found.from_s, found.to_s)]
    return replace(found, from_ops_per_s=min(rates), to_ops_per_s=max(rates))


def _rates_within(stage: Part, from_s: float, to_s: float) -> list[float]:
    """At both ends of what they have in common; none where that is nothing."""
    begin_s, end_s = max(stage.from_s, from_s), min(stage.to_s, to_s)
    if end_s - begin_s <= math.ulp(to_s) * 8:
        return []
    length_s = stage.to_s - stage.from_s
    shares = (begin_s - stage.from_s) / length_s, (end_s - stage.from_s) / length_s
    return [_between(stage.from_ops_per_s, stage.to_ops_per_s, share) for share in shares]
