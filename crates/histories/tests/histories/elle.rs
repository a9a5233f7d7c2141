//! A second judge of lists: Elle (Kingsbury, Alvaro). It is in no registry that the tests use, so it is judged with only where
//! `BAKEOFF_TEST_ELLE` names a class path with Clojure and Elle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use bakeoff_histories::export::write_elle;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::list_append::judge;
use bakeoff_histories::record::{Outcome, Record};
use bakeoff_model::random::SplitMix64;

use crate::brute_force::random_lists;
use crate::builders::{Folder, history};
use crate::store::{Bug, Store};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elle/judge.clj");

const LEVELS: [(&str, Level, Order); 6] = [
    ("read-uncommitted", Level::ReadUncommitted, Order::None),
    ("read-committed", Level::ReadCommitted, Order::None),
    ("snapshot-isolation", Level::Snapshot, Order::None),
    ("serializable", Level::Serializable, Order::None),
    ("strong-session-serializable", Level::Serializable, Order::Session),
    ("strict-serializable", Level::Serializable, Order::RealTime),
];

/// Correct and faulty, of a store at each level, and lists at random.
pub fn histories() -> Vec<(String, Vec<Record>)> {
    let mut histories = Vec::new();
    let bugs = [
        None,
        Some(Bug::DirtyRead),
        Some(Bug::DirtyWrite),
        Some(Bug::IgnoreConflict),
        Some(Bug::DropWrite),
        Some(Bug::Reorder),
        Some(Bug::Duplicate),
        Some(Bug::ForgetOwn),
        Some(Bug::Phantom),
        Some(Bug::OldSnapshot),
    ];
    for level in [Level::Serializable, Level::Snapshot, Level::ReadCommitted] {
        for bug in bugs {
            for seed in 0..10 {
                let store = Store {
                    bug,
                    transactions: 6 + 6 * seed as u32,
                    keys: 3,
                    sessions: 4,
                    ..Store::new(level)
                };
                histories.push((format!("{level:?}-{bug:?}-{seed}"), store.run(seed)));
            }
        }
    }
    let mut random = SplitMix64(11);
    histories.extend((0..200).map(|case| (format!("random-{case}"), random_lists(&mut random))));
    histories
}

/// What Elle does not look for, or forbids from a stronger level on.
const ONLY_OURS: [&str; 4] = ["incompatible-order", "internal", "lost-write", "phantom"];

#[test]
fn elle_says_the_same_of_lists() {
    let Some(class_path) = std::env::var_os("BAKEOFF_TEST_ELLE") else {
        println!("skipped: BAKEOFF_TEST_ELLE names no class path with Elle");
        return;
    };
    let folder = Folder::new("elle");
    let mut ours: BTreeMap<(PathBuf, &str), BTreeSet<String>> = BTreeMap::new();
    let mut files = Vec::new();
    for (name, records) in histories() {
        let path = folder.0.join(name + ".edn");
        let history = history(&records);
        write_elle(&history, std::fs::File::create(&path).unwrap()).unwrap();
        let unknown = records.iter().any(|record| record.outcome == Outcome::Unknown);
        for (name, level, order) in LEVELS {
            // After an unknown outcome a session goes on as another process of Elle's, which knows no order between them.
            if order == Order::Session && unknown {
                continue;
            }
            let report = judge(&history, Some(level), order).unwrap();
            let found = report
                .violations
                .iter()
                .map(|finding| finding.anomaly.to_string());
            ours.insert((path.clone(), name), found.collect());
        }
        files.push(path);
    }
    let done = Command::new("java")
        .arg("-Djava.awt.headless=true")
        .arg("-cp")
        .arg(class_path)
        .args(["clojure.main", PROGRAM])
        .args(&files)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines = String::from_utf8(done.stdout).unwrap();
    let (mut forbidden, mut allowed, mut only_ours) = (0, 0, 0);
    for line in lines.lines() {
        let [path, level, theirs] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert_ne!(theirs, "unknown", "{line}");
        let level = LEVELS.iter().find(|one| one.0 == level).unwrap().0;
        let Some(found) = ours.remove(&(PathBuf::from(path), level)) else {
            continue;
        };
        *match (found.is_empty(), theirs == "ok") {
            (true, true) => &mut allowed,
            (false, false) => &mut forbidden,
            (false, true) if found.iter().all(|name| ONLY_OURS.contains(&name.as_str())) => &mut only_ours,
            _ => panic!("{line}, and ours found {found:?}"),
        } += 1;
    }
    assert!(ours.is_empty(), "Elle did not answer for {ours:#?}");
    println!("both forbid {forbidden}, both allow {allowed}, only ours forbids {only_ours}");
    assert!(forbidden > 300 && allowed > 300, "{forbidden}, {allowed}");
}
