"""What a comparison that shows no difference says, and how many more repetitions it asks for."""

import math

import numpy as np
import pytest
from bakeoff.analysis.estimate import POWER, Evidence
from bakeoff.analysis.looks import SPENT_RATIO, alpha_at
from bakeoff.analysis.student import t_critical
from bakeoff.analysis.undecided import MORE_MAX, more_repetitions, more_words, seen_words, short_words, signed_words


def evidence(effect: float, noise: float, blocks: int = 5) -> Evidence:
    """Of log-ratios that vary by `noise`."""
    return Evidence(effect, noise / math.sqrt(blocks), blocks - 1)


def test_the_levels_of_all_looks_add_up_to_five_percent() -> None:
    levels = [alpha_at(look, 0.05) for look in range(1, 40)]
    assert levels[:3] == pytest.approx([0.04, 0.008, 0.0016])
    assert sum(levels) == pytest.approx(0.05)


def test_the_repetitions_asked_for_decide_a_comparison_four_times_in_five() -> None:
    effect, noise = 0.02, 0.04
    more = more_repetitions(evidence(effect, noise), 0.05)
    assert more is not None
    blocks = 5 + more
    drawn = np.random.default_rng(7).normal(effect, noise, (4000, blocks))
    half = t_critical(0.05 * (1 - SPENT_RATIO), blocks - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(blocks)
    decided = float((np.abs(drawn.mean(axis=1)) > half).mean())
    assert POWER - 0.03 <= decided <= POWER + 0.06


def test_more_noise_asks_for_more_repetitions_and_a_larger_estimate_for_fewer() -> None:
    found = [
        more_repetitions(evidence(effect, noise), 0.05) for effect, noise in ((0.02, 0.02), (0.02, 0.03), (0.03, 0.03))
    ]
    assert None not in found
    least, most, same = (more or 0 for more in found)
    assert least < most
    assert abs(least - same) <= 1


def test_nothing_decides_what_recording_cannot_resolve_or_only_hundreds_of_runs_would() -> None:
    assert more_repetitions(evidence(0.0005, 0.0001), 0.05) is None
    assert more_repetitions(evidence(0.0005, 0.0), 0.05) is None
    assert more_repetitions(evidence(0.002, 0.05), 0.05) is None
    assert more_repetitions(evidence(0.015, 0.04), 0.05) in range(20, MORE_MAX + 1)
    assert more_words(None) == "more repetitions would hardly decide it"


@pytest.mark.parametrize(
    ("more", "words"),
    [(1, "about 1 more repetition"), (7, "about 7 more"), (11, "about 15 more"), (96, "about 100 more")],
)
def test_the_number_of_repetitions_is_as_rough_as_it_is_known(more: int, words: str) -> None:
    assert more_words(more).startswith(words)


def test_differences_above_a_hundred_percent_are_told_as_times() -> None:
    assert [signed_words(ratio) for ratio in (1.014, 0.95, 1.0, 5.8)] == ["+1.4 %", "-5.0 %", "0 %", "5.8 times"]
    assert seen_words(0.061, "a difference of ") == "a difference of 6.1 % would have been seen"
    assert seen_words(7.16) == "only 8.2 times or more would have been seen"
    assert short_words(1.3, 0.1, 20.0, 50.0) == "+30 %; not even 10 times as much would have been seen"
