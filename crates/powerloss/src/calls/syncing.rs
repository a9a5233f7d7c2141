//! Syncs. `sync_file_range` is not replaced: its manual says that it makes nothing durable. Nor is `msync`, since writes through
//! a mapping are not seen.

use std::ffi::c_int;

use super::{as_int, functions};
use crate::changes;
use crate::descriptors::{self, Kind};
use crate::device::Device;
use crate::journal::{self, Journal};
use crate::settings;
use crate::sys::{self, Status, call};

functions! {
    [fsync] (fd: c_int) -> c_int = sync_one(fd, || call!(SYS_fsync, fd));
    [fdatasync] (fd: c_int) -> c_int = sync_one(fd, || call!(SYS_fdatasync, fd));
    [sync] () -> () = { sync_all(None, || call!(SYS_sync)); };
    [syncfs] (fd: c_int) -> c_int = as_int(sync_all(Status::of(fd).map(|status| status.device), || call!(SYS_syncfs, fd)));
}

fn sync_one(fd: c_int, sync: impl FnOnce() -> isize) -> c_int {
    let kind = descriptors::kind(fd);
    let Some(settings) = settings::get().filter(|_| kind == Kind::File || kind == Kind::Folder) else {
        return as_int(sync());
    };
    let end_ns = settings.device.as_ref().map(Device::sync_end_ns);
    let result = match (&settings.journal, Status::of(fd)) {
        (Some(_), Some(status)) if kind == Kind::File => sync_file(fd, &status, sync),
        (Some(_), Some(status)) if settings.strict => {
            let position = changes::position();
            let result = sync();
            if result == 0 {
                changes::folder_synced(&status, position);
            }
            result
        }
        _ => sync(),
    };
    if let Some(end_ns) = end_ns {
        sys::sleep_until(end_ns);
    }
    as_int(result)
}

fn sync_file(fd: c_int, status: &Status, sync: impl FnOnce() -> isize) -> isize {
    // A file that nobody opened for writing has no journal and needs none.
    let mark = Journal::existing(status).and_then(|mut journal| {
        let now = Status::of(fd)?; // under the lock
        Some(journal.mark(now.size, 0))
    });
    let result = sync();
    if let Some(mark) = mark
        && result == 0
        && let Some(mut journal) = Journal::existing(status)
    {
        journal.discard(&mark);
    }
    result
}

/// All files of a device, or of all. Names stay not synced in strict mode, which is said in the documentation.
fn sync_all(device: Option<u64>, sync: impl FnOnce() -> isize) -> isize {
    let end_ns = settings::get()
        .and_then(|settings| settings.device.as_ref())
        .map(Device::sync_end_ns);
    // Unique on this machine: no two calls of one process begin in the same nanosecond, or it would not matter.
    let token = sys::now_ns() ^ (sys::process() << 48);
    journal::mark_all(device, token);
    let result = sync();
    if result == 0 {
        journal::discard_all(device, token);
    }
    if let Some(end_ns) = end_ns {
        sys::sleep_until(end_ns);
    }
    result
}
