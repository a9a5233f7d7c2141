//! Linearizability of a key by zones, without a search.
//!
//! Gibbons, Korach: "Testing shared memories" (SIAM J. Comput. 26, 1997), for unique values. The operations of one value,
//! its write and its reads, come one after another in any order that one copy allows. So of two values one comes first
//! as a whole, and its operations must not begin after one of the other's ended. With `finish` the earliest end and
//! `start` the latest begin of a value's operations, A must precede B if `A.finish < B.start`, and there is an order if
//! and only if no two values must precede each other. (In the paper's words: no two forward zones overlap, and no backward
//! zone lies inside a forward one.)
//!
//! The score of a conflict is how far one of both would have to be shifted: Golab et al.: "Client-centric benchmarking of
//! eventual consistency for cloud storage systems" (ICDCS 2014).

use std::collections::BTreeMap;

use serde::Serialize;

use super::registers::{Read, Register};
use super::{EXPOSED_MIN, EXPOSED_WITHIN_NS};
use crate::findings::Findings;
use crate::history::{History, TransactionId};
use crate::record::Outcome;
use crate::verdict::{Summary, Verdict, upper_bound};

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub verdict: Verdict,
    pub keys: u64,
    /// Begun while a write of the key ran, or within 50 ms after one.
    pub exposed: u64,
    /// Keys that no single copy explains.
    pub keys_violating: u64,
    pub conflicts: u64,
    pub conflict_score_ns: Summary,
    /// Without a conflict: the share of exposed reads in one is below this, with 95 % confidence.
    pub conflicts_share_max: Option<f64>,
}

/// Scores that are kept; all conflicts are counted.
const SCORES_MAX: usize = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Zone {
    finish_ns: i64,
    start_ns: i64,
    /// Whose end and begin these are. `None`: before the history.
    finish_of: Option<TransactionId>,
    start_of: Option<TransactionId>,
}

impl Zone {
    fn new(call_ns: i64, end_ns: i64, id: Option<TransactionId>) -> Self {
        Self {
            finish_ns: end_ns,
            start_ns: call_ns,
            finish_of: id,
            start_of: id,
        }
    }

    fn add(&mut self, call_ns: i64, end_ns: i64, id: TransactionId) {
        if end_ns < self.finish_ns {
            (self.finish_ns, self.finish_of) = (end_ns, Some(id));
        }
        if call_ns > self.start_ns {
            (self.start_ns, self.start_of) = (call_ns, Some(id));
        }
    }

    fn must_precede(&self, other: &Self) -> bool {
        self.finish_ns < other.start_ns
    }

    fn begins_ns(&self) -> i64 {
        self.finish_ns.min(self.start_ns)
    }
}

pub fn judge(
    history: &History,
    registers: &[Register],
    claimed: bool,
    findings: &mut Findings<'_, &'static str>,
) -> Report {
    let (mut keys, mut exposed, mut keys_violating, mut conflicts) = (0, 0, 0, 0);
    let mut scores_ns = Vec::new();
    for (register, name) in registers
        .iter()
        .zip(&history.keys)
        .filter(|(one, _)| !one.reads.is_empty())
    {
        keys += 1;
        exposed += exposed_reads(register);
        let mut found = from_the_future(register);
        let zones = zones(register);
        each_conflict(&zones, |one, other, score_ns| {
            found += 1;
            if scores_ns.len() < SCORES_MAX {
                scores_ns.push(score_ns);
            }
            let ids = [one.finish_of, other.start_of, other.finish_of, one.start_of];
            let mut transactions: Vec<TransactionId> = Vec::new();
            for id in ids.into_iter().flatten() {
                if !transactions.contains(&id) {
                    transactions.push(id);
                }
            }
            findings.add("not-linearizable", 1, &transactions, || {
                let named = |id: Option<_>| {
                    let at = transactions.iter().position(|other| Some(*other) == id);
                    at.map_or("the begin".to_owned(), |at| format!("T{}", at + 1))
                };
                let order = |a, b, earlier, later| {
                    let (earlier, later) = (named(earlier), named(later));
                    format!(
                        "key {name}: value {a} comes before {b}, since {earlier} ended before {later} began"
                    )
                };
                vec![
                    order("A", "B", one.finish_of, other.start_of),
                    order("B", "A", other.finish_of, one.start_of),
                ]
            });
        });
        keys_violating += u64::from(found > 0);
        conflicts += found;
    }
    Report {
        verdict: Verdict::of(claimed, conflicts > 0, exposed >= EXPOSED_MIN),
        keys,
        exposed,
        keys_violating,
        conflicts,
        conflict_score_ns: Summary::of(scores_ns),
        conflicts_share_max: upper_bound(conflicts, exposed),
    }
}

/// Reads that ended before their write began, or of which there is no write that took effect. `impossible_reads` of
/// the report above names them.
fn from_the_future(register: &Register) -> u64 {
    let impossible = |read: &&Read| {
        let write = read.value.map(|value| {
            register
                .write(value)
                .filter(|write| write.outcome != Outcome::Fail)
        });
        write.is_some_and(|write| write.is_none_or(|write| write.call_ns > read.return_ns))
    };
    register.reads.iter().filter(impossible).count() as u64
}

fn exposed_reads(register: &Register) -> u64 {
    let mut writes: Vec<(i64, i64)> = register
        .writes
        .iter()
        .map(|write| (write.call_ns, write.end_ns))
        .collect();
    writes.sort_unstable();
    // The latest end of the writes so far: earlier ones may be longer.
    let mut latest_ns = i64::MIN;
    for (_, end_ns) in &mut writes {
        latest_ns = latest_ns.max(*end_ns);
        *end_ns = latest_ns;
    }
    let exposed = |read: &&Read| {
        let begun = writes.partition_point(|(call_ns, _)| *call_ns <= read.call_ns);
        let latest = writes[..begun].last();
        latest.is_some_and(|(_, end_ns)| read.call_ns <= end_ns.saturating_add(EXPOSED_WITHIN_NS))
    };
    register.reads.iter().filter(exposed).count() as u64
}

/// One to each value that was read or acknowledged. What has an unknown outcome and was not read need not have happened.
fn zones(register: &Register) -> Vec<Zone> {
    let mut zones: BTreeMap<Option<i64>, Zone> = BTreeMap::new();
    zones.insert(None, Zone::new(-1, -1, None));
    for write in register
        .writes
        .iter()
        .filter(|write| write.outcome != Outcome::Fail)
    {
        zones.insert(
            Some(write.value),
            Zone::new(write.call_ns, write.end_ns, Some(write.id)),
        );
    }
    for read in &register.reads {
        if let Some(zone) = zones.get_mut(&read.value) {
            zone.add(read.call_ns, read.return_ns, read.id);
        }
    }
    zones
        .into_values()
        .filter(|zone| zone.finish_ns != i64::MAX)
        .collect()
}

/// Sweeps over time with the forward zones that still last: all conflicts have one.
fn each_conflict(zones: &[Zone], mut found: impl FnMut(&Zone, &Zone, i64)) {
    let mut order: Vec<&Zone> = zones.iter().collect();
    order.sort_by_key(|zone| zone.begins_ns());
    let mut lasting: Vec<&Zone> = Vec::new();
    for zone in order {
        lasting.retain(|other| other.start_ns > zone.begins_ns());
        for other in lasting
            .iter()
            .filter(|other| other.must_precede(zone) && zone.must_precede(other))
        {
            found(
                other,
                zone,
                other
                    .start_ns
                    .saturating_sub(zone.finish_ns)
                    .min(zone.start_ns.saturating_sub(other.finish_ns)),
            );
        }
        if zone.finish_ns < zone.start_ns {
            lasting.push(zone);
        }
    }
}
