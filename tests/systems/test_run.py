"""The main job end to end on SQLite, as a user runs it: plan to bundle to answer, and what can go wrong between."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from commands import (
    ENDLESS_SECOND_RUN,
    OPERATIONS,
    SQLITE,
    bakeoff,
    descendants,
    end,
    endless,
    engine_through,
    finish,
    gone,
    only_bundle,
    started,
    wait_until,
    write_plan,
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the short plan has been run once."""
    folder = tmp_path_factory.mktemp("ran")
    done = bakeoff("run", write_plan(folder, SQLITE), "--json", cwd=folder)
    assert done.code == 0, done.err
    (folder / "answer.json").write_text(done.out)
    return folder


def test_every_run_of_a_plan_is_in_its_bundle_and_right(ran: Path) -> None:
    bundle = only_bundle(ran)
    assert bundle.info.state == "complete"
    assert len(bundle.runs) == 4
    for run in bundle.runs:
        assert run.state == "done"
        assert run.ok == OPERATIONS
        assert run.errors == {}
        assert run.checks
        assert all(check.ok for check in run.checks), run.checks
        assert run.client_cpu_us_per_op is not None
        assert sum(bundle.intervals(run.id).column("ok").to_pylist()) >= OPERATIONS  # the warm-up's too
    assert set(bundle.facts) == {cell.id for cell in bundle.plan.cells}


def test_the_same_seed_draws_the_same_operations_in_every_repetition(ran: Path) -> None:
    runs = only_bundle(ran).runs
    for cell in {run.cell for run in runs}:
        hashes = {tuple(run.stream_hashes) for run in runs if run.cell == cell}
        assert len(hashes) == 1


def test_the_answer_is_one_json_document(ran: Path) -> None:
    document = json.loads((ran / "answer.json").read_text())
    assert Path(ran / document["report"]).is_file()
    assert document["answer"]


def test_a_report_is_made_from_the_bundle_alone(ran: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(only_bundle(ran).folder, copy)
    for made in [copy / "report.html", *copy.glob("charts/*")]:
        made.unlink()
    done = bakeoff("report", copy, cwd=tmp_path)
    assert done.code == 0, done.err
    assert (copy / "report.html").stat().st_size > 10_000


def test_two_plans_are_one_comparison_in_one_bundle_paired_by_block(tmp_path: Path) -> None:
    one = SQLITE.replace("threads = [1, 2]", "threads = 1").replace("repetitions = 2", "repetitions = 5")
    one = one.replace("operations = 20_000", "operations = 500")
    before = write_plan(tmp_path, one, "before.toml")
    after = write_plan(tmp_path, one.replace('"relaxed"', '"none"'), "after.toml")
    done = bakeoff("run", before, after, "--json", "--out", tmp_path / "both", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "note: the plans differ in systems.sqlite.durability: before: relaxed; after: none" in done.err
    answer = done.document["answer"]
    assert (answer["compared"], answer["contestants"]) == ("plan", ["before", "after"])
    (found,) = answer["comparisons"]
    assert (found["base"], found["other"], found["repetitions"]) == ("before", "after", 5)
    assert found["ratio"] is not None
    bundle = Bundle.open(tmp_path / "both")
    orders = [[run.block for run in bundle.runs[n : n + 2]] for n in range(0, 10, 2)]
    assert orders == [[block] * 2 for block in range(1, 6)]
    assert {path.name for path in (tmp_path / "both" / "files").iterdir()} == {"before.toml", "after.toml"}


def test_a_bundle_compared_with_itself_is_the_same(ran: Path) -> None:
    folder = only_bundle(ran).folder
    done = bakeoff("compare", folder, folder, cwd=ran)
    assert (done.code, done.out) == (0, "the same bundle: nothing to compare\n")


def test_a_condition_that_cannot_be_judged_fails(ran: Path) -> None:
    folder = only_bundle(ran).folder
    assert bakeoff("compare", folder, folder, "--fail-if", "rate < -5%", cwd=ran).code == 1
    done = bakeoff("compare", folder, folder, "--fail-if", "speed < -5%", cwd=ran)
    assert done.code == 2
    assert "speed" in done.err


def test_a_dry_run_starts_nothing(tmp_path: Path) -> None:
    done = bakeoff("run", write_plan(tmp_path, SQLITE), "--dry-run", "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.document["runs"] == 4
    assert not (tmp_path / "bakeoff-results").exists()


def interrupted(tmp_path: Path, plan: Path, *arguments: str | Path, env: dict[str, str]) -> str:
    """A run of the plan is ended by Ctrl-C in its second run. Returns the command that is printed to continue it."""
    process = started("run", plan, *arguments, cwd=tmp_path, env=env)
    try:
        engine_of_second_run(process, tmp_path)
        os.killpg(process.pid, signal.SIGINT)
        done = finish(process)
    finally:
        end(process)
    assert done.code == 130
    assert "interrupted: stopping clients and servers" in done.err
    assert len(only_bundle(tmp_path).runs) == 1
    (line,) = [line for line in done.err.splitlines() if line.startswith("continue with: ")]
    return line.removeprefix("continue with: ")


def test_ctrl_c_keeps_finished_runs_and_the_printed_command_makes_the_rest(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "it's a $(place); with 'quotes'", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    through = engine_through(folder, ENDLESS_SECOND_RUN)
    plan = write_plan(folder, SQLITE, "my plan.toml").relative_to(folder)
    command = interrupted(folder, plan, "--work-dir", "the work", "--no-report", env=through)
    before = {run.id: run.started for run in only_bundle(folder).runs}
    assert only_bundle(folder).info.state == "interrupted"
    env = {**os.environ, **through, "TAME": "yes"}
    again = subprocess.run(command, shell=True, cwd=elsewhere, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    bundle = only_bundle(folder)
    assert bundle.info.state == "complete"
    assert len(bundle.runs) == 4
    assert before.items() <= {run.id: run.started for run in bundle.runs}.items()
    assert [run.order for run in bundle.runs] == [0, 1, 2, 3]
    assert not list(elsewhere.iterdir())
    assert not (bundle.folder / "report.html").exists()


def test_a_bundle_is_written_by_one_bakeoff_at_a_time(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, SQLITE)
    through = engine_through(tmp_path, ENDLESS_SECOND_RUN)
    process = started("run", plan, cwd=tmp_path, env=through)
    try:
        engine_of_second_run(process, tmp_path)
        before = {path: path.read_bytes() for path in (tmp_path / "bakeoff-results").rglob("result.json")}
        second = bakeoff("run", plan, "--resume", "--together", cwd=tmp_path, env=through)
        assert second.code == 2
        assert f"another bakeoff run is writing into this bundle (pid {process.pid}" in second.err
        assert before == {path: path.read_bytes() for path in (tmp_path / "bakeoff-results").rglob("result.json")}
        process.kill()
        process.communicate()
    finally:
        end(process)
    third = bakeoff("run", plan, "--resume", cwd=tmp_path, env={**through, "TAME": "yes"})
    assert third.code == 0, third.err


def test_a_second_run_on_the_same_cores_is_refused_or_names_the_run_that_it_measured_next_to(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    process = started("run", write_plan(first, endless(SQLITE)), cwd=first)
    try:
        wait_until(lambda: list(first.glob("bakeoff-results/*/runs/*/run.json")), "the first measures")
        plan = write_plan(second, SQLITE.replace("repetitions = 2", "repetitions = 1"))
        refused = bakeoff("run", plan, cwd=second)
        beside = bakeoff("run", plan, "--together", cwd=second)
    finally:
        end(process)
    assert refused.code == 3
    assert f'another bakeoff run is measuring on the same cores (pid {process.pid}, "A short one")' in refused.err
    assert beside.code == 0, beside.err
    for run in only_bundle(second).runs:  # the refused one made none
        (found,) = [v for v in run.validity if v.name == "another run"]
        assert (found.severity, found.ok, f"pid {process.pid}" in found.words) == ("disturbed", False, True)
    assert "measured next to another bakeoff run" in " ".join(beside.out.split())


def test_a_plan_that_grew_continues_its_bundle_and_removed_runs_are_repeated(ran: Path, tmp_path: Path) -> None:
    results = shutil.copytree(ran / "bakeoff-results", tmp_path / "bakeoff-results")
    before = {run.id: run.started for run in only_bundle(tmp_path).runs}
    removed = sorted(before)[0]
    shutil.rmtree(next(results.glob(f"*/runs/{removed}")))
    text = SQLITE.replace("threads = [1, 2]", "threads = [4, 1, 2]").replace("repetitions = 2", "repetitions = 3")
    done = bakeoff("run", write_plan(tmp_path, text), "--resume", cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    after = {run.id: run.started for run in bundle.runs}
    assert len(after) == 9
    assert {run for run in before if after.get(run) == before[run]} >= before.keys() - {removed}
    assert len({run.order for run in bundle.runs}) == 9
    assert any("new cells: 1" in words for words in bundle.info.messages)


def test_repetitions_are_added_to_a_complete_bundle(ran: Path, tmp_path: Path) -> None:
    shutil.copytree(ran / "bakeoff-results", tmp_path / "bakeoff-results")
    plan = write_plan(tmp_path, SQLITE)
    done = bakeoff("run", plan, "--resume", "--repetitions", "+1", cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    assert (bundle.plan.repetitions, len(bundle.runs), bundle.analyses) == (3, 6, [])  # too few to judge
    fewer = bakeoff("run", plan, "--resume", bundle.folder, cwd=tmp_path)
    assert fewer.code == 2
    assert "the plan has 2 repetitions, and this bundle has 3" in fewer.err
    assert "write --repetitions 3, or more" in fewer.err


@pytest.mark.parametrize("said", [["+1"], ["0"], ["many"]])
def test_a_number_of_repetitions_that_is_none_is_refused(tmp_path: Path, said: list[str]) -> None:
    done = bakeoff("run", write_plan(tmp_path, SQLITE), "--repetitions", *said, cwd=tmp_path)
    assert (done.code, done.err.count("error:")) == (2, 1)
    assert "--repetitions" in done.err


def test_a_bundle_at_a_place_of_its_own_is_continued_there_and_never_written_over(ran: Path, tmp_path: Path) -> None:
    here = shutil.copytree(only_bundle(ran).folder, tmp_path / "here")
    shutil.rmtree(next(here.glob("runs/*")))
    plan = write_plan(tmp_path, SQLITE)
    refused = bakeoff("run", plan, "--out", here, cwd=tmp_path)
    assert (refused.code, refused.err.count("error:")) == (2, 1)
    assert "this folder holds a bundle already" in refused.err
    done = bakeoff("run", plan, "--resume", "--out", here, "--json", cwd=tmp_path)
    assert (done.code, done.document["bundle"]) == (0, str(here)), done.err
    assert len(Bundle.open(here).runs) == 4
    assert not (tmp_path / "bakeoff-results").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [(("records = 500", "records = 501"), "threads=1"), (("repetitions = 2", "repetitions = 1"), "repetitions")],
)
def test_a_plan_that_changed_otherwise_is_no_continuation(
    ran: Path, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    results = shutil.copytree(ran / "bakeoff-results", tmp_path / "bakeoff-results")
    assert change[0] in SQLITE
    plan = write_plan(tmp_path, SQLITE.replace(*change))
    done = bakeoff("run", plan, "--resume", next(results.iterdir()), cwd=tmp_path)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("error:") == 1


def test_another_build_of_the_engine_is_no_continuation(ran: Path, tmp_path: Path) -> None:
    results = shutil.copytree(ran / "bakeoff-results", tmp_path / "bakeoff-results")
    shutil.rmtree(next(results.glob("*/runs/*")))
    plan, env = write_plan(tmp_path, SQLITE), engine_through(tmp_path, 'exec "$ENGINE" "$@"')
    done = bakeoff("run", plan, "--resume", next(results.iterdir()), cwd=tmp_path, env=env)
    assert done.code == 2
    assert "this bundle was started with bakeoff" in done.err
    assert "engine" in done.err


def test_a_system_that_changed_is_no_continuation_and_nothing_is_lost(ran: Path, tmp_path: Path) -> None:
    results = shutil.copytree(ran / "bakeoff-results", tmp_path / "bakeoff-results")
    shutil.rmtree(next(results.glob("*/runs/*")))
    for path in results.glob("*/facts/*.json"):
        path.write_text(path.read_text().replace('"NORMAL"', '"FULL"'))
    done = bakeoff("run", write_plan(tmp_path, SQLITE), "--resume", next(results.iterdir()), cwd=tmp_path)
    assert done.code == 2
    assert "synchronous was FULL, is NORMAL" in done.err
    assert [run.state for run in only_bundle(tmp_path).runs] == ["done"] * 3


def engine_of_second_run(process: subprocess.Popen[str], folder: Path) -> int:
    """Its pid, when it runs: see ENDLESS_SECOND_RUN."""
    wait_until(lambda: list(folder.glob("bakeoff-results/*/runs/*/run.json.endless")), "the second run begins")
    (pid,) = wait_until(lambda: descendants(process.pid, "bakeoff-engine"), "its engine runs", of=process)
    return int(pid)


@pytest.mark.parametrize("phase", ["load.json", "run.json"])
def test_ctrl_c_in_a_phase_leaves_no_engine(tmp_path: Path, phase: str) -> None:
    text = endless(SQLITE) if phase == "run.json" else SQLITE.replace("records = 500", "records = 400_000")
    process = started("run", write_plan(tmp_path, text), cwd=tmp_path)
    try:
        wait_until(lambda: list(tmp_path.glob(f"bakeoff-results/*/*/*/{phase}")), f"{phase} is there", of=process)
        engines = wait_until(lambda: descendants(process.pid, "bakeoff-engine"), "an engine runs", of=process)
        os.killpg(process.pid, signal.SIGINT)
        assert finish(process).code == 130
    finally:
        end(process)
    wait_until(lambda: all(gone(pid) for pid in engines), "the engine has ended")


def test_no_engine_outlives_a_killed_controller(tmp_path: Path) -> None:
    process = started("run", write_plan(tmp_path, endless(SQLITE)), cwd=tmp_path)
    try:
        engines = wait_until(lambda: descendants(process.pid, "bakeoff-engine"), "an engine runs", of=process)
        process.kill()
        process.communicate()
    finally:
        end(process)
    wait_until(lambda: all(gone(pid) for pid in engines), "the engine has ended")


def test_a_killed_engine_is_a_failed_run_and_the_others_stay(tmp_path: Path) -> None:
    through = engine_through(tmp_path, ENDLESS_SECOND_RUN)
    process = started("run", write_plan(tmp_path, SQLITE), cwd=tmp_path, env=through)
    try:
        os.kill(engine_of_second_run(process, tmp_path), signal.SIGKILL)
        done = finish(process)
    finally:
        end(process)
    runs = only_bundle(tmp_path).runs
    failed = [run for run in runs if run.state == "failed"]
    assert len(runs) == 4
    assert len(failed) == 1
    assert "SIGKILL" in failed[0].failure
    assert done.code == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("seed = 5", "sede = 5"), "seed"),
        (('warm_up = "200ms"', 'warm_up = "1 parsec"'), "warm_up"),
        (('preset = "a"', 'presett = "a"'), "preset"),
        (('durability = "relaxed"', 'durability = "eternal"'), "eternal"),
        (("threads = [1, 2]", "threads = [0]"), "threads"),
        (('kind = "ycsb"', 'kind = "ycsd"'), "ycsb"),
    ],
)
def test_a_wrong_plan_is_one_sentence_with_a_hint_and_exit_2(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert change[0] in SQLITE
    done = bakeoff("run", write_plan(tmp_path, SQLITE.replace(*change)), cwd=tmp_path)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("error:") == 1
    assert not (tmp_path / "bakeoff-results").exists()


def test_a_missing_plan_is_said(tmp_path: Path) -> None:
    done = bakeoff("run", "nowhere.toml", cwd=tmp_path)
    assert done.code == 2
    assert "nowhere.toml" in done.err


def test_a_damaged_bundle_is_named_and_the_rest_is_reported(ran: Path, tmp_path: Path) -> None:
    copy = tmp_path / "damaged"
    shutil.copytree(only_bundle(ran).folder, copy)
    victim = sorted(copy.glob("runs/*/result.json"))[0]
    victim.write_bytes(victim.read_bytes()[:200])
    table = sorted(copy.glob("runs/*/intervals.parquet"))[1]
    table.write_bytes(table.read_bytes()[:50])
    done = bakeoff("report", copy, cwd=tmp_path)
    assert done.code == 1, done.err
    assert victim.parent.name in done.err
    assert "The result of 1 run could not be read, and what follows is without it" in " ".join(done.out.split())
    (copy / "plan.json").unlink()
    done = bakeoff("report", copy, cwd=tmp_path)
    assert done.code == 2
    assert "plan.json" in done.err


def test_a_bundle_of_a_newer_format_is_refused_kindly(ran: Path, tmp_path: Path) -> None:
    copy = tmp_path / "newer"
    shutil.copytree(only_bundle(ran).folder, copy)
    info = json.loads((copy / "bundle.json").read_text()) | {"format": 99, "new_thing": 1}
    (copy / "bundle.json").write_text(json.dumps(info))
    done = bakeoff("report", copy, cwd=tmp_path)
    assert done.code == 2
    assert "99" in done.err
    assert "newer" in done.err


def test_a_planted_lost_write_is_reported_and_its_run_not_compared(tmp_path: Path) -> None:
    """A row vanishes behind bakeoff's back in a run, after the data were put back: the check afterwards must see it."""
    work, go_on = tmp_path / "work", tmp_path / "go-on"
    held = f"""
case "$1" in */runs/*/run.json)
    touch "$1.held"
    while [ ! -e {shlex.quote(str(go_on))} ]; do sleep 0.02; done
esac
exec "$ENGINE" "$@"
"""
    plan = write_plan(tmp_path, SQLITE)
    process = started("run", plan, "--work-dir", work, cwd=tmp_path, env=engine_through(tmp_path, held))
    try:
        wait_until(lambda: list(tmp_path.glob("bakeoff-results/*/runs/*/run.json.held")), "a run begins")
        lose_a_row(work)
        go_on.touch()
        done = finish(process)
    finally:
        end(process)
    bundle = only_bundle(tmp_path)
    violated = [run for run in bundle.runs if any(not check.ok for check in run.checks)]
    assert done.code == 1
    assert len(violated) == 1
    assert not violated[0].valid
    assert "499" in str([check.actual for check in violated[0].checks])
    assert "check" in done.out


def lose_a_row(work: Path) -> None:
    (database,) = work.glob("*/data.sqlite")
    with contextlib.closing(sqlite3.connect(database, timeout=20)) as connection, connection:
        connection.execute("DELETE FROM usertable WHERE rowid = (SELECT max(rowid) FROM usertable)")


def test_several_workloads_are_asked_of_every_system_and_stand_apart_in_the_report(tmp_path: Path) -> None:
    work = SQLITE[SQLITE.index("[workload]") : SQLITE.index("[factors]")]
    works = """
[workloads.readers]
kind = "ycsb"
preset = "c"
records = 300

[workloads.scripts]
kind = "sysbench"
table_size = 300
"""
    text = SQLITE.replace(work, works).replace(f"operations = {OPERATIONS:_}", "operations = 200")
    done = bakeoff("run", write_plan(tmp_path, text.replace("repetitions = 2", "repetitions = 1")), cwd=tmp_path)
    assert done.code == 0, done.err
    bundle = only_bundle(tmp_path)
    found = {(cell.levels["workload"], cell.levels["threads"]): cell.workload for cell in bundle.plan.cells}
    assert len(found) == 4
    assert found["readers", 1].startswith("YCSB C")
    assert found["scripts", 2].startswith("sysbench oltp_read_write")
    assert len(bundle.loads) == 2
    assert all(run.valid and run.checks and all(check.ok for check in run.checks) for run in bundle.runs)
    assert "workload scripts" in done.out
