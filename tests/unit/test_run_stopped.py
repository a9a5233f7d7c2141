"""A plan that is stopped tells the answer of the runs that it has, and what stopped it."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from bakeoff.bundle.write import BundleWriter
from bakeoff.cli import main
from bakeoff.cli.commands import run as command
from bakeoff.errors import ExitCode, ServerError
from bakeoff.schedule import machine_sharing
from bakeoff.schedule.target_bundle import Target
from builders.bundles import MARIADB, Story, write_bundle

SMALL = Story(contenders=(MARIADB,), threads=(8,), presets=("a",), repetitions=2, window_s=3, warm_up_s=1)
OPTIONS = {
    "events": False,
    "dry_run": False,
    "json": False,
    "no_report": False,
    "quiet": True,
    "beside": "refuse",
    "otlp": None,
}
RESUME = {
    "resume": None,
    "plans": [Path("p.toml")],
    "said": [],
    "only": [],
    "fail_if": [],
    "label": [],
    "work_dir": None,
    "allow_drop": False,
    "allow_changes": False,
    "allow_disturbed": False,
    "allow_cost": False,
    "wait_until_quiet": None,
    "out": None,
    "results": None,
}


def stopped(monkeypatch: pytest.MonkeyPatch, folder: Path, story: Story, by: BaseException, **given: object) -> int:
    """`bakeoff run` whose bundle is the story's when `by` ends it."""
    bundle = write_bundle(folder / "bundle", story)
    record = SimpleNamespace(title=story.title, differences={})
    plan = SimpleNamespace(warnings=[], skipped={}, record=record, cells=[])

    def make_runs(*_: object) -> None:
        raise by

    monkeypatch.setattr(machine_sharing, "cores_of_all", lambda _: [])
    monkeypatch.setattr(machine_sharing, "claim", lambda *_: nullcontext(SimpleNamespace(others=[], free=lambda: None)))
    monkeypatch.setattr(Target, "begin", lambda *_, **__: (BundleWriter(bundle.folder), {}, {}))
    monkeypatch.setattr(command, "_make_runs", make_runs)
    options = argparse.Namespace(**{**OPTIONS, **RESUME, **given})
    return command.carry_out(plan, options)  # type: ignore[arg-type]


def test_failures_that_end_a_plan_leave_the_answer_of_its_finished_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = ServerError("three runs in a row failed", hint="see the log")
    with pytest.raises(ServerError, match="three runs in a row failed"):
        stopped(monkeypatch, tmp_path, SMALL, gone)
    out, err = capsys.readouterr()
    assert "2 finished runs are kept in" in err
    assert "* mariadb" in out
    assert out.splitlines()[-1].startswith("report  ")
    assert (tmp_path / "bundle/report.html").exists()


def test_an_interrupted_plan_tells_the_answer_of_its_finished_runs_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = stopped(monkeypatch, tmp_path, SMALL, KeyboardInterrupt(), no_report=True)
    out, err = capsys.readouterr()
    assert code == ExitCode.INTERRUPTED
    assert "* mariadb" in out
    assert "report  " not in out
    assert err.index("interrupted; 2 finished runs are kept") < err.index("continue with: ")


def test_a_plan_without_a_finished_run_has_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(monkeypatch, tmp_path, Story(**{**vars(SMALL), "repetitions": 0}), KeyboardInterrupt())
    assert capsys.readouterr().out == ""


def test_an_answer_that_cannot_be_reported_does_not_hide_what_ended_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise ValueError("no way")

    monkeypatch.setattr(command, "_answer", broken)
    with pytest.raises(ServerError, match="gone"):
        stopped(monkeypatch, tmp_path, SMALL, ServerError("gone", hint=""))
    assert "the answer of the finished runs could not be printed: no way" in capsys.readouterr().err


def test_a_bundle_that_has_all_its_runs_needs_no_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def busy(*_: object) -> None:
        raise ServerError("another bakeoff run is measuring", hint="")

    bundle = write_bundle(tmp_path / "bundle", SMALL)
    monkeypatch.setattr(machine_sharing, "cores_of_all", lambda _: [])
    monkeypatch.setattr(machine_sharing, "claim", busy)
    monkeypatch.setattr(Target, "begin", lambda *_, **__: (BundleWriter(bundle.folder), {}, {}))
    monkeypatch.setattr(command, "_make_runs", lambda *_: None)
    options = argparse.Namespace(**{**OPTIONS, **RESUME, "resume": str(bundle.folder), "no_report": True})
    plan = SimpleNamespace(warnings=[], skipped={}, record=bundle.plan, cells=[])
    assert command.carry_out(plan, options) == ExitCode.DONE  # type: ignore[arg-type]
    assert "* mariadb" in capsys.readouterr().out
    more = SimpleNamespace(**{**vars(plan), "record": bundle.plan.model_copy(update={"repetitions": 3})})
    with pytest.raises(ServerError, match="another bakeoff run"):
        command.carry_out(more, options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("given", "word"), [("10m", "--wait-until-quiet 10m"), ("", "--wait-until-quiet")])
def test_the_command_that_continues_waits_as_long_as_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str, word: str
) -> None:
    stopped(monkeypatch, tmp_path, SMALL, KeyboardInterrupt(), wait_until_quiet=given)
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "continue with: " in line]
    assert f"{word} --quiet" in said


@pytest.mark.parametrize("option", ["--resume", "--wait-until-quiet"])
def test_an_option_that_needs_no_value_does_not_take_the_plan_for_one(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", option, "before.toml"])
    assert ended.value.code == ExitCode.USAGE
    assert f"{option}: before.toml is a plan: write the plan before this option" in capsys.readouterr().err
