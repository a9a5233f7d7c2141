//! Facts about the run that the program reports: who had the library, and what bypassed it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::settings;
use crate::sys::{self, Text, call};

/// Appends a line. It is one write, so lines of several processes do not mix.
pub fn write(kind: &[u8], detail: &[u8]) {
    let Some(journal) = settings::journal() else {
        return;
    };
    let Some(fd) = sys::open_shared(&Text::new(&[journal, b"/notes"]), libc::O_WRONLY | libc::O_APPEND)
    else {
        return;
    };
    let mut line = Text::new(&[kind, b"\t"]);
    line.push_decimal(sys::process());
    line.push(b"\t");
    line.push(detail);
    line.push(b"\n");
    // SAFETY: the bytes of the line.
    unsafe { call!(SYS_write, fd, line.bytes().as_ptr(), line.bytes().len()) };
    sys::close(fd);
}

/// What happens often and is worth one line per process.
#[derive(Clone, Copy)]
pub enum Once {
    IoUring,
    IoSubmit,
    PosixAio,
    JournalFailed,
}

pub fn once(what: Once, detail: &[u8]) {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let (bit, kind) = match what {
        Once::IoUring => (1, &b"io_uring"[..]),
        Once::IoSubmit => (2, &b"io_submit"[..]),
        Once::PosixAio => (4, &b"posix_aio"[..]),
        Once::JournalFailed => (8, &b"journal_failed"[..]),
    };
    if WRITTEN.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        write(kind, detail);
    }
}

/// Holds a shared lock as long as the process and its children live, so that nothing is undone under a running server. The
/// descriptor is a high one, out of the way of programs that expect the lowest numbers.
pub fn show_life() {
    let Some(journal) = settings::journal() else {
        return;
    };
    let Some(fd) = sys::open_shared(&Text::new(&[journal, b"/alive"]), libc::O_RDWR) else {
        return;
    };
    // SAFETY: numbers only; the descriptors are ours.
    unsafe {
        let high = call!(SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, 900);
        if high >= 0 {
            sys::close(fd);
        }
        let kept = if high >= 0 { high as c_int } else { fd };
        call!(SYS_flock, kept, libc::LOCK_SH | libc::LOCK_NB);
    }
}
