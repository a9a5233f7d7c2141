//! Rows in files, so that they outlive the process: each phase of a run is a process of its own. Read once before the
//! first session, written once after the last answer; nothing here happens per operation. (A journal would cost each
//! operation a system call, and the disk gigabytes for a minute of updates.)
//!
//! A process adds one file to the folder with what it changed, so that clients side by side keep each other's rows (of a
//! row that several changed, one's). Files are read in the order of their numbers. One is a sequence of entries, lengths
//! as little-endian u32: `T name` what follows is of this table; `X` it is gone; `C` it is there, and empty unless it was
//! there before; `D key` this row is gone; `P key fields ends.. bytes` this row is now so.
use super::memory::{MemoryTable, Row, lock, tables};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Fills the tables of this process from the files in `folder`, if there are any.
pub fn read(folder: &Path) -> io::Result<()> {
    for path in files(folder)? {
        let mut bytes = Vec::new();
        File::open(&path)?.read_to_end(&mut bytes)?;
        apply(&mut Reader(&bytes))
            .ok_or_else(|| io::Error::other(format!("{} is cut short", path.display())))?;
    }
    Ok(())
}

/// Adds a file with what has changed since [`read`]; where every table was created again, it replaces all others.
pub fn write(folder: &Path) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut anew = true;
    for (name, table) in tables() {
        let table = lock(&table);
        anew &= table.is_new();
        if table.is_changed() {
            put_changes(&mut bytes, &name, &table);
        }
    }
    if bytes.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let before = files(folder)?;
    let mut number = before.last().map_or(0, |last| number_of(last));
    let mut file = loop {
        number += 1;
        match File::create_new(folder.join(format!("{number:06}.rows"))) {
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
            made => break made?,
        }
    };
    file.write_all(&bytes)?;
    if anew {
        before.iter().try_for_each(fs::remove_file)?;
    }
    Ok(())
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(folder) {
        Err(none) if none.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        listed => listed?,
    };
    let mut paths = listed
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rows"));
    paths.sort_unstable();
    Ok(paths)
}

fn number_of(file: &Path) -> u32 {
    let name = file.file_stem().and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).unwrap_or_default()
}

fn put_changes(out: &mut Vec<u8>, name: &str, table: &MemoryTable) {
    out.push(b'T');
    put_bytes(out, name.as_bytes());
    if table.is_new() {
        out.push(b'X');
    }
    if table.exists() {
        out.push(b'C');
    }
    for key in table.deleted() {
        out.push(b'D');
        put_bytes(out, key);
    }
    for (key, row) in table.changed() {
        out.push(b'P');
        put_bytes(out, key);
        put_number(out, row.ends().len());
        row.ends().iter().for_each(|end| put_number(out, *end as usize));
        put_bytes(out, row.bytes());
    }
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// What has not been read yet. `None` from any of its functions: cut short.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes: [u8; 4] = self.take(4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes) as usize)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    fn row(&mut self) -> Option<Row> {
        let fields = self.number()?;
        let ends: Option<Vec<u32>> = (0..fields).map(|_| Some(self.number()? as u32)).collect();
        Some(Row::kept(self.bytes()?.to_vec(), ends?))
    }
}

fn apply(reader: &mut Reader<'_>) -> Option<()> {
    let mut table = None;
    while let Some(entry) = reader.0.first().copied() {
        reader.take(1)?;
        if entry == b'T' {
            table = Some(super::memory::table(std::str::from_utf8(reader.bytes()?).ok()?));
            continue;
        }
        let mut table = lock(table.as_ref()?);
        match entry {
            b'X' => table.set_missing(),
            b'C' => table.set_there(),
            b'D' => table.set_row(reader.bytes()?, None),
            b'P' => {
                let key = reader.bytes()?;
                table.set_row(key, Some(reader.row()?));
            }
            _ => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_cut_off_a_file_is_noticed_or_was_a_whole_entry() {
        let mut bytes = Vec::new();
        bytes.push(b'T');
        put_bytes(&mut bytes, b"cut");
        bytes.push(b'C');
        let whole = bytes.len();
        bytes.push(b'P');
        put_bytes(&mut bytes, b"key");
        put_number(&mut bytes, 1);
        put_number(&mut bytes, 3);
        put_bytes(&mut bytes, b"abc");
        assert_eq!(apply(&mut Reader(&bytes)), Some(()));
        assert_eq!(apply(&mut Reader(&bytes[..whole])), Some(()));
        for length in whole + 1..bytes.len() {
            assert_eq!(apply(&mut Reader(&bytes[..length])), None, "{length}");
        }
        assert_eq!(apply(&mut Reader(b"?")), None);
    }
}
