"""What the template shows, in words: the only place where figures become text for the page."""

from __future__ import annotations

import json
from typing import Any

from ..analysis.registry import metric
from ..charts import latency, marks, search, spectrum, throughput, timeline
from ..charts import metric as metric_chart
from ..charts.style import COLOURS, DARK_COLOURS
from ..findings.contestants import Contest, axis_words, setting_words
from ..findings.limits import limits_of_plan
from ..findings.run_values import QUANTILE_WORDS
from ..findings.source import Source
from .answer import Answer
from .client_places import elsewhere, named_words
from .client_words import HEADS as CLIENT_HEADS
from .config_diff import configuration_of
from .fault_words import HEADS as FAULT_HEADS
from .figures import Figure, Figures
from .limit_words import limit_heads, limit_rows
from .node_words import HEADS as NODE_HEADS
from .page_cells import cell_rows
from .page_clients import client_rows
from .page_comparisons import comparison_rows, shape_rows
from .page_nodes import fault_rows, node_rows
from .page_runs import broken_checks, first_errors, load_row, machine_rows, run_row
from .pair_words import NAMED_MAX
from .text import SAME_PLANS, STATEMENT_HEADS

ERRORS_MAX = 30


def page_of(bundle: Source, answer: Answer, figures: Figures) -> dict[str, Any]:
    contest = Contest(bundle.plan)
    lead = _lead(bundle, answer, figures)
    return {
        "answer": answer,
        "machine": bundle.machine,
        "load_machines": named_words(elsewhere(bundle.runs)),
        "machine_rows": list(machine_rows(bundle)),
        "configuration": configuration_of(bundle),
        "figures": figures,
        "lead": lead,
        "lead_caption": _caption(lead, figures),
        "percentiles": list(figures.latency),
        "differ_in": _named([one.name for one in answer.between_plans]),
        "same_plans": SAME_PLANS if answer.compared == "plan" and not answer.between_plans else "",
        "captions": {
            "throughput": throughput.CAPTION,
            "latency": latency.CAPTION,
            "metric": metric_chart.CAPTION,
            "search": search.CAPTION,
            "spectrum": spectrum.CAPTION,
            "timeline": _over_time(figures),
        },
        "colours": COLOURS,
        "dark_colours": DARK_COLOURS,
        "has_settings": bool(contest.shared),
        "has_limits": any(cell.limits for cell in answer.cells),
        # A word is written as column heads are, a place in the plan ("mariadb.client") as in the plan.
        "compared": answer.compared if "." in answer.compared else answer.compared[:1].upper() + answer.compared[1:],
        "statement_heads": STATEMENT_HEADS,
        "node_heads": NODE_HEADS,
        "nodes": node_rows(answer),
        "client_heads": CLIENT_HEADS,
        "clients": client_rows(answer),
        "fault_heads": FAULT_HEADS,
        "faults": fault_rows(answer),
        "objective_short": metric(answer.objective, answer.rates).label,
        "comparisons": comparison_rows(answer),
        "shapes": shape_rows(answer),
        "axis": axis_words(contest.axis) if contest.axis else "",
        "cells": cell_rows(answer),
        "limits": {"heads": limit_heads(answer.held), "rows": limit_rows(answer.held)},
        "middle": setting_words(contest.middle),
        "blocks": sorted({run.block for run in bundle.runs}),
        "left_out": len(contest.settings) - len(figures.details),
        "runs": [run_row(contest, run) for run in bundle.attempts],
        "errors": list(first_errors(bundle))[:ERRORS_MAX],
        "broken_checks": list(broken_checks(bundle)),
        "loads": [load_row(load) for load in bundle.loads],
        "finished": bundle.info.finished,
        "one_run": bundle.runs[0].rerun if bundle.runs else "",
        "resolved": json.dumps(bundle.plan.resolved, indent=1, ensure_ascii=False, default=str),
    }


def _lead(bundle: Source, answer: Answer, figures: Figures) -> Figure:
    """The chart of what was asked: what a search tried, what came of planned faults, else the first limit's metric,
    else the objective."""
    if figures.searches:
        return figures.searches[0]
    if answer.faults and figures.overview:
        return figures.overview
    limits = limits_of_plan(bundle.plan)
    name = limits[0].metric.name if limits else answer.objective
    metrics = {figure.name: figure for figure in figures.metrics}
    times = figures.latency.get(QUANTILE_WORDS.get(name.removeprefix("latency_") + "_ms", ""))
    return times or metrics.get(f"metric-{name}") or figures.throughput


def _caption(figure: Figure, figures: Figures) -> str:
    if figure in figures.searches:
        return search.CAPTION
    if figure is figures.throughput:
        return throughput.CAPTION
    if figure is figures.overview:
        return _over_time(figures)
    return metric_chart.CAPTION if figure in figures.metrics else latency.CAPTION


def _over_time(figures: Figures) -> str:
    return timeline.CAPTION + (f" {marks.CAPTION}" if figures.has_marks else "")


def _named(places: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and in {len(places) - NAMED_MAX} more" if len(places) > NAMED_MAX else ""
    return f"{', '.join(places[:NAMED_MAX])}{more}"
