"""Cells as rows of the page's tables of results, operations and costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..analysis.response_times import same_operation
from ..analysis.wording import bytes_words, grouped, interval_words, percent_words, rate_words
from ..findings.run_values import QUANTILE_WORDS, time_words
from ..model.records import OperationSummary, Percentiles
from .answer import Answer, CellAnswer
from .text import ALL_DUE, error_words, metric_words, statement_words


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
