//! Processes and threads that share a file and its blocks: what each acknowledged after its sync must stay.

use std::fs;
use std::time::Duration;

use crate::setup::{Random, Setup};

/// Four forked processes of two threads each. Each thread counts in a place of its own, and says each count after the sync. The
/// argument names the places that do not sync.
const ACTOR: &str = r#"
import os, sys, threading
liars = set(map(int, sys.argv[1].split(",")))
fd = os.open("file", os.O_RDWR | os.O_CREAT)
def count(place):
    for number in range(1, 1 << 40):
        os.pwrite(fd, number.to_bytes(8, "little"), 8 * place)
        if place % 3 == 0: os.write(log, b"x" * 100)
        if place not in liars: os.fdatasync(fd)
        os.write(1, b"%d %d\n" % (place, number))
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for process in range(3):
    if os.fork() == 0:
        break
else:
    process = 3
threads = [threading.Thread(target=count, args=(2 * process + index,)) for index in range(2)]
for thread in threads: thread.start()
"#;

/// The last acknowledged and the found count of each place.
fn cut(seed: u64, liars: &str) -> Vec<(u64, u64)> {
    let setup = Setup::new();
    fs::write(setup.data("file"), [0; 64]).unwrap();
    let mut actor = setup.start(&[], ACTOR, &[liars]);
    let mut acknowledged = [0; 8];
    let mut note = |line: &str| {
        if let Some((place, number)) = line.split_once(' ')
            && let (Ok(place), Ok(number)) = (place.parse::<usize>(), number.parse::<u64>())
        {
            acknowledged[place] = number;
        }
    };
    note(&actor.line());
    std::thread::sleep(Duration::from_millis(30 + Random(seed).below(200)));
    for line in actor.kill() {
        note(&line);
    }
    setup.check(true);
    setup.apply();
    let found = fs::read(setup.data("file")).unwrap();
    let numbers = found
        .chunks(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    acknowledged.into_iter().zip(numbers).collect()
}

#[test]
fn what_was_acknowledged_after_a_sync_stays() {
    for seed in 0..10 {
        let counts = cut(seed, "99");
        assert!(
            counts.iter().map(|(acknowledged, _)| acknowledged).sum::<u64>() > 8,
            "seed {seed}: {counts:?}"
        );
        // At most one more than acknowledged: it was synced, and the process killed before it said so.
        let right = |(acknowledged, found): &(u64, u64)| (*acknowledged..=acknowledged + 1).contains(found);
        assert!(counts.iter().all(right), "seed {seed}: {counts:?}");
    }
}

#[test]
fn a_planted_lost_sync_is_found() {
    // In all processes, since a sync of any of them would cover the writes of the others, too.
    for seed in 0..10 {
        let counts = cut(seed, "0,1,2,3,4,5,6,7");
        assert!(
            counts.iter().any(|(acknowledged, _)| *acknowledged > 0),
            "seed {seed}: {counts:?}"
        );
        assert!(
            counts.iter().all(|(_, found)| *found == 0),
            "seed {seed}: {counts:?}"
        );
    }
}
