//! The record shape of a database: read, insert, update, delete and scan on *table, key, fields*.
//!
//! SQL systems get it from one adapter over [`crate::sql::SqlSession`]; document and key-value systems implement it.
use crate::outcome::OpError;
use crate::row::RowBuf;

/// A table as a record workload sees it. Fixed before the clock runs; a driver may prepare statements for it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSpec {
    pub name: String,
    pub key_column: String,
    /// Longest key, bytes.
    pub key_length: u32,
    pub field_names: Vec<String>,
    pub value_type: ValueType,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueType {
    Text,
    /// Longest value, characters.
    Varchar(u32),
}

/// Handle of a table in one session: its place in the list given to `attach`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table(pub u32);

/// Which fields an operation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// `*`: the key and every field come back, in declared order (key first).
    All,
    /// Every field by name, key excluded.
    AllByName,
    /// One field, 0-based.
    One(u32),
}

/// What a workload will do with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read(Fields),
    /// Up to a limit.
    Scan(Fields),
    Insert,
    UpdateAll,
    UpdateOne(u32),
}

/// One field's new value.
#[derive(Clone, Copy, Debug)]
pub struct FieldValue<'a> {
    pub field: u32,
    pub value: &'a [u8],
}

/// A whole record: its key, and one value per field in declared order, laid end to end (so that a workload can keep
/// one buffer per user and build a record without allocating).
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub key: &'a [u8],
    pub bytes: &'a [u8],
    /// `ends[i]` is where field i ends in `bytes`; it begins where field i-1 ends.
    pub ends: &'a [u32],
}

impl<'a> Record<'a> {
    pub fn values(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (bytes, ends) = (self.bytes, self.ends);
        (0..ends.len()).map(move |i| {
            let start = if i == 0 { 0 } else { ends[i - 1] as usize };
            &bytes[start..ends[i] as usize]
        })
    }
}

/// A session on records. Errors are outcomes (see [`OpError`]); a missing row is not an error but `None` or 0, and
/// whether that is wrong is for the workload to say. What changes records tells how many it did, or `None` where the
/// system does not count them.
pub trait RecordSession {
    /// As [`crate::endpoint::Asked::asked`].
    fn asked(&self) -> Option<u32> {
        None
    }
    /// Called once after opening, before any operation: learn (and prepare) the tables.
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError>;
    /// Called after `attach`, where the tables exist: whatever the first operation of a kind would have to wait for is done
    /// now, outside of any operation's time.
    async fn prepare(&mut self, _table: Table, _uses: &[Use]) -> Result<(), OpError> {
        Ok(())
    }

    /// An emulator that has nothing but reads and writes by key: it deletes nothing, counts nothing, and returns no whole table.
    /// Nobody then calls `delete`, `scan` or `count`.
    async fn is_partial(&mut self) -> Result<bool, OpError> {
        Ok(false)
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError>;
    /// Succeeds when there is no such table.
    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError>;
    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError>;

    /// The row with this key, or `None`. `Fields::All`: cell 0 is the key; otherwise fields only.
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError>;
    /// Rows inserted (1), or 0 if the system acknowledged without inserting.
    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError>;
    /// Rows *found* (not: changed) by the key.
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError>;
    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError>;
    /// Rows with key >= `start` in key order, at most `limit` (`None`: to the end of the table). Returns rows seen. A system
    /// that does not offer scans is asked for the whole table alone, in any order.
    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError>;
    /// All records or none where the system has transactions; otherwise any of them after an error. Returns rows inserted.
    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError>;

    async fn count(&mut self, table: Table) -> Result<u64, OpError>;
}
