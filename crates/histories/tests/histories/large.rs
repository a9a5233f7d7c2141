//! What 10^6 transactions cost. Alone, in a release build:
//!
//! ```sh
//! cargo test --release -p bakeoff-histories --test histories large:: -- --ignored --nocapture --test-threads 1
//! ```

use std::fmt::Write as _;
use std::time::Instant;

use bakeoff_histories::History;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::list_append::judge;

use crate::store::Store;

fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn measure(level: Level, order: Order) {
    let begun = Instant::now();
    let mut history = History::default();
    let mut bytes = String::new();
    let mut operations = 0;
    // Line by line, so that the peak of memory is the history's.
    Store {
        transactions: 1_000_000,
        operations: 8,
        keys: 40,
        ..Store::new(level)
    }
    .run_into(1, &mut |record| {
        operations += record.ops.len();
        if history.transactions.len() < 20_000 {
            writeln!(bytes, "{}", serde_json::to_string(&record).unwrap()).unwrap();
        }
        history.push(&record).unwrap();
    });
    let made_s = begun.elapsed().as_secs_f64();
    let before_mb = peak_mb();
    let begun = Instant::now();
    let report = judge(&history, Some(level), order).unwrap();
    let judged_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let read = History::read(bytes.as_bytes()).unwrap();
    let reading_s =
        begun.elapsed().as_secs_f64() * history.transactions.len() as f64 / read.transactions.len() as f64;
    println!(
        "{level:?} {order:?}: {} transactions, {operations} operations, {:?}; made in {made_s:.1} s, {before_mb} MB; judged \
         in {judged_s:.1} s, peak {} MB; a file of it would be read in {reading_s:.1} s",
        history.transactions.len(),
        report.exposure,
        peak_mb()
    );
    assert!(history.transactions.len() > 1_000_000 && operations > 4_900_000);
    assert!(judged_s < 10.0 && peak_mb() < 1024);
}

#[test]
#[ignore = "takes a minute, and measures"]
fn large_serializable() {
    measure(Level::Serializable, Order::RealTime);
}

#[test]
#[ignore = "takes a minute, and measures"]
fn large_snapshot() {
    measure(Level::Snapshot, Order::None);
}

#[test]
#[ignore = "takes a minute, and measures"]
fn large_read_committed() {
    measure(Level::ReadCommitted, Order::None);
}
