"""What was not tested is said in the headline; "valid" alone would pass for a yes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.model.records.run import RunRecord, Validity
from bakeoff.report.answer import answer_of
from bakeoff.report.words.doubts import untested_words
from builders.bundles import MARIADB, Story, invalid, write_bundle

Change = Callable[[RunRecord], RunRecord]
SMALL = Story(contenders=(MARIADB,), threads=(1,), presets=("a",), repetitions=3, window_s=20, warm_up_s=2)


def untested(run: RunRecord, *names: str) -> RunRecord:
    kept = [v for v in run.validity if v.name not in names]
    return run.model_copy(
        update={"validity": [*kept, *(Validity(name=n, severity="note", ok=None, words="not tested") for n in names)]}
    )


def last_sentence(folder: Path, story: Story) -> str:
    return answer_of(write_bundle(folder / "bundle", story)).headline[-1]


def test_a_steady_state_that_could_not_be_judged_is_said_with_what_it_needs(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: untested(run, "steady state"))
    assert last_sentence(tmp_path, story) == "Steady state could not be judged (windows of 20 s; 30 s are needed)."


def test_data_that_were_not_checked_are_said_in_a_sentence_of_their_own(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: untested(run, "steady state", "integrity"))
    headline = answer_of(write_bundle(tmp_path / "bundle", story)).headline
    assert headline[-2] == "The data were not checked."
    assert headline[-1].startswith("Steady state could not be judged")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run, []),
        (lambda run: untested(run, "latency probe"), []),
        (
            lambda run: untested(run, "integrity") if run.block == 2 else run,
            ["The data were not checked in 1 of 3 runs."],
        ),
        (
            lambda run: untested(run, "other processes") if run.block == 2 else run,
            ["Whether other processes slowed it was not judged in 1 of 3 runs."],
        ),
        (lambda run: invalid(untested(run, "integrity")), []),
    ],
    ids=[
        "all tested",
        "what nobody takes for granted",
        "in one run",
        "who used the cores",
        "of runs that do not count",
    ],
)
def test_only_what_a_reader_takes_for_granted_of_valid_runs_is_said(
    tmp_path: Path, change: Change, said: list[str]
) -> None:
    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, change=change))
    assert untested_words(bundle.plan, bundle.runs) == said


def test_a_long_window_is_not_blamed(tmp_path: Path) -> None:
    story = replace(SMALL, window_s=60, change=lambda run: untested(run, "steady state") if run.block == 1 else run)
    assert last_sentence(tmp_path, story) == "Steady state could not be judged in 1 of 3 runs."
