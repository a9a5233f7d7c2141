//! From all workers' records to one result.
use crate::control::Axis;
use crate::job::Terms;
use crate::latency_probe;
use crate::pace::schedule::Schedule;
use crate::phases::result::empty_result;
use crate::record::interval::Progress;
use crate::record::merged::{Merged, error_ratio, merge_series, outcome_of};
use crate::record::nodes::NodeTotals;
use crate::record::recorder::{Extra, Recorder};
use crate::record::samples::earliest;
use crate::record::tally::Totals;
use crate::record::times::Times;
use crate::threads::client_cost::{Snapshot, cost_between};
use bakeoff_model::capacity::CapacityUnits;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::event::{NodeResult, OperationTimes, RunResult, Series};
use bakeoff_model::outcome::Outcome;
use bakeoff_model::run::Pacing;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Operation;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How often the controller hears that what fell due is being counted: that may take seconds for thousands of schedules.
const TOLD_NS: u64 = 500_000_000;

/// What was seen from outside the workers.
pub struct Measured {
    /// The process's own costs at the window's beginning and end.
    pub before: Snapshot,
    pub after: Snapshot,
    pub capacity_units: Option<CapacityUnits>,
    /// By thread number.
    pub stream_hashes: Vec<String>,
    /// Otherwise some are still blocked in an operation.
    pub all_done: bool,
}

/// Adds up all workers' records; what the workload itself tells is not in it.
pub fn collect(
    job: &Terms,
    axis: &Axis,
    recorders: &[Arc<Recorder>],
    schedules: &[(Vec<u32>, Arc<Schedule>)],
    measured: &Measured,
    latency_probe: Option<latency_probe::Seen>,
) -> RunResult {
    let sum = |read: &dyn Fn(&Recorder) -> u64| recorders.iter().map(|r| read(r)).sum::<u64>();
    let operations = &*job.operations;
    let merged = merge_series(recorders, operations);
    let mut totals = Totals::default();
    recorders
        .iter()
        .for_each(|recorder| recorder.tally.add_to(&mut totals));
    let backlog = backlog(job, axis, recorders, schedules);
    let unfinished = unfinished(axis, recorders, operations.len(), !measured.all_done);
    let mut all_unfinished = Times::default();
    unfinished.iter().for_each(|times| all_unfinished.merge(times));
    let counted = ended(&merged, operations, |_| true).count();
    let latency_probe = latency_probe.map(|seen| seen.against(&merged, operations));
    let revoked = sum(&|r| r.counters.revoked.load(Relaxed));
    let error_ratio = error_ratio(&merged, operations, revoked);
    RunResult {
        elapsed_s: axis.seconds(axis.window_end_ns()).max(0.0),
        window_start_s: axis
            .seconds(axis.window_start_ns)
            .min(axis.seconds(axis.window_end_ns()).max(0.0)),
        window_end_s: axis.seconds(axis.window_end_ns()).max(0.0),
        epoch_unix_ns: axis.epoch_unix_ns,
        interrupted: job
            .control
            .stopped_at_ns()
            .is_some_and(|at_ns| at_ns <= axis.window_end_ns()),
        series: series_events(&merged, operations),
        unfinished: all_unfinished.to_event(),
        unfinished_by_operation: by_operation(operations, &unfinished),
        // Each came to one of these ends.
        due: match job.spec.pacing {
            Pacing::Open { .. } => counted + all_unfinished.count() + backlog.count(),
            Pacing::Closed | Pacing::Thinking { .. } => 0,
        },
        backlog: backlog.to_event(),
        lateness: extra(recorders, Extra::Lateness).to_event(),
        pool_wait: extra(recorders, Extra::PoolWait).to_event(),
        queries: totals.queries,
        retries: totals.retries,
        retries_after_conflict: totals.retries_after_conflict,
        reconnects: totals.reconnects,
        connections_lost: sum(&|r| r.counters.connections_lost.load(Relaxed)),
        revoked,
        error_ratio,
        error_budget_exceeded: error_ratio > job.spec.error_budget_ratio,
        errors: earliest(recorders.iter().flat_map(|r| r.samples.taken()).collect()),
        stream_hashes: measured.stream_hashes.clone(),
        completed: counted + sum(&|r| r.counters.late_from_warm_up.load(Relaxed)),
        ok_from_warm_up: sum(&|r| r.counters.ok_from_warm_up.load(Relaxed)),
        nodes: nodes(job, recorders, &merged, totals.reconnects),
        cost: cost_between(&measured.before, &measured.after),
        // The latency probe's reads would count, too.
        capacity_units: measured
            .capacity_units
            .filter(|_| job.spec.latency_probe_rate_ops_per_s.is_none()),
        latency_probe,
        ..empty_result(&job.spec)
    }
}

/// Response of whole operations that ended so.
fn ended(merged: &[Merged], operations: &[Operation], so: impl Fn(Outcome) -> bool) -> Times {
    let mut total = Times::default();
    let whole = |m: &&Merged| operations[m.series / Outcome::COUNT].part_of.is_none();
    let these = merged.iter().filter(whole).filter(|m| so(outcome_of(m.series)));
    these.for_each(|m| total.merge(&m.response));
    total
}

/// What came from each node. Where there is but one, all did.
fn nodes(job: &Terms, recorders: &[Arc<Recorder>], merged: &[Merged], reconnects: u64) -> Vec<NodeResult> {
    let endpoints = job.spec.driver.endpoints();
    if let [only] = endpoints {
        let count = |outcome| (outcome, ended(merged, &job.operations, |o| o == outcome).count());
        let counted = Outcome::ALL
            .into_iter()
            .map(count)
            .filter(|(_, count)| *count > 0);
        let response = ended(merged, &job.operations, |outcome| outcome == Outcome::Ok);
        return vec![node_result(only, counted.collect(), &response, reconnects)];
    }
    let mut totals = NodeTotals::of_several(endpoints.len());
    recorders.iter().for_each(|recorder| recorder.nodes(&mut totals));
    let nodes = endpoints.iter().zip(&totals);
    nodes
        .map(|(endpoint, node)| node_result(endpoint, node.outcomes(), &node.response, node.reconnects()))
        .collect()
}

fn node_result(
    endpoint: &Endpoint,
    outcomes: BTreeMap<Outcome, u64>,
    response: &Times,
    reconnects: u64,
) -> NodeResult {
    NodeResult {
        name: endpoint.name.clone(),
        role: endpoint.role.clone(),
        operations: outcomes.values().sum(),
        outcomes,
        response: response.to_event(),
        reconnects,
    }
}

fn series_events(merged: &[Merged], operations: &[Operation]) -> Vec<Series> {
    let event = |merged: &Merged| {
        let operation = &operations[merged.series / Outcome::COUNT];
        Series {
            operation: operation.name.clone(),
            part_of: operation.part_of.clone(),
            outcome: outcome_of(merged.series),
            count: merged.response.count(),
            response: merged.response.to_event(),
            service: merged.service.to_event(),
        }
    };
    merged.iter().map(event).collect()
}

fn extra(recorders: &[Arc<Recorder>], which: Extra) -> Times {
    let mut total = Times::default();
    recorders
        .iter()
        .for_each(|recorder| recorder.extra(which, &mut total));
    total
}

/// What users owed when the window ended, and what no user had come to claim.
fn backlog(
    job: &Terms,
    axis: &Axis,
    recorders: &[Arc<Recorder>],
    schedules: &[(Vec<u32>, Arc<Schedule>)],
) -> Times {
    let mut total = extra(recorders, Extra::Backlog);
    let length_ns = axis.window_end_ns().saturating_sub(axis.epoch_ns);
    let progress = Progress {
        elapsed_from_ns: axis.epoch_ns,
        total: schedules.len() as u64,
        sink: job.sink.clone(),
    };
    let mut told_ns = now_ns();
    for (counted, (_, schedule)) in schedules.iter().enumerate() {
        schedule.drain(length_ns, |after_ns, due| {
            if let Some(age_ns) = axis.age_at_end_ns(axis.epoch_ns + after_ns) {
                total.record_many(age_ns, due);
            }
        });
        if now_ns() - told_ns > TOLD_NS {
            told_ns = now_ns();
            progress.report(counted as u64 + 1);
        }
    }
    total
}

/// By operation: ended only after the window, or not at all.
fn unfinished(axis: &Axis, recorders: &[Arc<Recorder>], operations: usize, some_missing: bool) -> Vec<Times> {
    let mut totals = vec![Times::default(); operations];
    for recorder in recorders {
        let each = totals.iter_mut().enumerate();
        each.for_each(|(operation, total)| recorder.unfinished(operation, total));
    }
    if some_missing {
        for (operation, due_ns) in recorders.iter().flat_map(|recorder| recorder.in_flight()) {
            let age_ns = axis.age_at_end_ns(due_ns);
            age_ns
                .into_iter()
                .for_each(|age_ns| totals[operation].record(age_ns));
        }
    }
    totals
}

fn by_operation(operations: &[Operation], times: &[Times]) -> Vec<OperationTimes> {
    let some = operations
        .iter()
        .zip(times)
        .filter(|(_, times)| times.count() > 0);
    let event = |(operation, times): (&Operation, &Times)| OperationTimes {
        operation: operation.name.clone(),
        times: times.to_event(),
    };
    some.map(event).collect()
}
