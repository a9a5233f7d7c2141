"""What the template shows, in words: the only place where figures become text for the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from ..analysis.metric import Metric, same_operation
from ..analysis.registry import metric
from ..analysis.wording import bytes_words, grouped, interval_words, percent_words, rate_words, size_words
from ..charts import latency, marks, search, spectrum, throughput, timeline
from ..charts import metric as metric_chart
from ..charts.interval import interval, reach_of
from ..charts.style import COLOURS, DARK_COLOURS
from ..model.boundary import Check, ErrorSample
from ..model.records import LoadRecord, OperationSummary, Percentiles, RunRecord
from .answer import QUANTILE_WORDS, Answer, CellAnswer, ComparisonAnswer, Spread, time_words
from .config_diff import configuration_of
from .contest import Contest, setting_words
from .fault_words import HEADS as FAULT_HEADS
from .fault_words import row_words
from .figures import Figure, Figures
from .levels import axis_words
from .limit_words import limits_of_plan
from .node_words import HEADS as NODE_HEADS
from .node_words import row_words as node_row
from .pair_words import NAMED_MAX, value_words
from .shape_words import finding_words
from .source import Source
from .text import ALL_DUE, SAME_PLANS, STATEMENT_HEADS, error_words, metric_words, statement_words

ERRORS_MAX = 30


def page_of(bundle: Source, answer: Answer, figures: Figures) -> dict[str, Any]:
    contest = Contest(bundle.plan)
    lead = _lead(bundle, answer, figures)
    return {
        "answer": answer,
        "machine": bundle.machine,
        "machine_rows": list(_machine_rows(bundle)),
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
            "timeline": timeline.CAPTION + (f" {marks.CAPTION}" if figures.has_marks else ""),
        },
        "colours": COLOURS,
        "dark_colours": DARK_COLOURS,
        "has_settings": bool(contest.shared),
        "has_limits": any(cell.limits for cell in answer.cells),
        # A word is written as column heads are, a place in the plan ("mariadb.client") as in the plan.
        "compared": answer.compared if "." in answer.compared else answer.compared[:1].upper() + answer.compared[1:],
        "statement_heads": STATEMENT_HEADS,
        "node_heads": NODE_HEADS,
        "nodes": [
            {"found": one, "series": answer.contestants.index(one.contestant), "words": node_row(one)}
            for one in answer.nodes
        ],
        "fault_heads": FAULT_HEADS,
        "faults": [
            {"found": one, "series": answer.contestants.index(one.contestant), "words": row_words(one)}
            for one in answer.faults
        ],
        "objective_short": metric(answer.objective, answer.rates).label,
        "comparisons": _comparisons(answer),
        "shapes": _shapes(answer),
        "axis": axis_words(contest.axis) if contest.axis else "",
        "cells": _cells(answer),
        "middle": setting_words(contest.middle),
        "blocks": sorted({run.block for run in bundle.runs}),
        "left_out": len(contest.settings) - len(figures.details),
        "runs": [_run(contest, run) for run in bundle.runs],
        "errors": list(_errors(bundle))[:ERRORS_MAX],
        "broken_checks": list(_broken_checks(bundle)),
        "loads": [_load(load) for load in bundle.loads],
        "finished": bundle.info.finished,
        "one_run": bundle.runs[0].rerun if bundle.runs else "",
        "resolved": json.dumps(bundle.plan.resolved, indent=1, ensure_ascii=False, default=str),
    }


def _lead(bundle: Source, answer: Answer, figures: Figures) -> Figure:
    """The chart of what was asked: what a search tried, else of the first limit's metric, else of the objective."""
    if figures.searches:
        return figures.searches[0]
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
    return metric_chart.CAPTION if figure in figures.metrics else latency.CAPTION


def _named(places: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and in {len(places) - NAMED_MAX} more" if len(places) > NAMED_MAX else ""
    return f"{', '.join(places[:NAMED_MAX])}{more}"


def _comparisons(answer: Answer) -> list[dict[str, Any]]:
    found, objective = [*answer.comparisons, *answer.over_all], metric(answer.objective, answer.rates)
    reach = reach_of([r for c in found for r in (c.low, c.high, c.ratio) if r is not None])
    rows = []
    for before, c in zip([None, *found], found, strict=False):
        rows.append(
            {
                "found": c,
                "first": before is None or before.setting_words != c.setting_words,
                "series": answer.contestants.index(c.other),
                "other_value": "" if c in answer.over_all else value_words(c.other_value, objective, c.other_why),
                "base_value": "" if c in answer.over_all else value_words(c.base_value, objective, c.base_why),
                "picture": _picture(c, answer.contestants.index(c.other), reach),
            }
        )
    return rows


def _shapes(answer: Answer) -> list[dict[str, Any]]:
    """Level by level. All lines share the axis of their pictures."""
    objective = metric(answer.objective, answer.rates)
    against = [level.against for shape in answer.shapes for level in shape.levels if level.against]
    reach = reach_of([r for c in against for r in (c.low, c.high, c.ratio) if r is not None])
    return [
        {
            "contestant": shape.contestant,
            "series": answer.contestants.index(shape.contestant),
            "setting": shape.setting_words,
            "levels": [
                {
                    "words": level.level_words,
                    "value": value_words(level.value.value if level.value else None, objective),
                    "interval": _interval_words(level.value, objective),
                    "finding": finding_words(shape, level, objective),
                    "may_be_best": level.level in shape.best,
                    "picture": _picture(level.against, answer.contestants.index(shape.contestant), reach),
                }
                for level in shape.levels
            ],
        }
        for shape in answer.shapes
    ]


def _interval_words(spread: Spread | None, objective: Metric) -> str:
    if spread is None or spread.low is None or spread.high is None:
        return ""
    return interval_words(spread.low, spread.high, objective.words, " – ")


def _picture(c: ComparisonAnswer | None, series: int, reach: float) -> Markup | None:
    if c is None or c.ratio is None or c.low is None or c.high is None:
        return None
    canvas = interval(c.ratio, c.low, c.high, series=series, reach=reach, words=c.words)
    return Markup(canvas.inline(c.words))  # the canvas escapes


def _cells(answer: Answer) -> list[dict[str, Any]]:
    cells = answer.cells
    return [
        {
            "cell": cell,
            "first": before is None or before.setting != cell.setting,
            "series": answer.contestants.index(cell.contestant),
            "rate": grouped(cell.rate_ops_per_s.value) if cell.rate_ops_per_s else "–",
            "rate_range": _rate_range(cell),
            "offered": _offered_words(cell),
            "times": list(_times(cell.response)),
            "operations": list(_operations(cell)),
            "errors": error_words(cell),
            "cpu": _cpu(cell),
            "costs": list(_costs(cell)),
            "metrics": metric_words(answer, cell),
            "statements": statement_words(cell) if cell.statements else None,
        }
        for before, cell in zip([None, *cells], cells, strict=False)
    ]


def _offered_words(cell: CellAnswer) -> str:
    if cell.offered_ops_per_s is None:
        return ""
    offered = f"{rate_words(cell.offered_ops_per_s)} offered"
    return f"of {offered}" if cell.due_and_done_ops_per_s is None else offered


def _rate_range(cell: CellAnswer) -> str:
    rate = cell.rate_ops_per_s
    if cell.due_and_done_ops_per_s is not None:
        return ALL_DUE
    if rate is None or rate.low is None or rate.high is None:
        return ""
    return interval_words(rate.low, rate.high, grouped, " – ")


def _operations(cell: CellAnswer) -> Iterator[dict[str, Any]]:
    whole = sum(_ended(found) for found in cell.by_operation if found.part_of is None)
    for found in cell.by_operation:
        yield {
            "name": found.operation,
            "part_of": f"part of {found.part_of}" if found.part_of else "",
            "ok": f"{found.ok:,}",
            "share": percent_words(_ended(found) / whole, digits=3) if whole and found.part_of is None else "",
            "limit": next((limit for limit in cell.limits if same_operation(limit.operation, found.operation)), None),
            "errors": ", ".join(f"{name} {count:,}" for name, count in found.errors.items()) or "0",
            "times": list(_times(found.response)),
        }


def _ended(found: OperationSummary) -> int:
    return found.ok + sum(found.errors.values())


def _times(response: Percentiles) -> Iterator[dict[str, str]]:
    for name in (*QUANTILE_WORDS, "max_ms"):
        yield {"value": time_words(response, name) or "–", "words": response.words.get(name, "")}


def _cpu(cell: CellAnswer) -> str:
    """ "7.5 + 38"; of an embedded database, or one that is not watched, the client's alone."""
    parts = [value for value in (cell.client_cpu_us_per_op, cell.server_cpu_us_per_op) if value is not None]
    return " + ".join(map(grouped, parts)) or "–"


def _costs(cell: CellAnswer) -> Iterator[str]:
    client, server = cell.client_cpu_us_per_op, cell.server_cpu_us_per_op
    total = None if client is None or server is None else client + server
    for value in (client, server, total):
        yield "–" if value is None else grouped(value)
    for size in (cell.client_memory_peak_bytes, cell.server_memory_peak_bytes, cell.size_on_disk_bytes):
        yield "–" if size is None else bytes_words(size)
    for ratio in (cell.data_to_cache_ratio, cell.write_bytes_per_user_byte):
        yield "–" if ratio is None else grouped(ratio)
    yield f"{cell.retries:,}"


def _run(contest: Contest, run: RunRecord) -> dict[str, Any]:
    cell = next(cell for cell in contest.plan.cells if cell.id == run.cell)
    against = [{"severity": v.severity, "text": f"{v.name}: {v.words}"} for v in run.validity if v.ok is False]
    if run.state == "failed":
        against.insert(0, {"severity": "invalid", "text": run.failure})
    untested = ", ".join(v.name for v in run.validity if v.ok is None)
    return {
        "id": run.id,
        "contestant": contest.contestant(cell),
        "setting": setting_words(contest.setting(cell)),
        "block": run.block,
        "rate": grouped(run.rate_ops_per_s) if run.state == "done" else "–",
        "p99": time_words(run.response, "p99_ms") or "–",
        "valid": run.valid,
        "against": against,
        "untested": f"not tested: {untested}" if untested else "",
    }


def _errors(bundle: Source) -> Iterator[tuple[str, ErrorSample]]:
    """One of each operation, outcome and code: the first."""
    seen = set()
    for run in bundle.runs:
        for sample in run.error_samples:
            kind = (run.cell, sample.operation, sample.outcome, sample.code)
            if kind not in seen:
                seen.add(kind)
                yield run.id, sample


def _broken_checks(bundle: Source) -> Iterator[tuple[str, Check]]:
    for load in bundle.loads:
        yield from ((f"after loading {load.system}", check) for check in load.checks if not check.ok)
    for run in bundle.runs:
        yield from ((run.id, check) for check in run.checks if not check.ok)


def _load(load: LoadRecord) -> dict[str, Any]:
    broken = sum(not check.ok for check in load.checks)
    size = load.size_on_disk_bytes
    return {
        "system": load.system,
        "dataset": load.dataset,
        "figures": [
            f"{load.rows:,}",
            f"{grouped(load.elapsed_s)} s" if load.elapsed_s else "there before",
            grouped(load.rows_per_s) if load.elapsed_s else "–",
            "–" if size is None else size_words(size, load.file_size_bytes),
        ],
        "checks": f"{broken} of {len(load.checks)} failed" if broken else _held_words(len(load.checks)),
    }


def _held_words(checks: int) -> str:
    return {0: "none was made", 1: "the one held"}.get(checks, f"all {checks} held")


def _machine_rows(bundle: Source) -> Iterator[tuple[str, str]]:
    m = bundle.machine
    yield "CPU", f"{m.cpu_model}, {m.cores} cores; governor {m.cpu_governor or 'not known'}"
    yield "Memory", f"{bytes_words(m.memory_bytes)}; swap {bytes_words(m.swap_bytes) if m.swap_bytes else 'none'}"
    yield "System", f"{m.os}, kernel {m.kernel}"
    yield "Virtualisation", m.virtualisation or "none"
    yield "File system", m.filesystem
    yield "Clock", m.clock_source
    yield "Engine", f"{m.engine}; Python {m.python}"
    placement = bundle.plan.placement
    yield "Placement", "; ".join(f"{k} on cores {', '.join(map(str, v))}" for k, v in placement.items()) or "not pinned"
    yield "Data", f"reset: {bundle.plan.reset}; cache: {bundle.plan.cache}"
    yield "Error budget", f"{bundle.plan.error_budget_ratio * 100:g} % of the operations of a run"
    yield "Seed", str(bundle.plan.seed)
