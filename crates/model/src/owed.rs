//! What a thread still does for others once its own work is done: its runner gives it a moment before it returns.
use std::cell::Cell;

thread_local! {
    static OWED: Cell<usize> = const { Cell::new(0) };
}

/// Held, on one thread, by whatever is waited for.
pub struct Owed(());

impl Owed {
    #[must_use]
    pub fn new() -> Self {
        OWED.set(OWED.get() + 1);
        Self(())
    }
}

impl Default for Owed {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        let _ = OWED.try_with(|owed| owed.set(owed.get().saturating_sub(1)));
    }
}

/// Whether this thread has any.
pub fn is_owed() -> bool {
    OWED.get() > 0
}
