//! fjall, embedded (pure Rust): a log-structured merge tree in a folder, with a journal.
//!
//! Its database with transactions of one writer: one transaction writes at a time, and the next waits for it; each reader
//! sees a snapshot. So isolation is serializable, always. A write outside of a transaction is a transaction with a commit of
//! its own. What a commit waits for: `full` for the disk (`PersistMode::SyncData`), `relaxed` for the kernel (`Buffer`, fjall's
//! own default), `none` for nothing: the journal's buffer is in the process. A value read is counted, not copied; a
//! transaction and what it writes are allocated, as fjall does it.
//!
//! Source: docs.rs/fjall, `PersistMode`, `SingleWriterTxDatabase`.
use crate::embedded::{Bytes, Durability, EmbeddedDriver, Kept, OFFERS, Opened, RUNNERS, Store};
use crate::embedded::{io_class, not_opened};
use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Make, object};
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::run::{Isolation, RunSpec};
use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace,
    SingleWriterWriteTx, Snapshot,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

pub const DRIVER: Registration = Registration {
    kind: "fjall",
    options: Options::of::<FjallSpec>(),
    library: || format!("fjall {VERSION}"),
    isolation: &[Isolation::Serializable],
    client: ClientLibrary {
        name: FjallStore::CLIENT,
        runners: RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

/// As in Cargo.toml.
const VERSION: &str = "3.1.13";

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct FjallSpec {
    /// The store's folder.
    #[schemars(extend("system" = true))]
    pub path: String,
    #[schemars(extend("system" = true))]
    pub durability: Durability,
    /// Memory for blocks of the tree.
    #[schemars(range(min = 1_048_576))]
    pub cache_bytes: u64,
    /// Writes that are collected in memory before they become a file.
    #[schemars(range(min = 1_048_576))]
    pub memtable_bytes: u64,
    /// The most that the journal grows to.
    #[schemars(range(min = 67_108_864))]
    pub journal_bytes: u64,
}

/// fjall's own.
impl Default for FjallSpec {
    fn default() -> Self {
        Self {
            path: String::new(),
            durability: Durability::Relaxed,
            cache_bytes: 32 << 20,
            memtable_bytes: 64 << 20,
            journal_bytes: 512 << 20,
        }
    }
}

fn driver(spec: &RunSpec) -> Result<EmbeddedDriver<FjallStore>, Trouble> {
    EmbeddedDriver::new(registration::options(spec)?, spec.isolation)
}

pub struct FjallStore {
    keyspace: SingleWriterTxKeyspace,
    database: SingleWriterTxDatabase,
    persisted: Option<PersistMode>,
}

impl Store for FjallStore {
    type Spec = FjallSpec;
    type Session = FjallSession;
    const CLIENT: &'static str = "fjall";
    const LEVEL: Isolation = Isolation::Serializable;

    fn opened() -> &'static Opened<Self> {
        static OPENED: Opened<FjallStore> = Opened::none();
        &OPENED
    }

    fn path(spec: &FjallSpec) -> &Path {
        Path::new(&spec.path)
    }

    fn open(spec: &FjallSpec) -> Result<Self, Trouble> {
        let opened = || {
            let database = SingleWriterTxDatabase::builder(Self::path(spec))
                .cache_size(spec.cache_bytes)
                .max_journaling_size(spec.journal_bytes)
                .open()?;
            let options = || KeyspaceCreateOptions::default().max_memtable_size(spec.memtable_bytes);
            Ok((database.keyspace("bakeoff", options)?, database))
        };
        let (keyspace, database) =
            opened().map_err(|error: fjall::Error| not_opened("fjall", Self::path(spec), error))?;
        Ok(Self {
            keyspace,
            database,
            persisted: match spec.durability {
                Durability::Full => Some(PersistMode::SyncData),
                Durability::Relaxed => Some(PersistMode::Buffer),
                Durability::None => None,
            },
        })
    }

    fn session(store: &Arc<Kept<Self>>) -> Result<FjallSession, OpError> {
        Ok(FjallSession {
            open: Open::Nothing,
            kept: store.clone(),
        })
    }

    fn flush(&self) -> Result<(), OpError> {
        self.database.persist(PersistMode::SyncAll).map_err(op_error)
    }
}

pub struct FjallSession {
    /// Borrows from `kept`: declared first, so dropped first.
    open: Open,
    kept: Arc<Kept<FjallStore>>,
}

enum Open {
    Nothing,
    Reads(Snapshot),
    Writes(Box<SingleWriterWriteTx<'static>>),
}

impl FjallSession {
    fn writing(&mut self) -> Result<(&mut SingleWriterWriteTx<'static>, &SingleWriterTxKeyspace), OpError> {
        match &mut self.open {
            Open::Writes(transaction) => Ok((transaction, &self.kept.store.keyspace)),
            _ => Err(OpError::fail(
                FailClass::Refused,
                "NO_TRANSACTION",
                "no transaction is open that writes",
            )),
        }
    }
}

impl Bytes for FjallSession {
    fn get<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError> {
        let keyspace = &self.kept.store.keyspace;
        let found = match &self.open {
            Open::Nothing => keyspace.get(key),
            Open::Reads(snapshot) => snapshot.get(keyspace, key),
            Open::Writes(transaction) => transaction.get(keyspace, key),
        };
        Ok(found.map_err(op_error)?.map(|value| read(&value)))
    }

    fn scan(&mut self, from: &[u8], mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), OpError> {
        let store = &self.kept.store;
        let found = match &self.open {
            Open::Nothing => store.database.read_tx().range(&store.keyspace, from..),
            Open::Reads(snapshot) => snapshot.range(&store.keyspace, from..),
            Open::Writes(transaction) => transaction.range(&store.keyspace, from..),
        };
        for one in found {
            let (key, value) = one.into_inner().map_err(op_error)?;
            if !each(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn begin(&mut self, writes: bool) -> Result<(), OpError> {
        let store = &self.kept.store;
        self.open = if writes {
            let transaction = store.database.write_tx().durability(store.persisted);
            // SAFETY: it borrows from the store inside an `Arc` that this session keeps, whose place in memory never changes;
            // `open` is private, hands no transaction out beyond `&mut self`, and is dropped first.
            let transaction = unsafe {
                std::mem::transmute::<SingleWriterWriteTx<'_>, SingleWriterWriteTx<'static>>(transaction)
            };
            Open::Writes(Box::new(transaction))
        } else {
            Open::Reads(store.database.read_tx())
        };
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), OpError> {
        let (transaction, keyspace) = self.writing()?;
        transaction.insert(keyspace, key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), OpError> {
        let (transaction, keyspace) = self.writing()?;
        transaction.remove(keyspace, key);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), OpError> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Writes(transaction) => transaction.commit().map_err(op_error),
            _ => Ok(()),
        }
    }

    fn rollback(&mut self) {
        // Dropped, a transaction is undone.
        self.open = Open::Nothing;
    }
}

/// Its errors by what they mean for the operation.
#[cold]
fn op_error(error: fjall::Error) -> OpError {
    let (code, class) = match &error {
        fjall::Error::Io(io) | fjall::Error::Storage(fjall::LsmError::Io(io)) => ("IO", io_class(io)),
        fjall::Error::Locked => ("LOCKED", FailClass::Refused),
        // After a write has failed it takes no more.
        fjall::Error::Poisoned => ("POISONED", FailClass::Refused),
        _ => ("FJALL", FailClass::Other),
    };
    OpError::fail(class, code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::Outcome;

    #[test]
    fn the_version_is_that_of_the_lock_file() {
        let locked = include_str!("../../../Cargo.lock");
        assert!(locked.contains(&format!("name = \"fjall\"\nversion = \"{VERSION}\"")));
    }

    #[test]
    fn a_full_disk_is_overload_and_a_store_that_failed_refuses() {
        let full = fjall::Error::Io(std::io::ErrorKind::StorageFull.into());
        assert_eq!(op_error(full).outcome, Outcome::Fail(FailClass::Overload));
        let poisoned = op_error(fjall::Error::Poisoned);
        assert_eq!(poisoned.outcome, Outcome::Fail(FailClass::Refused));
    }
}
