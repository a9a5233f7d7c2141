"""What failed for good on either side of a comparison (a rate or a time alone does not say whose users gave up), and
what levels of isolation mean where those that are compared do not mean the same by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...analysis.compare import ComparisonAnswer
from ...analysis.wording import percent_words, significant
from ...bundle.read import Bundle
from ...findings.cells import CellAnswer
from ...findings.contestants import Contest
from ...model.isolation import meaning_words
from ...model.levels import settings_of_sessions
from ...model.records.plan import CellRecord

#: Shares that lie further apart are said of any comparison: the default error budget allows no more.
_APART = 0.001
_TIMES = 1.1
#: So begins the sentence where none did.
NONE_FAILED = "No operation failed"
#: From this share of one side's operations on, its response times are shown only together with it.
MANY = 0.01


def with_failures(
    contest: Contest, bundle: Bundle, comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]
) -> list[ComparisonAnswer]:
    """Each with its sentence. Where levels of isolation are compared, or differ, it is part of the answer, whatever it
    says."""
    if contest.objective.name == "error_ratio":
        return list(comparisons)
    levels = {cell.id: isolation_of(bundle, cell) for cell in contest.plan.cells}
    by_level = any(map(is_isolation, (contest.factor, *contest.shared)))
    told = []
    for found in comparisons:
        sides = [
            cell for cell in cells if cell.setting == found.setting and cell.contestant in (found.base, found.other)
        ]
        differ = len({level for cell in sides if (level := levels[cell.cell])}) > 1
        words = failure_words(found, sides, always=by_level or differ)
        told.append(found.model_copy(update={"failures": words}))
    return told


def failure_words(found: ComparisonAnswer, cells: Sequence[CellAnswer], *, always: bool = False) -> str:
    """ "3.1 % of a's and 0 % of b's operations failed for good, with 0.90 and 0 retries for each that succeeded."; ""
    where the two shares are alike. always: whatever they are."""
    sides = {cell.contestant: cell for cell in cells if cell.setting == found.setting}
    other, base = sides.get(found.other), sides.get(found.base)
    if other is None or base is None or found.verdict == "invalid runs":
        return ""
    pair = (other, base)
    failed = [cell.error_ratio for cell in pair]
    if not (other.operations and base.operations) or not (always or _lie_apart(*failed)):
        return ""
    retries = [_per_success(cell) for cell in pair]
    if not any(failed) and not any(retries):
        return f"{NONE_FAILED} or was tried again on either side."
    tried = " and ".join(map(_retries, retries))
    again = f", with {tried} retries for each that succeeded" if any(retries) else ""
    if not any(failed):
        return f"{NONE_FAILED} for good on either side{again}."
    how = "failed for good" if any(retries) else "failed"
    if any(cell.errors.get("unknown") for cell in pair):
        how += ", had no answer in time or may have been applied"
    shares = " and ".join(f"{percent_words(cell.error_ratio)} of {cell.contestant}'s" for cell in pair)
    return f"{shares} operations {how}{again}."


def _retries(each: float) -> str:
    return "under 0.001" if 0 < each < 0.001 else significant(each, 2)


def _per_success(cell: CellAnswer) -> float:
    """As the metric `retries_per_op`, over the repetitions together; where none succeeded there is more to say."""
    return cell.retries / max(1, sum(found.ok for found in cell.by_operation if found.part_of is None))


def no_benefit_words(cell: CellAnswer, abort_ratio: float | None) -> str:
    """Why a short response time of this side is no advantage by itself; "" where all it was asked was done."""
    if cell.error_ratio >= MANY:
        named = [found for found in cell.by_operation if not found.part_of and found.errors]
        if not named:
            return f"{percent_words(cell.error_ratio)} of its operations failed"
        most = max(named, key=lambda found: sum(found.errors.values()))
        failed = sum(most.errors.values())
        return f"{percent_words(failed / (most.ok + failed))} of its {most.operation} failed"
    if abort_ratio is not None and abort_ratio >= MANY:
        return f"{percent_words(abort_ratio)} of its attempts were aborted"
    return ""


def _lie_apart(one: float, other: float) -> bool:
    less, more = sorted((one, other))
    return more - less >= _APART and more > _TIMES * less


_FACTOR = "isolation"


def is_isolation(factor: str) -> bool:
    return factor.rpartition(".")[2] == _FACTOR


def isolation_of(bundle: Bundle, cell: CellRecord) -> str | None:
    """The level that its sessions had; None: nobody knows."""
    facts = bundle.facts.get(cell.id)
    level = (facts.portable.get(_FACTOR) if facts else None) or cell.isolation
    return None if level == "unknown" else level


def isolation_sentences(contest: Contest, bundle: Bundle) -> list[str]:
    """Of contestants at different levels, and of each level that means several things. Levels that are compared within
    one product have names that say what differs."""
    told = dict.fromkeys(_of_different_levels(contest, bundle))
    return [*told, *_of_one_level(contest, bundle)]


def _of_different_levels(contest: Contest, bundle: Bundle) -> Iterator[str]:
    if is_isolation(contest.factor):
        return
    for setting in contest.settings:
        cells = contest.cells_at(setting)
        levels = {name: level for name, cell in cells.items() if (level := isolation_of(bundle, cell))}
        if len(set(levels.values())) < 2:
            continue
        told = [_told_level(bundle, cells[name], name, level) for name, level in levels.items()]
        yield f"They ran at different levels of isolation: {'; '.join(told)}."


def _of_one_level(contest: Contest, bundle: Bundle) -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = {}
    for cell in contest.plan.cells:
        level = isolation_of(bundle, cell)
        if level and (words := _meaning(bundle, cell, level)):
            names = found.setdefault(level, {}).setdefault(words, [])
            names += [name] if (name := _name(contest, bundle, cell)) not in names else []
    for level, meanings in found.items():
        if len(meanings) > 1:
            told = "; ".join(f"in {_listed(names)} {words}" for words, names in meanings.items())
            yield f"The level {level} means different things: {told}."


def _told_level(bundle: Bundle, cell: CellRecord, name: str, level: str) -> str:
    """A system without levels says in words what it has."""
    if " " in level:
        return f"{name}: {level}"
    words = _meaning(bundle, cell, level)
    return f"{name} at {level}{'' if cell.isolation else ', its default'}{f' ({words})' if words else ''}"


def _meaning(bundle: Bundle, cell: CellRecord, level: str) -> str:
    facts = bundle.facts.get(cell.id)
    if facts is None:
        return ""
    settings = settings_of_sessions(bundle.plan, cell, facts)
    return meaning_words(cell.kind, facts.product, facts.version, settings, level)


def _name(contest: Contest, bundle: Bundle, cell: CellRecord) -> str:
    """Where levels are the contestants, these do not tell products apart."""
    if not is_isolation(contest.factor):
        return contest.contestant(cell)
    facts = bundle.facts[cell.id]
    return f"{facts.product} {facts.version}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
