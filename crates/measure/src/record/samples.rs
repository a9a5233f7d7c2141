//! The first few errors of each operation and outcome, whole: what a person wants to see before any count.
use bakeoff_model::event::ErrorSample;
use bakeoff_model::outcome::{OpError, Outcome};
use std::sync::{Mutex, PoisonError};

/// Kept per operation and outcome.
pub const SAMPLES: usize = 3;

/// Of one worker. Used on the error path only, which may lock and allocate.
#[derive(Default)]
pub struct Samples {
    kept: Mutex<Vec<ErrorSample>>,
}

/// What went wrong, before it is known whether anybody will keep it.
pub struct Fault<'a> {
    pub code: &'a str,
    pub message: &'a str,
    pub statement: Option<&'a str>,
}

impl<'a> From<&'a OpError> for Fault<'a> {
    fn from(error: &'a OpError) -> Self {
        Self {
            code: &error.code,
            message: &error.message,
            statement: error.statement.as_deref(),
        }
    }
}

impl Samples {
    pub fn offer(&self, operation: &str, outcome: Outcome, endpoint: u32, at_s: f64, fault: &Fault<'_>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if count(&kept, operation, outcome) < SAMPLES {
            kept.push(ErrorSample {
                operation: operation.to_owned(),
                outcome,
                code: fault.code.to_owned(),
                message: fault.message.to_owned(),
                statement: fault.statement.map(str::to_owned),
                endpoint,
                at_s,
            });
        }
    }

    pub fn taken(&self) -> Vec<ErrorSample> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The earliest of all workers' samples.
pub fn earliest(mut all: Vec<ErrorSample>) -> Vec<ErrorSample> {
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut kept: Vec<ErrorSample> = Vec::new();
    for sample in all {
        if count(&kept, &sample.operation, sample.outcome) < SAMPLES {
            kept.push(sample);
        }
    }
    kept
}

fn count(samples: &[ErrorSample], operation: &str, outcome: Outcome) -> usize {
    let same = |s: &&ErrorSample| s.operation == operation && s.outcome == outcome;
    samples.iter().filter(same).count()
}
