"""One run, from resetting the data to writing the record. Read `make` from top to bottom: it is the order of events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..analysis.validity.checks import COULD_BE_CHECKED
from ..analysis.wording import seconds_words
from ..bundle.files import write_text
from ..bundle.run_files import Row
from ..bundle.write import BundleWriter, utc_now
from ..errors import BakeoffError, EngineError, ServerError
from ..fleet.engines import Engines
from ..model.boundary import (
    Check,
    CheckSpec,
    EventLogSpec,
    Interval,
    Mark,
    Open,
    OperationsLimit,
    Ready,
    RunResult,
    StalenessProbeSpec,
    TimeLimit,
)
from ..model.boundary import Warning as EngineWarning
from ..model.records.run import RunRecord, ServerSide
from ..plan.resolved import Cell, ResolvedPlan
from ..provision.os_metrics import wait_for_writeback
from ..systems.base import System
from . import run_record
from .faults import Faults, error_ratio_outside_faults, with_effects
from .instance import Instance
from .machine_sharing import Others, cores_of, shares_cores
from .merge import Merged, merge_results
from .nodes import SERVER_SILENCE_S, FrozenNodes, by_node
from .phases import ended_servers_named, spec
from .run_order import Slot
from .run_record import Measured, client_records, machine_of
from .sampler import Sampler
from .seconds import Seconds
from .stages import StageSums
from .verification import PROBE_TABLE, staleness_probe

#: Engines open their sessions before the clock starts; 2,500 of them on a slow server take a while.
READY_TIMEOUT_S = 120.0
#: An engine reports every second; while it waits for the last operations, twice a second.
ENGINE_SILENCE_S = 10.0
#: A longer preparation is shown.
TOLD_S = 2.0
WRITEBACK_TIMEOUT_S = 60.0
#: Acknowledged inserts that are read back by their keys after a run with faults: some seconds.
ACKNOWLEDGED_MAX = 20_000
DRAIN_TIMEOUT_S = 120.0


class Watcher:
    """Receives what happens during a run; the command line shows it."""

    def stage(self, words: str) -> None: ...

    def placed(self, machines: int) -> None:
        """The number of machines that the run's clients are on."""

    def second(self, row: Row) -> None:
        """One second, of all clients: a row of `intervals.parquet`."""

    def sampled(self, row: Row, nodes: Sequence[str]) -> None:
        """What servers and machine did in one of the last seconds: a row of `server.parquet`. nodes: names of several
        servers."""

    def message(self, words: str) -> None: ...


def make(
    slot: Slot,
    cell: Cell,
    plan: ResolvedPlan,
    instance: Instance,
    writer: BundleWriter,
    watcher: Watcher,
    others: Others,
) -> RunRecord:
    """others: which other bakeoff runs use its cores at this moment, in words."""
    started = utc_now()
    folder = writer.run_folder(slot.run)
    system = instance.system
    disk_was_quiet = _prepare(cell, plan, instance, folder, watcher)
    debt_start = by_node(system.nodes(), lambda node: node.debt())
    watcher.stage("running")
    probe = staleness_probe(plan, cell, instance)
    with _probe_table(instance, probe) as warnings:
        measured = _measure(slot, cell, plan, instance, writer, watcher, others, probe)
    measured.warnings.extend(warnings)
    merged = merge_results(measured.results)
    watcher.stage("draining")
    server = _server_side(system, measured, merged, debt_start)
    watcher.stage("checking")
    checks = _check(cell, plan, instance, folder, measured)
    write_text(folder, "server.log", system.log_tail(200))
    seconds = measured.seconds
    measured.sampler.finish()
    seconds.finish(clock_bound_ns=max(place.clock_bound_ns for place in measured.places))
    record = run_record.record(slot, cell, plan, started, measured, merged, server, checks)
    record.faults = with_effects(measured.faults, seconds.tenths, seconds.judged, measured.results, plan.warm_up_s)
    record.stages = seconds.stages.records() if seconds.stages else []
    record.error_ratio_outside_faults = error_ratio_outside_faults(record.faults, seconds.judged)
    record.disk_was_quiet = disk_was_quiet
    record.reload_s = instance.reloaded_s
    record.engine_warnings += instance.phases.warnings()
    record.shares_cores = shares_cores(plan, system) and any(place.is_here for place in measured.places)
    record.clients = client_records(
        measured.results,
        measured.places,
        seconds.clients,
        plan.measure.placement.client,
        open_loop=record.due is not None,
    )
    record.verdict = run_record.client_verdict(record, cell)
    record.validity = run_record.validity(record, cell, plan, measured.results, seconds.rated, measured.alive_after)
    if instance.started_again:
        record.validity.append(run_record.started_again(cell.record.system, instance.started_again))
    writer.run_result(record)
    return record


def _prepare(cell: Cell, plan: ResolvedPlan, instance: Instance, folder: Path, watcher: Watcher) -> bool:
    """Whether all earlier writes have reached the disk."""
    watcher.stage("resetting")
    instance.reset(folder)
    disk_is_quiet = wait_for_writeback(WRITEBACK_TIMEOUT_S)
    if plan.record.cache == "cold":
        instance.make_cold()
    elif plan.record.cache == "warm" and instance.system.keeps_data:
        watcher.stage("warming")
        instance.phases.warm(plan, cell, instance.system, folder, watcher.stage)
    return disk_is_quiet


@contextmanager
def _probe_table(instance: Instance, probe: StalenessProbeSpec | None) -> Iterator[list[str]]:
    """The staleness probe's, where the plan asks for one. Yields the warnings of its end: that it cannot be dropped,
    because the server has ended, is no failure of the run."""
    warnings: list[str] = []
    if probe is None:
        yield warnings
        return
    is_measured = False
    try:
        with instance.own_tables([PROBE_TABLE]):
            yield warnings
            is_measured = True
    except ServerError as error:
        if not is_measured:
            raise
        warnings.append(f"the table {PROBE_TABLE} could not be dropped: {error}")


def _measure(
    slot: Slot,
    cell: Cell,
    plan: ResolvedPlan,
    instance: Instance,
    writer: BundleWriter,
    watcher: Watcher,
    others: Others,
    probe: StalenessProbeSpec | None,
) -> Measured:
    system = instance.system
    where = f"run {slot.run}, {cell.record.label}"
    kept = writer.run_files(slot.run)
    seconds = Seconds(
        kept,
        cell.clients,
        plan.warm_up_s,
        faults=bool(cell.record.faults),
        stages=_stage_sums(cell, plan.warm_up_s),
        tell=watcher.second,
    )
    with ended_servers_named(system), instance.host.engines(where) as engines:
        _start_clients(engines, slot, cell, plan, instance, writer, probe)
        ready = _wait_ready(engines, cell, watcher)
        begin_ns = time.time_ns() + int(engines.lead_s * 1e9)
        engines.begin(begin_ns)
        window_unix_s = begin_ns / 1e9 + plan.warm_up_s
        faults = Faults(cell.record.faults, system.servers(), instance.rejoin, engines.mark, window_unix_s)
        cores = cores_of(plan, server=system.managed and not system.capabilities().embedded)
        sampler = Sampler(system, engines.pids(), begin_ns, plan.warm_up_s, _window_s(cell), cores, kept.server)
        sampler.start()
        faults.start()
        beside, nodes, whole = set(others()), FrozenNodes(lambda words: watcher.message(f"{slot.run}: {words}")), False
        try:
            for client, event in engines.events(_deadline(cell, plan), silence_s=ENGINE_SILENCE_S):
                if isinstance(event, Interval):
                    if seconds.empty:
                        watcher.placed(len({machine_of(place) for place in engines.places()}))
                    seconds.add(client, event)
                    if client == 0 and (sample := sampler.latest):
                        watcher.sampled(sample, sampler.nodes)
                    beside.update(others())
                if isinstance(event, RunResult):
                    seconds.client_ended(client)
                if isinstance(event, Mark):
                    faults.marked(event.id, event.at_s - plan.warm_up_s)
                nodes.notice(sampler.silent_s(), faults.away())
                if ends_now(nodes, cell, plan, time.time() - begin_ns / 1e9):
                    engines.stop()
            whole = True
        finally:
            faults.end(at_once=not whole)
            sampler.stop(excused=nodes.frozen | faults.away())
        results, places = engines.results(), engines.places()
        warnings = [_in_words(*warning, cell) for warning in engines.warnings]
        if len(results) < cell.clients:
            raise EngineError(
                f"{cell.clients - len(results)} of {cell.clients} clients did not end in time",
                where=where,
                hint="the engine's log is in the run's folder",
            )
    refuse_frozen(nodes, plan, where)
    sampler.window_ended(max(r.window_end_s for r in results))
    faults.heal()
    alive = not nodes.all_frozen and system.answers()
    return Measured(ready, results, places, seconds, sampler, faults.records, warnings, alive, sorted(beside))


def _stage_sums(cell: Cell, warm_up_s: float) -> StageSums | None:
    if not isinstance(cell.pacing, Open) or not cell.pacing.stages:
        return None
    return StageSums(cell.pacing.stages, cell.clients, cell.clients * cell.threads, warm_up_s)


def _start_clients(
    engines: Engines,
    slot: Slot,
    cell: Cell,
    plan: ResolvedPlan,
    instance: Instance,
    writer: BundleWriter,
    probe: StalenessProbeSpec | None,
) -> None:
    for client in range(cell.clients):
        document, env = spec(plan, cell, instance.system, "run", client)
        document.workload = instance.work(cell, slot)
        document.threads = cell.threads
        document.sessions = cell.sessions
        document.pacing = cell.pacing
        document.limit = cell.limit
        document.warm_up_s = plan.warm_up_s
        document.retry = cell.retry
        document.error_budget_ratio = plan.record.error_budget_ratio
        document.latency_probe_rate_ops_per_s = plan.measure.latency_probe_rate_ops_per_s if client == 0 else None
        if client == 0 and probe is not None:
            document.staleness_probe, document.drop_existing = probe, instance.system.managed
        document.seed = plan.seed_of_block(slot.block)
        document.arrival_seed = plan.arrival_seed_of_block(slot.block)
        if cell.event_log:
            log = writer.run_folder(slot.run) / ("events.csv" if client == 0 else f"events.{client}.csv")
            document.event_log = EventLogSpec(path=str(log.absolute()), test_id=slot.run, database=cell.record.system)
        path = writer.run_spec(slot.run, client, document)
        engines.start(path, env, path.parent / "engine.log")


def _wait_ready(engines: Engines, cell: Cell, watcher: Watcher) -> list[Ready]:
    """All clients may have to share the cores with each other and with other processes."""
    prepares_s = cell.workload.prepares_s
    if prepares_s > TOLD_S:
        watcher.stage(f"preparing (about {seconds_words(prepares_s)})")
    ready = engines.wait_ready(READY_TIMEOUT_S + 10 * prepares_s * cell.clients)
    if prepares_s > TOLD_S:
        watcher.stage("running")
    return ready


def ends_now(nodes: FrozenNodes, cell: Cell, plan: ResolvedPlan, at_s: float) -> bool:
    """Whether to end a run at this second: because the plan says so, or because all nodes are frozen and it may not
    end by itself. A window of time ends if the nodes never wake up; a number of operations does not."""
    if plan.measure.ends_with_a_node and nodes.frozen:
        return True
    window_s = _window_s(cell)
    return nodes.all_frozen and (window_s is None or at_s > plan.warm_up_s + window_s)


def refuse_frozen(nodes: FrozenNodes, plan: ResolvedPlan, where: str) -> None:
    """Raises ServerError where the plan says that a run ends with a node."""
    if plan.measure.ends_with_a_node and nodes.frozen:
        words = f"{', '.join(sorted(nodes.frozen))} did not answer for {SERVER_SILENCE_S:.0f} s"
        raise ServerError(
            words, where=where, hint='the plan says on_node_failure = "end"; "go on" continues the measurement'
        )


def _in_words(client: int, warning: EngineWarning, cell: Cell) -> str:
    whose = f"client {client}: " if cell.clients > 1 else ""
    return f"{whose}{warning.what} (second {warning.at_s:.1f} of the run)"


def _window_s(cell: Cell) -> float | None:
    return cell.limit.window_s if isinstance(cell.limit, TimeLimit) else None


def _deadline(cell: Cell, plan: ResolvedPlan) -> float | None:
    """When a run is given up (monotonic): well after its window and the last operation's timeout."""
    if isinstance(cell.limit, OperationsLimit):
        length = cell.limit.max_s
        return None if length is None else time.monotonic() + plan.warm_up_s + length + 2 * plan.timeout_s + 60
    return time.monotonic() + plan.warm_up_s + cell.limit.window_s + 2 * plan.timeout_s + 60


def _server_side(system: System, measured: Measured, merged: Merged, debt_start: dict[str, float]) -> ServerSide:
    """What the server cost in the window, and its write-back debt at the end."""
    sampler = measured.sampler
    side = ServerSide(debt_start=debt_start)
    if not measured.alive_after:
        return side
    try:
        side.debt_end = by_node(system.nodes(), lambda node: node.debt())
        began = time.monotonic()
        side.debt_drained = system.drain_debt(DRAIN_TIMEOUT_S)
        side.debt_drain_s = time.monotonic() - began
        side.size_on_disk_bytes = system.size_on_disk_bytes()
    except BakeoffError:
        side.debt_drained = False
    sampler.last_look()  # after the drain, whose bytes belong to this run
    side = side.model_copy(update=sampler.window_usage().model_dump(exclude_unset=True))
    side.write_bytes_with_debt = sampler.written_since_window_start()
    written = merged.user_bytes_written
    if side.write_bytes_with_debt is not None and written:
        side.write_bytes_per_user_byte = side.write_bytes_with_debt / written
    return side


def _check(cell: Cell, plan: ResolvedPlan, instance: Instance, folder: Path, measured: Measured) -> list[Check]:
    """Invariants of the data after the run; that they could not be checked is a finding, too."""
    if not instance.system.keeps_data:
        return []
    expected = CheckSpec(
        evidence=instance.done_with([result.evidence for result in measured.results]),
        sample=plan.measure.check_sample,
        acknowledged=max(plan.measure.check_sample, ACKNOWLEDGED_MAX if cell.record.faults else 0),
        after_run=cell.workload.writes or cell.reset == "none" or cell.data == "existing",
    )
    try:
        if not measured.alive_after:
            raise EngineError("the server had ended or was frozen", hint="")
        instance.start()  # restarts nodes that have ended, so that all hold the same data again
        return instance.phases.check(plan, cell, instance.system, folder, expected).checks
    except BakeoffError as error:
        return [Check(name=COULD_BE_CHECKED, ok=False, expected="an answer", actual=str(error), evidence=[])]
