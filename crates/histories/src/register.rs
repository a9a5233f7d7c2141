//! Registers: keys that are read and overwritten. Every value is unique in its key; a key that one session alone
//! writes, in ascending values, has versions, which are ordered without any clock.
//!
//! - `registers`: reads and writes, key by key;
//! - [`staleness`]: how old is what is read (versions);
//! - [`guarantees`]: what a session may expect of its own past (versions);
//! - [`zones`]: whether a key behaves as one copy would (all keys).

pub mod guarantees;
mod registers;
pub mod staleness;
pub mod zones;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::findings::{Finding, Findings};
use crate::history::History;
use crate::record::Outcome;
use crate::verdict::{COMMITTED_MIN, Sufficiency, Verdict};
use guarantees::Guarantee;
use registers::Register;
use staleness::Staleness;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claims {
    pub staleness: Option<Staleness>,
    pub guarantees: Vec<Guarantee>,
    pub linearizable: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of all.
    pub verdict: Verdict,
    pub reads: u64,
    /// A value that no write can have left, or of an aborted one. No claim allows these.
    pub impossible_reads: u64,
    pub staleness: staleness::Report,
    pub guarantees: Vec<guarantees::Report>,
    pub linearizable: zones::Report,
    /// Everything that was found, whether claimed or not.
    pub findings: Vec<Finding<&'static str>>,
}

impl Report {
    /// Of that check which has seen the least.
    pub fn sufficiency(&self) -> Sufficiency {
        let exposed = self.staleness.exposed.min(self.linearizable.exposed);
        let checks = self
            .guarantees
            .iter()
            .map(|one| one.pinned.checks + one.roving.checks);
        let of_checks = checks.map(|checks| Sufficiency::of(checks, COMMITTED_MIN));
        let of_reads = Sufficiency::of(exposed, EXPOSED_MIN);
        of_checks.fold(
            of_reads,
            |least, one| if one.amount < least.amount { one } else { least },
        )
    }
}

/// Reads decide little about staleness unless they begin soon after a write was acknowledged.
pub const EXPOSED_WITHIN_NS: i64 = 50_000_000;
const EXPOSED_MIN: u64 = 10_000;

pub fn judge(history: &History, claims: &Claims) -> Result<Report, Error> {
    let registers = registers::registers(history)?;
    let mut findings = Findings::new(history);
    let impossible_reads = impossible_reads(history, &registers, &mut findings);
    let staleness = staleness::judge(&registers, claims.staleness, &mut findings);
    let guarantees = guarantees::judge(history, &registers, &claims.guarantees, &mut findings);
    let linearizable = zones::judge(history, &registers, claims.linearizable, &mut findings);
    let verdicts = guarantees
        .iter()
        .map(|one| one.verdict)
        .chain([staleness.verdict, linearizable.verdict]);
    let worst = verdicts.max().unwrap_or(Verdict::Observed);
    Ok(Report {
        verdict: if impossible_reads > 0 {
            Verdict::Violated
        } else {
            worst
        },
        reads: registers.iter().map(|register| register.reads.len() as u64).sum(),
        impossible_reads,
        staleness,
        guarantees,
        linearizable,
        findings: findings.finish(),
    })
}

fn impossible_reads(
    history: &History,
    registers: &[Register],
    findings: &mut Findings<'_, &'static str>,
) -> u64 {
    let mut count = 0;
    for (register, key) in registers.iter().zip(&history.keys) {
        for (read, value) in register.reads.iter().filter_map(|read| Some((read, read.value?))) {
            let (anomaly, writer, reason) = match register.write(value) {
                None => ("phantom", None, "which no transaction wrote"),
                Some(write) if write.outcome == Outcome::Fail => (
                    "aborted-read",
                    Some(write.id),
                    "which T2 wrote and did not commit",
                ),
                Some(write) if write.call_ns > read.return_ns => {
                    ("phantom", Some(write.id), "before T2 began to write it")
                }
                Some(_) => continue,
            };
            count += 1;
            let transactions: Vec<u32> = [read.id].into_iter().chain(writer).collect();
            findings.add(anomaly, 1, &transactions, || {
                vec![format!("T1 read {value} of key {key}, {reason}")]
            });
        }
    }
    count
}
