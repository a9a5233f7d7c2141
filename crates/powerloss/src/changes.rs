//! Names that were made, removed or changed and not synced: strict mode. Each function makes the change and records it, under one
//! lock, so that the order of the records is that of the changes.

use std::ffi::{CStr, c_char, c_int};

use crate::format::{CREATED, FOLDER_SYNCED, NONE, REMOVED, REMOVED_FOLDER, RENAMED};
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
            log.append(CREATED, self, None, status.inode, NONE);
        }
        result
    }

    pub fn removed(&self, remove: impl FnOnce() -> isize) -> isize {
        let Some((log, status)) = Log::locked().zip(self.status()) else {
            return remove();
        };
        let (kind, extra) = match status.is(libc::S_IFDIR) {
            true => (REMOVED_FOLDER, u64::from(status.mode)),
            false => (REMOVED, log.keep(self)),
        };
        let result = remove();
        if result >= 0 {
            log.append(kind, self, None, status.inode, extra);
        }
        result
    }

    pub fn renamed(&self, to: &Name, rename: impl FnOnce() -> isize) -> isize {
        let Some((log, status)) = Log::locked().zip(self.status()) else {
            return rename();
        };
        let old = to
            .status()
            .filter(|old| !old.is(libc::S_IFDIR) && old.inode != status.inode);
        let kept = old.map_or(NONE, |_| log.keep(to));
        let result = rename();
        if result >= 0 {
            log.append(RENAMED, self, Some(to), status.inode, kept);
        }
        result
    }
}

/// The position up to which a sync of a folder that begins now makes names durable.
pub fn position() -> u64 {
    Log::locked().map_or(0, |log| log.end)
}

pub fn folder_synced(folder: &Status, position: u64) {
    if let Some(log) = Log::locked() {
        let (folder, path) = ((folder.device, folder.inode), Text::new(&[]));
        log.append(FOLDER_SYNCED, &Name { folder, path }, None, 0, position);
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
        let end = sys::size_of(fd);
        Some(Log { fd, end })
    }

    /// Links the file into the journal's folder, since its last name goes. Returns the link's number.
    fn keep(&self, name: &Name) -> u64 {
        let Some(journal) = settings::journal() else {
            return NONE;
        };
        let mut link = Text::new(&[journal, b"/kept/"]);
        link.push_hex(self.end);
        let (folder, from, to) = (libc::AT_FDCWD, name.path.as_ptr(), link.as_ptr());
        // SAFETY: `Text` ends with a zero byte.
        let result = unsafe {
            call!(SYS_unlinkat, folder, to, 0); // left by a change that failed
            call!(SYS_linkat, folder, from, folder, to, 0)
        };
        if result != 0 {
            notes::write(b"not_kept", name.path.bytes());
            return NONE;
        }
        self.end
    }

    fn append(&self, kind: &str, name: &Name, new_name: Option<&Name>, inode: u64, extra: u64) {
        let mut head = Text::new(&[kind.as_bytes(), b"\0"]);
        let new_folder = new_name.map_or((0, 0), |name| name.folder);
        for number in [
            name.folder.0,
            name.folder.1,
            new_folder.0,
            new_folder.1,
            inode,
            extra,
        ] {
            head.push_hex(number);
            head.push(b"\0");
        }
        let new_path = new_name.map_or(&b""[..], |name| name.path.bytes());
        if !sys::write_at(
            self.fd,
            [head.bytes(), name.path.bytes(), b"\0", new_path, b"\0"],
            self.end,
        ) {
            notes::write(b"journal_failed", b"a change of names could not be recorded");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        sys::unlock_and_close(self.fd);
    }
}
