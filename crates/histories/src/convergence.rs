//! Copies of the same rows, once nobody writes any more: does each have every acknowledged write, are they equal, and do they
//! stay as they are.
//!
//! Every round has a key of its own, which begins as 0 on all nodes. Its writes go to any nodes, at the same time or one after
//! another. What may be left of them is known: the value of any write that was not refused, and of a counter the sum of
//! all acknowledged ones. (Bailis, Ghodsi: "Eventual consistency today", CACM 2013: without that rule a store that always
//! answers 42 is eventually consistent.)

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::record::Outcome;
use crate::verdict::Verdict;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Set(i64),
    Add(i64),
    Delete,
}

#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub session: u32,
    pub effect: Effect,
    pub outcome: Outcome,
    /// The server answered, even if with an unknown outcome: the connection was not lost, and the time was not over.
    pub is_answered: bool,
    pub call_ns: i64,
    pub return_ns: i64,
}

/// effects of its writes: all `Add`, or none.
#[derive(Clone, Debug)]
pub struct Round {
    pub key: u64,
    pub writes: Vec<Write>,
}

/// Values by key; a deleted row is absent.
pub type Rows = BTreeMap<u64, i64>;

/// What each node held, read after all writes had ended: between asked_ns and at_ns. `None`: it did not answer.
#[derive(Clone, Debug)]
pub struct Sample {
    pub asked_ns: i64,
    pub at_ns: i64,
    pub nodes: Vec<Option<Rows>>,
}

impl Sample {
    /// What all nodes hold, if it is the same.
    pub fn agreed(&self) -> Option<&Rows> {
        let first = self.nodes.first()?.as_ref()?;
        let same = |rows: &Option<Rows>| rows.as_ref() == Some(first);
        self.nodes.iter().all(same).then_some(first)
    }

    fn is_complete(&self) -> bool {
        self.nodes.iter().all(Option::is_some)
    }

    /// No node that answered lacks an acknowledged write.
    fn has_all(&self, rounds: &[Round]) -> bool {
        faults(rounds, self).0.is_empty()
    }

    /// All nodes hold the same, with every acknowledged write.
    pub fn is_settled(&self, rounds: &[Round]) -> bool {
        self.agreed().is_some() && self.has_all(rounds)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// From the last write until the nodes must agree.
    pub deadline_ns: i64,
    /// Samples that must follow, in which nothing changes.
    pub later: usize,
}

/// One of the four properties. count: of what contradicts it; examples: the first of those, in words.
#[derive(Clone, Debug, Serialize)]
pub struct Property {
    pub verdict: Verdict,
    pub count: u64,
    pub examples: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of the four.
    pub verdict: Verdict,
    pub rounds: u64,
    /// Rounds in which writes of two sessions ran at the same time.
    pub conflicts: u64,
    pub writes_ok: u64,
    pub writes_failed: u64,
    pub writes_unknown: u64,
    /// Each acknowledged write is on every node, or one that may have replaced it is.
    pub delivery: Property,
    /// Each write that was answered had an outcome. Lost connections and timeouts decide nothing.
    pub termination: Property,
    /// Nothing is there that nobody wrote.
    pub validity: Property,
    /// All nodes hold the same in time, and it stays.
    pub convergence: Property,
    /// From the last write until each node had every acknowledged write, by node, and until all were equal. `None`: never.
    pub delivered_after_ns: Vec<Option<i64>>,
    pub converged_after_ns: Option<i64>,
    /// Samples after that.
    pub later_samples: u64,
    /// Rounds with several acknowledged writes of values: which of them is left. Nothing is claimed about it.
    pub last_acknowledged_won: u64,
    pub other_won: u64,
}

/// Fewer rounds with a conflict decide nothing.
pub const CONFLICTS_MIN: u64 = 100;
const EXAMPLES_MAX: usize = 20;

/// samples: by time, all read after the last write. What differs, or is missing, counts only in a sample that was begun after
/// the deadline: before it is ordinary lag.
pub fn judge(rounds: &[Round], samples: &[Sample], terms: Terms) -> Report {
    let writes = || rounds.iter().flat_map(|round| &round.writes);
    let count = |outcome| writes().filter(|write| write.outcome == outcome).count() as u64;
    let quiet_ns = writes().map(|write| write.return_ns).max().unwrap_or(0);
    let conflicts = rounds.iter().filter(|round| round.has_conflict()).count() as u64;
    let exposed = conflicts >= CONFLICTS_MIN;
    let property = |found: &[String], exposed| Property {
        verdict: Verdict::of(true, !found.is_empty(), exposed),
        count: found.len() as u64,
        examples: found.iter().take(EXAMPLES_MAX).cloned().collect(),
    };

    let in_time = |sample: &Sample| sample.at_ns - quiet_ns <= terms.deadline_ns;
    let is_overdue = |sample: &&Sample| sample.asked_ns - quiet_ns >= terms.deadline_ns;
    let overdue = samples.iter().find(is_overdue);
    let first = |wanted: &dyn Fn(&Sample) -> bool| samples.iter().position(|one| in_time(one) && wanted(one));
    let settled = first(&|sample| sample.is_settled(rounds));
    let converged = settled.or_else(|| first(&|sample| sample.agreed().is_some()));
    let (differences, later) = match converged {
        Some(at) => changes(rounds, samples, at),
        None => (overdue.map(differences).unwrap_or_default(), 0),
    };
    let is_delivered = first(&|sample| sample.is_complete() && sample.has_all(rounds)).is_some();
    let lacking = overdue.filter(|_| settled.is_none());
    let lost = lacking.map(|sample| faults(rounds, sample).0).unwrap_or_default();
    let all_answered = samples.last().is_some_and(Sample::is_complete);
    let end = converged.map(|at| &samples[at]).or(samples.last());
    let invalid = end.map(|sample| faults(rounds, sample).1).unwrap_or_default();
    let pending: Vec<String> = rounds.iter().flat_map(Round::without_outcome).collect();
    let is_undecided = writes().any(|write| write.outcome == Outcome::Unknown && write.is_answered);
    let delivery = property(&lost, exposed && is_delivered);
    let validity = property(&invalid, exposed && all_answered);
    let termination = Property {
        verdict: Verdict::of(true, is_undecided, exposed && pending.is_empty()),
        ..property(&pending, exposed)
    };
    let convergence = property(&differences, exposed && all_answered && later >= terms.later);
    let (last_acknowledged_won, other_won) = winners(rounds, end.and_then(Sample::agreed));
    let four = [&delivery, &termination, &validity, &convergence].map(|one| one.verdict);
    Report {
        verdict: four.into_iter().max().unwrap_or(Verdict::Inconclusive),
        rounds: rounds.len() as u64,
        conflicts,
        writes_ok: count(Outcome::Ok),
        writes_failed: count(Outcome::Fail),
        writes_unknown: count(Outcome::Unknown),
        delivered_after_ns: delivered_after_ns(rounds, samples, quiet_ns),
        converged_after_ns: converged.map(|at| (samples[at].at_ns - quiet_ns).max(0)),
        later_samples: later as u64,
        last_acknowledged_won,
        other_won,
        delivery,
        termination,
        validity,
        convergence,
    }
}

/// Values that a key may end with. `None`: its row is absent.
type Values = BTreeSet<Option<i64>>;

impl Round {
    fn taken(&self) -> impl Iterator<Item = &Write> {
        self.writes.iter().filter(|write| write.outcome != Outcome::Fail)
    }

    /// Those of `taken`, if `is_certain` says so of a write that it certainly took effect.
    fn ends(&self, is_certain: impl Fn(&Write) -> bool) -> Values {
        let mut ends = Values::from([Some(0)]);
        for write in self.taken() {
            let after: Values = match write.effect {
                Effect::Add(amount) => ends.iter().map(|value| value.map(|sum| sum + amount)).collect(),
                Effect::Set(value) => Values::from([Some(value)]),
                Effect::Delete => Values::from([None]),
            };
            match (is_certain(write), write.effect) {
                // Amounts add up in any order; of values any may be the last.
                (true, Effect::Add(_)) => ends = after,
                _ => ends.extend(after),
            }
        }
        let replaced = |write: &Write| is_certain(write) && !matches!(write.effect, Effect::Add(_));
        if self.taken().any(replaced) {
            ends.remove(&Some(0));
        }
        ends
    }

    /// With every acknowledged write.
    fn legal(&self) -> Values {
        self.ends(|write| write.outcome == Outcome::Ok)
    }

    /// Also where acknowledged writes were lost.
    fn explained(&self) -> Values {
        self.ends(|_| false)
    }

    /// Several sessions wrote it at the same time.
    pub fn has_conflict(&self) -> bool {
        self.writes.iter().enumerate().any(|(at, one)| {
            self.writes[at + 1..].iter().any(|other| {
                one.session != other.session
                    && one.call_ns <= other.return_ns
                    && other.call_ns <= one.return_ns
            })
        })
    }

    fn without_outcome(&self) -> impl Iterator<Item = String> {
        let pending = self
            .writes
            .iter()
            .filter(|write| write.outcome == Outcome::Unknown);
        pending.map(|write| {
            format!(
                "key {}: a write of session {} had no outcome",
                self.key, write.session
            )
        })
    }
}

fn shown(value: Option<i64>) -> String {
    value.map_or("no row".to_owned(), |value| value.to_string())
}

/// Acknowledged writes that a node lacks, and values that nobody wrote.
fn faults(rounds: &[Round], sample: &Sample) -> (Vec<String>, Vec<String>) {
    let (mut lost, mut invalid) = (vec![], vec![]);
    for round in rounds {
        let (legal, explained) = (round.legal(), round.explained());
        for (node, rows) in sample.nodes.iter().enumerate() {
            let Some(rows) = rows else { continue };
            let found = rows.get(&round.key).copied();
            if legal.contains(&found) {
                continue;
            }
            let expected: Vec<String> = legal.iter().map(|value| shown(*value)).collect();
            let words = format!(
                "key {} has {} on node {node}, instead of {}",
                round.key,
                shown(found),
                expected.join(" or ")
            );
            match explained.contains(&found) {
                true => lost.push(words),
                false => invalid.push(words),
            }
        }
    }
    (lost, invalid)
}

/// Between the nodes of one sample.
fn differences(sample: &Sample) -> Vec<String> {
    let answered: Vec<(usize, &Rows)> = (0..)
        .zip(&sample.nodes)
        .filter_map(|(node, rows)| Some((node, rows.as_ref()?)))
        .collect();
    let keys: BTreeSet<u64> = answered
        .iter()
        .flat_map(|(_, rows)| rows.keys().copied())
        .collect();
    let differing = |key: u64| {
        let values: Vec<String> = answered
            .iter()
            .map(|(node, rows)| format!("{} on node {node}", shown(rows.get(&key).copied())))
            .collect();
        let first = answered.first().map(|(_, rows)| rows.get(&key));
        let differ = answered.iter().any(|(_, rows)| Some(rows.get(&key)) != first);
        differ.then(|| format!("key {key} has {}", values.join(", ")))
    };
    keys.into_iter().filter_map(differing).collect()
}

/// What changed after the nodes had agreed, and how many samples of all nodes followed. A write with an unknown outcome may
/// take effect at any time: its row may change.
fn changes(rounds: &[Round], samples: &[Sample], agreed_at: usize) -> (Vec<String>, usize) {
    let (mut found, mut later) = (vec![], 0);
    let Some(before) = samples[agreed_at].agreed() else {
        return (found, later);
    };
    let has_unknown = |round: &&Round| round.without_outcome().next().is_some();
    let open: BTreeSet<u64> = rounds.iter().filter(has_unknown).map(|round| round.key).collect();
    let differs = |key: &u64, rows: &Rows| !open.contains(key) && before.get(key) != rows.get(key);
    for sample in &samples[agreed_at + 1..] {
        later += usize::from(sample.is_complete());
        for (node, rows) in (0..).zip(&sample.nodes) {
            let Some(rows) = rows else { continue };
            let keys: BTreeSet<&u64> = before.keys().chain(rows.keys()).collect();
            for key in keys.into_iter().filter(|key| differs(key, rows)) {
                let value = |rows: &Rows| shown(rows.get(key).copied());
                found.push(format!(
                    "key {key} had {} when all nodes agreed, and later {} on node {node}",
                    value(before),
                    value(rows)
                ));
            }
        }
    }
    (found, later)
}

fn delivered_after_ns(rounds: &[Round], samples: &[Sample], quiet_ns: i64) -> Vec<Option<i64>> {
    let legal: Vec<(u64, Values)> = rounds.iter().map(|round| (round.key, round.legal())).collect();
    let is_whole = |rows: &Rows| {
        let has = |(key, legal): &(u64, Values)| legal.contains(&rows.get(key).copied());
        legal.iter().all(has)
    };
    let nodes = samples.first().map_or(0, |sample| sample.nodes.len());
    let first = |node: usize| {
        let whole = |sample: &&Sample| sample.nodes[node].as_ref().is_some_and(is_whole);
        samples
            .iter()
            .find(whole)
            .map(|sample| (sample.at_ns - quiet_ns).max(0))
    };
    (0..nodes).map(first).collect()
}

/// Rounds that the last acknowledged write won, and others.
fn winners(rounds: &[Round], end: Option<&Rows>) -> (u64, u64) {
    let (mut last, mut other) = (0, 0);
    let Some(end) = end else {
        return (last, other);
    };
    for round in rounds {
        let values = round.writes.iter().filter_map(|write| match write.effect {
            Effect::Set(value) if write.outcome == Outcome::Ok => Some((write.return_ns, value)),
            _ => None,
        });
        let values: Vec<(i64, i64)> = values.collect();
        let (2.., Some((_, latest))) = (values.len(), values.iter().max()) else {
            continue;
        };
        match end.get(&round.key) == Some(latest) {
            true => last += 1,
            false => other += 1,
        }
    }
    (last, other)
}
