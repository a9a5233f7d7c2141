//! RocksDB, embedded (its shared library, loaded at run time): a log-structured merge tree in a folder, with a log.
//!
//! Its TransactionDB: a transaction locks each key that it writes, or reads in order to write, and waits for a key that another
//! has locked as long as the run's timeout; then it fails, as a conflict. Its other reads see the newest commits, so isolation
//! is read committed; a transaction that only reads sees a snapshot. A write outside of a transaction is a transaction with a
//! commit of its own. A session begins all its transactions in one object. In Rust nothing is allocated per operation; RocksDB
//! allocates the handle of each value and the iterator of each scan.
//!
//! Sources: rocksdb/c.h; RocksDB wiki, "Transactions", "WAL Performance".
mod library;

use crate::embedded::{Bytes, Durability, EmbeddedDriver, Kept, OFFERS, Opened, RUNNERS, Store, not_opened};
use crate::loaded::not_loaded;
use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Make, object};
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::run::{Isolation, RunSpec};
use library::{Api, Object, bytes, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: Registration = Registration {
    kind: "rocksdb",
    options: Options::of::<RocksdbSpec>(),
    library: || "RocksDB (its C API, loaded at run time)".into(),
    isolation: &[Isolation::ReadCommitted],
    client: ClientLibrary {
        name: RocksdbStore::CLIENT,
        runners: RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RocksdbSpec {
    /// The store's folder.
    #[schemars(extend("system" = true))]
    pub path: String,
    /// RocksDB's shared library.
    #[schemars(extend("system" = true))]
    pub library: String,
    #[schemars(extend("system" = true))]
    pub durability: Durability,
    /// RocksDB's own options, as in its options files (`write_buffer_size`, `block_based_table_factory`, ...).
    #[schemars(extend("system" = true))]
    pub settings: BTreeMap<String, String>,
}

impl Default for RocksdbSpec {
    fn default() -> Self {
        Self {
            path: String::new(),
            library: String::new(),
            durability: Durability::Relaxed,
            settings: BTreeMap::new(),
        }
    }
}

/// Of a run.
#[derive(Clone)]
pub struct Setup {
    spec: RocksdbSpec,
    timeout: Duration,
}

fn driver(spec: &RunSpec) -> Result<EmbeddedDriver<RocksdbStore>, Trouble> {
    let setup = Setup {
        spec: registration::options(spec)?,
        timeout: spec.timeout(),
    };
    EmbeddedDriver::new(setup, spec.isolation)
}

/// What `drop` has the library destroy. The objects that it needs are in places before it, or kept by who has it.
struct Owned {
    object: Object,
    destroy: unsafe extern "C" fn(Object),
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the library made it for us, and it is not used afterwards.
        unsafe { (self.destroy)(self.object) };
    }
}

// SAFETY: only a store's objects are used by several threads: the database, which is made for it (rocksdb/db.h, "safe for
// concurrent access"), and options, which are only read once they are set.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

pub struct RocksdbStore {
    /// Closed before its options go.
    database: Owned,
    reads: Owned,
    writes: Owned,
    transactions: Owned,
    api: Api,
    logs: bool,
}

impl RocksdbStore {
    fn made(setup: &Setup, api: Api) -> Result<Self, OpError> {
        let spec = &setup.spec;
        let settings: Vec<String> = spec
            .settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let (path, settings) = (text(&spec.path)?, text(&settings.join(";"))?);
        let owned = |make: unsafe extern "C" fn() -> Object, destroy| Owned {
            // SAFETY: makes an object out of nothing.
            object: unsafe { make() },
            destroy,
        };
        let base = owned(api.options_create, api.options_destroy);
        let options = owned(api.options_create, api.options_destroy);
        let of_transactions = owned(
            api.transactiondb_options_create,
            api.transactiondb_options_destroy,
        );
        let writes = owned(api.writeoptions_create, api.writeoptions_destroy);
        let transactions = owned(api.transaction_options_create, api.transaction_options_destroy);
        let wait_ms = i64::try_from(setup.timeout.as_millis()).unwrap_or(i64::MAX);
        // SAFETY: each is a living object of the kind that the function takes, and texts end with a zero byte.
        let database = unsafe {
            (api.options_set_create_if_missing)(base.object, 1);
            api.checked(|message| {
                (api.get_options_from_string)(base.object, settings.as_ptr(), options.object, message);
            })?;
            (api.writeoptions_set_sync)(writes.object, (spec.durability == Durability::Full).into());
            (api.writeoptions_disable_WAL)(writes.object, (spec.durability == Durability::None).into());
            (api.transaction_options_set_lock_timeout)(transactions.object, wait_ms);
            api.checked(|message| {
                (api.transactiondb_open)(options.object, of_transactions.object, path.as_ptr(), message)
            })?
        };
        Ok(Self {
            database: Owned {
                object: database,
                destroy: api.transactiondb_close,
            },
            reads: owned(api.readoptions_create, api.readoptions_destroy),
            writes,
            transactions,
            api,
            logs: spec.durability != Durability::None,
        })
    }
}

impl Store for RocksdbStore {
    type Spec = Setup;
    type Session = RocksdbSession;
    const CLIENT: &'static str = "rocksdb";
    const LEVEL: Isolation = Isolation::ReadCommitted;

    fn opened() -> &'static Opened<Self> {
        static OPENED: Opened<RocksdbStore> = Opened::none();
        &OPENED
    }

    fn path(setup: &Setup) -> &Path {
        Path::new(&setup.spec.path)
    }

    fn open(setup: &Setup) -> Result<Self, Trouble> {
        let library = &setup.spec.library;
        let api = Api::load(library).map_err(|error| not_loaded("RocksDB", "rocksdb", library, &error))?;
        Self::made(setup, api).map_err(|error| not_opened("RocksDB", Self::path(setup), error))
    }

    fn session(store: &Arc<Kept<Self>>) -> Result<RocksdbSession, OpError> {
        let api = store.store.api;
        Ok(RocksdbSession {
            transaction: null_mut(),
            snapshot: null(),
            open: Open::Nothing,
            of_snapshot: Owned {
                // SAFETY: makes an object out of nothing.
                object: unsafe { (api.readoptions_create)() },
                destroy: api.readoptions_destroy,
            },
            api,
            kept: store.clone(),
        })
    }

    /// What is in no log goes to files of the tree.
    fn flush(&self) -> Result<(), OpError> {
        let (api, database) = (self.api, self.database.object);
        if self.logs {
            // SAFETY: the database is open.
            return api.checked(|message| unsafe { (api.transactiondb_flush_wal)(database, 1, message) });
        }
        // SAFETY: makes an object out of nothing.
        let options = Owned {
            object: unsafe { (api.flushoptions_create)() },
            destroy: api.flushoptions_destroy,
        };
        // SAFETY: the database is open, and the options were just made.
        api.checked(|message| unsafe { (api.transactiondb_flush)(database, options.object, message) })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Open {
    Nothing,
    Reads,
    Writes,
}

/// Its objects are the session's own, made by the store that it keeps.
pub struct RocksdbSession {
    /// Null before the first; then the same one begins again and again.
    transaction: Object,
    /// Null where no transaction is open that only reads.
    snapshot: *const c_void,
    open: Open,
    of_snapshot: Owned,
    api: Api,
    kept: Arc<Kept<RocksdbStore>>,
}

impl Drop for RocksdbSession {
    fn drop(&mut self) {
        self.rollback();
        if !self.transaction.is_null() {
            // SAFETY: it is the session's.
            unsafe { (self.api.transaction_destroy)(self.transaction) };
        }
    }
}

impl RocksdbSession {
    fn reads(&self) -> Object {
        match self.open {
            Open::Reads => self.of_snapshot.object,
            _ => self.kept.store.reads.object,
        }
    }

    fn writing(&self) -> Result<Object, OpError> {
        if self.open == Open::Writes {
            return Ok(self.transaction);
        }
        let what = "no transaction is open that writes";
        Err(OpError::fail(FailClass::Refused, "NO_TRANSACTION", what))
    }

    /// What `read` makes of a value, which is null where there is none.
    #[inline]
    fn read<T>(&self, found: Object, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        if found.is_null() {
            return None;
        }
        let found = Owned {
            object: found,
            destroy: self.api.pinnableslice_destroy,
        };
        // SAFETY: the value belongs to `found`, which lives until it has been read.
        Some(read(unsafe {
            bytes(|length| (self.api.pinnableslice_value)(found.object, length))
        }))
    }
}

impl Bytes for RocksdbSession {
    #[inline]
    fn get<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError> {
        let (api, reads, store) = (self.api, self.reads(), &self.kept.store);
        let (start, length) = (key.as_ptr().cast(), key.len());
        // SAFETY: transaction, database and options live; the key is read before the call returns.
        let found = api.checked(|message| unsafe {
            match self.open {
                Open::Writes => (api.transaction_get_pinned)(self.transaction, reads, start, length, message),
                _ => (api.transactiondb_get_pinned)(store.database.object, reads, start, length, message),
            }
        })?;
        Ok(self.read(found, read))
    }

    #[inline]
    fn get_to_write<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError> {
        let (api, reads, transaction) = (self.api, self.reads(), self.writing()?);
        let (start, length) = (key.as_ptr().cast(), key.len());
        // SAFETY: transaction and options live; the key is read before the call returns.
        let found = api.checked(|message| unsafe {
            (api.transaction_get_pinned_for_update)(transaction, reads, start, length, 1, message)
        })?;
        Ok(self.read(found, read))
    }

    fn scan(&mut self, from: &[u8], mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), OpError> {
        let (api, reads) = (self.api, self.reads());
        // SAFETY: transaction, database and options live, and longer than the iterator. Key and value belong to it, and stay
        // until it is moved.
        unsafe {
            let iterator = Owned {
                object: match self.open {
                    Open::Writes => (api.transaction_create_iterator)(self.transaction, reads),
                    _ => (api.transactiondb_create_iterator)(self.kept.store.database.object, reads),
                },
                destroy: api.iter_destroy,
            };
            let at = iterator.object;
            (api.iter_seek)(at, from.as_ptr().cast(), from.len());
            while (api.iter_valid)(at) != 0 {
                let key = bytes(|length| (api.iter_key)(at, length));
                if !each(key, bytes(|length| (api.iter_value)(at, length))) {
                    return Ok(());
                }
                (api.iter_next)(at);
            }
            api.checked(|message| (api.iter_get_error)(at, message))
        }
    }

    #[inline]
    fn begin(&mut self, writes: bool) -> Result<(), OpError> {
        let (api, store) = (self.api, &self.kept.store);
        // SAFETY: database and options live; the transaction is null, or has ended and is the session's.
        unsafe {
            if writes {
                let (options, how) = (store.writes.object, store.transactions.object);
                self.transaction =
                    (api.transaction_begin)(store.database.object, options, how, self.transaction);
                self.open = Open::Writes;
            } else {
                self.snapshot = (api.transactiondb_create_snapshot)(store.database.object);
                (api.readoptions_set_snapshot)(self.of_snapshot.object, self.snapshot);
                self.open = Open::Reads;
            }
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), OpError> {
        let (api, transaction) = (self.api, self.writing()?);
        let (key, key_length) = (key.as_ptr().cast(), key.len());
        let (value, length) = (value.as_ptr().cast(), value.len());
        // SAFETY: the transaction is open; both are copied.
        api.checked(|message| unsafe {
            (api.transaction_put)(transaction, key, key_length, value, length, message);
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), OpError> {
        let (api, transaction) = (self.api, self.writing()?);
        // SAFETY: the transaction is open; the key is copied.
        api.checked(|message| unsafe {
            (api.transaction_delete)(transaction, key.as_ptr().cast(), key.len(), message);
        })
    }

    #[inline]
    fn commit(&mut self) -> Result<(), OpError> {
        let (api, transaction) = (self.api, self.writing()?);
        // SAFETY: the transaction is open.
        let done = api.checked(|message| unsafe { (api.transaction_commit)(transaction, message) });
        match done {
            Ok(()) => self.open = Open::Nothing,
            // It is open still, with its locks.
            Err(_) => self.rollback(),
        }
        done
    }

    fn rollback(&mut self) {
        let (api, store) = (self.api, &self.kept.store);
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            // SAFETY: the snapshot is the session's, and its options name it no more.
            Open::Reads => unsafe {
                (api.readoptions_set_snapshot)(self.of_snapshot.object, null());
                (api.transactiondb_release_snapshot)(store.database.object, self.snapshot);
                self.snapshot = null();
            },
            Open::Writes => {
                // SAFETY: the transaction is open.
                let undone =
                    api.checked(|message| unsafe { (api.transaction_rollback)(self.transaction, message) });
                if undone.is_err() {
                    // SAFETY: it is the session's; the next one begins in a new object.
                    unsafe { (api.transaction_destroy)(self.transaction) };
                    self.transaction = null_mut();
                }
            }
        }
    }
}
