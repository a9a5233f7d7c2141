//! Users that ask again when they have been answered: how operations may end, and what each counts for.
use crate::bench::{Ran, Reply, TestWorkload, operations, pause, run, spec, try_run, try_run_of};
use bakeoff_measure::Control;
use bakeoff_model::event::Event;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::time::{deadline_ns, now_ns};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn non_empty_figures_add_up(ran: &Ran) {
    let counted: u64 = ran.result.series.iter().map(|s| s.count).sum();
    assert_eq!(counted, ran.result.completed);
}

#[test]
fn a_closed_loop_counts_every_operation_once() {
    for runner in ["tokio", "thread"] {
        let ran = run(
            &spec(&format!(
                r#"{},"threads":3,"runner":"{runner}""#,
                operations(1000)
            )),
            |_| Reply::Right,
        );
        assert_eq!(ran.count(Outcome::Ok), 1000, "{runner}");
        assert_eq!(ran.executed, 1000, "{runner}");
        assert_eq!(
            ran.result.stream_hashes,
            ["0000000000000000", "0000000000000001", "0000000000000002"]
        );
        assert_eq!(ran.result.error_ratio, 0.0);
        assert!(!ran.result.interrupted);
        non_empty_figures_add_up(&ran);
    }
}

#[test]
fn failures_are_not_counted_as_ok_and_are_shown() {
    let ran = run(&spec(&operations(100)), |n| match n % 4 {
        0 => Reply::Fail(FailClass::Constraint),
        1 => Reply::Wrong,
        _ => Reply::Right,
    });
    assert_eq!(ran.count(Outcome::Ok), 50);
    assert_eq!(ran.count(Outcome::Wrong), 25);
    assert_eq!(ran.count(Outcome::Fail(FailClass::Constraint)), 25);
    assert_eq!(ran.result.error_ratio, 0.5);
    assert!(ran.result.error_budget_exceeded);
    let codes: Vec<&str> = ran.result.errors.iter().map(|e| e.code.as_str()).collect();
    assert_eq!(
        codes,
        ["F", "wrong", "F", "wrong", "F", "wrong"],
        "the first three of each"
    );
    assert_eq!(ran.result.errors[0].statement.as_deref(), Some("ask"));
    assert_eq!(ran.settled.len(), 50);
}

#[test]
fn a_failure_the_policy_names_is_tried_again_within_the_same_operation() {
    let retry = r#","retry":{"retries":2,"on":["conflict"],"backoff_s":0.005}"#;
    let ran = run(&spec(&format!("{retry}{}", operations(10))), |n| match n {
        0 | 1 => Reply::Fail(FailClass::Conflict),
        5 => Reply::Fail(FailClass::Refused),
        _ => Reply::Right,
    });
    assert_eq!(
        (ran.count(Outcome::Ok), ran.result.retries, ran.executed),
        (9, 2, 12)
    );
    assert_eq!(
        ran.count(Outcome::Fail(FailClass::Refused)),
        1,
        "a class it does not name"
    );
    let once = run(&spec(&format!("{retry}{}", operations(1))), |n| match n {
        0 | 1 => Reply::Fail(FailClass::Conflict),
        _ => Reply::Right,
    });
    let ok = once.series(Outcome::Ok).unwrap();
    assert!(
        ok.response.max_ns >= ok.service.max_ns + 15_000_000,
        "service is the last attempt's, response spans both pauses: {} {}",
        ok.service.max_ns,
        ok.response.max_ns
    );
}

#[test]
fn an_operation_that_hangs_is_unknown_at_no_less_than_its_timeout_and_the_rest_goes_on() {
    let workload = TestWorkload::default();
    let (settled, meanwhile) = (workload.settled.clone(), Arc::new(AtomicU64::new(0)));
    let counted = meanwhile.clone();
    let spec = spec(&format!(r#","threads":2,"timeout_s":0.1{}"#, operations(100)));
    let ran = try_run_of(&spec, Arc::default(), workload, move |n| {
        if n == 5 {
            return Reply::Hang;
        }
        let hangs = n > 5 && settled.lock().unwrap().is_empty();
        counted.fetch_add(u64::from(hangs), SeqCst);
        Reply::Right
    })
    .unwrap();
    assert_eq!((ran.count(Outcome::Unknown), ran.count(Outcome::Ok)), (1, 99));
    let unknown = ran.series(Outcome::Unknown).unwrap();
    assert!(
        unknown.response.min_ns >= 100_000_000,
        "{}",
        unknown.response.min_ns
    );
    assert_eq!(
        (ran.result.reconnects, ran.result.connections_lost, ran.opened),
        (1, 0, 3)
    );
    assert_eq!(ran.settled, [(Outcome::Unknown, true)]);
    assert_eq!(meanwhile.load(SeqCst), 50, "all of the other user's");
    assert_eq!(ran.result.errors[0].code, "timeout");
}

#[test]
fn a_user_of_a_closed_loop_thinks_between_its_operations() {
    const PAUSE_NS: u64 = 5_000_000;
    let workload = TestWorkload {
        pause_ns: PAUSE_NS,
        ..TestWorkload::default()
    };
    let begun: Arc<Mutex<Vec<u64>>> = Arc::default();
    let times = begun.clone();
    let ran = try_run_of(&spec(&operations(5)), Arc::default(), workload, move |_| {
        times.lock().unwrap().push(now_ns());
        Reply::Right
    })
    .unwrap();
    assert_eq!(ran.count(Outcome::Ok), 5);
    let begun = begun.lock().unwrap();
    let pauses: Vec<u64> = begun.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(pauses.iter().all(|&ns| ns >= PAUSE_NS), "{pauses:?}");
    let response_ns = ran.series(Outcome::Ok).unwrap().response.min_ns;
    assert!(
        response_ns < begun[4] - begun[0],
        "thinking is no part of it: {response_ns}"
    );
}

#[test]
fn a_window_that_ends_while_a_user_thinks_does_not_wait_for_it() {
    let workload = TestWorkload {
        pause_ns: 3_600_000_000_000,
        ..TestWorkload::default()
    };
    let spec = spec(r#","limit":{"kind":"time","window_s":0.05}"#);
    let ran = try_run_of(&spec, Arc::default(), workload, |_| Reply::Right).unwrap();
    assert_eq!(ran.executed, 1);
}

#[test]
fn a_lost_connection_is_replaced_and_the_gap_shows_in_response_time_only() {
    let ran = run(&spec(&operations(2)), |n| {
        if n == 0 { Reply::Lost } else { Reply::Right }
    });
    assert_eq!((ran.result.connections_lost, ran.result.reconnects), (1, 1));
    let ok = ran.series(Outcome::Ok).unwrap();
    assert_eq!(ok.count, 1);
    assert!(
        ok.response.max_ns >= ok.service.max_ns + 5_000_000,
        "back-off of 5 ms at least"
    );
    assert!(
        ran.events
            .iter()
            .any(|e| matches!(e, Event::Warning(w) if w.what.contains("told to hang up")))
    );
}

#[test]
fn waiting_for_a_pooled_session_is_response_time_and_recorded() {
    let pool = r#","threads":4,"sessions":1"#;
    let ran = run(&spec(&format!("{pool}{}", operations(40))), |_| pause(5));
    assert_eq!((ran.count(Outcome::Ok), ran.opened), (40, 1));
    let ok = ran.series(Outcome::Ok).unwrap();
    // Three others are served before one's turn comes again.
    assert!(
        ran.result.pool_wait.p50_ns >= 14_000_000,
        "{}",
        ran.result.pool_wait.p50_ns
    );
    assert!(ok.response.p50_ns >= 19_000_000, "{}", ok.response.p50_ns);
    // One session serves one after the other, so what it served fits into the run, and the waiting does not.
    let served_s = ok.service.mean_ns * 40.0 / 1e9;
    assert!(served_s < ran.result.elapsed_s * 1.001, "{served_s}");
}

#[test]
fn a_stall_that_began_in_the_warm_up_is_in_the_figures_of_a_closed_loop() {
    let extra = r#","warm_up_s":0.2,"limit":{"kind":"time","window_s":3600}"#;
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let ran = try_run(&spec(extra), control, move |n| match n {
        0 => Reply::At(stopper.axis().unwrap().window_start_ns + 100_000_000),
        5 => {
            stopper.stop();
            Reply::Right
        }
        _ => Reply::Right,
    })
    .unwrap();
    let ok = ran.series(Outcome::Ok).unwrap();
    assert_eq!((ok.count, ok.response.count, ran.result.completed), (5, 5, 5));
    assert!(ok.response.max_ns >= 300_000_000, "{}", ok.response.max_ns);
    assert_eq!(ran.result.unfinished.count, 1, "the one that stopped it");
    non_empty_figures_add_up(&ran);
}

#[test]
fn what_a_closed_loop_began_in_the_warm_up_and_did_not_end_enters_at_its_age() {
    let extra = r#","warm_up_s":0.05,"limit":{"kind":"time","window_s":3600}"#;
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let ran = try_run(&spec(extra), control, move |_| {
        while now_ns() < stopper.axis().unwrap().window_start_ns {
            std::thread::sleep(Duration::from_millis(1));
        }
        stopper.stop();
        Reply::Right
    })
    .unwrap();
    assert_eq!((ran.executed, ran.result.completed), (1, 0));
    let unfinished = &ran.result.unfinished;
    assert!(
        unfinished.count == 1 && unfinished.max_ns >= 50_000_000,
        "{}",
        unfinished.max_ns
    );
}

#[test]
fn a_number_of_operations_is_of_those_that_ended_in_the_window() {
    let extra = format!(r#","warm_up_s":0.05{}"#, operations(10));
    let control = Arc::new(Control::default());
    let watched = control.clone();
    let ran = try_run(&spec(&extra), control, move |n| match n {
        0 => Reply::At(watched.axis().unwrap().window_start_ns + 1_000_000),
        _ => Reply::Right,
    })
    .unwrap();
    assert_eq!((ran.executed, ran.count(Outcome::Ok)), (10, 10));
    assert!(ran.series(Outcome::Ok).unwrap().response.max_ns >= 51_000_000);
}

#[test]
fn what_the_client_computes_to_draw_an_operation_is_no_response_time() {
    let draw_ns = 5_000_000;
    for extra in [
        r#","threads":1"#,
        r#","threads":3,"sessions":2"#,
        r#","threads":2,"runner":"thread""#,
    ] {
        let workload = TestWorkload {
            draw_ns,
            ..TestWorkload::default()
        };
        let extra = format!("{extra}{}", operations(20));
        let ran = try_run_of(&spec(&extra), Arc::default(), workload, |_| Reply::Right).unwrap();
        let ok = ran.series(Outcome::Ok).unwrap();
        assert!(ok.response.min_ns < draw_ns, "{}", ok.response.min_ns);
    }
}

#[test]
fn a_call_that_blocks_knows_until_when_it_may() {
    let spec = spec(&format!(r#","runner":"thread","timeout_s":5{}"#, operations(3)));
    let ran = run(&spec, |_| {
        let left_ns = deadline_ns().checked_sub(now_ns()).unwrap();
        assert!((1..=5_000_000_000).contains(&left_ns), "{left_ns}");
        Reply::Right
    });
    assert_eq!(ran.count(Outcome::Ok), 3);
    assert_eq!(
        deadline_ns(),
        u64::MAX,
        "what is no operation takes as long as it takes"
    );
}
