use bakeoff_histories::level::Class::{self, *};
use bakeoff_histories::level::{Anomaly, Level, Order};
use bakeoff_histories::list_append::{Report, judge};
use bakeoff_histories::record::{MicroOp, Outcome, Phase, Record};
use bakeoff_histories::verdict::Verdict;

use crate::builders::{append, concurrent, history, list, ok};
use crate::store::{Bug, Store};

fn judged(records: &[Record], claim: Level, order: Order) -> Report {
    judge(&history(records), Some(claim), order).unwrap()
}

fn anomalies(report: &Report) -> Vec<Anomaly> {
    report
        .violations
        .iter()
        .chain(&report.allowed)
        .map(|finding| finding.anomaly)
        .collect()
}

fn classes(records: &[Record]) -> Vec<Class> {
    anomalies(&judged(records, Level::Serializable, Order::None))
        .iter()
        .map(|anomaly| anomaly.class)
        .collect()
}

fn failed(record: Record) -> Record {
    Record {
        outcome: Outcome::Fail,
        ..record
    }
}

#[test]
fn list_append_finds_a_dirty_write() {
    let found = classes(&concurrent(vec![
        vec![append(1, 11), append(2, 21)],
        vec![append(1, 12), append(2, 22)],
        vec![list(1, &[11, 12]), list(2, &[22, 21])],
    ]));
    assert_eq!(found, [G0]);
}

#[test]
fn list_append_finds_a_read_of_what_was_aborted_and_nothing_else() {
    let mut records = concurrent(vec![
        vec![append(1, 11)],
        vec![list(1, &[11])],
        vec![append(1, 12)],
        vec![list(1, &[12])],
    ]);
    records[0] = failed(records[0].clone());
    assert_eq!(classes(&records), [G1a]);
}

#[test]
fn list_append_finds_an_intermediate_read_and_nothing_else() {
    let records = concurrent(vec![
        vec![append(1, 11), append(1, 12)],
        vec![list(1, &[11])],
        vec![list(1, &[11, 12])],
    ]);
    assert_eq!(classes(&records), [G1b]);
}

#[test]
fn list_append_finds_two_that_read_what_the_other_one_wrote() {
    let records = concurrent(vec![
        vec![append(1, 11), list(2, &[21])],
        vec![append(2, 21), list(1, &[11])],
    ]);
    assert_eq!(classes(&records), [G1c]);
}

#[test]
fn list_append_finds_read_skew_and_lost_updates() {
    let skew = concurrent(vec![
        vec![append(1, 11), append(2, 21)],
        vec![list(1, &[]), list(2, &[21])],
    ]);
    assert_eq!(
        classes(&[skew, concurrent(vec![vec![list(1, &[11])]])].concat()),
        [GSingle]
    );
    let lost = concurrent(vec![
        vec![list(1, &[]), append(1, 11)],
        vec![list(1, &[]), append(1, 12)],
        vec![list(1, &[11, 12])],
    ]);
    assert_eq!(classes(&lost), [GSingle]);
}

/// Two writers are seen in different orders by two readers (long fork).
fn long_fork() -> Vec<Record> {
    concurrent(vec![
        vec![append(1, 11)],
        vec![append(2, 21)],
        vec![list(1, &[11]), list(2, &[])],
        vec![list(1, &[]), list(2, &[21])],
    ])
}

fn write_skew() -> Vec<Record> {
    concurrent(vec![
        vec![list(1, &[]), append(2, 21)],
        vec![list(2, &[]), append(1, 11)],
        vec![list(1, &[11]), list(2, &[21])],
    ])
}

#[test]
fn list_append_distinguishes_a_long_fork_from_write_skew() {
    assert_eq!(classes(&long_fork()), [GNonadjacent]);
    assert_eq!(classes(&write_skew()), [G2Item]);
    assert_eq!(
        judged(&long_fork(), Level::Snapshot, Order::None).verdict,
        Verdict::Violated
    );
    let skew = judged(&write_skew(), Level::Snapshot, Order::None);
    assert_eq!(
        (skew.verdict, skew.implied),
        (Verdict::Inconclusive, Some(Level::Snapshot))
    );
    assert_eq!(skew.allowed.len(), 1);
}

#[test]
fn list_append_finds_lists_that_no_order_explains() {
    let two = concurrent(vec![
        vec![append(1, 11)],
        vec![append(1, 12)],
        vec![list(1, &[11, 12])],
        vec![list(1, &[12])],
    ]);
    assert_eq!(classes(&two), [IncompatibleOrder]);
    assert_eq!(
        classes(&concurrent(vec![vec![append(1, 11)], vec![list(1, &[11, 11])]])),
        [Duplicate]
    );
    assert_eq!(classes(&concurrent(vec![vec![list(1, &[7])]])), [Phantom]);
}

#[test]
fn list_append_finds_transactions_that_do_not_see_themselves() {
    let internal = |ops: Vec<MicroOp>| classes(&concurrent(vec![ops]));
    assert_eq!(internal(vec![append(1, 11), list(1, &[])]), [Internal]);
    assert_eq!(
        internal(vec![append(1, 11), append(1, 12), list(1, &[12, 11])]),
        [Internal]
    );
    assert_eq!(internal(vec![list(1, &[11]), append(1, 11)]), [Internal]);
    assert_eq!(
        internal(vec![
            append(1, 11),
            list(1, &[11]),
            append(1, 12),
            list(1, &[11, 12])
        ]),
        []
    );
    let by_another = concurrent(vec![vec![append(1, 11), append(1, 12)], vec![list(1, &[12, 11])]]);
    assert!(classes(&by_another).contains(&Internal));
}

#[test]
fn list_append_calls_a_write_lost_only_with_evidence() {
    let append_11 = ok(0, (0, 10), vec![append(1, 11)]);
    let append_12 = ok(1, (20, 30), vec![append(1, 12)]);
    let later = |values: &[i64]| ok(2, (40, 50), vec![list(1, values)]);
    assert_eq!(
        classes(&[append_11.clone(), append_12, later(&[12])]),
        [LostWrite]
    );
    // An old snapshot shows neither; a final read is none.
    assert_eq!(classes(&[append_11.clone(), later(&[])]), []);
    let last = Record {
        phase: Phase::Final,
        ..later(&[])
    };
    assert_eq!(classes(&[append_11.clone(), last.clone()]), [LostWrite]);
    let unknown = Record {
        outcome: Outcome::Unknown,
        ..append_11
    };
    assert_eq!(classes(&[unknown, last]), []);
}

#[test]
fn list_append_takes_an_unknown_outcome_for_committed_only_where_it_was_read() {
    let mut records = write_skew();
    records[0].outcome = Outcome::Unknown;
    // Its reads do not count.
    assert_eq!(classes(&records), []);
    let report = judged(&records, Level::Serializable, Order::None);
    assert_eq!((report.exposure.committed, report.exposure.unknown), (3, 1));
    records[2].ops = vec![list(1, &[11])];
    assert_eq!(
        judged(&records, Level::Serializable, Order::None)
            .exposure
            .committed,
        2
    );
}

#[test]
fn list_append_takes_an_unknown_outcome_for_aborted_where_lists_go_on_without_it() {
    let mut records = concurrent(vec![
        vec![append(1, 11)],
        vec![list(1, &[11])],
        vec![append(1, 12)],
        vec![list(1, &[12])],
    ]);
    records[0].outcome = Outcome::Unknown;
    assert_eq!(classes(&records), [G1a]);
}

/// A longer list has the value too, at another place: it was applied.
#[test]
fn list_append_takes_an_unknown_outcome_for_committed_where_a_longer_list_has_it_elsewhere() {
    let mut records = concurrent(vec![
        vec![append(1, 11), append(1, 12)],
        vec![append(1, 13)],
        vec![list(1, &[11, 12])],
        vec![list(1, &[11, 13, 12])],
    ]);
    records[0].outcome = Outcome::Unknown;
    let found = classes(&records);
    assert!(
        found.contains(&IncompatibleOrder) && !found.contains(&G1a),
        "{found:?}"
    );
}

#[test]
fn list_append_allows_dirty_reads_where_they_are_claimed() {
    for seed in 0..SEEDS {
        let records = Store::new(Level::ReadCommitted).with(Bug::DirtyRead).run(seed);
        let report = judged(&records, Level::ReadUncommitted, Order::RealTime);
        assert!(
            report.violations.is_empty(),
            "seed {seed}: {:?}",
            anomalies(&report)
        );
    }
}

#[test]
fn list_append_finds_stale_reads_only_where_the_order_is_claimed() {
    let records = [
        ok(0, (0, 10), vec![append(1, 11)]),
        ok(1, (20, 30), vec![list(1, &[])]),
        ok(0, (40, 50), vec![list(1, &[11])]),
    ];
    assert_eq!(
        judged(&records, Level::Serializable, Order::None)
            .violations
            .len(),
        0
    );
    assert_eq!(
        judged(&records, Level::Serializable, Order::Session)
            .violations
            .len(),
        0
    );
    let strict = judged(&records, Level::Serializable, Order::RealTime);
    assert_eq!(strict.violations[0].anomaly.to_string(), "G-single-realtime");
    assert_eq!(
        (strict.verdict, strict.implied),
        (Verdict::Violated, Some(Level::Serializable))
    );
    // The same by one session.
    let mut records = records.to_vec();
    records[1].session = 0;
    let session = judged(&records, Level::Serializable, Order::Session);
    assert_eq!(session.violations[0].anomaly.to_string(), "G-single-session");
}

#[test]
fn list_append_refuses_values_that_are_not_unique() {
    let records = concurrent(vec![vec![append(1, 11)], vec![append(1, 11)]]);
    assert!(
        judge(&history(&records), None, Order::None)
            .unwrap_err()
            .to_string()
            .contains("11")
    );
}

#[test]
fn list_append_prints_the_smallest_cycle_as_columns() {
    let report = judged(&write_skew(), Level::Serializable, Order::None);
    let expected = "\
G2-item

T1: session 0, node 0, #0   T2: session 1, node 0, #0
0.000 to 0.000 ms           0.000 to 0.000 ms

read key 1: []              read key 2: []
append 21 to key 2          append 11 to key 1
committed                   committed

T1 -> T2  rw: T1 read key 1 without 11, which T2 appended
T2 -> T1  rw: T2 read key 2 without 21, which T1 appended
";
    assert_eq!(report.violations[0].proof.to_string(), expected);
}

const SEEDS: u64 = 100;

fn holds(level: Level, transactions: u32) {
    for seed in 0..SEEDS {
        let store = Store {
            transactions,
            keys: 12,
            ..Store::new(level)
        };
        let report = judged(&store.run(seed), level, Order::RealTime);
        assert_eq!(
            report.verdict,
            Verdict::Held,
            "seed {seed}: {:?} {:?}",
            report.exposure,
            anomalies(&report)
        );
        assert!(report.violations_share_max.unwrap() < 0.0075);
    }
}

#[test]
fn list_append_holds_a_serializable_store_to_be_strictly_serializable() {
    holds(Level::Serializable, 6_000);
}

#[test]
fn list_append_holds_a_snapshot_store_to_be_one() {
    holds(Level::Snapshot, 5_000);
}

#[test]
fn list_append_holds_a_read_committed_store_to_be_one() {
    holds(Level::ReadCommitted, 3_000);
}

/// The fault is found at every seed, by this class.
fn finds(store: Store, claim: Level, expected: &str) {
    for seed in 0..SEEDS {
        let report = judged(&store.run(seed), claim, Order::RealTime);
        let found: Vec<String> = report
            .violations
            .iter()
            .map(|one| one.anomaly.to_string())
            .collect();
        assert_eq!(report.verdict, Verdict::Violated, "seed {seed}");
        assert!(
            found.iter().any(|name| name == expected),
            "seed {seed}: {expected} is not in {found:?}"
        );
    }
}

#[test]
fn list_append_finds_every_fault_that_is_planted_in_a_store() {
    use Level::{ReadCommitted, ReadUncommitted, Serializable, Snapshot};
    finds(
        Store::new(ReadCommitted).with(Bug::DirtyRead),
        ReadCommitted,
        "G1a",
    );
    finds(
        Store {
            keys: 3,
            ..Store::new(ReadCommitted).with(Bug::DirtyWrite)
        },
        ReadUncommitted,
        "G0",
    );
    finds(
        Store::new(Snapshot).with(Bug::IgnoreConflict),
        Snapshot,
        "G-single",
    );
    finds(
        Store::new(Serializable).with(Bug::DropWrite),
        ReadUncommitted,
        "lost-write",
    );
    finds(
        Store::new(Serializable).with(Bug::Reorder),
        ReadUncommitted,
        "incompatible-order",
    );
    finds(
        Store::new(Serializable).with(Bug::Duplicate),
        ReadUncommitted,
        "duplicate",
    );
    finds(
        Store::new(Serializable).with(Bug::ForgetOwn),
        ReadUncommitted,
        "internal",
    );
    finds(
        Store::new(Serializable).with(Bug::Phantom),
        ReadUncommitted,
        "phantom",
    );
    finds(
        Store::new(Serializable).with(Bug::OldSnapshot),
        Serializable,
        "G-single-realtime",
    );
}

#[test]
fn list_append_finds_a_store_that_is_weaker_than_its_level() {
    finds(Store::new(Level::ReadCommitted), Level::Snapshot, "G-single");
    finds(Store::new(Level::Snapshot), Level::Serializable, "G2-item");
}

#[test]
fn list_append_finds_old_snapshots_to_be_serializable_without_real_time() {
    for seed in 0..SEEDS {
        let records = Store::new(Level::Serializable).with(Bug::OldSnapshot).run(seed);
        assert_eq!(classes(&records), [], "seed {seed}");
    }
}
