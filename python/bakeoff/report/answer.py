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
from ..findings.cells import CellAnswer, cell_answers
from ..findings.clients_and_nodes import ClientAnswer, NodeAnswer, client_answers, node_answers
from ..findings.comparisons import Compared, compare_all
from ..findings.configuration import Difference, configuration_of
from ..findings.contestants import Contest
from ..findings.differing_figures import CellsDiffer, Differs
from ..findings.faults import FaultAnswer, fault_answers
from ..findings.limits_and_searches.contradictions import Contradiction, contradictions
from ..findings.limits_and_searches.limits import LimitFinding, limit_findings
from ..findings.limits_and_searches.searches import SearchAnswer, search_answer
from ..findings.limits_and_searches.thresholds import ThresholdAnswer, thresholds
from ..findings.runs import findings_of, mark_words, runs_by_cell
from ..findings.shapes import ShapeAnswer, shape_answers
from ..model.boundary import Document, Rate
from ..model.records.bundle import AnalysisRecord
from ..model.records.run import RunRecord
from .words.cells import abort_words
from .words.clients_and_nodes import client_sentences, lag_sentences, places_differ_words
from .words.doubts import disturbed_sentences, lost_sentences, resume_words
from .words.failures_and_isolation import NONE_FAILED, isolation_sentences, with_failures
from .words.headline import aside_words, headline_words, value_analysis_words
from .words.limits import threshold_sentences
from .words.not_shown import limits_of


class MetricShown(Document):
    """One beside those of every report, the workload's own or asked for: a column and a chart."""

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
    headline: list[str]
    #: Those of them that a page may fold where all are many: hints, and shapes told after pairs.
    aside: list[str] = Field(default_factory=list)
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
    #: How each contestant stood to the limits of the plan.
    held: list[LimitFinding] = Field(default_factory=list)
    cells: list[CellAnswer]
    metrics: list[MetricShown] = Field(default_factory=list)
    #: Those of the metrics that are the workloads' own.
    rates: list[Rate] = Field(default_factory=list)
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
    """metrics: to be shown beside those of every report; the objective is one of them anyway. comparisons: in place of
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
    contest = Contest(plan)
    runs = runs_by_cell(bundle.runs)
    own = [metric(rate.name, plan.rates) for rate in plan.rates]
    aborts = metric("abort_ratio")
    if any(aborts.of(Observed(run)) for run in bundle.runs):
        own.append(aborts)
    shown = {m.name: m for m in (contest.objective, *own, *metrics) if m.name not in _IN_EVERY_REPORT}
    cells = cell_answers(contest, bundle, runs, list(shown.values()))
    search = search_answer(contest, bundle)
    if search is not None:
        comparisons = []  # its levels were chosen to find one place: they are no sweep, and no pairs
    compared = (
        compare_all(contest, bundle, runs, can_record=can_record)
        if comparisons is None
        else Compared(list(comparisons))
    )
    shapes = shape_answers(contest, bundle, runs, compared.alpha) if comparisons is None else []
    compared = replace(compared, by_setting=with_failures(contest, bundle, compared.by_setting, cells))
    differs = Differs(contest, bundle, runs)
    if comparisons is None:
        by_setting = [c.model_copy(update={"differs": differs.beside(c)}) for c in compared.by_setting]
        compared = replace(compared, by_setting=by_setting)
    between_levels = differs.between_levels() if search is None else []
    held = limit_findings(contest, bundle, runs, compared.alpha)
    judged = thresholds(contest, bundle, runs, search, compared)
    against = contradictions(contest, search, held, judged)
    faults = fault_answers(contest, runs)
    lags = lag_sentences(contest, bundle, runs)
    slow = client_sentences(contest, runs)
    levels = isolation_sentences(contest, bundle)
    leading = levels[:LEVELS_MAX] if search is None and _is_about_conflicts(contest, compared, cells) else []
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
        too_busy=any(cell.too_few_undisturbed for cell in cells),
        headline=[
            *unreadable_sentences(bundle),
            *disturbed_sentences(bundle, runs),
            *lost_sentences(bundle, runs),
            *(f"{one.words}." for one in against),
            *threshold_sentences(judged),
            *value_analysis_words(plan, compared),
            *headline_words(
                contest, compared, shapes, between_levels, cells, held, search, bundle.runs, faults, lags, slow, leading
            ),
        ],
        aside=aside_words(contest, compared, shapes, between_levels, cells),
        thresholds=judged,
        comparisons=compared.by_setting,
        over_all=compared.over_all,
        between_levels=between_levels,
        analysis=compared.analysis,
        shapes=shapes,
        search=search,
        contradictions=against,
        nodes=node_answers(contest, runs),
        clients=client_answers(contest, runs),
        faults=faults,
        held=held,
        cells=cells,
        metrics=[MetricShown(**{name: getattr(m, name) for name in MetricShown.model_fields}) for m in shown.values()],
        rates=plan.rates,
        compared=contest.factor,
        contestants=contest.contestants,
        validity=[
            *_validity_words(bundle.runs),
            *places_differ_words(contest, runs),
            *_load_warnings(bundle),
        ],
        between_plans=[Difference(name=key, values=said) for key, said in plan.differences.items()],
        undeclared=configuration_of(bundle).undeclared,
        runs_finished=len(bundle.runs),
        runs_valid=sum(run.valid for run in bundle.runs),
        runs_planned=len(bundle.runs) if search and info.state == "complete" else plan.runs_max,
        skipped=dict(info.skipped),
        messages=list(info.messages),
        limits=[*levels[len(leading) :], *limits_of(bundle, cells)],
        command=info.command,
        bakeoff_version=info.bakeoff_version,
    )
    return answer, compared.pending


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


def _is_about_conflicts(contest: Contest, compared: Compared, cells: Sequence[CellAnswer]) -> bool:
    """Where the plan names a level of isolation, or operations failed or were aborted, what levels mean comes first."""
    asked = any(cell.isolation for cell in contest.plan.cells)
    failed = any(found.failures and not found.failures.startswith(NONE_FAILED) for found in compared.by_setting)
    return asked or failed or bool(abort_words(contest, cells))


def _objective_words(objective: Metric) -> str:
    about = objective.about[:1].lower() + objective.about[1:].removesuffix(".")
    return f"{objective.label} ({about}; {_BETTER[objective.better]})"


def _validity_words(runs: Sequence[RunRecord]) -> list[str]:
    """Of the whole bundle: how many runs count, and each kind of doubt with the number of runs it touches."""
    valid = sum(run.valid for run in runs)
    disturbed = sum(run.standing == "disturbed" for run in runs)
    marked = f", {disturbed} disturbed" if disturbed else ""
    all_of = f"{valid} of " if valid < len(runs) else "all " if len(runs) > 1 else ""
    if any(run.is_marked for run in runs):
        first = f"{all_of}{counted(len(runs), 'run', 'runs')} counted"
    else:
        first = f"{all_of}{counted(len(runs), 'run is', 'runs are')} valid"
    return [f"{first}{marked}" if runs else "no run was finished", *findings_of(runs)]


def _load_warnings(bundle: Bundle) -> list[str]:
    return [f"the engine warned: {words}" for load in bundle.loads for words in load.warnings]


def _incomplete(bundle: Bundle) -> str:
    part = bundle.plan.part_words
    planned = bundle.plan.runs_max
    missing = 0 if bundle.plan.search else planned - len(bundle.runs)
    if missing <= 0 and bundle.info.state == "complete":
        return f"Not the whole plan: {part}." if part else ""
    reason = _STATES.get(bundle.info.state, "some results are missing")
    reason = f"{part}, and {reason}" if part else reason
    of = "at most " if bundle.plan.search else ""
    here = f"{len(bundle.runs)} of {of}{counted(planned, 'run is', 'runs are')} here"
    rest = f" {resume_words(bundle)} makes the rest." if bundle.info.state in _STOPPED else ""
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
