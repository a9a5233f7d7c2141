//! Names. Without strict mode only one thing matters: a file that replaces another by its new name has its data on the disk, as
//! ext4 and XFS arrange it.

use std::ffi::{c_int, c_uint};

use super::{Path, as_int, functions};
use crate::changes::Name;
use crate::journal::{self, Journal};
use crate::settings;
use crate::sys::{Status, call};

functions! {
    [rename] (from: Path, to: Path) -> c_int = rename_at(libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0);
    [renameat] (from_folder: c_int, from: Path, to_folder: c_int, to: Path) -> c_int =
        rename_at(from_folder, from, to_folder, to, 0);
    [renameat2] (from_folder: c_int, from: Path, to_folder: c_int, to: Path, flags: c_uint) -> c_int =
        rename_at(from_folder, from, to_folder, to, flags);
    [link] (from: Path, to: Path) -> c_int =
        make(libc::AT_FDCWD, to, || call!(SYS_linkat, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0));
    [linkat] (from_folder: c_int, from: Path, folder: c_int, to: Path, flags: c_int) -> c_int =
        make(folder, to, || call!(SYS_linkat, from_folder, from, folder, to, flags));
    [symlink] (target: Path, path: Path) -> c_int =
        make(libc::AT_FDCWD, path, || call!(SYS_symlinkat, target, libc::AT_FDCWD, path));
    [symlinkat] (target: Path, folder: c_int, path: Path) -> c_int =
        make(folder, path, || call!(SYS_symlinkat, target, folder, path));
    [mkdir] (path: Path, mode: c_uint) -> c_int =
        make(libc::AT_FDCWD, path, || call!(SYS_mkdirat, libc::AT_FDCWD, path, mode));
    [mkdirat] (folder: c_int, path: Path, mode: c_uint) -> c_int =
        make(folder, path, || call!(SYS_mkdirat, folder, path, mode));
    [unlink] (path: Path) -> c_int = as_int(remove_at(libc::AT_FDCWD, path, 0));
    [unlinkat] (folder: c_int, path: Path, flags: c_int) -> c_int = as_int(remove_at(folder, path, flags));
    [rmdir] (path: Path) -> c_int = as_int(remove_at(libc::AT_FDCWD, path, libc::AT_REMOVEDIR));
    [remove] (path: Path) -> c_int = as_int(match remove_at(libc::AT_FDCWD, path, 0) {
        result if result == -(libc::EISDIR as isize) => remove_at(libc::AT_FDCWD, path, libc::AT_REMOVEDIR),
        result => result,
    });
}

/// # Safety
/// The paths are strings that end with a zero byte, here and below.
unsafe fn rename_at(from_folder: c_int, from: Path, to_folder: c_int, to: Path, flags: c_uint) -> c_int {
    // SAFETY: the caller's.
    let rename = || unsafe { call!(SYS_renameat2, from_folder, from, to_folder, to, flags) };
    if settings::journal().is_none() {
        return as_int(rename());
    }
    // SAFETY: the caller's.
    let (status, old, names) = unsafe {
        let names = Name::of(from_folder, from).zip(Name::of(to_folder, to));
        (status_at(from_folder, from), status_at(to_folder, to), names)
    };
    if let Some((from, to)) = names {
        return as_int(from.renamed(&to, rename));
    }
    let result = rename();
    let replaces = |old: &Status, new: &Status| flags & libc::RENAME_EXCHANGE == 0 && old.inode != new.inode;
    if result == 0
        && let Some((status, old)) = status.zip(old)
        && replaces(&old, &status)
    {
        if let Some(mut journal) = Journal::existing(&status) {
            let mark = journal.mark(status.size, 0);
            journal.discard(&mark);
        }
        journal::forget(&old);
    }
    as_int(result)
}

/// # Safety
/// As above.
unsafe fn make(folder: c_int, path: Path, make: impl FnOnce() -> isize) -> c_int {
    // SAFETY: the caller's.
    let name = unsafe { Name::of(folder, path) };
    as_int(match name {
        Some(name) => name.created(make),
        None => make(),
    })
}

/// # Safety
/// As above.
unsafe fn remove_at(folder: c_int, path: Path, flags: c_int) -> isize {
    // SAFETY: the caller's.
    let remove = || unsafe { call!(SYS_unlinkat, folder, path, flags) };
    // SAFETY: the caller's.
    let (status, name) = unsafe { (status_at(folder, path), Name::of(folder, path)) };
    if let Some(name) = name {
        return name.removed(remove); // which keeps the file
    }
    let result = remove();
    if let Some(status) = status.filter(|_| result == 0) {
        journal::forget(&status);
    }
    result
}

/// # Safety
/// As above.
unsafe fn status_at(folder: c_int, path: Path) -> Option<Status> {
    settings::journal()?;
    // SAFETY: the caller's.
    unsafe { Status::at(folder, path, libc::AT_SYMLINK_NOFOLLOW) }
}
