//! redb, embedded (pure Rust): a B-tree in one file, copied on write.
//!
//! One transaction writes at a time, and the next waits for it; each reader sees a snapshot. So isolation is serializable,
//! always. A write outside of a transaction is a transaction with a commit of its own. `Durability::Immediate` syncs the file
//! with each commit; with `Durability::None` commits stay in the process until it closes the store, and are lost with it.
//! Every operation opens the store's one table, which allocates: redb keeps no table open between transactions.
//!
//! Source: docs.rs/redb, `Durability`, `WriteTransaction`, `Builder`.
use crate::embedded::{Bytes, Durability, EmbeddedDriver, Kept, OFFERS, Opened, RUNNERS, Store};
use crate::embedded::{io_class, not_opened};
use crate::registration::{self, ClientLibrary, Options, Registration};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{Make, object};
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::run::{Isolation, RunSpec};
use redb::{
    Builder, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

pub const DRIVER: Registration = Registration {
    kind: "redb",
    options: Options::of::<RedbSpec>(),
    library: || format!("redb {VERSION}"),
    isolation: &[Isolation::Serializable],
    client: ClientLibrary {
        name: RedbStore::CLIENT,
        runners: RUNNERS,
        offers: OFFERS,
        make: Make::Records(|spec| Ok(object(driver(spec)?, AnyRecords::new))),
    },
};

/// As in Cargo.toml.
const VERSION: &str = "4.6.0";
const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("bakeoff");

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RedbSpec {
    /// The store's file.
    #[schemars(extend("system" = true))]
    pub path: String,
    /// `full` or `none`.
    #[schemars(extend("system" = true))]
    pub durability: Durability,
    /// Memory for pages of the file; redb's own default is 1 GiB.
    #[schemars(range(min = 1_048_576))]
    pub cache_bytes: u64,
}

impl Default for RedbSpec {
    fn default() -> Self {
        Self {
            path: String::new(),
            durability: Durability::Full,
            cache_bytes: 1 << 30,
        }
    }
}

fn driver(spec: &RunSpec) -> Result<EmbeddedDriver<RedbStore>, Trouble> {
    EmbeddedDriver::new(registration::options(spec)?, spec.isolation)
}

pub struct RedbStore {
    database: Database,
    durability: redb::Durability,
}

impl Store for RedbStore {
    type Spec = RedbSpec;
    type Session = RedbSession;
    const CLIENT: &'static str = "redb";
    const LEVEL: Isolation = Isolation::Serializable;

    fn opened() -> &'static Opened<Self> {
        static OPENED: Opened<RedbStore> = Opened::none();
        &OPENED
    }

    fn path(spec: &RedbSpec) -> &Path {
        Path::new(&spec.path)
    }

    fn open(spec: &RedbSpec) -> Result<Self, Trouble> {
        let path = Self::path(spec);
        let durability = match spec.durability {
            Durability::Full => redb::Durability::Immediate,
            Durability::None => redb::Durability::None,
            Durability::Relaxed => {
                return Err(not_opened("redb", path, "its durability is `full` or `none`"));
            }
        };
        let opened = Builder::new()
            .set_cache_size(usize::try_from(spec.cache_bytes).unwrap_or(usize::MAX))
            .create(path);
        let store = Self {
            database: opened.map_err(|error| not_opened("redb", path, error))?,
            durability,
        };
        // Readers find the table.
        store
            .sync(|transaction| transaction.open_table(TABLE).map(drop).map_err(op_error))
            .map_err(|error| not_opened("redb", path, error))?;
        Ok(store)
    }

    fn session(store: &Arc<Kept<Self>>) -> Result<RedbSession, OpError> {
        Ok(RedbSession {
            open: Open::Nothing,
            kept: store.clone(),
        })
    }

    fn flush(&self) -> Result<(), OpError> {
        self.sync(|_| Ok(()))
    }
}

impl RedbStore {
    /// A commit that takes along all before it.
    fn sync(&self, change: impl FnOnce(&WriteTransaction) -> Result<(), OpError>) -> Result<(), OpError> {
        let transaction = self.database.begin_write().map_err(op_error)?;
        change(&transaction)?;
        transaction.commit().map_err(op_error)
    }
}

pub struct RedbSession {
    open: Open,
    kept: Arc<Kept<RedbStore>>,
}

#[allow(clippy::large_enum_variant)] // one a session; in a box every transaction would be allocated once more
enum Open {
    Nothing,
    Reads(ReadTransaction),
    Writes(WriteTransaction),
}

impl RedbSession {
    fn writing(&self) -> Result<&WriteTransaction, OpError> {
        match &self.open {
            Open::Writes(transaction) => Ok(transaction),
            _ => Err(OpError::fail(
                FailClass::Refused,
                "NO_TRANSACTION",
                "no transaction is open that writes",
            )),
        }
    }

    /// The newest commits.
    fn now(&self) -> Result<ReadOnlyTable<&'static [u8], &'static [u8]>, OpError> {
        let transaction = self.kept.store.database.begin_read().map_err(op_error)?;
        transaction.open_table(TABLE).map_err(op_error)
    }
}

fn get<T>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, OpError> {
    let found = table.get(key).map_err(op_error)?;
    Ok(found.map(|value| read(value.value())))
}

fn scan(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    from: &[u8],
    mut each: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<(), OpError> {
    for found in table.range(from..).map_err(op_error)? {
        let (key, value) = found.map_err(op_error)?;
        if !each(key.value(), value.value()) {
            break;
        }
    }
    Ok(())
}

impl Bytes for RedbSession {
    fn get<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError> {
        match &self.open {
            Open::Nothing => get(&self.now()?, key, read),
            Open::Reads(transaction) => get(&transaction.open_table(TABLE).map_err(op_error)?, key, read),
            Open::Writes(transaction) => get(&transaction.open_table(TABLE).map_err(op_error)?, key, read),
        }
    }

    fn scan(&mut self, from: &[u8], each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), OpError> {
        match &self.open {
            Open::Nothing => scan(&self.now()?, from, each),
            Open::Reads(transaction) => scan(&transaction.open_table(TABLE).map_err(op_error)?, from, each),
            Open::Writes(transaction) => scan(&transaction.open_table(TABLE).map_err(op_error)?, from, each),
        }
    }

    fn begin(&mut self, writes: bool) -> Result<(), OpError> {
        let store = &self.kept.store;
        self.open = if writes {
            let mut transaction = store.database.begin_write().map_err(op_error)?;
            transaction.set_durability(store.durability).map_err(op_error)?;
            Open::Writes(transaction)
        } else {
            Open::Reads(store.database.begin_read().map_err(op_error)?)
        };
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), OpError> {
        let mut table = self.writing()?.open_table(TABLE).map_err(op_error)?;
        table.insert(key, value).map(drop).map_err(op_error)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), OpError> {
        let mut table = self.writing()?.open_table(TABLE).map_err(op_error)?;
        table.remove(key).map(drop).map_err(op_error)
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
fn op_error(error: impl Into<redb::Error>) -> OpError {
    let error = error.into();
    let (code, class) = match &error {
        redb::Error::Io(io) => ("IO", io_class(io)),
        redb::Error::ValueTooLarge(_) => ("VALUE_TOO_LARGE", FailClass::Constraint),
        redb::Error::DatabaseAlreadyOpen => ("ALREADY_OPEN", FailClass::Refused),
        redb::Error::Corrupted(_) => ("CORRUPTED", FailClass::Other),
        redb::Error::PreviousIo => ("PREVIOUS_IO", FailClass::Other),
        _ => ("REDB", FailClass::Other),
    };
    OpError::fail(class, code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::outcome::Outcome;
    use redb::StorageError;

    #[test]
    fn the_version_is_that_of_the_lock_file() {
        let locked = include_str!("../../../Cargo.lock");
        assert!(locked.contains(&format!("name = \"redb\"\nversion = \"{VERSION}\"")));
    }

    #[test]
    fn a_full_disk_is_overload_and_a_value_that_is_too_large_breaks_a_constraint() {
        let full = StorageError::Io(std::io::ErrorKind::StorageFull.into());
        assert_eq!(op_error(full).outcome, Outcome::Fail(FailClass::Overload));
        let large = StorageError::ValueTooLarge(1);
        assert_eq!(op_error(large).outcome, Outcome::Fail(FailClass::Constraint));
        assert_eq!(
            op_error(StorageError::PreviousIo).outcome,
            Outcome::Fail(FailClass::Other)
        );
    }
}
