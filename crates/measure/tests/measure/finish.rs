//! Operations that are counted before they are true: sent at the end, or taken back.
use crate::bench::{FINISH, Ran, Reply, TestWorkload, operations, spec, try_run_of};
use bakeoff_measure::Control;
use bakeoff_model::outcome::{FailClass, Outcome};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// A run whose operations wait for `finish`, and how many that has made true.
fn run(
    extra: &str,
    reconnect: u64,
    script: impl Fn(&Control, u64) -> Reply + Send + Sync + 'static,
) -> (Ran, u64) {
    let workload = TestWorkload {
        owing: true,
        reconnect,
        ..TestWorkload::default()
    };
    let made_true = workload.made_true.clone();
    let control = Arc::new(Control::default());
    let seen = control.clone();
    let ran = try_run_of(&spec(extra), control, workload, move |n| script(&seen, n)).unwrap();
    (ran, made_true.load(SeqCst))
}

#[test]
fn users_of_a_pool_send_what_they_owe() {
    for sessions in ["", r#","sessions":1"#, r#","sessions":3"#] {
        let (ran, made_true) = run(
            &format!(r#","threads":4{sessions}{}"#, operations(40)),
            0,
            |_, _| Reply::Right,
        );
        assert_eq!(
            (ran.count(Outcome::Ok), ran.result.revoked, made_true),
            (40, 0, 40),
            "{sessions}"
        );
    }
}

#[test]
fn what_a_window_that_ended_in_a_reconnect_owes_goes_with_another_session() {
    let endless = r#","limit":{"kind":"time","window_s":3600}"#;
    let (ran, made_true) = run(endless, 6, |control, n| {
        if n == 5 {
            control.stop();
        }
        Reply::Right
    });
    assert_eq!((ran.count(Outcome::Ok), ran.result.revoked, made_true), (5, 0, 6));
    assert_eq!(ran.opened, 2);
}

#[test]
fn what_could_not_be_sent_is_revoked() {
    for reply in [Reply::Fail(FailClass::Conflict), Reply::Lost, Reply::Hang] {
        for sessions in ["", r#","sessions":1"#] {
            let extra = format!(r#","threads":2,"timeout_s":0.1{sessions}{}"#, operations(10));
            let (ran, made_true) = run(
                &extra,
                0,
                move |_, n| if n == FINISH { reply } else { Reply::Right },
            );
            let figures = (ran.count(Outcome::Ok), ran.result.revoked, made_true);
            assert_eq!(figures, (10, 10, 0), "{reply:?} {sessions}");
            assert!(ran.result.errors.iter().all(|error| error.operation == "finish"));
            assert!(!ran.result.errors.is_empty());
        }
    }
}
