//! A slower device: each sync takes at least a given time, and written bytes leave at a given speed.
//!
//! The device is a queue that is busy until a moment. A write adds its bytes. A sync waits until the queue was empty at its
//! beginning; a direct or synchronous write waits for itself; a buffered write waits only while more than a second of work is
//! outstanding, as a kernel lets dirty pages grow before it stops the writer. Reads are not slowed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::{self, call};

const BUFFERED_NS: u64 = 1_000_000_000;

pub struct Device {
    sync_latency_ns: u64,
    jitter_ns: u64,
    bandwidth_bytes_per_s: u64,
    seed: u64,
    shared: &'static Shared,
}

/// In memory that forked children share, since they share the device.
struct Shared {
    busy_until_ns: AtomicU64,
    syncs: AtomicU64,
}

impl Device {
    /// `None` if nothing is slowed.
    pub fn new(
        sync_latency_ns: u64,
        jitter_ns: u64,
        bandwidth_bytes_per_s: u64,
        seed: u64,
    ) -> Option<Device> {
        if sync_latency_ns == 0 && bandwidth_bytes_per_s == 0 {
            return None;
        }
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping, which is never unmapped: a page of zeros, aligned for the two numbers, for which zero is valid.
        let shared = unsafe {
            let address = call!(SYS_mmap, 0, size_of::<Shared>(), protection, flags, -1i32, 0);
            if (-4095..0).contains(&address) {
                return None;
            }
            &*(address as *const Shared)
        };
        Some(Device {
            sync_latency_ns,
            jitter_ns,
            bandwidth_bytes_per_s,
            seed,
            shared,
        })
    }

    pub fn written(&self, bytes: u64, waits: bool) {
        if self.bandwidth_bytes_per_s == 0 {
            return;
        }
        let now_ns = sys::now_ns();
        let took_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(self.bandwidth_bytes_per_s)) as u64;
        let busy = &self.shared.busy_until_ns;
        let mut until_ns = busy.load(Ordering::Relaxed);
        let end_ns = loop {
            let end_ns = until_ns.max(now_ns) + took_ns;
            match busy.compare_exchange_weak(until_ns, end_ns, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break end_ns,
                Err(changed) => until_ns = changed,
            }
        };
        let patience_ns = if waits { 0 } else { BUFFERED_NS };
        if end_ns > now_ns + patience_ns {
            sys::sleep_until(end_ns - patience_ns);
        }
    }

    /// When a sync that begins now ends at the earliest.
    pub fn sync_end_ns(&self) -> u64 {
        let now_ns = sys::now_ns();
        let count = self.shared.syncs.fetch_add(1, Ordering::Relaxed);
        let jitter_ns = match self.jitter_ns {
            0 => 0,
            width => (random(self.seed.wrapping_add(count)) % (2 * width + 1)) as i64 - width as i64,
        };
        let latency_ns = self.sync_latency_ns.saturating_add_signed(jitter_ns);
        now_ns.max(self.shared.busy_until_ns.load(Ordering::Relaxed)) + latency_ns
    }
}

/// Splitmix64: the same sequence for the same seed.
fn random(seed: u64) -> u64 {
    let mut mixed = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
