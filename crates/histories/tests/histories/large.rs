//! What 10^6 committed transactions cost, and those that were aborted. In a release build, and one by one, since the peak
//! of memory is the process's:
//!
//! ```sh
//! cargo test --release -p bakeoff-histories --test histories large_snapshot -- --ignored --nocapture
//! ```

use std::fmt::Write as _;
use std::time::Instant;

use bakeoff_histories::History;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::list_append::judge;

use crate::store::{Bug, Store};

fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn measure(store: Store, claim: Level, order: Order) {
    let begun = Instant::now();
    let mut history = History::default();
    let mut bytes = String::new();
    let mut operations = 0;
    // Line by line, so that the peak of memory is the history's.
    let store = Store {
        operations: 8,
        keys: 7 * u64::from(store.sessions),
        ..store
    };
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
    let report = judge(&history, Some(claim), order).unwrap();
    let judged_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let read = History::read(bytes.as_bytes()).unwrap();
    let reading_s =
        begun.elapsed().as_secs_f64() * history.transactions.len() as f64 / read.transactions.len() as f64;
    println!(
        "{store:?} {claim:?} {order:?}: {} transactions, {operations} operations, {:?}, implied {:?}; made in {made_s:.1} s, {before_mb} MB; judged \
         in {judged_s:.1} s, peak {} MB; a file of it would be read in {reading_s:.1} s",
        history.transactions.len(),
        report.exposure,
        report.implied,
        peak_mb()
    );
    assert!(report.exposure.committed > 1_000_000 && operations > 5_000_000);
    assert!(judged_s < 10.0 && peak_mb() < 1024);
}

fn store(level: Level, transactions: u32) -> Store {
    Store {
        transactions,
        ..Store::new(level)
    }
}

#[test]
#[ignore = "measures, and takes ten seconds"]
fn large_serializable() {
    measure(
        store(Level::Serializable, 1_800_000),
        Level::Serializable,
        Order::RealTime,
    );
}

#[test]
#[ignore = "measures, and takes ten seconds"]
fn large_snapshot() {
    measure(
        store(Level::Snapshot, 1_500_000),
        Level::Serializable,
        Order::Session,
    );
}

#[test]
#[ignore = "measures, and takes ten seconds"]
fn large_read_committed_by_50_sessions() {
    let store = Store {
        sessions: 50,
        ..store(Level::ReadCommitted, 1_600_000)
    };
    measure(store, Level::Serializable, Order::RealTime);
}

#[test]
#[ignore = "measures, and takes ten seconds"]
fn large_with_dirty_reads() {
    measure(
        store(Level::ReadCommitted, 1_300_000).with(Bug::DirtyRead),
        Level::Serializable,
        Order::RealTime,
    );
}
