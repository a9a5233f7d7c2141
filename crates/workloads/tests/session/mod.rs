//! Sessions that answer at once, for measuring and counting what the workload itself does.
#![allow(dead_code)] // every user takes its own part of it
use bakeoff_model::record::{FieldValue, Fields, Record, Table, TableSpec};
use bakeoff_workloads::prelude::*;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

pub mod documents;
pub mod drawer;
pub mod graph;
pub mod hats;
pub mod sql;
pub mod tpcc;

const FIELDS: usize = 10;

/// Answers at once: every row has ten fields, every write finds one row.
#[derive(Default)]
pub struct Yes {
    row: RowBuf,
}

impl RecordSession for Yes {
    async fn attach(&mut self, _: &[TableSpec]) -> Result<(), OpError> {
        Ok(())
    }
    async fn create_table(&mut self, _: &TableSpec) -> Result<(), OpError> {
        Ok(())
    }
    async fn drop_table(&mut self, _: &TableSpec) -> Result<(), OpError> {
        Ok(())
    }
    async fn table_exists(&mut self, _: &TableSpec) -> Result<bool, OpError> {
        Ok(true)
    }
    async fn read(&mut self, _: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        // Without the key every row is the same, and then this session itself costs nothing.
        if fields == Fields::All || self.row.len() != FIELDS {
            self.row.clear();
            if fields == Fields::All {
                self.row.push(Value::Text(key));
            }
            (0..FIELDS).for_each(|_| self.row.push(Value::Text(b"value")));
        }
        Ok(Some(&self.row))
    }
    async fn insert(&mut self, _: Table, _: Record<'_>) -> Result<Option<u64>, OpError> {
        Ok(Some(1))
    }
    async fn update(&mut self, _: Table, _: &[u8], _: &[FieldValue<'_>]) -> Result<Option<u64>, OpError> {
        Ok(Some(1))
    }
    async fn delete(&mut self, _: Table, _: &[u8]) -> Result<Option<u64>, OpError> {
        Ok(Some(1))
    }
    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        _: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        if let Some(row) = self.read(table, start, fields).await? {
            each(row);
        }
        Ok(1)
    }
    async fn insert_batch(&mut self, _: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        Ok(records.len() as u64)
    }
    async fn count(&mut self, _: Table) -> Result<u64, OpError> {
        Ok(0)
    }
}

impl Transactional for Yes {
    async fn begin(&mut self, _: Access) -> Result<(), OpError> {
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        Ok(())
    }
}

pub struct NoProbe;

impl Probe for NoProbe {
    fn queries(&mut self, _: bakeoff_model::workload::Queries) {}
    fn now_ns(&self) -> u64 {
        1
    }
    fn part(&mut self, _: usize, _: Outcome, _: u64) -> u64 {
        1
    }
    fn revoke(&mut self, _: u64) {}
}

pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("this session does not wait"),
    }
}
