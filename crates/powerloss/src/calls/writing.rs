//! Writes, and copies between descriptors.

use std::ffi::{c_int, c_uint, c_void};

use super::functions;
use crate::descriptors::{self, Kind};
use crate::device::Device;
use crate::journal::Journal;
use crate::settings;
use crate::sys::{self, Status, call, returned};

type Bytes = *const c_void;
type Pieces = *const libc::iovec;
type Offset = *mut i64;

functions! {
    [write, __write] (fd: c_int, bytes: Bytes, length: usize) -> isize =
        write_to(fd, None, length, 0, || call!(SYS_write, fd, bytes, length));
    [pwrite, pwrite64, __pwrite64] (fd: c_int, bytes: Bytes, length: usize, offset: i64) -> isize =
        write_to(fd, Some(offset), length, 0, || call!(SYS_pwrite64, fd, bytes, length, offset));
    [writev] (fd: c_int, pieces: Pieces, count: c_int) -> isize =
        write_to(fd, None, total(pieces, count), 0, || call!(SYS_writev, fd, pieces, count));
    [pwritev, pwritev64] (fd: c_int, pieces: Pieces, count: c_int, offset: i64) -> isize =
        write_to(fd, Some(offset), total(pieces, count), 0, || call!(SYS_pwritev, fd, pieces, count, offset, 0));
    [pwritev2, pwritev64v2] (fd: c_int, pieces: Pieces, count: c_int, offset: i64, flags: c_int) -> isize = {
        let place = (offset != -1).then_some(offset);
        write_to(fd, place, total(pieces, count), flags, || call!(SYS_pwritev2, fd, pieces, count, offset, 0, flags))
    };
    [copy_file_range] (from: c_int, start: Offset, to: c_int, place: Offset, length: usize, flags: c_uint) -> isize =
        write_to(to, place.as_ref().copied(), length, 0, || {
            call!(SYS_copy_file_range, from, start, to, place, length, flags)
        });
    [splice] (from: c_int, start: Offset, to: c_int, place: Offset, length: usize, flags: c_uint) -> isize =
        write_to(to, place.as_ref().copied(), length, 0, || call!(SYS_splice, from, start, to, place, length, flags));
    [sendfile, sendfile64] (to: c_int, from: c_int, start: Offset, length: usize) -> isize =
        write_to(to, None, length, 0, || call!(SYS_sendfile, to, from, start, length));
}

/// # Safety
/// `pieces` points to `count` pieces.
unsafe fn total(pieces: Pieces, count: c_int) -> usize {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's.
    (0..count)
        .map(|index| unsafe { (*pieces.add(index)).iov_len })
        .sum()
}

/// Makes a write of at most `length` bytes, after the file's journal has what it overwrites. `place` is where, or `None` for the
/// descriptor's position; `flags` are those of `pwritev2`.
fn write_to(
    fd: c_int,
    place: Option<i64>,
    length: usize,
    flags: c_int,
    write: impl FnOnce() -> isize,
) -> isize {
    let Some(settings) = settings::get().filter(|_| descriptors::kind(fd) == Kind::File) else {
        return returned(write());
    };
    // SAFETY: numbers only.
    let mode = unsafe { call!(SYS_fcntl, fd, libc::F_GETFL) } as c_int;
    let appends = mode & libc::O_APPEND != 0 || flags & libc::RWF_APPEND != 0;
    // O_SYNC includes the bit of O_DSYNC.
    let synced = mode & libc::O_DSYNC != 0 || flags & (libc::RWF_DSYNC | libc::RWF_SYNC) != 0;
    let end_ns = settings
        .device
        .as_ref()
        .filter(|_| synced)
        .map(Device::sync_end_ns);
    let mut journal = settings.journal.as_ref().and_then(|_| Journal::of(fd));
    let mut offset = 0;
    if let Some(journal) = &mut journal {
        if appends {
            offset = Status::of(fd).map_or(0, |status| status.size);
        } else {
            // SAFETY: numbers only.
            let position = || unsafe { call!(SYS_lseek, fd, 0, libc::SEEK_CUR) } as i64;
            offset = place.unwrap_or_else(position).max(0) as u64;
            if !synced {
                journal.save(fd, offset, length as u64);
            }
        }
    }
    let result = write();
    let written = result.max(0) as u64;
    if let Some(journal) = &mut journal
        && synced
        && written > 0
    {
        journal.synced(offset, written);
    }
    drop(journal); // so that nobody waits for its lock while this thread sleeps
    if let Some(device) = &settings.device {
        device.written(written, synced || mode & libc::O_DIRECT != 0);
    }
    if let Some(end_ns) = end_ns {
        sys::sleep_until(end_ns);
    }
    returned(result)
}
