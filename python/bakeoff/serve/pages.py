"""Pages, made of the report's own parts. Everything that came from a plan or a server is escaped by the template
engine or by the charts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..analysis.wording import bytes_words, counted, milliseconds_words, seconds_words
from ..bundle.results_folder import Listed
from ..claims.article import names as articles
from ..plan.new_plan import SIZES
from ..report.charts import timeline
from ..report.charts.svg import COLOURS, DARK_COLOURS
from ..report.html.write import templates as report_templates
from ..systems import SYSTEMS
from ..systems.base import GROUPS
from ..systems.listing import about, described, state
from ..workloads import workload_names, workloads
from .going import Going, RunGoing
from .installs import Installs
from .plans import Checked, Plans

if TYPE_CHECKING:
    import jinja2

SCRIPTS = ("serve.js", "plan.js")
#: Of finished runs; of a plan's cells.
ROWS_MAX = 50
CELLS_MAX = 200
_PUT_BACK = {
    "restore": "put back before each run",
    "reload": "loaded again before each run",
    "none": "not put back between runs",
}


@cache
def templates() -> jinja2.Environment:
    """The report's, which know its filters, and those of this folder."""
    import jinja2

    loaders = [jinja2.PackageLoader("bakeoff.serve"), jinja2.PackageLoader("bakeoff.report.html")]
    return report_templates().overlay(loader=jinja2.ChoiceLoader(loaders))


def style() -> str:
    shown = {"colours": COLOURS, "dark_colours": DARK_COLOURS, "percentiles": []}
    return templates().get_template("report.css").render(**shown) + _own("serve.css")


def script(name: str) -> str:
    """name: one of SCRIPTS."""
    return _own(name)


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


def plan(plans: Plans) -> str:
    """The editor."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for one in map(described, SYSTEMS):
        if one["managed"]:
            groups.setdefault(one["group"], []).extend(_choices(one))
    named = workload_names()
    about_presets = {
        name: workloads()[kind].presets.get(preset, "") for name, (kind, preset) in named.items() if kind in SIZES
    }
    units = {name: SIZES[kind][0] for name, (kind, _) in named.items() if kind in SIZES}
    shown = {"groups": {name: groups[name] for name in GROUPS if name in groups}, "workloads": about_presets}
    return _page("plan.html", **shown, units=units, examples=plans.examples(), saved=plans.saved())


def _choices(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of a kind that is described: what `bakeoff quick` calls it, "" where it is missing, and what people read."""
    if one["missing"] is not None:
        return [("", one["kind"])]
    versions = list(dict.fromkeys(here["version"] for here in one["here"]))
    if len(versions) < 2 or SYSTEMS[one["kind"]].capabilities().embedded:
        return [(one["kind"], " ".join([one["kind"], *versions]))]
    return [(f"{one['kind']}@{version}", f"{one['kind']} {version}") for version in versions]


def checked(one: Checked) -> tuple[str, str]:
    """What the check of a plan found: in one line, and in full as part of the page."""
    shown: dict[str, Any] = {"one": one, "dry": one.dry, "bytes": bytes_words, "seconds": seconds_words}
    if one.plan is None or one.dry is None:
        assert one.error is not None
        summary = f"Line {one.line}: {one.error.what}" if one.line else str(one.error.what)
    else:
        dry = one.dry
        runs = f"{'at most ' if dry.search_words else ''}{counted(dry.runs, 'run', 'runs')}"
        summary = f"Valid: {runs}, about {dry.time_words}, {dry.disk_words} of disk"
        shown |= {"systems": _done_to(one), "cells": dry.cells[:CELLS_MAX], "more": len(dry.cells) - CELLS_MAX}
    return summary, templates().get_template("plan_checked.html").render(**shown)


def _done_to(one: Checked) -> list[tuple[str, list[str]]]:
    """What a run of a plan does to each of its systems."""
    assert one.plan is not None
    assert one.dry is not None
    found: dict[str, list[str]] = {}
    for cell in one.plan.cells:
        name = cell.record.system
        if name in found:
            continue
        server = one.dry.servers.get(name, "")
        if cell.place is not None:
            words = ["an existing server: bakeoff connects to it"]
        elif "start" in cell.system_options:
            words = [f"{server or cell.record.kind} is started for the plan, and removed afterwards"]
        else:
            words = [f"{cell.record.kind} runs inside the measuring process, and its files are removed afterwards"]
        for load in one.dry.loads:
            if load.system == name:
                size, time = bytes_words(load.size_bytes), seconds_words(load.load_s)
                words.append(f"{load.rows:,} rows are loaded (about {size}, {time}), {_PUT_BACK[cell.reset]}")
        words += [f"{line.names}: {line.there}; {line.fate}" for line in one.dry.tables if line.system == name]
        if faults := one.dry.faults.get(name):
            words.append(f"in each run: {'; '.join(faults)}")
        found[name] = words
    return list(found.items())


def systems(installs: Installs, *, allowed: bool) -> str:
    """allowed: whether something may be installed from here."""
    rows = []
    for one in map(described, SYSTEMS):
        sources = [
            {
                "words": " ".join(filter(None, [source["source"], offer["version"]])),
                "size": _offer_size(offer),
                "needs": f"missing: {source['missing']}" if source["missing"] else source["needs"],
            }
            for source in one["sources"]
            for offer in source["offers"]
        ]
        numbers = [found[0] for source in sources if (found := re.search(r"\d+(\.\d+)*", source["words"]))]
        usual = next((offer for source in one["sources"] if not source["missing"] for offer in source["offers"]), None)
        install = installs.of(one["kind"])
        rows.append(
            {
                **one,
                "state": state(one),
                "about": about({**one, "missing": one["missing"] if usual is None else None}),
                "offers": sources,
                "from": [source["source"] for source in one["sources"] if source["offers"] and not source["missing"]],
                "versions": list(dict.fromkeys(numbers)),
                "size": _offer_size(usual) if usual else "",
                "can": allowed and usual is not None,
                "install": install,
            }
        )
    groups = {name: [row for row in rows if row["group"] == name] for name in GROUPS}
    return _page("systems.html", groups={name: found for name, found in groups.items() if found}, allowed=allowed)


def _offer_size(offer: Mapping[str, Any]) -> str:
    """ "20 MiB download, 87 MiB on disk"; "" where nobody knows."""
    sizes = {"download": offer["download_bytes"], "on disk": offer["on_disk_bytes"]}
    return ", ".join(f"{bytes_words(size)} {what}" for what, size in sizes.items() if size)


def trouble(title: str, words: str) -> str:
    return _page("trouble.html", title=title, words=words)


def _page(template: str, **shown: Any) -> str:
    return templates().get_template(template).render(**shown)
