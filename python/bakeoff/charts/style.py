"""What all charts share: colours, marker shapes, how values and names are shown.

The colours are those of Okabe and Ito, told apart by colour-blind readers too, darkened where white paper asks for it;
shapes tell the same lines apart in a grey print. The report's style sheet has the same list for dark pages.
"""

from __future__ import annotations

from .svg import Attributes, Canvas, fitted, text_width

COLOURS = ("#0072b2", "#d55e00", "#00805e", "#aa4499", "#b07d00", "#3d8fc4", "#8c510a", "#5b5b5b")
DARK_COLOURS = ("#5cb3f0", "#ff8f4d", "#3ecf9d", "#e58bd0", "#e6b84a", "#9ad1f5", "#d19a5b", "#b8b8b8")
GRID = "#e4e7eb"
AXIS = "#9aa4af"
INVALID = "#c62828"
WARM_UP = "#eef0f3"
_SHAPES = ("circle", "square", "diamond", "triangle")


def colour(series: int) -> str:
    return COLOURS[series % len(COLOURS)]


def stroke(series: int, *, width: float = 2.0, opacity: float | None = None) -> Attributes:
    """Attributes of a line: the colour itself, and the class by which the page may change it."""
    return {
        "class": f"s{series % len(COLOURS)} st",
        "stroke": colour(series),
        "stroke-width": width,
        "stroke-opacity": None if opacity is None else f"{opacity:.2f}",
        "stroke-linejoin": "round",
    }


def fill(series: int) -> Attributes:
    return {"class": f"s{series % len(COLOURS)} fi", "fill": colour(series)}


def marker(canvas: Canvas, x: float, y: float, series: int, words: str, *, size: float = 4.0) -> None:
    """Solid, one shape for each of the first four series."""
    shape = _SHAPES[series % len(_SHAPES)]
    if shape == "circle":
        canvas.tip(words, "circle", cx=x, cy=y, r=size, **fill(series))
        return
    s = size * 1.15
    corners = {
        "square": [(-0.9 * s, -0.9 * s), (0.9 * s, -0.9 * s), (0.9 * s, 0.9 * s), (-0.9 * s, 0.9 * s)],
        "diamond": [(0.0, -1.3 * s), (1.3 * s, 0.0), (0.0, 1.3 * s), (-1.3 * s, 0.0)],
        "triangle": [(0.0, -1.25 * s), (1.15 * s, 0.9 * s), (-1.15 * s, 0.9 * s)],
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    canvas.tip(words, "polygon", points=points, **fill(series))


def repetition(canvas: Canvas, x: float, y: float, series: int, words: str, *, valid: bool) -> None:
    """One repetition: a small ring, or a cross where the run is not valid."""
    if valid:
        canvas.tip(words, "circle", cx=x, cy=y, r=2.2, fill_opacity="0.15", **fill(series), **_ring(series))
        return
    for dx in (-3.0, 3.0):
        canvas.line(x - dx, y - 3, x + dx, y + 3, stroke=INVALID, stroke_width=1.6, class_="invalid")
    canvas.tip(words, "circle", cx=x, cy=y, r=4.5, fill=INVALID, fill_opacity="0")


def arrow(canvas: Canvas, x: float, y: float, series: int, words: str, *, up: bool) -> None:
    """Something lies beyond the edge at `y`."""
    tip = -5 if up else 5
    points = f"{x:.1f},{y + tip:.1f} {x - 4.5:.1f},{y - tip:.1f} {x + 4.5:.1f},{y - tip:.1f}"
    canvas.tip(words, "polygon", points=points, **fill(series))


def _ring(series: int) -> Attributes:
    return {"stroke": colour(series), "stroke-width": 1.0, "stroke-opacity": "0.75"}


def legend(canvas: Canvas, x: float, y: float, names: list[str], width: float) -> float:
    """Names with their markers in rows; clicking one sets it off in the report. Returns the height taken."""
    at_x, at_y = x, y
    for series, name in enumerate(names):
        shown = fitted(name, width - 24, 12)
        needed = text_width(shown, 13) + 40
        if at_x > x and at_x + needed > x + width:
            at_x, at_y = x, at_y + 20
        with canvas.group(class_="key", data_series=str(series)):
            canvas.line(at_x, at_y, at_x + 16, at_y, **stroke(series))
            marker(canvas, at_x + 8, at_y, series, name)
            canvas.text(at_x + 22, at_y, shown, "name", middle=True)
        at_x += needed
    return at_y - y + 20
