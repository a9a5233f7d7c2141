//! What else a workload or a policy can request of the loop: statements counted, failures retried by their code,
//! another session.
use crate::bench::{HALF_A_SECOND, Operations, Ran, Reply, TestWorkload, above, run, spec, try_run_of};
use bakeoff_measure::Control;
use bakeoff_model::event::QueryCounts;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::workload::{Operation, Queries};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const THREE: Queries = Queries {
    read: 3,
    write: 2,
    other: 1,
};

fn run_of(extra: &str, workload: TestWorkload, script: impl Fn(u64) -> Reply + Send + Sync + 'static) -> Ran {
    try_run_of(&spec(extra), Arc::new(Control::default()), workload, script).unwrap()
}

fn asking(queries: Queries) -> TestWorkload {
    TestWorkload {
        queries: Some(queries),
        ..TestWorkload::default()
    }
}

fn reconnecting(operations: u64) -> TestWorkload {
    TestWorkload {
        reconnect: operations,
        ..TestWorkload::default()
    }
}

fn operations(n: u64) -> String {
    format!(r#","limit":{{"kind":"operations","operations":{n},"max_s":null}}"#)
}

fn times(queries: Queries, n: u64) -> QueryCounts {
    QueryCounts {
        read: u64::from(queries.read) * n,
        write: u64::from(queries.write) * n,
        other: u64::from(queries.other) * n,
    }
}

#[test]
fn statements_count_with_their_operation_failed_attempts_included() {
    let extra = format!(
        r#","threads":2,"retry":{{"retries":1,"on":["conflict"]}}{}"#,
        operations(50)
    );
    let ran = run_of(&extra, asking(THREE), |n| match n {
        7 => Reply::Fail(FailClass::Conflict),
        9 => Reply::Fail(FailClass::Refused),
        _ => Reply::Right,
    });
    assert_eq!((ran.executed, ran.count(Outcome::Ok)), (51, 49));
    assert_eq!(ran.result.queries, times(THREE, 51));
}

#[test]
fn statements_of_operations_outside_the_window_are_in_no_total_but_in_their_second() {
    let extra = r#","warm_up_s":1,"limit":{"kind":"time","window_s":1},
        "pacing":{"kind":"open","rate_ops_per_s":5,"arrival":"constant"}"#;
    let ran = run_of(extra, asking(THREE), |_| Reply::After(Duration::from_millis(1)));
    let counted = ran.count(Outcome::Ok);
    assert!(counted <= 5, "{counted}");
    assert_eq!(ran.result.queries, times(THREE, counted));
    let ended = |second: usize| {
        ran.intervals()[second]
            .series
            .iter()
            .map(|s| s.response.count)
            .sum()
    };
    for second in [0, 1] {
        assert_eq!(
            ran.intervals()[second].queries,
            times(THREE, ended(second)),
            "second {second}"
        );
    }
    // On a machine that kept the process from running for a second there may be none.
    assert!(ended(0) <= 5, "warm-up");
}

#[test]
fn a_workload_that_says_nothing_of_statements_has_none() {
    assert_eq!(
        run(&spec(&operations(10)), |_| Reply::Right).result.queries,
        QueryCounts::default()
    );
}

#[test]
fn run_and_seconds_count_retries_those_after_a_conflict_apart_and_reconnects() {
    let extra = format!(r#","retry":{{"retries":2,"on_codes":["F"]}}{}"#, operations(20));
    let ran = run(&spec(&extra), |n| match n {
        3 => Reply::Fail(FailClass::Other),
        6 => Reply::Lost,
        9 | 10 => Reply::Fail(FailClass::Conflict),
        _ => Reply::Right,
    });
    let counted = ran.intervals().into_iter().fold((0, 0, 0), |sum, second| {
        (
            sum.0 + second.retries,
            sum.1 + second.retries_after_conflict,
            sum.2 + second.reconnects,
        )
    });
    assert_eq!(counted, (3, 2, 1));
    let of_run = &ran.result;
    assert_eq!(
        (of_run.retries, of_run.retries_after_conflict, of_run.reconnects),
        counted
    );
}

#[test]
fn a_failure_named_by_its_code_is_tried_again() {
    for (codes, retries, failed) in [(r#"["F"]"#, 2, 0), (r#"["all"]"#, 2, 0), (r#"["1213"]"#, 0, 2)] {
        let extra = format!(r#","retry":{{"retries":1,"on_codes":{codes}}}{}"#, operations(10));
        let ran = run(&spec(&extra), |n| match n {
            2 | 5 => Reply::Fail(FailClass::Other),
            _ => Reply::Right,
        });
        let seen = (ran.result.retries, ran.count(Outcome::Fail(FailClass::Other)));
        assert_eq!(seen, (retries, failed), "{codes}");
    }
}

#[test]
fn retries_by_code_keep_the_back_off_and_end_with_their_number() {
    let extra = format!(
        r#","retry":{{"retries":3,"on_codes":["F"],"backoff_s":0.005}}{}"#,
        operations(1)
    );
    let ran = run(&spec(&extra), |_| Reply::Fail(FailClass::Other));
    assert_eq!((ran.executed, ran.result.retries), (4, 3));
    let failed = ran.series(Outcome::Fail(FailClass::Other)).unwrap();
    assert!(failed.response.min_ns >= 30_000_000, "5, 10 and 15 ms");
}

#[test]
fn nothing_is_tried_again_after_the_window() {
    let extra = r#","retry":{"retries":1000000,"on_codes":["all"]},"limit":{"kind":"time","window_s":0.2}"#;
    let ran = run(&spec(extra), |_| {
        std::thread::sleep(Duration::from_millis(1));
        Reply::Fail(FailClass::Other)
    });
    assert_eq!((ran.result.unfinished.count, ran.settled.len()), (1, 1));
}

#[test]
fn a_lost_session_is_replaced_and_its_operation_tried_again_if_its_code_is_named() {
    let lost_once = |n| if n == 4 { Reply::Lost } else { Reply::Right };
    let named = format!(r#","retry":{{"retries":1,"on_codes":["L"]}}{}"#, operations(10));
    let ran = run(&spec(&named), lost_once);
    assert_eq!((ran.count(Outcome::Ok), ran.count(Outcome::Unknown)), (10, 0));
    assert_eq!(
        (ran.result.connections_lost, ran.result.reconnects, ran.opened),
        (1, 1, 2)
    );
    let all = format!(r#","retry":{{"retries":1,"on_codes":["all"]}}{}"#, operations(10));
    let ran = run(&spec(&all), lost_once);
    assert_eq!(
        (ran.count(Outcome::Unknown), ran.result.retries),
        (1, 0),
        "it may have been applied, so it is no failure"
    );
}

#[test]
fn a_session_the_workload_is_done_with_is_replaced_without_being_a_fault() {
    for runner in ["tokio", "thread"] {
        let extra = format!(r#","threads":2,"runner":"{runner}"{}"#, operations(40));
        let ran = run_of(&extra, reconnecting(1), |_| Reply::Right);
        assert_eq!(ran.count(Outcome::Ok), 40, "{runner}");
        assert_eq!((ran.result.reconnects, ran.opened), (40, 42), "{runner}");
        assert_eq!((ran.result.connections_lost, ran.result.errors.len()), (0, 0));
        assert_eq!(ran.result.error_ratio, 0.0);
        let ok = ran.series(Outcome::Ok).unwrap();
        // All but the first of either user came after another session, and a back-off lasts 5 ms at least.
        let paused = above(&ok.response, 5_000_000);
        assert!(paused < 38, "no back-off: {paused} of 40 waited");
    }
}

#[test]
fn a_pooled_session_the_workload_is_done_with_is_replaced_before_the_next_user_has_it() {
    let extra = format!(r#","threads":4,"sessions":1{}"#, operations(40));
    let ran = run_of(&extra, reconnecting(10), |_| Reply::Right);
    assert_eq!(
        (ran.count(Outcome::Ok), ran.result.reconnects, ran.opened),
        (40, 4, 5)
    );
}

#[test]
fn a_session_both_lost_and_unwanted_is_replaced_once() {
    let ran = run_of(&operations(10), reconnecting(5), |n| {
        if n == 4 { Reply::Lost } else { Reply::Right }
    });
    assert_eq!(
        (ran.result.reconnects, ran.result.connections_lost, ran.opened),
        (2, 1, 3)
    );
}

#[test]
fn a_back_off_that_reaches_beyond_the_window_ends_with_it() {
    let extra = r#","timeout_s":60,"retry":{"retries":3,"on":["conflict"],"backoff_s":20}"#;
    let begun = std::time::Instant::now();
    let ran = run_of(
        &format!("{extra}{HALF_A_SECOND}"),
        TestWorkload::default(),
        |_| Reply::Fail(FailClass::Conflict),
    );
    assert_eq!((ran.executed, ran.result.unfinished.count), (1, 1));
    assert_eq!(ran.settled.len(), 1);
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
}

#[test]
fn an_attempt_that_nobody_answered_is_reported_when_a_later_one_settles_the_operation() {
    let retry = r#","retry":{"retries":3,"on":["conflict"],"on_codes":["L"]}"#;
    for (second, outcome) in [
        (Reply::Right, Outcome::Ok),
        // The first attempt may have added or removed the row.
        (Reply::Wrong, Outcome::Unknown),
        (Reply::Fail(FailClass::Constraint), Outcome::Unknown),
        (Reply::Fail(FailClass::Refused), Outcome::Unknown),
    ] {
        let perhaps = Arc::new(AtomicU64::new(0));
        let workload = TestWorkload {
            reason: "row missing".into(),
            perhaps_applied: perhaps.clone(),
            ..TestWorkload::default()
        };
        let ran = run_of(&format!("{retry}{}", operations(1)), workload, move |n| match n {
            0 => Reply::Lost,
            1 => Reply::Fail(FailClass::Conflict),
            2 => Reply::Lost,
            _ => second,
        });
        assert_eq!((ran.executed, perhaps.load(SeqCst)), (4, 2));
        assert_eq!(ran.count(outcome), 1, "{second:?}");
    }
    let reads = TestWorkload {
        operations: Operations(vec![Operation::new("read").reading_only(true)]),
        ..TestWorkload::default()
    };
    let ran = run_of(&format!("{retry}{}", operations(1)), reads, |n| match n {
        0 => Reply::Lost,
        _ => Reply::Wrong,
    });
    assert_eq!(ran.count(Outcome::Wrong), 1, "what is read wrongly is wrong");
    let ran = run_of(
        &format!("{retry}{}", operations(1)),
        TestWorkload::default(),
        |n| match n {
            0 => Reply::Fail(FailClass::Conflict),
            _ => Reply::Fail(FailClass::Constraint),
        },
    );
    let refused = Outcome::Fail(FailClass::Constraint);
    assert_eq!(ran.count(refused), 1, "no attempt was applied");
}
