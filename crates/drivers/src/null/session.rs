//! A session of the null system: what it answers, and what it writes.
use super::faults::{Faults, Luck, Orders};
use super::memory::{self, MemoryTable, Row, Undo, lock};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::random::SplitMix64;
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec};
use bakeoff_model::row::RowBuf;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::sync::{Arc, Mutex};

/// Length of the values that are read when no rows are kept.
const VALUE_LENGTH_BYTES: usize = 100;
/// Rows of a scan to the end of the table when no rows are kept.
const SCAN_TO_END_ROWS: u32 = 1000;

pub struct NullSession {
    faults: Faults,
    /// There are none: it answers at once, always right.
    plain: bool,
    /// Rows are kept.
    stores: bool,
    tables: Vec<Attached>,
    row: RowBuf,
    /// Inside a transaction: how to take its writes back.
    undo: Option<Vec<Undo>>,
}

struct Attached {
    /// Prebuilt answers for when no rows are kept.
    all: RowBuf,
    by_name: RowBuf,
    one: RowBuf,
    memory: Arc<Mutex<MemoryTable>>,
}

impl Attached {
    fn new(spec: &TableSpec) -> Self {
        let value = [b'x'; VALUE_LENGTH_BYTES];
        let row = |cells: usize| {
            let mut row = RowBuf::default();
            (0..cells).for_each(|_| row.push(Value::Text(&value)));
            row
        };
        let fields = spec.field_names.len();
        Self {
            all: row(fields + 1),
            by_name: row(fields),
            one: row(1),
            memory: memory::table(&spec.name),
        }
    }

    /// The answer to a question about `key`: the prebuilt row, with the key that was asked for where rows have one.
    #[inline(always)] // deep in a future the compiler takes every call for a rare one
    fn answer(&mut self, key: &[u8], fields: Fields) -> &RowBuf {
        match fields {
            Fields::All => {
                self.all.set_text(0, key);
                &self.all
            }
            Fields::AllByName => &self.by_name,
            Fields::One(_) => &self.one,
        }
    }
}

/// How one operation is served; for a plain session without so much as a future (measured: half the cost).
macro_rules! serve {
    ($session:ident) => {
        if $session.plain {
            Luck::Right
        } else {
            $session.faults.serve().await?
        }
    };
}

impl NullSession {
    pub(super) fn new(orders: &Arc<Orders>, random: SplitMix64) -> Self {
        Self {
            faults: Faults::new(orders.clone(), random),
            plain: orders.are_none(),
            stores: orders.spec.store,
            tables: Vec::new(),
            row: RowBuf::default(),
            undo: None,
        }
    }

    async fn read_served(
        &mut self,
        table: Table,
        key: &[u8],
        fields: Fields,
    ) -> Result<Option<&RowBuf>, OpError> {
        if serve!(self) == Luck::Wrong {
            return Ok(None);
        }
        if !self.stores {
            return Ok(Some(self.tables[table.0 as usize].answer(key, fields)));
        }
        let memory = self.tables[table.0 as usize].memory.clone();
        let found = lock(&memory).read(key, fields, &mut self.row)?;
        Ok(found.then_some(&self.row))
    }

    fn attached(&self, table: Table) -> &Attached {
        &self.tables[table.0 as usize]
    }

    /// Applies a write to the memory unless it is one of those to lose.
    fn write(
        &mut self,
        table: Table,
        write: impl FnOnce(&mut MemoryTable) -> Result<(u64, Option<Undo>), OpError>,
    ) -> Result<u64, OpError> {
        if self.faults.loses_write() {
            return Ok(1);
        }
        let memory = &self.tables[table.0 as usize].memory;
        let (rows, undo) = write(&mut lock(memory))?;
        if let (Some(log), Some(undo)) = (&mut self.undo, undo) {
            log.push(undo.of(memory.clone()));
        }
        Ok(rows)
    }
}

impl RecordSession for NullSession {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables = tables.iter().map(Attached::new).collect();
        Ok(())
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        if self.stores {
            lock(&memory::table(&table.name)).create()
        } else {
            Ok(())
        }
    }

    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        lock(&memory::table(&table.name)).remove();
        Ok(())
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        Ok(lock(&memory::table(&table.name)).exists())
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        // Apart from the rest, whose states every answer would pay for.
        if self.plain && !self.stores {
            return Ok(Some(self.tables[table.0 as usize].answer(key, fields)));
        }
        self.read_served(table, key, fields).await
    }

    #[inline]
    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        match serve!(self) {
            Luck::Wrong => Ok(Some(0)),
            Luck::Right if !self.stores => Ok(Some(1)),
            Luck::Right => self
                .write(table, |memory| memory.insert(record.key, Row::of(record)))
                .map(Some),
        }
    }

    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        match serve!(self) {
            Luck::Wrong => Ok(Some(0)),
            Luck::Right if !self.stores => Ok(Some(1)),
            Luck::Right => self.write(table, |memory| memory.update(key, values)).map(Some),
        }
    }

    #[inline]
    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        match serve!(self) {
            Luck::Wrong => Ok(Some(0)),
            Luck::Right if !self.stores => Ok(Some(1)),
            Luck::Right => self.write(table, |memory| memory.delete(key)).map(Some),
        }
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
        if serve!(self) == Luck::Wrong {
            return Ok(0);
        }
        if !self.stores {
            let rows = limit.unwrap_or(SCAN_TO_END_ROWS);
            let row = self.tables[table.0 as usize].answer(start, fields);
            (0..rows).for_each(|_| each(row));
            return Ok(rows.into());
        }
        let memory = self.tables[table.0 as usize].memory.clone();
        lock(&memory).scan(start, limit, fields, &mut self.row, each)
    }

    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        match serve!(self) {
            Luck::Wrong => return Ok(0),
            Luck::Right if !self.stores => return Ok(records.len() as u64),
            Luck::Right => {}
        }
        let own_transaction = self.undo.is_none();
        if own_transaction {
            self.undo = Some(Vec::new());
        }
        let mut rows = 0;
        let mut outcome = Ok(());
        for record in records {
            match self.write(table, |memory| memory.insert(record.key, Row::of(*record))) {
                Ok(inserted) => rows += inserted,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if own_transaction {
            let log = self.undo.take().unwrap_or_default();
            if outcome.is_err() {
                memory::take_back(log);
            }
        }
        outcome.map(|()| rows)
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        if !self.stores {
            return Err(OpError::fail(
                FailClass::Refused,
                "NULL_NO_STORE",
                "the null driver keeps no rows and cannot count them (store = false)",
            ));
        }
        lock(&self.attached(table).memory).count()
    }
}

impl Transactional for NullSession {
    async fn begin(&mut self, _access: Access) -> Result<(), OpError> {
        self.undo = Some(Vec::new());
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        let _ = serve!(self);
        self.undo = None;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        memory::take_back(self.undo.take().unwrap_or_default());
        Ok(())
    }
}

impl Drop for NullSession {
    /// A session that goes away takes its open transaction with it.
    fn drop(&mut self) {
        memory::take_back(self.undo.take().unwrap_or_default());
    }
}
