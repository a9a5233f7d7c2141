"""The dry run: what a plan would do and cost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bakeoff.bundle import read
from bakeoff.cli import main
from bakeoff.cli.commands.dry_run import LINES_MAX, WIDTH, _one_line
from bakeoff.errors import ExitCode, PlanError, ServerError
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.plan import machines
from bakeoff.plan.dry_run import describe
from bakeoff.plan.dry_run.describe import OPERATIONS, DryRun, previews
from bakeoff.plan.read import resolve
from bakeoff.systems import SYSTEMS


def dry(tmp_path: Path, measure: str = "", workload: str = "preset = 'a'") -> DryRun:
    text = (
        f"title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\n{workload}\n"
        f"[factors]\nthreads = [1, 4]\n[measure]\n{measure}\n"
    )
    return describe.describe(resolve(text, tmp_path), tmp_path)


def test_it_names_every_cell_and_every_load(tmp_path: Path) -> None:
    found = dry(tmp_path)
    assert [(line.record.label, line.runs) for line in found.cells] == [
        ("sqlite / threads=1", 5),
        ("sqlite / threads=4", 5),
    ]
    ids = [line.record.id for line in found.cells]
    assert [(load.system, load.rows, load.cells) for load in found.loads] == [("sqlite", 1000, ids)]
    assert (found.runs, found.record.repetitions, found.record.reset, found.record.cache) == (10, 5, "restore", "warm")


def test_loads_that_look_the_same_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "[systems.sqlite]\n[workload]\nkind = 'ycsb'\npreset = 'a'\n"
        "[factors]\n'settings.page_size' = ['4096', '8192']\n"
    )
    assert main(["run", str(plan), "--dry-run"]) == ExitCode.DONE
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("sqlite (")]
    assert [line.split("  ")[0] for line in lines] == ["sqlite (2 times)"]


def test_it_says_what_is_compared_under_which_conditions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\n[factors]\ndurability = ['full', 'relaxed']\n"
        "[compare]\nfactor = 'durability'\nbaseline = 'full'\nmatters = '10%'\nlimit = 'latency_p99 < 2ms'\n"
        "fail_if = ['rate < -5%']\n[measure]\n"
    )
    assert main(["run", str(path), "--dry-run"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "\ncompares throughput (rate) over durability\ndifferences of 10 % or more matter\n" in shown
    assert "\nlimits: p99 below 2 ms\nexit code 1 if rate < -5%; exit code 4 if it is undecided\n" in shown
    assert main(["run", str(path), "--dry-run", "--json"]) == ExitCode.DONE
    tree = json.loads(capsys.readouterr().out)
    assert (tree["fail_if"], tree["matters_ratio"], tree["undecided"]) == (["rate < -5%"], 0.1, "separate")
    path.write_text("title = 't'\n[systems.sqlite]\ndurability = 'full'\n[workload]\nkind = 'ycsb'\n[measure]\n")
    assert main(["run", str(path), "--dry-run"]) == ExitCode.DONE
    assert "cache warm, durability full\n" in capsys.readouterr().out


@pytest.mark.usefixtures("mariadb_is_here")
def test_it_names_the_version_of_each_server(tmp_path: Path) -> None:
    text = "title = 't'\n[systems.mariadb]\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\n[measure]\n"
    found = describe.describe(resolve(text, tmp_path), tmp_path).servers
    assert [*found] == ["mariadb"]
    assert re.fullmatch(r"mariadb \d+\.\d+\.\d+ \(.+\)", found["mariadb"])


def test_a_long_preview_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'sysbench'\nscript = 'oltp_read_write'\n[measure]\n"
    )
    assert main(["run", str(path), "--dry-run"]) == ExitCode.DONE
    preview = capsys.readouterr().out.partition("the first operations of one user")[2].splitlines()[1:]
    assert len(preview) == LINES_MAX + 1
    assert re.fullmatch(r" +and \d+ more lines: see --json", preview[-1])


def test_of_a_bundle_that_is_continued_it_tells_what_is_left_to_do(tmp_path: Path) -> None:
    text = "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\npreset = 'a'\n[factors]\nthreads = [1, 4]\n"
    plan = resolve(text, tmp_path)
    first, second = (cell.record.id for cell in plan.cells)
    whole = describe.describe(plan, tmp_path)
    left = describe.describe(plan, tmp_path, there={first: 5, second: 3})
    assert ([line.runs for line in left.cells], left.runs, left.runs_there) == ([0, 2], 2, 8)
    loads_s = sum(load.load_s for load in whole.loads)
    assert left.time_s - loads_s == pytest.approx((whole.time_s - loads_s) / 5, rel=0.05)


def test_a_run_that_failed_is_left_to_do_and_the_dry_run_says_what_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\npreset = 'a'\n[factors]\nthreads = [1, 4]\n"
    path = tmp_path / "p.toml"
    path.write_text(text)
    plan = resolve(text, tmp_path)
    first, second = (cell.record.id for cell in plan.cells)
    runs = [run_of(cell, state=state) for cell, state in ((first, "done"), (second, "failed"))]
    bundle = SimpleNamespace(plan=plan.record, runs=runs, attempts=runs, folder=tmp_path)
    monkeypatch.setattr(read.Bundle, "open", lambda folder: bundle)
    assert main(["run", str(path), "--resume", str(tmp_path), "--dry-run"]) == ExitCode.DONE
    assert "9 runs: 2 cells x 5 repetitions; 1 run is done already, " in capsys.readouterr().out


def run_of(cell: str, **facts: Any) -> RunRecord:
    return RunRecord(**{"id": f"b01-{cell}", "block": 1, "cell": cell, "order": 0, "started": "", "seed": 1, **facts})


@pytest.mark.parametrize(("more", "left"), [([], 8), (["--set", "measure.repeat_disturbed=1"], 9)])
def test_disturbed_runs_that_would_be_repeated_are_left_to_do(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: list[str],
    left: int,
) -> None:
    text = "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\npreset = 'a'\n[factors]\nthreads = [1, 4]\n"
    path = tmp_path / "p.toml"
    path.write_text(f"{text}[measure]\nrepeat_disturbed = 0\n")
    plan = resolve(path.read_text(), tmp_path)
    stall = Validity(name="stall", severity="disturbed", ok=False, words="")
    first, second = (cell.record.id for cell in plan.cells)
    runs = [run_of(first, state="done"), run_of(second, state="done", validity=[stall])]
    bundle = SimpleNamespace(plan=plan.record, runs=runs, attempts=runs, folder=tmp_path)
    monkeypatch.setattr(read.Bundle, "open", lambda folder: bundle)
    assert main(["run", str(path), "--resume", str(tmp_path), "--dry-run", *more]) == ExitCode.DONE
    assert f"{left} runs: 2 cells x 5 repetitions; " in capsys.readouterr().out


def test_it_is_one_json_document(tmp_path: Path) -> None:
    found = dry(tmp_path)
    tree = json.loads(json.dumps(found.to_json()))
    assert tree["runs"] == 10
    assert tree["cells"][1]["levels"] == {"system": "sqlite", "threads": 4}


def test_the_first_operations_of_a_user_are_shown_of_each_workload_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\n"
        "read_proportion = 0\nupdate_proportion = 1\nfield_length = 300\n"
        "[factors]\nthreads = [1, 4]\n[measure]\n"
    )
    assert main(["run", str(plan), "--dry-run"]) == ExitCode.DONE
    shown = capsys.readouterr().out.partition(":\n")[2].splitlines()
    assert sum(line.startswith("  UPDATE") for line in shown) == OPERATIONS
    assert sum(line.startswith("    user") for line in shown) == OPERATIONS
    values = [line for line in shown if line.startswith("    FIELD")]
    assert values
    assert all(len(line) == 4 + WIDTH and line.endswith("…") for line in values)
    assert main(["run", str(plan), "--dry-run", "--json"]) == ExitCode.DONE
    (preview,) = json.loads(capsys.readouterr().out)["previews"]
    written = [one["lines"][1] for one in preview["operations"] if len(one["lines"]) > 1]
    assert written
    assert all(len(value) > 300 for value in written)


def test_what_a_preview_holds_is_one_printable_line() -> None:
    assert _one_line("a\x1b[31m\nb") == "a [31m b"


def test_a_preview_that_the_engine_refuses_ends_the_dry_run(tmp_path: Path) -> None:
    plan = resolve("title = 't'\n[systems.sqlite]\n[workload]\nkind = 'ycsb'\n[measure]\n", tmp_path)
    plan.cells[0].workload.spec["key_length"] = 0
    with pytest.raises(PlanError, match="key_length"):
        previews(plan)


def test_time_counts_warm_up_window_and_repetitions(tmp_path: Path) -> None:
    short = dry(tmp_path, "warm_up = '5s'\nwindow = '10s'\nrepetitions = 5")
    long = dry(tmp_path, "warm_up = '5s'\nwindow = '70s'\nrepetitions = 10")
    assert 2 * 5 * 15 < short.time_s < 2 * 5 * 17
    assert 2 * 10 * 75 < long.time_s < 2 * 10 * 77
    assert long.time_words.startswith("25 min")


@pytest.mark.usefixtures("mariadb_is_here")
@pytest.mark.parametrize(
    ("reset", "systems", "restarts"), [("restore", 1, 1), ("restore", 2, 1), ("reuse", 1, 0), ("reuse", 2, 1)]
)
def test_a_run_takes_its_servers_restart_where_data_are_put_back_or_systems_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reset: str, systems: int, restarts: int
) -> None:
    tables = "".join(f"[systems.{name}]\nkind = 'mariadb'\nstart = true\n" for name in ("one", "two")[:systems])
    workload = f"[workload]\nkind = 'ycsb'\npreset = 'c'\n[measure]\nreset = '{reset}'\n"
    plan = resolve(f"title = 't'\n{tables}{workload}", tmp_path)

    def run_s(restart_s: float) -> float:
        monkeypatch.setattr(SYSTEMS["mariadb"], "restart_s", restart_s)
        return describe.describe(plan, tmp_path).cells[0].run_s

    assert run_s(20.0) - run_s(0.0) == pytest.approx(20.0 * restarts)


def test_a_system_that_starts_slowly_says_so() -> None:
    assert SYSTEMS["cassandra"].restart_s > 5 * SYSTEMS["mariadb"].restart_s


def test_the_time_of_operations_is_called_a_guess_unless_a_rate_says_it(tmp_path: Path) -> None:
    assert any("guess" in words for words in dry(tmp_path, "operations = 10_000").warnings)
    paced = dry(tmp_path, "operations = 10_000\nwarm_up = 0\npacing = { rate = 100 }\nrepetitions = 1")
    assert not any("guess" in words for words in paced.warnings)
    assert 200 < paced.time_s < 203


def test_disk_grows_with_the_data_and_with_a_copy_to_restore_from(tmp_path: Path) -> None:
    copied = dry(tmp_path, "reset = 'restore'", "records = 1_000_000")
    reloaded = dry(tmp_path, "reset = 'reload'", "records = 1_000_000")
    assert reloaded.disk_bytes > 1_000_000 * 1000
    # The data, the copy, and next to them what is being put back.
    assert copied.disk_bytes - copied.bundle_bytes == 3 * (reloaded.disk_bytes - reloaded.bundle_bytes)


def test_too_little_disk_is_a_warning_here_and_a_refusal_when_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dry(tmp_path).warnings == []
    monkeypatch.setattr(describe, "disk_free_bytes", lambda folder: 1000)
    assert any("1000 B are free" in words for words in dry(tmp_path).warnings)
    monkeypatch.setattr(machines, "disk_free_bytes", lambda folder: 1000)
    with pytest.raises(ServerError) as caught:
        machines.check_disk(10**9, tmp_path, "--out")
    assert "954 MiB" in caught.value.what
    assert caught.value.exit_code == ExitCode.ENVIRONMENT
    machines.check_disk(1000, tmp_path, "--out")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_that_nothing_can_be_written_in_is_not_called_full(tmp_path: Path) -> None:
    folder = Path("/proc/nope")
    with pytest.raises(ServerError, match=r"the folder is not writable \(/proc/nope\)") as caught:
        machines.check_disk(1000, folder, "--work-dir")
    assert "--work-dir" in caught.value.hint
    assert machines.can_hold_files(tmp_path / "not" / "yet")


def test_disk_is_asked_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    assert machines.disk_free_bytes(tmp_path / "not" / "yet") > 0


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("window = '2s'", "window 2 s,"),
        ("operations = 1000", "1,000 operations,"),
        ("operations = 1000\nwindow = '90s'", "1,000 operations,"),
    ],
)
def test_the_summary_says_how_long_a_run_is(
    measure: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f"[systems.sqlite]\n[workload]\nkind = 'ycsb'\n[measure]\n{measure}\n")
    assert main(["run", str(plan), "--dry-run"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert words in shown
    assert "judges throughput (rate); nothing is compared, because the plan has one system" in shown
