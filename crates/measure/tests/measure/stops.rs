//! Runs that are ended, and what is left in flight.
use crate::bench::{Reply, pause, spec, try_run};
use bakeoff_measure::Control;
use bakeoff_model::event::Event;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::time::now_ns;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

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
        (age_s - ran.result.window_end_s).abs() < 1e-3,
        "at its age: {age_s}"
    );
}
