//! A statement of SQL as a session knows it, and what it did.

/// A prepared statement of one session: an index, `Copy`, never looked up by text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement(pub u32);

/// What a statement did, as far as the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows inserted, deleted, or *found* for updates. `None`: the system does not count them.
    pub affected: Option<u64>,
    /// The number that the system gave to a new row's key.
    pub insert_id: Option<u64>,
}
