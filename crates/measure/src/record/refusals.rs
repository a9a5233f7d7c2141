//! Why sessions could not be opened again, by endpoint and code: how often, and the first of each whole.
use crate::record::samples::Fault;
use std::sync::{Mutex, PoisonError};

/// Different ones that are kept; a system gives few reasons.
const KEPT_MAX: usize = 8;

/// Of one worker. Used where a connection failed, which may lock and allocate.
#[derive(Default)]
pub struct Refusals {
    kept: Mutex<Vec<Refusal>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    endpoint: u32,
    code: String,
    /// Of the first.
    message: String,
    at_s: f64,
    count: u64,
}

impl Refusals {
    pub fn add(&self, endpoint: u32, at_s: f64, fault: &Fault<'_>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter_mut().find(|known| known.is(endpoint, fault.code)) {
            known.count += 1;
        } else if kept.len() < KEPT_MAX {
            kept.push(Refusal {
                endpoint,
                code: fault.code.to_owned(),
                message: fault.message.to_owned(),
                at_s,
                count: 1,
            });
        }
    }

    pub fn taken(&self) -> Vec<Refusal> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Refusal {
    fn is(&self, endpoint: u32, code: &str) -> bool {
        self.endpoint == endpoint && self.code == code
    }
}

/// One sentence for each endpoint and code, of what all workers met with.
pub fn sentences(mut all: Vec<Refusal>) -> Vec<String> {
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut sums: Vec<Refusal> = Vec::new();
    for one in all {
        match sums.iter_mut().find(|sum| sum.is(one.endpoint, &one.code)) {
            Some(sum) => sum.count += one.count,
            None => sums.push(one),
        }
    }
    let sentence = |sum: &Refusal| {
        let attempts = match sum.count {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        format!(
            "no new session at endpoint {} in {attempts}, the first at {:.1} s: {} ({})",
            sum.endpoint, sum.at_s, sum.message, sum.code
        )
    };
    sums.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_endpoint_and_code_and_the_first_is_quoted() {
        let workers = [Refusals::default(), Refusals::default()];
        let fault = |code: &'static str, message: &'static str| Fault {
            code,
            message,
            statement: None,
        };
        workers[1].add(0, 2.0, &fault("1040", "second"));
        workers[0].add(0, 1.0, &fault("1040", "first"));
        workers[0].add(0, 3.0, &fault("1040", "third"));
        workers[0].add(1, 4.0, &fault("1045", "denied"));
        let all = workers.iter().flat_map(Refusals::taken).collect();
        assert_eq!(
            sentences(all),
            [
                "no new session at endpoint 0 in 3 attempts, the first at 1.0 s: first (1040)",
                "no new session at endpoint 1 in 1 attempt, the first at 4.0 s: denied (1045)"
            ]
        );
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let refusals = Refusals::default();
        for endpoint in 0..1000 {
            let fault = Fault {
                code: "c",
                message: "m",
                statement: None,
            };
            refusals.add(endpoint, 0.0, &fault);
        }
        assert_eq!(refusals.taken().len(), KEPT_MAX);
    }
}
