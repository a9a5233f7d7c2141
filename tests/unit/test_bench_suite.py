"""The pure parts of `make bench`: what is read from the peers, and what is made of many rounds."""

import itertools
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.errors import BakeoffError
from bakeoff.workloads import workloads

from benches.suite import rows, table
from benches.suite.__main__ import unwritable
from benches.suite.bench import Comparison, RowResult
from benches.suite.client import ClientProcess, Report, Tables
from benches.suite.counters import family_cpu_s, memory_peak_bytes, process_cpu_s, read_perf
from benches.suite.ours import read_events, read_result, workload
from benches.suite.pairs import Interval, median_interval, ratio_interval, shuffled_rounds
from benches.suite.peers import pgbench
from benches.suite.peers.sysbench import last_histogram, percentile, read_report
from benches.suite.rows import Bar, Counting, Row, all_rows, choose
from benches.suite.special import Figure, read_floor
from benches.suite.window import Look, Sample

ROOT = Path(__file__).parents[2]

SYSBENCH = """
[ 1s ] Checkpoint report:
SQL statistics:
    transactions:                        18693  (18675.21 per sec.)
    ignored errors:                      0      (0.00 per sec.)

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       9.900 |**************************************** 18693

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.052 |                                         1
       0.160 |****************************************  97
       0.163 |*                                        1
      12.081 |                                         1

SQL statistics:
    transactions:                        100    (50.25 per sec.)
    queries:                             2000   (1005.00 per sec.)
    ignored errors:                      3      (1.50 per sec.)
"""


def test_sysbench_is_read_after_its_checkpoint() -> None:
    report = read_report(SYSBENCH)
    assert report.rate_ops_per_s == 50.25
    assert report.error_ratio == pytest.approx(0.03)
    assert (report.latency_ms_p50, report.latency_ms_p99) == (0.160, 0.163)


PGBENCH = """
progress: 1.0 s, 20312.9 tps, lat 0.049 ms stddev 0.021, 0 failed
number of transactions actually processed: 80000
number of failed transactions: 800 (1.000%)
latency average = 0.050 ms
initial connection time = 9.217 ms
tps = 20001.5 (without initial connection time)
"""


def test_pgbench_is_read_and_its_silence_is_an_error() -> None:
    report = pgbench.read_report(PGBENCH)
    assert (report.rate_ops_per_s, report.error_ratio) == (20001.5, 0.01)
    assert (report.latency_ms_p50, report.latency_ms_p99) == (None, None)
    with pytest.raises(BakeoffError, match="did not report: FATAL"):
        pgbench.read_report("FATAL: no such user")


def test_a_sysbench_that_did_not_report_is_an_error() -> None:
    with pytest.raises(BakeoffError, match="did not report"):
        read_report("FATAL: unable to connect to MySQL server")


def test_percentile_is_the_smallest_value_that_the_share_does_not_exceed() -> None:
    buckets = last_histogram(SYSBENCH)
    assert [count for _, count in buckets] == [1, 97, 1, 1]
    assert percentile(buckets, 0.01) == 0.052
    assert percentile(buckets, 0.98) == 0.160
    assert percentile(buckets, 1.0) == 12.081
    assert percentile([], 0.5) is None


def test_every_round_has_every_client_once_and_orders_differ() -> None:
    names = ["sysbench", "io_uring", "epoll"]
    drawn = list(shuffled_rounds(names, 50, seed=1))
    assert all(sorted(order) == sorted(names) for order in drawn)
    assert len({tuple(order) for order in drawn}) == 6
    assert drawn == list(shuffled_rounds(names, 50, seed=1))
    assert drawn != list(shuffled_rounds(names, 50, seed=2))


@pytest.mark.parametrize(
    ("count", "cut"), [(6, 0), (7, 0), (8, 0), (9, 1), (12, 2), (20, 5)], ids=lambda value: str(value)
)
def test_interval_of_the_median_is_that_of_the_tables(count: int, cut: int) -> None:
    """David and Nagaraja, and any table of the sign test at 5 %."""
    found = median_interval([float(value) for value in range(count)])
    assert (found.low, found.high) == (cut, count - 1 - cut)


def test_interval_holds_the_median_as_often_as_it_says() -> None:
    """Every outcome of 9 rounds, each above or below the true median with equal chance."""
    held = 0
    for signs in itertools.product((-1.0, 1.0), repeat=9):
        interval = median_interval([sign * (1 + place) for place, sign in enumerate(signs)])
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= 0 <= interval.high
    assert 0.95 <= held / 2**9 < 0.97


def test_too_few_rounds_have_a_median_and_no_bounds() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == Interval(2.0, None, None)
    assert median_interval([1.0, 2.0]) == Interval(1.5, None, None)
    assert str(median_interval([2.0])) == "2.00"


def test_ratios_are_made_round_by_round() -> None:
    found = ratio_interval([1.0, 4.0, 3.0, 8.0, 5.0, 6.0], [2.0, 8.0, 6.0, 16.0, 10.0, 12.0])
    assert found == Interval(0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="argument"):
        ratio_interval([1.0], [1.0, 2.0])


def look(at_s: float, client_s: float, server_s: float, counted: int) -> Look:
    return Look(at_s, client_s, server_s, counted)


def test_a_sample_counts_transactions_by_the_servers_statements_less_its_own() -> None:
    before, after = look(10.0, 1.0, 5.0, 1000), look(12.0, 1.5, 7.0, 1000 + 20 * 500 + 1)
    report = Report(252.0, 1.0, 2.0, 0.0, 990.0)
    sample = Sample.between(before, after, Counting(20), 5_000_000, 0.1, report)
    assert (sample.operations, sample.rate_ops_per_s) == (500, 250)
    assert (sample.client_cpu_us, sample.server_cpu_us, sample.total_cpu_us) == (1000, 4000, 5000)
    assert sample.disagreements() == {"rate": pytest.approx(0.008), "CPU": pytest.approx(-0.01)}


def one_sample(client_us: float, own_us: float | None = None) -> Sample:
    after = look(1.0, client_us * 1e-3, 0.02, 1001)
    report = Report(1000.0, 0.1, 0.2, 0.0, own_us)
    return Sample.between(look(0.0, 0.0, 0.0, 0), after, Counting(), 9_000_000, 0.1, report)


def row_result(ratio: float, own_us: float | None = None) -> RowResult:
    samples = {"io_uring": [one_sample(10.0 * ratio, own_us)], "sysbench": [one_sample(10.0)]}
    one = Interval(1.0, None, None)
    comparison = Comparison("io_uring", "sysbench", Interval(ratio, 0.4, 0.7), one, one)
    return RowResult(Row("point_select", "tcp", 8), "cores 0, 1", samples, [comparison])


@pytest.mark.parametrize(("ratio", "word"), [(0.65, "met"), (0.66, "**MISSED**")])
def test_a_bar_is_judged_by_the_median(ratio: float, word: str) -> None:
    result = row_result(ratio)
    assert table.judged(result, result.comparisons[0], "client_cpu") == f"{word} <= 0.65"
    assert table.judged(result, result.comparisons[0], "total_cpu") == "met <= 1.05, goal 0.95"
    assert table.judged(result, result.comparisons[0], "rate") == "met >= 1.00"


def test_what_the_engine_chose_by_itself_is_shown_and_held_to_the_bars_of_io_uring() -> None:
    samples = {"auto": [replace(one_sample(8.0), io="epoll")], "io_uring": [replace(one_sample(8.0), io="io_uring")]}
    result = RowResult(Row("point_select", "tcp", 1), "core 0", samples, [])
    assert [result.shown(name) for name in samples] == ["auto (epoll)", "io_uring"]
    bars = {bar.client: bar.limit for bar in result.row.bars() if bar.figure == "client_cpu"}
    assert bars == {"auto": 0.85, "io_uring": 0.85, "epoll": 0.95}


def test_throughput_must_not_be_below_its_bar_and_cpu_not_above() -> None:
    assert not Bar("*", "rate", 1.0).met(0.99)
    assert not Bar("*", "total_cpu", 1.05).met(1.06)


def results(result: RowResult) -> table.Results:
    machine = {
        "cpu_model": "A CPU",
        "cores": 2,
        "memory_bytes": 8e9,
        "virtualisation": "virtual machine",
        "os": "Debian",
        "kernel": "6",
        "warnings": ["load average 3.00: other processes are running"],
    }
    options = {"rounds": 1, "window_s": 2.0, "warm_up_s": 1, "rows": 100, "distribution": "uniform", "seed": 1}
    return table.Results("2026-01-01", machine, ["MariaDB 10.11"], options, [result])


def test_markdown_shows_ratios_values_bars_and_what_speaks_against_them() -> None:
    text = results(row_result(0.7, own_us=7.5)).as_markdown()
    row = "| mariadb | point_select | tcp | 8 | shared"
    assert f"{row} | io_uring / sysbench | 0.70 (0.40-0.70) | **MISSED** <= 0.65 | 1.00 |" in text
    assert f"{row} | io_uring | 7.00 | 20.00 | 27.00 | 1,000 | 0.100 | 0.200 | 0.00% |" in text
    assert "**load average 3.00: other processes are running**" in text
    assert "io_uring, CPU: +7.1%" in text


def test_json_keeps_every_sample_and_the_verdict(tmp_path: Path) -> None:
    results(row_result(0.6)).save(tmp_path / "out" / "bench.json")
    assert (tmp_path / "out" / "bench.md").exists()
    document = results(row_result(0.6)).as_document()
    comparison = document["rows"][0]["comparisons"][0]
    assert comparison["client_cpu"] == {"mid": 0.6, "low": 0.4, "high": 0.7, "bar": 0.65, "met": True}
    assert document["rows"][0]["samples"]["sysbench"][0]["client_cpu_us"] == pytest.approx(10.0)


def test_a_figure_without_value_is_neither_met_nor_missed() -> None:
    assert Figure("what", "client", "perf is not on the PATH", "", 0.2).met is None
    assert Figure("what", "client", 0.2, "", 0.2).met is True
    assert Figure("what", "client", Interval(0.3, 0.1, 0.4), "", 0.2).met is False


def test_rows_are_chosen_by_work_and_where_said_by_sessions_and_transport() -> None:
    mariadb = {"systems": ["mariadb"], "placements": ["shared"]}
    assert choose(["read_write"], **mariadb) == [Row("read_write", "tcp", 8), Row("read_write", "tcp", 64)]
    assert choose(["point_select"], [64], ["socket"], **mariadb) == [Row("point_select", "socket", 64)]
    assert choose(["insert"], [], ["socket"]) == [Row("insert", "socket", 8)]
    assert choose(["insert"], systems=["postgresql"]) == []
    assert choose(["point_select"], [64], placements=["apart"]) == [
        Row("point_select", "tcp", 64, system, "apart") for system in rows.SQL_SYSTEMS
    ]
    assert set(choose(list(rows.WORKS))) == set(all_rows())


def test_every_row_of_a_bar_is_measured_and_names_who_sets_it() -> None:
    assert set(rows._CLIENT_CPU) <= set(all_rows())
    assert Row("point_select", "tcp", 8, "postgresql").peer == "pgbench"
    assert {row.peer for row in all_rows() if row.placement == "apart"} == {"sysbench", "redis-benchmark"}


def test_a_place_that_takes_no_results_is_known_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert unwritable(tmp_path / "new" / "bench.json") == ""
    assert unwritable(tmp_path) == "is a folder"
    assert unwritable(tmp_path / "file" / "bench.json") != ""


def test_every_script_of_the_engine_is_a_row() -> None:
    source = (ROOT / "crates/model/src/run/sysbench.rs").read_text()
    variants = re.search(r"enum SysbenchScript \{(.*?)\}", source, re.DOTALL)
    assert variants is not None
    names = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() for name in re.findall(r"^\s+(\w+),", variants[1], re.M)}
    assert names == {work.script for work in rows.WORKS.values() if not work.data and not work.instead}


def test_what_the_peer_has_no_script_for_has_data_of_its_own_and_is_not_called_the_same() -> None:
    tpcc = rows.WORKS["tpcc"]
    assert workload(tpcc.script, Tables(rows=10), "uniform") == {"kind": "tpcc", "warehouses": 2}
    assert tpcc.instead == "oltp_read_write"
    assert Row("tpcc", "tcp", 8).bars() == (Bar("io_uring", "client_cpu", 1.05), Bar("auto", "client_cpu", 1.05))
    linkbench = rows.WORKS["linkbench"]
    assert workload(linkbench.script, Tables(rows=10), "uniform") == {"kind": "linkbench", "maxid1": 50_001}
    # Which commits nothing, so commits cannot count it.
    assert (linkbench.instead, linkbench.counting_instead) == ("oltp_point_select", Counting())
    assert Row("linkbench", "tcp", 8).bars() == (Bar("io_uring", "client_cpu", 2.5), Bar("auto", "client_cpu", 2.5))


def test_requests_of_linkbench_are_reported_by_those_that_are_transactions() -> None:
    spec = workloads()["linkbench"].options
    share = {option.name: option.default for option in spec}
    requests = ("countlink", "getlink", "getlinklist", "getnode", "addnode", "updatenode", "deletenode")
    transactions = sum(share[name] for name in ("addlink", "updatelink", "deletelink"))
    of_all = transactions / (transactions + sum(share[name] for name in requests))
    assert rows.WORKS["linkbench"].counting.per_operation == pytest.approx(of_all, abs=1e-6)


def test_the_engines_document_names_script_and_tables() -> None:
    assert workload("oltp_insert", Tables(tables=2, rows=10), "special") == {
        "kind": "sysbench",
        "script": "oltp_insert",
        "tables": 2,
        "table_size": 10,
        "rand_type": "special",
    }
    assert workload("tpcb-like", Tables("tpcb-like", rows=1_000_000), "uniform") == {
        "kind": "sql",
        "script": "tpcb-like",
        "scale": 10,
    }


def test_pgbenchs_own_transactions_are_asked_of_postgresql_against_pgbench() -> None:
    own = [row for row in all_rows() if row.work in rows.PGBENCH]
    assert {(row.system, row.peer, row.sessions) for row in own} == {("postgresql", "pgbench", n) for n in (1, 8, 64)}
    bars = {bar.figure: bar.limit for bar in Row("tpcb_like", "tcp", 8, "postgresql").bars()}
    assert bars == {"client_cpu": 0.8, "total_cpu": 1.05, "rate": 0.95}


def test_the_engines_own_figures_are_those_of_its_window() -> None:
    document = json.loads((ROOT / "schema/examples/event_result.json").read_text())
    whole = [one for one in document["series"] if one["outcome"] == "ok" and not one["part_of"]]
    _, result = read_events('{"event":"ready"}\n' + json.dumps(document, separators=(",", ":")), "run.json")
    report = read_result(result)
    window_s = document["window_end_s"] - document["window_start_s"]
    operations = sum(one["count"] for one in whole)
    assert report.rate_ops_per_s == pytest.approx(operations / window_s)
    cpu_s = document["cost"]["cpu_user_s"] + document["cost"]["cpu_system_s"]
    assert report.cpu_us_per_op == pytest.approx(cpu_s * 1e6 / operations)
    busiest = max(whole, key=lambda one: int(one["count"]))
    assert report.latency_ms_p99 == busiest["response"]["p99_ns"] / 1e6


def test_an_engine_that_failed_says_why() -> None:
    events = '{"event":"ready"}\n{"event":"error","what":"the server is gone","hint":"start it"}\n'
    with pytest.raises(BakeoffError, match="the server is gone") as caught:
        read_events(events, "run.json")
    assert caught.value.hint == "start it"
    with pytest.raises(BakeoffError, match="Segmentation fault"):
        read_events("Segmentation fault", "run.json")


def test_perf_is_read_or_its_absence_said() -> None:
    output = "1234,,raw_syscalls:sys_enter,2000000,100.00,,\n"
    assert read_perf(output, 2.0) == 617.0
    refused = read_perf("Error:\nNo permission to enable raw_syscalls:sys_enter event.\n", 2.0)
    assert "may not count" in str(refused)


def test_the_floor_is_read_from_the_examples_words() -> None:
    said = "a look at the clock 12.0 ns; CPU per operation: loop alone 61.0 ns; with zipfian YCSB reads 184.3 ns (bar)"
    assert read_floor(said, "") == 184.3
    assert "no such example" in str(read_floor("", "error: no such example"))


def test_cpu_time_of_another_process_is_the_kernels_sum() -> None:
    spin = "import time\nwhile time.process_time() < 0.3: pass\nprint('x', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = process_cpu_s(process.pid)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        assert memory_peak_bytes(process.pid) > 1_000_000
        process.communicate(b"\n")
    assert seconds >= 0.3
    assert math.isclose(seconds, ticks / os.sysconf("SC_CLK_TCK"), abs_tol=0.03)


def test_cpu_time_of_a_family_has_those_that_run_and_those_that_have_ended() -> None:
    spin = "import time\nwhile time.process_time() < 0.2: pass\n"
    stay = "import sys; print(1, flush=True); sys.stdin.read()"
    script = f"import subprocess, sys\nspin, stay = {spin!r}, {stay!r}\n"
    script += "subprocess.run([sys.executable, '-c', spin])\n"
    script += "subprocess.Popen([sys.executable, '-c', spin + stay])\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        alone_s, seconds = process_cpu_s(process.pid), family_cpu_s(process.pid)
        process.communicate()
    assert seconds - alone_s >= 0.39  # of those that have ended, to 10 ms


def test_cpu_time_of_no_process_is_an_error() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with pytest.raises(BakeoffError, match="has ended"):
        process_cpu_s(process.pid)


def shell(script: str) -> ClientProcess:
    return ClientProcess(["sh", "-c", script], {}, [min(os.sched_getaffinity(0))], lambda line: line == "ready\n")


def test_a_client_is_ready_when_it_says_so_and_its_whole_output_is_kept() -> None:
    client = shell("echo starting; echo ready; sleep 0.2; echo done")
    client.wait_ready()
    assert client.ready_s > 0
    assert client.finish() == "starting\nready\ndone\n"
    client.kill()


def test_a_client_that_has_ended_is_not_measured() -> None:
    running, ended = shell("echo ready; exec sleep 600"), shell("echo ready")
    for client in (running, ended):
        client.wait_ready()
    running.refuse_ended("early")
    ended.finish()
    with pytest.raises(BakeoffError, match="a client ended early: ready"):
        ended.refuse_ended("early")
    running.kill()
    ended.kill()


def test_a_client_that_ends_before_it_is_ready_is_an_error_with_its_words() -> None:
    client = shell("echo no such host; exit 3")
    with pytest.raises(BakeoffError, match="no such host"):
        client.wait_ready()
    client.kill()


def test_why_the_engine_failed_is_reported_in_its_own_words() -> None:
    client = shell("""echo '{"event":"error","what":"table_size is 0","where":"x"}'; exit 2""")
    with pytest.raises(BakeoffError, match=r"sessions: table_size is 0 \("):
        client.wait_ready()
    client.kill()


def test_a_client_that_fails_later_is_an_error_too() -> None:
    client = shell("echo ready; echo lost; exit 1")
    client.wait_ready()
    with pytest.raises(BakeoffError, match="exit code 1"):
        client.finish()
    client.kill()


def test_a_client_that_does_not_end_can_be_ended() -> None:
    client = shell("echo ready; exec sleep 60")
    client.wait_ready()
    client.kill()
    with pytest.raises(BakeoffError, match="exit code -9"):
        client.finish()
