"""What a user of sysbench looks for: in the tables, and in sysbench's own layout."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.histograms import Histogram, merge, to_document
from bakeoff.analysis.percentiles import decode
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import BundleError
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.report.text.sysbench import render
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, Story, failed, invalid, write_bundle
from builders.golden import assert_golden

SMALL = Story(
    contenders=(MARIADB,), threads=(1, 8), presets=("c",), repetitions=1, window_s=3, warm_up_s=1, statements=(14, 4, 2)
)


def bundle(folder: Path, story: Story = SMALL) -> Bundle:
    return write_bundle(folder / "bundle", story)


def test_a_cell_has_statements_per_second_by_what_they_did(tmp_path: Path) -> None:
    found = bundle(tmp_path)
    cell, run = answer_of(found).cells[0], found.runs[0]
    assert cell.statements is not None
    per_event = run.ok / run.window_s
    assert cell.statements.queries_per_s == pytest.approx(20 * per_event)
    assert cell.statements.reads_per_s == pytest.approx(14 * per_event)
    assert cell.statements.ignored_errors_per_s == pytest.approx(1)
    assert cell.statements.min_ms == pytest.approx(run.headline.min_ns / 1e6)
    assert cell.client == "mariadb_async, tokio"


def test_transactions_have_one_rate_and_statements_are_a_multiple_of_it(tmp_path: Path) -> None:
    for cell in answer_of(bundle(tmp_path, replace(SMALL, repetitions=3))).cells:
        assert cell.statements is not None
        assert cell.rate_ops_per_s is not None
        assert cell.statements.queries_per_s == pytest.approx(20 * cell.statements.transactions_per_s)
        assert cell.statements.transactions_per_s == cell.rate_ops_per_s.value


def test_the_fastest_is_one_that_ended_and_not_one_that_the_window_cut_off(tmp_path: Path) -> None:
    def cut_off(run: RunRecord) -> RunRecord:
        waited = merge([decode(run.headline), Histogram.from_values([1_000])])
        return run.model_copy(update={"headline": to_document(waited), "unfinished": 1})

    told = bundle(tmp_path, replace(SMALL, change=cut_off))
    ended = min(s.response.min_ns for s in told.runs[0].series if s.outcome == "ok") / 1e6
    statements = answer_of(told).cells[0].statements
    assert statements is not None
    assert statements.min_ms == pytest.approx(ended)
    assert re.search(rf"min: +{ended:.2f}\n", render(told))


def test_tables_of_terminal_and_page_show_them(tmp_path: Path) -> None:
    found = bundle(tmp_path)
    answer = answer_of(found)
    text = render_text(answer)
    assert_golden("report_sysbench.txt", text)
    page = write_report(found).html.read_text()
    assert "ignored errors" in page
    assert all(words in page for words in re.findall(r"\d+,\d+", text.split("Statements per second")[1])[:5])


def test_work_that_counts_no_statements_has_no_such_table(tmp_path: Path) -> None:
    found = bundle(tmp_path, replace(SMALL, statements=(0, 0, 0)))
    assert answer_of(found).cells[0].statements is None
    assert "Statements per second" not in render_text(answer_of(found))
    assert "ignored errors" not in write_report(found).html.read_text()


# ---- sysbench's layout ----

#: Printed by sysbench 1.0.20 (oltp_read_write, --threads=2 --time=3 --report-interval=1), figures as they came.
ORIGINAL = """\
[ 1s ] thds: 2 tps: 216.89 qps: 4375.64 (r/w/o: 3064.34/875.53/435.77) lat (ms,95%): 16.12 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            11424
        write:                           3264
        other:                           1632
        total:                           16320
    transactions:                        816    (271.11 per sec.)
    queries:                             16320  (5422.27 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0093s
    total number of events:              816

Latency (ms):
         min:                                    1.76
         avg:                                    7.35
         max:                                   26.38
         95th percentile:                       14.46
         sum:                                 5996.69

Threads fairness:
    events (avg/stddev):           408.0000/40.00
    execution time (avg/stddev):   2.9983/0.00
"""


def shape(text: str) -> list[str]:
    """Lines with every figure as #, blanks aside."""
    figures = re.sub(r"\d+(\.\d+)?", "#", text.replace("not recorded", "0/0"))
    return [" ".join(line.split()) for line in figures.splitlines()]


def columns(text: str) -> list[tuple[str, int]]:
    """Label and place of the first figure of each line of the totals; right-aligned times: where they end."""
    found = []
    for line in text.replace("not recorded", "0.0").splitlines():
        if match := re.match(r"( +[a-z9][\w ()/]*:) +([\d.]+)", line):
            times = line.startswith(" " * 9)
            found.append((match[1], match.end(2) if times else match.start(2)))
    return found


def totals(text: str) -> str:
    return "SQL statistics:" + text.split("SQL statistics:", 1)[1]


def test_the_labels_stand_where_sysbench_prints_them(tmp_path: Path) -> None:
    text = render(bundle(tmp_path, replace(SMALL, threads=(2,))))
    assert columns(totals(text)) == columns(totals(ORIGINAL))
    assert shape(totals(text)) == shape(totals(ORIGINAL))
    second = next(line for line in text.splitlines() if line.startswith("[ 1s ]"))
    assert shape(second) == shape(ORIGINAL.splitlines()[0])


def test_parsers_of_sysbench_find_the_figures(tmp_path: Path) -> None:
    found = bundle(tmp_path)
    text = render(found)
    (first, _) = found.runs
    transactions = re.findall(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec\.\)", text)
    assert [int(count) for count, _ in transactions] == [run.ok for run in found.runs]
    assert float(transactions[0][1]) == pytest.approx(first.ok / first.window_s, abs=0.01)
    assert re.findall(r"Number of threads: (\d+)", text) == ["1", "8"]
    assert float(re.findall(r"95th percentile:\s+([\d.]+)", text)[0]) == pytest.approx(
        first.headline.p95_ns / 1e6, abs=0.01
    )
    assert len(re.findall(r"^\[ \d+s \] thds: 8 tps: ", text, re.MULTILINE)) == 3
    assert "fairness" in text
    assert text.count("not recorded") == 4


def test_the_layout_is_as_agreed(tmp_path: Path) -> None:
    assert_golden("sysbench_layout.txt", render(bundle(tmp_path)))


def test_runs_that_do_not_count_say_so(tmp_path: Path) -> None:
    text = render(
        bundle(tmp_path, replace(SMALL, change=lambda run: invalid(run) if run.cell == "c01" else failed(run)))
    )
    assert "WARNING: errors: 2.5 %" in text
    assert "FATAL: the server died" in text


def test_other_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no run of this bundle counted statements"):
        render(bundle(tmp_path, replace(SMALL, statements=(0, 0, 0))))


def test_the_command_prints_it_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = bundle(tmp_path).folder
    assert main(["report", "--format", "sysbench", str(folder)]) == 0
    assert "SQL statistics:" in capsys.readouterr().out
    assert not (folder / "report.html").exists()
    assert main(["report", "--format", "sysbench", "--json", str(folder)]) == 2
