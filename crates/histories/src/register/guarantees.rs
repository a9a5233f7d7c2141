//! What a session may expect of its own past. Terry et al.: "Session guarantees for weakly consistent replicated data"
//! (PDIS 1994).
//!
//! A session is "roving" if it used several nodes, else "pinned"; both are counted apart. The last two guarantees are
//! promised to a session that writes, and seen by others: an observer reads what depends before what it depends on, one
//! right after the other on one node, since an ordinary lag between two nodes would look the same.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::registers::Register;
use crate::findings::Findings;
use crate::history::{History, Key, Op, TransactionId};
use crate::verdict::{COMMITTED_MIN, Verdict, upper_bound};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guarantee {
    /// A session's read of a key that it wrote shows this write or a newer one. Checks: such reads.
    ReadYourWrites,
    /// Later reads of a key are not older. Checks: successive reads of a key in a session.
    MonotonicReads,
    /// Who sees a session's write sees its earlier ones to other keys. Checks: pairs of an observer's reads.
    MonotonicWrites,
    /// Who sees a session's write sees what it had read of others before. Checks: pairs of an observer's reads.
    WritesFollowReads,
}

const ALL: [(Guarantee, &str); 4] = [
    (Guarantee::ReadYourWrites, "read-your-writes"),
    (Guarantee::MonotonicReads, "monotonic-reads"),
    (Guarantee::MonotonicWrites, "monotonic-writes"),
    (Guarantee::WritesFollowReads, "writes-follow-reads"),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub checks: u64,
    pub violations: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub guarantee: Guarantee,
    pub verdict: Verdict,
    pub pinned: Count,
    pub roving: Count,
    /// Without a violation: the share of checks that violate is below this, with 95 % confidence.
    pub violations_share_max: Option<f64>,
}

pub fn judge(
    history: &History,
    registers: &[Register],
    claims: &[Guarantee],
    findings: &mut Findings<'_, &'static str>,
) -> Vec<Report> {
    let sessions = Sessions::new(history, registers);
    let mut judge = Judge {
        history,
        registers,
        counts: [[Count::default(); 2]; 4],
        findings,
        sessions,
    };
    judge.own_past();
    judge.observers();
    let report = |((guarantee, _), [pinned, roving]): ((Guarantee, _), [Count; 2])| {
        let (checks, violations) = (
            pinned.checks + roving.checks,
            pinned.violations + roving.violations,
        );
        let verdict = Verdict::of(
            claims.contains(&guarantee),
            violations > 0,
            checks >= COMMITTED_MIN,
        );
        Report {
            guarantee,
            verdict,
            pinned,
            roving,
            violations_share_max: upper_bound(violations, checks),
        }
    };
    ALL.into_iter().zip(judge.counts).map(report).collect()
}

/// A read or an acknowledged write of a key that has versions.
#[derive(Clone, Copy)]
struct Event {
    key: Key,
    version: i64,
    is_write: bool,
    id: TransactionId,
    place: u32,
}

/// Per session and key: places, and the highest version up to there.
type Pasts = HashMap<(u32, Key), Vec<(u32, i64)>>;

struct Sessions {
    /// Session by session in its order.
    events: Vec<Event>,
    read: Pasts,
    written: Pasts,
    roving: HashMap<u32, bool>,
}

impl Sessions {
    fn new(history: &History, registers: &[Register]) -> Self {
        let mut sessions = Self {
            events: Vec::new(),
            read: Pasts::new(),
            written: Pasts::new(),
            roving: HashMap::new(),
        };
        let mut nodes = HashMap::new();
        let mut place = 0; // Counts as `registers` does.
        for id in history.by_session() {
            let transaction = history.transaction(id);
            let first_node = *nodes.entry(transaction.session).or_insert(transaction.node);
            *sessions.roving.entry(transaction.session).or_default() |= first_node != transaction.node;
            for op in history.ops(id) {
                place += 1;
                let (key, version, is_write) = match *op {
                    Op::Read { key, value } => (key, value.unwrap_or(0), false),
                    Op::Write { key, value } => (key, value, true),
                    _ => continue,
                };
                if registers[key as usize].writer.is_none() || !transaction.is_ok() {
                    continue;
                }
                sessions.events.push(Event {
                    key,
                    version,
                    is_write,
                    id,
                    place,
                });
                let pasts = if is_write {
                    &mut sessions.written
                } else {
                    &mut sessions.read
                };
                let past = pasts.entry((transaction.session, key)).or_default();
                let highest = past.last().map_or(version, |(_, highest)| version.max(*highest));
                past.push((place, highest));
            }
        }
        sessions
    }
}

fn before(pasts: &Pasts, session: u32, key: Key, place: u32) -> Option<i64> {
    let past = pasts.get(&(session, key))?;
    past[..past.partition_point(|(at, _)| *at < place)]
        .last()
        .map(|(_, highest)| *highest)
}

struct Judge<'c, 'h> {
    history: &'c History,
    registers: &'c [Register],
    sessions: Sessions,
    /// Per guarantee, pinned and roving.
    counts: [[Count; 2]; 4],
    findings: &'c mut Findings<'h, &'static str>,
}

impl Judge<'_, '_> {
    fn own_past(&mut self) {
        for at in 0..self.sessions.events.len() {
            let event = self.sessions.events[at];
            if event.is_write {
                continue;
            }
            let session = self.history.transaction(event.id).session;
            let expected = [&self.sessions.written, &self.sessions.read]
                .map(|pasts| before(pasts, session, event.key, event.place));
            for (guarantee, expected) in expected.into_iter().enumerate() {
                if let Some(expected) = expected {
                    self.check(guarantee, session, event, expected, &[event.id]);
                }
            }
        }
    }

    fn observers(&mut self) {
        for at in 1..self.sessions.events.len() {
            let [first, second] = [self.sessions.events[at - 1], self.sessions.events[at]];
            let [one, other] = [first, second].map(|event| self.history.transaction(event.id));
            let observed = !first.is_write && !second.is_write && first.key != second.key;
            if !observed || one.session != other.session || one.node != other.node {
                continue;
            }
            let dependent = &self.registers[first.key as usize];
            let (Some(writer), Some(write)) = (dependent.writer, dependent.write(first.version)) else {
                continue;
            };
            if writer == one.session {
                continue; // Its own past.
            }
            let own = self.registers[second.key as usize].writer == Some(writer);
            let (guarantee, pasts) = if own {
                (2, &self.sessions.written)
            } else {
                (3, &self.sessions.read)
            };
            if let Some(expected) = before(pasts, writer, second.key, write.place) {
                let ids = [second.id, write.id, first.id];
                let ids = &ids[..if first.id == second.id { 2 } else { 3 }];
                self.check(guarantee, writer, second, expected, ids);
            }
        }
    }

    fn check(
        &mut self,
        guarantee: usize,
        session: u32,
        read: Event,
        expected: i64,
        transactions: &[TransactionId],
    ) {
        let roving = self.sessions.roving.get(&session).copied().unwrap_or_default();
        let count = &mut self.counts[guarantee][usize::from(roving)];
        count.checks += 1;
        if read.version < expected {
            count.violations += 1;
            let key = self.history.keys[read.key as usize];
            self.findings.add(ALL[guarantee].1, 1, transactions, || {
                vec![format!(
                    "session {session} had version {expected} of key {key}, and T1 read {}",
                    read.version
                )]
            });
        }
    }
}
