//! The phases beside the measured one.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_model::event::Event;
use bakeoff_model::outcome::FailClass;
use bakeoff_model::run::{Phase, RunSpec};
use bench::{Reply, run, spec, try_run};
use std::sync::Arc;

fn phase(phase: Phase, extra: &str) -> RunSpec {
    RunSpec { phase, ..spec(extra) }
}

#[test]
fn a_load_stores_every_unit_once_whatever_the_number_of_threads() {
    for threads in [1, 4] {
        let ran = run(&phase(Phase::Load, &format!(r#","threads":{threads}"#)), |_| {
            Reply::Right
        });
        assert_eq!((ran.result.rows, ran.executed), (1050, 11));
        assert!(
            ran.events
                .iter()
                .any(|e| matches!(e, Event::Progress(p) if p.done == 1050 && p.total == 1050))
        );
    }
}

#[test]
fn a_batch_in_conflict_is_loaded_again() {
    let fail_twice = |n| {
        if n < 2 {
            Reply::Fail(FailClass::Conflict)
        } else {
            Reply::Right
        }
    };
    let ran = run(&phase(Phase::Load, ""), fail_twice);
    assert_eq!((ran.result.rows, ran.result.retries), (1050, 2));
}

#[test]
fn a_load_that_cannot_go_on_says_where_it_stopped() {
    let broken = |n| if n == 3 { Reply::Lost } else { Reply::Right };
    let trouble = try_run(&phase(Phase::Load, ""), Arc::default(), broken)
        .err()
        .unwrap();
    assert!(
        trouble.what.contains("hang up") && trouble.place.contains("units 300 to 400"),
        "{trouble}"
    );
}

#[test]
fn warming_reads_everything_once() {
    assert_eq!(run(&phase(Phase::Warm, ""), |_| Reply::Right).result.rows, 7);
}

#[test]
fn a_check_without_anything_to_check_is_refused() {
    let trouble = try_run(&phase(Phase::Check, ""), Arc::default(), |_| Reply::Right)
        .err()
        .unwrap();
    assert_eq!(trouble.place, "run.json: check");
}
