"""What goes on, as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/), for a Grafana that shows
load and servers on one axis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .going import Going, RunGoing

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
#: Name, type, unit, what it is.
FAMILIES = {
    "bakeoff_runs_planned": ("gauge", "", "Runs of the whole plan."),
    "bakeoff_runs_done": ("gauge", "", "Runs that have ended."),
    "bakeoff_operations_per_second": ("gauge", "", "Correct operations of the last second of the run."),
    "bakeoff_operations": ("counter", "", "Correct operations of the run, its warm-up included."),
    "bakeoff_errors": ("counter", "", "Operations of the run that did not end right."),
    "bakeoff_response_time_seconds": ("gauge", "seconds", "Response time of the last second by quantile."),
    "bakeoff_sample": ("gauge", "", "What servers and machine did: columns of server.parquet, by name."),
}
Labels = Mapping[str, str]
#: Of a family.
Sample = tuple[str, Labels, float]


def text_of(samples: Iterable[Sample]) -> str:
    """samples: of all plans that go on."""
    return "\n".join([*_lines(samples), "# EOF\n"])


def samples(bundle: str, going: Going) -> Iterator[Sample]:
    """bundle: its name."""
    labels = {"bundle": bundle}
    yield "bakeoff_runs_planned", labels, going.runs
    yield "bakeoff_runs_done", labels, going.done
    if going.run:
        of_run = {**labels, "run": going.run.id, "system": going.run.cell.system, "cell": going.run.cell.label}
        yield from _of_run(going.run, of_run)


def _of_run(run: RunGoing, labels: Labels) -> Iterator[Sample]:
    yield "bakeoff_operations", labels, run.ok
    yield "bakeoff_errors", labels, run.errors
    if run.last:
        yield "bakeoff_operations_per_second", labels, run.last.rate_ops_per_s
        for quantile, value_ms in (("0.5", run.last.p50_ms), ("0.95", run.last.p95_ms), ("0.99", run.last.p99_ms)):
            if value_ms is not None:
                yield "bakeoff_response_time_seconds", {**labels, "quantile": quantile}, value_ms / 1e3
    for name, value in (run.sample.figures if run.sample else {}).items():
        yield "bakeoff_sample", {**labels, "name": name}, value


def _lines(samples: Iterable[Sample]) -> Iterator[str]:
    """Those of one family stand together, as the format wants it."""
    by_family: dict[str, list[tuple[Labels, float]]] = {}
    for name, labels, value in samples:
        by_family.setdefault(name, []).append((labels, value))
    for name, (kind, unit, about) in FAMILIES.items():
        if name not in by_family:
            continue
        yield f"# TYPE {name} {kind}"
        if unit:
            yield f"# UNIT {name} {unit}"
        yield f"# HELP {name} {about}"
        for labels, value in by_family[name]:
            said = ",".join(f'{label}="{_escaped(words)}"' for label, words in labels.items())
            yield f"{name}{'_total' if kind == 'counter' else ''}{{{said}}} {float(value)!r}"


def _escaped(words: str) -> str:
    return re.sub(r'["\\]', lambda found: "\\" + found[0], words).replace("\n", "\\n")
