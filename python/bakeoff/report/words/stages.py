"""How each stage of a changing rate went: as a row of a table, and at which stage a system broke as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ...analysis.wording import counted, grouped, interval_words, milliseconds_words, percent_words, rate_words
from ...findings.contestants import at_words
from ...findings.run_values import Spread
from ...findings.stages import STAGE_QUANTILES, StageAnswer
from ...model.records.plan import Scalar

_TIMES = ("p50", "p99", "p99.9")
#: Of the window; a rate is of operations per second.
HEADS = ("stage", "seconds", "kept", "offered", "correct", "errors", *_TIMES, *(f"service {one}" for one in _TIMES))
#: Columns of words.
WORDS = (0, 1, 2)
#: Of what falls due in a stage: a shorter queue before it is not worth words.
_QUEUE_RATIO = 0.01
#: Sentences of the headline.
SAID_MAX = 3
NOTE = (
    "Figures are of the whole seconds within a stage, operations by when they ended, percentiles from the merged"
    " histograms of those seconds. Service time, of operations that ended correctly, begins when an operation is sent,"
    " response time when it fell due. A stage kept its rate unless a queue grew in it by more than 1 % of what fell"
    " due; then no response time is stated. A queue from an earlier stage makes the times of the next one longer."
    " A ramp is shown in up to 5 parts, more than 24 stages as 24 equal parts of the time."
)


def row_cells(answer: StageAnswer) -> list[tuple[str, str]]:
    """As HEADS names them; each value, and what is said of it."""
    where = [(answer.stage, planned_words(answer)), (f"{grouped(answer.from_s)} to {grouped(answer.to_s)}", "")]
    if not answer.length_s or answer.offered_ops_per_s is None:
        return [*where, ("no whole second", ""), *[("-", "")] * (len(HEADS) - len(where) - 1)]
    return [
        *where,
        kept_words(answer),
        (rate_words(answer.offered_ops_per_s.value), ""),
        _rate(answer.rate_ops_per_s),
        (
            percent_words(answer.error_ratio) if answer.error_ratio else "0",
            "over the budget" if answer.over_budget else "",
        ),
        *(_time(answer.response.get(name), at_least=name in answer.at_least) for name in STAGE_QUANTILES),
        *(_time(answer.service.get(name)) for name in STAGE_QUANTILES),
    ]


def planned_words(answer: StageAnswer) -> str:
    """ "1,000/s", "1,000/s to 5,000/s", "pause"."""
    ends = dict.fromkeys(rate_words(rate) for rate in (answer.from_ops_per_s, answer.to_ops_per_s))
    return " to ".join(ends) if answer.highest_ops_per_s else "pause"


def kept_words(answer: StageAnswer) -> tuple[str, str]:
    if not answer.overloaded:
        queue, due = round(answer.backlog_before), answer.highest_ops_per_s * answer.length_s
        return "yes", f"after a queue of {queue:,}" if queue > _QUEUE_RATIO * due else ""
    often = f" in {answer.overloaded} of {answer.runs} runs" if answer.overloaded < answer.runs else ""
    return f"no{often}", f"{round(answer.backlog):,} waiting at its end"


def stage_sentences(answers: Sequence[StageAnswer], middle: Mapping[str, Scalar]) -> list[str]:
    """Of the middle setting: at which stage each contestant broke."""
    there = [one for one in answers if one.setting == dict(middle) and one.length_s]
    sentences = [_sentence(list(of_cell)) for _, of_cell in groupby(there, key=lambda one: one.cell)]
    left = len(sentences) - SAID_MAX
    more = [f"{counted(left, 'more system is', 'more systems are')} in the table of stages."] if left > 0 else []
    return [*sentences[:SAID_MAX], *more]


def broke_words(stages: Sequence[StageAnswer]) -> str:
    """stages: of one cell. "kept the offered rate in every stage, up to 5,000/s"; "broke in stage 3 (4,000/s)"."""
    first = next((one for one in stages if one.broke), None)
    if first is None:
        return f"kept the offered rate in every stage, up to {rate_words(_highest(stages))}"
    often = f" in {first.overloaded} of {first.runs} runs" if 0 < first.overloaded < first.runs else ""
    return f"broke in stage {first.stage} ({planned_words(first)}){often}"


def _sentence(stages: Sequence[StageAnswer]) -> str:
    first = next((at for at, one in enumerate(stages) if one.broke), None)
    who = f"{stages[0].contestant}{at_words(stages[0].setting_words)}"
    if first is None:
        return f"{who} {broke_words(stages)}, with no more errors than the plan allows."
    broke, before, after = stages[first], stages[:first], stages[first + 1 :]
    which = "the stage" if len(before) == 1 else f"all {len(before)} stages"
    kept = f"it kept {which} before, up to {rate_words(_highest(before))}" if before else ""
    again = [one for one in after if not one.broke]
    of_after = "the stage" if len(after) == 1 else f"{len(again)} of the {len(after)} stages"
    of_after = f"all {len(after)} stages" if len(again) == len(after) > 1 else of_after
    later = f"it kept {of_after} after" if again else ""
    return "; ".join([f"{who} {broke_words(stages)}: {_why(broke)}", *filter(None, (kept, later))]) + "."


def _why(broke: StageAnswer) -> str:
    return " and ".join(_reasons(broke))


def _reasons(broke: StageAnswer) -> Iterator[str]:
    if broke.overloaded and broke.rate_ops_per_s and broke.offered_ops_per_s:
        done, offered = rate_words(broke.rate_ops_per_s.value), rate_words(broke.offered_ops_per_s.value)
        yield f"it did {done} of {offered}, and {round(broke.backlog):,} operations were waiting at its end"
    if broke.over_budget:
        yield f"{percent_words(broke.error_ratio)} of its operations did not end ok, more than the error budget"


def _highest(stages: Sequence[StageAnswer]) -> float:
    return max(one.highest_ops_per_s for one in stages)


def _rate(spread: Spread | None) -> tuple[str, str]:
    if spread is None:
        return "-", ""
    return rate_words(spread.value), _between(spread, rate=True)


def _time(spread: Spread | None, *, at_least: bool = False) -> tuple[str, str]:
    if spread is None:
        return "-", ""
    return f"{'at least ' if at_least else ''}{milliseconds_words(spread.value)}", _between(spread, rate=False)


def _between(spread: Spread, *, rate: bool) -> str:
    """The interval; "" with one repetition."""
    if spread.low is None or spread.high is None:
        return ""
    return interval_words(spread.low, spread.high, rate_words if rate else milliseconds_words)
