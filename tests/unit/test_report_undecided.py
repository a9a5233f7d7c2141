"""What the headline says of settings that are undecided."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from bakeoff.analysis.compare import ComparisonAnswer
from bakeoff.report.words.pairs import decide_words, undecided_words


def undecided(more: int | None, setting_words: str = "", matters: float | None = 0.05) -> ComparisonAnswer:
    found = SimpleNamespace(
        is_undecided=True, more_repetitions=more, setting_words=setting_words, matters_ratio=matters
    )
    return cast(ComparisonAnswer, found)


def test_what_no_setting_decides_by_itself_and_all_together_would_is_one_sentence() -> None:
    whole = undecided(81, "over all 2 settings")
    assert decide_words([undecided(None), undecided(None)], whole) == [
        "About 85 more repetitions would decide it over all 2 settings: whether there is a difference of 5.0 %"
        " (--resume --repetitions +85)."
    ]


def test_where_all_settings_together_are_hopeless_too_nothing_is_promised() -> None:
    hopeless = ["More than 100 more repetitions would be needed to decide whether there is a difference of 5.0 %."]
    assert decide_words([undecided(None)]) == hopeless
    assert decide_words([undecided(None)], undecided(None, "over all 2 settings")) == hopeless


def test_without_a_size_that_matters_no_number_is_promised() -> None:
    (words,) = decide_words([undecided(None, matters=None)])
    assert words.startswith("Say what size matters")


def test_a_blind_comparison_says_so_as_its_row_in_the_table_does() -> None:
    found: Any = SimpleNamespace(
        ratio=0.72, low=0.11, high=4.7, level=0.99, detectable_ratio=10.0, more_repetitions=None, matters_ratio=None
    )
    first, _ = undecided_words(found, by_rate=True)
    assert first.endswith("4.7x as fast); not even 10x or a tenth could be detected.")
    found.detectable_ratio = 0.061
    assert undecided_words(found, by_rate=True)[0].endswith("; smallest detectable change +6.1 % or -5.7 %.")
