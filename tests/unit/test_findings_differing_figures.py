"""What else differs between two cells: what is large and steady is named, with its values; noise and clocks are not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.findings.differing_figures import _says_what_was_changed, hint_of
from bakeoff.model.records.plan import CellRecord
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import Answer, answer_of
from bakeoff.report.html.write import write_report
from builders.bundles import MARIADB, SQLITE, Story, write_bundle

FASTER = replace(MARIADB, name="faster", rate_1=5_000.0, rate_max=30_000.0)
PAIR = Story(contenders=(MARIADB, FASTER), presets=("a",), threads=(8,), window_s=5, warm_up_s=0, noise=0.01)


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ([0.0, 0.0, 0.0], [0.0, 9.0, 1.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([1.0, 1.0], [9.0, 9.0]),
        ([1.0, 1.0, 1.0], [1.05, 1.05, 1.05]),
    ],
    ids=["not steady", "nothing at all", "too few blocks", "too small"],
)
def test_what_is_not_steady_has_too_few_blocks_or_no_size_is_no_hint(base: list[float], other: list[float]) -> None:
    assert hint_of("x", base, other) is None


def test_a_large_difference_that_is_not_steady_is_no_hint_and_a_steady_one_comes_first() -> None:
    assert hint_of("x", [1.0] * 5, [9.0, 0.2, 5.0, 0.3, 4.0]) is None
    steady = hint_of("x", [1.0] * 5, [2.0, 2.02, 1.98, 2.0, 2.01])
    shaky = hint_of("x", [1.0] * 5, [2.0, 2.6, 1.5, 2.0, 2.1])
    assert steady is not None
    assert shaky is not None
    assert steady.least > shaky.least
    assert steady.ratio == pytest.approx(2.0, rel=0.01)


def test_something_against_nothing_is_a_hint_and_the_steadier_the_better() -> None:
    some = hint_of("x", [0.0] * 5, [0.8, 0.81, 0.79, 0.8, 0.82])
    shaky = hint_of("x", [0.8, 0.5, 1.1, 0.7, 0.9], [0.0] * 5)
    assert some is not None
    assert shaky is not None
    assert (some.base_value, some.ratio) == (0.0, None)
    assert some.other_value == pytest.approx(0.804)
    assert some.least > shaky.least


def test_of_figures_that_only_vary_few_are_called_hints() -> None:
    random = np.random.default_rng(4)
    drawn = [hint_of("x", *np.exp(random.normal(0, 0.2, (2, 5)))) for _ in range(1000)]
    assert sum(hint is not None for hint in drawn) <= 15


class Counting(Bundle):
    """A bundle whose servers count what a story says, per second of a run."""

    counters: Callable[[RunRecord], dict[str, float]]

    def server(self, run: str, pick: Callable[[list[str]], list[str]] | None = None) -> pa.Table:
        found = self.counters(next(record for record in self.runs if record.id == run))
        table = pa.table({"second": [0.0], "length_s": [1.0], **{name: [value] for name, value in found.items()}})
        return table.select(pick(table.column_names) if pick else table.column_names)


def counting(folder: Path, story: Story, counters: Callable[[RunRecord], dict[str, float]]) -> Counting:
    written = write_bundle(folder / "b", story)
    bundle = Counting(written.folder, written.info, written.plan, written.machine)
    bundle.counters = counters
    return bundle


def pair_of(run: RunRecord) -> dict[str, float]:
    more = 3.4 if run.cell == "c02" else 1.0
    return {
        "db.Innodb_row_lock_waits_per_s": 0.01 * run.rate_ops_per_s * more,
        "db.Innodb_log_writes_per_s": 0.5 * run.rate_ops_per_s,
        "db.Uptime_per_s": 1.02 if more > 1 else 0.99,
        "db.Innodb_data_fsyncs_per_s": run.rate_ops_per_s / (1500 if more > 1 else 1),
        "db.Threads_running": 8.0 * more,
        "db.n1.Com_commit_per_s": run.rate_ops_per_s * more,
        "db.Aborted_connects_per_s": 0.0,
    }


def told(answer: Answer) -> list[str]:
    return [figure.name for figure in answer.comparisons[0].differs]


def test_the_servers_counters_are_compared_with_each_other_per_operation(tmp_path: Path) -> None:
    found = answer_of(counting(tmp_path, PAIR, pair_of))
    fsyncs, waits = [figure for figure in found.comparisons[0].differs if figure.name.startswith("db.")]
    assert fsyncs.words == "Innodb data fsyncs per operation -99.93 % (0.00067 against 1.0)"
    assert waits.words == "Innodb row lock waits per operation 3.4x (0.034 against 0.010)"
    assert (waits.base_value, waits.other_value) == (pytest.approx(0.01), pytest.approx(0.034))
    assert found.headline[1].startswith(
        "What else differs most between faster and mariadb (a hint at why, not tested): "
    )
    assert fsyncs.words in found.headline[1]


def test_metrics_that_differ_are_named_once_a_kind_with_both_values(tmp_path: Path) -> None:
    def change(run: RunRecord) -> RunRecord:
        if run.cell == "c01":
            return run
        server = run.server.model_copy(update={"cpu_s": 2 * (run.server.cpu_s or 0), "size_on_disk_bytes": 300_000_000})
        return run.model_copy(update={"server": server, "client_cpu_s": run.client_cpu_s * 1.02})

    found = answer_of(write_bundle(tmp_path / "b", replace(PAIR, change=change)))
    names = told(found)
    assert {"server_cpu_us_per_op", "size_on_disk_bytes"} <= set(names)
    assert not {"client_cpu_us_per_op", "cpu_us_per_op", "rate"} & set(names)
    assert len({"latency_p99", "latency_p999"} & set(names)) <= 1
    words = next(figure.words for figure in found.comparisons[0].differs if figure.name == "server_cpu_us_per_op")
    assert words == "server CPU per operation 2.0x (76 µs against 38 µs)"


def test_what_is_compared_is_not_named_next_to_itself(tmp_path: Path) -> None:
    by_tail = answer_of(write_bundle(tmp_path / "b", replace(PAIR, objective="latency_p999")))
    assert not {"latency_p99", "latency_p999"} & set(told(by_tail))


def test_how_much_was_done_comes_first_where_something_else_is_judged(tmp_path: Path) -> None:
    def slower_reads(run: RunRecord) -> RunRecord:
        cpu_s = 20 * run.client_cpu_s if run.cell == "c02" else run.client_cpu_s
        return run.model_copy(update={"client_cpu_s": cpu_s})

    found = answer_of(write_bundle(tmp_path / "b", replace(PAIR, objective="size_on_disk_bytes", change=slower_reads)))
    assert told(found)[0] == "rate"
    assert "client_cpu_us_per_op" in told(found)


def test_rates_that_the_plan_offers_are_no_finding(tmp_path: Path) -> None:
    found = write_bundle(tmp_path / "b", replace(PAIR, objective="size_on_disk_bytes"))
    for cell, offered in zip(found.plan.cells, (1000.0, 2000.0), strict=True):
        cell.rate_ops_per_s = offered
    assert "rate" not in told(answer_of(found))


def test_hints_say_nothing_of_aborts_where_a_sentence_of_theirs_stands_above(tmp_path: Path) -> None:
    def aborted(run: RunRecord) -> RunRecord:
        many = run.ok if run.cell == "c02" else 0
        return run.model_copy(update={"retries": many, "retries_after_conflict": many})

    found = answer_of(write_bundle(tmp_path / "b", replace(PAIR, change=aborted)), [metric("abort_ratio")])
    assert "Of the attempts" in " ".join(found.headline)
    assert "abort ratio" not in " ".join(found.headline)
    judged = answer_of(write_bundle(tmp_path / "judged", replace(PAIR, objective="abort_ratio", change=aborted)))
    assert "Of the attempts" not in " ".join(judged.headline)


def test_a_counter_that_only_says_again_how_often_one_side_tried_is_no_hint(tmp_path: Path) -> None:
    def tried(run: RunRecord) -> RunRecord:
        many = run.ok if run.cell == "c02" else 0
        return run.model_copy(update={"retries": many, "retries_after_conflict": many})

    def counted(run: RunRecord) -> dict[str, float]:
        more = 2.0 if run.cell == "c02" else 1.0
        return {
            "db.transactions_per_s": run.rate_ops_per_s * more * 1.01,
            "db.Innodb_row_lock_waits_per_s": 0.1 * run.rate_ops_per_s * 3 * more,
            "db.Innodb_log_writes_per_s": 0.5 * run.rate_ops_per_s * (2.6 if run.cell == "c02" else 1.0),
        }

    found = told(answer_of(counting(tmp_path, replace(PAIR, change=tried), counted)))
    assert "retries_per_op" in found or "abort_ratio" in found
    assert [name for name in found if name.startswith("db.")] == ["db.Innodb_log_writes_per_s"], "more for each attempt"


def test_sizes_that_have_a_sentence_of_their_own_are_not_said_again(tmp_path: Path) -> None:
    def small(run: RunRecord) -> RunRecord:
        size = {"size_on_disk_bytes": 40_000_000 if run.cell == "c02" else 150_000_000}
        return run.model_copy(update={"server": run.server.model_copy(update=size)})

    bundle = write_bundle(tmp_path / "b", replace(PAIR, change=small))
    bundle.plan.compare_factor = "table_format"
    for cell, level in zip(bundle.plan.cells, ("plain", "compressed"), strict=True):
        cell.system, cell.levels = "mariadb", {"system": "mariadb", "table_format": level}
    found = answer_of(bundle)
    assert "On disk after a run" in " ".join(found.headline)
    assert "size on disk" not in " ".join(found.headline)
    assert "size_on_disk_bytes" in told(found), "the list has it"


def test_response_times_come_before_what_differs_more(tmp_path: Path) -> None:
    found = answer_of(counting(tmp_path, PAIR, pair_of))
    assert told(found)[0] in ("latency_p99", "latency_p999")


def test_adjacent_levels_of_a_sweep_name_the_counters_that_moved_beyond_the_load(tmp_path: Path) -> None:
    def locked(run: RunRecord) -> dict[str, float]:
        return {
            "db.Innodb_row_lock_waits_per_s": run.rate_ops_per_s * (0.005 if run.cell == "c01" else 0.02),
            "db.Handler_delete_per_s": run.rate_ops_per_s * (0.06 if run.cell == "c03" else 0.005),
            "db.Com_stmt_prepare_per_s": run.rate_ops_per_s * (0.0002 if run.cell == "c01" else 0.0009),
            "db.Questions_per_s": run.rate_ops_per_s,
            "db.Uptime_per_s": 1.0,
        }

    story = replace(PAIR, contenders=(MARIADB,), threads=(4, 8, 16))
    bundle = counting(tmp_path, story, locked)
    found = answer_of(bundle)
    step, flatter = found.between_levels
    assert (step.contestant, step.base, step.other) == ("mariadb", "4 threads", "8 threads")
    assert [figure.words for figure in step.figures] == [
        "Innodb row lock waits per operation 4.0x (0.020 against 0.0050)"
    ]
    assert math.isclose(step.figures[0].ratio, 4.0, rel_tol=1e-6)
    assert [figure.name for figure in flatter.figures] == ["db.Handler_delete_per_s"]
    assert (step.objective_ratio or 0) > (flatter.objective_ratio or 0) > 1
    (told,) = [words for words in found.headline if "not tested" in words]
    change = f"where the throughput changed most, +{100 * (step.objective_ratio or 0) - 100:.0f} %"
    assert told.startswith(f"What mariadb counts and moved most from 4 threads to 8 threads, {change} (a hint at why")
    assert "Handler delete" not in told, "it moved more, but elsewhere"


def test_what_the_server_never_counts_on_one_side_is_reported_with_both_values(tmp_path: Path) -> None:
    def read(run: RunRecord) -> dict[str, float]:
        return {"db.Innodb_buffer_pool_reads_per_s": 0.8 * run.rate_ops_per_s if run.cell == "c01" else 0.0}

    found = answer_of(counting(tmp_path, PAIR, read))
    figures = {figure.name: figure for figure in found.comparisons[0].differs}
    reads = figures["db.Innodb_buffer_pool_reads_per_s"]
    assert reads.words == "Innodb buffer pool reads per operation 0 against 0.80"
    assert reads.ratio is None


def test_an_embedded_database_is_compared_with_what_client_and_server_take_together(tmp_path: Path) -> None:
    found = answer_of(write_bundle(tmp_path / "b", replace(PAIR, contenders=(SQLITE, FASTER))))
    figures = {figure.name: figure for figure in found.comparisons[0].differs}
    assert not {name for name in figures if name.startswith(("client_", "server_"))}
    assert figures["memory_peak_bytes"].words.startswith("memory of client and server ")


def test_a_hint_and_the_table_of_costs_say_the_same_number(tmp_path: Path) -> None:
    """Also where repetitions differ: both are the typical repetition's."""

    def change(run: RunRecord) -> RunRecord:
        more = (1 + run.block) * (3 if run.cell == "c02" else 1)
        server = run.server.model_copy(update={"memory_peak_bytes": more << 20, "cpu_s": 1e-6 * more * run.ok})
        return run.model_copy(update={"server": server})

    found = answer_of(write_bundle(tmp_path / "b", replace(PAIR, change=change)))
    figures = {figure.name: figure for figure in found.comparisons[0].differs}
    base, other = found.cells
    cpu, memory = figures["server_cpu_us_per_op"], figures["server_memory_peak_bytes"]
    assert base.server_cpu_us_per_op == pytest.approx(cpu.base_value)
    assert other.server_cpu_us_per_op == pytest.approx(cpu.other_value)
    assert (base.server_memory_peak_bytes, other.server_memory_peak_bytes) == (
        round(memory.base_value),
        round(memory.other_value),
    )


def test_the_page_lists_them_under_the_comparisons(tmp_path: Path) -> None:
    bundle = counting(tmp_path, PAIR, pair_of)
    page = write_report(bundle, tmp_path / "out", answer_of(bundle)).html.read_text()
    assert "What else differs, most first: hints at why, not tested" in page
    assert "Innodb row lock waits per operation 3.4x" in page


def test_a_counter_named_like_what_the_plan_changed_is_no_hint() -> None:
    def cell(level: str) -> CellRecord:
        return SimpleNamespace(levels={"table_format": level, "system": "mariadb"})  # type: ignore[return-value]

    pair = cell("plain"), cell("page-compressed:zlib")
    assert _says_what_was_changed("db.Innodb_num_pages_page_compressed_per_s", *pair)
    assert not _says_what_was_changed("db.Innodb_pages_read_per_s", *pair)
    assert not _says_what_was_changed("latency_p99", *pair)
    assert not _says_what_was_changed("db.Innodb_num_pages_page_compressed_per_s", pair[0], pair[0])
