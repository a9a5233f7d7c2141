"""What is compared: the factor whose levels are compared, the level the others are compared with, and the metrics
that a plan names (objective, limits, thresholds). What could never be judged is refused, and what will limit the
answer is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..analysis import limit, thresholds
from ..analysis.faults import FAULT_FIGURES
from ..analysis.metric import Metric
from ..analysis.percentiles import same_operation
from ..analysis.registry import UnknownMetric, is_watched, metric
from ..analysis.thresholds import Condition, parse_threshold
from ..errors import PlanError
from ..findings.contestants import SWEPT_MIN, Contest, amount
from ..model.levels import LOAD, STORAGE
from ..model.prices import Priced
from ..model.records.plan import CellRecord, PlanRecord, Scalar, priced
from ..model.resolve import Rate
from ..suggestions import meant
from .document.source import Source
from .document.tables import CompareTable, PlanDocument
from .factors import Factor
from .prices import check_cost
from .resolved import Cell, ResolvedPlan

Levels = Mapping[str, Sequence[Scalar]]


def read_comparison(
    said: CompareTable,
    planned: Levels,
    left: Levels,
    factors: Mapping[str, Factor],
    cells: Sequence[Cell],
    source: Source,
) -> tuple[str, Scalar | None]:
    """The compared factor and its baseline. What the plan says must be in it; where a skipped system took that away,
    the default takes its place. planned, left: levels by factor, of the plan and of what is run of it."""
    if said.factor == "workload" and has_other_data(cells, "workload"):
        hint = "systems are compared within each workload; workloads with the same data can be compared with each other"
        raise source.error("workloads with different data cannot be compared", "compare", "factor", hint=hint)
    if said.factor is not None and said.factor not in planned:
        raise source.error(
            f"`{said.factor}` is not a factor of this plan", "compare", "factor", hint=meant(said.factor, planned)
        )
    whole = said.factor or _asked_about(planned, factors)
    if said.baseline is not None and _among(said.baseline, planned[whole]) is None:
        known = ", ".join(str(level) for level in planned[whole])
        what = f"the baseline {said.baseline!r} is not a level of `{whole}`"
        raise source.error(what, "compare", "baseline", hint=f"levels: {known}")
    factor = said.factor if said.factor and said.factor in left else _asked_about(left, factors)
    levels = left[factor]
    if len(levels) < 2:
        return factor, None
    baseline = _among(said.baseline, levels)
    return factor, levels[0] if baseline is None else baseline


def has_other_data(cells: Sequence[Cell], factor: str) -> bool:
    """Whether cells that differ only in this factor differ in their data too."""
    seen: dict[str, CellRecord] = {}
    for cell in cells:
        rest = repr({name: level for name, level in cell.record.levels.items() if name != factor})
        if not cell.record.has_rows_of(seen.setdefault(rest, cell.record)):
            return True
    return False


def _asked_about(levels: Levels, factors: Mapping[str, Factor]) -> str:
    """Of the factors that vary the one that a plan without [compare] asks about, the first of its kind."""
    varying = [name for name in levels if len(levels[name]) > 1 and name != "workload"]
    return min(varying, key=lambda name: _rank(factors.get(name), levels[name]), default="system")


def _rank(factor: Factor | None, levels: Sequence[Scalar]) -> int:
    """What the system is, and how it is used, comes first, then a size that is swept, then the load. Other options of
    a workload come last: they ask for other operations or data, which are not compared."""
    if factor is None or factor.target == "system" or (factor.target == "load" and not LOAD[factor.path[0]].amount):
        return 0
    if factor.target == "load":
        return 2
    return 1 if len(levels) >= SWEPT_MIN and all(amount(level) is not None for level in levels) else 3


def _among(wanted: Any, levels: Sequence[Scalar]) -> Scalar | None:
    """The level equal to `wanted`; true is not 1."""
    same = (level for level in levels if level == wanted and isinstance(level, bool) == isinstance(wanted, bool))
    return next(same, None)


_OF_FAULTS = {figure.name for figure in FAULT_FIGURES}


def check_objective(objective: str, cells: Iterable[Cell], source: Source) -> list[str]:
    """It is a metric that some workload of the plan has; returns warnings of those that have it not."""
    try:
        found = metric(objective, rates_of(cells))
    except UnknownMetric as error:
        raise source.error(str(error), "measure", "objective", hint=error.hint) from None
    return [
        f"{words}, so those are not compared" for words in check_metric(found, cells, source, "measure", "objective")
    ]


def check_limits(texts: Sequence[str], cells: Sequence[Cell], source: Source, *place: str) -> list[str]:
    """Each is a limit on a metric that some workload of the plan has; returns warnings of those that have it not."""
    warnings = []
    for text in texts:
        try:
            found = limit.parse(text, rates_of(cells))
        except (limit.LimitError, UnknownMetric) as error:
            raise source.error(str(error), *place, hint=error.hint) from None
        warnings += [f"{words}, so those fail {text!r}" for words in check_metric(found.metric, cells, source, *place)]
    return warnings


def check_thresholds(texts: Sequence[str], cells: Sequence[Cell], source: Source, *place: str) -> None:
    """Each is a change (of `fail_if`) or a limit, of a metric that some workload of the plan has."""
    for text in texts:
        try:
            found = thresholds.parse_threshold(text, rates_of(cells))
        except ValueError as error:
            raise source.error(str(error), *place, hint=getattr(error, "hint", "")) from None
        of = found.metric if isinstance(found, limit.Limit) else found.objective
        check_metric(of, cells, source, *place)


def rates_of(cells: Iterable[Cell]) -> list[Rate | Priced]:
    """The plan's own metrics."""
    cells = list(cells)
    return [*(rate for cell in cells for rate in cell.workload.rates), *priced(cell.record for cell in cells)]


def check_metric(found: Metric, cells: Iterable[Cell], source: Source, *place: str) -> list[str]:
    """Some workload has it, and the operation that its name ends in; returns of which workloads that is not so. A
    figure of planned faults is one of plans that have any."""
    cells = list(cells)
    if found.name in _OF_FAULTS and not any(cell.record.faults for cell in cells):
        hint = "add [[faults]], or choose another metric"
        raise source.error(f"`{found.name}` measures planned faults, and the plan has none", *place, hint=hint)
    without_price = check_cost(found.name, cells, source, *place)
    workloads = {cell.record.workload: cell.workload for cell in cells}
    own = {label: {rate.name for rate in workload.rates} for label, workload in workloads.items()}
    base = found.name.partition(".")[0]
    if any(base in names for names in own.values()):
        return [f"{label} has no {base}" for label, names in own.items() if base not in names]
    part = found.part
    if not part or is_watched(found.name):
        return without_price
    without = [label for label, w in workloads.items() if not any(same_operation(part, n) for n in w.operations)]
    if len(without) == len(workloads):
        known = dict.fromkeys(name for workload in workloads.values() for name in workload.operations)
        what = f"no workload of this plan has the operation `{part}`"
        raise source.error(what, *place, hint=meant(part, known))
    return [f"{label} has no operation `{part}`" for label in without]


#: By the unit of the metric.
_VALUES = {"ms": "2ms", "s": "2s", "ops/s": "5000/s", "1/s": "5000/s", "rows/s": "5000/s", "ratio": "1%"}


def refuse_unjudged(plan: ResolvedPlan) -> None:
    """Of a whole plan, with all that is run side by side. Not where a part of it was chosen, or a system is missing on
    this machine: that is no mistake of the plan, and the thresholds are reported as not judged."""
    record = plan.record
    why = "" if plan.skipped or record.only else _no_pairs(plan)
    for text in record.fail_if if why else []:
        fails = parse_threshold(text, record.rates)
        if isinstance(fails, Condition):
            value = _VALUES.get(fails.objective.unit, "100")
            hint = f'write a value, such as "{fails.objective.name} {fails.sign} {value}"'
            raise PlanError(f'"{text}" is a change from a baseline, and {why}', where=_where(plan, text), hint=hint)


def _no_pairs(plan: ResolvedPlan) -> str:
    """Why nothing is compared with a baseline; "" where something is."""
    record = plan.record
    if record.search is not None:
        return "a search compares no pairs"
    if record.baseline is None:
        return "this plan has no baseline to compare with"
    if Contest(record).is_sweep:
        return f"the levels of {record.compare_factor} are analysed as a curve, not in pairs"
    return ""


def _where(plan: ResolvedPlan, text: str) -> str:
    name = str(plan.path or "the plan")
    own = plan.record.resolved.get("compare", {}).get("fail_if", [])
    return f"{name}, {'[compare] fail_if' if text in own else '--fail-if'}"


REPETITIONS_FOR_A_COMPARISON = 5


def advice(
    document: PlanDocument,
    cells: list[Cell],
    managed: Mapping[str, bool],
    durability: Mapping[str, Sequence[str]],
    record: PlanRecord,
) -> list[str]:
    """What is allowed but will limit the answer. durability: by system, the levels that it has."""
    measure, words = document.measure, []
    if measure.repetitions < REPETITIONS_FOR_A_COMPARISON and document.search is None:
        have = "1 repetition is" if measure.repetitions == 1 else f"{measure.repetitions} repetitions are"
        words.append(f"{have} too few for a comparison: the answer has values only (a comparison needs 5)")
    paced = any(cell.record.rate_ops_per_s is not None for cell in cells)
    if measure.objective == "rate" and paced and document.search is None:
        words.append('in an open loop the throughput equals the offered rate; write objective = "latency_p99"')
    if any(cell.record.faults and cell.record.rate_ops_per_s is None for cell in cells):
        words.append(
            "faults in a closed loop: waiting users send no requests, so percentiles hide the fault's effect on"
            " response"
            " times; write a `rate`, such as half of the throughput without faults"
        )
    if measure.think_time and measure.window is not None and measure.think_time.mean >= measure.window:
        times = f"{measure.think_time.mean:g} s, and the window has {measure.window:g} s"
        words.append(f"users think for {times}: few operations begin in it")
    if has_other_data(cells, record.compare_factor) and not Contest(record).is_sweep:
        words.append(f"the levels of `{record.compare_factor}` have different data, which cannot be compared")
    if slowed := list(dict.fromkeys(cell.record.system for cell in cells if _is_slowed(cell))):
        words.append(f"bakeoff slows the storage of {', '.join(slowed)}: its figures are of no real device")
    words += _compared_with_nothing(record)
    words += _undeclared_durability(cells, managed, durability, record)
    again = dict.fromkeys(cell.record.system for cell in cells if cell.reset == "reload")
    if names := ", ".join(name for name in again if not managed[name]):
        words.append(
            f"before each run the workload's tables on {names} are dropped and reloaded, if bakeoff created them"
        )
    found, loaded = ({cell.record.system for cell in cells if cell.data == data} for data in ("existing", "load"))
    if found and loaded and measure.cache is None:
        words.append(
            f"caches are not warmed, on {', '.join(sorted(loaded))} neither, because the data on"
            f" {', '.join(sorted(found))} exist already; write `cache` to choose"
        )
    for clients in sorted({cell.clients for cell in cells}):
        if measure.operations is not None and measure.operations % clients:
            words.append(
                f"{measure.operations} operations are not divisible by {clients} clients; "
                f"{measure.operations // clients * clients} run"
            )
    for workload in {id(cell.workload): cell.workload for cell in cells}.values():
        words += workload.advice
    return list(dict.fromkeys(words))


def _is_slowed(cell: Cell) -> bool:
    return STORAGE in cell.system_options or STORAGE in (cell.system_options.get("start") or {})


def _compared_with_nothing(record: PlanRecord) -> list[str]:
    """Cells of a list whose partner would differ in more than what is compared."""
    contest = Contest(record)
    if record.baseline is None or record.search is not None or contest.is_sweep:
        return []
    paired = {cell.id for _, base, other in contest.pairs for cell in (base, other)}
    alone = [cell.label for cell in record.cells if cell.id not in paired]
    if not alone:
        return []
    which = "no cell" if not paired else f"not {', '.join(alone[:2])}{' and others' if len(alone) > 2 else ''}"
    return [
        f"{which} is compared: a pair may differ in `{record.compare_factor}` alone. Give settings that change together"
        " a system of their own: [systems.a], [systems.b]"
    ]


def _undeclared_durability(
    cells: Sequence[Cell], managed: Mapping[str, bool], durability: Mapping[str, Sequence[str]], record: PlanRecord
) -> list[str]:
    """Of systems whose writes are compared: each commits as it does by default, which is not known before it runs."""
    alike = len({cell.record.kind for cell in cells}) == 1 and all(managed.values())
    if alike or record.compare_factor != "system" or record.baseline is None:
        return []
    records = [cell.record for cell in cells if cell.record.writes and cell.record.durability is None]
    names = dict.fromkeys(one.system for one in records if durability[one.system])
    if not names:
        return []
    shared = [f'"{level}"' for level in ("full", "relaxed", "none") if all(level in durability[name] for name in names)]
    hint = f": write durability = {' or '.join(shared)}" if shared else ""
    return [
        f"the plan has no `durability` for {', '.join(names)}, and systems that lose different writes in a crash are"
        f" not compared{hint}"
    ]
