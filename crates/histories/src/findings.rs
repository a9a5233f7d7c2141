//! What a judge found: per anomaly how often, and its smallest proof.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Serialize;

use crate::history::{History, TransactionId};
use crate::proof::Proof;

#[derive(Clone, Debug, Serialize)]
pub struct Finding<A> {
    pub anomaly: A,
    pub count: u64,
    pub proof: Proof,
    /// The proof as people read it.
    pub text: String,
}

pub struct Findings<'h, A> {
    history: &'h History,
    found: BTreeMap<A, Found>,
}

#[derive(Default)]
struct Found {
    count: u64,
    transactions: Vec<TransactionId>,
    reasons: Vec<String>,
}

impl<'h, A: Ord + Display> Findings<'h, A> {
    pub fn new(history: &'h History) -> Self {
        Self {
            history,
            found: BTreeMap::new(),
        }
    }

    /// `reasons` is called only where this is the smallest proof so far.
    pub fn add(
        &mut self,
        anomaly: A,
        count: u64,
        transactions: &[TransactionId],
        reasons: impl FnOnce() -> Vec<String>,
    ) {
        let found = self.found.entry(anomaly).or_default();
        found.count += count;
        if found.transactions.is_empty() || transactions.len() < found.transactions.len() {
            found.transactions = transactions.to_vec();
            found.reasons = reasons();
        }
    }

    pub fn finish(self) -> Vec<Finding<A>> {
        let history = self.history;
        let finding = |(anomaly, found): (A, Found)| {
            let title = anomaly.to_string();
            let proof = Proof::new(history, title, &found.transactions, found.reasons);
            Finding {
                anomaly,
                count: found.count,
                text: proof.to_string(),
                proof,
            }
        };
        self.found.into_iter().map(finding).collect()
    }
}
