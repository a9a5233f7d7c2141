//! `apply`: makes the data what a power loss would have left. Each file goes back to its last sync, then, in strict mode, names do.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::{Failure, Options, Outcome, changes, check};
use crate::format::{HEADER_BYTES, Header, RECORD_BYTES, Record, SAVED, SYNCED, UNKNOWN_SIZE};

#[derive(Default)]
pub struct Applied {
    /// Files that differ now, and bytes of them that were cut off or written back.
    pub files: u64,
    pub bytes: u64,
    pub names: u64,
}

pub fn run(arguments: Vec<OsString>) -> Outcome {
    let options = Options::read(arguments)?;
    let applied = apply(&options.data, &options.needed_journal()?)?;
    println!("{}", applied.to_json());
    Ok(true)
}

impl Applied {
    fn to_json(&self) -> String {
        format!(
            "{{\"files\": {}, \"bytes\": {}, \"names\": {}}}",
            self.files, self.bytes, self.names
        )
    }
}

pub fn apply(data: &[PathBuf], journal: &Path) -> Result<Applied, Failure> {
    let _alive = wait_for_the_end(journal)?;
    let mut files = HashMap::new();
    for folder in data
        .iter()
        .map(PathBuf::as_path)
        .chain([journal.join("kept").as_path()])
    {
        find_files(folder, &mut files).map_err(|why| Failure::new("cannot read", folder, why))?;
    }
    let mut applied = Applied::default();
    let inodes = journal.join("inode");
    for entry in fs::read_dir(&inodes).map_err(|why| Failure::new("cannot read", &inodes, why))? {
        let path = entry
            .map_err(|why| Failure::new("cannot read", &inodes, why))?
            .path();
        let bytes = undo_file(&path, &files).map_err(|why| Failure::new("cannot undo", &path, why))?;
        applied.files += u64::from(bytes > 0);
        applied.bytes += bytes;
        // Done: undoing it twice would be wrong once the server has run again.
        fs::remove_file(&path).map_err(|why| Failure::new("cannot remove", &path, why))?;
    }
    applied.names =
        changes::undo(journal).map_err(|why| Failure::new("cannot undo names of", journal, why))?;
    for [_, _, path] in check::read(journal)
        .iter()
        .filter(|[kind, ..]| kind == "volatile")
    {
        // It may be gone already.
        let _ = fs::remove_file(path);
    }
    Ok(applied)
}

/// Processes with the library share a lock. A killed process gives it back when the kernel has cleaned it up.
fn wait_for_the_end(journal: &Path) -> Result<File, Failure> {
    let path = journal.join("alive");
    let fail = |why: io::Error| {
        Failure::new(
            "cannot open",
            &path,
            format!("{why}. Did a process have the library?"),
        )
    };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(fail)?;
    let end = Instant::now() + Duration::from_secs(10);
    // SAFETY: numbers only; the descriptor is open.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        if Instant::now() > end {
            let why = "a process that has the library still runs; kill it first";
            return Err(Failure::new("cannot undo", journal, why));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(file)
}

type Files = HashMap<(u64, u64), PathBuf>;

fn find_files(folder: &Path, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            find_files(&entry.path(), files)?;
        } else if kind.is_file() {
            let found = entry.metadata()?;
            files.insert((found.dev(), found.ino()), entry.path());
        }
    }
    Ok(())
}

/// Undoes what a file's journal has. Returns how many bytes were cut off or written back.
fn undo_file(journal: &Path, files: &Files) -> io::Result<u64> {
    let journal = File::open(journal)?;
    let mut head = [0; HEADER_BYTES as usize];
    // A process that was killed before it wrote the header has not written the file either.
    let read = journal.read_exact_at(&mut head, 0).is_ok();
    let Some(header) = Header::from_bytes(&head).filter(|_| read) else {
        return Ok(0);
    };
    // A file that is gone has nothing to undo, nor has an earlier one with the same number.
    let Some(path) = files.get(&(header.device, header.inode)) else {
        return Ok(0);
    };
    let found = fs::metadata(path)?;
    if born_ns(&found) != header.born_ns {
        return Ok(0);
    }
    let records = read_records(&journal, header.base)?;
    if records.is_empty() && (found.len() == header.base_size || header.base_size == UNKNOWN_SIZE) {
        return Ok(0);
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut bytes = 0;
    let mut synced = Vec::new();
    for (place, record) in records.iter().rev() {
        let mut content = vec![0; usize::try_from(record.length).map_err(io::Error::other)?];
        match record.kind {
            SAVED => {
                journal.read_exact_at(&mut content, place + RECORD_BYTES)?;
                file.write_all_at(&content, record.offset)?;
                bytes += record.length;
            }
            // What is newer is undone by now, so the file has what was synced here.
            SYNCED => {
                file.read_exact_at(&mut content, record.offset)?;
                synced.push((record.offset, content));
            }
            _ => {}
        }
    }
    if header.base_size != UNKNOWN_SIZE {
        bytes += found.len().saturating_sub(header.base_size);
        file.set_len(header.base_size)?;
    }
    for (offset, content) in synced.iter().rev() {
        file.write_all_at(content, *offset)?;
    }
    Ok(bytes)
}

/// Where each whole record is. The last one may be cut: its change was not made.
fn read_records(journal: &File, base: u64) -> io::Result<Vec<(u64, Record)>> {
    let end = journal.metadata()?.len();
    let mut records = Vec::new();
    let mut place = base;
    while place + RECORD_BYTES <= end {
        let mut head = [0; RECORD_BYTES as usize];
        journal.read_exact_at(&mut head, place)?;
        let record = Record::from_bytes(&head);
        if place + record.total_bytes() > end {
            break;
        }
        records.push((place, record));
        place += record.total_bytes();
    }
    Ok(records)
}

/// As the library computes it. Zero on a file system that does not know.
fn born_ns(found: &fs::Metadata) -> u64 {
    let born = found
        .created()
        .ok()
        .and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    born.map_or(0, |born| born.as_nanos() as u64)
}
