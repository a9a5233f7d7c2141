"""One plan over many bundles: nights, commits, versions. Where did a figure change, and what else did at that point?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from ..analysis.machine_effects import RUNS_MIN
from ..analysis.metric import Metric
from ..analysis.shifts import BEFORE_MIN, UNSPREAD, Levels, levels_of
from ..analysis.wording import counted, signed_words
from ..bundle.read import Bundle
from ..errors import BundleError, PlanError
from ..model.records.plan import CellRecord
from .between_bundles.conditions import Change, changes
from .between_bundles.matching import Match, match
from .machine_names import MachinesBy, machine_names
from .run_values import run_values

#: Points after which a history can be judged.
POINTS_MIN = BEFORE_MIN + UNSPREAD
#: In words.
MACHINES_SHOWN = 5


@dataclass(frozen=True)
class Point:
    """One bundle. value: the typical repetition's, of `runs` valid ones; low, high: the lowest and the highest of
    them. machine_ratio: what its machine's level is over the one of the track's first machine; None: not known yet."""

    bundle: str
    name: str
    created: datetime
    value: float
    low: float
    high: float
    runs: int
    machine: str
    machine_ratio: float | None = None


@dataclass(frozen=True)
class FoundShift:
    """at, first, last, found: of the track's points. ratio: of the new level over the old one, with its 95 % interval.
    before, after: as on the track's first machine. worse: None where neither way is better. changed: what else differs
    between the bundles around it, of one machine where it has bundles on both sides. by_machine: the ratio on each
    machine that has."""

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
    by_machine: dict[str, float]


@dataclass(frozen=True)
class MachineLevel:
    """ratio: of its level over the one of the track's first machine; None: too few of its points tell."""

    name: str
    points: int
    ratio: float | None


@dataclass(frozen=True)
class Track:
    """One cell over the points that have a value. machines: that with most points first. left_out: how many bundles
    have none. detectable: the change in either direction that would be seen within five points in nine of ten
    histories, as a ratio; None: not known yet."""

    cell: str
    points: list[Point]
    machines: list[MachineLevel]
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


def history(bundles: Sequence[Bundle], metric: Metric, machines_by: MachinesBy = "hostname") -> History:
    """bundles: of one plan, at least two, in any order. Raises BundleError where they have no cell in common."""
    ordered = sorted(bundles, key=created)
    found = match(ordered[:1], ordered[1:], ())
    if not found.matches:
        raise BundleError("the bundles have no cell in common", hint="name bundles of one plan")
    machines = machine_names(ordered, machines_by)
    tracks = [_track(ordered, machines, [*one.before, *one.after], metric, len(found.matches)) for one in found.matches]
    return History(ordered[-1].info.title, metric, tracks, len(ordered), found.gone)


def created(bundle: Bundle) -> datetime:
    return datetime.fromisoformat(bundle.info.created)


def name_of(bundle: Bundle) -> str:
    """What its maker called it (`--label`), else its day."""
    said = ", ".join(bundle.info.labels.values())
    return said or f"{created(bundle):%Y-%m-%d}"


def _track(
    bundles: Sequence[Bundle], machines: Sequence[str], cells: Sequence[CellRecord], metric: Metric, series: int
) -> Track:
    points, theirs = [], []
    for bundle, machine, cell in zip(bundles, machines, cells, strict=True):
        if (point := _point(bundle, machine, cell, metric)) is not None:
            points.append(point)
            theirs.append((bundle, cell))
    names = Counter(point.machine for point in points)
    ordered = [name for name, _ in names.most_common()]
    numbers = np.array([ordered.index(point.machine) for point in points], np.intp)
    levels = levels_of(np.log([point.value for point in points]), series, numbers)
    ratios = {
        name: None if math.isnan(effect) else math.exp(effect)
        for name, effect in zip(ordered, levels.effects.of, strict=False)
    }
    points = [replace(point, machine_ratio=ratios[point.machine]) for point in points]
    detectable = levels.detectable(series)
    return Track(
        cells[-1].label,
        points,
        [MachineLevel(name, size, ratios[name]) for name, size in names.most_common()],
        len(bundles) - len(points),
        list(_shifts(levels, points, theirs, metric)),
        None if detectable is None else math.exp(detectable),
    )


def _point(bundle: Bundle, machine: str, cell: CellRecord, metric: Metric) -> Point | None:
    """None without a valid run that states a value above zero."""
    runs = [run for run in bundle.runs if run.cell == cell.id and run.state == "done"]
    values = [value for value in run_values(bundle, runs, metric).values() if isinstance(value, float) and value > 0]
    if not values:
        return None
    typical = math.exp(float(np.log(values).mean()))
    name = name_of(bundle)
    return Point(bundle.folder.name, name, created(bundle), typical, min(values), max(values), len(values), machine)


def _shifts(
    levels: Levels, points: Sequence[Point], theirs: Sequence[tuple[Bundle, CellRecord]], metric: Metric
) -> Iterator[FoundShift]:
    edges = [0, *(shift.at for shift in levels.shifts), len(points)]
    for number, shift in enumerate(levels.shifts):
        apart = (shift.after - shift.before, shift.low, shift.high)
        ratio, low, high = (math.exp(one) for one in apart)
        worse = None if metric.better == "neither" else (ratio < 1) == (metric.better == "higher")
        level_before, level_after = range(edges[number], shift.at), range(shift.at, edges[number + 2])
        (before, old), (after, new) = (theirs[place] for place in _around(points, level_before, level_after))
        changed = changes([before], [after], [Match([old], [new])])
        levels_are = math.exp(shift.before), math.exp(shift.after)
        place = shift.at, shift.first, shift.last, shift.found
        by_machine = _by_machine(points, level_before, level_after)
        yield FoundShift(*place, ratio, low, high, *levels_are, worse, changed, by_machine)


def _around(points: Sequence[Point], before: range, after: range) -> tuple[int, int]:
    """The points closest to a change that have their machine in common; the closest ones where none have."""
    for place in after:
        for earlier in reversed(before):
            if points[earlier].machine == points[place].machine:
                return earlier, place
    return before[-1], after[0]


def _by_machine(points: Sequence[Point], before: range, after: range) -> dict[str, float]:
    """Median over median of each machine that has points on both sides."""
    sides: list[dict[str, list[float]]] = [{}, {}]
    for side, places in zip(sides, (before, after), strict=True):
        for place in places:
            side.setdefault(points[place].machine, []).append(points[place].value)
    old, new = sides
    return {name: float(np.median(new[name]) / np.median(old[name])) for name in old if name in new}


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
    if len(track.machines) > 1:
        each = [f"{name} {signed_words(ratio)}" for name, ratio in shift.by_machine.items()]
        levels += f" on {track.machines[0].name}; of {'; '.join(each)}" if each else f" on {track.machines[0].name}"
    return f"{change} {where}, seen at {seen}: {levels}"


def machines_words(track: Track) -> str:
    """ "3 machines, each compared with itself: ci-1 (12 bundles), ci-2 (8, +12 %), ci-3 (2, too few to tell)". "" of
    one machine."""
    if len(track.machines) < 2:
        return ""
    shown = [_machine_words(one, number) for number, one in enumerate(track.machines[:MACHINES_SHOWN])]
    more = len(track.machines) - len(shown)
    listed = ", ".join([*shown, *([f"{more} more"] if more else [])])
    return f"{len(track.machines)} machines, each compared with itself: {listed}"


def _machine_words(one: MachineLevel, number: int) -> str:
    bundles = counted(one.points, "bundle", "bundles")
    if one.ratio is None:
        return f"{one.name} ({bundles}, of at least {RUNS_MIN})"
    return f"{one.name} ({bundles}, {signed_words(one.ratio)})" if number else f"{one.name} ({bundles})"
