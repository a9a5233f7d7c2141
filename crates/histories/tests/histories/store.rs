//! A store of lists in virtual time, with one seed and bug switches: the truth that judges are tested with.
//!
//! Transactions of several sessions take turns, an operation at a time. `Serializable` and `Snapshot` read what was
//! committed when they began, and abort if another one changed since what they read or appended to (serializable), or
//! only what they appended to. `ReadCommitted` reads the newest commits and locks what it appends to.

use std::collections::BTreeMap;

use bakeoff_histories::level::Level;
use bakeoff_histories::record::{Answer, MicroOp, Outcome, Phase, Record};
use bakeoff_model::random::SplitMix64;

use crate::builders::ok;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Reads see what others have appended and not committed.
    DirtyRead,
    /// Two that append to the same keys are applied in different orders.
    DirtyWrite,
    /// Of two that append to the same key, the second is not aborted.
    IgnoreConflict,
    /// An acknowledged append is not applied.
    DropWrite,
    /// An append gets in front of another one that was read.
    Reorder,
    /// An append is applied twice.
    Duplicate,
    /// A transaction does not see its own appends.
    ForgetOwn,
    /// A value is read that nobody appended.
    Phantom,
    /// What only reads may read an old snapshot.
    OldSnapshot,
}

#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub level: Level,
    pub bug: Option<Bug>,
    pub sessions: u32,
    pub transactions: u32,
    /// At most, of a transaction.
    pub operations: u64,
    pub keys: u64,
    pub unknown: bool,
}

struct Element {
    value: i64,
    committed_at: i64,
}

#[derive(Default)]
struct Key {
    elements: Vec<Element>,
    /// Of the longest list that was read.
    length_read: usize,
    /// The session that appended and has not ended.
    locked_by: Option<usize>,
}

struct Active {
    began_at: i64,
    sees_until: i64,
    planned: Vec<(u64, bool)>,
    ops: Vec<MicroOp>,
    appended: Vec<(u64, i64)>,
    only_reads: bool,
}

const APPENDS_PER_KEY: u64 = 60;

struct Run<'r> {
    store: Store,
    random: SplitMix64,
    now: i64,
    keys: BTreeMap<u64, Key>,
    next_value: i64,
    appends: Vec<u64>,
    active: Vec<Option<Active>>,
    records: &'r mut dyn FnMut(Record),
}

impl Store {
    pub fn new(level: Level) -> Self {
        Self {
            level,
            bug: None,
            sessions: 6,
            transactions: 1_000,
            operations: 4,
            keys: 6,
            unknown: true,
        }
    }

    pub fn with(self, bug: Bug) -> Self {
        Self {
            bug: Some(bug),
            ..self
        }
    }

    /// A history that ends with a read of all keys.
    pub fn run(self, seed: u64) -> Vec<Record> {
        let mut records = Vec::new();
        self.run_into(seed, &mut |record| records.push(record));
        records
    }

    pub fn run_into(self, seed: u64, records: &mut dyn FnMut(Record)) {
        let mut run = Run {
            store: self,
            random: SplitMix64(seed),
            now: 0,
            keys: BTreeMap::new(),
            next_value: 0,
            appends: vec![0; self.keys as usize],
            active: (0..self.sessions).map(|_| None).collect(),
            records,
        };
        let mut begun = 0;
        while begun < self.transactions || run.active.iter().any(Option::is_some) {
            run.now += 1 + run.random.below(10) as i64;
            let session = run.random.below(u64::from(self.sessions)) as usize;
            match run.active[session].take() {
                None if begun < self.transactions => {
                    begun += 1;
                    run.begin(session);
                }
                None => {}
                Some(active) if active.planned.is_empty() => run.end(session, active),
                Some(active) => run.step(session, active),
            }
        }
        run.read_all();
    }
}

impl Run<'_> {
    fn has(&mut self, bug: Bug, chance: u64) -> bool {
        self.store.bug == Some(bug) && self.random.one_in(chance)
    }

    fn begin(&mut self, session: usize) {
        let count = 2 + self.random.below(self.store.operations - 1);
        let planned: Vec<(u64, bool)> = (0..count)
            .map(|_| {
                let slot = self.random.below(self.store.keys);
                let generation = self.appends[slot as usize] / APPENDS_PER_KEY;
                (slot + generation * self.store.keys, self.random.one_in(2))
            })
            .collect();
        let only_reads = planned.iter().all(|(_, appends)| !appends);
        let old = only_reads && self.has(Bug::OldSnapshot, 2);
        self.active[session] = Some(Active {
            began_at: self.now,
            sees_until: if old { self.now - 300 } else { self.now },
            planned,
            ops: Vec::new(),
            appended: Vec::new(),
            only_reads,
        });
    }

    fn step(&mut self, session: usize, mut active: Active) {
        let (key, appends) = active.planned.remove(0);
        if !appends {
            let values = self.read(key, session, &active);
            active.ops.push(MicroOp::Read(key, Answer::List(values)));
        } else {
            let held = self.keys.entry(key).or_default();
            if self.store.level == Level::ReadCommitted
                && held.locked_by.is_some_and(|other| other != session)
            {
                active.planned.insert(0, (key, true)); // Waits, unless it has waited for long.
                if self.random.one_in(4) {
                    return self.finish(session, active, Outcome::Fail);
                }
            } else {
                held.locked_by = Some(session);
                self.next_value += 1;
                self.appends[(key % self.store.keys) as usize] += 1;
                active.ops.push(MicroOp::Append(key, self.next_value));
                active.appended.push((key, self.next_value));
            }
        }
        self.active[session] = Some(active);
    }

    fn read(&mut self, key: u64, session: usize, active: &Active) -> Vec<i64> {
        let until = if self.store.level == Level::ReadCommitted {
            self.now
        } else {
            active.sees_until
        };
        let dirty = self.has(Bug::DirtyRead, 3);
        let forget = self.has(Bug::ForgetOwn, 3);
        let phantom = self.has(Bug::Phantom, 50);
        let held = self.keys.entry(key).or_default();
        let mut values: Vec<i64> = held
            .elements
            .iter()
            .filter(|one| one.committed_at <= until)
            .map(|one| one.value)
            .collect();
        held.length_read = held.length_read.max(values.len());
        let own = |appended: &[(u64, i64)]| -> Vec<i64> {
            appended
                .iter()
                .filter(|(other, _)| *other == key)
                .map(|(_, value)| *value)
                .collect()
        };
        if let Some(other) = held.locked_by.filter(|other| dirty && *other != session) {
            values.extend(self.active[other].iter().flat_map(|other| own(&other.appended)));
        }
        if !forget {
            values.extend(own(&active.appended));
        }
        if phantom {
            values.push(-self.now);
        }
        values
    }

    fn changed_since(&self, key: u64, since: i64) -> bool {
        self.keys
            .get(&key)
            .and_then(|key| key.elements.last())
            .is_some_and(|last| last.committed_at > since)
    }

    fn end(&mut self, session: usize, active: Active) {
        let changed = |key: &u64| self.changed_since(*key, active.began_at);
        let read = |op: &MicroOp| {
            if let MicroOp::Read(key, _) = op {
                changed(key)
            } else {
                false
            }
        };
        let appended = active.appended.iter().any(|(key, _)| changed(key));
        let conflict = match self.store.level {
            Level::Serializable => appended || !active.only_reads && active.ops.iter().any(read),
            Level::Snapshot => appended,
            Level::ReadCommitted | Level::ReadUncommitted => false,
        };
        let conflict = conflict && self.store.bug != Some(Bug::IgnoreConflict);
        let unknown = self.store.unknown && self.random.one_in(50);
        let lost = unknown && self.random.one_in(2) || self.store.unknown && self.random.one_in(50);
        let applied = !conflict && !lost;
        if applied {
            self.apply(&active);
        }
        let outcome = match (unknown, applied) {
            (true, _) => Outcome::Unknown,
            (false, true) => Outcome::Ok,
            (false, false) => Outcome::Fail,
        };
        self.finish(session, active, outcome);
    }

    fn apply(&mut self, active: &Active) {
        for (key, value) in active.appended.iter().copied() {
            if self.has(Bug::DropWrite, 50) {
                continue;
            }
            let twice = self.has(Bug::Duplicate, 50);
            let in_front = self.has(Bug::Reorder, 10);
            let dirty = self.has(Bug::DirtyWrite, 2);
            let element = || Element {
                value,
                committed_at: self.now,
            };
            let held = self.keys.entry(key).or_default();
            let unread = held.elements.len() > held.length_read;
            let concurrent = held
                .elements
                .last()
                .is_some_and(|last| last.committed_at > active.began_at);
            let at = held.elements.len()
                - usize::from(!held.elements.is_empty() && in_front || dirty && unread && concurrent);
            held.elements.insert(at, element());
            if twice {
                held.elements.push(element());
            }
        }
    }

    fn finish(&mut self, session: usize, active: Active, outcome: Outcome) {
        for (key, _) in &active.appended {
            self.keys.entry(*key).or_default().locked_by = None;
        }
        self.now += 1;
        let record = ok(session as u32, (active.began_at, self.now), active.ops);
        (self.records)(Record { outcome, ..record });
    }

    fn read_all(&mut self) {
        self.now += 100;
        let values = |key: &Key| Answer::List(key.elements.iter().map(|one| one.value).collect());
        let ops = self
            .keys
            .iter()
            .map(|(name, key)| MicroOp::Read(*name, values(key)))
            .collect();
        let record = ok(self.store.sessions, (self.now, self.now + 1), ops);
        (self.records)(Record {
            phase: Phase::Final,
            ..record
        });
    }
}
