"""Options of `bakeoff verify --cuts` and `--kills`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from bakeoff.cli.commands.verify_crashes import crash_systems
from bakeoff.errors import PlanError
from bakeoff.schedule import crashes
from bakeoff.verify.ledger import Crashes
from builders.plans import read

USUAL: dict[str, Any] = {
    **{"schedule": [], "show": [], "fault": [], "histories": None, "search": None, "every_level": False},
    **{"seconds": 6.0, "tries": None, "seed": None, "cuts": 1, "kills": 0, "node_kills": 0, "work_dir": None},
    **{"beside": True, "quiet": True, "json": False},
}


@pytest.mark.parametrize("other", [{"seconds": 0.0}, {"seconds": 2.0}, {"tries": 5}, {"every_level": True}])
def test_options_of_other_checks_are_refused(other: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=f"--{next(iter(other))}".replace("_", "-")):
        crash_systems(read(), Namespace(**{**USUAL, **other}))


@pytest.mark.parametrize("seed", [7, 0, None])
def test_the_seed_is_the_one_given_and_warnings_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seed: int | None
) -> None:
    seeds: list[int] = []

    def crash(*_: object, seed: int, **__: object) -> Iterator[crashes.Survived]:
        seeds.append(seed)
        yield crashes.Survived("null", crashes=[Crashes("power cut", not_tried="it stores nothing")])

    monkeypatch.setattr(crashes, "crash", crash)
    plan = replace(read(), warnings=["the disk is slow"])
    assert crash_systems(plan, Namespace(**{**USUAL, "seed": seed})) == 0
    assert seeds == [plan.record.seed if seed is None else seed]
    assert "warning: the disk is slow" in capsys.readouterr().err
