"""The results as JSON, which keeps every sample, and as Markdown, for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.analysis.wording import bytes_words

from .bench import Comparison, RowResult
from .pairs import Interval
from .rows import Bar, Row
from .special import Figure

FORMAT = 2


@dataclass
class Results:
    date: str
    machine: dict[str, Any]
    versions: list[str]
    options: dict[str, Any]
    rows: list[RowResult] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    #: What could not be measured, in words.
    failures: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Both forms: `path`, and the same with .md."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_document(), indent=1) + "\n")
        path.with_suffix(".md").write_text(self.as_markdown())

    def as_document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "date": self.date,
            "machine": self.machine,
            "versions": self.versions,
            "options": self.options,
            "rows": [_row_document(result) for result in self.rows],
            "failures": self.failures,
            "figures": [{**asdict(figure), "met": figure.met} for figure in self.figures],
        }

    def as_markdown(self) -> str:
        parts = ["# Results of `make bench`", self._head(), *_sections(self.rows, self.figures)]
        parts += [f"**Not measured: {words}**" for words in self.failures]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _head(self) -> str:
        machine, options = self.machine, self.options
        lines = [
            f"{self.date}; {machine['cpu_model']}, {machine['cores']} cores, {bytes_words(machine['memory_bytes'])},"
            f" {machine['virtualisation']}; {machine['os']}, Linux {machine['kernel']}.",
            ", ".join(self.versions) + ".",
            f"{options['rounds']} shuffled rounds, windows of {options['window_s']:g} s after {options['warm_up_s']} s"
            f" of warm-up, {options['rows']:,} rows, {options['distribution']} distribution, seed {options['seed']}."
            " Values are medians over rounds; intervals hold the median with at least 95 %.",
        ]
        lines += [f"**{warning}**" for warning in machine["warnings"]]
        return "\n".join(lines)


def _sections(rows: Sequence[RowResult], figures: Sequence[Figure]) -> list[str]:
    parts = []
    if any(result.comparisons for result in rows):
        parts += ["## Ratios", _ratio_table(rows)]
    if rows:
        parts += ["## Values", _value_table(rows)]
    if figures:
        parts += ["## Other measurements", _figure_table(figures)]
    return [*parts, _disagreements(rows)]


def _ratio_table(rows: Sequence[RowResult]) -> str:
    head = [*_ROW_HEAD, "client / peer", "client CPU", "bar", "total CPU", "bar", "throughput", "bar"]
    lines = []
    for result in rows:
        for one in result.comparisons:
            cells = []
            for figure in ("client_cpu", "total_cpu", "rate"):
                ratio = getattr(one, figure)
                cells += [str(ratio), judged(result, one, figure)]
            lines.append([*_row_cells(result.row), f"{result.shown(one.client)} / {one.peer}", *cells])
    return markdown(head, lines)


_ROW_HEAD = ["system", "work", "over", "sessions", "cores"]


def _row_cells(row: Row) -> list[str]:
    return [row.system, row.work, row.transport, str(row.sessions), row.placement]


def bar_of(result: RowResult, one: Comparison, figure: str) -> Bar | None:
    """Bars are set against the row's peer, not against another state of the engine."""
    if one.peer != result.row.peer:
        return None
    bars = [bar for bar in result.row.bars() if bar.figure == figure and bar.client in (one.client, "*")]
    return bars[0] if bars else None


def judged(result: RowResult, one: Comparison, figure: str) -> str:
    bar = bar_of(result, one, figure)
    if bar is None:
        return ""
    return f"{'met' if bar.met(getattr(one, figure).mid) else '**MISSED**'} {bar}"


def _value_table(rows: Sequence[RowResult]) -> str:
    head = [*_ROW_HEAD, "client", "client CPU us", "server CPU us", "total us", "operations/s"]
    head += ["p50 ms", "p99 ms", "errors"]
    lines = []
    for result in rows:
        for name in sorted(result.samples):
            figures = ("client_cpu_us", "server_cpu_us", "total_cpu_us")
            cells = [_number(result.mid(name, figure), 2) for figure in figures]
            cells.append(_number(result.mid(name, "rate_ops_per_s"), 0))
            cells += [_number(result.mid(name, f"latency_ms_{p}"), 3) for p in ("p50", "p99")]
            error_ratio = result.mid(name, "error_ratio") or 0.0
            lines.append([*_row_cells(result.row), result.shown(name), *cells, f"{error_ratio:.2%}"])
    notes = dict.fromkeys(f"{_placed(result.row)}: {result.placement}" for result in rows)
    return markdown(head, lines) + "\n\nPlacement: " + "; ".join(notes) + "."


def _placed(row: Row) -> str:
    """The rows of one placement, which the page states once."""
    return "1 session" if row.one_core else row.placement


def _figure_table(figures: Sequence[Figure]) -> str:
    lines = []
    for figure in figures:
        value = figure.value
        words = _number(value, 2 if value < 100 else 0) if isinstance(value, float) else str(value)
        verdict = "" if figure.met is None else "met" if figure.met else "**MISSED**"
        bar = "" if figure.limit is None else f"{verdict} <= {figure.limit:g}".strip()
        lines.append([figure.what, figure.client, f"{words} {figure.unit}".strip(), bar])
    return markdown(["what", "client", "value", "bar"], lines)


def _disagreements(rows: Sequence[RowResult]) -> str:
    """The client's own figures against those taken from outside."""
    found = [f"{result.row}, {name}: {value:+.1%}" for result in rows for name, value in result.disagreements().items()]
    if not found:
        return ""
    return (
        "A client's own rate or CPU differs by more than 1 % from what was measured outside: " + "; ".join(found) + "."
    )


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    table = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in table)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _row_document(result: RowResult) -> dict[str, Any]:
    document = asdict(result)
    for one, written in zip(result.comparisons, document["comparisons"], strict=True):
        for figure in ("client_cpu", "total_cpu", "rate"):
            bar = bar_of(result, one, figure)
            if bar is not None:
                ratio: Interval = getattr(one, figure)
                written[figure] |= {"bar": bar.limit, "met": bar.met(ratio.mid)}
    return document
