//! The whole harness allocates nothing per operation: loop, recorder, YCSB's reads and writes, the null driver; on every
//! runner, paced or not. Counts every allocation of the process, so it is a process of its own with one test.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_drivers::null::NullDriver;
use bakeoff_drivers::null::NullSpec;
use bakeoff_measure::{Control, execute};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::object;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::run::WorkloadSpec;
use bakeoff_workloads::ycsb::Ycsb;
use bench::{Reply, run, spec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Made by a run, and the seconds it took.
fn allocations(extra: &str, operations: u64, run: fn(&str) -> u64) -> (u64, u64) {
    let (begun, before) = (Instant::now(), ALLOCATIONS.load(Relaxed));
    let limit = format!(r#","limit":{{"kind":"operations","operations":{operations},"max_s":null}}"#);
    assert_eq!(run(&format!("{extra}{limit}")), operations);
    (ALLOCATIONS.load(Relaxed) - before, begun.elapsed().as_secs())
}

/// A workload and a system that do nothing.
fn bare_loop(extra: &str) -> u64 {
    run(&spec(extra), |_| Reply::Right).count(Outcome::Ok)
}

/// Reads, updates and read-modify-writes of zipfian keys.
fn ycsb(extra: &str) -> u64 {
    let spec = bakeoff_measure::spec::parse(&format!(
        r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workers":1,
            "workload":{{"kind":"ycsb","request_distribution":{{"kind":"zipfian"}},"read_proportion":0.4,
                         "update_proportion":0.3,"read_modify_write_proportion":0.3}}{extra}}}"#
    ))
    .unwrap();
    let WorkloadSpec::Ycsb(options) = &spec.workload else {
        panic!("the document asks for YCSB")
    };
    let workload = Ycsb::new(options, spec.seed, spec.client).unwrap();
    let driver = object(NullDriver::new(NullSpec::default(), 0), AnyRecords::new);
    let control = Arc::new(Control::default());
    control.start_now();
    let result = execute(&spec, driver, workload, control, Arc::new(drop)).unwrap();
    let whole = result.series.iter().filter(|series| series.part_of.is_none());
    whole.map(|series| series.count).sum()
}

fn do_not_grow(extra: &str, run: fn(&str) -> u64) {
    allocations(extra, 100, run); // whatever is set up once in the process
    let (few, _) = allocations(extra, 100, run);
    let (many, lasted_s) = allocations(extra, 20_100, run);
    // Each second of the run brings its own interval event: some hundred allocations, whatever happened in it.
    assert!(
        many < few + 2000 + 1000 * lasted_s,
        "{extra}: {few} allocations for 100 operations, {many} for 20100 in {lasted_s} s"
    );
}

#[test]
fn allocations_do_not_grow_with_the_number_of_operations() {
    let open = r#","pacing":{"kind":"open","rate_ops_per_s":50000,"arrival":"poisson"}"#;
    for extra in [
        r#","threads":4"#,
        r#","threads":4,"sessions":2"#,
        r#","threads":2,"runner":"thread""#,
        &format!(r#","threads":4{open}"#),
        &format!(r#","threads":2,"runner":"thread"{open}"#),
    ] {
        do_not_grow(extra, bare_loop);
    }
    for runner in ["tokio", "thread", "reactor"] {
        do_not_grow(&format!(r#","threads":4,"runner":"{runner}""#), ycsb);
        do_not_grow(&format!(r#","threads":4,"runner":"{runner}"{open}"#), ycsb);
    }
}
