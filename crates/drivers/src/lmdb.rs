//! LMDB, embedded (its C library, compiled in): a B-tree in a memory-mapped file, copied on write.
//!
//! One transaction writes at a time, in all processes, and the next waits for it; each reader sees a snapshot. So isolation is
//! serializable, always. A write outside of a transaction is a transaction with a commit of its own. A session keeps one read
//! transaction, and a cursor of it, renewed for each read: nothing is allocated in Rust, and a write takes what LMDB takes.
//!
//! Source: lmdb.h, `mdb_env_open` (flags), `mdb_txn_reset`, `mdb_cursor_renew`, `MDB_NOTLS`.
use crate::embedded::{Bytes, Durability, EmbeddedDriver, Kept, OFFERS, Opened, RUNNERS, Store};
use crate::embedded::{io_class, not_opened};
use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Make, object};
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::run::{Isolation, RunSpec};
use lmdb_master_sys as ffi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

pub const DRIVER: Registration = Registration {
    kind: "lmdb",
    options: Options::of::<LmdbSpec>(),
    library: version,
    isolation: &[Isolation::Serializable],
    client: ClientLibrary {
        name: LmdbStore::CLIENT,
        runners: RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

/// More sessions than a plan has threads; each takes a cache line of the lock file.
const READERS: c_uint = 16_384;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct LmdbSpec {
    /// The store's folder.
    #[schemars(extend("system" = true))]
    pub path: String,
    #[schemars(extend("system" = true))]
    pub durability: Durability,
    /// The most that the file may grow to: address space, not memory. LMDB's own default is 10 MiB.
    #[schemars(range(min = 1_048_576))]
    pub map_bytes: u64,
    /// Write into the memory map instead of with system calls (`MDB_WRITEMAP`).
    pub write_map: bool,
    /// Let the kernel read ahead (off: `MDB_NORDAHEAD`).
    pub read_ahead: bool,
}

impl Default for LmdbSpec {
    fn default() -> Self {
        Self {
            path: String::new(),
            durability: Durability::Full,
            map_bytes: 64 << 30,
            write_map: false,
            read_ahead: true,
        }
    }
}

impl LmdbSpec {
    fn flags(&self) -> c_uint {
        let synced = match self.durability {
            Durability::Full => 0,
            Durability::Relaxed => ffi::MDB_NOMETASYNC,
            Durability::None => ffi::MDB_NOSYNC,
        };
        let if_set = |set: bool, flag| if set { flag } else { 0 };
        // Sessions are not bound to threads.
        ffi::MDB_NOTLS
            | synced
            | if_set(self.write_map, ffi::MDB_WRITEMAP)
            | if_set(!self.read_ahead, ffi::MDB_NORDAHEAD)
    }
}

fn version() -> String {
    // SAFETY: takes null for numbers that nobody wants; the text is the library's and constant.
    let said = unsafe { CStr::from_ptr(ffi::mdb_version(null_mut(), null_mut(), null_mut())) };
    let said = said.to_string_lossy();
    said.split(':').next().unwrap_or_default().to_owned()
}

fn driver(spec: &RunSpec) -> Result<EmbeddedDriver<LmdbStore>, Trouble> {
    EmbeddedDriver::new(registration::options(spec)?, spec.isolation)
}

pub struct LmdbStore {
    environment: Environment,
    /// Of the one database without a name.
    database: ffi::MDB_dbi,
}

struct Environment(*mut ffi::MDB_env);

// SAFETY: lmdb.h: an environment is shared by all threads of a process.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: sessions, which have transactions and cursors, keep the store; so none is left.
        unsafe { ffi::mdb_env_close(self.0) };
    }
}

impl Environment {
    fn open(spec: &LmdbSpec) -> Result<Self, OpError> {
        let path = CString::new(Path::new(&spec.path).as_os_str().as_bytes());
        let path = path.map_err(|_| OpError::fail(FailClass::Refused, "PATH", "a path has no zero byte"))?;
        let mut environment = null_mut();
        // SAFETY: fills the pointer that it is given.
        checked(unsafe { ffi::mdb_env_create(&mut environment) })?;
        let made = Self(environment);
        // SAFETY: made and not opened yet, which is when these may be set; the path ends with a zero byte.
        unsafe {
            checked(ffi::mdb_env_set_mapsize(made.0, spec.map_bytes as _))?;
            checked(ffi::mdb_env_set_maxreaders(made.0, READERS))?;
            checked(ffi::mdb_env_open(made.0, path.as_ptr(), spec.flags(), 0o600))?;
        }
        Ok(made)
    }

    fn begin(&self, flags: c_uint) -> Result<*mut ffi::MDB_txn, OpError> {
        let mut transaction = null_mut();
        // SAFETY: the environment is open; fills the pointer that it is given.
        checked(unsafe { ffi::mdb_txn_begin(self.0, null_mut(), flags, &mut transaction) })?;
        Ok(transaction)
    }
}

impl Store for LmdbStore {
    type Spec = LmdbSpec;
    type Session = LmdbSession;
    const CLIENT: &'static str = "lmdb";
    const LEVEL: Isolation = Isolation::Serializable;

    fn opened() -> &'static Opened<Self> {
        static OPENED: Opened<LmdbStore> = Opened::none();
        &OPENED
    }

    fn path(spec: &LmdbSpec) -> &Path {
        Path::new(&spec.path)
    }

    fn open(spec: &LmdbSpec) -> Result<Self, Trouble> {
        let path = Self::path(spec);
        let failed = |error: &dyn std::fmt::Display| not_opened("LMDB", path, error);
        if !path.is_dir() {
            std::fs::create_dir(path).map_err(|error| failed(&error))?;
        }
        let environment = Environment::open(spec).map_err(|error| failed(&error))?;
        let transaction = environment.begin(0).map_err(|error| failed(&error))?;
        let mut database = 0;
        // SAFETY: the transaction was just begun, and ends here.
        let opened = unsafe {
            let opened = checked(ffi::mdb_dbi_open(transaction, std::ptr::null(), 0, &mut database));
            opened.and(checked(ffi::mdb_txn_commit(transaction)))
        };
        opened.map_err(|error| failed(&error))?;
        Ok(Self {
            environment,
            database,
        })
    }

    fn session(store: &Arc<Kept<Self>>) -> Result<LmdbSession, OpError> {
        let environment = &store.store.environment;
        let reader = environment.begin(ffi::MDB_RDONLY)?;
        // The session has it from here on, and ends it.
        let mut session = LmdbSession {
            reader,
            cursor: null_mut(),
            writer: null_mut(),
            reads: false,
            kept: store.clone(),
        };
        // SAFETY: the transaction is the session's and open.
        checked(unsafe { ffi::mdb_cursor_open(reader, store.store.database, &mut session.cursor) })?;
        // SAFETY: as above; it is renewed before it is used.
        unsafe { ffi::mdb_txn_reset(reader) };
        Ok(session)
    }

    fn flush(&self) -> Result<(), OpError> {
        // SAFETY: the environment is open.
        checked(unsafe { ffi::mdb_env_sync(self.environment.0, 1) })
    }
}

/// Its pointers are valid for as long as it lives; `writer` is null where no transaction is open that writes. A reader is
/// reset but while it is read, so that it keeps no old pages from being used again.
pub struct LmdbSession {
    reader: *mut ffi::MDB_txn,
    cursor: *mut ffi::MDB_cursor,
    writer: *mut ffi::MDB_txn,
    /// A transaction that only reads is open: the reader keeps its snapshot.
    reads: bool,
    kept: Arc<Kept<LmdbStore>>,
}

impl Drop for LmdbSession {
    fn drop(&mut self) {
        self.rollback();
        // SAFETY: both are the session's; the cursor of a transaction that reads outlives it and is closed by itself.
        unsafe {
            if !self.cursor.is_null() {
                ffi::mdb_cursor_close(self.cursor);
            }
            ffi::mdb_txn_abort(self.reader);
        }
    }
}

impl LmdbSession {
    /// What `ask` learns in the transaction that is open, or of the newest commits.
    #[inline]
    fn reading<T>(
        &mut self,
        ask: impl FnOnce(&Self, *mut ffi::MDB_txn) -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        if !self.writer.is_null() {
            return ask(self, self.writer);
        }
        if self.reads {
            return ask(self, self.reader);
        }
        // SAFETY: it was reset.
        checked(unsafe { ffi::mdb_txn_renew(self.reader) })?;
        let learnt = ask(self, self.reader);
        // SAFETY: it was renewed.
        unsafe { ffi::mdb_txn_reset(self.reader) };
        learnt
    }

    fn writer(&self) -> Result<*mut ffi::MDB_txn, OpError> {
        if self.writer.is_null() {
            let what = "no transaction is open that writes";
            return Err(OpError::fail(FailClass::Refused, "NO_TRANSACTION", what));
        }
        Ok(self.writer)
    }
}

/// From where the cursor is put.
fn walk(
    cursor: *mut ffi::MDB_cursor,
    from: &[u8],
    mut each: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<(), OpError> {
    let (mut key, mut value) = (val(from), val(&[]));
    let mut step = ffi::MDB_SET_RANGE;
    loop {
        // SAFETY: the cursor is of a transaction that is open; key and value are set to memory of the map, which stays as it is
        // until the transaction ends or writes, and `each` does neither.
        match unsafe { ffi::mdb_cursor_get(cursor, &mut key, &mut value, step) } {
            ffi::MDB_NOTFOUND => return Ok(()),
            code => checked(code)?,
        }
        // SAFETY: as above.
        if !each(unsafe { bytes(&key) }, unsafe { bytes(&value) }) {
            return Ok(());
        }
        step = ffi::MDB_NEXT;
    }
}

#[inline]
fn val(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: bytes.len() as _,
        mv_data: bytes.as_ptr().cast_mut().cast(),
    }
}

/// # Safety
/// LMDB has set it, and its transaction neither ended nor wrote.
#[inline]
unsafe fn bytes(val: &ffi::MDB_val) -> &[u8] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(val.mv_data.cast(), val.mv_size) }
}

impl Bytes for LmdbSession {
    #[inline]
    fn get<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError> {
        self.reading(|session, transaction| {
            let (mut key, mut value) = (val(key), val(&[]));
            let database = session.kept.store.database;
            // SAFETY: the transaction is open; LMDB does not write to a key.
            match unsafe { ffi::mdb_get(transaction, database, &mut key, &mut value) } {
                ffi::MDB_NOTFOUND => Ok(None),
                code => {
                    checked(code)?;
                    // SAFETY: it was just set.
                    Ok(Some(read(unsafe { bytes(&value) })))
                }
            }
        })
    }

    fn scan(&mut self, from: &[u8], each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), OpError> {
        self.reading(|session, transaction| {
            if transaction == session.reader {
                // SAFETY: the cursor was opened in the same transaction, which has been renewed since.
                checked(unsafe { ffi::mdb_cursor_renew(transaction, session.cursor) })?;
                return walk(session.cursor, from, each);
            }
            let mut cursor = null_mut();
            // SAFETY: the transaction is open, and the cursor is closed before it ends.
            unsafe {
                checked(ffi::mdb_cursor_open(
                    transaction,
                    session.kept.store.database,
                    &mut cursor,
                ))?;
                let walked = walk(cursor, from, each);
                ffi::mdb_cursor_close(cursor);
                walked
            }
        })
    }

    #[inline]
    fn begin(&mut self, writes: bool) -> Result<(), OpError> {
        if writes {
            self.writer = self.kept.store.environment.begin(0)?;
        } else {
            // SAFETY: it was reset: no transaction is open.
            checked(unsafe { ffi::mdb_txn_renew(self.reader) })?;
            self.reads = true;
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), OpError> {
        let (mut key, mut value) = (val(key), val(value));
        // SAFETY: the transaction is open; LMDB copies both.
        checked(unsafe { ffi::mdb_put(self.writer()?, self.kept.store.database, &mut key, &mut value, 0) })
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), OpError> {
        let mut key = val(key);
        // SAFETY: the transaction is open.
        match unsafe { ffi::mdb_del(self.writer()?, self.kept.store.database, &mut key, null_mut()) } {
            ffi::MDB_NOTFOUND => Ok(()),
            code => checked(code),
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), OpError> {
        let writer = self.writer()?;
        self.writer = null_mut();
        // SAFETY: it is open; afterwards it is gone, whatever comes of it.
        checked(unsafe { ffi::mdb_txn_commit(writer) })
    }

    fn rollback(&mut self) {
        let writer = std::mem::replace(&mut self.writer, null_mut());
        if !writer.is_null() {
            // SAFETY: it is open; afterwards it is gone.
            unsafe { ffi::mdb_txn_abort(writer) };
        }
        if std::mem::take(&mut self.reads) {
            // SAFETY: it was renewed.
            unsafe { ffi::mdb_txn_reset(self.reader) };
        }
    }
}

#[inline]
fn checked(code: c_int) -> Result<(), OpError> {
    if code == ffi::MDB_SUCCESS {
        Ok(())
    } else {
        Err(op_error(code))
    }
}

/// Its own codes are negative, the operating system's are not (lmdb.h, "Return Codes").
#[cold]
fn op_error(code: c_int) -> OpError {
    let (name, class) = match code {
        ffi::MDB_MAP_FULL => ("MDB_MAP_FULL", FailClass::Overload),
        ffi::MDB_TXN_FULL => ("MDB_TXN_FULL", FailClass::Overload),
        ffi::MDB_READERS_FULL => ("MDB_READERS_FULL", FailClass::Overload),
        // A key longer than 511 bytes.
        ffi::MDB_BAD_VALSIZE => ("MDB_BAD_VALSIZE", FailClass::Constraint),
        ffi::MDB_INVALID => ("MDB_INVALID", FailClass::Refused),
        ffi::MDB_VERSION_MISMATCH => ("MDB_VERSION_MISMATCH", FailClass::Refused),
        ffi::MDB_CORRUPTED => ("MDB_CORRUPTED", FailClass::Other),
        ffi::MDB_PANIC => ("MDB_PANIC", FailClass::Other),
        code if code > 0 => ("OS", io_class(&std::io::Error::from_raw_os_error(code))),
        _ => ("MDB", FailClass::Other),
    };
    // SAFETY: a constant text, or one that stays until this thread asks for another.
    let said = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    OpError::fail(class, format!("{name} ({code})"), said.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::Outcome;

    #[test]
    fn a_full_map_or_disk_is_overload_and_a_long_key_breaks_a_constraint() {
        for (code, class) in [
            (ffi::MDB_MAP_FULL, FailClass::Overload),
            (28, FailClass::Overload), // ENOSPC
            (13, FailClass::Refused),  // EACCES
            (ffi::MDB_BAD_VALSIZE, FailClass::Constraint),
            (ffi::MDB_CORRUPTED, FailClass::Other),
            (5, FailClass::Other), // EIO
        ] {
            assert_eq!(op_error(code).outcome, Outcome::Fail(class), "{code}");
        }
    }

    #[test]
    fn the_library_says_its_version() {
        assert!(version().starts_with("LMDB 0.9."), "{}", version());
    }
}
