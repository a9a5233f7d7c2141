"""Cells, comparisons, runs, loads and the machine as rows of the page's tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from ...analysis.compare import ComparisonAnswer
from ...analysis.metric import Metric
from ...analysis.percentiles import same_operation
from ...analysis.registry import metric
from ...analysis.wording import bytes_words, grouped, interval_words, percent_words, rate_words, size_words
from ...bundle.read import Bundle
from ...findings.cells import CellAnswer
from ...findings.contestants import Contest, setting_words
from ...findings.run_values import QUANTILE_WORDS, Spread, time_words
from ...model.boundary import Check, ErrorSample
from ...model.records.bundle import LoadRecord
from ...model.records.run import OperationSummary, Percentiles, RunRecord
from ..answer import Answer
from ..charts.svg import AXIS, Canvas, fill, stroke
from ..first_screen import Row
from ..text.terminal import ALL_DUE, error_words, metric_words, statement_words
from ..words.clients_and_nodes import machines_and_clocks_words
from ..words.pairs import value_words
from ..words.shapes import finding_words


def cell_rows(answer: Answer) -> list[dict[str, Any]]:
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


def comparison_rows(answer: Answer) -> list[dict[str, Any]]:
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


def shape_rows(answer: Answer) -> list[dict[str, Any]]:
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


def run_rows(contest: Contest, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    places = {c.id: (contest.contestant(c), setting_words(contest.setting(c))) for c in contest.plan.cells}
    return [_run_row(run, *places[run.cell]) for run in runs]


def _run_row(run: RunRecord, contestant: str, setting: str) -> dict[str, Any]:
    against = [{"severity": v.severity, "text": f"{v.name}: {v.words}"} for v in run.validity if v.ok is False]
    if run.state == "failed":
        against.insert(0, {"severity": "invalid", "text": run.failure})
    untested = ", ".join(v.name for v in run.validity if v.ok is None)
    return {
        "id": run.id,
        "contestant": contestant,
        "setting": setting,
        "block": run.block,
        "rate": grouped(run.rate_ops_per_s) if run.state == "done" else "–",
        "p99": time_words(run.response, "p99_ms") or "–",
        "valid": run.standing == "valid",
        "against": against,
        "untested": f"not tested: {untested}" if untested else "",
    }


def first_errors(bundle: Bundle) -> Iterator[tuple[str, ErrorSample]]:
    """One of each operation, outcome and code: the first."""
    seen = set()
    for run in bundle.runs:
        for sample in run.error_samples:
            kind = (run.cell, sample.operation, sample.outcome, sample.code)
            if kind not in seen:
                seen.add(kind)
                yield run.id, sample


def broken_checks(bundle: Bundle) -> Iterator[tuple[str, Check]]:
    for load in bundle.loads:
        yield from ((f"after loading {load.system}", check) for check in load.checks if not check.ok)
    for run in bundle.runs:
        yield from ((run.id, check) for check in run.checks if not check.ok)


def load_row(load: LoadRecord) -> dict[str, Any]:
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


def machine_rows(bundle: Bundle) -> Iterator[tuple[str, str]]:
    m = bundle.machine
    yield "CPU", f"{m.cpu_model}, {m.cores} cores; governor {m.cpu_governor or 'not known'}"
    yield "Memory", f"{bytes_words(m.memory_bytes)}; swap {bytes_words(m.swap_bytes) if m.swap_bytes else 'none'}"
    yield "System", f"{m.os}, kernel {m.kernel}"
    yield "Virtualisation", m.virtualisation or "none"
    yield "File system", m.filesystem
    yield "Clock", m.clock_source
    yield "Engine", f"{m.engine}; Python {m.python}"
    if clients := machines_and_clocks_words(bundle.runs):
        yield "Clients", clients
    placement = bundle.plan.placement
    yield "Placement", "; ".join(f"{k} on cores {', '.join(map(str, v))}" for k, v in placement.items()) or "not pinned"
    yield "Data", f"reset: {bundle.plan.reset}; cache: {bundle.plan.cache}"
    yield "Error budget", f"{bundle.plan.error_budget_ratio * 100:g} % of the operations of a run"
    yield "Seed", str(bundle.plan.seed)


WIDTH = 160.0
BAR_WIDTH = 300.0
HEIGHT = 20.0
_EDGE = 6.0


def reach_of(ratios: Sequence[float]) -> float:
    """How far the shared axis must go to either side of "equal", as a log-ratio; at least 5 %."""
    return max([abs(math.log(ratio)) for ratio in ratios if ratio > 0], default=0.0) * 1.05 + math.log(1.05)


def first_rows(answer: Answer) -> list[dict[str, Any]]:
    """The rows of the first screen: first: of its setting; bar: the value from zero, with its interval."""
    rows = answer.first.rows
    shown, before = [], None
    for row in rows:
        most = answer.first.longest_bar(row)
        bar = (
            None
            if row.value is None or most <= 0
            else Markup(_value_bar(row, most).inline(f"{row.name}: {row.value_words}"))
        )
        shown.append({"row": row, "first": row.setting_words != before, "bar": bar})
        before = row.setting_words
    return shown


def _value_bar(row: Row, most: float) -> Canvas:
    """To scale, from zero."""
    canvas = Canvas(BAR_WIDTH, HEIGHT)
    middle, value = HEIGHT / 2, row.value or 0.0

    def place(one: float) -> float:
        return max(0.0, one) / most * (BAR_WIDTH - _EDGE)

    canvas.tip(
        row.value_words,
        "rect",
        x=0,
        y=2,
        width=max(1.0, place(value)),
        height=HEIGHT - 4,
        **fill(row.series),
        fill_opacity="0.55",
    )
    if row.low is not None and row.high is not None:
        canvas.line(
            place(row.low), middle, place(row.high), middle, stroke="#1b1f24", class_="whisker", stroke_width=1.5
        )
        for end in (row.low, row.high):
            canvas.line(
                place(end), middle - 4, place(end), middle + 4, stroke="#1b1f24", class_="whisker", stroke_width=1.5
            )
    return canvas


def interval(ratio: float, low: float, high: float, *, series: int, reach: float, words: str) -> Canvas:
    """ratio, low, high: other / base. Right of the middle line: the other has more. series: of whom it colours."""
    canvas = Canvas(WIDTH, HEIGHT)
    middle = HEIGHT / 2

    def place(value: float) -> float:
        share = max(-1.0, min(1.0, math.log(value) / reach))
        return WIDTH / 2 + share * (WIDTH / 2 - _EDGE)

    canvas.line(WIDTH / 2, 1, WIDTH / 2, HEIGHT - 1, stroke=AXIS, class_="axis", stroke_dasharray="2 2")
    canvas.line(place(low), middle, place(high), middle, **stroke(series, width=2.0))
    for end in (low, high):
        canvas.line(place(end), middle - 4, place(end), middle + 4, **stroke(series, width=1.5))
    canvas.tip(words, "circle", cx=place(ratio), cy=middle, r=4, **fill(series))
    return canvas
