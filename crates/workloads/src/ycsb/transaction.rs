//! What a user holds of the transaction that is open: counts of what it has done, which wait for the commit.

#[derive(Debug, Default)]
pub struct Transaction {
    pub(super) open: bool,
    /// A commit was sent and has not been answered.
    pub(super) committing: bool,
    /// Operations that have ended in it, and how many of them were counted `ok`.
    pub(super) operations: u32,
    pub(super) ok: u64,
    /// Insert indices that wait for the commit.
    pub(super) inserts: Vec<u64>,
    pub(super) writes: u64,
    pub(super) bytes: u64,
}

impl Transaction {
    pub(super) fn with_capacity(inserts: usize) -> Self {
        Self {
            inserts: Vec::with_capacity(inserts),
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self) {
        let mut inserts = std::mem::take(&mut self.inserts);
        inserts.clear();
        *self = Self {
            inserts,
            ..Self::default()
        };
    }
}
