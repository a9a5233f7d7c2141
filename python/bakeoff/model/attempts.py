"""Which of the runs made for one place of a plan (a cell in a block) counts: the first one that says something about
its system. The choice never looks at a result."""

from __future__ import annotations

from collections.abc import Iterable

from .records import RunRecord

Place = tuple[int, str]


def by_place(records: Iterable[RunRecord]) -> dict[Place, list[RunRecord]]:
    """By block and cell, in the order of attempts."""
    places: dict[Place, list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.attempt):
        places.setdefault((record.block, record.cell), []).append(record)
    return places


def counting(attempts: list[RunRecord]) -> RunRecord:
    """Of one place. Where none says anything, the first that has figures stands for it, else the latest."""
    closed = next((one for one in attempts if not one.leaves_its_place_open), None)
    return closed or next((one for one in attempts if one.state == "done"), attempts[-1])


def runs_that_count(records: Iterable[RunRecord]) -> list[RunRecord]:
    """One run a place, in the order in which they were made."""
    return sorted(map(counting, by_place(records).values()), key=lambda record: record.order)


def is_open(attempts: list[RunRecord]) -> bool:
    """Whether a place still lacks its run."""
    return all(one.leaves_its_place_open for one in attempts)
