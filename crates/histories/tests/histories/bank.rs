use bakeoff_histories::bank::{Bank, Report, Variant, judge};
use bakeoff_histories::level::Level;
use bakeoff_histories::record::{MicroOp, Outcome, Phase, Record};
use bakeoff_histories::verdict::Verdict;
use bakeoff_model::random::SplitMix64;

use crate::builders::{history, ok, read, write};

const BANK: Bank = Bank {
    accounts: 8,
    balance: 100,
};

#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    /// A reader sees the first half of the accounts earlier than the others.
    ReadSkew,
    /// Of two transfers that read the same balances, both commit.
    LostUpdate,
    /// Half a transfer is lost.
    Torn,
}

/// Pairs of transfers that run at the same time, and a reader after each pair.
fn run(seed: u64, relative: bool, bug: Bug) -> Vec<Record> {
    let mut random = SplitMix64(seed);
    let mut balances = [100i64; 8];
    let mut records = Vec::new();
    let reading = |balances: &[i64]| {
        (0..)
            .zip(balances)
            .map(|(key, value)| read(key, *value))
            .collect::<Vec<MicroOp>>()
    };
    for pair in 0..1_500 {
        let before = balances;
        let begin_ns = pair * 100;
        let account = random.below(8);
        for session in 0..2 {
            let other = (account + 1 + random.below(7)) % 8;
            let amount = 1 + random.below(5) as i64;
            let seen = if bug == Bug::LostUpdate && random.one_in(20) {
                before
            } else {
                balances
            };
            let [from, to] = [account as usize, other as usize].map(|at| seen[at]);
            let ops = if relative {
                vec![MicroOp::Add(account, -amount), MicroOp::Add(other, amount)]
            } else {
                let reads = [read(account, from), read(other, to)];
                [
                    &reads[..],
                    &[write(account, from - amount), write(other, to + amount)],
                ]
                .concat()
            };
            let outcome = if random.one_in(10) {
                Outcome::Fail
            } else {
                Outcome::Ok
            };
            let record = ok(
                session,
                (begin_ns + i64::from(session), begin_ns + 50 + i64::from(session)),
                ops,
            );
            records.push(Record { outcome, ..record });
            if outcome == Outcome::Ok {
                balances[account as usize] = from - amount;
                if !(bug == Bug::Torn && random.one_in(100)) {
                    balances[other as usize] = to + amount;
                }
            }
        }
        let mut seen = balances;
        if bug == Bug::ReadSkew {
            seen[..4].copy_from_slice(&before[..4]);
        }
        records.push(ok(2, (begin_ns + 60, begin_ns + 70), reading(&seen)));
    }
    let last = ok(2, (1_000_000, 1_000_010), reading(&balances));
    records.push(Record {
        phase: Phase::Final,
        ..last
    });
    records
}

fn judged(seed: u64, relative: bool, bug: Bug, claim: Level) -> Report {
    judge(&history(&run(seed, relative, bug)), BANK, Some(claim))
}

#[test]
fn bank_holds_one_that_keeps_its_money() {
    for seed in 0..100 {
        for (relative, variant) in [(true, Variant::Relative), (false, Variant::ReadModifyWrite)] {
            let report = judged(seed, relative, Bug::None, Level::Serializable);
            assert_eq!(
                (report.verdict, report.variant),
                (Verdict::Held, variant),
                "{report:#?}"
            );
            assert_eq!(
                (report.drift, report.bad_reads, report.anomaly_score),
                (Some(0), 0, Some(0.0))
            );
            assert_eq!(report.accounts_wrong, relative.then_some(0));
        }
    }
}

#[test]
fn bank_finds_read_skew_by_totals_and_read_committed_allows_it() {
    for seed in 0..100 {
        let report = judged(seed, true, Bug::ReadSkew, Level::Snapshot);
        assert_eq!((report.verdict, report.drift), (Verdict::Violated, Some(0)));
        assert!(report.bad_reads > 100);
        assert_eq!(
            judged(seed, true, Bug::ReadSkew, Level::ReadCommitted).verdict,
            Verdict::Held
        );
    }
}

#[test]
fn bank_finds_lost_updates_by_drift_and_does_not_judge_readers_then() {
    for seed in 0..100 {
        let report = judged(seed, false, Bug::LostUpdate, Level::Snapshot);
        // Two errors may cancel each other in the total; the score says no more than it can.
        assert_eq!(
            report.verdict == Verdict::Violated,
            report.drift != Some(0),
            "seed {seed}: {report:#?}"
        );
        assert_eq!(report.bad_reads, 0);
        assert_eq!(
            judged(seed, false, Bug::LostUpdate, Level::ReadCommitted).verdict,
            Verdict::Held
        );
    }
    let drifted =
        (0..100).filter(|seed| judged(*seed, false, Bug::LostUpdate, Level::Snapshot).drift != Some(0));
    assert!(drifted.count() > 80);
}

#[test]
fn bank_finds_torn_transfers_at_every_level() {
    for seed in 0..100 {
        let report = judged(seed, true, Bug::Torn, Level::ReadUncommitted);
        assert_eq!(report.verdict, Verdict::Violated);
        assert!(report.drift.unwrap() < 0 && report.accounts_wrong.unwrap() > 0);
        let proof = report
            .findings
            .iter()
            .find(|finding| finding.anomaly == "drift")
            .unwrap()
            .proof
            .to_string();
        assert!(proof.contains("instead of 800"), "{proof}");
    }
}

#[test]
fn bank_decides_nothing_without_a_last_reading() {
    let mut records = run(0, true, Bug::None);
    records.pop();
    records.pop();
    let report = judge(&history(&records), BANK, Some(Level::Serializable));
    assert_eq!((report.verdict, report.drift), (Verdict::Inconclusive, None));
}
