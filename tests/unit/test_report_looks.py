"""A bundle that was judged, got more repetitions and is judged again; and the line over all its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.resume import Present
from bakeoff.bundle.write import BundleWriter
from bakeoff.model.records import RunRecord
from bakeoff.report.answer import Answer
from bakeoff.report.conclusion import answer_of
from bakeoff.report.text import render_text
from builders.bundles import MARIADB, Story, write_bundle

SLOWER = replace(MARIADB, name="slower", rate_1=3_960.0, rate_max=23_760.0)
TWO = Story(contenders=(MARIADB, SLOWER), presets=("a",), threads=(8,), repetitions=8, noise=0.002, window_s=5)


def judged(
    folder: Path, story: Story, looks: list[int], rate_factor: Callable[[RunRecord], float] = lambda _: 1.0
) -> Answer:
    """rate_factor: of a run's rate, which is all that is changed of it."""
    bundle = write_bundle(folder / "b", story)
    bundle.info = bundle.info.model_copy(update={"looks": looks})
    bundle.runs = [
        run.model_copy(update={"rate_ops_per_s": run.rate_ops_per_s * rate_factor(run)}) for run in bundle.runs
    ]
    return answer_of(bundle)


def test_the_first_look_takes_four_of_the_five_percent(tmp_path: Path) -> None:
    found = judged(tmp_path, TWO, [])
    assert (found.look, found.comparisons[0].level) == (1, pytest.approx(0.96))
    assert "judged before" not in " ".join(found.headline)


def test_a_second_look_is_judged_over_all_repetitions_at_what_the_first_left_and_says_so(tmp_path: Path) -> None:
    found = judged(tmp_path, TWO, [5])
    assert (found.look, found.comparisons[0].repetitions) == (2, 8)
    assert found.comparisons[0].level == pytest.approx(0.992)
    assert found.headline[1] == (
        "This was judged before, with 5 repetitions: a difference is now claimed at a chance of error of 0.8 %,"
        " not 4 %, so that all looks together keep 5 %."
    )


def test_the_answer_that_was_given_is_not_another_look_nor_one_at_too_few_to_compare(tmp_path: Path) -> None:
    assert judged(tmp_path / "again", TWO, [8]).look == 1
    assert judged(tmp_path / "few", TWO, [3, 8]).look == 1
    assert judged(tmp_path / "third", TWO, [5, 7, 8]).look == 3


def test_what_a_look_has_shown_stands_and_says_what_became_of_it(tmp_path: Path) -> None:
    def turned(run: RunRecord) -> float:
        return 1.0 if run.cell == "c01" else 0.95 if run.block <= 5 else 1.08

    found = judged(tmp_path, TWO, [5], turned)
    (only,) = found.comparisons
    assert (only.verdict, only.repetitions) == ("lower", 5)
    (note,) = only.notes
    assert note.startswith("shown with 5 repetitions; with all 8: -")
    assert judged(tmp_path / "unseen", TWO, [], turned).comparisons[0].verdict == "no difference"


def test_an_answer_is_a_look_and_is_written_down_once(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(TWO, repetitions=1))
    writer = BundleWriter(bundle.folder)
    present = Present(bundle.plan, {}, bundle.machine, bundle.info)
    old = writer.resume(present, "title = 't'")
    assert old.info.looks == []
    assert writer.info is not None
    assert writer.info.looks == [1]  # a complete bundle from before looks were written down
    writer.looked(6)
    writer.looked(6)
    assert Bundle.open(bundle.folder).info.looks == [1, 6]


def test_an_interrupted_bundle_was_not_looked_at(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(TWO, repetitions=1, state="interrupted"))
    writer = BundleWriter(bundle.folder)
    writer.resume(Present(bundle.plan, {}, bundle.machine, bundle.info), "title = 't'")
    assert Bundle.open(bundle.folder).info.looks == []


SETTINGS = replace(TWO, threads=(1, 2, 4, 8), repetitions=5, noise=0.02, seed=3)


def test_settings_that_lean_alike_have_one_line_that_decides_what_none_of_them_does(tmp_path: Path) -> None:
    found = judged(tmp_path, SETTINGS, [], of_second(0.98))
    assert [c.verdict for c in found.comparisons].count("no difference") >= 3
    (whole,) = found.over_all
    assert whole.verdict == "lower"
    sentence = f"Over all 4 settings, which all lean the same way: {whole.words}."
    assert sentence in found.headline
    assert "over all 4 settings" in render_text(found)


def of_second(factor: float) -> Callable[[RunRecord], float]:
    return lambda run: factor if run.cell in ("c05", "c06", "c07", "c08") else 1.0


def test_the_line_over_all_settings_has_its_own_place_in_the_family(tmp_path: Path) -> None:
    found = judged(tmp_path, SETTINGS, [], of_second(0.5))
    levels = sorted(c.level or 0 for c in [*found.comparisons, *found.over_all])
    assert levels == pytest.approx([1 - 0.04 / left for left in (1, 2, 3, 4, 5)])


def test_settings_that_lean_differently_or_are_all_decided_have_no_line_in_the_headline(tmp_path: Path) -> None:
    apart = judged(tmp_path / "apart", SETTINGS, [], lambda run: 0.8 if run.cell == "c05" else of_second(1.2)(run))
    assert apart.over_all == []
    decided = judged(tmp_path / "decided", SETTINGS, [], of_second(0.5))
    assert not any(words.startswith("Over all") for words in decided.headline)
