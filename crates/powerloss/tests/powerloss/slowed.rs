//! A slowed device takes the time it should.

use std::time::{Duration, Instant};

use crate::setup::Setup;

/// How long the lines take, in seconds. Without `--journal`, as a slowed run has none.
fn seconds(options: &[&str], script: &str) -> f64 {
    let setup = Setup::new();
    let script = format!(
        "import os, time\nfd = os.open('file', os.O_RDWR | os.O_CREAT)\nstart = time.monotonic()\n{script}\nprint(time.monotonic() - start, flush=True)"
    );
    let mut actor = setup.start(options, &script, &[]);
    let line = actor.line();
    let _ = actor.child.wait();
    line.parse().unwrap()
}

#[test]
fn each_sync_takes_at_least_its_latency() {
    let script = "for _ in range(20):\n    os.pwrite(fd, b'x', 0); os.fsync(fd)";
    let took = seconds(
        &["--sync-latency", "20ms", "--jitter", "10ms", "--seed", "7"],
        script,
    );
    assert!((0.3..4.0).contains(&took), "{took}");
    let synchronous =
        "fd = os.open('file', os.O_RDWR | os.O_DSYNC)\nfor _ in range(10): os.pwrite(fd, b'x', 0)";
    let took = seconds(&["--sync-latency", "20ms"], synchronous);
    assert!((0.2..4.0).contains(&took), "{took}");
}

#[test]
fn written_bytes_leave_at_the_bandwidth() {
    let write = "for _ in range(40): os.write(fd, b'x' * 100_000)";
    // 4 MB at 10 MB/s: a sync waits for them, the writes alone do not.
    let took = seconds(&["--bandwidth", "10MB"], &format!("{write}\nos.fsync(fd)"));
    assert!((0.4..4.0).contains(&took), "{took}");
    // At 2 MB/s the writer waits before more than a second's worth is outstanding.
    let took = seconds(&["--bandwidth", "2MB"], write);
    assert!((0.95..4.0).contains(&took), "{took}");
}

#[test]
fn files_elsewhere_are_not_slowed() {
    let script = "fd = os.open('../elsewhere', os.O_RDWR | os.O_CREAT)\nfor _ in range(3): os.pwrite(fd, b'x', 0); os.fsync(fd)";
    let start = Instant::now();
    let took = seconds(&["--sync-latency", "5s"], script);
    assert!(took < 5.0 && start.elapsed() < Duration::from_secs(15), "{took}");
}
