"""A canvas that writes SVG text, and what all charts share: colours, marker shapes, how names are shown. Everything
that came from outside is escaped here and nowhere else.

The colours are those of Okabe and Ito, distinct for colour-blind readers too, darkened where white paper asks for it;
shapes separate the same lines in a grey print. The report's style sheet has the same list for dark pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import escape

from ...terminal import printable

#: Characters that no XML document may hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_STYLES: dict[str, dict[str, str]] = {
    "title": {"fill": "#1b1f24", "font-size": "13", "font-weight": "600"},
    "name": {"fill": "#3d444d", "font-size": "12", "font-weight": "600"},
    "axis-title": {"fill": "#59636e", "font-size": "11"},
    "tick": {"fill": "#59636e", "font-size": "11"},
    "note": {"fill": "#59636e", "font-size": "11"},
}

Point = tuple[float, float]
Attributes = dict[str, str | float | None]


class Canvas:
    """Draws in pixels from the top left corner. `width` and `height` may still be changed before it is written."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []
        #: The kinds of marks that a caption explains.
        self.marks: set[str] = set()

    def add(self, tag: str, **attributes: str | float | None) -> None:
        self._parts.append(f"<{tag}{_written(attributes)}/>")

    @contextmanager
    def group(self, **attributes: str | float | None) -> Iterator[None]:
        self._parts.append(f"<g{_written(attributes)}>")
        yield
        self._parts.append("</g>")

    def text(
        self,
        x: float,
        y: float,
        words: str,
        style: str = "tick",
        *,
        anchor: str = "start",
        middle: bool = False,
        rotate: bool = False,
        attributes: Attributes | None = None,
    ) -> None:
        """middle: `y` is the text's middle, not its base line. rotate: reads from bottom to top."""
        size = float(_STYLES[style]["font-size"])
        place = f"translate({_number(x)},{_number(y + (size * 0.35 if middle else 0))})"
        written: Attributes = {
            "class": style,
            "transform": place + (" rotate(-90)" if rotate else ""),
            "text-anchor": None if anchor == "start" else anchor,
            **_STYLES[style],
            **(attributes or {}),
        }
        self._parts.append(f"<text{_written(written)}>{clean(words)}</text>")

    def line(self, x1: float, y1: float, x2: float, y2: float, **attributes: str | float | None) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)

    def polyline(self, points: Iterable[Point], **attributes: str | float | None) -> None:
        flat = tuple(number for point in points for number in point)
        path = (("%.1f,%.1f " * (len(flat) // 2)) % flat).replace(".0,", ",").replace(".0 ", " ")
        self.add("polyline", points=path.rstrip(), fill="none", **attributes)

    def tip(self, words: str, tag: str, **attributes: str | float | None) -> None:
        """A mark that says something when pointed at: to a reader without scripts and to a screen reader too."""
        self._parts.append(f"<{tag}{_written(attributes)}><title>{clean(words)}</title></{tag}>")

    def inline(self, label: str) -> str:
        """For a page: it scales with the column, and the page's style sheet has the last word on colours."""
        size = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}" width="{_number(self.width)}"'
        return (
            f'<svg class="chart" role="img" aria-label="{clean(label)}" {size} font-family="{_FONT}">'
            f"{''.join(self._parts)}</svg>"
        )

    def standalone(self, label: str) -> str:
        """A file of its own, on white."""
        width, height = _number(self.width), _number(self.height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" font-family="{_FONT}"><title>{clean(label)}</title>'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(self._parts)}</svg>\n'
        )


def clean(words: str) -> str:
    """Text that is valid in XML and HTML, in an element and in an attribute."""
    return escape(_ILLEGAL.sub("\ufffd", printable(words)), quote=True)


def text_width(words: str, size: float = 11) -> float:
    """An upper bound for most sans serif faces: wide scripts take one em, capitals and digits more than the rest."""
    return size * sum(map(_ems, words))


def _ems(character: str) -> float:
    if ord(character) > 0x2E7F:
        return 1.0
    return 0.34 if character in " .,:;'|ilI()[]" else 0.72 if character.isupper() else 0.6


def fitted(words: str, width: float, size: float = 11) -> str:
    """Shortened in the middle, so that beginnings and ends still tell labels apart."""
    if text_width(words, size) <= width:
        return words
    keep = len(words)
    while keep > 4 and text_width(words[:keep], size) > width:
        keep -= 1
    head = keep // 2
    return f"{words[:head]}…{words[len(words) - (keep - head - 1) :]}"


def lined(words: str, width: float, size: float = 11, most: int = 2) -> list[str]:
    """Broken at blanks into at most `most` lines; what is too long for them is shortened in the last."""
    lines: list[str] = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if len(lines) < most and lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [fitted(line, width, size) for line in lines]


def _written(attributes: Attributes) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{clean(value) if isinstance(value, str) else _number(value)}"'
        for name, value in attributes.items()
        if value is not None
    )


def _number(value: float) -> str:
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


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


def caption(canvas: Canvas, marks: Mapping[str, str], words: str = "") -> str:
    """words, and the marks that are drawn, in the order of `marks`."""
    drawn = "; ".join(said for mark, said in marks.items() if mark in canvas.marks)
    return f"{words} {drawn[:1].upper()}{drawn[1:]}{'.' if drawn else ''}".strip()


def repetition(canvas: Canvas, x: float, y: float, series: int, words: str, *, valid: bool) -> None:
    """One repetition: a small ring, or a cross where the run is not valid."""
    canvas.marks.add("ring" if valid else "cross")
    if valid:
        canvas.tip(words, "circle", cx=x, cy=y, r=2.2, fill_opacity="0.15", **fill(series), **_ring(series))
        return
    for dx in (-3.0, 3.0):
        canvas.line(x - dx, y - 3, x + dx, y + 3, stroke=INVALID, stroke_width=1.6, class_="invalid")
    canvas.tip(words, "circle", cx=x, cy=y, r=4.5, fill=INVALID, fill_opacity="0")


def arrow(canvas: Canvas, x: float, y: float, series: int, words: str, *, up: bool) -> None:
    """Something lies beyond the edge at `y`."""
    canvas.marks.add("arrow")
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
