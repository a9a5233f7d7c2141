"""The comparisons of one bundle: every contestant against the baseline in every setting, judged together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from ..analysis import compare
from ..analysis.compare import ComparisonAnswer
from ..analysis.estimate import REPETITIONS_MIN, Estimate, Evidence, Obstacle, RunValue, over_settings, paired
from ..analysis.limit import Limit
from ..analysis.metric import Metric
from ..analysis.statistics import alpha_after, alpha_at
from ..analysis.thresholds import Condition, parse_threshold
from ..analysis.wording import counted
from ..bundle.read import Bundle
from ..model import durability
from ..model.records.bundle import AnalysisRecord, FactsRecord
from ..model.records.plan import CellRecord, PlanRecord
from ..model.records.run import RunRecord
from . import interim_analyses as analyses
from .contestants import Contest, Setting, setting_words
from .promises import promises_by_cell
from .run_values import run_values, same_operations, why_no_value
from .runs import mark_words

Runs = Mapping[str, Sequence[RunRecord]]
Facts = Mapping[str, FactsRecord]
Pair = tuple[Setting, CellRecord, CellRecord]


@dataclass(frozen=True)
class Compared:
    """by_setting: of the objective, in the order of the settings. over_all: one for each contestant whose settings all
    lean the same way. by_metric: of the other metrics that a `fail_if` is about. before: the analyses before this one.
    alpha: what this one may take; None: nothing is claimed here that was not claimed before. pending: what is to be
    recorded before this is shown."""

    by_setting: list[ComparisonAnswer]
    over_all: list[ComparisonAnswer] = field(default_factory=list)
    by_metric: dict[str, list[ComparisonAnswer]] = field(default_factory=dict)
    before: list[AnalysisRecord] = field(default_factory=list)
    alpha: float | None = alpha_at(1, compare.ALPHA)
    pending: list[AnalysisRecord] = field(default_factory=list)

    @property
    def analysis(self) -> int:
        """Which analysis this is, from 1."""
        return len(self.before) + 1

    def of(self, metric: Metric, objective: Metric) -> list[ComparisonAnswer]:
        return self.by_setting if metric.name == objective.name else self.by_metric.get(metric.name, [])


def compare_all(contest: Contest, bundle: Bundle, runs: Runs, *, can_record: bool = True) -> Compared:
    """One family: every contestant against the baseline in every setting, by the objective and by each metric that a
    relative `fail_if` names. What earlier analyses claimed stands; what is open is judged at what this one may take.

    can_record: whether the analysis can be written down. Where it cannot, and was not given before, nothing new is
    claimed.
    """
    pairs = contest.pairs
    asked = {fails.objective.name: fails.objective for fails in relative_thresholds(contest.plan)}
    metrics = [contest.objective, *(metric for name, metric in asked.items() if name != contest.objective.name)]
    own = [one for one in bundle.analyses if not one.before]  # the others are of this bundle against another
    made = max((run.block for found in runs.values() for run in found), default=0)
    old = [] if own else _before_records(contest, metrics, pairs, bundle, runs, made)
    past = [*own, *old]
    claimed = analyses.claims(past)
    estimates = _estimates(contest, metrics, pairs, bundle, runs, claimed)
    shape = [f"shape of {contest.objective.name}"] if contest.axis and contest.is_swept(contest.axis) else []
    values = [*value_thresholds(contest.plan), *analyses.limit_questions(contest.plan.limits)]
    family = [*estimates, *(analyses.at_prices(one, contest.plan.cells) for one in (*shape, *values))]
    data = analyses.fingerprint(bundle.runs)
    index = analyses.place_of(past, data, family)
    before, this = (past, None) if index is None else (past[:index], past[index])
    alpha: float | None = this.alpha if this else alpha_after([one.alpha for one in past], compare.ALPHA)
    given_before = this is not None or (not own and _was_answered(bundle, made))
    if not can_record and not given_before:
        alpha = None
    found = analyses.judged(estimates, before, alpha, this, contest.plan.matters_ratio)
    judged = made >= REPETITIONS_MIN if shape else any(isinstance(e.finding, Evidence) for e in estimates.values())
    judged = judged or (bool(values) and made > 1)
    pending = []
    if this is None and alpha is not None and judged:
        pending = [*old, analyses.record(data, family, alpha, found)]
    answers = _answers(contest, metrics, pairs, list(found.values()), bundle, runs)
    by_setting = answers.pop(contest.objective.name)
    wholes = {
        question: answered((), one, []).model_copy(update={"setting_words": one.cell})
        for question, one in list(found.items())[len(metrics) * len(pairs) :]
    }
    shown = [one for question, one in wholes.items() if question in claimed or lean_alike(one, by_setting)]
    return Compared(by_setting, shown, answers, before, alpha, pending)


def _estimates(
    contest: Contest,
    metrics: Sequence[Metric],
    pairs: Sequence[Pair],
    bundle: Bundle,
    runs: Runs,
    claimed: Collection[str],
) -> dict[str, Estimate]:
    """By the question that each answers. Those over all settings are of the objective, and come last. claimed: the
    questions that earlier analyses answered."""
    values = Values(bundle, runs)
    found = {
        analyses.at_prices(f"{metric.name}: {other.id} against {base.id}", (base,), (other,)): _estimate(
            contest, metric, base, other, values
        )
        for metric in metrics
        for _, base, other in pairs
    }
    first = list(found.values())[: len(pairs)]
    cells = {cell.id: cell for _, base, other in pairs for cell in (base, other)}
    every = analyses.short(",".join(sorted(cells)))

    def question(other: str, base: str) -> str:
        words = f"{contest.objective.name}: {other} against {base} over all of {every}"
        return analyses.at_prices(words, cells.values())

    return found | over_all(first, question, claimed)


def _answers(
    contest: Contest,
    metrics: Sequence[Metric],
    pairs: Sequence[Pair],
    found: Sequence[compare.Comparison],
    bundle: Bundle,
    runs: Runs,
) -> dict[str, list[ComparisonAnswer]]:
    made: dict[str, list[ComparisonAnswer]] = {metric.name: [] for metric in metrics}
    promises = promises_by_cell(bundle)
    for (metric, (setting, base, other)), one in zip(product(metrics, pairs), found, strict=False):
        whys = {
            "base_why": "" if one.base_value else why_no_value(bundle, runs[base.id], metric),
            "other_why": "" if one.other_value else why_no_value(bundle, runs[other.id], metric),
        }
        mark = mark_words([*runs[base.id], *runs[other.id]])
        broken = [
            promises[cell.id].violation_words(contest.contestant(cell))
            for cell in (other, base)
            if cell.id in promises and promises[cell.id].is_violated
        ]
        notes = [*broken, *_notes(contest, base, other, bundle.facts), *([mark] if mark else [])]
        answer = answered(setting, one, notes)
        made[metric.name].append(answer.model_copy(update=whys))
    return made


def relative_thresholds(plan: PlanRecord) -> list[Condition]:
    found = (parse_threshold(text, plan.rates) for text in plan.fail_if)
    return [one for one in found if isinstance(one, Condition)]


def value_thresholds(plan: PlanRecord) -> list[str]:
    return [text for text in plan.fail_if if isinstance(parse_threshold(text, plan.rates), Limit)]


def _was_answered(bundle: Bundle, made: int) -> bool:
    """Of a bundle from before analyses were recorded: whether this answer was given at its end."""
    return bundle.info.state == "complete" or made in bundle.info.analysed_repetitions


def _before_records(
    contest: Contest, metrics: Sequence[Metric], pairs: Sequence[Pair], bundle: Bundle, runs: Runs, made: int
) -> list[AnalysisRecord]:
    """The analyses of a bundle from before they were recorded, which noted only over how many repetitions they were."""
    found: list[AnalysisRecord] = []
    blocks_of = sorted(blocks for blocks in set(bundle.info.analysed_repetitions) if REPETITIONS_MIN <= blocks < made)
    for blocks in blocks_of:
        seen = {cell: [run for run in of if run.block <= blocks] for cell, of in runs.items()}
        estimates = _estimates(contest, metrics, pairs, bundle, seen, analyses.claims(found))
        alpha = alpha_after([one.alpha for one in found], compare.ALPHA)
        judged = analyses.judged(estimates, found, alpha)
        data = analyses.fingerprint([run for run in bundle.runs if run.block <= blocks])
        found.append(analyses.record(data, list(estimates), alpha, judged))
    return found


def _estimate(contest: Contest, objective: Metric, base: CellRecord, other: CellRecord, values: Values) -> Estimate:
    words = setting_words(contest.setting(other))
    names = contest.contestant(base), contest.contestant(other)
    why = _refusal(base, other, values.runs, values.bundle.facts, objective)
    if why:
        obstacle = Obstacle("not comparable", f"not compared: {why}")
        return Estimate(words, objective, *names, "paired", 0, None, None, obstacle)
    return estimate_in_blocks(words, objective, names, (base, other), values)


@dataclass(frozen=True)
class Values:
    """What the runs of each cell say to a metric. A cell is asked once, however often it is compared."""

    bundle: Bundle
    runs: Runs
    _known: dict[tuple[str, Metric], dict[int, RunValue]] = field(default_factory=dict)

    def of(self, cell: CellRecord, metric: Metric) -> Mapping[int, RunValue]:
        """By block."""
        if (cell.id, metric) not in self._known:
            self._known[cell.id, metric] = run_values(self.bundle, self.runs[cell.id], metric)
        return self._known[cell.id, metric]

    @cached_property
    def block_at(self) -> dict[int, int]:
        """By a run's place in the schedule."""
        return {run.order: run.block for found in self.runs.values() for run in found}


def estimate_in_blocks(
    words: str, objective: Metric, names: tuple[str, str], cells: tuple[CellRecord, CellRecord], values: Values
) -> Estimate:
    """names, cells: of the base and of the other."""
    base, other = cells
    found = paired(words, objective, *names, values.of(base, objective), values.of(other, objective))
    apart, together = _apart(values.runs[base.id], values.runs[other.id], values.block_at)
    if not apart:
        return found
    where = f"in {apart} of {counted(apart + together, 'block', 'blocks')} other blocks' runs lie between the two"
    if apart > together:
        why = f"not compared: their runs were made at different times ({where}); run the plan again without --resume"
        return replace(found, finding=Obstacle("not comparable", why))
    return replace(found, notes=(*found.notes, f"{where}: what drifted meanwhile is in the difference"))


def _apart(base: Sequence[RunRecord], other: Sequence[RunRecord], block_at: Mapping[int, int]) -> tuple[int, int]:
    """Blocks whose two runs were not, and were, made one after the other: a plan that grew, or a failed run that was
    repeated, puts a run into an old block on a later day."""
    order_of = {run.block: run.order for run in other}
    spans = [(run.block, sorted((run.order, order_of[run.block]))) for run in base if run.block in order_of]
    apart = sum(
        any(block_at.get(order, block) != block for order in range(first, last)) for block, (first, last) in spans
    )
    return apart, len(spans) - apart


def _refusal(base: CellRecord, other: CellRecord, runs: Runs, facts: Facts, objective: Metric) -> str:
    """What makes a comparison of the two meaningless; "" if nothing does."""
    if not other.has_rows_of(base):
        return "their data sets differ"
    if _times_and_kinds(base) != _times_and_kinds(other):
        return "not the same faults were planned for both"
    waits_for_it = base.writes or other.writes or objective.per == "load"
    if waits_for_it and _survive_otherwise(base, other, facts) and not _durability_is_declared(base, other, facts):
        how = f"{_durability(other, facts)} against {_durability(base, facts)}"
        return f"their durability differs: {how}, and the plan does not ask for that: write `durability` in it"
    if _different_work(base, other, runs):
        return "the two were not asked for the same operations (the hashes of their streams differ)"
    return ""


def _times_and_kinds(cell: CellRecord) -> list[tuple[float, str, float | None, float | None]]:
    """What is done and when; nodes have names of their own in each system."""
    return [(fault.at_s, fault.do, fault.for_s, fault.by_s) for fault in cell.faults]


def _survive_otherwise(base: CellRecord, other: CellRecord, facts: Facts) -> bool:
    """By what is lost, not by what it is called; by the name where that is all there is. False: not known."""
    found = [_survival(cell, facts) for cell in (base, other)]
    if found[0] is not None and found[1] is not None:
        return durability.kind_of_loss(found[0]) != durability.kind_of_loss(found[1])
    levels = [_level(cell, facts) for cell in (base, other)]
    return None not in levels and levels[0] != levels[1]


def _survival(cell: CellRecord, facts: Facts) -> durability.Survival | None:
    return durability.read(facts[cell.id].portable) if cell.id in facts else None


def _level(cell: CellRecord, facts: Facts) -> str | None:
    """As read back, else as the plan asks; None: not known."""
    return facts[cell.id].portable.get("durability") if cell.id in facts else cell.durability


def _durability(cell: CellRecord, facts: Facts) -> str:
    survival = _survival(cell, facts)
    return f"{_level(cell, facts)} ({durability.words(survival)})" if survival else str(_level(cell, facts))


def _durability_is_declared(base: CellRecord, other: CellRecord, facts: Facts) -> bool:
    """By a level that the plan asks of each, and each has: it names the least that is kept; by a factor of that name;
    or, of two instances of our own of one kind, by the settings that the plan gives them: nothing else can have made
    the difference."""
    factor = any(_is_durability(name) for cell in (base, other) for name in cell.levels)
    asked = all(cell.durability is not None and cell.durability == _level(cell, facts) for cell in (base, other))
    ours = all(cell.id in facts and facts[cell.id].managed for cell in (base, other))
    return factor or asked or (base.kind == other.kind and ours)


def _is_durability(factor: str) -> bool:
    return factor.rpartition(".")[2] == "durability"


def _different_work(base: CellRecord, other: CellRecord, runs: Runs) -> bool:
    """Only where both were meant to be asked for the same. Where nothing is put back a repeated run has other keys."""
    if (base.threads, base.clients, base.workload) != (other.threads, other.clients, other.workload):
        return False
    theirs = {run.block: run for run in runs[other.id]}
    pairs = [(run, theirs[run.block]) for run in runs[base.id] if run.block in theirs]
    if "none" in (base.reset, other.reset):
        pairs = [(a, b) for a, b in pairs if a.attempt == b.attempt]
    return any(not same_operations(a, b) for a, b in pairs)


def _notes(contest: Contest, base: CellRecord, other: CellRecord, facts: Facts) -> list[str]:
    """Where durability is what is compared, the contestants' names say it."""
    if _is_durability(contest.factor):
        return []
    how = f"{_durability(other, facts)} against {_durability(base, facts)}"
    if not _survive_otherwise(base, other, facts):
        alike = len({_kind_of_words(_survival(cell, facts)) for cell in (base, other)}) == 1
        return [] if alike else [f"durability is {_level(base, facts)} for both, but what they lose differs: {how}"]
    if not _durability_is_declared(base, other, facts):
        # Of work that writes the answer says so.
        return [] if base.writes or other.writes else [f"durability differs, but the work only reads: {how}"]
    if base.durability is not None and base.durability == other.durability:
        return [f"durability differs though both are called {base.durability}: {how}"]
    return [f"durability differs, as the plan declares: {how}"]


def _kind_of_words(survival: durability.Survival | None) -> str:
    """What is lost, without how many seconds of it."""
    return re.sub(r"[0-9.]+", "", durability.words(survival)) if survival else ""


def answered(setting: Setting, found: compare.Comparison, notes: list[str]) -> ComparisonAnswer:
    own = {"setting": dict(setting), "setting_words": setting_words(setting), "notes": [*found.notes, *notes]}
    return ComparisonAnswer(**found.model_dump() | own)


def over_all(
    estimates: Sequence[Estimate], question: Callable[[str, str], str], claimed: Collection[str]
) -> dict[str, Estimate]:
    """One for each contestant that meets the baseline in several settings, by the question of the two names. They are
    judged with those of the settings, whichever way these lean, so that nothing is picked by what was seen. claimed:
    the questions that earlier analyses answered, which stay."""
    found = {}
    for other in dict.fromkeys(e.other for e in estimates):
        theirs = [e for e in estimates if e.other == other]
        asked = question(other, theirs[0].base)
        words = f"over all {len(theirs)} settings"
        if len(theirs) > 1 and (whole := over_settings(words, theirs, claimed=asked in claimed)):
            found[asked] = whole
    return found


def lean_alike(whole: ComparisonAnswer, by_setting: Sequence[ComparisonAnswer]) -> bool:
    ratios = [c.ratio for c in by_setting if c.other == whole.other and c.ratio is not None]
    return all(ratio > 1 for ratio in ratios) or all(ratio < 1 for ratio in ratios)
