//! Rows in memory for the null driver: tables by name, shared by all sessions of the process, with enough of a
//! transaction (take back one's own writes) to test what is built on transactions. There is no isolation.
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::record::{FieldValue, Fields, Record};
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static TABLES: Mutex<BTreeMap<String, Arc<Mutex<MemoryTable>>>> = Mutex::new(BTreeMap::new());

/// The table of that name, made on first mention; it exists for SQL's purposes only after [`MemoryTable::create`].
pub fn table(name: &str) -> Arc<Mutex<MemoryTable>> {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.entry(name.to_owned()).or_default().clone()
}

/// All tables that were mentioned.
pub fn tables() -> BTreeMap<String, Arc<Mutex<MemoryTable>>> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

pub fn lock(memory: &Mutex<MemoryTable>) -> MutexGuard<'_, MemoryTable> {
    // A panic in another session cannot leave a half-made row: rows are replaced whole.
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The values of one record, laid end to end.
#[derive(Clone)]
pub struct Row {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// It is in the files as it is here.
    kept: bool,
}

impl Row {
    pub fn of(record: Record<'_>) -> Self {
        Self {
            bytes: record.bytes.to_vec(),
            ends: record.ends.to_vec(),
            kept: false,
        }
    }

    /// As it was read from a file.
    pub fn kept(bytes: Vec<u8>, ends: Vec<u32>) -> Self {
        Self {
            bytes,
            ends,
            kept: true,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    fn view(&self) -> Record<'_> {
        Record {
            key: &[],
            bytes: &self.bytes,
            ends: &self.ends,
        }
    }

    fn with(&self, changes: &[FieldValue<'_>]) -> Self {
        let mut row = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            kept: false,
        };
        for (field, old) in self.view().values().enumerate() {
            let change = changes.iter().rfind(|change| change.field as usize == field);
            row.bytes
                .extend_from_slice(change.map_or(old, |change| change.value));
            row.ends.push(row.bytes.len() as u32);
        }
        row
    }

    fn fill(&self, key: &[u8], fields: Fields, row: &mut RowBuf) {
        row.clear();
        let mut values = self.view().values();
        match fields {
            Fields::All => {
                row.push(Value::Text(key));
                values.for_each(|value| row.push(Value::Text(value)));
            }
            Fields::AllByName => values.for_each(|value| row.push(Value::Text(value))),
            Fields::One(field) => values
                .nth(field as usize)
                .iter()
                .for_each(|value| row.push(Value::Text(value))),
        }
    }
}

#[derive(Default)]
pub struct MemoryTable {
    /// `None`: no such table.
    rows: Option<BTreeMap<Vec<u8>, Row>>,
    /// Made or dropped by this process: nothing of it in the files holds.
    new: bool,
    /// Rows that this process deleted; some may be there again.
    deleted: Vec<Vec<u8>>,
}

/// The state before a write.
pub struct Undo {
    memory: Option<Arc<Mutex<MemoryTable>>>,
    key: Vec<u8>,
    before: Option<Row>,
}

impl Undo {
    fn new(key: &[u8], before: Option<Row>) -> Option<Self> {
        Some(Self {
            memory: None,
            key: key.to_vec(),
            before,
        })
    }

    pub fn of(self, memory: Arc<Mutex<MemoryTable>>) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }
}

/// Undoes the writes of a transaction, last one first.
pub fn take_back(log: Vec<Undo>) {
    for undo in log.into_iter().rev() {
        let Some(memory) = undo.memory else { continue };
        let mut memory = lock(&memory);
        if let Some(rows) = &mut memory.rows {
            match undo.before {
                Some(row) => drop(rows.insert(undo.key, Row { kept: false, ..row })),
                None => drop(rows.remove(&undo.key)),
            }
        }
    }
}

type Written = Result<(u64, Option<Undo>), OpError>;

impl MemoryTable {
    pub fn create(&mut self) -> Result<(), OpError> {
        if self.rows.is_some() {
            return Err(OpError::fail(
                FailClass::Refused,
                "NULL_TABLE_EXISTS",
                "the table exists already",
            ));
        }
        self.rows = Some(BTreeMap::new());
        self.new = true;
        Ok(())
    }

    pub fn remove(&mut self) {
        self.rows = None;
        self.new = true;
    }

    pub fn is_new(&self) -> bool {
        self.new
    }

    /// In any way that the files do not tell.
    pub fn is_changed(&self) -> bool {
        self.new || !self.deleted.is_empty() || self.changed().next().is_some()
    }

    pub fn deleted(&self) -> &[Vec<u8>] {
        &self.deleted
    }

    /// Rows that are in no file as they are here.
    pub fn changed(&self) -> impl Iterator<Item = (&Vec<u8>, &Row)> {
        self.rows.iter().flatten().filter(|(_, row)| !row.kept)
    }

    /// As a file says: there is no such table.
    pub fn set_missing(&mut self) {
        self.rows = None;
    }

    /// As a file says: there is such a table.
    pub fn set_there(&mut self) {
        self.rows.get_or_insert_default();
    }

    /// As a file says: the row is so, or is not there.
    pub fn set_row(&mut self, key: &[u8], row: Option<Row>) {
        let Some(rows) = &mut self.rows else { return };
        match row {
            Some(row) => drop(rows.insert(key.to_vec(), row)),
            None => drop(rows.remove(key)),
        }
    }

    pub fn exists(&self) -> bool {
        self.rows.is_some()
    }

    fn rows(&mut self) -> Result<&mut BTreeMap<Vec<u8>, Row>, OpError> {
        self.rows
            .as_mut()
            .ok_or_else(|| OpError::fail(FailClass::Refused, "NULL_NO_TABLE", "there is no such table"))
    }

    pub fn count(&mut self) -> Result<u64, OpError> {
        Ok(self.rows()?.len() as u64)
    }

    pub fn read(&mut self, key: &[u8], fields: Fields, row: &mut RowBuf) -> Result<bool, OpError> {
        let found = self.rows()?.get(key);
        found.iter().for_each(|found| found.fill(key, fields, row));
        Ok(found.is_some())
    }

    pub fn scan(
        &mut self,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        row: &mut RowBuf,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let from = (Bound::Included(start), Bound::Unbounded);
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        let mut seen = 0;
        for (key, found) in self.rows()?.range::<[u8], _>(from).take(limit) {
            found.fill(key, fields, row);
            each(row);
            seen += 1;
        }
        Ok(seen)
    }

    pub fn insert(&mut self, key: &[u8], row: Row) -> Written {
        let rows = self.rows()?;
        if rows.contains_key(key) {
            return Err(OpError::fail(
                FailClass::Constraint,
                "NULL_DUPLICATE",
                "the key exists already",
            ));
        }
        rows.insert(key.to_vec(), row);
        Ok((1, Undo::new(key, None)))
    }

    pub fn update(&mut self, key: &[u8], changes: &[FieldValue<'_>]) -> Written {
        let Some(row) = self.rows()?.get_mut(key) else {
            return Ok((0, None));
        };
        let changed = row.with(changes);
        let before = std::mem::replace(row, changed);
        Ok((1, Undo::new(key, Some(before))))
    }

    pub fn delete(&mut self, key: &[u8]) -> Written {
        let Some(row) = self.rows()?.remove(key) else {
            return Ok((0, None));
        };
        self.deleted.push(key.to_vec());
        Ok((1, Undo::new(key, Some(row))))
    }
}
