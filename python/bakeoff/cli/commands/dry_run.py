"""`bakeoff run --dry-run`: what a run would do and cost, and whether existing systems have what it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.wording import bytes_words, counted, seconds_words
from ...errors import BakeoffError, ExitCode
from ..output import print_json, say, show, table

if TYPE_CHECKING:
    from ...plan.dry_run.describe import DryRun, WorkloadPreview
    from ...plan.existing_tables import TablesLine
    from ...plan.resolved import ResolvedPlan

#: Workloads whose first operations are shown, and lines of each workload; --json has all.
PREVIEWS_MAX = 3
LINES_MAX = 30
#: Of a line with an operation's statement or input.
WIDTH = 110
_TABLES_HEAD = ("on", "table", "now", "size", "in a run")


def dry_run(plan: ResolvedPlan, results: Path, there: Mapping[str, int], *, as_json: bool) -> int:
    """Prints what a run would do. there: by cell, runs of the bundle that is continued. Raises what it would
    be refused for by an existing system, when all is printed."""
    from ...plan.dry_run.describe import describe, previews
    from ...plan.existing_tables import changes_words, look

    tables, errors = look(plan)
    errors = errors or _looked_into(plan)
    machines = _machines(plan, errors)
    dry = describe(plan, results, tables, previews(plan), there, machines)
    for warning in dry.warnings:
        say(f"warning: {warning}")
    if words := changes_words(tables):
        say(f"warning: {words}")
    if as_json:
        print_json(dry.to_json())
    else:
        _show(dry)
    for error in errors[1:]:
        say(f"warning: {error}")
    if errors:
        raise errors[0]
    return ExitCode.DONE


def _looked_into(plan: ResolvedPlan) -> list[BakeoffError]:
    """Whether existing data are what the plan says: a run begins with the same check."""
    from ...fleet.hosts import LocalHost
    from ...plan.existing_tables import existing_loads
    from ...provision.instance import new_instance
    from ...schedule.instance import Instance

    errors: list[BakeoffError] = []
    for cell in existing_loads(plan):
        if cell.data != "existing":
            continue
        folder = new_instance("look")
        instance = Instance(plan, cell, folder.path, LocalHost(), allow_drop=False, work=None)
        try:
            instance.find([], 0, lambda words: say(f"note: {words}"))
        except BakeoffError as error:
            errors.append(error)
        finally:
            instance.stop()
            folder.remove()
    return errors


def _machines(plan: ResolvedPlan, errors: list[BakeoffError]) -> list[str]:
    """Names of load machines that only their cluster knows. errors: gets why it cannot be asked."""
    from ...plan.machines import missing_here

    if plan.fleet is None or plan.fleet.machines is not None or missing_here(plan.fleet):
        return []
    from ...fleet.hosts import fleet_host

    try:
        with fleet_host(plan.fleet, say) as host:
            return [machine.name for machine in host.free()]
    except BakeoffError as error:
        errors.append(error)
        return []


def _show(dry: DryRun) -> None:
    plan = dry.record
    show(f"{plan.title}\n{plan.description}".rstrip() + "\n")
    if dry.part:
        show(f"a part of the plan: {dry.part}\n")
    rows = [[c.record.id, c.record.label, c.runs, seconds_words(c.run_s)] for c in dry.cells]
    show(table(rows, ["cell", "what", "runs", "each about"]))
    show()
    if dry.loads:
        lines = Counter(
            (load.system, load.workload, load.rows, bytes_words(load.size_bytes), seconds_words(load.load_s))
            for load in dry.loads
        )
        rows = [[system + (f" ({n} times)" if n > 1 else ""), *rest] for (system, *rest), n in lines.items()]
        show(table(rows, ["load", "workload", "rows", "on disk after it, about", "time, about"]))
    if dry.tables:
        show("\n" * bool(dry.loads) + table([_tables_row(t) for t in dry.tables], _TABLES_HEAD))
    often = f"{counted(len(dry.cells), 'cell', 'cells')} x {counted(plan.repetitions, 'repetition', 'repetitions')}"
    left = f"; {counted(dry.runs_there, 'run is', 'runs are')} done already" if dry.runs_there else ""
    show(
        f"\n{'at most ' if dry.search_words else ''}{counted(dry.runs, 'run', 'runs')}: {dry.search_words or often}"
        f"{left}, {plan.pacing},"
        f" warm-up {seconds_words(plan.warm_up_s)}, {dry.limit_words}, data {dry.data}, reset {plan.reset},"
        f" cache {plan.cache}{dry.constants and f', {dry.constants}'}"
        f"\nabout {dry.time_words} and {dry.disk_words} of disk, of which the bundle keeps"
        f" {bytes_words(dry.bundle_bytes)} ({bytes_words(dry.disk_free_bytes)} free). {dry.limits}"
    )
    for words in [
        *filter(None, [dry.stages]),
        *(cost.words for cost in dry.costs),
        *dry.peers,
        *dry.comparison_words,
        *dry.reads,
        *dry.fleet,
    ]:
        show(words)
    for system, words in dry.servers.items():
        show(f"server of {system}: {words}")
    for system, words in dry.routes.items():
        show(f"nodes of {system}: {words}")
    for system, faults in dry.faults.items():
        show(f"faults of {system} in each run: {'; '.join(faults)}")
    for words in dry.verify:
        show(f"checked after the runs: {words}")
    if plan.differences:
        names = list(next(iter(plan.differences.values())))
        rows = [[key, *values.values()] for key, values in plan.differences.items()]
        show("\n" + table(rows, ["the plans differ in", *names]))
    for preview in dry.previews[:PREVIEWS_MAX]:
        _show_preview(preview)
    if len(dry.previews) > PREVIEWS_MAX:
        show(f"\n{len(dry.previews) - PREVIEWS_MAX} more workloads: --json has the first operations of all")
    for name, why in dry.skipped.items():
        show(f"{name} would be skipped: {why}")


def _tables_row(line: TablesLine) -> list[str]:
    size = "" if line.size_bytes is None else bytes_words(line.size_bytes)
    return [line.system, line.names, line.there, size, line.fate]


def _show_preview(preview: WorkloadPreview) -> None:
    show(f"\nthe first operations of one user of {preview.workload}:")
    lines = [
        line
        for one in preview.operations
        for line in (f"  {one.operation}", *(f"    {_one_line(said)}" for said in one.lines))
    ]
    for line in lines[:LINES_MAX]:
        show(line)
    if len(lines) > LINES_MAX:
        show(f"    and {len(lines) - LINES_MAX} more lines: see --json")


def _one_line(text: str) -> str:
    """Whatever a value holds: printable, and of bounded width."""
    shown = "".join(c if c.isprintable() else " " for c in text[:WIDTH])
    return shown if len(text) <= WIDTH else f"{shown[:-1]}…"
