//! Which descriptors are files of the data folder.
//!
//! The table is a cache: forgetting is always safe. A descriptor is forgotten when it is opened, duplicated or closed, also by a
//! `vfork`ed child that shares the parent's memory.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{settings, sys};

#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
pub enum Kind {
    Unknown,
    Other,
    File,
    Folder,
}

const KNOWN: usize = 1 << 16;
static KINDS: [AtomicU8; KNOWN] = [const { AtomicU8::new(Kind::Unknown as u8) }; KNOWN];

/// Costs a load from memory for a descriptor that is known, so sockets are not slowed.
pub fn kind(fd: c_int) -> Kind {
    let place = usize::try_from(fd).ok().and_then(|index| KINDS.get(index));
    match place.map(|place| place.load(Ordering::Relaxed)) {
        Some(1) => return Kind::Other,
        Some(2) => return Kind::File,
        Some(3) => return Kind::Folder,
        _ => {}
    }
    let Some(kind) = find(fd) else { return Kind::Other };
    if let Some(place) = place {
        place.store(kind as u8, Ordering::Relaxed);
    }
    kind
}

/// `None` before the library is initialised, when nothing may be remembered.
fn find(fd: c_int) -> Option<Kind> {
    let settings = settings::get()?;
    let status = sys::Status::of(fd)?;
    let kind = if status.is(libc::S_IFREG) {
        Kind::File
    } else if status.is(libc::S_IFDIR) {
        Kind::Folder
    } else {
        return Some(Kind::Other);
    };
    let path = sys::path_of(fd)?;
    Some(if settings.is_data(path.bytes()) {
        kind
    } else {
        Kind::Other
    })
}

pub fn forget(fd: c_int) {
    if let Some(place) = usize::try_from(fd).ok().and_then(|index| KINDS.get(index)) {
        place.store(Kind::Unknown as u8, Ordering::Relaxed);
    }
}

pub fn forget_from(first: u32, last: u32) {
    for place in KINDS.iter().take(last as usize + 1).skip(first as usize) {
        place.store(Kind::Unknown as u8, Ordering::Relaxed);
    }
}
