//! Truncation and allocation. What makes a file longer needs no record, so `posix_fallocate` is left alone: undoing goes back to
//! the synced size.

use std::ffi::c_int;

use super::{Path, as_int, functions};
use crate::descriptors::{self, Kind};
use crate::journal::Journal;
use crate::settings;
use crate::sys::{Status, call, close};

functions! {
    [ftruncate, ftruncate64] (fd: c_int, length: i64) -> c_int = as_int(resize(fd, length));
    [truncate, truncate64] (path: Path, length: i64) -> c_int = resize_path(path, length);
    [fallocate, fallocate64] (fd: c_int, mode: c_int, offset: i64, length: i64) -> c_int =
        allocate(fd, mode, offset, length);
}

pub fn resize(fd: c_int, length: i64) -> isize {
    let mut journal = if descriptors::kind(fd) == Kind::File {
        Journal::of(fd)
    } else {
        None
    };
    if let Some(journal) = &mut journal
        && let (Some(status), Ok(length)) = (Status::of(fd), u64::try_from(length))
    {
        journal.save(fd, length, status.size.saturating_sub(length));
    }
    // SAFETY: numbers only.
    unsafe { call!(SYS_ftruncate, fd, length) }
}

/// # Safety
/// `path` is a string that ends with a zero byte.
unsafe fn resize_path(path: Path, length: i64) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if settings::journal().is_some() {
            let fd = call!(
                SYS_openat,
                libc::AT_FDCWD,
                path,
                libc::O_WRONLY | libc::O_CLOEXEC,
                0
            ) as c_int;
            if fd >= 0 {
                descriptors::forget(fd);
                let result = resize(fd, length);
                descriptors::forget(fd);
                close(fd);
                return as_int(result);
            }
        }
        as_int(call!(SYS_truncate, path, length))
    }
}

fn allocate(fd: c_int, mode: c_int, offset: i64, length: i64) -> c_int {
    let mut journal = if descriptors::kind(fd) == Kind::File {
        Journal::of(fd)
    } else {
        None
    };
    if let Some(journal) = &mut journal
        && mode & !libc::FALLOC_FL_KEEP_SIZE != 0
        && let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length))
    {
        // Collapsing and inserting move all that follows.
        let moves = mode & (libc::FALLOC_FL_COLLAPSE_RANGE | libc::FALLOC_FL_INSERT_RANGE) != 0;
        journal.save(fd, offset, if moves { u64::MAX } else { length });
    }
    // SAFETY: numbers only.
    as_int(unsafe { call!(SYS_fallocate, fd, mode, offset, length) })
}
