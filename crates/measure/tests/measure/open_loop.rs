//! Operations that fall due by the clock.
use crate::bench::{
    HALF_A_SECOND, Operations, Reply, TestWorkload, operations, pause, run, spec, try_run, try_run_of,
};
use bakeoff_measure::Control;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::workload::Operation;
use std::sync::Arc;

#[test]
fn an_open_loop_limited_by_operations_ends_with_the_last() {
    let open = r#","threads":4,"pacing":{"kind":"open","rate_ops_per_s":2000,"arrival":"poisson"}"#;
    let ran = run(&spec(&format!("{open}{}", operations(500))), |_| Reply::Right);
    assert_eq!((ran.count(Outcome::Ok), ran.result.due), (500, 500));
    assert_eq!((ran.result.backlog.count, ran.result.unfinished.count), (0, 0));
}

#[test]
fn every_arrival_keeps_the_rate_on_every_runner() {
    for runner in ["tokio", "thread"] {
        for arrival in ["constant", "per_session", "poisson"] {
            let extra = format!(
                r#","threads":5,"runner":"{runner}","limit":{{"kind":"time","window_s":0.8}},
                "pacing":{{"kind":"open","rate_ops_per_s":1000,"arrival":"{arrival}"}}"#
            );
            let ran = run(&spec(&extra), |_| Reply::Right);
            // Poisson: 800 +- 28 (one deviation).
            let most = if arrival == "poisson" { 170 } else { 2 };
            assert!(
                ran.result.due.abs_diff(800) <= most,
                "{runner} {arrival}: {}",
                ran.result.due
            );
            let ended = ran.count(Outcome::Ok) + ran.result.unfinished.count + ran.result.backlog.count;
            assert_eq!(ended, ran.result.due);
        }
    }
}

#[test]
fn what_a_system_cannot_keep_up_with_is_late_and_never_dropped() {
    let open = r#","threads":2,"pacing":{"kind":"open","rate_ops_per_s":1000,"arrival":"constant"}"#;
    let ran = run(&spec(&format!("{open}{HALF_A_SECOND}")), |_| pause(20)); // it can do 100/s
    let ok = ran.count(Outcome::Ok);
    assert_eq!(ran.result.due, 500);
    assert!(ok <= 50, "{ok}");
    assert_eq!(ok + ran.result.unfinished.count + ran.result.backlog.count, 500);
    assert_eq!(ran.result.completed, ok, "the queue has grown by the rest");

    // Users that wait for a session of the pool when the window ends have begun nothing.
    let pool = r#","threads":8,"sessions":1,"timeout_s":1,"pacing":{"kind":"open","rate_ops_per_s":100,"arrival":"constant"}"#;
    let ran = run(&spec(&format!("{pool}{HALF_A_SECOND}")), |_| Reply::Hang);
    assert_eq!(
        (
            ran.result.due,
            ran.result.unfinished.count,
            ran.result.backlog.count
        ),
        (50, 1, 49)
    );
    // At most 52 were begun, so the oldest of the others has been due since 52 ms at the latest.
    assert!(ran.result.backlog.max_ns > 440_000_000);

    let ran = run(&spec(&format!("{open}{}", operations(50))), |_| pause(20));
    let ok = ran.series(Outcome::Ok).unwrap();
    assert_eq!((ok.count, ran.result.due), (50, 50));
    // Due at 49 ms, and after 24 others of 20 ms on either session.
    assert!(
        ok.response.max_ns >= 451_000_000,
        "response time spans the wait: {}",
        ok.response.max_ns
    );
}

#[test]
fn what_an_open_loop_answers_late_is_completed_but_in_no_series() {
    let extra = r#","warm_up_s":0.15,"limit":{"kind":"time","window_s":3600},
        "pacing":{"kind":"open","rate_ops_per_s":10,"arrival":"constant"}"#; // due at 0, 0.1, 0.2 s ...
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let ran = try_run(&spec(extra), control, move |n| {
        let first_ends_ns = stopper.axis().unwrap().window_start_ns + 1_000_000;
        if n == 2 {
            stopper.stop();
        }
        if n == 0 {
            Reply::At(first_ends_ns)
        } else {
            Reply::Right
        }
    })
    .unwrap();
    assert_eq!((ran.result.completed, ran.count(Outcome::Ok)), (2, 0));
    assert_eq!(ran.result.ok_from_warm_up, 2);
    assert_eq!(ran.result.unfinished.count, 1);
}

#[test]
fn failures_are_completions() {
    let open = r#","pacing":{"kind":"open","rate_ops_per_s":2000,"arrival":"constant"}"#;
    let ran = run(&spec(&format!("{open}{}", operations(100))), |n| match n % 2 {
        0 => Reply::Fail(FailClass::Other),
        _ => Reply::Right,
    });
    assert_eq!(
        (ran.count(Outcome::Ok), ran.result.completed, ran.result.due),
        (50, 100, 100)
    );
}

#[test]
fn what_is_unfinished_is_known_by_operation_whether_it_ends_later_or_never() {
    for (last, runner) in [
        (Reply::Hang, "tokio"),
        (pause(800), "tokio"),
        (pause(800), "thread"),
    ] {
        let workload = TestWorkload {
            operations: Operations(vec![Operation::new("read"), Operation::new("write")]),
            ..TestWorkload::default()
        };
        let extra = format!(
            r#","threads":2,"timeout_s":1,"runner":"{runner}","limit":{{"kind":"time","window_s":0.5}}"#
        );
        let ran = try_run_of(&spec(&extra), Arc::default(), workload, move |n| {
            if n < 40 { pause(5) } else { last }
        })
        .unwrap();
        let by_operation = &ran.result.unfinished_by_operation;
        let count: u64 = by_operation.iter().map(|one| one.times.count).sum();
        assert_eq!((count, ran.result.unfinished.count), (2, 2), "{runner} {last:?}");
        let oldest = by_operation.iter().map(|one| one.times.max_ns).max();
        assert_eq!(oldest, Some(ran.result.unfinished.max_ns));
        let known = |name: &str| name == "read" || name == "write";
        assert!(by_operation.iter().all(|one| known(&one.operation)));
    }
}

#[test]
fn a_rate_that_nobody_reaches_ends_with_all_that_fell_due_in_its_figures() {
    for arrival in ["constant", "poisson", "per_session"] {
        let extra = format!(
            r#","threads":3,"pacing":{{"kind":"open","rate_ops_per_s":1e9,"arrival":"{arrival}"}}{HALF_A_SECOND}"#
        );
        let ran = run(&spec(&extra), |_| pause(1));
        let result = &ran.result;
        let ended = ran.count(Outcome::Ok) + result.unfinished.count + result.backlog.count;
        assert_eq!(ended, result.due);
        assert!(
            (result.due as f64 / 5e8 - 1.0).abs() < 1e-3,
            "{arrival}: {}",
            result.due
        );
        let backlog = &result.backlog;
        assert!(
            (backlog.mean_ns / 2.5e8 - 1.0).abs() < 0.01,
            "{}",
            backlog.mean_ns
        );
    }
}
