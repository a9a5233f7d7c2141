"""Combinations that cannot be run, refused before anything starts: each function names the cell, what it asks for and
what to change."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..analysis import fail_if, limit
from ..analysis.metric import Metric, same_operation
from ..analysis.registry import UnknownMetric, is_watched, metric
from ..analysis.wording import bytes_words
from ..errors import PlanError, ServerError
from ..model.boundary import Closed, OperationsLimit, Rate, TimeLimit
from ..model.records import PlanRecord
from ..model.said import TABLE_FORMAT
from ..nearest import meant
from ..provision.files import can_hold_files, nearest_existing
from ..report.contest import Contest
from ..systems.base import Capabilities, System
from ..systems.options import Password
from ..systems.table_format import read_format
from .document import MeasureTable, PlanDocument
from .resolved import Cell
from .source import Source

Kinds = Mapping[str, type[System]]

#: Of systems that are only looked at: they make no files, and one that tried would fail loudly.
NOWHERE = Path(os.devnull) / "unused"
WINDOW_MIN_S = 1.0
TIMEOUT_MIN_S = 0.01  # the engine's, too
REPETITIONS_FOR_A_COMPARISON = 5


def check_measure(measure: MeasureTable, source: Source) -> None:
    """What [measure] says by itself."""
    for name, value_s, least_s, why in (
        ("window", measure.window, WINDOW_MIN_S, "for there to be one value of its rate"),
        ("timeout", measure.timeout, TIMEOUT_MIN_S, "because overdue operations are looked for once a millisecond"),
    ):
        if value_s is not None and value_s < least_s:
            raise source.error(
                f"`{name}` is too short: {value_s:g} s", "measure", name, hint=f"at least {least_s:g} s, {why}"
            )


def check_cell(cell: Cell, capabilities: Capabilities, source: Source) -> None:
    """What one cell asks of its kind of system."""
    asks = cell.record.label
    name, kind = cell.record.system, cell.record.kind
    if cell.sessions is not None and cell.sessions > cell.threads:
        hint = "more sessions than threads would stand idle; list the combinations that make sense in [[cells]]"
        raise source.error(
            f"{asks} has {cell.sessions} sessions for {cell.threads} threads", "factors", "sessions", hint=hint
        )
    if cell.sessions is not None and cell.sessions < cell.threads and cell.runner_taken == "thread":
        hint = f"leave `sessions` out, or write [[cells]] in which {name} has as many as threads"
        raise source.error(
            f"{asks}: {kind} has no pool of fewer sessions than threads", "factors", "sessions", hint=hint
        )
    if cell.sessions is not None and cell.sessions < cell.threads and cell.workload.keeps_session:
        hint = "leave `sessions` out, or write ops_per_transaction = 1"
        what = f"{asks}: a transaction of several operations keeps its session, so threads cannot share one"
        raise source.error(what, "factors", "sessions", hint=hint)
    users, most = cell.threads * cell.clients, cell.workload.users_max
    if most is not None and users > most:
        what = f"{asks} has {users} threads, each of which fills a table of its own, and {most} tables"
        raise source.error(what, "factors", "threads", hint=f"write tables = {users} in [workload]")
    if cell.durability is not None and cell.durability not in capabilities.durability:
        hint = f"{kind} offers {', '.join(capabilities.durability) or 'none by a portable name'}"
        place = source.place_of_option(name, "durability")
        raise source.error(f"{asks}: {kind} has no durability {cell.durability}", *place, hint=hint)
    if cell.record.rate_ops_per_s is not None and cell.record.rate_ops_per_s / cell.clients < 1e-3:
        raise source.error(f"{asks} offers less than one operation in 1000 s", "measure", "pacing")
    if isinstance(cell.limit, TimeLimit) and cell.record.rate_ops_per_s is not None:
        due = cell.record.rate_ops_per_s * cell.limit.window_s
        if due < 1:
            hint = f"raise the rate, or make the window at least {1 / cell.record.rate_ops_per_s:.3g} s"
            what = f"{asks}: at {cell.record.rate_ops_per_s:g}/s nothing falls due in {cell.limit.window_s:g} s"
            raise source.error(what, "measure", "window", hint=hint)
    if isinstance(cell.limit, OperationsLimit) and cell.limit.operations < cell.threads:
        hint = "each thread of each client needs at least one"
        raise source.error(
            f"{asks} has {cell.limit.operations} operations per client for {cell.threads} threads",
            *("measure", "operations"),
            hint=hint,
        )


def check_io(cell: Cell, source: Source) -> None:
    """How the reactor talks to the kernel."""
    if cell.io is not None and cell.runner_taken != "reactor":
        what = f"{cell.record.label}: `io` has no meaning on the runner {cell.runner_taken}"
        hint = (
            f"{cell.record.kind} runs on {' or '.join(cell.driver.runners)} here, and only the runner reactor asks the"
        )
        hint += ' kernel in two ways; write "NAME.io" for systems that run on it'
        raise source.error(what, *source.place_of_option(cell.record.system, "io"), hint=hint)


def check_format(cell: Cell, source: Source) -> None:
    """Tables that refer to each other can be stored so."""
    name, text = cell.record.system, cell.system_options.get(TABLE_FORMAT)
    if not isinstance(text, str) or not cell.workload.foreign_keys:
        return
    with placed(name, cell.record.kind, source):
        if read_format(text, f"systems.{name}").foreign_keys:
            return
    what = (
        f"{cell.record.label}: tables of the format {text} have no foreign keys, and those of {cell.record.workload} do"
    )
    without = "write foreign_keys = false in its workload" if cell.workload.spec["kind"] == "tpcc" else ""
    hint = " or ".join(filter(None, [without, "leave this combination out with [[cells]]"]))
    raise source.error(what, *source.place_of_option(name, TABLE_FORMAT), hint=hint)


def check_end(cell: Cell, warm_up_s: float, source: Source) -> None:
    """A run stays within what it carries out from a file. The engine refuses the same, but after the load."""
    most = cell.workload.operations_max
    if most is None:
        return
    fits = isinstance(cell.limit, OperationsLimit) and cell.limit.operations * cell.clients <= most
    if fits and warm_up_s == 0 and isinstance(cell.pacing, Closed):
        return
    what = f"{cell.record.label}: the {most} events of `events_file` have an end, which a run may go beyond"
    hint = f'in [measure] write warm_up = 0, pacing = "closed" and operations = {most} or fewer, in place of `window`'
    raise source.error(what, "measure", hint=hint)


def check_access(system: str, options: dict[str, Any], kind: type[System], source: Source) -> None:
    """Whether this kind can be given an address, where the plan has one."""
    if "address" in options and not kind.capabilities().existing:
        raise source.error(
            f"{kind.kind} cannot be given an address", "systems", system, "address", hint="remove `address`"
        )


def check_objective(objective: str, cells: Iterable[Cell], source: Source) -> list[str]:
    """It is a metric that some workload of the plan has; returns warnings of those that have it not."""
    try:
        found = metric(objective, rates_of(cells))
    except UnknownMetric as error:
        raise source.error(str(error), "measure", "objective", hint=error.hint) from None
    return [
        f"{words}, so nothing is compared there" for words in check_metric(found, cells, source, "measure", "objective")
    ]


def check_limits(texts: Sequence[str], cells: Sequence[Cell], source: Source, *place: str) -> list[str]:
    """Each is a limit on a metric that some workload of the plan has; returns warnings of those that have it not."""
    warnings = []
    for text in texts:
        try:
            found = limit.parse(text, rates_of(cells))
        except (limit.LimitError, UnknownMetric) as error:
            raise source.error(str(error), *place, hint=error.hint) from None
        warnings += [
            f"{words}, so {text!r} is not met there" for words in check_metric(found.metric, cells, source, *place)
        ]
    return warnings


def check_thresholds(texts: Sequence[str], cells: Sequence[Cell], source: Source, *place: str) -> None:
    """Each is a change (of `fail_if`) or a limit, of a metric that some workload of the plan has."""
    for text in texts:
        try:
            found = fail_if.parse_threshold(text, rates_of(cells))
        except ValueError as error:
            raise source.error(str(error), *place, hint=getattr(error, "hint", "")) from None
        of = found.metric if isinstance(found, limit.Limit) else found.objective
        check_metric(of, cells, source, *place)


def rates_of(cells: Iterable[Cell]) -> list[Rate]:
    """The workloads' own metrics."""
    return [rate for cell in cells for rate in cell.workload.rates]


def check_metric(found: Metric, cells: Iterable[Cell], source: Source, *place: str) -> list[str]:
    """Some workload has it, and the operation that its name ends in; returns of which workloads that is not so."""
    workloads = {cell.record.workload: cell.workload for cell in cells}
    own = {label: {rate.name for rate in workload.rates} for label, workload in workloads.items()}
    base = found.name.partition(".")[0]
    if any(base in names for names in own.values()):
        return [f"{label} has no {base}" for label, names in own.items() if base not in names]
    part = found.part
    if not part or is_watched(found.name):
        return []
    without = [label for label, w in workloads.items() if not any(same_operation(part, n) for n in w.operations)]
    if len(without) == len(workloads):
        known = dict.fromkeys(name for workload in workloads.values() for name in workload.operations)
        what = f"no workload of this plan has the operation `{part}`"
        raise source.error(what, *place, hint=meant(part, known))
    return [f"{label} has no operation `{part}`" for label in without]


def check_placement(measure: MeasureTable, source: Source) -> list[str]:
    """Cores against this machine; returns warnings."""
    available = os.sched_getaffinity(0)
    placement = measure.placement
    for side, cores in (("client", placement.client), ("server", placement.server)):
        if missing := sorted(set(cores) - available):
            hint = f"this machine offers {_words_of_cores(available)}"
            raise source.error(f"there is no core {missing[0]} here", "measure", "placement", side, hint=hint)
    if shared := set(placement.client) & set(placement.server):
        return [f"client and server share the cores {_words_of_cores(shared)}: each slows the other"]
    return []


def configured(
    cells: Iterable[Cell], kinds: Kinds, measure: MeasureTable, source: Source
) -> tuple[list[Cell], dict[str, bool]]:
    """Lets each kind of system check the options of its cells. Returns the cells with the names of their nodes, where
    there are several, and the way to them, and whether each system is private."""
    private: dict[str, bool] = {}
    roles: dict[str, Mapping[str, str]] = {}
    found: list[Cell] = []
    for cell in cells:
        name = cell.record.system
        key = repr((name, cell.system_options, cell.durability, cell.isolation))
        if key not in roles:
            with placed(name, kinds[name].kind, source):
                system = cell.configure(
                    kinds[name], workdir=NOWHERE, timeout_s=measure.timeout, base_dir=source.base_dir
                )
            private[name], roles[key] = system.private, system.roles()
        _check_route(cell, roles[key], source)
        several = [*roles[key]] if len(roles[key]) > 1 else []
        record = cell.record.model_copy(update={"nodes": several})
        found.append(replace(cell, record=record, routing=cell.routing.decided(roles[key])))
    return found, private


def _check_route(cell: Cell, roles: Mapping[str, str], source: Source) -> None:
    """Some node is on it, and writes meet none that follows another: a session that is refused there would move to the
    first node and stay, and the run would be one of that node alone."""
    route, name = cell.routing.decided(roles), cell.record.system
    place = source.place_of_option(name, "routing")
    if hint := route.missing(roles):
        what = f"{cell.record.label}: no node of {name} is on the route {route}"
        raise source.error(what, *place, hint=hint)
    if cell.workload.writes and (following := route.following(roles)):
        what = f"{cell.record.label}: {cell.record.workload} writes, and {following[0]} of {name} takes no writes"
        hint = f'write routing = "split", which sends reads to replicas and writes to {next(iter(roles))}'
        raise source.error(what, *place, hint=f"{hint}; or leave `routing` out, and all goes there")


@contextmanager
def placed(name: str, kind: str, source: Source) -> Iterator[None]:
    """A system's complaint about "systems.NAME.key" (or "kind.key") gets the file and line of that key."""
    try:
        yield
    except PlanError as error:
        head, *rest = error.where.removeprefix("systems.").split(".")
        if head in (name, kind):
            error.where = source.where(("systems", name, *rest))
        raise


def check_passwords(cells: Iterable[Cell], kinds: Kinds, source: Source) -> None:
    """Passwords lie where the plan says; called when a run is about to begin. They are read and forgotten."""
    for cell in cells:
        name, password = cell.record.system, cell.system_options.get("password")
        if isinstance(password, dict):
            with placed(name, kinds[name].kind, source):
                Password(**password).located(source.base_dir).read(f"systems.{name}.password")


def find_missing(options: Iterable[tuple[str, dict[str, Any]]], kinds: Kinds, source: Source) -> dict[str, str]:
    """Systems that this machine cannot run with one of their sets of options: name -> why."""
    missing: dict[str, str] = {}
    asked: set[str] = set()
    for name, system_options in options:
        key = repr((name, system_options))
        if name in missing or key in asked:
            continue
        asked.add(key)
        with placed(name, kinds[name].kind, source):
            why = kinds[name].available(system_options)
        if why:
            missing[name] = why
    return missing


def require(document: PlanDocument, wanted: Collection[str], missing: Mapping[str, str], source: Source) -> None:
    """A system that cannot run here ends the plan, unless the plan calls it optional and another of those that are
    wanted is left."""
    for name, why in missing.items():
        if not document.systems[name].optional:
            place = source.error("", "systems", name).where
            hint = f"`bakeoff doctor` says how to get it; optional = true in [systems.{name}] skips it"
            raise ServerError(f"{name} cannot run on this machine: {why}", where=place, hint=hint)
    if missing.keys() >= set(wanted):
        words = "; ".join(f"{name}: {why}" for name, why in missing.items())
        raise ServerError(f"no system of the plan can run on this machine ({words})", hint="see `bakeoff doctor`")


def check_disk(needed_bytes: int, folder: Path, option: str) -> None:
    """Called when a run is about to begin; a dry run only warns (see describe). `option`: that names another folder."""
    if not can_hold_files(folder):
        raise ServerError("nothing can be written there", where=str(folder), hint=f"give another folder with {option}")
    free = disk_free_bytes(folder)
    if needed_bytes > free:
        raise ServerError(
            f"the plan needs about {bytes_words(needed_bytes)} of disk and {bytes_words(free)} are free",
            where=str(folder),
            hint=f"free some space, give another folder with {option}, or use fewer records or start options",
        )


def disk_free_bytes(folder: Path) -> int:
    """Of the file system on which the folder is, or will be."""
    return shutil.disk_usage(nearest_existing(folder)).free


def advice(document: PlanDocument, cells: list[Cell], private: Mapping[str, bool], record: PlanRecord) -> list[str]:
    """What is allowed but will limit the answer."""
    measure, words = document.measure, []
    if measure.repetitions < REPETITIONS_FOR_A_COMPARISON and document.search is None:
        have = "1 repetition is" if measure.repetitions == 1 else f"{measure.repetitions} repetitions are"
        words.append(f"{have} too few to compare: values only (5 or more give a comparison)")
    paced = any(cell.record.rate_ops_per_s is not None for cell in cells)
    if measure.objective == "rate" and paced and document.search is None:
        words.append('in an open loop the achieved rate is what was offered; judge by objective = "latency_p99"')
    if _has_other_data(cells, record.compare_factor) and not Contest(record).is_sweep:
        words.append(f"the levels of `{record.compare_factor}` have different data, which are never compared")
    again = dict.fromkeys(cell.record.system for cell in cells if cell.reset == "reload")
    if names := ", ".join(name for name in again if not private[name]):
        words.append(f"before each run the workload's tables on {names} are dropped and loaded again")
    for clients in sorted({cell.clients for cell in cells}):
        if measure.operations is not None and measure.operations % clients:
            words.append(
                f"{measure.operations} operations do not divide by {clients} clients; "
                f"{measure.operations // clients * clients} are done"
            )
    for workload in {id(cell.workload): cell.workload for cell in cells}.values():
        words += workload.advice
    return list(dict.fromkeys(words))


def _has_other_data(cells: list[Cell], factor: str) -> bool:
    """Whether cells that differ only in this factor differ in their data too."""
    seen: dict[str, str] = {}
    for cell in cells:
        rest = repr({name: level for name, level in cell.record.levels.items() if name != factor})
        if seen.setdefault(rest, cell.record.dataset) != cell.record.dataset:
            return True
    return False


def _words_of_cores(cores: Iterable[int]) -> str:
    return ", ".join(str(core) for core in sorted(cores))
