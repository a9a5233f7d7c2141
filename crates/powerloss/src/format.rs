//! What is in the journal's folder, as the library writes it and the program reads it. All numbers are little-endian.
//!
//! ```text
//! JOURNAL/inode/DEVICE-INODE   a header, then records: what one file held before each write since its last sync
//! JOURNAL/changes              names that were made, removed or changed, and syncs of folders; strict mode only
//! JOURNAL/kept/NUMBER          links to files whose names were removed; strict mode only
//! JOURNAL/notes                lines KIND, PROCESS, DETAIL: who was seen, and what the library cannot undo
//! JOURNAL/alive                locked by every process that has the library
//! ```

pub const HEADER_BYTES: u64 = 64;
pub const RECORD_BYTES: u64 = 32;
const MAGIC: u64 = u64::from_le_bytes(*b"bakeoff1");

/// Numbers one after the other, as bytes.
fn to_bytes<const NUMBERS: usize, const BYTES: usize>(numbers: [u64; NUMBERS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn number(bytes: &[u8], index: usize) -> u64 {
    let mut place = [0; 8];
    place.copy_from_slice(&bytes[8 * index..8 * index + 8]);
    u64::from_le_bytes(place)
}

/// The head of one file's journal.
#[derive(Clone, Copy, Default)]
pub struct Header {
    pub device: u64,
    pub inode: u64,
    /// A journal of an earlier file with the same inode number is recognised by it.
    pub born_ns: u64,
    /// Where the first record since the last sync is.
    pub base: u64,
    /// The file's size at that sync: undoing begins by going back to it.
    pub base_size: u64,
    /// Beyond it nothing needs to be saved, since undoing cuts it off.
    pub synced_size: u64,
    /// How often the records were thrown away. Positions of an earlier epoch mean nothing.
    pub epoch: u64,
}

impl Header {
    pub fn to_bytes(self) -> [u8; HEADER_BYTES as usize] {
        let Header {
            device,
            inode,
            born_ns,
            base,
            base_size,
            synced_size,
            epoch,
        } = self;
        to_bytes([MAGIC, device, inode, born_ns, base, base_size, synced_size, epoch])
    }

    pub fn from_bytes(bytes: &[u8; HEADER_BYTES as usize]) -> Option<Header> {
        (number(bytes, 0) == MAGIC).then(|| Header {
            device: number(bytes, 1),
            inode: number(bytes, 2),
            born_ns: number(bytes, 3),
            base: number(bytes, 4),
            base_size: number(bytes, 5),
            synced_size: number(bytes, 6),
            epoch: number(bytes, 7),
        })
    }
}

/// After `sync`, which covers files that are not open. The next call that changes the file fills it in.
pub const UNKNOWN_SIZE: u64 = u64::MAX;

/// `length` old bytes of `offset` follow.
pub const SAVED: u64 = 1;
/// `length` bytes at `offset` were written and synced by one call (O_DSYNC): undoing what is older leaves them.
pub const SYNCED: u64 = 2;
/// A sync began when the file had `offset` bytes. `token` says whose.
pub const MARK: u64 = 3;

#[derive(Clone, Copy)]
pub struct Record {
    pub kind: u64,
    pub offset: u64,
    pub length: u64,
    pub token: u64,
}

impl Record {
    pub fn new(kind: u64, offset: u64, length: u64) -> Record {
        Record {
            kind,
            offset,
            length,
            token: 0,
        }
    }

    pub fn to_bytes(self) -> [u8; RECORD_BYTES as usize] {
        to_bytes([self.kind, self.offset, self.length, self.token])
    }

    pub fn from_bytes(bytes: &[u8; RECORD_BYTES as usize]) -> Record {
        Record {
            kind: number(bytes, 0),
            offset: number(bytes, 1),
            length: number(bytes, 2),
            token: number(bytes, 3),
        }
    }

    /// With the bytes that follow it.
    pub fn total_bytes(&self) -> u64 {
        RECORD_BYTES + if self.kind == SAVED { self.length } else { 0 }
    }
}

/// A change of names: nine fields, each followed by a zero byte. The kind, then hexadecimal numbers (device and inode of the
/// folder of the name, the same of the new name, the inode that is named, and an extra one), the name, and the new name.
pub const CHANGE_FIELDS: usize = 9;
pub const CREATED: &str = "created";
/// The extra number is that of the link to the file.
pub const REMOVED: &str = "removed";
/// The extra number is that of the link to what had the new name before.
pub const RENAMED: &str = "renamed";
/// An empty folder. The extra number is its mode.
pub const REMOVED_FOLDER: &str = "removed_folder";
/// A folder was synced: changes before the position that the extra number gives are durable.
pub const FOLDER_SYNCED: &str = "folder_synced";
/// No file was linked.
pub const NONE: u64 = u64::MAX;
