"""report.html: one file that needs nothing else, and the charts as files of their own.

Everything that came from a plan, a server or an error message is escaped by the template engine or by `charts.svg`; the
page's policy lets no script run but its own, by its hash, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...analysis.compare import ComparisonAnswer
from ...analysis.metric import Metric
from ...analysis.thresholds import Outcome
from ...bundle.files import write_bytes, write_text
from ...bundle.read import Bundle
from ...findings.between_bundles.both_sides import Joined
from ...findings.between_bundles.comparison import BundleComparison
from ...findings.between_bundles.conditions import Change
from ...terminal import printable
from ..answer import Answer, answer_of
from ..between_bundles import answer_between

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

    from ..charts.figures import Figures


#: Letters of a level that fit into the least width of its column.
_LEVEL_MAX = 14


@dataclass(frozen=True)
class ReportPaths:
    html: Path
    charts: list[Path]


def write_report(
    bundle: Bundle, out: Path | None = None, answer: Answer | None = None, *, png: bool = False
) -> ReportPaths:
    """Writes report.html and charts/ into `out`, the bundle's folder unless given. answer: if it is known already."""
    from ..charts.figures import figures_of
    from ..charts.png import Conversion

    folder = out or bundle.folder
    answer = answer or answer_of(bundle)
    figures = figures_of(bundle, answer)
    drawings = [
        write_text(folder, f"charts/{figure.name}.svg", figure.canvas.standalone(figure.label))
        for figure in figures.files()
    ]
    for drawing in drawings:  # a picture of an earlier report would show other figures
        drawing.with_suffix(".png").unlink(missing_ok=True)
    with Conversion(drawings) if png else nullcontext() as conversion:
        html = write_text(folder, "report.html", render_html(bundle, answer, figures))
        converted = zip(drawings, conversion.pictures(), strict=True) if conversion else ()
        pictures = [write_bytes(folder, f"charts/{drawing.stem}.png", picture) for drawing, picture in converted]
    return ReportPaths(html, [*drawings, *pictures])


def render_html(bundle: Bundle, answer: Answer, figures: Figures, sides: Sides | None = None) -> str:
    """sides: of bundles that are compared, what a page shows besides."""
    from markupsafe import Markup

    from .page import page_of

    script = resources.files(__package__).joinpath("templates", "report.js").read_text(encoding="utf-8")
    page: dict[str, Any] = page_of(bundle, answer, figures)
    return (
        templates()
        .get_template("report.html")
        .render(**page, sides=sides, script=Markup(script), script_hash=Markup(_hash(script)))
    )


@cache
def templates() -> jinja2.Environment:
    """It keeps what it has compiled, which takes longer than to write a page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bakeoff.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        finalize=_shown,
    )
    environment.filters["breakable"] = _breakable
    environment.filters["levels"] = _levels
    return environment


def _shown(value: Any) -> Any:
    """What others wrote does not turn the page's letters around; a number and its per cent sign stay on one line."""
    return printable(value).replace(" %", "\u00a0%") if type(value) is str else value


def _breakable(words: str) -> Markup:
    """A line may end behind the "=" of a level and the "," of a list, where there is no space."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(=|,)(?=\S)", r"\1<wbr>", str(escape(_shown(words)))))


def _levels(words: str) -> Markup:
    """A line may end between the levels of a setting, and within one only where it is too long for a column."""
    from markupsafe import Markup, escape

    parts = [
        f'<span class="n">{escape(_shown(level))}</span>' if len(level) <= _LEVEL_MAX else escape(_shown(level))
        for level in words.split(", ")
    ]
    return Markup(", ".join(parts))


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def write_comparison(path: Path, joined: Joined, found: BundleComparison, held: Sequence[Outcome] = ()) -> Path:
    """One file that needs nothing else. held: what became of the conditions that were asked for."""
    from ..charts.figures import figures_of

    answer, further = answer_between(joined, found)
    sides = Sides(**joined.folders, changed=found.changed, further=further, held=list(held))
    page = render_html(joined, answer, figures_of(joined, answer), sides)
    return write_text(path.parent, path.name, page)


@dataclass(frozen=True)
class Sides:
    """What a page about them shows besides. further: findings by other metrics than the one that leads. held: what
    became of the conditions that were asked for."""

    before: list[str]
    after: list[str]
    changed: list[Change]
    further: list[tuple[Metric, ComparisonAnswer]]
    held: list[Outcome]
