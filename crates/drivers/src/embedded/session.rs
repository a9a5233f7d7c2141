//! Records on a store. A write outside of a transaction is one of its own.
use super::record::{PREFIX, Stored, put_key, put_value};
use super::tables::Number;
use super::{Bytes, Kept, Store, at_commit};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec};
use bakeoff_model::row::RowBuf;
use bakeoff_model::transaction::{Access, Transactional};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub struct RecordsSession<S: Store> {
    /// Declared before the store that it looks at, so dropped before it.
    bytes: S::Session,
    kept: Arc<Kept<S>>,
    tables: Vec<Attached>,
    open: Open,
    key: Vec<u8>,
    value: Vec<u8>,
    row: RowBuf,
}

struct Attached {
    number: Number,
    fields: usize,
    name: Box<str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Open {
    Nothing,
    Reads,
    Writes,
}

impl Attached {
    #[inline]
    fn number(&self) -> Result<u32, OpError> {
        match self.number.load(Ordering::Relaxed) {
            0 => Err(self.missing()),
            number => Ok(number),
        }
    }

    #[cold]
    fn missing(&self) -> OpError {
        OpError::fail(
            FailClass::Refused,
            "NO_TABLE",
            format!("there is no table {}", self.name),
        )
    }
}

impl<S: Store> RecordsSession<S> {
    pub fn new(kept: Arc<Kept<S>>) -> Result<Self, OpError> {
        Ok(Self {
            bytes: S::session(&kept)?,
            kept,
            tables: Vec::new(),
            open: Open::Nothing,
            key: Vec::new(),
            value: Vec::new(),
            row: RowBuf::default(),
        })
    }

    /// The number of its fields; `self.key` is that of the record in the store.
    #[inline]
    fn place(&mut self, table: Table, key: &[u8]) -> Result<usize, OpError> {
        let attached = &self.tables[table.0 as usize];
        put_key(&mut self.key, attached.number()?, key);
        Ok(attached.fields)
    }

    /// In the open transaction, or in one of its own, which is undone where nothing was written.
    #[inline]
    fn write(&mut self, change: impl FnOnce(&mut Self) -> Result<u64, OpError>) -> Result<u64, OpError> {
        match self.open {
            Open::Writes => return change(self),
            Open::Reads => return Err(only_reads()),
            Open::Nothing => self.bytes.begin(true)?,
        }
        match change(self) {
            Ok(0) => {
                self.bytes.rollback();
                Ok(0)
            }
            Ok(rows) => self.bytes.commit().map_err(at_commit).map(|()| rows),
            Err(error) => {
                self.bytes.rollback();
                Err(error)
            }
        }
    }

    #[inline]
    fn insert_one(&mut self, table: Table, record: Record<'_>) -> Result<u64, OpError> {
        self.place(table, record.key)?;
        if self.bytes.get_to_write(&self.key, |_| ())?.is_some() {
            return Err(duplicate());
        }
        put_value(&mut self.value, record);
        self.bytes.put(&self.key, &self.value).map(|()| 1)
    }
}

#[cold]
fn duplicate() -> OpError {
    OpError::fail(FailClass::Constraint, "DUPLICATE", "the key exists already")
}

#[cold]
fn only_reads() -> OpError {
    OpError::fail(FailClass::Refused, "READ_ONLY", "the transaction only reads")
}

impl<S: Store> RecordSession for RecordsSession<S> {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables.clear();
        for spec in tables {
            self.tables.push(Attached {
                number: self.kept.tables.find(&spec.name, &mut self.bytes)?,
                fields: spec.field_names.len(),
                name: (*spec.name).into(),
            });
        }
        Ok(())
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        self.kept.tables.create(&table.name, &mut self.bytes)
    }

    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        self.kept.tables.drop(&table.name, &mut self.bytes)
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        let number = self.kept.tables.find(&table.name, &mut self.bytes)?;
        Ok(number.load(Ordering::Acquire) != 0)
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let count = self.place(table, key)?;
        let row = &mut self.row;
        let fill = |value: &[u8]| Stored::read(value, count).map(|stored| stored.fill(key, fields, row));
        let found = self.bytes.get(&self.key, fill)?.transpose()?;
        Ok(found.map(|()| &self.row))
    }

    #[inline]
    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        self.write(|session| session.insert_one(table, record)).map(Some)
    }

    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        let change = |session: &mut Self| {
            let count = session.place(table, key)?;
            let changed = &mut session.value;
            let found = session.bytes.get_to_write(&session.key, |value| {
                Stored::read(value, count).map(|stored| stored.put_changed(values, changed))
            })?;
            match found.transpose()? {
                None => Ok(0),
                Some(()) => session.bytes.put(&session.key, &session.value).map(|()| 1),
            }
        };
        self.write(change).map(Some)
    }

    #[inline]
    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        let change = |session: &mut Self| {
            session.place(table, key)?;
            match session.bytes.get_to_write(&session.key, |_| ())? {
                None => Ok(0),
                Some(()) => session.bytes.delete(&session.key).map(|()| 1),
            }
        };
        self.write(change).map(Some)
    }

    #[inline]
    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let count = self.place(table, start)?;
        let limit = limit.map_or(u64::MAX, u64::from);
        let (from, row) = (&self.key, &mut self.row);
        let prefix = &from[..PREFIX];
        let mut seen = 0;
        let mut read = Ok(());
        if limit > 0 {
            self.bytes.scan(from, |key, value| {
                let Some(key) = key.strip_prefix(prefix) else {
                    return false;
                };
                match Stored::read(value, count) {
                    Ok(stored) => stored.fill(key, fields, row),
                    Err(error) => {
                        read = Err(error);
                        return false;
                    }
                }
                each(row);
                seen += 1;
                seen < limit
            })?;
        }
        read.map(|()| seen)
    }

    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        self.write(|session| {
            let insert = |record: &Record<'_>| session.insert_one(table, *record);
            records.iter().map(insert).sum()
        })
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        self.place(table, b"")?;
        let mut rows = 0;
        self.bytes.scan(&self.key, |key, _| {
            let belongs = key.starts_with(&self.key);
            rows += u64::from(belongs);
            belongs
        })?;
        Ok(rows)
    }
}

impl<S: Store> Transactional for RecordsSession<S> {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        if access.isolation.is_some_and(|level| level != S::LEVEL) {
            let what = format!("{} has no isolation level but {}", S::CLIENT, S::LEVEL.name());
            return Err(OpError::fail(FailClass::Refused, "ISOLATION", what));
        }
        if self.open != Open::Nothing {
            return Err(OpError::fail(
                FailClass::Refused,
                "TRANSACTION",
                "a transaction is open already",
            ));
        }
        self.bytes.begin(!access.read_only)?;
        self.open = if access.read_only {
            Open::Reads
        } else {
            Open::Writes
        };
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Err(OpError::fail(
                FailClass::Refused,
                "TRANSACTION",
                "no transaction is open",
            )),
            Open::Reads => {
                self.bytes.rollback();
                Ok(())
            }
            Open::Writes => self.bytes.commit().map_err(at_commit),
        }
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        self.open = Open::Nothing;
        self.bytes.rollback();
        Ok(())
    }
}
