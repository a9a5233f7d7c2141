//! What drivers of embedded key-value stores share: records and tables on a store that knows nothing but ordered keys, and
//! one open store for all sessions of the process. A driver's file has the rest: a [`Store`], its [`Bytes`], its options.
//!
//! A session blocks its OS thread. What it allocates per operation is the store's own: key, value and row are in buffers of
//! the session.
mod driver;
mod opened;
mod record;
mod session;
mod tables;

use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble, TroubleKind};
use bakeoff_model::run::Isolation;
pub use driver::{EmbeddedDriver, OFFERS, RUNNERS};
pub use opened::{Kept, Opened, Shared};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use session::RecordsSession;
use std::path::Path;
use std::sync::Arc;

/// When a commit is acknowledged. What each means in a store, its file says.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    Full,
    Relaxed,
    None,
}

/// An open store.
pub trait Store: Send + Sync + Sized + 'static {
    type Spec: Clone + Send + Sync + 'static;
    type Session: Bytes;
    /// Of the client library, for reports.
    const CLIENT: &'static str;
    /// Of its transactions.
    const LEVEL: Isolation;

    /// The process's open stores of this kind.
    fn opened() -> &'static Opened<Self>;
    /// Where it is, or is to be.
    fn path(spec: &Self::Spec) -> &Path;
    fn open(spec: &Self::Spec) -> Result<Self, Trouble>;
    fn session(store: &Arc<Kept<Self>>) -> Result<Self::Session, OpError>;
    /// Writes what was acknowledged and is in no file yet: the next process is to find it.
    fn flush(&self) -> Result<(), OpError>;
}

/// A session's view of a store: the newest commits, or those of the transaction that is open. Writes come inside one.
pub trait Bytes: 'static {
    /// What `read` makes of the value; `None`: there is no such key.
    fn get<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError>;
    /// The same of a key that this transaction is about to write.
    fn get_to_write<T>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, OpError> {
        self.get(key, read)
    }
    /// Keys and values in order, from `from` on, until `each` returns false.
    fn scan(&mut self, from: &[u8], each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), OpError>;
    fn begin(&mut self, writes: bool) -> Result<(), OpError>;
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), OpError>;
    fn delete(&mut self, key: &[u8]) -> Result<(), OpError>;
    /// Afterwards none is open, whatever came of it.
    fn commit(&mut self) -> Result<(), OpError>;
    /// Of none nothing happens.
    fn rollback(&mut self);
}

/// What an error of a commit means. One that was refused was not begun; whatever else fails, fails while it is written, and
/// the part that makes it last may have been.
#[cold]
fn at_commit(mut error: OpError) -> OpError {
    let untouched = [FailClass::Conflict, FailClass::Constraint].map(Outcome::Fail);
    if !untouched.contains(&error.outcome) {
        error.outcome = Outcome::Unknown;
    }
    error
}

/// How the operating system refused a file.
#[cold]
pub fn io_class(error: &std::io::Error) -> FailClass {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded
        | ErrorKind::FileTooLarge
        | ErrorKind::OutOfMemory => FailClass::Overload,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => FailClass::Refused,
        _ => FailClass::Other,
    }
}

#[cold]
pub fn not_opened(what: &str, path: &Path, why: impl std::fmt::Display) -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        format!("could not open the {what} store: {why}"),
        path.display().to_string(),
        "check that the folder exists and can be written, and that no other process has the store open",
    )
}
