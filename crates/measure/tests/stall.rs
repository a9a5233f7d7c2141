//! The instrument as an instrument: a system that stops answering for a while. A file (process) of its own, because
//! the script tells the time by the process's epoch.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_model::outcome::Outcome;
use bench::{above, run, spec, stall};

/// 1000/s for 6 s, nothing answered from 3.0 to 3.6 s: what fell due d s into the stall waits 0.6 - d, so the share
/// x waits longer than 0.6 - 6 x.
#[test]
fn a_stall_shows_in_response_times_as_theory_says_and_the_offered_rate_is_kept() {
    let extra = r#","threads":8,"warm_up_s":0.5,"limit":{"kind":"time","window_s":6},
        "pacing":{"kind":"open","rate_ops_per_s":1000,"arrival":"constant"}"#;
    let ran = run(&spec(extra), stall(3.0, 3.6));
    assert!((5999..=6001).contains(&ran.result.due), "due {}", ran.result.due);
    let ok = ran.series(Outcome::Ok).unwrap();
    let all = ok.count + ran.result.unfinished.count + ran.result.backlog.count;
    assert_eq!(all, ran.result.due, "every due operation is somewhere");
    for (share, measured_ns) in [
        (0.05, ok.response.p95_ns),
        (0.01, ok.response.p99_ns),
        (0.001, ok.response.p999_ns),
    ] {
        let theory_ns = (0.6 - 6.0 * share) * 1e9;
        let error = measured_ns as f64 / theory_ns - 1.0;
        assert!(
            error.abs() < 0.05,
            "beyond {share}: {measured_ns} against {theory_ns}"
        );
    }
    assert_eq!(
        above(&ok.service, 300_000_000),
        8,
        "only the sessions in flight saw the system take long"
    );
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
