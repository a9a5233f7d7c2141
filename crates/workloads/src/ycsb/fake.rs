//! A record database in memory for tests, which can also misbehave on request.
use crate::prelude::*;
use bakeoff_model::record::{FieldValue, Fields, Record, Table, TableSpec, Use};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

pub type Rows = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// The database, shared by its sessions.
#[derive(Clone, Default)]
pub struct FakeStore(Rc<RefCell<State>>);

#[derive(Default)]
pub struct State {
    pub exists: bool,
    pub rows: Rows,
    /// Rows as they were at `begin`.
    before: Option<Rows>,
    /// Errors for the next writes, first one first.
    pub write_errors: Vec<OpError>,
    pub commit_errors: Vec<OpError>,
    pub rollback_errors: Vec<OpError>,
    /// Acknowledge inserts and say that no row was stored.
    pub ignore_inserts: bool,
    /// Answer scans with this many rows more than asked for.
    pub extra_scan_rows: u32,
    pub batches: Vec<usize>,
    pub read_keys: Vec<Vec<u8>>,
    pub prepared: Vec<Use>,
    pub commits: u32,
    pub rollbacks: u32,
    pub in_transaction: bool,
}

impl FakeStore {
    pub fn session(&self) -> AnyRecords {
        AnyRecords::new(FakeSession {
            store: self.clone(),
            row: RowBuf::default(),
        })
    }
    pub fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.0.borrow_mut())
    }
}

struct FakeSession {
    store: FakeStore,
    row: RowBuf,
}

fn fill(row: &mut RowBuf, key: &[u8], values: &[Vec<u8>], fields: Fields) {
    row.clear();
    if fields == Fields::All {
        row.push(Value::Text(key));
    }
    match fields {
        Fields::One(field) => row.push(Value::Text(&values[field as usize])),
        _ => values.iter().for_each(|value| row.push(Value::Text(value))),
    }
}

fn next_error(errors: &mut Vec<OpError>) -> Result<(), OpError> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.remove(0))
    }
}

impl RecordSession for FakeSession {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        assert_eq!(tables.len(), 1);
        Ok(())
    }
    async fn prepare(&mut self, _: Table, uses: &[Use]) -> Result<(), OpError> {
        self.store.change(|state| state.prepared = uses.to_vec());
        Ok(())
    }
    async fn create_table(&mut self, _: &TableSpec) -> Result<(), OpError> {
        self.store.change(|state| {
            assert!(!state.exists, "created twice");
            state.exists = true;
        });
        Ok(())
    }
    async fn drop_table(&mut self, _: &TableSpec) -> Result<(), OpError> {
        self.store.change(|state| {
            state.exists = false;
            state.rows.clear();
        });
        Ok(())
    }
    async fn table_exists(&mut self, _: &TableSpec) -> Result<bool, OpError> {
        Ok(self.store.change(|state| state.exists))
    }
    async fn read(&mut self, _: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let mut state = self.store.0.borrow_mut();
        state.read_keys.push(key.to_vec());
        let Some(values) = state.rows.get(key) else {
            return Ok(None);
        };
        fill(&mut self.row, key, values, fields);
        Ok(Some(&self.row))
    }
    async fn insert(&mut self, _: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        self.store.change(|state| {
            next_error(&mut state.write_errors)?;
            if state.ignore_inserts {
                return Ok(Some(0));
            }
            let values = record.values().map(<[u8]>::to_vec).collect();
            match state.rows.insert(record.key.to_vec(), values) {
                None => Ok(Some(1)),
                Some(_) => Err(OpError::fail(FailClass::Constraint, "dup", "duplicate key")),
            }
        })
    }
    async fn update(
        &mut self,
        _: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        self.store.change(|state| {
            next_error(&mut state.write_errors)?;
            let Some(row) = state.rows.get_mut(key) else {
                return Ok(Some(0));
            };
            for value in values {
                row[value.field as usize] = value.value.to_vec();
            }
            Ok(Some(1))
        })
    }
    async fn delete(&mut self, _: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        Ok(self
            .store
            .change(|state| Some(state.rows.remove(key).map_or(0, |_| 1))))
    }
    async fn scan(
        &mut self,
        _: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let state = self.store.0.borrow();
        let most = limit.map_or(usize::MAX, |limit| (limit + state.extra_scan_rows) as usize);
        let mut rows = 0;
        for (key, values) in state.rows.range(start.to_vec()..).take(most) {
            fill(&mut self.row, key, values, fields);
            each(&self.row);
            rows += 1;
        }
        Ok(rows)
    }
    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        self.store.change(|state| {
            next_error(&mut state.write_errors)?;
            state.batches.push(records.len());
            Ok(())
        })?;
        for record in records {
            self.insert(table, *record).await?;
        }
        Ok(records.len() as u64)
    }
    async fn count(&mut self, _: Table) -> Result<u64, OpError> {
        Ok(self.store.change(|state| state.rows.len() as u64))
    }
}

impl Transactional for FakeSession {
    async fn begin(&mut self, _: Access) -> Result<(), OpError> {
        self.store.change(|state| {
            assert!(!state.in_transaction, "begun twice");
            state.in_transaction = true;
            state.before = Some(state.rows.clone());
        });
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.store.change(|state| {
            assert!(state.in_transaction, "nothing to commit");
            state.commits += 1;
            next_error(&mut state.commit_errors)?;
            state.in_transaction = false;
            Ok(())
        })
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.store.change(|state| {
            state.rollbacks += 1;
            next_error(&mut state.rollback_errors)?;
            state.in_transaction = false;
            if let Some(before) = state.before.take() {
                state.rows = before;
            }
            Ok(())
        })
    }
}

/// What a worker would lend: a clock that counts calls, and a list of parts.
#[derive(Default)]
pub struct FakeProbe {
    pub parts: Vec<(usize, Outcome)>,
    pub revoked: u64,
    clock: std::cell::Cell<u64>,
}

impl Probe for FakeProbe {
    fn queries(&mut self, _: bakeoff_model::workload::Queries) {}
    fn now_ns(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }
    fn part(&mut self, operation: usize, outcome: Outcome, start_ns: u64) -> u64 {
        let end_ns = self.now_ns();
        assert!(start_ns < end_ns);
        self.parts.push((operation, outcome));
        end_ns
    }
    fn revoke(&mut self, count: u64) {
        self.revoked += count;
    }
}

/// The fake never waits.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a fake session does not wait"),
    }
}
