"""A page per article: verdicts, charts of the plans' bundles in the place of the article's figures, slips, confounds.
HTML in one file, as reports are, and Markdown with the charts next to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from ..analysis.metric import Metric
from ..analysis.registry import UnknownMetric, metric
from ..bundle.files import write_text
from ..bundle.read import Bundle
from ..report.answer import answer_and_records
from ..report.charts.figures import Figure, figures_of
from ..report.charts.svg import COLOURS, DARK_COLOURS
from ..report.html.write import templates
from ..report.text.markdown import plain
from .text import LEVEL, parts_words, slip_words
from .verdict import ArticleFound, PlanMeasured

#: Measures that the charts of a report have, by the chart's name.
_CHARTS = {"rate": "throughput", **{f"latency_{name}": f"latency-{name}" for name in ("p50", "p95", "p99")}}


def write_html(path: Path, found: ArticleFound, plans: Mapping[str, PlanMeasured]) -> Path:
    page = templates().get_template("claims.html")
    words = {"level": LEVEL, "parts_words": parts_words, "slip_words": slip_words}
    style = {"colours": COLOURS, "dark_colours": DARK_COLOURS, "percentiles": ["p99"]}
    text = page.render(found=found, charts=dict(_charts(found, plans)), **words, **style)
    return write_text(path.parent, path.name, text)


def write_markdown(path: Path, found: ArticleFound, plans: Mapping[str, PlanMeasured]) -> Path:
    """With the charts as files in a folder of the page's name."""
    charts = dict(_charts(found, plans))
    for plan, figures in charts.items():
        for figure in figures:
            drawing = figure.canvas.standalone(figure.label)
            write_text(path.parent, _file(path.stem, plan, figure), drawing)
    return write_text(path.parent, path.name, "\n".join(_markdown(path.stem, found, charts)) + "\n")


def _charts(found: ArticleFound, plans: Mapping[str, PlanMeasured]) -> Iterator[tuple[str, list[Figure]]]:
    for name, plan in plans.items():
        claims = [claim for claim in found.claims if name in claim.plans]
        if plan.bundle is not None and plan.bundle.runs:
            measures = dict.fromkeys(measure for claim in claims for measure in claim.measures)
            over_time = any(claim.over_time for claim in claims)
            yield name, _figures(plan.bundle, list(measures), over_time=over_time)


def _figures(bundle: Bundle, measures: list[str], *, over_time: bool) -> list[Figure]:
    """What is shown claims nothing, so it is not recorded as an analysis of the bundle."""
    asked = [found for name in measures if (found := _known(name, bundle)) is not None]
    answer, _ = answer_and_records(bundle, [one for one in asked if one.name not in _CHARTS], can_record=False)
    figures = figures_of(bundle, answer)
    by_name = {figure.name: figure for figure in [*figures.files(), *figures.latency.values()]}
    wanted = [_CHARTS.get(name, f"metric-{name}") for name in measures] + (["timeline"] if over_time else [])
    return [by_name[name] for name in wanted if name in by_name] or [figures.throughput]


def _known(name: str, bundle: Bundle) -> Metric | None:
    """None of what only another plan of a claim has."""
    try:
        return metric(name, bundle.plan.rates)
    except UnknownMetric:
        return None


def _markdown(folder: str, found: ArticleFound, charts: Mapping[str, list[Figure]]) -> Iterator[str]:
    by = f", {plain(found.published)}" if found.published else ""
    command = found.command.replace("`", "")
    yield f"# {plain(found.title)}\n\nThe article `{found.article}`{by}, judged by `{command}`. {found.counts}.\n"
    if found.source:
        yield f"Source: {plain(found.source)}\n"
    if found.setup:
        yield f"The article's setup: {plain(found.setup)}\n"
    yield f"{LEVEL}\n\n## Claims\n"
    for claim in found.claims:
        yield f"- **{plain(claim.id)}: {claim.verdict_words}.** {plain(claim.says)}"
        for said in parts_words(claim):
            yield f"    - {plain(said)}"
        for what, words in (("By analogue", claim.analogue), ("Why", claim.why), ("Limits", claim.limits)):
            if words:
                yield f"    - {what}: {plain(words)}"
    for name, figures in charts.items():
        plan = next(one for one in found.plans if one.name == name)
        yield f"\n## {plain(plan.title)}\n\nClaims {plain(', '.join(plan.claims))}; {plain(plan.measured)}.\n"
        for figure in figures:
            yield f"![{plain(figure.label)}]({quote(_file(folder, name, figure))})\n"
    if found.slips:
        yield "\n## Arithmetic of the article\n"
        yield from (f"- {plain(slip_words(slip))[:1].upper()}{plain(slip_words(slip))[1:]}." for slip in found.slips)
    if found.confounds:
        yield "\n## What the article's comparison does not separate\n"
        yield from (f"- {plain(words)}" for words in found.confounds)


def _file(folder: str, plan: str, figure: Figure) -> str:
    """The name of an operation may hold anything."""
    return f"{folder}/{plan}-{re.sub('[^A-Za-z0-9._-]', '-', figure.name)}.svg"
