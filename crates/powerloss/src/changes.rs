//! Names that were made, removed or changed and not synced: strict mode. Each function makes the change and records it, under one
//! lock, so that the order of the records is that of the changes.

use std::ffi::{CStr, c_char, c_int};

use crate::format::{CREATED, Change, FOLDER_SYNCED, NONE, REMOVED, REMOVED_FOLDER, RENAMED};
use crate::notes;
use crate::settings;
use crate::sys::{self, Status, Text, call};

/// A name below the data folder.
pub struct Name {
    folder: (u64, u64),
    path: Text,
}

impl Name {
    /// `None` without strict mode, and for a name elsewhere.
    ///
    /// # Safety
    /// `path` is a string that ends with a zero byte.
    pub unsafe fn of(directory: c_int, path: *const c_char) -> Option<Name> {
        let settings = settings::get().filter(|settings| settings.strict && settings.journal.is_some())?;
        // SAFETY: the caller's.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let path = &path[..path.iter().rposition(|byte| *byte != b'/')? + 1];
        let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..=slash], &path[slash + 1..]),
            None => (&b"."[..], path),
        };
        let parent = Text::new(&[parent]);
        // SAFETY: `Text` ends with a zero byte.
        let fd = unsafe {
            call!(
                SYS_openat,
                directory,
                parent.as_ptr(),
                libc::O_PATH | libc::O_CLOEXEC,
                0
            )
        };
        let fd = c_int::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        let found = Status::of(fd).zip(sys::path_of(fd));
        sys::close(fd);
        let (folder, mut path) = found?;
        if !settings.is_data(path.bytes()) {
            return None;
        }
        path.push(b"/");
        path.push(name);
        Some(Name {
            folder: (folder.device, folder.inode),
            path,
        })
    }

    fn status(&self) -> Option<Status> {
        // SAFETY: `Text` ends with a zero byte.
        unsafe { Status::at(libc::AT_FDCWD, self.path.as_ptr(), libc::AT_SYMLINK_NOFOLLOW) }
    }

    /// `make` makes the name, unless it exists.
    pub fn created(&self, make: impl FnOnce() -> isize) -> isize {
        let Some(log) = Log::locked() else { return make() };
        let existed = self.status().is_some();
        let result = make();
        if result >= 0
            && !existed
            && let Some(status) = self.status()
        {
            log.append(
                &Change {
                    kind: CREATED,
                    inode: status.inode,
                    ..self.change()
                },
                Some(self),
                None,
            );
        }
        result
    }

    pub fn removed(&self, remove: impl FnOnce() -> isize) -> isize {
        let Some((log, status)) = Log::locked().zip(self.status()) else {
            return remove();
        };
        let change = if status.is(libc::S_IFDIR) {
            Change {
                kind: REMOVED_FOLDER,
                mode: u64::from(status.mode),
                kept: NONE,
                ..self.change()
            }
        } else {
            Change {
                kind: REMOVED,
                kept: log.keep(self),
                inode: status.inode,
                ..self.change()
            }
        };
        let result = remove();
        if result >= 0 {
            log.append(&change, Some(self), None);
        }
        result
    }

    pub fn renamed(&self, to: &Name, rename: impl FnOnce() -> isize) -> isize {
        let Some((log, status)) = Log::locked().zip(self.status()) else {
            return rename();
        };
        let replaced = to
            .status()
            .is_some_and(|found| !found.is(libc::S_IFDIR) && found.inode != status.inode);
        let kept = if replaced { log.keep(to) } else { NONE };
        let result = rename();
        if result >= 0 {
            let change = Change {
                kind: RENAMED,
                inode: status.inode,
                new_folder: to.folder,
                kept,
                ..self.change()
            };
            log.append(&change, Some(self), Some(to));
        }
        result
    }

    fn change(&self) -> Change {
        Change {
            folder: self.folder,
            ..Change::default()
        }
    }
}

/// The position up to which a sync of a folder that begins now makes names durable.
pub fn position() -> u64 {
    Log::locked().map_or(0, |log| log.end)
}

pub fn folder_synced(folder: &Status, position: u64) {
    if let Some(log) = Log::locked() {
        let folder = (folder.device, folder.inode);
        log.append(
            &Change {
                kind: FOLDER_SYNCED,
                folder,
                kept: position,
                ..Change::default()
            },
            None,
            None,
        );
    }
}

struct Log {
    fd: c_int,
    end: u64,
}

impl Log {
    fn locked() -> Option<Log> {
        let fd = sys::open_shared(&Text::new(&[settings::journal()?, b"/changes"]), libc::O_RDWR)?;
        sys::lock(fd);
        Some(Log {
            fd,
            end: sys::size_of(fd),
        })
    }

    /// Links the file into the journal's folder, since its last name goes.
    fn keep(&self, name: &Name) -> u64 {
        let Some(journal) = settings::journal() else {
            return NONE;
        };
        let mut link = Text::new(&[journal, b"/kept/"]);
        link.push_hex(self.end);
        // SAFETY: `Text` ends with a zero byte.
        let result = unsafe {
            // A change that failed left its link.
            call!(SYS_unlinkat, libc::AT_FDCWD, link.as_ptr(), 0);
            call!(
                SYS_linkat,
                libc::AT_FDCWD,
                name.path.as_ptr(),
                libc::AT_FDCWD,
                link.as_ptr(),
                0
            )
        };
        if result != 0 {
            notes::write(b"not_kept", name.path.bytes());
            return NONE;
        }
        self.end
    }

    fn append(&self, change: &Change, name: Option<&Name>, new_name: Option<&Name>) {
        let (path, new_path) = (bytes(name), bytes(new_name));
        let (path_bytes, new_path_bytes) = (path.len() as u64, new_path.len() as u64);
        let head = Change {
            path_bytes,
            new_path_bytes,
            ..*change
        }
        .to_bytes();
        if !sys::write_at(self.fd, [&head, path, new_path], self.end) {
            notes::write(b"journal_failed", b"a change of names could not be recorded");
        }
    }
}

fn bytes(name: Option<&Name>) -> &[u8] {
    name.map_or(b"", |name| name.path.bytes())
}

impl Drop for Log {
    fn drop(&mut self) {
        sys::unlock_and_close(self.fd);
    }
}
