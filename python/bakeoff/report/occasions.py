"""Bundles against bundles, cell by cell: did something change between then and now?

Each bundle is one occasion. `compare` matches their cells, refuses what makes the comparison meaningless, says what
else differs, and judges all objectives and cells as one family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.compare import Comparison, judge
from ..analysis.estimate import Estimate, Obstacle, RunValue, unpaired
from ..analysis.metric import Metric
from ..analysis.wording import counted
from ..errors import BundleError, PlanError
from ..model.records import CellRecord, PlanRecord, RunRecord, Scalar
from ..nearest import meant
from .conditions import CELL_CONDITIONS, CONDITIONS, Change, changes
from .run_values import run_values, same_operations
from .source import Source

BEFORE, AFTER = "before", "after"
Key = tuple[tuple[str, Any], ...]
#: What cells are matched by, and the field of a cell that has it.
_MATCHED = {
    "system": "system",
    "kind": "kind",
    "threads": "threads",
    "clients": "clients",
    "rate": "rate_ops_per_s",
    "workload": "workload",
}
_OPERATIONS = "operations"


@dataclass(frozen=True)
class Occasions:
    """What `compare` found. changed: what differs, all of it allowed or worth stating. left_out, doubts: in words."""

    comparisons: list[Comparison]
    changed: list[Change]
    left_out: list[str]
    doubts: list[str]


def compare(
    before: Sequence[Source], after: Sequence[Source], objectives: Sequence[Metric], allowed: Collection[str] = ()
) -> Occasions:
    """`after` against `before`, each at least one bundle. allowed: keys of differences that the user wants.

    Cells match by system, levels, threads, clients, rate and workload. One of `before` that not every bundle has is not
    comparable; one that is only in `after` is new, and left out. Raises BundleError if nothing is common, if a bundle
    is given twice, or if something differs that makes the comparison meaningless and is not allowed.
    """
    _refuse_copies(before, after)
    varying = _varying([*before, *after])
    _refuse_unknown(allowed, varying)
    names = varying - set(allowed)
    then, now = ([_by_key(bundle, names, allowed) for bundle in side] for side in (before, after))
    common = [key for key in then[0] if all(key in cells for cells in (*then, *now))]
    if not common:
        raise BundleError(
            "the bundles have no cell in common",
            where=_titles([*before, *after]),
            hint="compare bundles of one plan; cells match by system, levels, threads, clients, rate and workload",
        )
    cells = [([cells[key] for cells in then], [cells[key] for cells in now]) for key in common]
    changed = changes(before, after, cells, names)
    changed += [_other_work(b[0].label) for a, b in cells if _different_work(before, after, a, b)]
    _refuse([c for c in changed if c.weight == "meaningless" and c.key not in allowed], [*before, *after])
    estimates = [
        unpaired(of_after[0].label, o, BEFORE, AFTER, _values(before, of_before, o), _values(after, of_after, o))
        for o in objectives
        for of_before, of_after in cells
    ]
    known = {key: cell.label for of_bundle in then for key, cell in of_bundle.items()}
    estimates += [_gone(label, o) for o in objectives for key, label in known.items() if key not in common]
    new = {key: cell.label for of_bundle in now for key, cell in of_bundle.items() if key not in known}
    doubts = [*_doubts(BEFORE, before), *_doubts(AFTER, after)]
    return Occasions(judge(estimates), changed, [f"{label}: only {AFTER}" for label in new.values()], doubts)


def _varying(bundles: Sequence[Source]) -> set[str]:
    """Factors that have several levels in any bundle: cells are told apart by them."""
    return {name for bundle in bundles for cell in bundle.plan.cells for name in cell.levels} - {"system"}


def _by_key(bundle: Source, names: Collection[str], allowed: Collection[str]) -> dict[Key, CellRecord]:
    found: dict[Key, CellRecord] = {}
    for cell in bundle.plan.cells:
        parts = {key: getattr(cell, field) for key, field in _MATCHED.items()}
        parts |= {f"level {name}": _level(bundle.plan, cell, name) for name in names}
        key = tuple(sorted((name, part) for name, part in parts.items() if name not in allowed))
        if key in found:
            raise BundleError(
                f"{found[key].label!r} and {cell.label!r} cannot be told apart without what may differ",
                where=_titles([bundle]),
                hint="allow less to differ",
            )
        found[key] = cell
    return found


def _level(plan: PlanRecord, cell: CellRecord, name: str) -> Scalar | None:
    """Of a factor that has one level in this plan, that level."""
    constant = plan.factors.get(name, [])
    applies = "." not in name or name.partition(".")[0] == cell.system
    return cell.levels.get(name, constant[0] if len(constant) == 1 and applies else None)


def _values(bundles: Sequence[Source], cells: Sequence[CellRecord], objective: Metric) -> list[list[RunValue]]:
    return [
        list(run_values(bundle, _runs(bundle, cell), objective).values())
        for bundle, cell in zip(bundles, cells, strict=True)
    ]


def _runs(bundle: Source, cell: CellRecord) -> list[RunRecord]:
    return [run for run in bundle.runs if run.cell == cell.id]


def _different_work(
    before: Sequence[Source], after: Sequence[Source], of_before: Sequence[CellRecord], of_after: Sequence[CellRecord]
) -> bool:
    """Runs of one seed draw the same operations; any two that did not are enough."""
    first: dict[int, RunRecord] = {}
    for bundle, cell in zip([*before, *after], [*of_before, *of_after], strict=True):
        for run in _runs(bundle, cell):
            if not same_operations(first.setdefault(run.seed, run), run):
                return True
    return False


def _other_work(label: str) -> Change:
    return Change(_OPERATIONS, f"operations of {label}", "one stream", "another", "meaningless")


def _refuse(meaningless: Sequence[Change], bundles: Sequence[Source]) -> None:
    if not meaningless:
        return
    keys = list(dict.fromkeys(change.key for change in meaningless))
    allow = " ".join(f"--allow-different {key!r}" if " " in key else f"--allow-different {key}" for key in keys)
    raise BundleError(
        f"the bundles cannot be compared: {'; '.join(map(str, meaningless))}",
        where=_titles(bundles),
        hint=f"measure both alike, or, where that difference is what you ask about, say {allow}",
    )


def _refuse_unknown(allowed: Collection[str], factors: Collection[str]) -> None:
    """A misspelt key would allow nothing, and the refusal that follows would name another."""
    known = sorted({*(c.key for c in CONDITIONS), *(c.key for c in CELL_CONDITIONS), _OPERATIONS, *_MATCHED, *factors})
    for key in allowed:
        if key not in known:
            raise PlanError(
                f"nothing that may differ is called {key!r}", where="--allow-different", hint=meant(key, known)
            )


def _refuse_copies(before: Sequence[Source], after: Sequence[Source]) -> None:
    """A bundle counted twice is evidence from nothing. One bundle against itself shows nothing, and harms nobody."""
    if len(before) == len(after) == 1:
        return
    seen: dict[object, Source] = {}
    for bundle in [*before, *after]:
        identity = (
            bundle.info.created,
            bundle.info.title,
            bundle.machine.hostname,
            *(run.started for run in bundle.runs),
        )
        if identity in seen:
            raise BundleError(
                f"{bundle.folder} is the same bundle as {seen[identity].folder}",
                hint="give each bundle once: an occasion that is counted twice is no further evidence",
            )
        seen[identity] = bundle


def _gone(label: str, objective: Metric) -> Estimate:
    obstacle = Obstacle("not comparable", "not compared: not every bundle has it")
    return Estimate(label, objective, BEFORE, AFTER, "occasions", 0, None, None, obstacle)


def _doubts(side: str, bundles: Sequence[Source]) -> list[str]:
    """Each kind of warning with the number of runs it touches: "after: neighbours in 3 of 10 runs"."""
    runs = [run for bundle in bundles for run in bundle.runs]
    kinds = Counter(v.name for run in runs for v in run.validity if v.ok is False and v.severity == "warning")
    return [f"{side}: {name} in {count} of {counted(len(runs), 'run', 'runs')}" for name, count in kinds.items()]


def _titles(bundles: Sequence[Source]) -> str:
    return ", ".join(dict.fromkeys(str(bundle.folder) for bundle in bundles))
