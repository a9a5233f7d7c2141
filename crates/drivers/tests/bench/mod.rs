//! What the tests of drivers share: databases to test against, and small builders.
#![allow(dead_code, unused_imports)] // every test file uses its own part of it
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout

mod named_servers;
mod system;
mod typed;

pub use named_servers::*;
pub use system::System;
pub use typed::*;

use bakeoff_model::driver::Driver;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::OpError;
use bakeoff_model::record::{Record, TableSpec, ValueType};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::IoKind;
use bakeoff_model::value::Value;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Of what must succeed, however slow the machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// io_uring where it is allowed, unless the environment says BAKEOFF_TEST_IO=epoll.
pub fn run_on_reactor<T>(test: impl Future<Output = T>) -> T {
    let epoll = std::env::var("BAKEOFF_TEST_IO").is_ok_and(|io| io == "epoll");
    let kind = if epoll || bakeoff_reactor::io_uring_usable().is_err() {
        IoKind::Epoll
    } else {
        IoKind::IoUring
    };
    bakeoff_reactor::block_on(kind, bakeoff_reactor::Margin::new(false), Box::new(|_| {}), test).unwrap()
}

/// Runs a test's future on the runner that suits most drivers.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

pub async fn open<D: Driver>(driver: &D) -> Result<D::Session, OpError> {
    let client = driver.open(0).await.expect("open");
    driver.session(&client, 0, Needs::default()).await
}

/// A table with three fields, of a name that no other test has.
pub fn table(test: &str) -> TableSpec {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    TableSpec {
        name: format!("t{}_{number}_{test}", std::process::id()),
        key_column: "YCSB_KEY".into(),
        key_length: 100,
        field_names: (0..3).map(|i| format!("FIELD{i}")).collect(),
        value_type: ValueType::Text,
    }
}

/// One record's values, laid end to end.
pub struct Row {
    key: Vec<u8>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

pub fn row(key: &str, values: [&[u8]; 3]) -> Row {
    let ends = values.iter().scan(0, |end, value| {
        *end += value.len() as u32;
        Some(*end)
    });
    Row {
        key: key.into(),
        ends: ends.collect(),
        bytes: values.concat(),
    }
}

impl Row {
    pub fn record(&self) -> Record<'_> {
        Record {
            key: &self.key,
            bytes: &self.bytes,
            ends: &self.ends,
        }
    }
}

pub fn texts(row: &RowBuf) -> Vec<Vec<u8>> {
    row.cells()
        .map(|cell| match cell {
            Value::Text(bytes) => bytes.to_vec(),
            other => panic!("not text: {other:?}"),
        })
        .collect()
}
