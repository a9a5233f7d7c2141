"""What the template shows, in words: the only place where figures become text for the page."""

from __future__ import annotations

import json
from typing import Any

from ...analysis.registry import metric
from ...bundle.read import Bundle
from ...findings.clients_and_nodes import elsewhere, named_words
from ...findings.configuration import configuration_of
from ...findings.contestants import Contest, axis_words, setting_words
from ...findings.limits_and_searches.limits import limits_of_plan
from ...findings.run_values import QUANTILE_WORDS
from ..answer import Answer
from ..charts.figures import Figure, Figures, node_series
from ..charts.svg import COLOURS, DARK_COLOURS
from ..text.terminal import SAME_PLANS, STATEMENT_HEADS
from ..words.clients_and_nodes import CLIENT_HEADS, NODE_HEADS, client_row, node_row
from ..words.faults import HEADS as FAULT_HEADS
from ..words.faults import row_cells
from ..words.limits import limit_heads, limit_rows
from ..words.pairs import NAMED_MAX
from ..words.stages import HEADS as STAGE_HEADS
from ..words.stages import NOTE as STAGE_NOTE
from ..words.stages import WORDS as STAGE_WORDS
from ..words.stages import row_cells as stage_cells
from .promises import promise_section
from .rows import (
    broken_checks,
    cell_rows,
    comparison_rows,
    first_errors,
    first_rows,
    load_row,
    machine_rows,
    run_rows,
    shape_rows,
)

ERRORS_MAX = 30


def page_of(bundle: Bundle, answer: Answer, figures: Figures) -> dict[str, Any]:
    contest = Contest(bundle.plan)
    lead = _lead(contest, bundle, answer, figures)
    return {
        "answer": answer,
        "first_rows": first_rows(answer),
        "machine": bundle.machine,
        "load_machines": named_words(elsewhere(bundle.runs)),
        "machine_rows": list(machine_rows(bundle)),
        "configuration": configuration_of(bundle),
        "figures": figures,
        "lead": lead,
        "percentiles": list(figures.latency),
        "differ_in": _named([one.name for one in answer.between_plans]),
        "same_plans": SAME_PLANS if answer.compared == "plan" and not answer.between_plans else "",
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
        "stage_heads": STAGE_HEADS,
        "stage_words": STAGE_WORDS,
        "stage_note": STAGE_NOTE,
        "stages": stage_rows(answer),
        "fault_heads": FAULT_HEADS,
        "faults": fault_rows(answer),
        "objective_short": metric(answer.objective, answer.rates).label,
        "promises": promise_section(answer.promises),
        "comparisons": comparison_rows(answer),
        "shapes": shape_rows(answer),
        "axis": axis_words(contest.axis) if contest.axis else "",
        "cells": cell_rows(answer),
        "limits": {"heads": limit_heads(answer.held), "rows": limit_rows(answer.held)},
        "middle": setting_words(contest.middle),
        "blocks": sorted({run.block for run in bundle.runs}),
        "left_out": len(contest.settings) - len(figures.details),
        "runs": run_rows(contest, bundle.attempts),
        "errors": list(first_errors(bundle))[:ERRORS_MAX],
        "broken_checks": list(broken_checks(bundle)),
        "loads": [load_row(load) for load in bundle.loads],
        "finished": bundle.info.finished,
        "one_run": bundle.runs[0].rerun if bundle.runs else "",
        "resolved": json.dumps(bundle.plan.resolved, indent=1, ensure_ascii=False, default=str),
    }


def _lead(contest: Contest, bundle: Bundle, answer: Answer, figures: Figures) -> Figure | None:
    """The chart that answers the question: what a search tried, the time around planned faults or the stages of a rate,
    else the first limit's metric, else the objective. None: the rows of the first screen draw the same few values."""
    if figures.searches:
        return figures.searches[0]
    if (answer.faults or answer.stages) and figures.overview:
        return figures.overview
    if contest.axis is None and len(contest.settings) == 1:
        return None
    limits = limits_of_plan(bundle.plan)
    name = limits[0].metric.name if limits else answer.objective
    metrics = {figure.name: figure for figure in figures.metrics}
    times = figures.latency.get(QUANTILE_WORDS.get(name.removeprefix("latency_") + "_ms", ""))
    return times or metrics.get(f"metric-{name}") or figures.throughput


def _named(places: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and in {len(places) - NAMED_MAX} more" if len(places) > NAMED_MAX else ""
    return f"{', '.join(places[:NAMED_MAX])}{more}"


def client_rows(answer: Answer) -> list[dict[str, Any]]:
    """first: of its cell."""
    rows, before = [], None
    for one in answer.clients:
        cell = one.contestant, one.setting_words
        client, *words = client_row(one)
        series = answer.contestants.index(one.contestant)
        rows.append({"found": one, "series": series, "first": cell != before, "client": client, "words": words})
        before = cell
    return rows


def node_rows(answer: Answer) -> list[dict[str, Any]]:
    of_nodes, rows = node_series(answer), []
    for one in answer.nodes:
        name, *words = node_row(one)
        series = answer.contestants.index(one.contestant)
        rows.append(
            {"found": one, "series": series, "node": (of_nodes[one.contestant, one.node], name), "words": words}
        )
    return rows


def stage_rows(answer: Answer) -> list[dict[str, Any]]:
    """first: of its cell."""
    rows, before = [], None
    for one in answer.stages:
        series = answer.contestants.index(one.contestant)
        rows.append({"found": one, "series": series, "first": one.cell != before, "cells": stage_cells(one)})
        before = one.cell
    return rows


def fault_rows(answer: Answer) -> list[dict[str, Any]]:
    """node: the fault in words, with a colour where one alone of several nodes is hurt."""
    of_nodes, rows = node_series(answer), []
    for one in answer.faults:
        (fault, _), *cells = row_cells(one)
        hurt = {of_nodes.get((one.contestant, node)) for node in one.nodes}
        node = hurt.pop() if len(hurt) == 1 else None, fault
        rows.append({"found": one, "series": answer.contestants.index(one.contestant), "node": node, "cells": cells})
    return rows
