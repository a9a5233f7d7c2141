//! Whole runs: what is refused, opened and told.
use crate::bench::{Reply, operations, run, spec, try_run};
use bakeoff_model::event::Event;
use bakeoff_model::outcome::{Outcome, TroubleKind};
use bakeoff_model::run::RunnerKind;
use std::sync::Arc;

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
