"""What a search found: the runs that it tried, the capacity of each contestant, and which has more."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from pydantic import Field

from ...analysis.cost import cost_metric, typical_cost
from ...analysis.limit import TOO_FEW, Limit
from ...analysis.metric import Observed
from ...analysis.search import Difference, Ends, Outcome, Question, Trial, difference, so_far
from ...analysis.wording import (
    count_words,
    counted,
    interval_of_ratio,
    percent_words,
    rate_words,
    seconds_words,
    than_words,
)
from ...bundle.read import Bundle
from ...model.boundary import Document
from ...model.records.plan import SearchRecord
from ...model.records.run import RunRecord
from ..contestants import Contest, setting_words
from ..run_values import observed
from .limits import search_limits
from .search_verdict import SearchVerdict, search_verdict

#: high / low of an interval.
_USEFUL_RATIO = 1.5


def is_useful(low: float, high: float) -> bool:
    """Whether an interval that is wider than was asked for is still an answer."""
    return 0 < high <= _USEFUL_RATIO * low


_WERE = {
    "overloaded": "were overloaded",
    "too many failed": "had too many failed operations",
    "not valid": "were not valid",
    "disturbed": "were disturbed",
    "not stated": "could not state it",
}


class CapacityCost(Document):
    """Per billion operations at the capacity, with its 95 % CI, in `currency`. low, high: None where nothing is paid
    by the hour, so that the capacity's interval says nothing of the cost."""

    currency: str
    estimate: float
    low: float | None
    high: float | None

    @property
    def words(self) -> str:
        """ "there a billion operations cost 12.3 USD (95 % CI 11.9 USD to 12.8 USD)"."""
        words = cost_metric(self.currency).words
        if self.low is None or self.high is None:
            return f"there a billion operations cost {words(self.estimate)} (requests only, so no interval)"
        return (
            f"there a billion operations cost {words(self.estimate)} (95 % CI {words(self.low)} to {words(self.high)})"
        )


class Capacity(Document):
    """status: as of `Outcome`, and "cut short" where the search had not ended. low, high: a 95 % CI; of a search
    that found nothing on one side, None there. In the factor's own unit; of counts whole numbers. held: at which
    levels the limits hold. subject: as of `SearchRecord`. cost: at a rate, where the system has prices."""

    subject: str
    contestant: str
    setting_words: str
    status: str
    estimate: float | None
    low: float | None
    high: float | None
    runs: int
    words: str
    held: SearchVerdict
    cost: CapacityCost | None = None

    @property
    def is_found(self) -> bool:
        """Also where the interval is wider than planned for, but still of use."""
        useful = self.low is not None and self.high is not None and is_useful(self.low, self.high)
        return self.status == "found" or (self.status == "not found" and useful)


class CapacityDifference(Document):
    """Of two contestants: other / base, with its 95 % CI."""

    setting_words: str
    base: str
    other: str
    ratio: float
    low: float
    high: float
    words: str


class SearchAnswer(Document):
    factor: str
    highest: bool
    limits: list[str]
    question: str  # "the highest rate with p99 below 2 ms"
    found: list[Capacity]
    differences: list[CapacityDifference]
    #: Of the costs at the capacities.
    cost_differences: list[CapacityDifference] = Field(default_factory=list)


def search_answer(contest: Contest, bundle: Bundle) -> SearchAnswer | None:
    search = contest.plan.search
    if search is None:
        return None
    limits = search_limits(contest.plan)
    outcomes: dict[tuple[str, str], Outcome] = {}
    found = []
    cells = {search.subject(cell): cell for cell in contest.plan.cells}
    disturbed = disturbed_by_subject(bundle, search)
    for subject, tried in trials_by_subject(bundle, search, limits).items():
        who = contest.contestant(cells[subject])
        where = setting_words(contest.without_axis(contest.setting(cells[subject])))
        outcome = so_far(question_of(search), [trial for _, trial in tried])
        if outcome is not None:
            outcomes[who, where] = outcome
            ended = bundle.info.state == "complete"
            estimate, low, high = _ends(search, outcome)
            left = disturbed[subject]
            why = _why_words(search, outcome, bundle, [run for run, _ in tried], limits)
            capacity = Capacity(
                subject=subject,
                contestant=who,
                setting_words=where,
                status=outcome.status if ended else "cut short",
                estimate=estimate,
                low=low,
                high=high,
                runs=outcome.runs,
                words=_outcome_words(search, who, outcome, ended=ended) + why,
                held=search_verdict(search, outcome, (low, high), tried, left, bundle, limits, ended=ended),
            )
            kept = [observed(bundle, run) for run, trial in tried if trial.kept]
            found.append(capacity.model_copy(update={"cost": _cost(search, capacity, kept)}))
    return SearchAnswer(
        factor=search.factor,
        highest=search.highest,
        limits=search.limits,
        question=search.question_words(limit.words for limit in limits),
        found=found,
        differences=list(_differences(search.sought_words, contest, outcomes)),
        cost_differences=list(
            _differences(
                cost_label(search),
                contest,
                {(one.contestant, one.setting_words): one.cost for one in found if one.cost is not None},
            )
        ),
    )


def cost_label(search: SearchRecord) -> str:
    return f"cost per billion operations at the {search.sought_words}"


def _cost(search: SearchRecord, found: Capacity, kept: Sequence[Observed]) -> CapacityCost | None:
    """kept: the runs that kept the limits, for what they stored and requested. None where nothing is paid, too: no
    ratio to it exists."""
    cost = typical_cost(kept) if search.factor == "rate" and found.is_found else None
    prices = kept[0].prices if kept else None
    if cost is None or prices is None or not (found.estimate and found.low and found.high):
        return None
    if cost.per_s == cost.per_op == 0:
        return None
    at, least, most = map(cost.per_billion, (found.estimate, found.high, found.low))
    low, high = (least, most) if cost.per_s else (None, None)
    return CapacityCost(currency=prices.currency, estimate=at, low=low, high=high)


def _ends(search: SearchRecord, outcome: Outcome) -> tuple[float | None, float | None, float | None]:
    """Estimate, low and high; of counts the last one that keeps the limit, which lies between two of them."""
    whole = math.floor if search.highest else math.ceil
    estimate, low, high = (
        float(whole(end)) if search.whole and end is not None else end
        for end in (outcome.estimate, outcome.low, outcome.high)
    )
    return estimate, low, high


def _outcome_words(search: SearchRecord, who: str, outcome: Outcome, *, ended: bool) -> str:
    estimate, low, high = _ends(search, outcome)
    runs = counted(outcome.runs, "run", "runs")
    if outcome.status in ("always", "never"):
        return _end_words(search, outcome, runs)
    if outcome.margin is not None:
        flat = _flat_words(search, who, outcome.margin)
        return f"{flat} ({runs})" if ended else f"cut short after {runs}: {flat}"
    if outcome.status == "unjudged":
        assert outcome.silent_to is not None
        return f"could not be judged at {_up_to(search, outcome.silent_to)} ({runs})"
    if low is not None and high is not None and estimate is not None:
        between = f"{sought_level_words(search.factor, low)} to {sought_level_words(search.factor, high)}"
        if outcome.status == "found":
            interval = "exactly, by a 95 % CI" if search.whole and low == high else f"95 % CI {between}"
            return f"{sought_level_words(search.factor, estimate)} ({interval}; {runs})"
        if ended and is_useful(low, high):
            return (
                f"about {sought_level_words(search.factor, estimate)} (95 % CI {between}, wider than asked for; {runs})"
            )
        ends = f"{sought_level_words(search.factor, low)} and {sought_level_words(search.factor, high)}"
        known = f"between {ends} is all that is known (95 % CI)"
        return f"not found in {runs}: {known}" if ended else f"cut short after {runs}: {known}"
    reached = low if low is not None else high
    assert reached is not None, "a search that has runs has come somewhere"
    return f"{beyond_words(search, reached, up=low is not None)} in {runs}"


def _end_words(search: SearchRecord, outcome: Outcome, runs: str) -> str:
    kept = outcome.status == "always"
    up = kept == search.highest
    even = f"{'met' if kept else 'missed'} even there; {runs}"
    if not up and outcome.silent_to is not None:
        return f"below the lowest {search.level_name} that could be judged ({even})"
    return f"{beyond_words(search, search.high if up else search.low, up=up)} ({even})"


def beyond_words(search: SearchRecord, level: float, *, up: bool) -> str:
    """ "below 430/s, the lowest rate tried": where a search ended at the last level of its range."""
    where, end = ("above", "highest") if up else ("below", "lowest")
    return f"{where} {sought_level_words(search.factor, level)}, the {end} {search.level_name} tried"


def _why_words(
    search: SearchRecord, outcome: Outcome, bundle: Bundle, runs: Sequence[RunRecord], limits: Sequence[Limit]
) -> str:
    """Why runs could not say whether they kept the limits, where that is why nothing was found."""
    words = ""
    at_the_low_end = outcome.status == "unjudged" or outcome.status == ("never" if search.highest else "always")
    if at_the_low_end and outcome.silent_to is not None:
        window = f"a window of {seconds_words(bundle.plan.window_s)}" if bundle.plan.window_s else "a run"
        most = max(run.completed for run in runs if unsaid(bundle, run, limits) == TOO_FEW)
        which = " and ".join(limit.metric.label for limit in limits if limit.metric.quantile is not None)
        where = ":" if outcome.status == "unjudged" else f"; at {_up_to(search, outcome.silent_to)}"
        words = f"{where} {window} has too few operations for a {which} ({count_words(most)} at most): make it longer"
    others = Counter(why for run in runs if (why := unsaid(bundle, run, limits)) not in ("", TOO_FEW))
    if outcome.status == "never" and others:
        words += f"; of these runs {', '.join(f'{count} {_WERE.get(why, why)}' for why, count in others.items())}"
    return words


def _up_to(search: SearchRecord, level: float) -> str:
    return (
        sought_level_words(search.factor, level)
        if level <= search.low
        else f"{sought_level_words(search.factor, level)} and below"
    )


def _flat_words(search: SearchRecord, who: str, margin: float) -> str:
    """The share is rounded up: "within"."""
    percent = max(1, math.ceil(100 * abs(math.expm1(margin))))
    where = "with hardly any load" if search.highest else f"far above the {search.sought_words} that may keep it"
    return (
        f"the limit is within {percent} % of what {who} takes {where}, so the level at which it is reached is unknown:"
        " set a limit that load can break"
    )


def sought_level_words(factor: str, value: float) -> str:
    """ "12,300/s", "48 threads"."""
    if factor == "rate":
        return rate_words(float(f"{value:.3g}"))
    name = factor.removesuffix("s") if value == 1 else factor
    return f"{value:,.0f} {name}"


def _differences(name: str, contest: Contest, outcomes: Mapping[tuple[str, str], Ends]) -> Sequence[CapacityDifference]:
    """name: of what differs. outcomes: by contestant and setting."""
    found = []
    for (who, where), outcome in outcomes.items():
        base = outcomes.get((contest.baseline, where))
        if who == contest.baseline or base is None or (gap := difference(base, outcome)) is None:
            continue
        words = _difference_words(name, contest.baseline, who, gap) + (f" ({where})" if where else "")
        found.append(
            CapacityDifference(
                setting_words=where,
                base=contest.baseline,
                other=who,
                ratio=gap.ratio,
                low=gap.low,
                high=gap.high,
                words=words,
            )
        )
    return found


def _difference_words(name: str, base: str, other: str, gap: Difference) -> str:
    if gap.low <= 1 <= gap.high:
        low, high = (f"{'+' if end > 1 else '-'}{percent_words(abs(end - 1))}" for end in (gap.low, gap.high))
        return f"No difference of the {name} shown: {other} against {base} {low} to {high} (95 % CI)"
    interval = f"95 % CI {interval_of_ratio(gap.ratio, gap.low, gap.high)}"
    return f"{other}'s {name} is {than_words(gap.ratio)} {base}'s ({interval})"


def question_of(search: SearchRecord) -> Question:
    return Question(
        low=search.low,
        high=search.high,
        first=search.first,
        highest=search.highest,
        whole=search.whole,
        precision_ratio=search.precision_ratio,
        runs_max=search.runs,
    )


def excess(bundle: Bundle, run: RunRecord, limits: Sequence[Limit]) -> float:
    """Beyond the limit that the run kept least: all are to be kept. NaN where one of them could not be judged for too
    few operations, and none was broken."""
    seen = observed(bundle, run)
    found = [limit.excess(seen) for limit in limits]
    worst = max((one for one in found if not math.isnan(one)), default=math.nan)
    return math.nan if worst < 0 and any(map(math.isnan, found)) else worst


def unsaid(bundle: Bundle, run: RunRecord, limits: Sequence[Limit]) -> str:
    """Why the run does not say whether it kept the limits: "overloaded"; "" where it does."""
    statuses = (limit.status(observed(bundle, run)) for limit in limits)
    return next((status for status in statuses if status not in ("met", "not met")), "")


def trials_by_subject(
    bundle: Bundle, search: SearchRecord, limits: Sequence[Limit]
) -> dict[str, list[tuple[RunRecord, Trial]]]:
    """In the order in which they were made, without those that say nothing; a subject without any has an empty list."""
    cells = {cell.id: cell for cell in bundle.plan.cells}
    found: dict[str, list[tuple[RunRecord, Trial]]] = {search.subject(cell): [] for cell in cells.values()}
    for run in sorted(bundle.runs, key=lambda run: run.block):
        if run.leaves_its_place_open:
            continue
        cell = cells[run.cell]
        level = float(cell.levels[search.factor])
        found[search.subject(cell)].append((run, Trial(level, excess(bundle, run, limits))))
    return found


def disturbed_by_subject(bundle: Bundle, search: SearchRecord) -> defaultdict[str, list[tuple[RunRecord, float]]]:
    """Attempts that were disturbed and do not count, with their levels, in the order in which they were made."""
    cells = {cell.id: cell for cell in bundle.plan.cells}
    found: defaultdict[str, list[tuple[RunRecord, float]]] = defaultdict(list)
    for run in sorted(bundle.attempts, key=lambda run: (run.block, run.attempt)):
        if run.standing == "disturbed" and not run.valid:
            cell = cells[run.cell]
            found[search.subject(cell)].append((run, float(cell.levels[search.factor])))
    return found
