//! Undoes changes of names, newest first: what strict mode recorded and no sync of a folder made durable.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use crate::format::{CHANGE_FIELDS, CREATED, FOLDER_SYNCED, NONE, REMOVED, REMOVED_FOLDER, RENAMED};

struct Change<'a> {
    position: u64,
    kind: &'a str,
    folder: (u64, u64),
    new_folder: (u64, u64),
    inode: u64,
    extra: u64,
    path: &'a Path,
    new_path: &'a Path,
}

/// Returns how many names were undone. Nothing that contradicts what is found is touched.
pub fn undo(journal: &Path) -> io::Result<u64> {
    let bytes = match fs::read(journal.join("changes")) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    let changes = read(&bytes);
    let mut names = 0;
    for (index, change) in changes.iter().enumerate().rev() {
        // A sync of either folder makes a change of both durable, as file systems with a log do it.
        let folders = [change.folder, change.new_folder];
        let syncs = changes[index..]
            .iter()
            .filter(|later| later.kind == FOLDER_SYNCED);
        if !syncs
            .into_iter()
            .any(|sync| folders.contains(&sync.folder) && change.position < sync.extra)
        {
            names += u64::from(undo_one(change, &journal.join("kept"))?);
        }
    }
    // Once is enough, as for files.
    fs::remove_file(journal.join("changes"))?;
    Ok(names)
}

fn undo_one(change: &Change, kept: &Path) -> io::Result<bool> {
    let Change { path, new_path, .. } = change;
    let kept = (change.extra != NONE).then(|| kept.join(format!("{:x}", change.extra)));
    let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.ino());
    match (change.kind, kept) {
        (CREATED, _) if inode(path) == Some(change.inode) => {
            if fs::symlink_metadata(path)?.is_dir() {
                fs::remove_dir_all(path)?; // without its name nothing in it can be found
            } else {
                fs::remove_file(path)?;
            }
        }
        (REMOVED, Some(kept)) if inode(path).is_none() => fs::hard_link(kept, path)?,
        (RENAMED, kept) if inode(new_path) == Some(change.inode) && inode(path).is_none() => {
            fs::rename(new_path, path)?;
            kept.map_or(Ok(()), |kept| fs::hard_link(kept, new_path))?;
        }
        (REMOVED_FOLDER, _) if inode(path).is_none() => {
            fs::DirBuilder::new()
                .mode((change.extra & 0o7777) as u32)
                .create(path)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The last change may be cut: it was not made.
fn read(bytes: &[u8]) -> Vec<Change<'_>> {
    let mut position = 0;
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let parsed = fields.chunks_exact(CHANGE_FIELDS).map_while(|fields| {
        let at = position;
        position += fields.iter().map(|field| field.len() as u64 + 1).sum::<u64>();
        let number = |index: usize| u64::from_str_radix(str::from_utf8(fields[index]).ok()?, 16).ok();
        Some(Change {
            position: at,
            kind: str::from_utf8(fields[0]).ok()?,
            folder: (number(1)?, number(2)?),
            new_folder: (number(3)?, number(4)?),
            inode: number(5)?,
            extra: number(6)?,
            path: Path::new(OsStr::from_bytes(fields[7])),
            new_path: Path::new(OsStr::from_bytes(fields[8])),
        })
    });
    parsed.collect()
}
