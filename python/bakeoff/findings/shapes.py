"""The shape of each line of a chart over a swept number: every contestant in every setting of the other factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest

from ..analysis.compare import ALPHA, ComparisonAnswer, judge
from ..analysis.estimate import Estimate
from ..analysis.metric import Metric
from ..analysis.shape import POWER, Direction, Shape, Sweep
from ..bundle.read import Bundle
from ..model.boundary import Document
from ..model.records.plan import CellRecord, Scalar
from ..model.records.run import RunRecord
from .comparisons import Values, answered, estimate_in_blocks
from .contestants import LOAD, SWEPT_MIN, Contest, Setting, factor_words, setting_words
from .interim_analyses import unless_recorded
from .run_values import Spread, observed, spread_of
from .runs import used_runs


class ShapeLevel(Document):
    """One level of a sweep. against: the comparison with the level measured as best; None: it is that one."""

    cell: str
    level: Scalar
    level_words: str
    value: Spread | None
    against: ComparisonAnswer | None


class ShapeAnswer(Document):
    """Where over a swept number the objective is best, for one contestant in one setting of all the other factors.
    top: the level measured as best; best: those that may be it; left_out: those that could not be compared. Where
    nothing is judged, for want of repetitions, `best` is `top` alone. knee: the levels that it may be at, empty where
    there is none to look for."""

    axis: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    direction: str  # of what is best: higher, lower
    levels: list[ShapeLevel]
    judged: bool
    repetitions: int
    top: Scalar
    best: list[Scalar]
    left_out: list[Scalar]
    detectable_ratio: float | None
    knee: list[Scalar]


Runs = Mapping[str, Sequence[RunRecord]]


@dataclass(frozen=True)
class _Line:
    """cells: by level, in order; some may not have been run."""

    axis: str
    contestant: str
    setting: Setting
    cells: dict[Scalar, CellRecord]


def shape_answers(contest: Contest, bundle: Bundle, runs: Runs, alpha: float | None) -> list[ShapeAnswer]:
    """Judged in one call for all lines, so that the chance of any false claim is bounded; so are the knees. alpha: what
    this analysis may take; None: nothing is judged."""
    lines = list(_lines(contest, runs))
    objective, direction = contest.objective, best_of(contest.objective)
    shapes = _judged(lines, objective, direction, bundle, runs, alpha)
    knees = _judged([line for line in lines if line.axis in LOAD], POWER, "higher", bundle, runs, alpha)
    return [
        _answer(line, shape, knee, objective, bundle, runs)
        for line, shape, knee in zip_longest(lines, shapes, knees)
        if shape is not None
    ]


def best_of(objective: Metric) -> Direction:
    """If neither direction is better, the higher value is reported."""
    return "lower" if objective.better == "lower" else "higher"


def _lines(contest: Contest, runs: Runs) -> Iterator[_Line]:
    axis = contest.axis
    if axis is None or not contest.is_swept(axis):
        return
    for panel, contestant in product(contest.panels, contest.contestants):
        cells = [contest.cell(contestant, setting) for setting in contest.along(panel)]
        planned = {cell.levels[axis]: cell for cell in cells if cell is not None}
        if sum(bool(runs[cell.id]) for cell in planned.values()) >= SWEPT_MIN:
            yield _Line(axis, contestant, panel, planned)


def _judged(
    lines: Sequence[_Line], metric: Metric, direction: Direction, bundle: Bundle, runs: Runs, alpha: float | None
) -> list[Shape[Scalar] | None]:
    """Of each line; None where it has no value at all."""
    values = Values(bundle, runs)
    sweeps = [
        Sweep(
            {level: values.of(cell, metric) for level, cell in line.cells.items()},
            direction,
            shares=metric.unit == "ratio",
        )
        for line in lines
    ]
    found = iter(
        judge(
            (
                unless_recorded(_estimate(line, pair, metric, values), alpha)
                for line, sweep in zip(lines, sweeps, strict=True)
                for pair in sweep.pairs
            ),
            alpha=alpha or ALPHA,
        )
    )
    return [sweep.shape({pair: next(found) for pair in sweep.pairs}) for sweep in sweeps]


def _estimate(line: _Line, pair: tuple[Scalar, Scalar], metric: Metric, values: Values) -> Estimate:
    """pair: base and other."""
    names = [factor_words(line.axis, level) for level in pair]
    cells = [line.cells[level] for level in pair]
    where = setting_words(line.setting)
    return estimate_in_blocks(where, metric, (names[0], names[1]), (cells[0], cells[1]), values)


def _answer(
    line: _Line, shape: Shape[Scalar], knee: Shape[Scalar] | None, objective: Metric, bundle: Bundle, runs: Runs
) -> ShapeAnswer:
    return ShapeAnswer(
        axis=line.axis,
        contestant=line.contestant,
        setting=dict(line.setting),
        setting_words=setting_words(line.setting),
        direction=best_of(objective),
        levels=[
            ShapeLevel(
                cell=cell.id,
                level=level,
                level_words=factor_words(line.axis, level),
                value=_spread(bundle, runs[cell.id], objective),
                against=answered(line.setting, shape.against[level], []) if level != shape.top else None,
            )
            for level, cell in line.cells.items()
        ],
        judged=shape.judged,
        repetitions=max(c.repetitions for c in shape.against.values()),
        top=shape.top,
        best=shape.best,
        left_out=shape.left_out,
        detectable_ratio=shape.detectable_ratio,
        knee=knee.best if knee is not None and knee.judged else [],
    )


def _spread(bundle: Bundle, runs: Sequence[RunRecord], objective: Metric) -> Spread | None:
    """None where some of the runs that count has no value."""
    values = [objective.of(observed(bundle, run)) for run in used_runs(runs)]
    known = [value for value in values if value is not None]
    return spread_of(known) if len(known) == len(values) else None
