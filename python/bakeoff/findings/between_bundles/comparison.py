"""Bundles against bundles, cell by cell: did something change between then and now?

Each bundle counts once. `compare` matches their cells, refuses what makes the comparison meaningless, says what
else differs, and judges all objectives and cells as one family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ...analysis.compare import ALPHA, Comparison
from ...analysis.estimate import Estimate, Evidence, Obstacle, RunValue, unpaired
from ...analysis.metric import Metric
from ...analysis.statistics import Parts, alpha_after, parts, parts_words
from ...analysis.wording import counted
from ...bundle.read import Bundle
from ...errors import BakeoffError, BundleError, PlanError
from ...model.prices import COST
from ...model.records.bundle import AnalysisRecord
from ...model.records.plan import CellRecord
from ...model.records.run import RunRecord
from ...suggestions import unknown
from ..interim_analyses import at_prices, fingerprint, judged, place_of, record, short
from ..run_values import run_values, same_operations
from .capacities import are_searches, capacity_estimates, without_levels
from .conditions import CELL_CONDITIONS, CONDITIONS, PROMISE, Change, changes
from .matching import MATCHED, Match, currencies, factors_of, match

BEFORE, AFTER = "before", "after"
_OPERATIONS = "operations"


@dataclass(frozen=True)
class Spread:
    """Of one objective, over the cells for which it is known; parts: by the cell's label."""

    objective: Metric
    parts: dict[str, Parts]

    def __str__(self) -> str:
        return f"{self.objective.label}: {parts_words(list(self.parts.values()))}"


@dataclass(frozen=True)
class BundleComparison:
    """What `compare` found. changed: what differs, all of it allowed or worth stating. left_out, doubts: in words.
    matches: the cells that were compared; gone: those that not every bundle has. spreads: what lies between bundles
    and what within, where a side has several. same: both sides are one bundle, and nothing was compared. searches: they
    were compared by what they found. analysis: which analysis of these bundles this is, from 1;
    alpha: what it may take, None where nothing new is claimed; pending: what has to be recorded
    before this is shown."""

    comparisons: list[Comparison]
    changed: list[Change]
    left_out: list[str]
    doubts: list[str]
    matches: list[Match] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    spreads: list[Spread] = field(default_factory=list)
    same: bool = False
    searches: bool = False
    analysis: int = 1
    alpha: float | None = None
    pending: list[AnalysisRecord] = field(default_factory=list)


def compared(
    before: Sequence[Bundle],
    after: Sequence[Bundle],
    objectives: Sequence[Metric],
    allowed: Collection[str] = (),
    matters: float | None = None,
) -> BundleComparison:
    """`compare`, for somebody who may act on it: recorded first in every bundle that can be written to, as an analysis
    of what both sides contain. Where none can, nothing is claimed that was not claimed before."""
    found = compare(before, after, objectives, allowed, matters)
    recorded = sum(_recorded(bundle, found.pending) for bundle in (*before, *after) if found.pending)
    if recorded or not found.pending:
        return found
    return compare(before, after, objectives, allowed, matters, can_record=False)


def _recorded(bundle: Bundle, pending: list[AnalysisRecord]) -> bool:
    try:
        return bundle.record(pending, len(bundle.analyses))
    except BakeoffError:
        return False


def _past(before: Sequence[Bundle], after: Sequence[Bundle]) -> tuple[list[AnalysisRecord], list[AnalysisRecord]]:
    """Earlier analyses of bundles that are all in these sides: of the same direction, and of the other."""
    sides = [{_name(bundle) for bundle in side} for side in (before, after)]
    every = {one.model_dump_json(): one for bundle in (*before, *after) for one in bundle.analyses if one.before}
    found = sorted(every.values(), key=lambda one: one.when)
    same = [one for one in found if set(one.before) <= sides[0] and set(one.after) <= sides[1]]
    turned = [one for one in found if set(one.after) <= sides[0] and set(one.before) <= sides[1]]
    return same, [one for one in turned if one not in same]


def _name(bundle: Bundle) -> str:
    """The same however many runs it gets, and of a copy, too."""
    return bundle.info.id or short(f"{bundle.info.created} {bundle.info.title} {bundle.machine.hostname}")


def _data(sides: Sequence[Sequence[Bundle]]) -> str:
    return short(" | ".join(",".join(sorted(fingerprint(bundle.runs) for bundle in side)) for side in sides))


def compare(
    before: Sequence[Bundle],
    after: Sequence[Bundle],
    objectives: Sequence[Metric],
    allowed: Collection[str] = (),
    matters: float | None = None,
    *,
    can_record: bool = True,
) -> BundleComparison:
    """`after` against `before`, each at least one bundle. allowed: keys of differences that the user wants.
    matters: the relative size from which on a difference matters.

    `matching` says which cells are the same. One of `before` that not every bundle has is not comparable; one that is
    only in `after` is new, and left out. Raises BundleError if nothing is common, if a bundle is given twice, or if
    something differs that makes the comparison meaningless and is not allowed.
    """
    if len(before) == len(after) == 1 and _identity(before[0]) == _identity(after[0]):
        return BundleComparison([], [], [], [], same=True)
    _refuse_copies([*before, *after])
    searched = before, after
    searching = are_searches([*before, *after])
    if searching:
        before, after = ([without_levels(bundle) for bundle in side] for side in searched)
    bundles = [*before, *after]
    refuse_unknown(allowed, factors_of(bundles))
    found = match(before, after, allowed)
    if not found.matches:
        raise BundleError(
            "the bundles have no cell in common",
            where=_titles(bundles),
            hint="cells match by kind of system, load, work and the levels of factors; compare bundles of like plans",
        )
    changed = changes(before, after, found.matches)
    changed += [_other_work(one.label) for one in found.matches if _different_work(bundles, one)]
    refuse_meaningless([c for c in changed if c.weight == "meaningless" and c.key not in allowed], bundles)
    of_searches = capacity_estimates(found.matches, *searched) if searching else []
    sides = {one.label: (one.before, one.after) for one in found.matches}
    estimates = {at_prices(f"{e.objective.name}: {e.cell}", *sides[e.cell]): e for e in of_searches}
    objectives = [] if searching else objectives
    if any(o.name == COST for o in objectives):
        _refuse_currencies(found.matches, bundles)
    estimates |= {
        at_prices(f"{o.name}: {one.label}", *sides[one.label]): unpaired(
            one.label, o, BEFORE, AFTER, _values(before, one.before, o), _values(after, one.after, o)
        )
        for o in objectives
        for one in found.matches
    }
    estimates |= {f"{o.name}: {label}": _gone(label, o) for o in objectives for label in found.gone}
    past, turned = _past(before, after)
    data = _data((before, after))
    index = place_of(past, data, estimates)
    earlier, this = (past, None) if index is None else (past[:index], past[index])
    spent = [one.alpha for one in (*past, *turned)]
    alpha: float | None = this.alpha if this else alpha_after(spent, ALPHA)
    alpha = alpha if this or can_record else None
    comparisons = judged(estimates, earlier, alpha, this, matters)
    pending = []
    if this is None and alpha is not None and any(isinstance(e.finding, Evidence) for e in estimates.values()):
        names = [[_name(bundle) for bundle in side] for side in (before, after)]
        pending = [record(data, list(estimates), alpha, comparisons, *names)]
    doubts = [*_doubts(BEFORE, before), *_doubts(AFTER, after)]
    return BundleComparison(
        list(comparisons.values()),
        changed,
        [f"{label}: only {AFTER}" for label in found.new],
        doubts,
        found.matches,
        found.gone,
        [spread for o in objectives if (spread := _spread(before, after, found.matches, o)).parts],
        analysis=len(earlier) + len(turned) + 1,
        alpha=alpha,
        pending=pending,
        searches=searching,
    )


def _spread(before: Sequence[Bundle], after: Sequence[Bundle], matches: Sequence[Match], objective: Metric) -> Spread:
    """Of the cells whose every run has a value."""
    told: dict[str, Parts] = {}
    for one in matches:
        sides = _values(before, one.before, objective), _values(after, one.after, objective)
        numbers = [[[v for v in runs if isinstance(v, int | float) and v > 0] for runs in side] for side in sides]
        if numbers == list(sides) and all(runs for side in numbers for runs in side) and (found := parts(numbers)):
            told[one.label] = found
    return Spread(objective, told)


def _values(bundles: Sequence[Bundle], cells: Sequence[CellRecord], objective: Metric) -> list[list[RunValue]]:
    return [
        list(run_values(bundle, _runs(bundle, cell), objective).values())
        for bundle, cell in zip(bundles, cells, strict=True)
    ]


def _runs(bundle: Bundle, cell: CellRecord) -> list[RunRecord]:
    return [run for run in bundle.runs if run.cell == cell.id]


def _different_work(bundles: Sequence[Bundle], match: Match) -> bool:
    """Runs of one seed draw the same operations; any two that did not are enough."""
    first: dict[int, RunRecord] = {}
    for bundle, cell in zip(bundles, [*match.before, *match.after], strict=True):
        for run in _runs(bundle, cell):
            if not same_operations(first.setdefault(run.seed, run), run):
                return True
    return False


def _other_work(label: str) -> Change:
    return Change(_OPERATIONS, f"operations of {label}", "one stream", "another", "meaningless")


def _refuse_currencies(matches: Sequence[Match], bundles: Sequence[Bundle]) -> None:
    if len(found := currencies(matches)) > 1:
        hint = "compare another metric, or write the prices of both plans in one currency"
        what = f"prices in {' and '.join(found)} cannot be compared"
        raise BundleError(what, where=_titles(bundles), hint=hint)


def refuse_meaningless(meaningless: Sequence[Change], bundles: Sequence[Bundle]) -> None:
    if not meaningless:
        return
    keys = list(dict.fromkeys(change.key for change in meaningless))
    allow = " ".join(f"--allow-different {key!r}" if " " in key else f"--allow-different {key}" for key in keys)
    raise BundleError(
        f"the bundles cannot be compared: {'; '.join(map(str, meaningless))}",
        where=_titles(bundles),
        hint=f"measure both alike, or, if that difference is what you compare, give {allow}",
    )


def refuse_unknown(allowed: Collection[str], factors: Collection[str]) -> None:
    """A misspelt key would allow nothing, and the refusal that follows would name another."""
    known = sorted(
        {*(c.key for c in CONDITIONS), *(c.key for c in CELL_CONDITIONS), PROMISE, _OPERATIONS, *MATCHED, *factors}
    )
    for key in allowed:
        if key not in known:
            what, hint = unknown(f"nothing that may differ is called {key!r}", key, known)
            raise PlanError(what, where="--allow-different", hint=hint)


def _refuse_copies(bundles: Sequence[Bundle]) -> None:
    """A bundle counted twice is evidence from nothing."""
    seen: dict[object, Bundle] = {}
    for bundle in bundles:
        if (twin := seen.setdefault(_identity(bundle), bundle)) is not bundle:
            raise BundleError(
                f"{bundle.folder} is the same bundle as {twin.folder}",
                hint="give each bundle once: a bundle that is counted twice is no further evidence",
            )


def _identity(bundle: Bundle) -> object:
    """Of what was measured: a copy has it, too."""
    runs = [(run.id, run.started, run.ok, run.client_cpu_s) for run in bundle.runs]
    return bundle.info.created, bundle.info.title, bundle.machine.hostname, tuple(runs)


def _gone(label: str, objective: Metric) -> Estimate:
    obstacle = Obstacle("not comparable", "not compared: not every bundle has it")
    return Estimate(label, objective, BEFORE, AFTER, "several bundles", 0, None, None, obstacle)


def _doubts(side: str, bundles: Sequence[Bundle]) -> list[str]:
    """Each kind of warning with the number of runs it touches: "after: other processes in 3 of 10 runs"."""
    runs = [run for bundle in bundles for run in bundle.runs]
    kinds = Counter(
        v.name for run in runs for v in run.validity if v.ok is False and v.severity in ("disturbed", "warning")
    )
    return [f"{side}: {name} in {count} of {counted(len(runs), 'run', 'runs')}" for name, count in kinds.items()]


def _titles(bundles: Sequence[Bundle]) -> str:
    return ", ".join(dict.fromkeys(str(bundle.folder) for bundle in bundles))
