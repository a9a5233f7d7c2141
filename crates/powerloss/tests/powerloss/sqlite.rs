//! SQLite, through Python: what its documentation promises per setting is what is lost and kept.

use std::time::Duration;

use crate::setup::{Random, Setup, python};

/// Inserts numbers, one transaction each, and prints each after its commit.
const WRITER: &str = r#"
import sqlite3, sys
connection = sqlite3.connect("db", isolation_level=None)
connection.execute("pragma journal_mode = " + sys.argv[1])
connection.execute("pragma synchronous = full")
connection.execute("create table numbers (number integer primary key)")
connection.execute("pragma wal_checkpoint(truncate)")
connection.execute("pragma synchronous = " + sys.argv[2])
print("ready", flush=True)
for number in range(1, 1 << 40):
    connection.execute("insert into numbers values (?)", (number,))
    print(number, flush=True)
"#;

const READER: &str = r#"
import sqlite3
connection = sqlite3.connect("db")
print(connection.execute("pragma integrity_check").fetchone()[0])
print(*connection.execute("select count(*), coalesce(max(number), 0) from numbers").fetchone())
"#;

struct Cut {
    acknowledged: u64,
    found: u64,
    whole: bool,
}

fn cut(options: &[&str], journal: &str, synchronous: &str, seed: u64) -> Cut {
    let setup = Setup::new();
    let mut actor = setup.start(options, WRITER, &[journal, synchronous]);
    assert_eq!(actor.line(), "ready");
    actor.line();
    std::thread::sleep(Duration::from_millis(20 + Random(seed).below(150)));
    let lines = actor.kill();
    setup.check(true);
    setup.apply();
    let mut reader = std::process::Command::new(python());
    let output = reader
        .args(["-c", READER])
        .current_dir(setup.folder.join("data"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (integrity, numbers) = text.trim().split_once('\n').unwrap_or(("unreadable", "0 0"));
    let (count, highest) = numbers.split_once(' ').unwrap();
    Cut {
        acknowledged: lines.iter().rev().find_map(|line| line.parse().ok()).unwrap_or(1),
        found: count.parse().unwrap(),
        whole: integrity == "ok" && count == highest,
    }
}

#[test]
fn full_synchronisation_loses_nothing() {
    for journal in ["wal", "delete", "truncate"] {
        for seed in 0..8 {
            let Cut {
                acknowledged,
                found,
                whole,
            } = cut(&[], journal, "full", seed);
            assert!(
                whole && (acknowledged..=acknowledged + 1).contains(&found),
                "{journal} {seed}: {acknowledged} {found}"
            );
        }
    }
}

#[test]
fn normal_synchronisation_loses_commits_of_a_log_and_stays_whole() {
    let cuts: Vec<Cut> = (0..8).map(|seed| cut(&[], "wal", "normal", seed)).collect();
    assert!(cuts.iter().all(|cut| cut.whole));
    // Not in each: a kill may hit a checkpoint, whose sync of the log made all commits durable.
    assert!(cuts.iter().any(|cut| cut.found < cut.acknowledged));
    let cut = cut(&[], "delete", "normal", 1);
    assert!(cut.whole && cut.found >= cut.acknowledged);
}

#[test]
fn no_synchronisation_loses_all_commits() {
    for journal in ["wal", "delete"] {
        for seed in 0..4 {
            let cut = cut(&[], journal, "off", seed);
            assert!(
                cut.acknowledged > 0 && cut.found == 0,
                "{journal} {seed}: {} {}",
                cut.acknowledged,
                cut.found
            );
        }
    }
}

/// "EXTRA synchronous is like FULL with the addition that the directory containing a rollback journal is synced after that
/// journal is unlinked to commit a transaction" (SQLite's documentation of `synchronous`).
#[test]
fn only_extra_synchronisation_keeps_the_last_commit_where_names_need_a_sync() {
    let extra: Vec<Cut> = (0..4)
        .map(|seed| cut(&["--strict"], "delete", "extra", seed))
        .collect();
    assert!(extra.iter().all(|cut| cut.whole && cut.found >= cut.acknowledged));
    // A cut between two commits loses the last one; where all of the first four fall into a commit, others are tried.
    let mut lost = 0;
    for seed in 0..FULL_CUTS_MAX {
        let cut = cut(&["--strict"], "delete", "full", seed);
        assert!(cut.whole && cut.found + 1 >= cut.acknowledged);
        lost += u32::from(cut.found < cut.acknowledged);
        if seed >= 3 && lost > 0 {
            break;
        }
    }
    assert!(lost > 0, "{FULL_CUTS_MAX} cuts have lost no commit");
}

const FULL_CUTS_MAX: u64 = 40;
