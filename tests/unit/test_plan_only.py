"""A part of a plan has the cells that were named, as the whole plan has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode, PlanError, ServerError
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.report.answer import answer_of
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.bundles import Story, write_bundle

PLAN = """title = "t"
isolation = "serializable"
[systems.one]
kind = "sqlite"
[systems.two]
kind = "sqlite"
settings = { cache_size = 10 }
[workload]
kind = "ycsb"
[factors]
preset = ["a", "c"]
threads = [1, 8]
rate = ["5k/s", "10k/s"]
"two.settings.foreign_keys" = [true, false]
"""


def read(*only: str) -> ResolvedPlan:
    return resolve(PLAN, Path("."), only=only)


@pytest.mark.parametrize(
    ("only", "cells"),
    [
        ((), 24),
        (("one",), 8),
        (("threads=8",), 12),
        (("rate=5000",), 12),
        (("rate=5k/s", "rate = 10000"), 24),
        (("preset=a,threads=1",), 6),
        (("one,threads=1", "two, threads=8 ,preset=c"), 4 + 4),
        (("two.settings.foreign_keys=true",), 8),
        (("isolation=serializable,system=one",), 8),
    ],
)
def test_its_cells_are_those_of_the_whole_plan(only: tuple[str, ...], cells: int) -> None:
    part, whole = read(*only), read()
    assert len(part.cells) == cells
    assert {cell.record.id for cell in part.cells} <= {cell.record.id for cell in whole.cells}
    assert part.record.only == list(only)


@pytest.mark.parametrize(
    ("only", "what", "hint"),
    [
        ("tow", "the plan has no system or workload `tow`", "did you mean `two`?"),
        ("threads", "the plan has no system or workload `threads`", "a level of a factor is FACTOR=LEVEL"),
        ("thread=8", "`thread` is not a factor of this plan", "did you mean `threads`?"),
        ("threads=4", "`threads` has no level 4 in this plan", "It is one of: 1, 8"),
        ("two.settings.foreign_keys=1", "`two.settings.foreign_keys` has no level 1", "true, false"),
        ("one,two.settings.foreign_keys=true", "no cell of the plan is one,two", "--dry-run shows its cells"),
        ("", "the plan has no system or workload ``", ""),
    ],
)
def test_what_the_plan_has_not_is_refused_with_the_nearest(only: str, what: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(only)
    assert caught.value.what.startswith(what)
    assert hint in caught.value.hint
    assert caught.value.where == "--only"


def test_a_part_whose_system_cannot_run_here_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: "no program"))
    text = PLAN.replace("[workload]", "[systems.mariadb]\noptional = true\n[workload]")
    with pytest.raises(ServerError, match="no system of the plan can run"):
        resolve(text, Path("."), only=["mariadb"])
    assert resolve(text, Path("."), only=["one"]).skipped == {}


def test_the_dry_run_and_the_report_say_that_it_is_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    assert main(["run", str(plan), "--only", "one,threads=8", "--only", "two", "--dry-run"]) == ExitCode.DONE
    assert "a part of the plan: only one, threads=8 or two" in capsys.readouterr().out
    bundle = write_bundle(tmp_path / "b", Story(repetitions=5, window_s=1, warm_up_s=0))
    bundle.plan = bundle.plan.model_copy(update={"only": ["one", "threads=8"]})
    assert answer_of(bundle).incomplete == "Not the whole plan: only one or threads=8."
    assert read("one").text.endswith("# --only one\n")
