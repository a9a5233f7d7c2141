"""What the headline says of settings that are undecided."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from bakeoff.report.answer import ComparisonAnswer
from bakeoff.report.undecided import decide_words, undecided_words


def undecided(more: int | None, setting_words: str = "") -> ComparisonAnswer:
    found = SimpleNamespace(is_undecided=True, more_repetitions=more, setting_words=setting_words)
    return cast(ComparisonAnswer, found)


def test_what_no_setting_decides_by_itself_and_all_together_would_is_one_sentence() -> None:
    whole = undecided(81, "over all 2 settings")
    assert decide_words([undecided(None), undecided(None)], whole) == [
        "More repetitions would hardly decide a setting by itself; about 85 more repetitions would probably decide it"
        " over all 2 settings (--resume --repetitions +85)."
    ]


def test_where_all_settings_together_are_hopeless_too_nothing_is_promised() -> None:
    hopeless = ["More repetitions would hardly decide what is undecided."]
    assert decide_words([undecided(None)]) == hopeless
    assert decide_words([undecided(None)], undecided(None, "over all 2 settings")) == hopeless


def test_a_blind_comparison_says_so_as_its_row_in_the_table_does() -> None:
    found: Any = SimpleNamespace(
        ratio=0.72, low=0.11, high=4.7, level=0.99, detectable_ratio=10.0, more_repetitions=None
    )
    first, _ = undecided_words(found, by_rate=True)
    assert first.endswith("4.7 times faster); not even 10 times as much would have been seen.")
    found.detectable_ratio = 0.061
    assert undecided_words(found, by_rate=True)[0].endswith("; a difference of 6.1 % would have been seen.")
