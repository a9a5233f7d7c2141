"""A canvas that writes SVG text. Everything that came from outside is escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape

from ..terminal import printable

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
    """Text as it may stand in XML and HTML, in an element and in an attribute."""
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
    """Broken at blanks into at most so many lines; what is too long for them is shortened in the last."""
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
