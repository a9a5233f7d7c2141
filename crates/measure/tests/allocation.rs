//! The loop allocates nothing per operation, on either runner, paced or not. Counts every allocation of the process,
//! so it is a process of its own with one test.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_model::outcome::Outcome;
use bench::{Reply, run, spec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

fn allocations(extra: &str, operations: u64) -> u64 {
    let before = ALLOCATIONS.load(Relaxed);
    let limit = format!(r#","limit":{{"kind":"operations","operations":{operations},"max_s":null}}"#);
    let ran = run(&spec(&format!("{extra}{limit}")), |_| Reply::Right);
    assert_eq!(ran.count(Outcome::Ok), operations);
    ALLOCATIONS.load(Relaxed) - before
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
        allocations(extra, 100); // whatever is set up once in the process
        let (few, many) = (allocations(extra, 100), allocations(extra, 20_100));
        // A second more of run brings its own interval event: some hundred allocations, whatever happened in it.
        assert!(
            many < few + 2000,
            "{extra}: {few} allocations for 100 operations, {many} for 20100"
        );
    }
}
