//! The open stores of this process, by their paths: most kinds let a process open a store once, and sessions share it.
use super::tables::Tables;
use bakeoff_model::outcome::Trouble;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A store and what is known of its tables. It is closed with its last user.
pub struct Kept<S> {
    pub store: S,
    pub(super) tables: Tables,
}

/// The open ones of a kind.
pub struct Shared<T>(Mutex<Vec<(PathBuf, Weak<T>)>>);

/// The open stores of a kind.
pub type Opened<S> = Shared<Kept<S>>;

impl<T> Shared<T> {
    pub const fn none() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The one that is open at this path, or it is opened.
    pub fn at(&self, path: &Path, open: impl FnOnce() -> Result<T, Trouble>) -> Result<Arc<T>, Trouble> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|(_, kept)| kept.strong_count() > 0);
        let found = opened.iter().find(|(of, _)| of == path);
        if let Some(kept) = found.and_then(|(_, kept)| kept.upgrade()) {
            return Ok(kept);
        }
        let kept = Arc::new(open()?);
        opened.push((path.to_owned(), Arc::downgrade(&kept)));
        Ok(kept)
    }
}

impl<S> Kept<S> {
    pub(super) fn new(store: S) -> Self {
        Self {
            store,
            tables: Tables::default(),
        }
    }
}
