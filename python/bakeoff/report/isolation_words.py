"""What the levels of isolation mean where those that are compared do not mean the same by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..findings.contestants import Contest
from ..findings.source import Source
from ..model.isolation import meaning_words
from ..model.levels import level_of
from ..model.records import CellRecord

_FACTOR = "isolation"
_SNAPSHOT = "innodb_snapshot_isolation"


def is_isolation(factor: str) -> bool:
    return factor.rpartition(".")[2] == _FACTOR


def isolation_of(bundle: Source, cell: CellRecord) -> str | None:
    """The level that its sessions had; None: nobody knows."""
    facts = bundle.facts.get(cell.id)
    level = (facts.portable.get(_FACTOR) if facts else None) or cell.isolation
    return None if level == "unknown" else level


def isolation_sentences(contest: Contest, bundle: Source) -> list[str]:
    """Of contestants at different levels, and of each level that means several things. Levels that are compared within
    one product have names that say what differs."""
    told = dict.fromkeys(_of_different_levels(contest, bundle))
    return [*told, *_of_one_level(contest, bundle)]


def _of_different_levels(contest: Contest, bundle: Source) -> Iterator[str]:
    if is_isolation(contest.factor):
        return
    for setting in contest.settings:
        cells = [cell for name in contest.contestants if (cell := contest.cell(name, setting)) is not None]
        levels = {contest.contestant(cell): level for cell in cells if (level := isolation_of(bundle, cell))}
        if len(set(levels.values())) < 2:
            continue
        told = [
            _told_level(bundle, cell, name, levels[name])
            for cell in cells
            if (name := contest.contestant(cell)) in levels
        ]
        yield f"They ran at different levels of isolation: {'; '.join(told)}."


def _of_one_level(contest: Contest, bundle: Source) -> Iterator[str]:
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


def _told_level(bundle: Source, cell: CellRecord, name: str, level: str) -> str:
    """A system without levels says in words what it has."""
    if " " in level:
        return f"{name}: {level}"
    words = _meaning(bundle, cell, level)
    return f"{name} at {level}{'' if cell.isolation else ', its default'}{f' ({words})' if words else ''}"


def _meaning(bundle: Source, cell: CellRecord, level: str) -> str:
    """A session may have another `innodb_snapshot_isolation` than its server."""
    facts = bundle.facts.get(cell.id)
    if facts is None:
        return ""
    own = level_of(bundle.plan, cell, facts, f"session.{_SNAPSHOT}")
    settings = facts.settings if own is None else {**facts.settings, _SNAPSHOT: _setting_words(own)}
    return meaning_words(cell.kind, facts.product, facts.version, settings, level)


def _setting_words(value: object) -> str:
    return ("ON" if value else "OFF") if isinstance(value, bool | int) else str(value)


def _name(contest: Contest, bundle: Source, cell: CellRecord) -> str:
    """Where levels are the contestants, these do not tell products apart."""
    if not is_isolation(contest.factor):
        return contest.contestant(cell)
    facts = bundle.facts[cell.id]
    return f"{facts.product} {facts.version}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
