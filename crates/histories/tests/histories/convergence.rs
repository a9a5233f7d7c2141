//! Copies that agree are not accused, whatever order they chose; each planted fault is found as what it is.
use std::collections::BTreeMap;

use bakeoff_histories::convergence::{Effect, Report, Round, Rows, Sample, Terms, Write, judge};
use bakeoff_histories::record::Outcome;
use bakeoff_histories::verdict::Verdict;
use bakeoff_model::random::SplitMix64;

const MS: i64 = 1_000_000;
const TERMS: Terms = Terms {
    deadline_ns: 10_000 * MS,
    later: 5,
};
const NODES: usize = 3;
const ROUNDS: u64 = 240;
const NONE: [&str; 0] = [];

/// What happened, and what a store of one order has in the end.
struct Store {
    rounds: Vec<Round>,
    rows: Rows,
    quiet_ns: i64,
}

/// Values, a counter or a deletion in turn, each written by three sessions at a time; some writes are refused, and some
/// have no outcome and take effect or do not.
fn store(seed: u64, with_unknown: bool) -> Store {
    let mut random = SplitMix64(seed);
    let (mut rounds, mut rows, mut now_ns) = (vec![], BTreeMap::new(), 0);
    for key in 0..ROUNDS {
        let effect = |session: i64| match (key % 3, session) {
            (1, _) => Effect::Add(3 + 2 * session),
            (2, 0) => Effect::Delete,
            _ => Effect::Set(3 + 2 * session),
        };
        let mut order = [0, 1, 2];
        order.swap(random.below(3) as usize, 2);
        order.swap(random.below(2) as usize, 1);
        rows.insert(key, 0);
        let mut writes = vec![];
        for session in order {
            let outcome = match random.below(6) {
                0 => Outcome::Fail,
                1 if with_unknown => Outcome::Unknown,
                _ => Outcome::Ok,
            };
            let effect = effect(session);
            let happens = outcome == Outcome::Ok || (outcome == Outcome::Unknown && random.one_in(2));
            match (happens, effect) {
                (true, Effect::Set(value)) => drop(rows.insert(key, value)),
                (true, Effect::Add(amount)) => *rows.entry(key).or_default() += amount,
                (true, Effect::Delete) => drop(rows.remove(&key)),
                (false, _) => {}
            }
            writes.push(Write {
                session: session as u32,
                effect,
                outcome,
                is_answered: outcome != Outcome::Unknown,
                call_ns: now_ns + random.below(100) as i64,
                return_ns: now_ns + 100 + random.below(100) as i64,
            });
        }
        now_ns += MS;
        rounds.push(Round { key, writes });
    }
    Store {
        rounds,
        rows,
        quiet_ns: now_ns,
    }
}

impl Store {
    /// One node is early; then all have the rows of `node_rows`, in this and 5 later samples, of which the last is overdue.
    fn samples(&self, node_rows: impl Fn(usize) -> Rows) -> Vec<Sample> {
        let late = |node: usize| match node {
            0 => node_rows(0),
            _ => self.rounds.iter().map(|round| (round.key, 0)).collect(),
        };
        let sample = |after_ms: i64, rows: &dyn Fn(usize) -> Rows| Sample {
            asked_ns: self.quiet_ns + (after_ms - 1) * MS,
            at_ns: self.quiet_ns + after_ms * MS,
            nodes: (0..NODES).map(|node| Some(rows(node))).collect(),
        };
        let mut samples = vec![sample(1, &late)];
        samples.extend((0..6).map(|later| sample(20 + 2_000 * later, &node_rows)));
        samples
    }

    fn judged(&self, samples: &[Sample]) -> Report {
        judge(&self.rounds, samples, TERMS)
    }

    fn key_of(&self, wanted: impl Fn(&Round) -> bool) -> u64 {
        self.rounds.iter().find(|round| wanted(round)).unwrap().key
    }
}

fn delayed(mut samples: Vec<Sample>, by_ns: i64) -> Vec<Sample> {
    for sample in &mut samples {
        sample.asked_ns += by_ns;
        sample.at_ns += by_ns;
    }
    samples
}

fn violated(report: &Report) -> Vec<&'static str> {
    let four = [
        ("delivery", &report.delivery),
        ("termination", &report.termination),
        ("validity", &report.validity),
        ("convergence", &report.convergence),
    ];
    let violated = four
        .into_iter()
        .filter(|(_, one)| one.verdict == Verdict::Violated);
    violated.map(|(name, _)| name).collect()
}

fn all_ok(round: &Round) -> bool {
    round.writes.iter().all(|write| write.outcome == Outcome::Ok)
}

#[test]
fn copies_that_agree_in_any_order_are_not_accused() {
    for seed in 0..100 {
        let store = store(seed, false);
        let report = store.judged(&store.samples(|_| store.rows.clone()));
        assert_eq!(report.verdict, Verdict::Held, "seed {seed}: {report:#?}");
        assert_eq!(report.conflicts, ROUNDS);
        assert_eq!(report.converged_after_ns.map(|ns| ns / MS), Some(20));
        let delivered: Vec<i64> = report
            .delivered_after_ns
            .iter()
            .map(|ns| ns.unwrap() / MS)
            .collect();
        assert_eq!(delivered, [1, 20, 20]);
        assert_eq!(report.later_samples, 5);
        let decided = report.last_acknowledged_won + report.other_won;
        assert!(
            decided > ROUNDS / 6 && report.other_won > 0,
            "any order is legal: {report:#?}"
        );
    }
}

#[test]
fn a_write_without_an_outcome_may_have_happened_or_not() {
    for seed in 0..100 {
        let mut store = store(seed, true);
        let samples = store.samples(|_| store.rows.clone());
        let report = store.judged(&samples);
        assert_eq!(violated(&report), NONE, "seed {seed}: {report:#?}");
        assert_eq!(report.termination.verdict, Verdict::Inconclusive);
        assert_eq!(report.termination.count, report.writes_unknown);

        // The server itself did not know.
        let mut writes = store.rounds.iter_mut().flat_map(|round| &mut round.writes);
        let unknown = writes.find(|write| write.outcome == Outcome::Unknown);
        unknown.unwrap().is_answered = true;
        assert_eq!(violated(&store.judged(&samples)), ["termination"]);
    }
}

#[test]
fn a_lost_update_is_found_although_all_nodes_agree() {
    for seed in 0..100 {
        let store = store(seed, false);
        let counter = store.key_of(|round| round.key % 3 == 1 && all_ok(round));
        let register = store.key_of(|round| round.key.is_multiple_of(3) && all_ok(round));
        for (key, value, words) in [(counter, 8, "has 8"), (register, 0, "has 0")] {
            let mut rows = store.rows.clone();
            rows.insert(key, value); // 3 + 5 of 3 + 5 + 7; or as if nobody had written
            let report = store.judged(&store.samples(|_| rows.clone()));
            assert_eq!(violated(&report), ["delivery"], "seed {seed}: {report:#?}");
            assert_eq!(report.delivery.count, NODES as u64);
            assert!(
                report.delivery.examples[0].contains(words),
                "{:?}",
                report.delivery
            );
            assert!(report.delivered_after_ns.iter().all(Option::is_none));
            let in_time = store.samples(|_| rows.clone());
            let report = store.judged(&in_time[..6]);
            assert_eq!(violated(&report), NONE, "it may yet arrive");
            assert_eq!(report.delivery.verdict, Verdict::Inconclusive);
        }
    }
}

#[test]
fn a_value_that_nobody_wrote_is_found_and_one_that_was_refused() {
    for seed in 0..100 {
        let store = store(seed, false);
        let refused = |round: &Round| {
            let at = |write: &Write| write.outcome == Outcome::Fail && write.effect == Effect::Set(7);
            round.key.is_multiple_of(3) && round.writes.iter().any(at)
        };
        let any = |round: &Round| round.key.is_multiple_of(3);
        for (key, value) in [
            (store.key_of(any), 42),
            (store.key_of(any), -1),
            (store.key_of(refused), 7),
        ] {
            let mut rows = store.rows.clone();
            rows.insert(key, value);
            let report = store.judged(&store.samples(|_| rows.clone()));
            assert_eq!(violated(&report), ["validity"], "seed {seed}: {report:#?}");
        }
        let mut rows = store.rows.clone();
        rows.remove(&store.key_of(any)); // nobody deleted it
        assert_eq!(
            violated(&store.judged(&store.samples(|_| rows.clone()))),
            ["validity"]
        );
    }
}

#[test]
fn a_node_that_differs_is_found() {
    for seed in 0..100 {
        let store = store(seed, false);
        let key = store.key_of(|round| round.key.is_multiple_of(3) && all_ok(round));
        let mut other = store.rows.clone();
        other.insert(key, if store.rows[&key] == 3 { 5 } else { 3 });
        let with = |node| match node {
            2 => other.clone(),
            _ => store.rows.clone(),
        };
        let report = store.judged(&store.samples(with));
        assert_eq!(violated(&report), ["convergence"], "seed {seed}: {report:#?}");
        assert_eq!((report.convergence.count, report.converged_after_ns), (1, None));
        assert!(
            report.convergence.examples[0].starts_with(&format!("key {key} has ")),
            "{:?}",
            report.convergence
        );
    }
}

#[test]
fn copies_that_agree_too_late_or_change_afterwards_are_found() {
    let store = store(1, false);
    let late = delayed(store.samples(|_| store.rows.clone()), TERMS.deadline_ns);
    let report = store.judged(&late);
    assert_eq!(report.converged_after_ns, None);
    assert_eq!(violated(&report), ["delivery", "convergence"]);

    let key = store.key_of(|round| round.key.is_multiple_of(3) && all_ok(round));
    for node in 0..NODES {
        let mut flapping = store.samples(|_| store.rows.clone());
        let value = if store.rows[&key] == 7 { 3 } else { 7 };
        flapping[3].nodes[node].as_mut().unwrap().insert(key, value);
        let report = store.judged(&flapping);
        assert_eq!(violated(&report), ["convergence"], "node {node}: {report:#?}");
        assert!(report.convergence.examples[0].ends_with(&format!("on node {node}")));
    }
}

#[test]
fn lag_before_the_deadline_is_no_difference() {
    let store = store(1, false);
    let samples = store.samples(|_| store.rows.clone());
    // They differed in time, and agreed when it was too late: nobody saw since when.
    let between = delayed(samples.clone(), TERMS.deadline_ns - 10 * MS);
    let mut hanging = vec![samples[0].clone(); 2];
    hanging[1].at_ns += 2 * TERMS.deadline_ns; // asked in time, answered too late
    let mut silent = vec![samples[0].clone(), samples[6].clone()];
    silent[1].nodes[1] = None;
    for samples in [between, hanging, silent] {
        let report = store.judged(&samples);
        assert_eq!(violated(&report), NONE, "{report:#?}");
        assert_eq!(report.converged_after_ns, None);
        assert_eq!(report.convergence.verdict, Verdict::Inconclusive);
        assert_eq!(report.delivery.verdict, Verdict::Inconclusive);
    }
}

#[test]
fn copies_that_agree_before_the_writes_arrive_have_not_converged_yet() {
    let store = store(1, false);
    let mut samples = store.samples(|_| store.rows.clone());
    samples[0].nodes[0] = samples[0].nodes[1].clone(); // as before any write
    let report = store.judged(&samples);
    assert_eq!(report.verdict, Verdict::Held, "{report:#?}");
    assert_eq!(report.converged_after_ns.map(|ns| ns / MS), Some(20));
}

#[test]
fn a_write_with_an_unknown_outcome_may_take_effect_late() {
    let mut store = store(1, false);
    let key = store.key_of(|round| round.key.is_multiple_of(3) && all_ok(round));
    let mut samples = store.samples(|_| store.rows.clone());
    let value = if store.rows[&key] == 7 { 3 } else { 7 };
    for sample in &mut samples[4..] {
        for rows in sample.nodes.iter_mut().flatten() {
            rows.insert(key, value);
        }
    }
    assert_eq!(violated(&store.judged(&samples)), ["convergence"]);

    let round = store.rounds.iter_mut().find(|round| round.key == key).unwrap();
    let late = round
        .writes
        .iter_mut()
        .find(|write| write.effect == Effect::Set(value));
    let late = late.unwrap();
    (late.outcome, late.is_answered) = (Outcome::Unknown, false);
    assert_eq!(violated(&store.judged(&samples)), NONE);
}

#[test]
fn too_little_is_inconclusive() {
    let mut store = store(1, false);
    let mut samples = store.samples(|_| store.rows.clone());
    assert_eq!(store.judged(&samples[..3]).verdict, Verdict::Inconclusive);
    samples[4].nodes[1] = None; // one sample fewer of all nodes
    assert_eq!(store.judged(&samples).verdict, Verdict::Inconclusive);
    assert_eq!(store.judged(&[]).verdict, Verdict::Inconclusive);

    store.rounds.truncate(90);
    store.rows.retain(|key, _| *key < 90);
    let samples = store.samples(|_| store.rows.clone());
    assert_eq!(store.judged(&samples).verdict, Verdict::Inconclusive);
}
