"""Whether a bundle may be continued: its new runs must be such as its old ones were. What has changed is named."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..analysis.validity.checks import ERRORS, errors_within
from ..analysis.wording import percent_words
from ..errors import BundleError
from ..model.prices import Prices
from ..model.records.bundle import CONTINUED, BundleInfo, FactsRecord, MachineFacts
from ..model.records.plan import PlanRecord
from ..model.records.run import RunRecord
from .read import Bundle

_ANEW = "run it without --resume, and compare the two bundles"


@dataclass(frozen=True)
class Present:
    """What would make the runs now: `plan` and the systems it leaves out, the machine, and `info` as a new bundle's."""

    plan: PlanRecord
    skipped: Mapping[str, str]
    machine: MachineFacts
    info: BundleInfo


def hashes(files: Mapping[str, Path]) -> dict[str, str]:
    """By the files' names, SHA-256 of what is in them. Raises BundleError."""
    found = {}
    for name, path in files.items():
        try:
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise BundleError(f"cannot read {name}: {error.strerror}", where=str(path)) from error
    return found


def refuse_changes(bundle: Bundle, now: Present) -> None:
    """BundleError naming the first thing that differs from what made the bundle's runs."""
    for what, hint in _changes(bundle, now):
        raise BundleError(what, where=str(bundle.folder), hint=hint)


def _changes(bundle: Bundle, now: Present) -> Iterator[tuple[str, str]]:
    was = bundle.machine
    if (now.machine.cpu_model, now.machine.cores) != (was.cpu_model, was.cores):
        yield (
            f"this bundle was started on another machine ({was.cpu_model}, {was.cores} cores)",
            "run the plan without --resume here, and compare the two bundles",
        )
    if (begun := _engine(bundle.info, was)) != (here := _engine(now.info, now.machine)):
        yield f"this bundle was started with {begun}, and this is {here}", f"install that version, or {_ANEW}"
    yield from _other_currency(bundle.plan, now.plan)
    yield from _changed_inputs(bundle.info.inputs, now.info.inputs)
    yield from _lost_runs(bundle.plan, now)
    yield from _lost_facts(bundle)


def _engine(info: BundleInfo, machine: MachineFacts) -> str:
    """Without the binary's hash where an older bundle does not record it."""
    build = f" (build {info.engine_sha256[:12]})" if info.engine_sha256 else ""
    return f"bakeoff {info.bakeoff_version} and engine {machine.engine}{build}"


def _changed_inputs(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in was.keys() & now.keys():
        if was[name] != now[name]:
            yield f"{name} has changed since this bundle was started", f"restore it, or {_ANEW}"


def _other_currency(was: PlanRecord, now: PlanRecord) -> Iterator[tuple[str, str]]:
    old, new = ({cell.prices.currency for cell in plan.cells if cell.prices} for plan in (was, now))
    if old and new and old != new:
        what = f"the prices of this bundle are in {', '.join(sorted(old))}, and the plan's in {', '.join(sorted(new))}"
        yield what, f"convert the new prices to {', '.join(sorted(old))}, or {_ANEW}"


def _lost_runs(was: PlanRecord, now: Present) -> Iterator[tuple[str, str]]:
    hint = f"restore the plan (the bundle has a copy, plan.toml) and the files that it names, or {_ANEW}"
    if now.plan.only:
        hint = "leave out --only: this bundle has other cells, too"
    kept = {cell.id for cell in now.plan.cells}
    for cell in was.cells:
        if cell.id in kept:
            continue
        if why := now.skipped.get(cell.system):
            yield (
                f"{cell.label} of this bundle can no longer run: {why}",
                f"`bakeoff doctor` shows how to install it, or {_ANEW}",
            )
        yield f"the plan no longer has the cell {cell.label} with which this bundle was started", hint
    if now.plan.repetitions < was.repetitions:
        what = f"the plan has {now.plan.repetitions} repetitions, and this bundle has {was.repetitions}"
        yield what, f"write --repetitions {was.repetitions}, or more"


def _lost_facts(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Of a cell that has runs: `refuse_other_facts` would have nothing to compare the system with."""
    labels = {cell.id: cell.label for cell in bundle.plan.cells}
    for run in bundle.runs:
        if run.state == "done" and run.cell not in bundle.facts:
            what = (
                f"facts/{run.cell}.json is missing, so changes of the system of {labels[run.cell]} cannot be detected"
            )
            yield what, f"copy the bundle again, or {_ANEW}"


def refuse_other_facts(was: FactsRecord, now: FactsRecord, cell: str, folder: Path) -> None:
    """The same for a system, which must be running. `cell`: its label."""
    changes = (
        []
        if (was.product, was.version) == (now.product, now.version)
        else [f"{was.product} {was.version} is now {now.product} {now.version}"]
    )
    for before, after in ((was.settings, now.settings), (was.portable, now.portable)):
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                changes.append(f"{name} was {before.get(name, 'unset')}, is {after.get(name, 'unset')}")
    if changes:
        words = "; ".join(changes[:3]) + (f"; and {len(changes) - 3} more" if len(changes) > 3 else "")
        raise BundleError(
            f"the system of {cell} has changed since this bundle was started: {words}",
            where=str(folder),
            hint=f"restore it, or {_ANEW}",
        )


def judged_anew(run: RunRecord, error_budget_ratio: float) -> RunRecord:
    """Its errors checked against another budget. No other check of a run depends on the plan's rules."""
    judged = errors_within(run, error_budget_ratio)
    return run.model_copy(update={"validity": [judged if each.name == ERRORS else each for each in run.validity]})


def judged_by(runs: Iterable[RunRecord], *, allow_disturbed: bool) -> list[RunRecord]:
    """As whoever continues the bundle wants disturbed runs taken, whatever was said before."""
    return [run.model_copy(update={"disturbance_allowed": allow_disturbed}) for run in runs]


def words_of_break(bundle: Bundle, now: Present, finished: int) -> str:
    """What a reader must know of a bundle whose runs come from two sessions."""
    words = [f"{CONTINUED}{now.info.created} with {finished} runs made before"]
    if added := len(now.plan.cells) - len(bundle.plan.cells):
        words.append(
            f"new cells: {added}; they share no block with the earlier runs, so drift may add to the difference"
        )
    was, budget = bundle.plan.error_budget_ratio, now.plan.error_budget_ratio
    if was != budget:
        change = f"the error budget was {percent_words(was)} and is {percent_words(budget)}"
        words.append(f"{change}: the earlier runs are judged by the new one")
    words += _price_changes(bundle.plan, now.plan)
    if now.info.allow_disturbed != bundle.info.allow_disturbed:
        words.append(
            "disturbed runs count from here on" if now.info.allow_disturbed else "disturbed runs count no more"
        )
    if now.plan.fleet != bundle.plan.fleet:
        words.append(f"their clients ran on {bundle.plan.fleet_words}, and now run on {now.plan.fleet_words}")
    if now.machine.kernel != bundle.machine.kernel:
        words.append(f"the kernel was {bundle.machine.kernel} and is {now.machine.kernel}")
    return "; ".join(words)


def _price_changes(was: PlanRecord, now: PlanRecord) -> list[str]:
    """Of each system once."""
    old = {cell.id: cell.prices for cell in was.cells}
    found = {
        f"the prices of {cell.system} were {_words(old[cell.id])} and are {_words(cell.prices)}: costs of the earlier"
        " runs are at the new ones"
        for cell in now.cells
        if cell.id in old and old[cell.id] != cell.prices
    }
    return sorted(found)


def _words(prices: Prices | None) -> str:
    return prices.words if prices else "none"
