//! Second judges: exact searches, too slow for more than a handful of transactions.

use std::collections::BTreeMap;

use bakeoff_histories::level::{Class, Level, Order};
use bakeoff_histories::list_append::judge;
use bakeoff_histories::record::{Answer, MicroOp, Outcome, Record};
use bakeoff_histories::register::{self, Claims};
use bakeoff_model::random::SplitMix64;

use crate::builders::{append, history, list, ok, read, write};
use crate::store::{Bug, Store};

type State = BTreeMap<u64, Vec<i64>>;

/// The state after a transaction, if it would have read what it read.
fn apply(before: &State, ops: &[MicroOp]) -> Option<State> {
    let mut state = before.clone();
    for op in ops {
        match op {
            MicroOp::Append(key, value) => state.entry(*key).or_default().push(*value),
            MicroOp::Read(key, Answer::List(values))
                if state.get(key).map_or(&[][..], Vec::as_slice) != values =>
            {
                return None;
            }
            _ => {}
        }
    }
    Some(state)
}

/// Whether the transactions in `left`, one after the other in some order, read what they read.
fn serializable(records: &[Record], left: &mut Vec<usize>, state: &State) -> bool {
    if left.iter().all(|id| records[*id].outcome == Outcome::Unknown) {
        return true; // Those need not have happened.
    }
    (0..left.len()).any(|at| {
        let id = left.remove(at);
        let found = apply(state, &records[id].ops).is_some_and(|state| serializable(records, left, &state));
        left.insert(at, id);
        found
    })
}

#[derive(Clone, Copy)]
enum Progress {
    Waiting,
    /// Whether another one has committed to a key that it appends to.
    Running(bool),
    Done,
}

fn appended(record: &Record) -> impl Iterator<Item = u64> {
    record.ops.iter().filter_map(|op| {
        if let MicroOp::Append(key, _) = op {
            Some(*key)
        } else {
            None
        }
    })
}

/// Whether begins and commits can be interleaved so that each reads from what it saw when it began, and of two that ran
/// at the same time and appended to one key, only one commits. Begins that follow one another are tried in one order:
/// those below `first` have been.
fn snapshot(records: &[Record], progress: &mut Vec<Progress>, state: &State, first: usize) -> bool {
    let needed = |(record, progress): (&Record, &Progress)| {
        record.outcome == Outcome::Ok && !matches!(progress, Progress::Done)
    };
    if !records.iter().zip(progress.iter()).any(needed) {
        return true;
    }
    (0..records.len()).any(|id| {
        let saved = progress.clone();
        let found = match saved[id] {
            Progress::Waiting => {
                progress[id] = Progress::Running(false);
                id >= first
                    && apply(state, &records[id].ops).is_some()
                    && snapshot(records, progress, state, id + 1)
            }
            Progress::Running(true) | Progress::Done => false,
            Progress::Running(false) => {
                let mut after = state.clone();
                for op in &records[id].ops {
                    if let MicroOp::Append(key, value) = op {
                        after.entry(*key).or_default().push(*value);
                    }
                }
                progress[id] = Progress::Done;
                for (other, record) in progress.iter_mut().zip(records) {
                    if let Progress::Running(conflict) = other {
                        *conflict |= appended(record).any(|key| appended(&records[id]).any(|own| own == key));
                    }
                }
                snapshot(records, progress, &after, 0)
            }
        };
        *progress = saved;
        found
    })
}

fn small_stores() -> impl Iterator<Item = (u64, Vec<Record>)> {
    let levels = [Level::Serializable, Level::Snapshot, Level::ReadCommitted];
    let bugs = [
        None,
        None,
        Some(Bug::DirtyRead),
        Some(Bug::IgnoreConflict),
        Some(Bug::DirtyWrite),
        Some(Bug::Reorder),
    ];
    (0..1_500).map(move |seed: u64| {
        let (level, bug) = (levels[seed as usize % 3], bugs[seed as usize / 3 % bugs.len()]);
        let store = Store {
            bug,
            sessions: 3,
            transactions: 4,
            keys: 2,
            ..Store::new(level)
        };
        let mut records = store.run(seed);
        records.retain(|record| record.outcome != Outcome::Fail);
        for record in records
            .iter_mut()
            .filter(|record| record.outcome == Outcome::Unknown)
        {
            record.ops.retain(|op| matches!(op, MicroOp::Append(..))); // What it read does not count.
        }
        (seed, records)
    })
}

/// Whether the judge allows this level. Lost writes are left out: they follow from times.
fn allows(records: &[Record], level: Level) -> bool {
    let report = judge(&history(records), Some(level), Order::None).unwrap();
    report
        .violations
        .iter()
        .all(|finding| finding.anomaly.class == Class::LostWrite)
}

#[test]
fn brute_force_agrees_on_what_is_serializable() {
    let mut counts = [0; 2];
    for (seed, records) in small_stores() {
        let expected = serializable(&records, &mut (0..records.len()).collect(), &State::new());
        assert_eq!(
            allows(&records, Level::Serializable),
            expected,
            "seed {seed}: {records:#?}"
        );
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
}

#[test]
fn brute_force_agrees_on_what_a_snapshot_store_may_do() {
    let mut counts = [0; 2];
    for (seed, records) in small_stores().filter(|(_, records)| records.len() <= 5) {
        let mut progress = vec![Progress::Waiting; records.len()];
        let expected = snapshot(&records, &mut progress, &State::new(), 0);
        assert_eq!(
            allows(&records, Level::Snapshot),
            expected,
            "seed {seed}: {records:#?}"
        );
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
}

/// Reads of random prefixes: cycles of all kinds, most of which no store would make.
pub fn random_lists(random: &mut SplitMix64) -> Vec<Record> {
    let mut written: [Vec<i64>; 2] = Default::default();
    let mut transactions: Vec<Vec<MicroOp>> = vec![Vec::new(); 4];
    for value in 0..4 {
        let key = random.below(2);
        written[key as usize].push(value);
        transactions[random.below(4) as usize].push(append(key, value));
    }
    for _ in 0..4 {
        let key = random.below(2);
        let values = &written[key as usize];
        let prefix = &values[..random.below(values.len() as u64 + 1) as usize];
        let transaction = &mut transactions[random.below(4) as usize];
        let at = random.below(transaction.len() as u64 + 1) as usize;
        transaction.insert(at, list(key, prefix));
    }
    transactions.push((0..2).map(|key| list(key, &written[key as usize])).collect());
    (0..)
        .zip(transactions)
        .map(|(at, ops)| ok(at, (0, 9), ops))
        .collect()
}

#[test]
fn brute_force_agrees_on_random_lists() {
    let mut random = SplitMix64(7);
    let mut counts = [0; 4];
    for case in 0..1_500 {
        let records = random_lists(&mut random);
        let serial = serializable(&records, &mut (0..records.len()).collect(), &State::new());
        let isolated = snapshot(
            &records,
            &mut vec![Progress::Waiting; records.len()],
            &State::new(),
            0,
        );
        assert_eq!(
            allows(&records, Level::Serializable),
            serial,
            "case {case}: {records:#?}"
        );
        assert_eq!(
            allows(&records, Level::Snapshot),
            isolated,
            "case {case}: {records:#?}"
        );
        counts[usize::from(serial)] += 1;
        counts[2 + usize::from(isolated)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

/// Wing and Gong: next is any operation that no other one has ended before.
fn linearizable(records: &[Record], left: &mut Vec<usize>, value: i64) -> bool {
    if left.iter().all(|id| records[*id].outcome == Outcome::Unknown) {
        return true;
    }
    (0..left.len()).any(|at| {
        let id = left[at];
        let record = &records[id];
        let ended = |other: &usize| {
            records[*other].outcome == Outcome::Ok && records[*other].return_ns < record.call_ns
        };
        let after = match record.ops[0] {
            MicroOp::Write(_, written) => written,
            MicroOp::Read(_, Answer::Value(read)) if read == value => value,
            _ => return false,
        };
        if left.iter().any(ended) {
            return false;
        }
        left.remove(at);
        let found = linearizable(records, left, after);
        left.insert(at, id);
        found
    })
}

#[test]
fn brute_force_agrees_on_what_is_linearizable() {
    let mut random = SplitMix64(3);
    let mut counts = [0; 2];
    for case in 0..20_000 {
        let count = 3 + random.below(5);
        let writes = 1 + random.below(3);
        let records: Vec<Record> = (0..count)
            .map(|at| {
                let call_ns = random.below(12) as i64;
                let times = (call_ns, call_ns + random.below(8) as i64);
                if at < writes {
                    let record = ok(at as u32, times, vec![write(1, at as i64 + 1)]);
                    let outcome = if random.one_in(4) {
                        Outcome::Unknown
                    } else {
                        Outcome::Ok
                    };
                    return Record { outcome, ..record };
                }
                ok(at as u32, times, vec![read(1, random.below(writes + 1) as i64)])
            })
            .collect();
        let expected = linearizable(&records, &mut (0..records.len()).collect(), 0);
        let report = register::judge(&history(&records), &Claims::default()).unwrap();
        assert_eq!(
            report.linearizable.conflicts == 0,
            expected,
            "case {case}: {records:#?}"
        );
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}
