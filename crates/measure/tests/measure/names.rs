//! Names that a workload makes when it is made, such as those of a user's own SQL files.
use crate::bench::{Operations, Reply, TestWorkload, operations, spec, try_run_of};
use bakeoff_measure::Control;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::workload::Operation;
use std::sync::Arc;

#[test]
fn names_and_reasons_made_at_run_time_reach_every_record() {
    let files = ["transfer", "report"].map(|file| format!("{file}.sql"));
    let [whole, part] = files.clone();
    let workload = TestWorkload {
        operations: Operations(vec![
            Operation::new(whole.clone()),
            Operation::part_of(part.clone(), whole.clone()),
        ]),
        reason: format!("{} expects {} row", files[0], 1),
        ..TestWorkload::default()
    };
    let reason = workload.reason.clone();
    let control = Arc::new(Control::default());
    let ran = try_run_of(&spec(&operations(4)), control, workload, |n| match n {
        0 => Reply::Wrong,
        _ => Reply::Right,
    })
    .unwrap();

    let series = ran.result.series.iter();
    let named: Vec<_> = series
        .map(|s| (&*s.operation, s.part_of.as_deref(), s.outcome, s.count))
        .collect();
    assert_eq!(
        named,
        [
            (&*whole, None, Outcome::Ok, 1),
            (&*whole, None, Outcome::Wrong, 1),
            (&*part, Some(&*whole), Outcome::Ok, 2),
        ]
    );
    let intervals = ran.intervals();
    let seen = intervals.iter().flat_map(|interval| &interval.series);
    let mut seen: Vec<(&str, bool)> = seen.map(|s| (&*s.operation, s.part)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(&*part, true), (&*whole, false)]);
    let [sample] = &*ran.result.errors else {
        panic!("one answer was wrong")
    };
    assert_eq!((&sample.operation, &sample.message), (&whole, &reason));
}
