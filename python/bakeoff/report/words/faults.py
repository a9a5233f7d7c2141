"""What the planned faults did, over the repetitions of each cell: as figures, as a row of a table, as a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...analysis.faults import BACK, FULL_RATE
from ...analysis.wording import counted, grouped, interval_words, milliseconds_words, percent_words, seconds_words
from ...findings.contestants import at_words
from ...findings.faults import FaultAnswer
from ...findings.run_values import Spread
from ...model.records.plan import Scalar

#: "After" is from the fault everywhere.
HEADS = (
    "fault",
    "noticed after",
    "no writes for",
    "recovered after",
    "second drop",
    "serves after",
    "longest wait",
    "failed",
    "unknown",
)
NO_PAUSE = "no pause"
#: Sentences of the headline.
SAID_MAX = 3


def row_words(answer: FaultAnswer) -> list[str]:
    """As HEADS names them."""
    return [f"{value} ({beneath})" if beneath else value for value, beneath in row_cells(answer)]


def row_cells(answer: FaultAnswer) -> list[tuple[str, str]]:
    """Each value, and what is said of it: its interval, and how it came about."""
    noticed = _words(answer, "time_to_detect_s", _precisely)
    gap, between = _words(answer, "time_without_writes_s", seconds_words)
    usual = f"before it up to {seconds_words(answer.gap_before_s)}" if answer.gap_before_s > 0 else ""
    rate, rate_between = _words(answer, FULL_RATE, seconds_words)
    least = "at least " if answer.not_back and FULL_RATE in answer.figures else ""
    back, back_between = _words(answer, BACK, _precisely)
    start, _ = _words(answer, "rejoin_s", _precisely)
    of_start = f"{start} from its start" if "rejoin_s" in answer.figures else ""
    return [
        (answer.fault, ""),
        ("by no failure", "") if answer.not_noticed == answer.runs else noticed,
        (gap, _listed(between, usual)),
        (f"{least}{rate}", rate_between),
        _words(answer, "second_drop_s", seconds_words),
        ("after the load", "") if answer.after_load else (back, _listed(back_between, of_start, *answer.rejoined)),
        _words(answer, "longest_wait_s", _precisely),
        (f"{answer.failed:,}", ""),
        (f"{answer.unknown:,}", ""),
    ]


def fault_sentences(answers: Sequence[FaultAnswer], middle: Mapping[str, Scalar]) -> list[str]:
    """Of the middle setting."""
    sentences = [_sentence(answer) for answer in answers if answer.setting == dict(middle) and answer.figures]
    left = len(sentences) - SAID_MAX
    more = [f"{counted(left, 'more fault is', 'more faults are')} in the table of planned faults."] if left > 0 else []
    return [*sentences[:SAID_MAX], *more]


def _sentence(answer: FaultAnswer) -> str:
    idle = _idle_words(answer)
    rate = answer.figures.get(FULL_RATE)
    if rate is None:
        again = ""
    elif answer.not_back:
        again = f"; throughput did not recover within {seconds_words(rate.maximum)}"
    elif rate.maximum == 0 and answer.second_drop:
        again = "; throughput did not drop at once"
    elif rate.maximum == 0:
        again = "; throughput never dropped" if idle == NO_PAUSE else "; otherwise throughput never dropped"
    else:
        again = f"; throughput recovered after {_spread(rate, seconds_words)}"
    lost = answer.failed + answer.unknown
    per_run = grouped(lost / answer.runs)
    only_reads = answer.unknown > 0 == answer.failed and not answer.unknown_writes
    ended = "reads got no answer" if only_reads else "operations failed or are unknown"
    errors = f"; {per_run} {ended}{' in each run' if answer.runs > 1 else ''}" if lost else ""
    loss = f"; {answer.loss}" if answer.loss else ""
    who = f"{answer.contestant}{at_words(answer.setting_words)}"
    return f"{who}, {answer.label}: {idle}{again}{_fall_words(answer)}{errors}{loss}."


def _fall_words(answer: FaultAnswer) -> str:
    """A second drop after recovery: servers that catch up may slow the others down."""
    if not answer.second_drop:
        return ""
    often = f"in {answer.second_drop} of {answer.runs} runs it" if answer.runs > 1 else "it"
    at = " to ".join(dict.fromkeys(map(seconds_words, answer.second_drop_at_s)))
    to = percent_words(answer.second_drop_to_ratio)
    longest_s = answer.figures["second_drop_s"].maximum if "second_drop_s" in answer.figures else 0.0
    lasted = f", for up to {seconds_words(longest_s)}" if longest_s else ""
    return f"; {often} dropped again {at} after the fault, to {to} of the throughput before{lasted}"


def closed_loop_words(answers: Sequence[FaultAnswer], middle: Mapping[str, Scalar]) -> list[str]:
    """Who waited in closed loops at the middle setting: a pause in which nobody sends hides in the percentiles."""
    waited = {one.contestant: one for one in answers if one.setting == dict(middle) and one.closed and one.runs}
    if not waited:
        return []
    said = [
        f"of {name} {grouped(one.waited_long / one.runs)} operations waited longer than 1 s"
        f"{' in each run' if one.runs > 1 else ''}, the longest {_precisely(one.longest_wait_s)}"
        for name, one in [*waited.items()][:SAID_MAX]
    ]
    return [
        f"In a closed loop a user who waits sends nothing, so percentiles hide the faults:"
        f" {'; '.join(said)}. Set `rate` to see the response times that all users would have had."
    ]


def _idle_words(answer: FaultAnswer) -> str:
    """For how long nothing was read, and nothing written; what writes may have waited for a user's read."""
    said = []
    for done, name in (("read", "time_without_reads_s"), ("written", "time_without_writes_s")):
        # Of work that only reads the second figure is of reads, and in older bundles the only one.
        only_read = not answer.writes and "time_without_reads_s" not in answer.figures
        done, gap = "read" if only_read else done, answer.figures.get(name)
        if gap and gap.value and (done == "read" or answer.writes):
            said.append(f"nothing was {done} for {_spread(gap, seconds_words)}")
    return " and ".join(said) or NO_PAUSE


def _precisely(value_s: float) -> str:
    return milliseconds_words(value_s * 1e3)


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _words(answer: FaultAnswer, name: str, words: Callable[[float], str]) -> tuple[str, str]:
    """The value and its interval."""
    spread = answer.figures.get(name)
    return ("-", "") if spread is None else (words(spread.value), _between(spread, words))


def _spread(spread: Spread, words: Callable[[float], str]) -> str:
    between = _between(spread, words)
    return words(spread.value) + (f" ({between})" if between else "")


def _between(spread: Spread, words: Callable[[float], str]) -> str:
    """The interval; "" where it says no more than the value."""
    if spread.low is None or spread.high is None:
        return ""
    between = interval_words(spread.low, spread.high, words)
    return "" if words(spread.low) == words(spread.high) == words(spread.value) else between
