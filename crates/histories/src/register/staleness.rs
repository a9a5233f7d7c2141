//! How old is what is read. A read is compared with what was acknowledged before it began, so it is never called
//! stale wrongly, and sometimes not where it is.
//!
//! Ages, windows and k: Bermbach and Tai (MW4SOC 2011); Bailis et al.: "Probabilistically bounded staleness for
//! practical partial quorums" (VLDB 2012).

use serde::{Deserialize, Serialize};

use super::registers::Register;
use super::{EXPOSED_MIN, EXPOSED_WITHIN_NS};
use crate::findings::Findings;
use crate::history::TransactionId;
use crate::record::Outcome;
use crate::verdict::{Summary, Verdict, upper_bound};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Staleness {
    None,
    /// 99 % of windows are at most as long, and none is 10 times as long.
    Bounded {
        window_ns: i64,
    },
    /// Claims nothing about the time.
    Eventual,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub verdict: Verdict,
    /// Of keys with versions.
    pub reads: u64,
    /// Begun within 50 ms after an acknowledgement.
    pub exposed: u64,
    /// Fewer decide nothing.
    pub exposed_min: u64,
    pub stale: u64,
    /// Without a stale read: the share of exposed reads that are stale is below this, with 95 % confidence.
    pub stale_share_max: Option<f64>,
    /// Per stale read, since when its value had been replaced, and by how many versions.
    pub age_ns: Summary,
    pub versions_behind: Summary,
    /// Per acknowledged write, for how long an older version was still read.
    pub window_ns: Summary,
    pub windows_open: u64,
    /// Windows that outlast the next write: use ages there.
    pub windows_censored: u64,
    pub freshness: Vec<Freshness>,
}

/// Of the reads that began at most so long after the newest acknowledgement (and later than the bucket before), how many
/// were fresh. The last bucket has all later ones.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Freshness {
    pub since_ack_ns_max: i64,
    pub reads: u64,
    pub fresh: u64,
}

/// 0.1 ms to 10 s by 1, 2 and 5.
fn buckets() -> Vec<Freshness> {
    let decades = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let bounds_ns = decades
        .into_iter()
        .flat_map(|ns| [ns, 2 * ns, 5 * ns])
        .chain([10_000_000_000, i64::MAX]);
    bounds_ns
        .map(|since_ack_ns_max| Freshness {
            since_ack_ns_max,
            reads: 0,
            fresh: 0,
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Ack {
    time_ns: i64,
    version: i64,
    id: TransactionId,
}

pub fn judge(
    registers: &[Register],
    claim: Option<Staleness>,
    findings: &mut Findings<'_, &'static str>,
) -> Report {
    let (mut reads, mut exposed) = (0, 0);
    let (mut ages_ns, mut behind) = (Vec::new(), Vec::new());
    let (mut windows_ns, mut windows_censored) = (Vec::new(), 0);
    let mut freshness = buckets();
    for register in registers.iter().filter(|register| register.writer.is_some()) {
        let acks = acks(register);
        for read in &register.reads {
            reads += 1;
            let known = acks.partition_point(|ack| ack.time_ns <= read.call_ns);
            let Some(newest) = acks[..known].last() else {
                continue;
            };
            let (since_ns, version) = (read.call_ns - newest.time_ns, read.version());
            exposed += u64::from(since_ns <= EXPOSED_WITHIN_NS);
            let bucket = freshness.partition_point(|bucket| bucket.since_ack_ns_max < since_ns);
            let bucket = &mut freshness[bucket];
            bucket.reads += 1;
            if version >= newest.version {
                bucket.fresh += 1;
                continue;
            }
            let replaced = acks[acks.partition_point(|ack| ack.version <= version)];
            ages_ns.push(read.call_ns - replaced.time_ns);
            behind.push(newest.version.saturating_sub(version));
            findings.add("stale-read", 1, &[read.id, newest.id], || {
                vec![format!(
                    "T1 read version {version}, although T2 had written {}",
                    newest.version
                )]
            });
        }
        windows_censored += windows(register, &acks, &mut windows_ns);
    }
    let windows_open = windows_ns.iter().filter(|window_ns| **window_ns > 0).count() as u64;
    let window_ns = Summary::of(windows_ns);
    let stale = ages_ns.len() as u64;
    let violated = match claim {
        Some(Staleness::None) => stale > 0,
        Some(Staleness::Bounded { window_ns: max_ns }) => {
            window_ns.p99 > max_ns || window_ns.max / 10 > max_ns
        }
        Some(Staleness::Eventual) | None => false,
    };
    let claimed = claim.is_some_and(|claim| claim != Staleness::Eventual);
    Report {
        verdict: Verdict::of(claimed, violated, exposed >= EXPOSED_MIN),
        reads,
        exposed,
        exposed_min: EXPOSED_MIN,
        stale,
        stale_share_max: upper_bound(stale, exposed),
        age_ns: Summary::of(ages_ns),
        versions_behind: Summary::of(behind),
        window_ns,
        windows_open,
        windows_censored,
        freshness,
    }
}

/// By time, and by version: a version that was acknowledged after a newer one is left out.
fn acks(register: &Register) -> Vec<Ack> {
    let acknowledged = register
        .writes
        .iter()
        .filter(|write| write.outcome == Outcome::Ok);
    let mut acks: Vec<Ack> = acknowledged
        .map(|write| Ack {
            time_ns: write.end_ns,
            version: write.value,
            id: write.id,
        })
        .collect();
    acks.sort_by_key(|ack| (ack.time_ns, ack.version));
    let mut newest = 0;
    acks.retain(|ack| {
        let is_newer = ack.version > newest;
        newest = newest.max(ack.version);
        is_newer
    });
    acks
}

/// How many windows outlast the next write.
fn windows(register: &Register, acks: &[Ack], windows_ns: &mut Vec<i64>) -> u64 {
    let mut reads: Vec<(i64, i64)> = register
        .reads
        .iter()
        .map(|read| (read.version(), read.call_ns))
        .collect();
    reads.sort_unstable();
    let (mut older, mut latest_ns, mut censored) = (0, i64::MIN, 0);
    for (at, ack) in acks.iter().enumerate() {
        while let Some((_, call_ns)) = reads.get(older).filter(|(version, _)| *version < ack.version) {
            latest_ns = latest_ns.max(*call_ns);
            older += 1;
        }
        windows_ns.push(latest_ns.max(ack.time_ns) - ack.time_ns);
        censored += u64::from(acks.get(at + 1).is_some_and(|next| latest_ns >= next.time_ns));
    }
    censored
}
