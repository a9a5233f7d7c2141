//! All workers' times of one operation and outcome, added up.
use crate::record::recorder::{Recorder, series};
use crate::record::times::Times;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::workload::Operation;
use std::sync::Arc;

/// One operation x outcome of all workers.
pub struct Merged {
    pub series: usize,
    pub response: Times,
    pub service: Times,
}

/// Of all workers; what never happened is left out.
pub fn merge_series(recorders: &[Arc<Recorder>], operations: &[Operation]) -> Vec<Merged> {
    let mut all = Vec::new();
    for series in 0..operations.len() * Outcome::COUNT {
        let mut merged = Merged {
            series,
            response: Times::default(),
            service: Times::default(),
        };
        for recorder in recorders {
            recorder.response(series, &mut merged.response);
            recorder.service(series, &mut merged.service);
        }
        if merged.response.count() > 0 {
            all.push(merged);
        }
    }
    all
}

/// Of the series at this place of a recorder.
pub fn outcome_of(series_index: usize) -> Outcome {
    let found = Outcome::ALL
        .into_iter()
        .find(|o| series(0, *o) == series_index % Outcome::COUNT);
    found.unwrap_or(Outcome::Unknown)
}

/// Share of operations (parts apart) in the window that did not end `ok`, or whose transaction did not commit.
pub fn error_ratio(merged: &[Merged], operations: &[Operation], revoked: u64) -> f64 {
    let (mut all, mut failed) = (0, revoked);
    for merged in merged
        .iter()
        .filter(|m| operations[m.series / Outcome::COUNT].part_of.is_none())
    {
        all += merged.response.count();
        failed += if outcome_of(merged.series) == Outcome::Ok {
            0
        } else {
            merged.response.count()
        };
    }
    if all == 0 { 0.0 } else { failed as f64 / all as f64 }
}
