//! What 10^6 committed transactions cost, and those that were aborted: `cargo bench -p bakeoff-histories --bench large`, or
//! `-- CASE` for one of them. A case fails beyond 10 s or 1 GB. Each has a process of its own, since the peak of memory is the
//! process's.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::Instant;

use bakeoff_histories::History;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::list_append::judge;

#[path = "../tests/histories/builders.rs"]
#[expect(dead_code)] // the tests use all of it
mod builders;
#[path = "../tests/histories/store.rs"]
#[expect(dead_code)]
mod store;
use store::{Bug, Store};

const JUDGED_MAX_S: f64 = 10.0;
const PEAK_MAX_MB: u64 = 1024;

struct Case {
    name: &'static str,
    store: Store,
    order: Order,
}

fn cases() -> [Case; 4] {
    let store = |level, sessions: u32, transactions| Store {
        sessions,
        transactions,
        operations: 8,
        keys: 7 * u64::from(sessions),
        ..Store::new(level)
    };
    [
        Case {
            name: "serializable",
            store: store(Level::Serializable, 6, 1_800_000),
            order: Order::RealTime,
        },
        Case {
            name: "snapshot",
            store: store(Level::Snapshot, 6, 1_500_000),
            order: Order::Session,
        },
        Case {
            name: "read_committed_by_50_sessions",
            store: store(Level::ReadCommitted, 50, 1_600_000),
            order: Order::RealTime,
        },
        Case {
            name: "with_dirty_reads",
            store: store(Level::ReadCommitted, 6, 1_300_000).with(Bug::DirtyRead),
            order: Order::RealTime,
        },
    ]
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let named = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let is_done = match named {
        Some(name) => match cases().iter().find(|case| case.name == name) {
            Some(case) => measure(case),
            None => {
                eprintln!(
                    "there is no case {name}, but {}",
                    cases().map(|case| case.name).join(", ")
                );
                false
            }
        },
        // All of them, also after one that failed.
        None => !cases().map(in_a_process).contains(&false),
    };
    if is_done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn in_a_process(case: Case) -> bool {
    let own = std::env::current_exe().unwrap();
    Command::new(own).arg(case.name).status().unwrap().success()
}

fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Whether it was large enough, and within the limits.
fn measure(case: &Case) -> bool {
    let Case { name, store, order } = case;
    let begun = Instant::now();
    let mut history = History::default();
    let mut bytes = String::new();
    let mut operations = 0;
    // Line by line, so that the peak of memory is the history's.
    store.run_into(1, &mut |record| {
        operations += record.ops.len();
        if history.transactions.len() < 20_000 {
            writeln!(bytes, "{}", serde_json::to_string(&record).unwrap()).unwrap();
        }
        history.push(&record).unwrap();
    });
    let made_s = begun.elapsed().as_secs_f64();
    let before_mb = peak_mb();
    let begun = Instant::now();
    let report = judge(&history, Some(Level::Serializable), *order).unwrap();
    let judged_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let read = History::read(bytes.as_bytes()).unwrap();
    let reading_s =
        begun.elapsed().as_secs_f64() * history.transactions.len() as f64 / read.transactions.len() as f64;
    let peak_mb = peak_mb();
    println!(
        "{name}: {store:?} {order:?}: {} transactions, {operations} operations, {:?}, implied {:?}; made in {made_s:.1} s, \
         {before_mb} MB; judged in {judged_s:.1} s, peak {peak_mb} MB; a file of it would be read in {reading_s:.1} s",
        history.transactions.len(),
        report.exposure,
        report.implied,
    );
    let is_large = report.exposure.committed > 1_000_000 && operations > 5_000_000;
    let is_within = judged_s < JUDGED_MAX_S && peak_mb < PEAK_MAX_MB;
    if !is_large {
        eprintln!(
            "{name}: too small a history: 10^6 committed transactions and 5 * 10^6 operations are expected"
        );
    }
    if !is_within {
        eprintln!("{name}: beyond {JUDGED_MAX_S} s or {PEAK_MAX_MB} MB");
    }
    is_large && is_within
}
