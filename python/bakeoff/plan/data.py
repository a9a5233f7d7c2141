"""Where the data of each system's runs come from: loaded or there already, and what happens to them between runs. What
cannot be is refused before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from .check import Kinds
from .document.source import Source
from .document.tables import PlanDocument
from .resolved import Cell


def data_of(document: PlanDocument, system: str) -> str:
    """load | existing: what the system's table says, else [measure]."""
    return document.systems[system].data or document.measure.data


def with_resets(
    cells: list[Cell], document: PlanDocument, managed: Mapping[str, bool], kinds: Kinds, source: Source
) -> list[Cell]:
    """The cells with what their systems and their work allow, where the plan does not say it."""
    deciding = _Deciding(cells, document, managed, kinds, source)
    resets = {name: deciding.reset(name) for name in dict.fromkeys(cell.record.system for cell in cells)}
    decided = [
        replace(cell, record=cell.record.model_copy(update={"reset": resets[cell.record.system]})) for cell in cells
    ]
    refuse_shared_tables([cell for cell in decided if cell.reset in ("reuse", "none")], source)
    for cell in decided:
        if cell.reset == "none" and cell.workload.continued(1) is None:
            hint = 'write reset = "restore" (managed servers) or "reload"'
            what = (
                f"{cell.record.label} inserts the same rows in every run, so a run cannot start from the"
                " data that another one left"
            )
            raise source.error(what, *deciding.place(cell.record.system, "reset"), hint=hint)
    _refuse_uneven(decided, source)
    return decided


class _Deciding:
    """What the plan says of each system, checked against what the system can do."""

    def __init__(
        self,
        cells: list[Cell],
        document: PlanDocument,
        managed: Mapping[str, bool],
        kinds: Kinds,
        source: Source,
    ) -> None:
        self._cells = cells
        self._document = document
        self._managed = managed
        self._kinds = kinds
        self._source = source

    def reset(self, name: str) -> str:
        """restore | reload | reuse | none. Raises PlanError."""
        if data_of(self._document, name) == "existing":
            return self._of_existing(name)
        return self._of_loaded(name)

    def place(self, name: str, key: str) -> tuple[str, ...]:
        """Where the plan says it: in the system's table, or for all."""
        own = getattr(self._document.systems[name], key) is not None
        return ("systems", name, key) if own else ("measure", key)

    def _said(self, name: str) -> str | None:
        return self._document.systems[name].reset or self._document.measure.reset

    def _of_existing(self, name: str) -> str:
        """Existing data are never loaded, put back or dropped."""
        said, place = self._said(name), self.place(name, "reset")
        cells = [cell for cell in self._cells if cell.record.system == name]
        if any(cell.place is None for cell in cells):
            what = f'data = "existing", but {name} is a managed server and has no data yet'
            hint = f'write data = "load" in [systems.{name}], or name an existing system: by `address`, or SQLite\'s'
            raise self._source.error(what, *self.place(name, "data"), hint=f"{hint} by `file`")
        if said in ("restore", "reload"):
            hint = (
                'write reset = "reuse" for workloads that do not write, or "none": each run starts with the'
                " data that the last one left"
            )
            raise self._source.error("existing data is never loaded or restored", *place, hint=hint)
        if said is None and (writing := _writing(cells)):
            hint = 'write reset = "none": each run starts with the data that the last one left, and the changes stay'
            raise self._source.error(f"{writing.record.label} writes to existing data", *place, hint=hint)
        if said == "reuse":
            self._refuse_writing(cells, "none", place)
        return said or "reuse"

    def _of_loaded(self, name: str) -> str:
        said, place = self._said(name), self.place(name, "reset")
        if said is None:
            return self._default()
        if said == "restore" and not self._managed[name]:
            hint = 'write reset = "reload" or "none", or "reuse" for workloads that do not write'
            raise self._source.error(f"{name} is an existing system, whose data cannot be restored", *place, hint=hint)
        if said == "restore" and not self._kinds[name].capabilities().restore:
            raise self._source.error(f"{name} cannot be restored", *place, hint='write reset = "reload"')
        if said == "reuse":
            cells = [cell for cell in self._cells if cell.record.system == name]
            self._refuse_writing(cells, 'restore" (managed servers), "reload" or "none', place)
        return said

    def _default(self) -> str:
        """The same for all systems that are loaded and for which the plan says nothing."""
        names = [name for name in self._managed if data_of(self._document, name) == "load" and self._said(name) is None]
        writing = _writing(cell for cell in self._cells if cell.record.system in names)
        existing = [name for name in names if not self._managed[name]]
        if existing and writing is not None:
            hint = (
                'write reset = "reload": its own tables are reloaded before each run; or "none": each run starts'
                " where the last one ended"
            )
            what = f"the plan writes to {existing[0]}, which cannot be restored"
            raise self._source.error(what, "measure", "reset", hint=hint)
        if not existing and all(self._kinds[name].capabilities().restore for name in names):
            return "restore"
        return "reload" if writing is not None else "reuse"

    def _refuse_writing(self, cells: list[Cell], instead: str, place: tuple[str, ...]) -> None:
        if writing := _writing(cells):
            what = f"{writing.record.label} writes, so its data cannot be reused from run to run"
            raise self._source.error(what, *place, hint=f'write reset = "{instead}"')


def _writing(cells: Iterable[Cell]) -> Cell | None:
    return next((cell for cell in cells if cell.workload.writes), None)


def _refuse_uneven(cells: list[Cell], source: Source) -> None:
    """Systems that would be compared on the same data, of which one finds them as they were loaded and the other as its
    last run left them."""
    fresh: dict[str, Cell] = {}
    for cell in cells:
        if cell.reset != "none":
            fresh.setdefault(cell.record.content, cell)
    for cell in cells:
        other = fresh.get(cell.record.content)
        if cell.reset == "none" and other is not None and _writing(c for c in cells if c.load_key == cell.load_key):
            names = cell.record.system, other.record.system
            what = (
                f"each run on {names[0]} starts with the data that the last one left, and on {names[1]} with"
                " the data as loaded"
            )
            hint = "write one `reset` for both, or measure them in separate plans"
            raise source.error(what, "systems", names[0], "reset", hint=hint)


def refuse_shared_tables(cells: Iterable[Cell], source: Source) -> None:
    """One table on an existing server holds one data set: cells with other data could only take turns."""
    keys: dict[str, str] = {}
    for cell in cells:
        table = repr((cell.place, cell.workload.tables[0]))
        if cell.place is not None and keys.setdefault(table, cell.load_key) != cell.load_key:
            what = f"{cell.record.label} needs its own data in the same table as an earlier cell"
            hint = 'write reset = "reload", or use separate tables or a separate `schema`'
            raise source.error(what, "measure", "reset", hint=hint)


def refuse_leftovers(cells: Iterable[Cell], source: Source) -> None:
    """What runs leave would be taken for what a level does: a search compares runs that begin alike."""
    if left := _writing(cell for cell in cells if cell.reset == "none"):
        what = f"in a search every run of {left.record.system} must start with the same data"
        raise source.error(what, "measure", "reset", hint='write reset = "reload", or "restore" on a managed server')


def by_system(cells: Iterable[Cell], read: Callable[[Cell], str]) -> str:
    """In words, what may differ from system to system: "restore", or "restore (mariadb), none (ours)"."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        found.setdefault(read(cell), {})[cell.record.system] = None
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{value} ({', '.join(names)})" for value, names in found.items())


def decide_cache(document: PlanDocument, managed: Mapping[str, bool], source: Source) -> str:
    """What the plan says. Else warm, unless data are there already: warming would read every table of a server that
    others use, before each run. Only a system of ours can be made cold."""
    measure = document.measure
    if measure.cache == "cold" and not all(managed.values()):
        name = next(name for name, own in managed.items() if not own)
        hint = 'write cache = "warm" or "as-is"'
        raise source.error(
            f"{name} is an existing system, whose cache cannot be emptied", "measure", "cache", hint=hint
        )
    return measure.cache or ("as-is" if any(data_of(document, name) == "existing" for name in managed) else "warm")
