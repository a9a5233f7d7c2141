//! A bank: transfers between accounts, and transactions that read all accounts. Money is moved, so the total stays.
//!
//! Two variants, since one would confuse two faults (the bank test of Jepsen; "closed economy" of YCSB+T):
//!
//! - *relative* (`["add", account, amount]`): the total cannot drift if transfers are atomic, so a reader that sees
//!   another total has read skew, or saw what was not committed;
//! - *read-modify-write* (`["r", ...]`, `["w", ...]`): the total drifts by lost updates. Readers then see wrong totals
//!   in a consistent snapshot, too, and are not judged.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::findings::{Finding, Findings};
use crate::history::{History, Key, Op, Transaction, TransactionId};
use crate::level::Level;
use crate::record::{Outcome, Phase};
use crate::verdict::{Sufficiency, Verdict, upper_bound};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bank {
    pub accounts: usize,
    /// Of each account at the start.
    pub balance: i64,
}

impl Bank {
    fn total(self) -> i64 {
        self.balance.saturating_mul(self.accounts as i64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    Relative,
    ReadModifyWrite,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub verdict: Verdict,
    pub claim: Option<Level>,
    pub variant: Variant,
    pub transfers: u64,
    pub transfers_failed: u64,
    pub transfers_unknown: u64,
    /// Acknowledged transactions that read every account.
    pub reads: u64,
    /// Of these, with another total. Relative variant only.
    pub bad_reads: u64,
    pub bad_reads_share_max: Option<f64>,
    /// Final total without the expected one. `None`: no transaction read all accounts after all transfers.
    pub drift: Option<i64>,
    /// Accounts whose final balance is not what acknowledged transfers make of it. Relative variant, and only if no
    /// outcome is unknown.
    pub accounts_wrong: Option<u64>,
    /// |drift| per acknowledged transfer (YCSB+T).
    pub anomaly_score: Option<f64>,
    /// Transfers that ran while another session's transfer had an account in common.
    pub in_conflict: u64,
    pub findings: Vec<Finding<&'static str>>,
}

impl Report {
    /// Without the last reading.
    pub fn sufficiency(&self) -> Sufficiency {
        Sufficiency::of_conflicts(self.transfers, self.in_conflict)
    }
}

pub fn judge(history: &History, bank: Bank, claim: Option<Level>) -> Report {
    let is_transfer = |id| {
        history
            .ops(id)
            .iter()
            .any(|op| matches!(op, Op::Add { .. } | Op::Write { .. }))
    };
    let (transfers, others): (Vec<TransactionId>, Vec<TransactionId>) =
        history.iter().map(|(id, _)| id).partition(|id| is_transfer(*id));
    let is_add = |id: &TransactionId| history.ops(*id).iter().any(|op| matches!(op, Op::Add { .. }));
    let variant = if transfers.iter().any(is_add) {
        Variant::Relative
    } else {
        Variant::ReadModifyWrite
    };
    let count = |outcome| {
        transfers
            .iter()
            .filter(|id| history.transaction(**id).outcome == outcome)
            .count() as u64
    };
    let readings: Vec<Reading> = others
        .iter()
        .filter(|id| history.transaction(**id).is_ok())
        .filter_map(|id| reading(history, bank, *id))
        .collect();

    let mut findings = Findings::new(history);
    let mut bad_reads = 0;
    for reading in readings
        .iter()
        .filter(|reading| variant == Variant::Relative && reading.total != bank.total())
    {
        bad_reads += 1;
        findings.add("bad-total", 1, &[reading.id], || {
            vec![format!(
                "T1 read a total of {}; no transfer changes {}",
                reading.total,
                bank.total()
            )]
        });
    }
    let last = last_reading(history, &transfers, &readings);
    let drift = last.map(|last| last.total.saturating_sub(bank.total()));
    let accounts_wrong = last
        .filter(|_| variant == Variant::Relative && count(Outcome::Unknown) == 0)
        .map(|last| accounts_wrong(history, bank, &transfers, last));
    if let Some(last) = last.filter(|_| drift != Some(0) || accounts_wrong.is_some_and(|wrong| wrong > 0)) {
        findings.add("drift", 1, &[last.id], || {
            vec![format!(
                "after all transfers T1 read a total of {} instead of {}",
                last.total,
                bank.total()
            )]
        });
    }

    let acknowledged = count(Outcome::Ok);
    let in_conflict = in_conflict(history, &transfers);
    let drifts = drift.is_some_and(|drift| drift != 0) || accounts_wrong.is_some_and(|wrong| wrong > 0);
    // Transfers by amounts are atomic at any level; what reads saw, and lost updates, only from snapshots on.
    let violated = claim.is_some_and(|level| {
        (level >= Level::Snapshot && (bad_reads > 0 || drifts)) || (variant == Variant::Relative && drifts)
    });
    let exposed = Sufficiency::of_conflicts(acknowledged, in_conflict).is_enough() && drift.is_some();
    Report {
        verdict: Verdict::of(claim.is_some(), violated, exposed),
        claim,
        variant,
        transfers: acknowledged,
        transfers_failed: count(Outcome::Fail),
        transfers_unknown: count(Outcome::Unknown),
        reads: readings.len() as u64,
        bad_reads,
        bad_reads_share_max: upper_bound(bad_reads, readings.len() as u64)
            .filter(|_| variant == Variant::Relative),
        drift,
        accounts_wrong,
        anomaly_score: drift.map(|drift| drift.unsigned_abs() as f64 / acknowledged.max(1) as f64),
        in_conflict,
        findings: findings.finish(),
    }
}

struct Reading {
    id: TransactionId,
    total: i64,
    balances: HashMap<Key, i64>,
}

/// A missing account counts as empty. `None`: not all accounts were read.
fn reading(history: &History, bank: Bank, id: TransactionId) -> Option<Reading> {
    let balance = |op: &Op| match *op {
        Op::Read { key, value } => Some((key, value.unwrap_or(0))),
        _ => None,
    };
    let balances: HashMap<Key, i64> = history.ops(id).iter().filter_map(balance).collect();
    (balances.len() == bank.accounts).then(|| Reading {
        id,
        total: balances.values().copied().fold(0, i64::saturating_add),
        balances,
    })
}

/// One of the final phase, or one that was called after all transfers had ended.
fn last_reading<'r>(
    history: &History,
    transfers: &[TransactionId],
    readings: &'r [Reading],
) -> Option<&'r Reading> {
    let ended_ns = transfers
        .iter()
        .map(|id| history.transaction(*id).end_ns())
        .max()
        .unwrap_or(0);
    let is_last =
        |transaction: &Transaction| transaction.phase == Phase::Final || transaction.call_ns > ended_ns;
    let last = readings
        .iter()
        .filter(|reading| is_last(history.transaction(reading.id)));
    last.max_by_key(|reading| history.transaction(reading.id).call_ns)
}

fn accounts_wrong(history: &History, bank: Bank, transfers: &[TransactionId], last: &Reading) -> u64 {
    let mut expected: HashMap<Key, i64> = last
        .balances
        .keys()
        .map(|account| (*account, bank.balance))
        .collect();
    for id in transfers.iter().filter(|id| history.transaction(**id).is_ok()) {
        for op in history.ops(*id) {
            if let Op::Add { key, amount } = *op {
                let balance = expected.entry(key).or_default();
                *balance = balance.saturating_add(amount);
            }
        }
    }
    expected
        .iter()
        .filter(|(account, balance)| last.balances.get(account) != Some(balance))
        .count() as u64
}

fn in_conflict(history: &History, transfers: &[TransactionId]) -> u64 {
    let accounts = |id: TransactionId| {
        history.ops(id).iter().filter_map(|op| match *op {
            Op::Add { key, .. } | Op::Write { key, .. } => Some(key),
            _ => None,
        })
    };
    let mut order: Vec<TransactionId> = transfers
        .iter()
        .copied()
        .filter(|id| history.transaction(*id).is_ok())
        .collect();
    order.sort_by_key(|id| history.transaction(*id).call_ns);
    let mut conflict = vec![false; history.transactions.len()];
    let mut running: Vec<TransactionId> = Vec::new();
    for id in order {
        let transaction = history.transaction(id);
        running.retain(|other| history.transaction(*other).return_ns >= transaction.call_ns);
        for other in &running {
            let shared = accounts(id).any(|account| accounts(*other).any(|other| other == account));
            if shared && history.transaction(*other).session != transaction.session {
                conflict[id as usize] = true;
                conflict[*other as usize] = true;
            }
        }
        running.push(id);
    }
    conflict.iter().filter(|conflict| **conflict).count() as u64
}
