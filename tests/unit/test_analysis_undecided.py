"""What a comparison that shows no difference says, and how many more repetitions it asks for."""

import math

import numpy as np
import pytest
from bakeoff.analysis.estimate import POWER, Evidence
from bakeoff.analysis.statistics import SPENT_RATIO, alpha_at, t_critical
from bakeoff.analysis.undecided import MORE_MAX, detectable_words, more_repetitions, more_words, short_words
from bakeoff.analysis.wording import signed_words


def evidence(effect: float, noise: float, blocks: int = 5) -> Evidence:
    """Of log-ratios that vary by `noise`."""
    return Evidence(effect, noise / math.sqrt(blocks), blocks - 1)


def test_the_levels_of_all_looks_add_up_to_five_percent() -> None:
    levels = [alpha_at(look, 0.05) for look in range(1, 40)]
    assert levels[:3] == pytest.approx([0.04, 0.008, 0.0016])
    assert sum(levels) == pytest.approx(0.05)


@pytest.mark.parametrize("truth", [0.0, 0.05])
def test_the_repetitions_asked_for_decide_for_the_size_that_matters(truth: float) -> None:
    """Counted: that the two are alike where nothing differs, and that they differ where it is by as much as matters."""
    matters, noise = 0.05, 0.04
    more = more_repetitions(evidence(0.013, noise), 0.04, matters)
    assert more is not None
    blocks, next_alpha, slack = 5 + more, 0.04 * (1 - SPENT_RATIO), math.log1p(1 / 1024)
    drawn = np.random.default_rng(7).normal(math.log1p(truth), noise, (4000, blocks))
    error = drawn.std(axis=1, ddof=1) / math.sqrt(blocks)
    middle = np.abs(drawn.mean(axis=1))
    if truth:
        decided = middle > t_critical(next_alpha, blocks - 1) * error + slack
    else:
        decided = middle + t_critical(next_alpha, blocks - 1) * error + slack < math.log1p(matters)
    assert POWER - 0.03 <= float(decided.mean()) <= POWER + (0.15 if truth else 0.1), (
        "equivalence needs more than a difference"
    )


def test_the_number_is_planned_for_what_matters_and_not_for_what_was_seen() -> None:
    found = {more_repetitions(evidence(seen, 0.03), 0.04, 0.03) for seen in (0.0, 0.001, 0.01, -0.02)}
    assert len(found) == 1
    assert None not in found


def test_more_noise_asks_for_more_repetitions_and_a_larger_size_for_fewer() -> None:
    least, most, same = (
        more_repetitions(evidence(0, noise), 0.05, size) or 0
        for noise, size in ((0.02, 0.02), (0.03, 0.02), (0.03, 0.03))
    )
    assert 0 < least < most
    assert abs(least - same) <= 1


def test_nothing_decides_what_recording_cannot_resolve_or_only_hundreds_of_runs_would() -> None:
    assert more_repetitions(evidence(0, 0.0001), 0.05, 0.0009) is None
    assert more_repetitions(evidence(0, 0.05), 0.05, 0.01) is None
    assert more_repetitions(evidence(0, 0.04), 0.05, 0.02) in range(40, MORE_MAX + 1)
    assert more_words(None) == "more than 100 more repetitions would be needed to decide it"


@pytest.mark.parametrize(
    ("more", "words"),
    [(1, "about 1 more repetition"), (7, "about 7 more"), (11, "about 15 more"), (96, "about 100 more")],
)
def test_the_number_of_repetitions_is_as_rough_as_it_is_known(more: int, words: str) -> None:
    assert more_words(more).startswith(words)


def test_what_could_be_detected_is_said_in_both_directions() -> None:
    assert [signed_words(ratio) for ratio in (1.014, 0.95, 1.0, 5.8)] == ["+1.4 %", "-5.0 %", "0 %", "5.8x"]
    assert detectable_words(0.74) == "smallest detectable change +74 % or -43 %"
    assert detectable_words(7.16) == "smallest detectable change 8.2x or -88 %"
    assert short_words(1.3, 0.1, 20.0, 50.0) == "+30 %; not even 10x or a tenth could be detected"
