use bakeoff_histories::record::{Outcome, Record};
use bakeoff_histories::register::guarantees::{Count, Guarantee};
use bakeoff_histories::register::staleness::Staleness;
use bakeoff_histories::register::{Claims, Report, judge};
use bakeoff_histories::verdict::Verdict;
use bakeoff_model::random::SplitMix64;

use crate::builders::{history, ok, read, write};

fn judged(records: &[Record], claims: &Claims) -> Report {
    judge(&history(records), claims).unwrap()
}

fn at(session: u32, node: u32, call_ns: i64, op: bakeoff_histories::record::MicroOp) -> Record {
    Record {
        node,
        ..ok(session, (call_ns, call_ns + 10), vec![op])
    }
}

fn everything() -> Claims {
    let guarantees = vec![
        Guarantee::ReadYourWrites,
        Guarantee::MonotonicReads,
        Guarantee::MonotonicWrites,
        Guarantee::WritesFollowReads,
    ];
    Claims {
        staleness: Some(Staleness::None),
        guarantees,
        linearizable: true,
    }
}

const MS: i64 = 1_000_000;

/// A writer on node 0 and a reader on each of nodes 0 and 1; node 1 is `lag_ns` behind. A write every 300 ms, reads
/// of both nodes every 2 ms.
fn replicated(lag_ns: i64) -> Vec<Record> {
    let writes = 40;
    let mut records: Vec<Record> = (1..=writes)
        .map(|version| at(0, 0, version * 300 * MS, write(1, version)))
        .collect();
    for time_ns in (0..writes * 300 * MS).step_by(2 * MS as usize) {
        let version = |lag_ns: i64| ((time_ns - lag_ns - 10).max(0) / (300 * MS)).min(writes);
        records.push(at(1, 0, time_ns + 1, read(1, version(0))));
        records.push(at(2, 1, time_ns + 1, read(1, version(lag_ns))));
    }
    records
}

#[test]
fn register_measures_a_replica_that_is_200_ms_behind() {
    let report = judged(&replicated(200 * MS), &everything()).staleness;
    assert_eq!(report.verdict, Verdict::Violated);
    assert!(
        (195 * MS..=200 * MS).contains(&report.window_ns.p50),
        "{:?}",
        report.window_ns
    );
    assert!(
        (195 * MS..=200 * MS).contains(&report.age_ns.max),
        "{:?}",
        report.age_ns
    );
    assert_eq!((report.versions_behind.max, report.windows_censored), (1, 0));
    let half = report.stale as f64 / report.reads as f64;
    assert!((0.30..0.36).contains(&half), "{half}"); // 200 of 300 ms, of one reader in two
    let fresh = report
        .freshness
        .iter()
        .find(|bucket| bucket.since_ack_ns_max == 500 * MS)
        .unwrap();
    assert!(fresh.reads > 0 && fresh.reads == fresh.fresh);
}

#[test]
fn register_compares_windows_with_a_claimed_bound() {
    let bounded = |window_ns| Claims {
        staleness: Some(Staleness::Bounded { window_ns }),
        ..Claims::default()
    };
    let records = replicated(100 * MS);
    assert_eq!(judged(&records, &bounded(99 * MS)).verdict, Verdict::Violated);
    // Too few reads soon after a write.
    assert_eq!(
        judged(&records, &bounded(110 * MS)).verdict,
        Verdict::Inconclusive
    );
    let eventual = Claims {
        staleness: Some(Staleness::Eventual),
        ..Claims::default()
    };
    assert_eq!(judged(&records, &eventual).verdict, Verdict::Observed);
}

#[test]
fn register_says_by_how_many_versions_and_marks_windows_that_outlast_a_write() {
    let report = judged(&replicated(700 * MS), &Claims::default()).staleness;
    assert_eq!(report.versions_behind.max, 3);
    assert!(report.windows_censored > 30, "{report:?}");
}

/// One copy: sessions write two keys of their own and read any, on any node.
fn one_copy(seed: u64, operations: u64) -> Vec<Record> {
    let mut random = SplitMix64(seed);
    let mut values = [0i64; 12];
    let mut free_ns = [0i64; 6];
    let mut records = Vec::new();
    let mut now = 0;
    for _ in 0..operations {
        // Takes effect at `now`, between its call and its return.
        now += 20;
        let session = random.below(6) as usize;
        let op = if random.one_in(3) {
            let key = session + 6 * random.below(2) as usize;
            values[key] += 1;
            write(key as u64, values[key])
        } else {
            let key = random.below(12);
            read(key, values[key as usize])
        };
        let call_ns = (now - random.below(60) as i64).max(free_ns[session]);
        let return_ns = now + random.below(15) as i64;
        free_ns[session] = return_ns + 1;
        let record = ok(session as u32, (call_ns, return_ns), vec![op]);
        records.push(Record {
            node: random.below(3) as u32,
            ..record
        });
    }
    records
}

#[test]
fn register_accuses_no_single_copy() {
    for seed in 0..100 {
        let report = judged(&one_copy(seed, 1_000), &everything());
        assert!(report.findings.is_empty(), "seed {seed}: {:?}", report.findings);
        assert_eq!(report.verdict, Verdict::Inconclusive);
    }
    let report = judged(&one_copy(0, 200_000), &everything());
    assert_eq!(report.verdict, Verdict::Held, "{report:#?}");
    assert!(report.staleness.stale_share_max.unwrap() < 0.0001);
}

#[test]
fn register_finds_an_old_value_in_a_copy_that_was_none() {
    for seed in 0..100 {
        let mut records = one_copy(seed, 1_000);
        // A read near the end shows the beginning.
        let old = records
            .iter()
            .rposition(|record| format!("{:?}", record.ops).contains("Read(0"))
            .unwrap();
        records[old].ops = vec![read(0, 1)];
        let report = judged(&records, &everything());
        assert_eq!(
            (report.staleness.stale, report.linearizable.keys_violating),
            (1, 1),
            "seed {seed}"
        );
        assert!(report.linearizable.conflicts > 0);
    }
}

fn counts(report: &Report, guarantee: Guarantee) -> (Count, Count) {
    let one = report
        .guarantees
        .iter()
        .find(|one| one.guarantee == guarantee)
        .unwrap();
    (one.pinned, one.roving)
}

#[test]
fn register_counts_session_guarantees_of_pinned_and_roving_sessions() {
    let one = |checks, violations| Count { checks, violations };
    // Roving: writes on node 0 and does not find it on node 1, then reads 2 and 1.
    let records = [
        at(0, 0, 0, write(1, 1)),
        at(0, 1, 20, read(1, 0)),
        at(0, 0, 40, write(1, 2)),
        at(0, 0, 60, read(1, 2)),
        at(0, 1, 80, read(1, 1)),
    ];
    let report = judged(&records, &everything());
    assert_eq!(counts(&report, Guarantee::ReadYourWrites), (one(0, 0), one(3, 2)));
    assert_eq!(counts(&report, Guarantee::MonotonicReads), (one(0, 0), one(2, 1)));
    assert_eq!(report.verdict, Verdict::Violated);

    // Two interleaved readers of one node are two sessions.
    let records = [
        at(0, 0, 0, write(1, 1)),
        at(0, 0, 20, write(1, 2)),
        at(1, 0, 40, read(1, 2)),
        at(2, 1, 60, read(1, 1)),
        at(1, 0, 80, read(1, 2)),
    ];
    assert_eq!(
        counts(&judged(&records, &everything()), Guarantee::MonotonicReads),
        (one(1, 0), one(0, 0))
    );
}

#[test]
fn register_finds_writes_that_are_seen_out_of_order() {
    let one = |checks, violations| Count { checks, violations };
    let write_both = [at(0, 0, 0, write(1, 1)), at(0, 0, 20, write(2, 1))];
    let observed = |node| {
        let reads = [at(1, 1, 40, read(2, 1)), at(1, node, 60, read(1, 0))];
        judged(&[&write_both[..], &reads[..]].concat(), &everything())
    };
    assert_eq!(
        counts(&observed(1), Guarantee::MonotonicWrites),
        (one(1, 1), one(0, 0))
    );
    // From another node, it is an ordinary lag.
    assert_eq!(
        counts(&observed(2), Guarantee::MonotonicWrites),
        (one(0, 0), one(0, 0))
    );
    assert_eq!(counts(&observed(1), Guarantee::WritesFollowReads).0, one(0, 0));
}

#[test]
fn register_finds_a_write_that_is_seen_before_what_its_session_had_read() {
    let records = [
        at(0, 0, 0, write(1, 1)),
        at(1, 0, 20, read(1, 1)),
        at(1, 0, 40, write(2, 1)),
        at(2, 1, 60, read(2, 1)),
        at(2, 1, 80, read(1, 0)),
    ];
    let report = judged(&records, &everything());
    assert_eq!(
        counts(&report, Guarantee::WritesFollowReads).0,
        Count {
            checks: 1,
            violations: 1
        }
    );
    let proof = &report
        .findings
        .iter()
        .find(|one| one.anomaly == "writes-follow-reads")
        .unwrap()
        .proof;
    assert!(
        proof
            .to_string()
            .contains("session 1 had version 1 of key 1, and T1 read 0"),
        "{proof}"
    );
}

#[test]
fn register_finds_values_that_cannot_have_been_read_whatever_is_claimed() {
    let verdict = |records: &[Record]| {
        let report = judged(records, &Claims::default());
        (
            report.verdict,
            report.findings.iter().map(|one| one.anomaly).collect::<Vec<_>>(),
        )
    };
    let phantom = [at(0, 0, 0, write(1, 1)), at(1, 0, 20, read(1, 2))];
    assert_eq!(verdict(&phantom), (Verdict::Violated, vec!["phantom"]));
    let early = [at(0, 0, 20, write(1, 1)), at(1, 0, 0, read(1, 1))];
    assert_eq!(verdict(&early), (Verdict::Violated, vec!["phantom"]));
    let aborted = Record {
        outcome: Outcome::Fail,
        ..at(0, 0, 0, write(1, 1))
    };
    assert_eq!(
        verdict(&[aborted, at(1, 0, 20, read(1, 1))]),
        (Verdict::Violated, vec!["aborted-read"])
    );
    let unknown = Record {
        outcome: Outcome::Unknown,
        ..at(0, 0, 0, write(1, 1))
    };
    assert_eq!(
        verdict(&[unknown.clone(), at(1, 0, 20, read(1, 1))]).0,
        Verdict::Observed
    );
    assert_eq!(verdict(&[unknown, at(1, 0, 20, read(1, 0))]).0, Verdict::Observed);
}

#[test]
fn register_says_how_far_two_values_of_a_key_are_out_of_order() {
    // 1 is written and read later; 2 is written and read in between, by several writers.
    let records = [
        at(0, 0, 0, write(1, 1)),
        at(1, 0, 20, write(1, 2)),
        at(2, 0, 40, read(1, 2)),
        at(3, 1, 60, read(1, 1)),
    ];
    let report = judged(&records, &everything()).linearizable;
    assert_eq!((report.conflicts, report.verdict), (1, Verdict::Violated));
    assert_eq!(report.conflict_score_ns.max, 30); // the last read, 60, is 30 after the end of the write of 2
}
