//! The instrument as an instrument: a system that stops answering for a while. A file (process) of its own, because
//! the script tells the time by the process's epoch.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::time::{epoch_ns, now_ns};
use bench::{Reply, TestWorkload, above, spec, stall, try_run_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const SESSIONS: f64 = 8.0;
const OPERATIONS: u64 = 3000;

/// 1000/s for 3 s, nothing answered from 1.0 to 1.6 s: what fell due d s into the stall waits 0.6 - d at least, and no
/// longer than its session took, however late this machine let anybody run.
#[test]
fn a_stall_shows_in_response_times_as_theory_says_and_the_offered_rate_is_kept() {
    let extra = r#","threads":8,"limit":{"kind":"operations","operations":3000,"max_s":null},
        "pacing":{"kind":"open","rate_ops_per_s":1000,"arrival":"constant"}"#;
    let stall = stall(1.0, 1.6);
    let (settled_ns, answered_ns) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let workload = TestWorkload {
        settled_ns: Some(settled_ns.clone()),
        ..TestWorkload::default()
    };
    let answered = answered_ns.clone();
    let ran = try_run_of(&spec(extra), Arc::default(), workload, move |n| {
        let reply = stall(n);
        let at_ns = if let Reply::At(ns) = reply { ns } else { now_ns() };
        answered.fetch_add(at_ns, SeqCst);
        reply
    })
    .unwrap();
    let ok = ran.series(Outcome::Ok).unwrap();
    assert_eq!(
        (ok.count, ran.result.due),
        (OPERATIONS, OPERATIONS),
        "every due operation was sent"
    );
    assert!(ran.result.elapsed_s >= 2.999, "{}", ran.result.elapsed_s);
    for (longer_ms, fell_due) in [(500, 100), (300, 300), (100, 500)] {
        let seen = above(&ok.response, longer_ms * 1_000_000);
        assert!(seen >= fell_due, "{seen} beyond {longer_ms} ms");
    }
    // Each fell due at its slot; the system answered at one time, and the harness was done with it at another.
    let after_due_s = |sum_ns: &AtomicU64| {
        let slots_s = (OPERATIONS - 1) as f64 / 2.0 / 1000.0;
        let epoch_ns = epoch_ns().unwrap();
        let since_ns = sum_ns
            .load(SeqCst)
            .wrapping_sub(OPERATIONS.wrapping_mul(epoch_ns));
        since_ns as f64 / 1e9 / OPERATIONS as f64 - slots_s
    };
    let mean_s = ok.response.mean_ns / 1e9;
    let (least_s, most_s) = (after_due_s(&answered_ns), after_due_s(&settled_ns));
    assert!(
        (0.999 * least_s..1.001 * most_s).contains(&mean_s),
        "{mean_s} s on average, not between {least_s} and {most_s}"
    );
    // The sessions saw the system one operation after the other, so all they saw fits into the run.
    let served_s = ok.service.mean_ns * OPERATIONS as f64 / 1e9;
    assert!(served_s < 1.001 * SESSIONS * ran.result.elapsed_s, "{served_s}");
    let slowest = ran
        .intervals()
        .iter()
        .map(|i| i.series.first().map_or(0, |s| s.response.max_ns))
        .max();
    assert!(
        slowest.unwrap() > 500_000_000,
        "and so does the second in which it happened"
    );
}
