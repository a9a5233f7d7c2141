//! What a judge of transactions found: per anomaly how often, and its smallest proof.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::{History, TransactionId};
use crate::level::Anomaly;
use crate::proof::Proof;

#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub anomaly: Anomaly,
    pub count: u64,
    pub proof: Proof,
}

pub struct Findings<'h> {
    history: &'h History,
    found: BTreeMap<Anomaly, Found>,
}

struct Found {
    count: u64,
    transactions: Vec<TransactionId>,
    reasons: Vec<String>,
}

impl<'h> Findings<'h> {
    pub fn new(history: &'h History) -> Self {
        Self {
            history,
            found: BTreeMap::new(),
        }
    }

    /// `reasons` are called only where this is the smallest proof so far.
    pub fn add(
        &mut self,
        anomaly: Anomaly,
        count: u64,
        transactions: &[TransactionId],
        reasons: impl FnOnce() -> Vec<String>,
    ) {
        let found = self.found.entry(anomaly).or_insert(Found {
            count: 0,
            transactions: Vec::new(),
            reasons: Vec::new(),
        });
        found.count += count;
        if found.transactions.is_empty() || transactions.len() < found.transactions.len() {
            found.transactions = transactions.to_vec();
            found.reasons = reasons();
        }
    }

    pub fn finish(self) -> Vec<Finding> {
        let finding = |(anomaly, found): (Anomaly, Found)| Finding {
            anomaly,
            count: found.count,
            proof: Proof::new(
                self.history,
                anomaly.to_string(),
                &found.transactions,
                found.reasons,
            ),
        };
        self.found.into_iter().map(finding).collect()
    }
}
