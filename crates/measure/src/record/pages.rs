//! Zeroed counters that cost nothing until they are touched: one anonymous mapping, without huge pages, so that a
//! recorder with room for every operation and outcome takes only the pages of the times that really occurred.
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

/// Shared counters, all zero at first. Freed on drop.
pub struct Pages {
    start: *mut AtomicU64,
    length: usize,
}

// SAFETY: the memory is owned by this value and holds only atomics.
unsafe impl Send for Pages {}
// SAFETY: as above; shared access goes through atomics.
unsafe impl Sync for Pages {}

impl Pages {
    /// Panics when the kernel has no address space left (as any allocation does).
    pub fn new(length: usize) -> Self {
        let bytes = length.max(1) * size_of::<AtomicU64>();
        // SAFETY: a fresh private mapping; the kernel chooses the address and fills it with zeros.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(
            start != libc::MAP_FAILED,
            "no memory for {bytes} bytes of counters"
        );
        // SAFETY: the mapping just made. Advice may fail on kernels without huge pages, which is as well.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        Self {
            start: start.cast(),
            length,
        }
    }
}

impl Deref for Pages {
    type Target = [AtomicU64];
    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` is page-aligned, valid for `length` zero-initialised atomics, and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; no borrow outlives self.
        unsafe { libc::munmap(self.start.cast(), self.length.max(1) * size_of::<AtomicU64>()) };
    }
}
