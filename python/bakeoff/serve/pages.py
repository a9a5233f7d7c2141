"""Pages, made of the report's own parts. Everything that came from a plan or a server is escaped by the template
engine or by the charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..analysis.wording import bytes_words, counted, milliseconds_words
from ..bundle.results_folder import Listed
from ..claims.article import names as articles
from ..report.charts import timeline
from ..report.charts.svg import COLOURS, DARK_COLOURS
from ..report.html.write import templates as report_templates
from .going import Going, RunGoing

if TYPE_CHECKING:
    import jinja2

#: Of finished runs.
ROWS_MAX = 50


@cache
def templates() -> jinja2.Environment:
    """The report's, which know its filters, and those of this folder."""
    import jinja2

    loaders = [jinja2.PackageLoader("bakeoff.serve"), jinja2.PackageLoader("bakeoff.report.html")]
    return report_templates().overlay(loader=jinja2.ChoiceLoader(loaders))


def style() -> str:
    shown = {"colours": COLOURS, "dark_colours": DARK_COLOURS, "percentiles": []}
    return templates().get_template("report.css").render(**shown) + _own("serve.css")


def script() -> str:
    return _own("serve.js")


def _own(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def history(found: Sequence[Listed], words: str, there: int, stopped: Collection[str]) -> str:
    """words: what was sought. there: how many bundles the folder has, read or not. stopped: names of those that can go
    on."""
    rows = [
        {
            "one": one,
            "size": bytes_words(one.size_bytes),
            "started": f"{one.created.astimezone(UTC):%Y-%m-%d %H:%M}",
            "stopped": one.name in stopped,
        }
        for one in found
    ]
    titles = Counter(one.title for one in found if one.state == "complete")
    several = {title: count for title, count in titles.items() if count > 1}
    counts = {"found": counted(len(found), "bundle", "bundles"), "there": there, "several": several}
    return _page("history.html", rows=rows, words=words, articles=articles(), **counts)


def going(name: str, now: Going, chart: str) -> str:
    return _page("going.html", name=name, now=now, body=body_of(now, chart))


def chart_of(run: RunGoing) -> str:
    """The run so far."""
    return timeline.detail(run.over_time(), [run.cell.label]).inline("The run so far")


def body_of(now: Going, chart: str) -> Any:
    """What of the page changes with each second. chart: of the run, by `chart_of`."""
    from markupsafe import Markup

    run = now.run
    ended = list(now.ended)[-ROWS_MAX:]
    page = templates().get_template("going_body.html")
    shown = {"now": now, "run": run, "chart": Markup(chart), "times": milliseconds_words}
    return Markup(page.render(**shown, ended=ended[::-1], more=len(now.ended) - len(ended)))


def trouble(title: str, words: str) -> str:
    return _page("trouble.html", title=title, words=words)


def _page(template: str, **shown: Any) -> str:
    return templates().get_template(template).render(**shown)
