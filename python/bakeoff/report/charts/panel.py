"""One plot area with its axes, and across it lines at what was done to servers and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ...model.faults import FaultRecord
from ...model.records.run import RunRecord
from .scales import Scale
from .svg import AXIS, GRID, INVALID, Canvas, fitted, lined, text_width


@dataclass(frozen=True)
class Panel:
    """x, y: top left corner of the plot area on the canvas. x_scale, y_scale: to canvas pixels."""

    x: float
    y: float
    width: float
    height: float
    x_scale: Scale
    y_scale: Scale
    x_words: Callable[[float], str]
    y_words: Callable[[float], str]
    #: To the right of the plot area, where its title may go on.
    room: float = 0.0

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def holds(self, value: float) -> bool:
        return self.y - 0.5 <= self.y_scale(value) <= self.bottom + 0.5

    def within(self, value: float) -> float:
        """Its height in pixels, at the edge where it lies beyond."""
        return max(self.y, min(self.y_scale(value), self.bottom))

    def axes(
        self, canvas: Canvas, *, title: str = "", x_title: str = "", y_title: str = "", x_labels: bool = True
    ) -> None:
        """Grid and numbers, under everything that is drawn later."""
        if title:
            for above, line in enumerate(reversed(lined(title, self.width + self.room, 12))):
                canvas.text(self.x, self.y - 10 - 14 * above, line, "name")
        for tick in self.y_scale.ticks():
            at = self.y_scale(tick)
            canvas.line(self.x, at, self.right, at, stroke=GRID, class_="grid")
            canvas.text(self.x - 7, at, self.y_words(tick), anchor="end", middle=True)
        canvas.line(self.x, self.bottom, self.right, self.bottom, stroke=AXIS, class_="axis")
        if x_labels:
            self._x_labels(canvas)
        if x_title and x_labels:
            canvas.text(self.x + self.width / 2, self.bottom + 34, x_title, "axis-title", anchor="middle")
        if y_title:
            canvas.text(self.x - 52, self.y + self.height / 2, y_title, "axis-title", anchor="middle", rotate=True)

    def _x_labels(self, canvas: Canvas) -> None:
        """Left out where they would touch the one to the left; cut where one alone is too wide."""
        ticks = self.x_scale.ticks()
        room = self.width / max(len(ticks), 1) if self.x_scale.kind == "points" else self.width
        taken = float("-inf")
        for tick in ticks:
            at = self.x_scale(tick)
            words = fitted(self.x_words(tick), max(room - 4, 24))
            half = text_width(words) / 2
            if at - half < taken + 7:
                continue
            canvas.line(at, self.bottom, at, self.bottom + 4, stroke=AXIS, class_="axis")
            canvas.text(at, self.bottom + 17, words, anchor="middle")
            taken = at + half

    def readable(self, name: str, *, x_unit: str, y_unit: str) -> dict[str, str]:
        """Attributes that let the report's script read values back from the pixels under the pointer."""
        plot = ",".join(f"{v:.1f}" for v in (self.x, self.y, self.width, self.height))
        return {
            "class": "panel",
            "data-name": name,
            "data-plot": plot,
            "data-x": _axis(self.x_scale, x_unit),
            "data-y": _axis(self.y_scale, y_unit),
        }


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved as little as needed to keep `gap` between adjacent ones and to stay within low .. high."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[list[float]] = []  # [sum of wished starts, members]
    for rank, index in enumerate(order):
        groups.append([places[index] - rank * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            wished, members = groups.pop()
            groups[-1][0] += wished
            groups[-1][1] += members
    starts = [wished / members for wished, members in groups for _ in range(int(members))]
    last = high - gap * (len(places) - 1)
    moved = [max(low, min(start, last)) + rank * gap for rank, start in enumerate(starts)]
    result = [0.0] * len(places)
    for rank, index in enumerate(order):
        result[index] = moved[rank]
    return result


def _axis(scale: Scale, unit: str) -> str:
    low, high = scale.domain
    return f"{scale.kind},{low!r},{high!r},{unit}"


MARKS_CAPTION = "Vertical lines: planned faults and starts (dotted), and what servers did by themselves (dashed)."
#: Of their labels, which stand at the bottom, where a rate seldom is, one above the other where they would touch.
_LINE = 13


@dataclass(frozen=True)
class Mark:
    """at_s: on the chart's axis. planned: else nobody did it. stage: where a stage of the rate begins."""

    at_s: float
    words: str
    planned: bool = True
    stage: bool = False


def draw_marks(canvas: Canvas, panel: Panel, marks: Sequence[Mark], *, labelled: bool) -> None:
    taken: list[float] = []  # of each line of labels, how far it reaches
    for mark in sorted(marks, key=lambda mark: mark.at_s):
        at = panel.x_scale(mark.at_s)
        if not panel.x <= at <= panel.right:
            continue
        if mark.stage:
            canvas.line(at, panel.y, at, panel.bottom, stroke=AXIS, stroke_opacity=0.5, class_="axis stage")
        else:
            dash = "2 3" if mark.planned else "6 3"
            canvas.line(at, panel.y, at, panel.bottom, stroke=INVALID, stroke_dasharray=dash, class_="fault")
        if not labelled:
            continue
        width = text_width(mark.words) + 8
        left = at + width > panel.right
        begin = at - width if left else at
        row = next((row for row, end in enumerate(taken) if end <= begin), len(taken))
        taken[row : row + 1] = [begin + width]
        place = at - 4 if left else at + 4
        canvas.text(place, panel.bottom - 6 - _LINE * row, mark.words, "note", anchor="end" if left else "start")


STAGES_CAPTION = "Dotted grey: the offered rate. Vertical grey lines: where a stage of it, or a part of a ramp, begins."


def stage_marks(runs: Sequence[RunRecord], warm_up_s: float) -> list[Mark]:
    """Of the first run, as all have the same; none where stages are too many to be shown one by one."""
    stages = next((run.stages for run in runs if run.stages), [])
    return [Mark(warm_up_s + one.from_s, one.name, stage=True) for one in stages if "/" not in one.name]


#: A server that was back so soon needs no mark of its own for that.
_AT_ONCE_S = 0.5


def marks_of(runs: Sequence[RunRecord], warm_up_s: float) -> list[Mark]:
    """Each once, at the time that is typical of these runs."""
    planned: dict[tuple[int, str], list[float]] = {}
    unplanned: dict[str, list[float]] = {}
    for run in runs:
        for number, fault in enumerate(run.faults):
            for words, at_s in _of_fault(fault):
                planned.setdefault((number, words), []).append(at_s)
        for words, at_s in _of_silences(run):
            unplanned.setdefault(words, []).append(at_s)
    return [
        *(Mark(warm_up_s + median(times), words) for (_, words), times in planned.items()),
        *(Mark(warm_up_s + median(times), words, planned=False) for words, times in unplanned.items()),
    ]


def _of_fault(fault: FaultRecord) -> Iterator[tuple[str, float]]:
    if fault.begun_s is not None:
        yield fault.planned.label, fault.begun_s
    if fault.ended_s is None or fault.after_load:
        return
    if fault.planned.do != "restart":
        yield fault.planned.end_label, fault.ended_s
    if fault.back_s is not None and fault.back_s - fault.ended_s > _AT_ONCE_S:
        yield f"{fault.planned.node} back", fault.back_s


def _of_silences(run: RunRecord) -> Iterator[tuple[str, float]]:
    for silence in run.silences:
        if not silence.planned:
            yield f"{silence.node} silent", silence.from_s
            if silence.to_s is not None:
                yield f"{silence.node} answers", silence.to_s
