//! Versions in records, of a system without SQL.
use super::{TABLE, Versions};
use crate::shared::{found, on_records, open_records};
use crate::{Stage, place_of, silent};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{FailClass, OpError, Trouble};
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, ValueType};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::value::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

const FIRST: Table = Table(0);
/// As many digits as the largest version has.
const VALUE_LENGTH: u32 = 20;
const ERRANDS: &str = "verify: the table of versions";

fn table() -> TableSpec {
    TableSpec {
        name: TABLE.to_owned(),
        key_column: "probe_key".to_owned(),
        key_length: 8,
        field_names: vec!["value".to_owned()],
        value_type: ValueType::Varchar(VALUE_LENGTH),
    }
}

fn name(key: u64) -> String {
    format!("key-{key:04}")
}

impl Versions for AnyRecords {
    type Prepared = ();
    const ADDS: bool = false;

    fn needs() -> Needs {
        Needs::default()
    }

    async fn open(
        stage: &Stage<Self>,
        client: &dyn AnyClient<Self>,
        _setup: &[String],
        node: usize,
    ) -> Result<(Self, ()), Trouble> {
        let session = open_records(stage, client, node, table()).await?;
        Ok((session, ()))
    }

    async fn write_version(&mut self, (): &(), key: u64, version: i64) -> Result<(), OpError> {
        let value = version.to_string();
        let value = FieldValue {
            field: 0,
            value: value.as_bytes(),
        };
        found(self.update(FIRST, name(key).as_bytes(), &[value]).await?)
    }

    async fn read_version(&mut self, (): &(), key: u64) -> Result<Option<i64>, OpError> {
        let key = name(key);
        let row = self.read(FIRST, key.as_bytes(), Fields::One(0)).await?;
        let text = row.and_then(|row| row.cell(0)).and_then(Value::bytes);
        Ok(text.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()))
    }

    async fn add(&mut self, _key: u64, _amount: i64) -> Result<(), OpError> {
        Err(OpError::fail(
            FailClass::Other,
            "ADD",
            "records cannot be added to",
        ))
    }

    async fn delete_key(&mut self, key: u64) -> Result<(), OpError> {
        found(self.delete(FIRST, name(key).as_bytes()).await?)
    }

    /// By key: not every system scans, and one that does may take older rows for it.
    async fn read_keys(&mut self, (): &(), keys: Range<u64>) -> Result<BTreeMap<u64, i64>, OpError> {
        let mut rows = BTreeMap::new();
        for key in keys {
            if let Some(version) = self.read_version(&(), key).await? {
                rows.insert(key, version);
            }
        }
        Ok(rows)
    }

    fn create_keys(stage: &Stage<Self>, setup: &[String], keys: u64) -> Result<(), Trouble> {
        on_records(stage, place_of(stage, 0), table(), ERRANDS, async |session| {
            if stage.spec.drop_existing {
                session.drop_table(&table()).await?;
            }
            session.create_table(&table()).await?;
            for key in 0..keys {
                let key = name(key);
                let record = Record {
                    key: key.as_bytes(),
                    bytes: b"0",
                    ends: &[1],
                };
                session.insert(FIRST, record).await?;
            }
            Ok(())
        })?;
        let everywhere = (0..stage.nodes()).try_for_each(|node| wait_for_keys(stage, node, keys));
        everywhere.inspect_err(|_| drop(Self::drop_keys(stage, setup)))
    }

    fn drop_keys(stage: &Stage<Self>, _setup: &[String]) -> Result<(), Trouble> {
        on_records(stage, place_of(stage, 0), table(), ERRANDS, async |session| {
            session.drop_table(&table()).await
        })
    }
}

/// A node that replicates may not have all of them yet.
fn wait_for_keys(stage: &Stage<AnyRecords>, node: usize, keys: u64) -> Result<(), Trouble> {
    let give_up_ns = now_ns() + stage.timeout.as_nanos() as u64;
    let found = on_records(stage, node, table(), ERRANDS, async |session| {
        for key in 0..keys {
            loop {
                match session.read_version(&(), key).await {
                    Ok(Some(_)) => break,
                    Err(error) if error.connection_lost => return Err(error),
                    _ if now_ns() > give_up_ns => return Ok(false),
                    _ => sleep(Duration::from_millis(20)).await,
                }
            }
        }
        Ok(true)
    })?;
    match found {
        true => Ok(()),
        false => Err(silent(
            stage,
            &format!("node {node} does not have the keys of {TABLE}"),
        )),
    }
}
