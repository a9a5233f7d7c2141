//! The phases other than the measured one.
use crate::bench::{Ran, Reply, TestWorkload, cpu_ns, run, spec, try_run, try_run_of};
use bakeoff_model::event::Event;
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{FailClass, Trouble, TroubleKind};
use bakeoff_model::run::{Phase, RunSpec};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

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
fn what_the_system_does_not_offer_is_refused_before_a_session_is_opened() {
    let workload = TestWorkload {
        needs: Needs {
            offers: Offers::of(&[Offer::Transactions]),
            ..Needs::default()
        },
        opens: Some(0),
        ..TestWorkload::default()
    };
    let trouble = try_run_of(&spec(""), Arc::default(), workload, |_| Reply::Right)
        .err()
        .unwrap();
    assert_eq!(trouble.what, "ycsb needs transactions, which null does not offer");
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

/// A load with three steps after it.
fn load_with_steps(
    extra: &str,
    script: impl Fn(u64) -> Reply + Send + Sync + 'static,
) -> (Result<Ran, Trouble>, Vec<(u64, u64)>) {
    let workload = TestWorkload {
        steps: 3,
        ..TestWorkload::default()
    };
    let taken = workload.steps_taken.clone();
    let ran = try_run_of(&phase(Phase::Load, extra), Arc::default(), workload, script);
    let mut taken = taken.lock().unwrap().clone();
    taken.sort_unstable();
    (ran, taken)
}

#[test]
fn steps_after_a_load_are_taken_once_each_when_the_last_chunk_is_stored() {
    for extra in [
        r#","threads":1"#,
        r#","threads":4"#,
        r#","threads":4,"runner":"thread""#,
    ] {
        // The first chunk takes longer than all others together.
        let slow_first = |n| match n {
            0 => Reply::After(Duration::from_millis(50)),
            _ => Reply::Right,
        };
        let (ran, taken) = load_with_steps(extra, slow_first);
        assert_eq!(ran.unwrap().result.rows, 1050);
        let steps: Vec<u64> = taken.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, [0, 1, 2], "{extra}");
        // 11 chunks came first.
        assert!(taken.iter().all(|(_, number)| *number >= 11), "{taken:?}");
    }
}

#[test]
fn a_step_in_conflict_is_taken_again_and_a_broken_one_is_named() {
    let conflict = |n| match n {
        12 => Reply::Fail(FailClass::Conflict),
        _ => Reply::Right,
    };
    let (ran, taken) = load_with_steps("", conflict);
    assert_eq!((ran.unwrap().result.retries, taken.len()), (1, 3));
    let (ran, taken) = load_with_steps("", |n| if n == 12 { Reply::Lost } else { Reply::Right });
    let trouble = ran.err().unwrap();
    assert!(trouble.place.contains("step 2 of 3"), "{trouble}");
    assert_eq!(taken.len(), 1);
}

#[test]
fn no_step_follows_a_load_that_failed() {
    let broken = |n| if n == 3 { Reply::Lost } else { Reply::Right };
    let (ran, taken) = load_with_steps(r#","threads":4"#, broken);
    assert!(ran.err().unwrap().place.contains("units"));
    assert_eq!(taken, []);
}

#[test]
fn a_load_with_fewer_sessions_than_threads_ends() {
    let (ran, taken) = load_with_steps(r#","threads":4,"sessions":2"#, |_| Reply::Right);
    assert_eq!((ran.unwrap().result.rows, taken.len()), (1050, 3));
}

#[test]
fn a_chunk_that_a_frozen_system_never_answers_ends_the_load() {
    let frozen = |n| if n == 3 { Reply::Hang } else { Reply::Right };
    let trouble = try_run(&phase(Phase::Load, r#","timeout_s":0.1"#), Arc::default(), frozen)
        .err()
        .unwrap();
    assert!(
        trouble.what.contains("no answer within 0.1 s") && trouble.place.contains("units 300 to 400"),
        "{trouble}"
    );
}

#[test]
fn a_step_may_last_for_as_long_as_the_system_answers_somebody_else() {
    let long = |n| match n {
        11 => Reply::After(Duration::from_millis(300)),
        _ => Reply::Right,
    };
    let (ran, taken) = load_with_steps(r#","timeout_s":0.05"#, long);
    let ran = ran.unwrap();
    assert_eq!(taken.len(), 3);
    assert!(ran.opened > 2, "it was asked: {}", ran.opened);
}

#[test]
fn a_step_on_a_frozen_system_ends_the_load() {
    let workload = TestWorkload {
        steps: 1,
        opens: Some(2), // for the tables and for the load
        ..TestWorkload::default()
    };
    let frozen = |n| if n == 11 { Reply::Hang } else { Reply::Right };
    let spec = phase(Phase::Load, r#","timeout_s":0.1"#);
    let trouble = try_run_of(&spec, Arc::default(), workload, frozen).err().unwrap();
    assert!(
        trouble.what.contains("no session within 0.1 s") && trouble.place.contains("step 1 of 1"),
        "{trouble}"
    );
}

#[test]
fn no_phase_waits_for_ever_for_its_session() {
    for which in [Phase::Load, Phase::Warm, Phase::Drop] {
        let workload = TestWorkload {
            opens: Some(0),
            ..TestWorkload::default()
        };
        let spec = phase(which, r#","timeout_s":0.1"#);
        let trouble = try_run_of(&spec, Arc::default(), workload, |_| Reply::Right)
            .err()
            .unwrap();
        assert!(trouble.what.contains("no session within 0.1 s"), "{trouble}");
    }
}

#[test]
fn a_load_tells_of_progress_only_when_there_is_some() {
    // One chunk takes longer than two reports are apart; the last report comes at the end in any case.
    let slow = |n| match n {
        5 => Reply::After(Duration::from_millis(2500)),
        _ => Reply::Right,
    };
    let ran = run(&phase(Phase::Load, ""), slow);
    let done: Vec<u64> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Progress(progress) => Some(progress.done),
            _ => None,
        })
        .collect();
    let (last, before) = done.split_last().unwrap();
    assert_eq!(*last, 1050);
    let mut different = before.to_vec();
    different.dedup();
    assert_eq!(different, before, "told twice");
}

#[test]
fn a_load_says_what_it_cost_the_client() {
    // Of the processor's time, not the wall's: others may want the core, too.
    let busy = |_| {
        let until_ns = cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID) + 20_000_000;
        while cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID) < until_ns {}
        Reply::Right
    };
    let cost = run(&phase(Phase::Load, ""), busy).result.cost;
    let spent_s = cost.cpu_user_s + cost.cpu_system_s;
    assert!(spent_s > 0.2 && cost.memory_peak_bytes > 0, "11 chunks: {cost:?}");
    assert!(
        cost.workers.len() == 1 && cost.workers[0].busy_ratio > 0.0,
        "{cost:?}"
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

#[test]
fn what_a_run_did_goes_to_the_check_as_the_workload_wrote_it() {
    let did = run(
        &spec(r#","limit":{"kind":"operations","operations":7,"max_s":null}"#),
        |_| Reply::Right,
    );
    assert_eq!(did.result.evidence, json!({"executed": 7}));
    let check = |evidence: Value| {
        let mut asked = phase(Phase::Check, r#","check":{"sample":3}"#);
        asked.check.as_mut().unwrap().evidence = evidence.as_array().unwrap().clone();
        try_run(&asked, Arc::default(), |_| Reply::Right)
    };
    let checked = check(json!([did.result.evidence, null, {"executed": 2}])).unwrap();
    let [found] = &*checked.result.checks else {
        panic!("one check was made")
    };
    assert_eq!(
        found.actual,
        "[Some(Done { executed: 7 }), None, Some(Done { executed: 2 })]"
    );
    let trouble = check(json!([{"rows": 1}])).err().unwrap();
    assert_eq!(
        (trouble.kind, &*trouble.place),
        (TroubleKind::Usage, "run.json: check.evidence")
    );
    assert!(trouble.what.contains("`rows`"), "{trouble}");
}

/// One that reads or checks everything.
fn long(which: Phase) -> RunSpec {
    phase(which, r#","timeout_s":0.05,"check":{"sample":3}"#)
}

#[test]
fn a_scan_or_check_may_last_for_as_long_as_the_system_answers_somebody_else_and_says_so() {
    for which in [Phase::Warm, Phase::Check] {
        let ran = run(&long(which), |_| Reply::After(Duration::from_millis(400)));
        let told = |event: &&Event| matches!(event, Event::Progress(_));
        assert!(ran.events.iter().filter(told).count() > 1, "{which:?}");
        assert!(ran.opened > 2, "it was asked: {}", ran.opened);
    }
}

#[test]
fn a_scan_or_check_of_a_frozen_system_ends() {
    for which in [Phase::Warm, Phase::Check] {
        let workload = TestWorkload {
            opens: Some(1),
            ..TestWorkload::default()
        };
        let trouble = try_run_of(&long(which), Arc::default(), workload, |_| Reply::Hang).err();
        assert!(
            trouble.is_some_and(|trouble| trouble.what.contains("no session within 0.05 s")),
            "{which:?}"
        );
    }
}
