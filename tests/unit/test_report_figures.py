"""Which figures go into charts."""

from __future__ import annotations

from pathlib import Path

from bakeoff.analysis.percentiles import samples_needed
from bakeoff.bundle.read import Bundle
from bakeoff.model.records.run import RunRecord
from bakeoff.report.charts.figures import spectrum_curve
from builders.bundles import MARIADB, Story, invalid, write_bundle

SMALL = Story(contenders=(MARIADB,), threads=(1,), presets=("c",), repetitions=2, window_s=2, warm_up_s=1)


def runs(folder: Path) -> list[RunRecord]:
    return Bundle.open(write_bundle(folder, SMALL).folder).runs


def test_a_spectrum_is_of_valid_runs_only(tmp_path: Path) -> None:
    first, second = runs(tmp_path / "b")
    whole, alone = spectrum_curve(0, "a", [first, second]), spectrum_curve(0, "a", [first, invalid(second)])
    assert whole
    assert alone == spectrum_curve(0, "a", [first])
    assert alone != whole
    assert spectrum_curve(0, "a", [invalid(first), invalid(second)]) is None


def test_a_spectrum_ends_where_fewer_than_ten_operations_are_slower(tmp_path: Path) -> None:
    found = runs(tmp_path / "b")
    curve, count = spectrum_curve(0, "a", found), sum(run.ok for run in found)
    assert curve
    last = curve.points[-1][0]
    assert 0.99 < last < 0.9999
    assert samples_needed(last) <= count
    assert all(share <= last for share, _ in curve.points)


def test_failures_too_few_to_be_drawn_make_no_cross(tmp_path: Path) -> None:
    (run, _) = runs(tmp_path / "b")
    few, many = (
        spectrum_curve(0, "a", [run.model_copy(update={"errors": {"fail_other": count}})]) for count in (3, 300)
    )
    assert few
    assert many
    assert few.failed_from is None
    assert many.failed_from == 1 - 300 / (run.ok + 300)
