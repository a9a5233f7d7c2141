"""The answer of a bundle as plain data: every figure with its spread, its cost and its validity; every comparison in
words; what was left out, and what none of it shows. The terminal's table, --json and the page are views of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import Field

from ..analysis.compare import ComparisonAnswer
from ..analysis.metric import Metric, Observed
from ..analysis.registry import metric
from ..analysis.wording import counted
from ..bundle.read import Bundle
from ..errors import BakeoffError
from ..findings.cells import CellAnswer
from ..findings.clients_and_nodes import ClientAnswer, NodeAnswer
from ..findings.configuration import Difference
from ..findings.contestants import Contest
from ..findings.differing_figures import CellsDiffer
from ..findings.faults import FaultAnswer
from ..findings.in_bundle import Findings, findings_in
from ..findings.limits_and_searches.contradictions import Contradiction
from ..findings.limits_and_searches.limits import LimitFinding
from ..findings.limits_and_searches.searches import SearchAnswer
from ..findings.limits_and_searches.thresholds import ThresholdAnswer
from ..findings.promises import PromiseAnswer
from ..findings.runs import counted_words, mark_words
from ..findings.shapes import ShapeAnswer
from ..findings.stages import StageAnswer
from ..model.boundary import Document
from ..model.prices import Priced
from ..model.records.bundle import AnalysisRecord
from ..model.resolve import Rate
from .first_screen import FirstScreen, first_screen
from .words.cells import abort_words
from .words.clients_and_nodes import places_differ_words
from .words.doubts import disturbed_sentences, lost_sentences, resume_words
from .words.failures_and_isolation import NONE_FAILED, isolation_sentences, with_failures
from .words.headline import headline_words, value_analysis_words
from .words.limits import threshold_sentences
from .words.not_shown import limits_of
from .words.promises import promise_sentences


class MetricShown(Document):
    """A metric besides those of every report, the workload's own or a requested one: a column and a chart."""

    name: str
    label: str
    unit: str
    better: str
    about: str


class Answer(Document):
    title: str
    description: str
    created: str
    #: "", or why the bundle is not the whole plan.
    incomplete: str
    demonstration: str
    #: "", or the mark of every figure here: disturbed runs count.
    disturbed: str = ""
    #: Other processes, or another disturbance, left some cell fewer runs than a claim needs.
    too_busy: bool = False
    objective: str
    objective_words: str
    pacing: str
    measured: str  # warm-up, window and repetitions in words
    #: What a reader sees first; all that follows are its details.
    first: FirstScreen
    headline: list[str]
    comparisons: list[ComparisonAnswer]
    #: One for each contestant whose settings all lean the same way; judged together with `comparisons`.
    over_all: list[ComparisonAnswer] = Field(default_factory=list)
    #: Along the axis of a sweep: what the server's own counters did from each level to the next.
    between_levels: list[CellsDiffer] = Field(default_factory=list)
    #: Which analysis of this bundle it is, from 1: data were added after those before it.
    analysis: int = 1
    #: Over the axis, where it is a swept number; in a sweep they take the place of comparisons.
    shapes: list[ShapeAnswer] = Field(default_factory=list)
    thresholds: list[ThresholdAnswer] = Field(default_factory=list)
    #: What the plan's search found.
    search: SearchAnswer | None = None
    #: Where the plan's limits and thresholds say otherwise than its search.
    contradictions: list[Contradiction] = Field(default_factory=list)
    #: Of systems of several nodes, in the order of cells.
    nodes: list[NodeAnswer] = Field(default_factory=list)
    #: Where there are several, or one is on another machine: each, or of many each machine's, and the slower ones.
    clients: list[ClientAnswer] = Field(default_factory=list)
    #: What was done to servers as planned, and what that did to the load.
    faults: list[FaultAnswer] = Field(default_factory=list)
    #: Of an offered rate that changes: how each stage went.
    stages: list[StageAnswer] = Field(default_factory=list)
    #: Whether the systems keep what their levels promise, where the plan asks for checks.
    promises: list[PromiseAnswer] = Field(default_factory=list)
    #: How each contestant stood to the limits of the plan.
    held: list[LimitFinding] = Field(default_factory=list)
    cells: list[CellAnswer]
    metrics: list[MetricShown] = Field(default_factory=list)
    #: Those of the metrics that are the plan's own.
    rates: list[Rate | Priced] = Field(default_factory=list)
    #: The factor whose levels the contestants are: "system", "threads", ...
    compared: str
    contestants: list[str]
    #: How far the figures may be believed, the worst first.
    validity: list[str]
    #: Of several plans side by side: what each says where they do not say the same.
    between_plans: list[Difference] = Field(default_factory=list)
    #: Differences of configuration that the plan does not declare.
    undeclared: list[Difference]
    runs_finished: int
    runs_valid: int
    runs_planned: int
    skipped: dict[str, str]
    messages: list[str]
    limits: list[str]
    command: str
    bakeoff_version: str


#: Shown of every cell without being asked for.
_IN_EVERY_REPORT = {"rate", "latency_p50", "latency_p95", "latency_p99", "latency_p999", "latency_max"}
#: Another command may record an analysis of the bundle at the same time.
ATTEMPTS_MAX = 5
#: Sentences about levels of isolation on the first screen; the others stand with the limits.
LEVELS_MAX = 2
_BETTER = {"higher": "more is better", "lower": "less is better", "neither": "neither more nor less is better"}
#: After these a bundle is continued; one that still runs continues by itself.
_STOPPED = ("interrupted", "failed")
_STATES = {"interrupted": "it was interrupted", "failed": "it was stopped by an error", "running": "it still runs"}
DEMONSTRATION = (
    "This is a demonstration: its runs are short and its machine is shared. It shows how a comparison is made and read,"
    " not which of these systems is faster for you."
)


def answer_of(
    bundle: Bundle,
    metrics: Sequence[Metric] = (),
    comparisons: Sequence[ComparisonAnswer] | None = None,
) -> Answer:
    """metrics: to be shown besides those of every report; the objective is one of them anyway. comparisons: in place of
    those by block. Whoever shows the answer of one bundle to somebody who may act on it uses `analysed`."""
    return answer_and_records(bundle, metrics, comparisons)[0]


def answer_and_records(
    bundle: Bundle,
    metrics: Sequence[Metric] = (),
    comparisons: Sequence[ComparisonAnswer] | None = None,
    *,
    can_record: bool = True,
) -> tuple[Answer, list[AnalysisRecord]]:
    """The answer, and what has to be in the bundle before it is shown. can_record: whether that can be written."""
    plan, info = bundle.plan, bundle.info
    shown = _shown_metrics(bundle, metrics)
    found = findings_in(bundle, list(shown.values()), comparisons, can_record=can_record)
    contest, cells = found.contest, found.cells
    compared = with_failures(contest, bundle, found.comparisons, cells)
    if comparisons is None:  # what the sentence on failures says is no hint at why
        compared = [c.model_copy(update={"differs": found.differs.beside(c)}) for c in compared]
    found = replace(found, compared=replace(found.compared, by_setting=compared))
    levels = isolation_sentences(contest, bundle)
    leading = levels[:LEVELS_MAX] if found.search is None and _is_about_conflicts(found) else []
    answer = Answer(
        title=plan.title,
        description=plan.description,
        created=info.created,
        incomplete=_incomplete(bundle),
        demonstration=DEMONSTRATION if plan.demonstration or info.demonstration else "",
        objective=plan.objective,
        objective_words=_objective_words(contest.objective),
        pacing=plan.pacing,
        measured=_measured_words(bundle),
        disturbed=mark_words(bundle.runs),
        too_busy=bool(found.too_busy),
        headline=[
            *unreadable_sentences(bundle),
            *promise_sentences(found.promises),
            *disturbed_sentences(bundle, found.runs, too_busy=bool(found.too_busy)),
            *lost_sentences(bundle, found.runs),
            *(f"{one.words}." for one in found.contradictions),
            *threshold_sentences(found.thresholds),
            *value_analysis_words(plan, found.compared),
            *headline_words(found, leading),
        ],
        first=first_screen(found),
        thresholds=found.thresholds,
        comparisons=found.comparisons,
        over_all=found.compared.over_all,
        between_levels=found.between_levels,
        analysis=found.compared.analysis,
        shapes=found.shapes,
        search=found.search,
        contradictions=found.contradictions,
        nodes=found.nodes,
        clients=found.clients,
        faults=found.faults,
        stages=found.stages,
        promises=found.promises,
        held=found.held,
        cells=_in_order(found),
        metrics=[MetricShown(**{name: getattr(m, name) for name in MetricShown.model_fields}) for m in shown.values()],
        rates=plan.rates,
        compared=contest.factor,
        contestants=contest.contestants,
        validity=[
            *_validity_words(found),
            *places_differ_words(contest, found.runs),
            *_load_warnings(bundle),
        ],
        between_plans=[Difference(name=key, values=said) for key, said in plan.differences.items()],
        undeclared=found.undeclared,
        runs_finished=len(bundle.runs),
        runs_valid=sum(run.valid for run in bundle.runs),
        runs_planned=len(bundle.runs) if found.search and info.state == "complete" else bundle.runs_planned,
        skipped=dict(info.skipped),
        messages=list(info.messages),
        limits=[*levels[len(leading) :], *limits_of(bundle, cells)],
        command=info.command,
        bakeoff_version=info.bakeoff_version,
    )
    return answer, found.compared.pending


def analysed(bundle: Bundle, metrics: Sequence[Metric] = ()) -> Answer:
    """The answer, for somebody who may act on it: recorded first, in the bundle, as one of its analyses. Where that
    cannot be done the answer claims nothing that was not claimed before."""
    for _ in range(ATTEMPTS_MAX):
        known = len(bundle.analyses)
        answer, pending = answer_and_records(bundle, metrics)
        try:
            if not pending or bundle.record(pending, known):
                return answer
        except BakeoffError:
            break
    return answer_and_records(bundle, metrics, can_record=False)[0]


def _shown_metrics(bundle: Bundle, asked: Sequence[Metric]) -> dict[str, Metric]:
    """By name: the objective, the plan's own, aborts where there are any, and those asked for."""
    own = [metric(rate.name, bundle.plan.rates) for rate in bundle.plan.rates]
    aborts = metric("abort_ratio")
    if any(aborts.of(Observed(run)) for run in bundle.runs):
        own.append(aborts)
    objective = Contest(bundle.plan).objective
    return {m.name: m for m in (objective, *own, *asked) if m.name not in _IN_EVERY_REPORT}


def _is_about_conflicts(found: Findings) -> bool:
    """Where the plan names a level of isolation, or operations failed or were aborted, what levels mean comes first."""
    asked = any(cell.isolation for cell in found.contest.plan.cells)
    failed = any(one.failures and not one.failures.startswith(NONE_FAILED) for one in found.comparisons)
    return asked or failed or bool(abort_words(found.contest, found.cells))


def _objective_words(objective: Metric) -> str:
    about = objective.about[:1].lower() + objective.about[1:].removesuffix(".")
    return f"{objective.label} ({about}; {_BETTER[objective.better]})"


def _validity_words(found: Findings) -> list[str]:
    """How many runs count, and each kind of doubt with the number of runs it touches."""
    runs = found.bundle.runs
    return [counted_words(runs) if runs else "no run was finished", *(doubt.sentence for doubt in found.doubts)]


def _in_order(found: Findings) -> list[CellAnswer]:
    """A search tries levels in no order that a reader looks for: its cells are sorted by contestant and level."""
    search = found.search
    if search is None:
        return found.cells
    names = found.contest.contestants

    def place(cell: CellAnswer) -> tuple[int, str, float]:
        others = [f"{name}={level}" for name, level in cell.setting.items() if name != search.factor]
        return names.index(cell.contestant), ", ".join(others), float(cell.setting.get(search.factor, 0))

    return sorted(found.cells, key=place)


def _load_warnings(bundle: Bundle) -> list[str]:
    return [f"the engine warned: {words}" for load in bundle.loads for words in load.warnings]


def _incomplete(bundle: Bundle) -> str:
    part = bundle.plan.part_words
    planned = bundle.runs_planned
    missing = 0 if bundle.plan.search else planned - len(bundle.runs)
    if missing <= 0 and bundle.info.state == "complete":
        return f"Not the whole plan: {part}." if part else ""
    reason = _STATES.get(bundle.info.state, "some results are missing")
    reason = f"{part}, and {reason}" if part else reason
    stopped = bundle.info.state in _STOPPED
    if missing <= 0 and not bundle.plan.search:
        left = sum(run.leaves_its_place_open for run in bundle.runs)
        if not left:
            return f"{reason[:1].upper()}{reason[1:]}, but every planned run is here."
        repeats = f" {resume_words(bundle)} repeats {'it' if left == 1 else 'them'}." if stopped else ""
        return f"Not the whole plan: {reason}; {left} of {counted(planned, 'run', 'runs')} must be repeated.{repeats}"
    of = "at most " if bundle.plan.search else ""
    here = f"{len(bundle.runs)} of {of}{counted(planned, 'run is', 'runs are')} here"
    rest = f" {resume_words(bundle)} makes the rest." if stopped else ""
    return f"Not the whole plan: {reason}; {here}.{rest}"


def unreadable_sentences(bundle: Bundle) -> list[str]:
    """Runs that are missing may be the ones that would have changed the answer."""
    why = bundle.unreadable_runs
    if not why:
        return []
    runs = "The result of 1 run" if len(why) == 1 else f"The results of {len(why)} runs"
    return [f"{runs} could not be read, and what follows is without {'it' if len(why) == 1 else 'them'}: {why[0]}."]


def unreadable_in(bundles: Iterable[Bundle]) -> list[str]:
    """Of bundles that are compared, each with its folder."""
    found = (f"{bundle.folder}: {words}" for bundle in bundles for words in unreadable_sentences(bundle))
    return list(dict.fromkeys(found))


def _measured_words(bundle: Bundle) -> str:
    plan = bundle.plan
    window = f"{plan.window_s:g} s window" if plan.window_s is not None else f"{plan.operations or 0:,} operations"
    often = counted(plan.repetitions, "repetition", "repetitions")
    if plan.search:
        often = f"searched in {counted(len(bundle.runs), 'run', 'runs')}"
    return f"{often}, {plan.warm_up_s:g} s warm-up, {window}"
