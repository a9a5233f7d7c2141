"""Where the data of each run come from: loaded or there already, and what happens to them between runs. What cannot be
is refused before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..systems.base import System
from .document import MeasureTable, PlanDocument
from .factors import Source
from .resolved import Cell

Kinds = Mapping[str, type[System]]

#: Before the identity of a data set that bakeoff did not load for the plan: its shape is checked, not every value.
EXISTING_PREFIX = "existing-"


def decide_reset(
    document: PlanDocument, cells: list[Cell], private: Mapping[str, bool], kinds: Kinds, source: Source
) -> str:
    """restore | reload | reuse | none: as the plan says, or what its systems and its work allow."""
    reset = _of_existing(document, cells, source) if document.measure.data == "existing" else None
    reset = reset or _of_loaded(document, cells, private, kinds, source)
    if reset in ("reuse", "none"):
        refuse_shared_tables(cells, source)
    again = next((cell for cell in cells if cell.workload.continued(1) is None), None)
    if reset == "none" and again is not None:
        hint = 'write reset = "restore" (private systems) or "reload"'
        what = f"{again.record.label} inserts the same rows in every run, so no run can begin where another ended"
        raise source.error(what, "measure", "reset", hint=hint)
    return reset


def _of_existing(document: PlanDocument, cells: list[Cell], source: Source) -> str:
    """Data that were there before are never loaded, put back or dropped."""
    said = document.measure.reset
    if ours := next((cell for cell in cells if cell.place is None), None):
        name = ours.record.system
        what = f'data = "existing", but {name} is started for the plan and has no data yet'
        hint = "name a system that is there: by `address`, or SQLite's by `file`"
        raise source.error(what, "measure", "data", hint=hint)
    if said in ("restore", "reload"):
        hint = 'write reset = "reuse" for work that does not write, or "none": each run begins where the last one ended'
        raise source.error("existing data are never loaded or put back", "measure", "reset", hint=hint)
    if said is None and (writing := _writing(cells)):
        hint = 'write reset = "none": each run begins where the last one ended, and the data stay changed'
        raise source.error(
            f"{writing.record.label} writes to data that were there before", "measure", "reset", hint=hint
        )
    if said == "reuse":
        _refuse_writing(cells, "none", source)
    return said or "reuse"


def _of_loaded(
    document: PlanDocument, cells: list[Cell], private: Mapping[str, bool], kinds: Kinds, source: Source
) -> str:
    said = document.measure.reset
    existing = [name for name, own in private.items() if not own]
    if said is None:
        return _default_reset(existing, _writing(cells), private, kinds, source)
    if said == "restore" and existing:
        hint = 'write reset = "reload" or "none", or "reuse" for work that does not write'
        raise source.error(f"{existing[0]} exists already and cannot be restored", "measure", "reset", hint=hint)
    unable = [name for name in private if not kinds[name].capabilities().restore]
    if said == "restore" and unable:
        raise source.error(f"{unable[0]} cannot be restored", "measure", "reset", hint='write reset = "reload"')
    if said == "reuse":
        _refuse_writing(cells, 'restore" (private systems), "reload" or "none', source)
    return said


def _default_reset(
    existing: list[str], writing: Cell | None, private: Mapping[str, bool], kinds: Kinds, source: Source
) -> str:
    if existing and writing is not None:
        hint = (
            'write reset = "reload": tables of its own are loaded again before each run; or "none": each run begins'
            " where the last one ended"
        )
        raise source.error(f"the plan writes to {existing[0]}, which cannot be restored", "measure", "reset", hint=hint)
    if not existing and all(kinds[name].capabilities().restore for name in private):
        return "restore"
    return "reload" if writing is not None else "reuse"


def _writing(cells: Iterable[Cell]) -> Cell | None:
    return next((cell for cell in cells if cell.workload.writes), None)


def _refuse_writing(cells: list[Cell], instead: str, source: Source) -> None:
    if writing := _writing(cells):
        what = f"{writing.record.label} writes, so its data cannot be reused from run to run"
        raise source.error(what, "measure", "reset", hint=f'write reset = "{instead}"')


def refuse_shared_tables(cells: Iterable[Cell], source: Source) -> None:
    """One table on an existing server holds one data set: cells with other data could only take turns."""
    keys: dict[str, str] = {}
    for cell in cells:
        table = repr((cell.place, cell.workload.tables[0]))
        if cell.place is not None and keys.setdefault(table, cell.load_key) != cell.load_key:
            what = f"{cell.record.label} needs a load of its own into the same table as an earlier cell"
            hint = 'write reset = "reload", or give them tables or a `schema` of their own'
            raise source.error(what, "measure", "reset", hint=hint)


def decide_cache(measure: MeasureTable, private: Mapping[str, bool], source: Source) -> str:
    """warm unless the plan says otherwise; only a system of ours can be made cold."""
    if measure.cache == "cold" and not all(private.values()):
        name = next(name for name, own in private.items() if not own)
        hint = 'write cache = "warm" or "as-is"'
        raise source.error(f"{name} exists already and cannot be made cold", "measure", "cache", hint=hint)
    return measure.cache or "warm"
