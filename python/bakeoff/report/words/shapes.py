"""Sentences about the shape of a sweep: where it is highest (or lowest), what lies beyond, and its knee."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from ...analysis.compare import ComparisonAnswer
from ...analysis.estimate import REPETITIONS_MIN
from ...analysis.metric import Metric
from ...analysis.undecided import detectable_words
from ...analysis.wording import (
    are_times,
    change_words,
    ci_words,
    counted,
    interval_of_ratio,
    interval_words,
    more_or_less,
    points_words,
)
from ...findings.contestants import LOAD, Contest, amount, factor_words, short_words
from ...findings.shapes import ShapeAnswer, ShapeLevel
from ...model.records.plan import Scalar

#: Levels are called equally good if a difference smaller than this would have been detected; else they are undecided.
SEEN_MAX_RATIO = 0.1
#: Lines that a headline reports; more are only counted.
NAMED_MAX = 4
KNEES_MAX = 2


def shape_words(contest: Contest, shapes: Sequence[ShapeAnswer]) -> list[str]:
    """In a sweep each line has sentences of its own; elsewhere, after the pairs, those of a setting share one."""
    if contest.is_sweep:
        whole = [_whole(contest, shape) for shape in shapes[:NAMED_MAX]]
        knees = [words for shape in shapes if (words := _knee(contest, shape))] if len(shapes) <= KNEES_MAX else []
        return [*whole, *knees, *_more(len(shapes) - NAMED_MAX)]
    if shapes and shapes[0].axis in LOAD and contest.objective.better == "lower":
        return []  # the least load has the shortest times: nobody learns from that
    panels = [list(group) for _, group in groupby(shapes, key=lambda shape: shape.setting_words)]
    return [_short(contest.objective, panel) for panel in panels[:NAMED_MAX]] + _more(len(panels) - NAMED_MAX)


def _more(left: int) -> list[str]:
    return [f"The shapes of {counted(left, 'more setting is', 'more settings are')} in the report."] if left > 0 else []


def _whole(contest: Contest, shape: ShapeAnswer) -> str:
    objective = contest.objective
    who = _who(contest, shape)
    subject = f"{who}: the {objective.label}" if who else f"The {objective.label}"
    clauses = [f"{subject} {_place(shape, objective)}: {_value(shape, objective, interval=True)}"]
    clauses += [*_open(shape), *_beyond(shape, objective), *_among(shape), *_left_out(shape), *_doubt(shape)]
    return f"{'; '.join(clauses)}."


def _knee(contest: Contest, shape: ShapeAnswer) -> str:
    who, words = _who(contest, shape), knee_words(shape)
    return words and f"{f'{who}: the' if who else 'The'} {words}."


def _who(contest: Contest, shape: ShapeAnswer) -> str:
    """A single contestant is not named."""
    return ", ".join(filter(None, (shape.contestant if len(contest.contestants) > 1 else "", shape.setting_words)))


def _short(objective: Metric, panel: Sequence[ShapeAnswer]) -> str:
    where = ", ".join(filter(None, (f"Over {_plural(panel[0])}", panel[0].setting_words)))
    clauses = [
        "".join(
            [
                f"{shape.contestant} {_place(shape, objective)}, {_value(shape, objective, interval=False)}",
                *(f" ({words})" for words in _open(shape)),
            ]
        )
        for shape in panel
    ]
    return f"{where}, the {objective.label} of {'; that of '.join(clauses)}."


def _plural(shape: ShapeAnswer) -> str:
    return "offered rates" if shape.axis == "rate" else factor_words(shape.axis, "").strip(" =")


def _place(shape: ShapeAnswer, objective: Metric) -> str:
    """ "is highest at 32 to 64 threads", "still rises at 32 threads, the end of the range"."""
    levels = _levels(shape)
    up = shape.direction == "higher"
    most = "highest" if up else "lowest"
    if not shape.judged:
        return f"was {most} at {factor_words(shape.axis, shape.top)}"
    if _undecided(shape):
        end = ", the end of the range" if shape.top == levels[-1] else ""
        return f"was measured {most} at {factor_words(shape.axis, shape.top)}{end}"
    if len(shape.best) == len(levels):
        return f"shows no difference from {factor_words(shape.axis, levels[0], levels[-1])}"
    at = _span(shape, shape.best)
    if shape.best == levels[-1:]:
        return f"still {'rises' if up else 'falls'} at {at}, the end of the range"
    is_at = f"{'is' if _is_whole(shape, shape.best) else 'may be'} {most} at {at}"
    if levels[-1] in shape.best:
        return f"{is_at}, the end of the range"
    if shape.best == levels[:1] and _could_be_less(shape, objective):
        return f"{is_at}, the start of the range"
    return is_at


def _could_be_less(shape: ShapeAnswer, objective: Metric) -> bool:
    """Nothing is below one thread, and that response time is lowest under the least load tells nobody anything."""
    return shape.axis not in LOAD or (objective.better != "lower" and amount(_levels(shape)[0]) != 1)


def _value(shape: ShapeAnswer, objective: Metric, *, interval: bool) -> str:
    """Of the level measured as best, named where it is one of several; of a level range, from where to where."""
    shown = {level.level: level.value for level in shape.levels if level.value and level.level in _levels(shape)}
    if shape.judged and len(shape.best) == len(shown) and not _undecided(shape):
        values = [spread.value for spread in shown.values()]
        return " to ".join(dict.fromkeys(map(objective.words, (min(values), max(values)))))
    top = shown.get(shape.top)
    if top is None:
        return "not stated"
    where = f" at {short_words(shape.axis, shape.top)}" if len(shape.best) > 1 and not _undecided(shape) else ""
    if not interval or top.low is None or top.high is None:
        return f"{objective.words(top.value)}{where}"
    return f"{objective.words(top.value)}{where} (95 % CI {interval_words(top.low, top.high, objective.words)})"


def _undecided(shape: ShapeAnswer) -> list[ShapeLevel]:
    """Those among the best of which too little is known to call them as good as `top`."""
    seen = shape.detectable_ratio
    if not shape.judged or (seen is not None and seen <= SEEN_MAX_RATIO):
        return []
    return [level for level in shape.levels if level.level in shape.best and level.level != shape.top]


def _open(shape: ShapeAnswer) -> Iterator[str]:
    """ "16M to 64M are undecided (16M measured 74 % less)": the one that was measured farthest off is named."""
    found = _undecided(shape)
    off = {level.level: _off(level.against) for level in found if level.against is not None}
    if not off:
        return
    farthest = max(off, key=lambda level: off[level][0])
    words = off[farthest][1]
    name = "" if len(found) == 1 else f"{short_words(shape.axis, farthest)} "
    are = "is" if len(found) == 1 else "are"
    yield f"{_span(shape, [level.level for level in found], short=True)} {are} undecided ({name}measured {words})"


def _off(c: ComparisonAnswer) -> tuple[float, str]:
    """How far it was measured from the best, and in words, whether that was shown or not."""
    if c.difference is not None:
        return abs(c.difference), f"{points_words(c.difference)} {'more' if c.difference > 0 else 'less'}"
    ratio = c.ratio or 1.0
    return abs(math.log(ratio)), more_or_less(ratio)


def _beyond(shape: ShapeAnswer, objective: Metric) -> Iterator[str]:
    """How far off the nearest level on either side of the best is that was shown to be so; and whether to go on."""
    levels = [level.level for level in shape.levels]
    first, last = levels.index(shape.best[0]), levels.index(shape.best[-1])
    for side in (reversed(shape.levels[:first]), shape.levels[last + 1 :]):
        told = ((level, words) for level in side if (words := _distance(shape, level, objective)))
        for level, (size, interval) in islice(told, 1):
            yield f"{size} at {short_words(shape.axis, level.level)}{interval}"
    if shape.judged and shape.best == _levels(shape)[-1:] and objective.better != "neither":
        yield "extend the range"


def _distance(shape: ShapeAnswer, level: ShapeLevel, objective: Metric) -> tuple[str, str] | None:
    """ "13 % slower" and " (95 % CI 9 % to 17 %)"; None where no difference was shown."""
    c = level.against
    if c is None or c.base_value is None or c.other_value is None:
        return None
    if c.claims_difference and c.difference is not None:
        return f"{points_words(c.difference)} {_way(objective, c.difference > 0)}", ""
    if not shape.judged and c.base_value:
        return _size(c.other_value / c.base_value, objective), ""
    if not c.claims_difference or c.ratio is None or c.low is None or c.high is None or c.level is None:
        return None
    return _size(c.ratio, objective), f" ({ci_words(c.level)} {interval_of_ratio(c.ratio, c.low, c.high)})"


def _size(ratio: float, objective: Metric) -> str:
    """ "13 % slower", "2.4x as high"."""
    if are_times(ratio):
        return f"{change_words(ratio)} as {'fast' if objective.name == 'rate' else 'high'}"
    return f"{change_words(ratio)} {_way(objective, ratio > 1)}"


def _way(objective: Metric, up: bool) -> str:
    if objective.name == "rate":
        return "faster" if up else "slower"
    return "higher" if up else "lower"


def _among(shape: ShapeAnswer) -> Iterator[str]:
    if shape.detectable_ratio is not None and not _undecided(shape):
        shown = "" if len(shape.best) == len(_levels(shape)) else "no difference was shown among these, "
        yield f"{shown}{detectable_words(shape.detectable_ratio)}"


def _left_out(shape: ShapeAnswer) -> Iterator[str]:
    """What is not in the comparison is said, or a reader would take the others for the whole range."""
    for level in shape.levels:
        if level.level in shape.left_out and level.against is not None:
            yield f"{level.level_words} left out: {level.against.words.removeprefix('not compared: ')}"


def _doubt(shape: ShapeAnswer) -> Iterator[str]:
    if not shape.judged:
        have = counted(shape.repetitions, "repetition", "repetitions")
        yield f"with {have} nothing is judged, {REPETITIONS_MIN} are needed"


def knee_words(shape: ShapeAnswer) -> str:
    """ "knee, beyond which response time grows faster than throughput, is at 8 to 16 threads"; "" if not looked for, or
    if it may be anywhere."""
    levels = _levels(shape)
    if not shape.knee or len(shape.knee) >= len(levels):
        return ""
    at = _span(shape, shape.knee)
    if shape.knee == levels[-1:]:
        return f"knee, beyond which response time grows faster than throughput, was not reached at {at}"
    if levels[-1] in shape.knee:
        at = f"{factor_words(shape.axis, shape.knee[0])} or more"
    elif levels[0] in shape.knee and amount(levels[0]) != 1:
        at = f"{factor_words(shape.axis, shape.knee[-1])} or less"
    return f"knee, beyond which response time grows faster than throughput, is at {at}"


def finding_words(shape: ShapeAnswer, level: ShapeLevel, objective: Metric) -> str:
    """Of one level against the best, for a table."""
    if level.against is None:
        words = "highest" if shape.direction == "higher" else "lowest"
    else:
        words = "".join(_distance(shape, level, objective) or (level.against.words,))
    if level.level not in shape.knee or not knee_words(shape):
        return words
    return f"{words}; the knee {'is' if len(shape.knee) == 1 else 'may be'} here"


def _span(shape: ShapeAnswer, found: Sequence[Scalar], *, short: bool = False) -> str:
    """ "32 to 64 threads" where no level lies between that is not found, else "8, 32 threads"."""
    words = short_words if short else factor_words
    if len(found) == 1 or not _is_whole(shape, found):
        return words(shape.axis, *found, between=", ")
    return words(shape.axis, found[0], found[-1])


def _is_whole(shape: ShapeAnswer, found: Sequence[Scalar]) -> bool:
    levels = [level.level for level in shape.levels]
    return levels[levels.index(found[0]) : levels.index(found[-1]) + 1] == list(found)


def _levels(shape: ShapeAnswer) -> list[Scalar]:
    """Those that take part."""
    return [level.level for level in shape.levels if level.level not in shape.left_out]
