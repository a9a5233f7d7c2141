//! A result before anything was measured.
use crate::record::times::Times;
use bakeoff_model::event::{ClientCost, QueryCounts, RunResult};
use bakeoff_model::run::RunSpec;

/// A result with everything that does not depend on the phase.
pub fn empty_result(spec: &RunSpec) -> RunResult {
    let none = Times::default().to_event();
    RunResult {
        format: bakeoff_model::FORMAT,
        phase: spec.phase,
        client: spec.client,
        seed: spec.seed,
        rows: 0,
        elapsed_s: 0.0,
        window_start_s: 0.0,
        window_end_s: 0.0,
        epoch_unix_ns: 0,
        interrupted: false,
        series: vec![],
        unfinished: none.clone(),
        unfinished_by_operation: vec![],
        backlog: none.clone(),
        due: 0,
        completed: 0,
        ok_from_warm_up: 0,
        lateness: none.clone(),
        pool_wait: none,
        queries: QueryCounts::default(),
        retries: 0,
        retries_after_conflict: 0,
        reconnects: 0,
        connections_lost: 0,
        revoked: 0,
        error_ratio: 0.0,
        error_budget_exceeded: false,
        errors: vec![],
        stream_hashes: vec![],
        nodes: vec![],
        cost: ClientCost::default(),
        capacity_units: None,
        latency_probe: None,
        staleness_probe: None,
        evidence: serde_json::Value::Null,
        user_bytes_written: 0,
        checks: vec![],
        event_log: None,
    }
}
