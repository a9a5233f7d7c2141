"""Bundles that are compared, as if they were one: the two sides are its contestants, so that a page about them is made
as any other is. Only what was matched is in it; the runs of a side's bundles stand one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...bundle.read import Bundle, Pick
from ...model.records.bundle import AnalysisRecord, FactsRecord, LoadRecord
from ...model.records.plan import CellRecord
from ...model.records.run import RunRecord
from ...model.records.verification import VerificationRecord
from ..runs import runs_by_cell
from .matching import Match, currencies

if TYPE_CHECKING:
    import pyarrow as pa


FACTOR = "side"


SIDES = ("before", "after")


@dataclass(frozen=True)
class Place:
    """A cell of one of the bundles, and what it is called here. earlier: runs of the side that stand before its own."""

    side: str
    bundle: Bundle
    cell: CellRecord
    name: str
    earlier: int


class Joined(Bundle):
    """A bundle of both sides, which holds their bundles open and copies nothing of them."""

    def __init__(
        self, before: Sequence[Bundle], after: Sequence[Bundle], matches: Sequence[Match], objective: str, command: str
    ) -> None:
        """objective: the name of the metric that leads. command: that compares them."""
        self._sides = dict(zip(SIDES, (before, after), strict=True))
        self._matches = matches
        self.folders = {side: [str(bundle.folder) for bundle in of] for side, of in self._sides.items()}
        self.bundles = [*before, *after]
        last = after[-1]
        several = len({match.after[0].system for match in matches}) > 1
        cells = [_cell(side, number, match, several=several) for side in SIDES for number, match in enumerate(matches)]
        if len(currencies(matches)) > 1:  # no figure could be in both; what changed has the prices of each
            cells = [cell.model_copy(update={"prices": None}) for cell in cells]
        plan = last.plan.model_copy(
            update={
                "title": _title(before[-1], last),
                "description": "",
                "limits": [],  # each bundle's own report judges them
                "objective": objective,
                "compare_factor": FACTOR,
                "baseline": SIDES[0],
                "repetitions": max(sum(bundle.plan.repetitions for bundle in of) for of in self._sides.values()),
                "cells": cells,
                "differences": {},
                "fail_if": [],
            }
        )
        info = last.info.model_copy(
            update={
                "title": plan.title,
                "created": min(bundle.info.created for bundle in self.bundles),
                "command": command,
                "demonstration": any(bundle.info.demonstration for bundle in self.bundles),
                "skipped": {},
                "messages": list(dict.fromkeys(words for bundle in self.bundles for words in bundle.info.messages)),
            }
        )
        super().__init__(last.folder, info, plan, last.machine)

    @property
    def analyses(self) -> list[AnalysisRecord]:
        """None: these are kept with what is compared, not here."""
        return []

    @cached_property
    def facts(self) -> dict[str, FactsRecord]:
        """Of each cell, as the side's first bundle tells them."""
        return {
            place.name: place.bundle.facts[place.cell.id]
            for place in reversed(list(self._places()))
            if place.cell.id in place.bundle.facts
        }

    @cached_property
    def loads(self) -> list[LoadRecord]:
        found = []
        for side, bundle, names in self._names_in_bundles():
            for load in bundle.loads:
                here = [names[cell] for cell in load.cells if cell in names]
                changes = {"system": f"{side}: {load.system}", "cells": here}
                found += [load.model_copy(update=changes)] if here else []
        return found

    @cached_property
    def verifications(self) -> list[VerificationRecord]:
        found = []
        for side, bundle, names in self._names_in_bundles():
            for one in bundle.verifications:
                here = [names[cell] for cell in one.cells if cell in names]
                changes = {"label": f"{side}: {one.label}", "cells": here}
                found += [one.model_copy(update=changes)] if here else []
        return found

    @property
    def unverified(self) -> list[str]:
        """Where some bundle's plan asks for checks."""
        asked = any(bundle.plan.verifies for bundle in self.bundles)
        there = {cell for one in self.verifications for cell in one.cells}
        return [cell.id for cell in self.plan.cells if asked and cell.id not in there]

    @cached_property
    def runs(self) -> list[RunRecord]:
        return [run for run, _, _ in self._renamed]

    @property
    def runs_planned(self) -> int:
        """Of the cells that are compared; how many runs a search takes, nobody planned."""
        if any(bundle.plan.search for bundle in self.bundles):
            return len(self.runs)
        return sum(place.bundle.plan.repetitions for place in self._places())

    @cached_property
    def attempts(self) -> list[RunRecord]:
        """Those that count: each bundle's own report names the others."""
        return self.runs

    def _table(self, run: str, table: str, pick: Pick | None) -> pa.Table | None:
        bundle, name = self._origins[run]
        return bundle._table(name, table, pick)

    @cached_property
    def _origins(self) -> dict[str, tuple[Bundle, str]]:
        return {run.id: (bundle, name) for run, bundle, name in self._renamed}

    @cached_property
    def _renamed(self) -> list[tuple[RunRecord, Bundle, str]]:
        """Every run as it is here, its bundle, and what it is called there."""
        found = []
        runs = {id(bundle): runs_by_cell(bundle.runs) for bundles in self._sides.values() for bundle in bundles}
        for place in self._places():
            for run in runs[id(place.bundle)][place.cell.id]:
                block = place.earlier + run.block
                changes = {"id": f"{place.name}-{block:02d}", "cell": place.name, "block": block}
                found.append((run.model_copy(update=changes), place.bundle, run.id))
        return found

    def _names_in_bundles(self) -> Iterator[tuple[str, Bundle, dict[str, str]]]:
        """Of each bundle of a side, what its cells are called here."""
        for side, bundles in self._sides.items():
            for bundle in bundles:
                here = (one for one in self._places() if one.side == side and one.bundle is bundle)
                yield side, bundle, {one.cell.id: one.name for one in here}

    def _places(self) -> Iterator[Place]:
        for side, bundles in self._sides.items():
            earlier = 0
            for index, bundle in enumerate(bundles):
                for number, match in enumerate(self._matches):
                    cells = match.before if side == SIDES[0] else match.after
                    yield Place(side, bundle, cells[index], f"{side}-{number + 1}", earlier)
                earlier += bundle.plan.repetitions


def _cell(side: str, number: int, match: Match, *, several: bool) -> CellRecord:
    """By what AFTER calls it, so that both sides meet in one setting."""
    own, like = (match.before if side == SIDES[0] else match.after)[0], match.after[0]
    shared = {name: level for name, level in like.levels.items() if name != "system"}
    levels = {FACTOR: side, **({"system": like.system} if several else {}), **shared}
    return own.model_copy(update={"id": f"{side}-{number + 1}", "label": f"{side} / {like.label}", "levels": levels})


def _title(before: Bundle, after: Bundle) -> str:
    titles = list(dict.fromkeys(bundle.plan.title for bundle in (before, after)))
    return f"{' and '.join(titles)} (before and after)"
