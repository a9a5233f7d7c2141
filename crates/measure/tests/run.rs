//! Whole runs against a scripted system.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_measure::Control;
use bakeoff_model::event::Event;
use bakeoff_model::outcome::{FailClass, Outcome, TroubleKind};
use bakeoff_model::run::RunnerKind;
use bakeoff_model::time::now_ns;
use bench::{Ran, Reply, TestWorkload, run, spec, try_run, try_run_of};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const HALF_A_SECOND: &str = r#","limit":{"kind":"time","window_s":0.5}"#;

fn pause(ms: u64) -> Reply {
    Reply::After(Duration::from_millis(ms))
}

fn operations(n: u64) -> String {
    format!(r#","limit":{{"kind":"operations","operations":{n},"max_s":null}}"#)
}

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
fn a_pool_is_refused_where_sessions_block_threads() {
    let refused = try_run(
        &spec(r#","threads":2,"sessions":1,"runner":"thread""#),
        Arc::default(),
        |_| Reply::Right,
    );
    let trouble = refused.err().unwrap();
    assert_eq!(trouble.kind, TroubleKind::Usage);
    assert!(trouble.what.contains("pool"), "{trouble}");
}

#[test]
fn a_runner_that_does_not_suit_the_driver_is_refused_by_name() {
    let trouble = try_run(&spec(r#","runner":"reactor""#), Arc::default(), |_| Reply::Right)
        .err()
        .unwrap();
    assert!(trouble.what.contains("Reactor"), "{trouble}");
}

#[test]
fn stop_ends_the_run_and_what_was_measured_is_reported() {
    let extra = r#","threads":4,"warm_up_s":0.1,"limit":{"kind":"time","window_s":3600},
        "pacing":{"kind":"open","rate_ops_per_s":2,"arrival":"constant"}"#;
    for runner in ["tokio", "thread"] {
        let control = Arc::new(Control::default());
        let stopper = control.clone();
        let (asked, first_asked) = channel();
        std::thread::spawn(move || {
            first_asked.recv().unwrap();
            stopper.stop();
        });
        let begun = Instant::now();
        let spec = spec(&format!(r#"{extra},"runner":"{runner}""#));
        let ran = try_run(&spec, control, move |n| {
            if n == 1 {
                asked.send(()).unwrap();
            }
            Reply::Right
        })
        .unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(600),
            "{runner}: {:?}",
            begun.elapsed()
        );
        assert!(ran.result.interrupted);
        let end_s = ran.result.window_end_s;
        assert!((0.5..600.0).contains(&end_s), "{end_s}");
        // One each half second from 0.5 s on; what would have come later was never due.
        assert_eq!(ran.result.due, ((end_s - 1e-9) / 0.5) as u64);
    }
}

#[test]
fn a_second_stop_or_one_after_the_window_ends_the_waiting_for_what_is_in_flight() {
    for (extra, twice) in [
        (r#","limit":{"kind":"time","window_s":0.1}"#, false),
        (
            r#","limit":{"kind":"operations","operations":5,"max_s":null}"#,
            true,
        ),
    ] {
        let begun = Instant::now();
        let control = Arc::new(Control::default());
        let stopper = control.clone();
        let spec = spec(&format!(r#"{extra},"timeout_s":3600"#));
        let ran = try_run(&spec, control, move |_| {
            let control = stopper.clone();
            std::thread::spawn(move || {
                while !twice && now_ns() <= control.axis().unwrap().window_end_ns() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                (0..=i32::from(twice)).for_each(|_| control.stop());
            });
            Reply::Hang
        })
        .unwrap();
        assert!(begun.elapsed() < Duration::from_secs(600), "{extra}");
        assert_eq!((ran.result.unfinished.count, ran.result.interrupted), (1, twice));
        let left = |event: &Event| matches!(event, Event::Warning(w) if w.what.contains("left behind"));
        assert!(ran.events.iter().any(left));
    }
}

#[test]
fn stopped_before_the_start_nothing_is_measured() {
    let control = Arc::new(Control::default());
    control.stop();
    let ran = try_run(&spec(""), control, |_| Reply::Right).unwrap();
    assert!(ran.result.interrupted);
    assert_eq!(ran.executed, 0);
}

#[test]
fn a_call_that_never_returns_cannot_keep_the_result() {
    let extra = r#","threads":2,"runner":"thread","timeout_s":0.1,"limit":{"kind":"time","window_s":3600}"#;
    let begun = Instant::now();
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let ran = try_run(&spec(extra), control, move |n| {
        if n == 50 {
            stopper.stop(); // within the other thread's last operation
        }
        if n == 0 { pause(3_600_000) } else { pause(1) }
    })
    .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(600));
    assert_eq!((ran.count(Outcome::Ok), ran.result.unfinished.count), (49, 2));
    let age_s = ran.result.unfinished.max_ns as f64 / 1e9;
    assert!(
        (age_s - ran.result.window_end_s).abs() < 1e-6,
        "at its age: {age_s}"
    );
}

#[test]
fn intervals_cover_every_second_of_the_axis_and_sum_to_the_run() {
    let extra = r#","threads":2,"warm_up_s":1,"limit":{"kind":"time","window_s":2.5},
        "pacing":{"kind":"open","rate_ops_per_s":0.8,"arrival":"constant"}"#;
    let ran = run(&spec(extra), |_| Reply::Right); // at 0, 1.25 and 2.5 s
    let intervals = ran.intervals();
    let seen: Vec<_> = intervals
        .iter()
        .map(|i| (i.second, i.warm_up, (i.length_s * 10.0).round()))
        .collect();
    assert_eq!(
        seen,
        [
            (0, true, 10.0),
            (1, false, 10.0),
            (2, false, 10.0),
            (3, false, 5.0)
        ]
    );
    // Of the two in the window, wherever they ended.
    let unended = ran.result.unfinished.count + ran.result.backlog.count;
    assert_eq!((ran.result.due, ran.count(Outcome::Ok) + unended), (2, 2));
    let ended = |warm_up: bool| -> u64 {
        let of = intervals.iter().filter(|i| i.warm_up == warm_up);
        of.flat_map(|i| &i.series).map(|s| s.response.count).sum()
    };
    assert_eq!(ended(false), ran.result.completed);
    let late = ran.result.completed - ran.count(Outcome::Ok);
    assert!(ended(true) + late <= 1, "the one at 0 s");
}

#[test]
fn ready_comes_first_and_tells_what_was_opened() {
    let ran = run(&spec(&format!(r#","threads":3{}"#, operations(3))), |_| {
        Reply::Right
    });
    let Event::Ready(ready) = &ran.events[0] else {
        panic!("{:?}", ran.events[0])
    };
    assert_eq!(
        (ready.runner, ready.workers, ready.sessions),
        (RunnerKind::Tokio, 1, 3)
    );
}

#[test]
fn all_users_are_made_before_the_start_is_named() {
    for extra in [
        r#","threads":300"#,
        r#","threads":300,"sessions":2"#,
        r#","threads":20,"runner":"thread""#,
    ] {
        let spec = spec(&format!("{extra}{}", operations(300)));
        let ran = run(&spec, |_| Reply::Right);
        assert_eq!(ran.made_when_ready, u64::from(spec.threads), "{extra}");
        assert_eq!(ran.count(Outcome::Ok), 300);
    }
}

#[test]
fn threads_are_dealt_over_workers() {
    let spec = bakeoff_model::run::RunSpec {
        workers: 2,
        ..spec(&format!(r#","threads":5{}"#, operations(50)))
    };
    let ran = run(&spec, |_| Reply::Right);
    assert_eq!((ran.count(Outcome::Ok), ran.result.cost.workers.len()), (50, 2));
    assert_eq!(ran.result.stream_hashes.len(), 5);
}

#[test]
fn the_witness_is_recorded_apart_and_compared_by_operation() {
    let extra = r#","threads":2,"witness_rate_ops_per_s":50,"limit":{"kind":"time","window_s":3600}"#;
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let asked = [AtomicU64::new(0), AtomicU64::new(0)];
    let ran = try_run(&spec(extra), control, move |_| {
        let by_witness = std::thread::current().name() == Some("witness");
        asked[usize::from(by_witness)].fetch_add(1, SeqCst);
        if asked.iter().all(|asked| asked.load(SeqCst) > 10) {
            stopper.stop();
        }
        pause(2)
    })
    .unwrap();
    let witness = ran.result.witness.as_ref().unwrap();
    assert_eq!(witness.operation, "op");
    assert!(witness.service.count >= 10 && witness.service.min_ns >= 2_000_000);
    let most = (ran.result.window_end_s * 50.0).ceil() as u64;
    assert!(
        witness.service.count <= most,
        "{} of {most}",
        witness.service.count
    );
    let ok = ran.series(Outcome::Ok).unwrap();
    assert_eq!(
        witness.median_ratio,
        Some(ok.service.p50_ns as f64 / witness.service.p50_ns as f64)
    );
    assert_eq!(ran.opened, 3);
}

#[test]
fn a_busy_client_is_called_the_limit() {
    let spec = spec(&format!(r#","threads":4{HALF_A_SECOND}"#));
    let (before_s, ran, after_s) = (cpu_s(), run(&spec, |_| Reply::Right), cpu_s());
    let cost = &ran.result.cost;
    let worker = &cost.workers[0];
    // How much of the window this machine left to the worker is its own affair (`verdict.rs` has the bounds).
    let beyond = worker.busy_ratio > 0.9 || worker.run_queue_delay_ratio > 0.1;
    assert_eq!(
        ran.result.verdict.client_limited, beyond,
        "{:?}",
        ran.result.verdict
    );
    let spent_s = cost.cpu_user_s + cost.cpu_system_s;
    assert!(spent_s > 0.0 && spent_s <= after_s - before_s, "{cost:?}");
}

/// Of this process until now.
fn cpu_s() -> f64 {
    // SAFETY: a plain structure, filled by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
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
