//! What a file held before each write since its last sync: the journal of one file.
//!
//! A call that changes a file opens the file's journal, which waits for its lock, saves the old content, makes the change, and
//! drops the journal. So a record is always older than its change, and none is written between a change and a sync's mark.
//!
//! A sync marks the journal, syncs without the lock, and then discards what is before its mark. What was written while the sync
//! ran stays undoable: nobody promised that it was synced.
//!
//! Opening it for each call costs some microseconds, and makes forks, threads, and servers that close all descriptors harmless.

use std::ffi::c_int;

use crate::format::{HEADER_BYTES, Header, MARK, RECORD_BYTES, Record, SAVED, SYNCED, UNKNOWN_SIZE};
use crate::notes::{self, Once};
use crate::settings;
use crate::sys::{self, Status, Text, call, path_of};

pub struct Journal {
    fd: c_int,
    end: u64,
    header: Header,
}

/// Where a sync began.
pub struct Mark {
    epoch: u64,
    end: u64,
    size: u64,
}

/// Aligned and a multiple of the block size, so that a descriptor with O_DIRECT can read into it.
#[repr(align(4096))]
struct Buffer([u8; 16384]);

impl Journal {
    /// The journal of an open file, locked. Its first opening takes what the file holds then as synced.
    pub fn of(fd: c_int) -> Option<Journal> {
        let status = Status::of(fd).filter(|status| status.is(libc::S_IFREG))?;
        let size = || Status::of(fd).map(|now| now.size);
        let mut journal = Journal::open(&status, libc::O_RDWR | libc::O_CREAT, size);
        if let Some(journal) = &mut journal
            && journal.header.base_size == UNKNOWN_SIZE
            && let Some(size) = size()
        {
            journal.header.base_size = size;
            journal.header.synced_size = size;
            journal.write_header();
        }
        if journal.is_none() && settings::journal().is_some() {
            notes::once(
                Once::JournalFailed,
                path_of(fd).as_ref().map_or(b"?", Text::bytes),
            );
        }
        journal
    }

    /// The journal of a file that may have none.
    pub fn existing(status: &Status) -> Option<Journal> {
        Journal::open(status, libc::O_RDWR, || Some(status.size))
    }

    fn open(status: &Status, flags: c_int, size: impl FnOnce() -> Option<u64>) -> Option<Journal> {
        let path = path_for(status)?;
        let fd = if flags & libc::O_CREAT == 0 {
            sys::open(&path, flags)
        } else {
            sys::open_shared(&path, flags)
        }?;
        let mut journal = Journal::locked(fd);
        if journal.header.born_ns != status.born_ns || journal.header.base == 0 {
            let size = size()?;
            // SAFETY: numbers only.
            unsafe { call!(SYS_ftruncate, fd, 0) };
            journal.header = Header {
                device: status.device,
                inode: status.inode,
                born_ns: status.born_ns,
                base: HEADER_BYTES,
                base_size: size,
                synced_size: size,
                epoch: journal.header.epoch + 1,
            };
            journal.end = HEADER_BYTES;
            journal.write_header();
        }
        Some(journal)
    }

    /// Waits for the lock and reads the header, which is zeros if there is none.
    fn locked(fd: c_int) -> Journal {
        sys::lock(fd);
        let mut bytes = [0; HEADER_BYTES as usize];
        let read = sys::read_at(fd, &mut bytes, 0);
        let header = (read == HEADER_BYTES as isize)
            .then(|| Header::from_bytes(&bytes))
            .flatten()
            .unwrap_or_default();
        let mut journal = Journal {
            fd,
            end: sys::size_of(fd),
            header,
        };
        if journal.end < journal.header.base {
            // A process was killed while it compacted.
            journal.compact();
        }
        journal
    }

    /// Saves what `fd` holds in the range, which is about to be changed.
    pub fn save(&mut self, fd: c_int, offset: u64, length: u64) {
        let end = offset.saturating_add(length).min(self.header.synced_size);
        if offset >= end {
            return;
        }
        let mut buffer = Buffer([0; 16384]);
        let mut other = None;
        let mut at = offset;
        while at < end {
            // Whole blocks, for O_DIRECT. Only what is below `end` is kept.
            let wanted = ((end - at).next_multiple_of(4096) as usize).min(buffer.0.len());
            let mut read = sys::read_at(other.unwrap_or(fd), &mut buffer.0[..wanted], at);
            if read < 0 && other.is_none() {
                // The program opened the file for writing only.
                other = reopened(fd);
                read = other.map_or(read, |other| sys::read_at(other, &mut buffer.0[..wanted], at));
            }
            let length = u64::try_from(read).unwrap_or(0).min(end - at);
            let record = Record::new(SAVED, at, length);
            if read <= 0 || !self.append(record, &buffer.0[..length as usize]) {
                if read < 0 {
                    notes::once(Once::JournalFailed, b"old content could not be read");
                }
                break;
            }
            at += length;
        }
        if let Some(other) = other {
            sys::close(other);
        }
    }

    /// The range was written and synced by one call. Nothing was saved of it: undoing leaves it.
    pub fn synced(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        if self.end == self.header.base && offset <= self.header.base_size {
            // Nothing is older, so nothing could be undone over it.
            if end <= self.header.base_size {
                return;
            }
            self.header.base_size = end;
        } else {
            self.append(Record::new(SYNCED, offset, length), &[]);
        }
        self.header.synced_size = self.header.synced_size.max(end);
        self.write_header();
    }

    /// A sync begins, of a file that has `size` bytes.
    pub fn mark(&mut self, size: u64, token: u64) -> Mark {
        self.append(
            Record {
                kind: MARK,
                offset: size,
                length: 0,
                token,
            },
            &[],
        );
        // What is written while the sync runs must be saved up to here.
        self.header.synced_size = self.header.synced_size.max(size);
        self.write_header();
        Mark {
            epoch: self.header.epoch,
            end: self.end,
            size,
        }
    }

    /// The sync that began at `mark` succeeded.
    pub fn discard(&mut self, mark: &Mark) {
        if mark.epoch != self.header.epoch || mark.end <= self.header.base {
            return; // a later sync was faster
        }
        self.header.base = mark.end;
        self.header.base_size = mark.size;
        self.write_header();
        if mark.end == self.end {
            // SAFETY: numbers only.
            unsafe { call!(SYS_ftruncate, self.fd, HEADER_BYTES) };
            self.compact();
        }
    }

    /// Begins again behind the header. The records are cut off already: whoever is killed between leaves a base behind the end,
    /// which means the same.
    fn compact(&mut self) {
        self.end = HEADER_BYTES;
        self.header.base = HEADER_BYTES;
        self.header.synced_size = self.header.base_size;
        self.header.epoch += 1;
        self.write_header();
    }

    fn find(&self, token: u64) -> Option<Mark> {
        let mut at = self.header.base;
        while at < self.end {
            let mut bytes = [0; RECORD_BYTES as usize];
            if sys::read_at(self.fd, &mut bytes, at) != RECORD_BYTES as isize {
                break;
            }
            let record = Record::from_bytes(&bytes);
            at += record.total_bytes();
            if record.kind == MARK && record.token == token {
                return Some(Mark {
                    epoch: self.header.epoch,
                    end: at,
                    size: record.offset,
                });
            }
        }
        None
    }

    fn append(&mut self, record: Record, bytes: &[u8]) -> bool {
        let written = sys::write_at(self.fd, [&record.to_bytes(), bytes], self.end);
        if written {
            self.end += record.total_bytes();
        } else {
            notes::once(Once::JournalFailed, b"a record could not be written");
        }
        written
    }

    fn write_header(&self) {
        if !sys::write_at(self.fd, [&self.header.to_bytes()], 0) {
            notes::once(Once::JournalFailed, b"a header could not be written");
        }
    }
}

fn path_for(status: &Status) -> Option<Text> {
    let mut path = Text::new(&[settings::journal()?, b"/inode/"]);
    path.push_hex(status.device);
    path.push(b"-");
    path.push_hex(status.inode);
    Some(path)
}

/// A file has lost a name. If it was the last one, the next file may get its number, and even in the same tick of the clock that
/// times of birth are taken from.
pub fn forget(status: &Status) {
    if status.links == 1
        && status.is(libc::S_IFREG)
        && let Some(path) = path_for(status)
    {
        // SAFETY: `Text` ends with a zero byte.
        unsafe { call!(SYS_unlinkat, libc::AT_FDCWD, path.as_ptr(), 0) };
    }
}

/// The same file, opened for reading.
fn reopened(fd: c_int) -> Option<c_int> {
    let mut link = Text::new(&[b"/proc/self/fd/"]);
    link.push_decimal(fd.try_into().ok()?);
    sys::open(&link, libc::O_RDONLY)
}

/// Marks the journals of all files of a device, or of all devices: for `sync` and `syncfs`, which cover files that this process
/// may not know.
pub fn mark_all(device: Option<u64>, token: u64) {
    each(device, |journal| {
        journal.mark(UNKNOWN_SIZE, token);
    });
}

/// Discards what is before the marks of `mark_all`.
pub fn discard_all(device: Option<u64>, token: u64) {
    each(device, |journal| {
        if let Some(mark) = journal.find(token) {
            journal.discard(&mark);
        }
    });
}

fn each(device: Option<u64>, act: impl Fn(&mut Journal)) {
    let Some(folder) = settings::journal() else { return };
    let folder = Text::new(&[folder, b"/inode/"]);
    let Some(fd) = sys::open(&folder, libc::O_RDONLY | libc::O_DIRECTORY) else {
        return;
    };
    let mut prefix = Text::new(&[]);
    if let Some(device) = device {
        prefix.push_hex(device);
        prefix.push(b"-");
    }
    let mut entries = [0u8; 4096];
    loop {
        // SAFETY: the buffer has the length that is passed.
        let read = unsafe { call!(SYS_getdents64, fd, entries.as_mut_ptr(), entries.len()) };
        let Some(mut rest) = usize::try_from(read)
            .ok()
            .and_then(|length| entries.get(..length))
        else {
            break;
        };
        if rest.is_empty() {
            break;
        }
        // An entry: 8 bytes inode, 8 offset, 2 its own length, 1 type, the name, a zero byte.
        while let Some(length) = rest
            .get(16..18)
            .map(|two| usize::from(two[0]) | usize::from(two[1]) << 8)
        {
            let name = rest
                .get(19..length)
                .and_then(|name| name.split(|byte| *byte == 0).next())
                .unwrap_or(b"");
            if !name.starts_with(b".")
                && name.starts_with(prefix.bytes())
                && let Some(fd) = sys::open(&Text::new(&[folder.bytes(), name]), libc::O_RDWR)
            {
                act(&mut Journal::locked(fd));
            }
            rest = rest.get(length.max(1)..).unwrap_or(b"");
        }
    }
    sys::close(fd);
}

impl Drop for Journal {
    fn drop(&mut self) {
        sys::unlock_and_close(self.fd);
    }
}
