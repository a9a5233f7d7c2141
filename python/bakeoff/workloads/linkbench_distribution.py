"""The original's file of observed distributions (Distribution.dat): of its sections only `nlinks`, the number of links
that nodes have, and of its 20,000 points as many as tell all others by lines between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ..errors import PlanError
from .property_files import read_text

#: A number of links, and the per cent of nodes that have no more.
Point = tuple[int, float]

SECTION = "nlinks"
#: Share of nodes by which a line may miss a point; of few nodes no more than a hundredth of them.
LOSS_MAX = 1e-6
LOSS_OF_TAIL_MAX = 0.01
#: Up to here every number of links keeps its own point.
EXACT_MAX = 10


def read_distribution(path: Path) -> list[Point]:
    """Raises PlanError naming the file and the line."""
    points: list[Point] = []
    section = None
    for number, line in enumerate(read_text(path, "data_file").splitlines(), 1):
        words = line.split()
        if len(words) == 1:
            section = words[0]
        elif words and section == SECTION:
            points.append(_point(words, path, number))
            if len(points) > 1 and not (points[-2][0] < points[-1][0] and points[-2][1] <= points[-1][1]):
                raise _error(path, number, "points must rise")
    if not points:
        raise PlanError(
            f"there is no section `{SECTION}`", where=str(path), hint="it is the original's Distribution.dat"
        )
    # Sums of shares end a little beside 100.
    points[-1] = (points[-1][0], 100.0)
    return thinned([(links, min(percent, 100.0)) for links, percent in points])


def _point(words: list[str], path: Path, line: int) -> Point:
    try:
        links, percent = words
        return int(links), float(percent)
    except ValueError:
        raise _error(path, line, "not a number of links and a per cent") from None


def _error(path: Path, line: int, what: str) -> PlanError:
    hint = "a line is a number of links and the per cent of nodes that have no more, both rising"
    return PlanError(what, where=f"{path}, line {line}", hint=hint)


def thinned(points: Sequence[Point]) -> list[Point]:
    """Those of the points between which lines tell the others: of the share above, over the number of links, both
    as logarithms; towards a last point, above which there is none, of the share itself."""
    kept, last = [points[0]], 0
    while last < len(points) - 1:
        last = _farthest(points, last)
        kept.append(points[last])
    return kept


def _farthest(points: Sequence[Point], first: int) -> int:
    """The last point to which a line from `first` tells all between."""
    reached, step = first + 1, 2
    if points[first][0] < EXACT_MAX:
        return reached
    while first + step < len(points) and _tells(points, first, first + step):
        reached = first + step
        step *= 2
    beyond = min(first + step, len(points))
    while reached + 1 < beyond:
        middle = (reached + beyond) // 2
        if _tells(points, first, middle):
            reached = middle
        else:
            beyond = middle
    return reached


def _tells(points: Sequence[Point], first: int, last: int) -> bool:
    (low, _), (high, _) = points[first], points[last]
    above, above_high = _above(points[first]), _above(points[last])
    if above == 0.0:
        return True
    scale = math.log(high / low)
    for point in points[first + 1 : last]:
        way = math.log(point[0] / low) / scale
        told = above * (above_high / above) ** way if above_high > 0.0 else above * (1.0 - way)
        actual = _above(point)
        if abs(told - actual) > min(LOSS_MAX, LOSS_OF_TAIL_MAX * actual):
            return False
    return True


def _above(point: Point) -> float:
    return 1.0 - point[1] / 100.0
