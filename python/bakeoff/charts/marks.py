"""What was done to servers, and what became of them, as lines across the time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .panel import Panel
from .style import INVALID
from .svg import Canvas, text_width

CAPTION = "Lines across: what was done to servers as planned (dotted), and what became of them by themselves (dashed)."
#: Of their labels, which stand at the bottom, where a rate seldom is, one above the other where they would touch.
_LINE = 13


@dataclass(frozen=True)
class Mark:
    """at_s: on the chart's axis. planned: else nobody did it."""

    at_s: float
    words: str
    planned: bool = True


def draw(canvas: Canvas, panel: Panel, marks: Sequence[Mark], *, labelled: bool) -> None:
    taken: list[float] = []  # of each line of labels, how far it reaches
    for mark in sorted(marks, key=lambda mark: mark.at_s):
        at = panel.x_scale(mark.at_s)
        if not panel.x <= at <= panel.right:
            continue
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
