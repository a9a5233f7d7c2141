"""The reference page of metrics: `python -m bakeoff.cli.metrics_reference > docs/reference/metrics.md`."""

from __future__ import annotations

from ..analysis.registry import METRICS

_HEAD = """\
# Metrics

What is said of a run in one number. Made from the program's own list by `make docs`.

Each can be the `objective` of a plan or of `bakeoff compare`, a threshold (`--fail-if "latency_p99 > 10%"`), a column
of `bakeoff export`, a column and a chart of `bakeoff report --metric`.

A name may end in an operation's where the last column says so: `latency_p99.read` is the p99 of reads. Any percentile
can be asked for: `latency_p97`, and `latency_p9999` for 99.99 %. What server and machine were watched by is a metric,
too, its mean over the window: `db.Threads_running`, `os.write_bytes_per_s` (the columns of a run's server.parquet).

A workload may count some of its operations in a rate of its own (`new_orders_per_minute` of TPC-C); its
page names them. They stand in every report of it, and serve wherever a metric does. Runs of
other workloads have no value there, not a zero.

| metric | unit | better | meaning | of one operation |
|---|---|---|---|---|
"""


def page() -> str:
    rows = [f"| `{m.name}` | {m.unit} | {m.better} | {m.about} | {'yes' if m.of_operation else ''} |" for m in METRICS]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(page(), end="")
