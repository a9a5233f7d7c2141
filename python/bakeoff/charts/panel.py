"""One plot area with its axes. Charts are made of panels; what is drawn in one is the chart's own business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .scales import Scale
from .style import AXIS, GRID
from .svg import Canvas, fitted, lined, text_width


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
        """Left out where they would touch their left neighbour; cut where one alone is too wide."""
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
    """The places moved as little as needed to keep `gap` between neighbours and to stay within low .. high."""
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
