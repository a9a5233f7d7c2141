"""One plan over many bundles: nights, commits, versions. Where did a figure change, and what else did at that point?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ..analysis.metric import Metric
from ..analysis.shifts import BEFORE_MIN, UNSPREAD, Levels, levels_of
from ..analysis.wording import signed_words
from ..bundle.read import Bundle
from ..errors import BundleError, PlanError
from ..model.records.plan import CellRecord
from .between_bundles.conditions import Change, changes
from .between_bundles.matching import Match, match
from .run_values import run_values

#: Points after which a history can be judged.
POINTS_MIN = BEFORE_MIN + UNSPREAD


@dataclass(frozen=True)
class Point:
    """One bundle. value: the typical repetition's, of `runs` valid ones; low, high: the lowest and the highest of
    them."""

    bundle: str
    name: str
    created: datetime
    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class FoundShift:
    """at, first, last, found: of the track's points. ratio: of the new level over the old one, with its 95 % interval.
    worse: None where neither way is better. changed: what else differs between the bundles around it."""

    at: int
    first: int
    last: int
    found: int
    ratio: float
    low: float
    high: float
    before: float
    after: float
    worse: bool | None
    changed: list[Change]


@dataclass(frozen=True)
class Track:
    """One cell over the points that have a value. left_out: how many bundles have none. detectable: the change in
    either direction that would be seen within five points in nine of ten histories, as a ratio; None: not known yet."""

    cell: str
    points: list[Point]
    left_out: int
    shifts: list[FoundShift]
    detectable: float | None


@dataclass(frozen=True)
class History:
    """of: the plan's title. gone: labels of cells that not every bundle has."""

    title: str
    metric: Metric
    tracks: list[Track]
    bundles: int
    gone: list[str] = field(default_factory=list)


def history(bundles: Sequence[Bundle], metric: Metric) -> History:
    """bundles: of one plan, at least two, in any order. Raises BundleError where they have no cell in common."""
    ordered = sorted(bundles, key=created)
    found = match(ordered[:1], ordered[1:], ())
    if not found.matches:
        raise BundleError("the bundles have no cell in common", hint="name bundles of one plan")
    tracks = [_track(ordered, [*one.before, *one.after], metric, len(found.matches)) for one in found.matches]
    return History(ordered[-1].info.title, metric, tracks, len(ordered), found.gone)


def created(bundle: Bundle) -> datetime:
    return datetime.fromisoformat(bundle.info.created)


def name_of(bundle: Bundle) -> str:
    """What its maker called it (`--label`), else its day."""
    said = ", ".join(bundle.info.labels.values())
    return said or f"{created(bundle):%Y-%m-%d}"


def _track(bundles: Sequence[Bundle], cells: Sequence[CellRecord], metric: Metric, series: int) -> Track:
    points, theirs = [], []
    for bundle, cell in zip(bundles, cells, strict=True):
        if (point := _point(bundle, cell, metric)) is not None:
            points.append(point)
            theirs.append((bundle, cell))
    levels = levels_of(np.log([point.value for point in points]), series)
    detectable = levels.detectable(series)
    return Track(
        cells[-1].label,
        points,
        len(bundles) - len(points),
        _shifts(levels, theirs, metric),
        None if detectable is None else math.exp(detectable),
    )


def _point(bundle: Bundle, cell: CellRecord, metric: Metric) -> Point | None:
    """None without a valid run that states a value above zero."""
    runs = [run for run in bundle.runs if run.cell == cell.id and run.state == "done"]
    values = [value for value in run_values(bundle, runs, metric).values() if isinstance(value, float) and value > 0]
    if not values:
        return None
    typical = math.exp(float(np.log(values).mean()))
    name = name_of(bundle)
    return Point(bundle.folder.name, name, created(bundle), typical, min(values), max(values), len(values))


def _shifts(levels: Levels, theirs: Sequence[tuple[Bundle, CellRecord]], metric: Metric) -> list[FoundShift]:
    found = []
    for shift in levels.shifts:
        apart = (shift.after - shift.before, shift.low, shift.high)
        ratio, low, high = (math.exp(one) for one in apart)
        worse = None if metric.better == "neither" else (ratio < 1) == (metric.better == "higher")
        (before, old), (after, new) = theirs[shift.at - 1], theirs[shift.at]
        changed = changes([before], [after], [Match([old], [new])])
        levels_are = math.exp(shift.before), math.exp(shift.after)
        place = shift.at, shift.first, shift.last, shift.found
        found.append(FoundShift(*place, ratio, low, high, *levels_are, worse, changed))
    return found


def of_one_plan(bundles: Sequence[Bundle], title: str | None) -> list[Bundle]:
    """Those of the plan with this title, which may be left out where all have the same. Raises PlanError."""
    titles = list(dict.fromkeys(bundle.info.title for bundle in bundles))
    if title is None and len(titles) > 1:
        several = "; ".join(f'"{one}"' for one in titles[:10])
        raise PlanError(f"these are bundles of {len(titles)} plans: {several}", hint="choose one with --title")
    if title is not None and title not in titles:
        hint = f"their titles are: {'; '.join(titles[:10])}" if titles else ""
        raise PlanError(f'no bundle has the title "{title}"', where="--title", hint=hint)
    return [bundle for bundle in bundles if title in (None, bundle.info.title)]


def shift_words(track: Track, shift: FoundShift, metric: Metric) -> str:
    """ "-3.1 % (-4.0 % to -2.2 %) from 2026-11-20 on, seen at 2026-11-23: 12,345/s before, 11,962/s after"."""
    at, first, last, seen = (track.points[place].name for place in (shift.at, shift.first, shift.last, shift.found))
    change = f"{signed_words(shift.ratio)} ({signed_words(shift.low)} to {signed_words(shift.high)})"
    where = f"from {at} on" if first == last else f"from {at} on (with 95 % certainty from {first} to {last})"
    levels = f"{metric.words(shift.before)} before, {metric.words(shift.after)} after"
    return f"{change} {where}, seen at {seen}: {levels}"
