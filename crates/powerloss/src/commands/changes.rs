//! Undoes changes of names, newest first: what strict mode recorded and no sync of a folder made durable.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::format::{CHANGE_BYTES, CREATED, Change, FOLDER_SYNCED, NONE, REMOVED, REMOVED_FOLDER, RENAMED};

struct Recorded {
    position: u64,
    change: Change,
    path: PathBuf,
    new_path: PathBuf,
}

/// Returns how many names were undone. Nothing that contradicts what is found is touched.
pub fn undo(journal: &Path) -> io::Result<u64> {
    let recorded = read(&journal.join("changes"))?;
    let mut names = 0;
    for (index, one) in recorded.iter().enumerate().rev() {
        // A sync of either folder makes a change of both durable, as file systems with a log do it.
        let folders = [one.change.folder, one.change.new_folder];
        let durable = recorded[index..].iter().any(|later| {
            later.change.kind == FOLDER_SYNCED
                && folders.contains(&later.change.folder)
                && one.position < later.change.kept
        });
        if one.change.kind != FOLDER_SYNCED && !durable {
            names += u64::from(undo_one(one, &journal.join("kept"))?);
        }
    }
    Ok(names)
}

fn undo_one(one: &Recorded, kept: &Path) -> io::Result<bool> {
    let Recorded {
        change,
        path,
        new_path,
        ..
    } = one;
    let kept = (change.kept != NONE).then(|| kept.join(format!("{:x}", change.kept)));
    let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.ino());
    match change.kind {
        CREATED if inode(path) == Some(change.inode) => {
            if fs::symlink_metadata(path)?.is_dir() {
                // Without its name nothing in it can be found.
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
        REMOVED if inode(path).is_none() => match kept {
            Some(kept) => fs::hard_link(kept, path)?,
            None => return Ok(false),
        },
        RENAMED if inode(new_path) == Some(change.inode) && inode(path).is_none() => {
            fs::rename(new_path, path)?;
            if let Some(kept) = kept {
                fs::hard_link(kept, new_path)?;
            }
        }
        REMOVED_FOLDER if inode(path).is_none() => {
            fs::DirBuilder::new()
                .mode((change.mode & 0o7777) as u32)
                .create(path)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn read(log: &Path) -> io::Result<Vec<Recorded>> {
    let bytes = match fs::read(log) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut recorded = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((head, after)) = rest.split_first_chunk::<{ CHANGE_BYTES as usize }>() {
        let change = Change::from_bytes(head);
        let (path_bytes, new_path_bytes) = (change.path_bytes as usize, change.new_path_bytes as usize);
        if change.kind == 0 || after.len() < path_bytes + new_path_bytes {
            break; // the last one was cut
        }
        let path_from = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let (path, after) = after.split_at(path_bytes);
        let (new_path, after) = after.split_at(new_path_bytes);
        let position = (bytes.len() - rest.len()) as u64;
        recorded.push(Recorded {
            position,
            change,
            path: path_from(path),
            new_path: path_from(new_path),
        });
        rest = after;
    }
    Ok(recorded)
}
