//! By how much the time of day is wrong: a number in a file that every process of the server maps, so a change has effect at
//! once. What is measured by other clocks is as it was.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

use crate::sys::{self, Text, call};

/// A number's bytes, as the machine orders them.
const SHIFT_BYTES: usize = size_of::<i64>();
static SHIFT_NS: AtomicPtr<AtomicI64> = AtomicPtr::new(ptr::null_mut());

/// Maps the file for good. Without it the time of day is right.
pub fn follow(path: &[u8]) {
    let Some(fd) = sys::open(&Text::new(&[path]), libc::O_RDONLY) else {
        return;
    };
    if sys::size_of(fd) >= SHIFT_BYTES as u64 {
        // SAFETY: a new mapping of a file of at least that length.
        let address = unsafe { call!(SYS_mmap, 0, SHIFT_BYTES, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
        if address > 0 {
            SHIFT_NS.store(
                ptr::with_exposed_provenance_mut(address as usize),
                Ordering::Release,
            );
        }
    }
    sys::close(fd);
}

/// Ahead, or below 0 behind.
pub fn shift_ns() -> i64 {
    // SAFETY: null, or the mapping, which stays until the process ends.
    unsafe { SHIFT_NS.load(Ordering::Acquire).as_ref() }.map_or(0, |shift| shift.load(Ordering::Relaxed))
}

pub fn is_wrong(clock: c_int) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE)
}

const SECOND_NS: i64 = 1_000_000_000;

/// Later by this, or earlier.
pub fn moved(time: libc::timespec, by_ns: i64) -> libc::timespec {
    let ns = time.tv_nsec + by_ns.rem_euclid(SECOND_NS);
    libc::timespec {
        tv_sec: time.tv_sec + by_ns.div_euclid(SECOND_NS) + ns.div_euclid(SECOND_NS),
        tv_nsec: ns.rem_euclid(SECOND_NS),
    }
}
