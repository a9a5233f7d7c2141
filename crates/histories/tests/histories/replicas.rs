//! Registers in the reference store, in virtual time: figures that are known by arithmetic, and its bugs, each of which is
//! found at each of 100 seeds.

use bakeoff_drivers::reference::store::{Cell, Change, Condition, Open, Store};
use bakeoff_drivers::reference::{ReferenceBug, ReferenceFault, ReferenceFaultKind, ReferenceSpec};
use bakeoff_histories::record::{MicroOp, Outcome, Record};
use bakeoff_histories::register::guarantees::Guarantee;
use bakeoff_histories::register::staleness::Staleness;
use bakeoff_histories::register::{Claims, Report, judge};
use bakeoff_histories::verdict::Verdict;
use bakeoff_model::random::SplitMix64;
use bakeoff_model::run::Isolation;
use std::collections::BTreeSet;

use crate::builders::{history, ok, read, write};

const MS: u64 = 1_000_000;
const TABLE: &str = "t";

/// A store whose keys have been there for long.
pub struct Replicas {
    store: Store,
    random: SplitMix64,
    now_ns: u64,
    records: Vec<Record>,
}

impl Replicas {
    pub fn new(spec: ReferenceSpec, keys: u64, seed: u64) -> Self {
        let mut store = Store::new(spec.clone(), Isolation::Serializable, seed, 0);
        store.create(TABLE).unwrap();
        let open = store.begin(0, 0).unwrap();
        for key in 0..keys as i64 {
            store.insert(open, TABLE, key, Cell::Int(0), 0).unwrap();
        }
        store.commit(open, 0).unwrap();
        Self {
            store,
            random: SplitMix64(seed),
            now_ns: 2 * spec.delay_ns,
            records: vec![],
        }
    }

    fn note(&mut self, session: u32, node: usize, outcome: Outcome, op: MicroOp) {
        let times = (self.now_ns as i64, self.now_ns as i64 + 10);
        self.records.push(Record {
            node: node as u32,
            outcome,
            index: self.records.len() as u64,
            ..ok(session, times, vec![op])
        });
        self.now_ns += 20;
    }

    fn begin_write(&mut self, node: usize, key: u64, value: i64) -> Option<Open> {
        let open = self.store.begin_newest(node, self.now_ns).ok()?;
        let (id, change) = (Condition::id(key as i64), Change::Set(Cell::Int(value)));
        assert_eq!(
            self.store.update(open, TABLE, &id, &change, self.now_ns).unwrap(),
            1
        );
        Some(open)
    }

    fn write(&mut self, session: u32, node: usize, key: u64, value: i64) {
        let open = self.begin_write(node, key, value);
        let done = open.is_some_and(|open| self.store.commit(open, self.now_ns).is_ok());
        let outcome = if done { Outcome::Ok } else { Outcome::Fail };
        self.note(session, node, outcome, write(key, value));
    }

    fn read(&mut self, session: u32, node: usize, key: u64) {
        let Ok(open) = self.store.begin(node, self.now_ns) else {
            return self.note(session, node, Outcome::Fail, MicroOp::Unanswered(key));
        };
        let rows = self
            .store
            .read(open, TABLE, &Condition::id(key as i64), self.now_ns);
        self.store.rollback(open);
        let [(_, Cell::Int(value))] = rows.unwrap()[..] else {
            panic!("key {key} has no row");
        };
        self.note(session, node, Outcome::Ok, read(key, value));
    }
}

fn judged(records: &[Record], claims: &Claims) -> Report {
    judge(&history(records), claims).unwrap()
}

fn weak(nodes: u32, write_nodes: u32, read_nodes: u32, delay_ns: u64) -> ReferenceSpec {
    ReferenceSpec {
        nodes,
        write_nodes,
        read_nodes,
        delay_ns,
        ..ReferenceSpec::default()
    }
}

fn choose(from: u64, count: u64) -> f64 {
    (0..count)
        .map(|i| (from - i.min(from)) as f64 / (i + 1) as f64)
        .product()
}

/// Bailis et al.: "Probabilistically bounded staleness" (VLDB 2012), equation 1: none of the R nodes that are read is among
/// the W that have the write.
#[test]
fn immediate_reads_without_propagation_are_stale_as_often_as_arithmetic_says() {
    for (nodes, write_nodes, read_nodes) in [(3, 1, 1), (3, 2, 1), (3, 1, 2), (3, 2, 2), (5, 2, 2)] {
        let (mut stale, mut reads) = (0, 0);
        for seed in 0..100 {
            let hour_ns = 3_600_000 * MS;
            let mut replicas = Replicas::new(weak(nodes, write_nodes, read_nodes, hour_ns), 1, seed);
            for version in 1..=300 {
                let [writes, reads] = [0, 1].map(|_| replicas.random.below(u64::from(nodes)) as usize);
                replicas.write(0, writes, 0, version);
                replicas.read(1, reads, 0);
            }
            let report = judged(&replicas.records, &Claims::default()).staleness;
            stale += report.stale;
            reads += report.reads;
        }
        let [n, w, r] = [nodes, write_nodes, read_nodes].map(u64::from);
        let expected = choose(n - w, r) / choose(n, r);
        let share = stale as f64 / reads as f64;
        assert!(
            (share - expected).abs() < 0.01,
            "N={n} W={w} R={r}: {share} and not {expected}"
        );
    }
}

#[test]
fn a_delay_of_200_ms_has_windows_of_200_ms_within_the_time_between_two_reads() {
    for poll_ms in [1, 2, 5, 10, 25] {
        let mut replicas = Replicas::new(weak(3, 1, 1, 200 * MS), 1, poll_ms);
        let begin_ns = replicas.now_ns;
        let (mut version, poll_ns) = (0, poll_ms * MS);
        for poll in 0..12_000 / poll_ms {
            replicas.now_ns = begin_ns + poll * poll_ns;
            if (poll * poll_ms).is_multiple_of(300) {
                version += 1;
                replicas.write(0, 0, 0, version);
            }
            replicas.read(1, 1, 0);
            replicas.read(2, 2, 0);
        }
        let report = judged(&replicas.records, &Claims::default()).staleness;
        let median_ns = report.window_ns.p50 as u64;
        assert!(
            median_ns.abs_diff(200 * MS) <= poll_ns,
            "{poll_ms} ms: {report:?}"
        );
        assert!(report.age_ns.max as u64 <= 200 * MS, "{report:?}");
    }
}

const SESSIONS: u64 = 6;

/// Each session writes a key of its own and one of all, and reads any, on any node; some take a write back, which others may
/// have read meanwhile.
pub fn any_operations(spec: ReferenceSpec, seed: u64, operations: u64) -> Vec<Record> {
    let nodes = u64::from(spec.nodes);
    let mut replicas = Replicas::new(spec, SESSIONS + 1, seed);
    let mut taken_back: Option<(u64, Open, Record)> = None;
    for number in 1..=operations {
        replicas.now_ns += replicas.random.below(4 * MS);
        if let Some((until, open, record)) = taken_back.take() {
            if number >= until {
                replicas.store.rollback(open);
                replicas.records.push(Record {
                    return_ns: replicas.now_ns as i64,
                    ..record
                });
            } else {
                taken_back = Some((until, open, record));
            }
        }
        let session = replicas.random.below(SESSIONS);
        let node = replicas.random.below(nodes) as usize;
        let (own, value) = (replicas.random.one_in(2), number as i64);
        let key = if own { session } else { SESSIONS };
        match replicas.random.below(6) {
            0 | 1 => replicas.write(session as u32, node, key, value),
            // Of a session of its own, because it lasts.
            2 if taken_back.is_none() => {
                if let Some(open) = replicas.begin_write(node, SESSIONS, value) {
                    replicas.note(SESSIONS as u32, node, Outcome::Fail, write(SESSIONS, value));
                    let record = replicas.records.pop().unwrap();
                    taken_back = Some((number + 5, open, record));
                }
            }
            _ => {
                let key = replicas.random.below(SESSIONS + 1);
                replicas.read(session as u32, node, key);
            }
        }
    }
    replicas.records
}

fn everything() -> Claims {
    Claims {
        staleness: Some(Staleness::None),
        guarantees: vec![
            Guarantee::ReadYourWrites,
            Guarantee::MonotonicReads,
            Guarantee::MonotonicWrites,
            Guarantee::WritesFollowReads,
        ],
        linearizable: true,
    }
}

/// Names of what was found.
pub fn found(records: &[Record]) -> BTreeSet<&'static str> {
    let report = judged(records, &everything());
    let names: BTreeSet<_> = report.findings.iter().map(|one| one.anomaly).collect();
    assert_eq!(report.verdict == Verdict::Violated, !names.is_empty());
    names
}

pub fn with(bug: ReferenceBug) -> ReferenceSpec {
    ReferenceSpec {
        bug,
        ..ReferenceSpec::default()
    }
}

fn partitioned() -> ReferenceSpec {
    let fault = |node, at_s| ReferenceFault {
        kind: ReferenceFaultKind::Partition,
        node,
        at_s,
        for_s: 0.3,
    };
    ReferenceSpec {
        faults: vec![fault(1, 0.2), fault(2, 0.4), fault(3, 1.0)],
        ..ReferenceSpec::default()
    }
}

#[test]
fn a_store_without_a_bug_behaves_as_one_copy_and_keeps_it_through_partitions() {
    for seed in 0..100 {
        let records = any_operations(with(ReferenceBug::None), seed, 1_000);
        assert!(found(&records).is_empty(), "seed {seed}: {:?}", found(&records));
        let records = any_operations(partitioned(), seed, 1_000);
        let failed = records
            .iter()
            .filter(|record| record.outcome == Outcome::Fail)
            .count();
        assert!(failed > 100, "seed {seed}: {failed}");
        assert!(found(&records).is_empty(), "seed {seed}: {:?}", found(&records));
    }
}

#[test]
fn each_bug_is_found_by_the_judge_that_it_is_for() {
    let sessions = ["read-your-writes", "monotonic-reads"];
    for (bug, expected) in [
        (ReferenceBug::DropWrite, &["stale-read", "not-linearizable"][..]),
        (ReferenceBug::AbortedRead, &["aborted-read"]),
        (ReferenceBug::Phantom, &["phantom"]),
        (
            ReferenceBug::StaleNode,
            &["stale-read", "not-linearizable", sessions[0], sessions[1]],
        ),
        (
            ReferenceBug::LateCommit,
            &["stale-read", "not-linearizable", sessions[0], sessions[1]],
        ),
    ] {
        for seed in 0..100 {
            let names = found(&any_operations(with(bug), seed, 2_000));
            let missing = expected.iter().find(|name| !names.contains(*name));
            assert_eq!(missing, None, "{bug:?}, seed {seed}: {names:?}");
        }
    }
}

/// Observers look at what depends on another write before that, on one node.
#[test]
fn writes_that_arrive_out_of_order_are_found_by_observers() {
    let mut of_all = [0; 2];
    for seed in 0..100 {
        let mut replicas = Replicas::new(with(ReferenceBug::LateCommit), 3, seed);
        for version in 1..=200 {
            replicas.now_ns += replicas.random.below(20 * MS);
            replicas.write(0, 0, 0, version);
            replicas.write(0, 0, 1, version);
            replicas.read(1, 1, 1);
            replicas.write(1, 1, 2, version);
            let node = replicas.random.below(3) as usize;
            replicas.read(2, node, 2);
            replicas.read(2, node, 1);
            replicas.read(2, node, 0);
        }
        let names = found(&replicas.records);
        for (count, name) in of_all.iter_mut().zip(["monotonic-writes", "writes-follow-reads"]) {
            *count += u32::from(names.contains(name));
        }
    }
    assert_eq!(of_all, [100, 100]);
}
