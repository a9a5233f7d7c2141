//! Versions of a few keys, as everybody who looks for old reads writes and reads them: in rows of SQL, or in records where a
//! system has no SQL. The judge: `bakeoff_histories::register`.
mod records;
mod sql;

use crate::actor::ended;
use crate::shared::{Own, history};
use crate::{Stage, defect};
use bakeoff_histories::record::{Answer, MicroOp, Outcome as Ended, Phase, Record};
use bakeoff_histories::register::{Claims, judge};
use bakeoff_measure::words;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::time::now_ns;
use std::collections::BTreeMap;
use std::ops::Range;

pub const TABLE: &str = "bakeoff_probe";
/// That any session reads.
pub const KEYS: u64 = 16;

/// A session that keeps versions.
pub trait Versions: Sized + 'static {
    /// What it prepares.
    type Prepared;
    /// Whether it can add to a version without reading it.
    const ADDS: bool;

    fn needs() -> Needs;

    /// On this node. setup: statements that the session begins with.
    async fn open(
        stage: &Stage<Self>,
        client: &dyn AnyClient<Self>,
        setup: &[String],
        node: usize,
    ) -> Result<(Self, Self::Prepared), Trouble>;
    /// Error also if there is no such key.
    async fn write_version(
        &mut self,
        prepared: &Self::Prepared,
        key: u64,
        version: i64,
    ) -> Result<(), OpError>;
    async fn read_version(&mut self, prepared: &Self::Prepared, key: u64) -> Result<Option<i64>, OpError>;
    /// Only where it `ADDS`.
    async fn add(&mut self, key: u64, amount: i64) -> Result<(), OpError>;
    async fn delete_key(&mut self, key: u64) -> Result<(), OpError>;
    /// Those of these keys that exist.
    async fn read_keys(
        &mut self,
        prepared: &Self::Prepared,
        keys: Range<u64>,
    ) -> Result<BTreeMap<u64, i64>, OpError>;
    /// Makes the table with this many keys, each with 0 as its value, on every node.
    fn create_keys(stage: &Stage<Self>, setup: &[String], keys: u64) -> Result<(), Trouble>;
    fn drop_keys(stage: &Stage<Self>, setup: &[String]) -> Result<(), Trouble>;
}

/// The table, once it is made.
pub struct Made<'a, S> {
    stage: &'a Stage<S>,
    setup: &'a [String],
}

pub fn make<'a, S: Versions>(
    stage: &'a Stage<S>,
    setup: &'a [String],
    keys: u64,
) -> Result<Made<'a, S>, Trouble> {
    S::create_keys(stage, setup, keys).map(|()| Made { stage, setup })
}

impl<S: Versions> Own for Made<'_, S> {
    fn drop(&self) -> Result<(), Trouble> {
        S::drop_keys(self.stage, self.setup)
    }
}

pub fn claims(claims: &serde_json::Value, key: &str) -> Result<Claims, Trouble> {
    serde_json::from_value(claims.clone())
        .map_err(|error| words::usage(error.to_string(), key, "see docs/method/histories.md"))
}

/// A session on one node: a place in the system's list of endpoints.
pub struct At<S: Versions> {
    pub node: usize,
    pub is_lost: bool,
    pub session: S,
    pub prepared: S::Prepared,
}

impl<S: Versions> At<S> {
    pub async fn open(
        stage: &Stage<S>,
        client: &dyn AnyClient<S>,
        setup: &[String],
        node: usize,
    ) -> Result<Self, Trouble> {
        let (session, prepared) = S::open(stage, client, setup, node).await?;
        Ok(Self {
            is_lost: false,
            node,
            session,
            prepared,
        })
    }

    pub async fn write(&mut self, key: u64, version: i64) -> Ended {
        match self.session.write_version(&self.prepared, key, version).await {
            Ok(()) => Ended::Ok,
            Err(error) => {
                self.is_lost |= error.connection_lost;
                ended(&error)
            }
        }
    }

    pub async fn read(&mut self, key: u64) -> (Ended, MicroOp) {
        match self.session.read_version(&self.prepared, key).await {
            // Version 0 is the row before any write.
            Ok(None | Some(0)) => (Ended::Ok, MicroOp::Read(key, Answer::Nothing)),
            Ok(Some(version)) => (Ended::Ok, MicroOp::Read(key, Answer::Value(version))),
            Err(error) => {
                self.is_lost |= error.connection_lost;
                (Ended::Fail, MicroOp::Unanswered(key))
            }
        }
    }
}

/// What one session did on one node, as of now; `index`: how much it had done before.
pub fn record(
    session: u32,
    node: usize,
    index: usize,
    call_ns: u64,
    (outcome, op): (Ended, MicroOp),
) -> Record {
    Record {
        session,
        node: node as u32,
        index: index as u64,
        phase: Phase::Load,
        outcome,
        call_ns: call_ns as i64,
        return_ns: now_ns() as i64,
        ops: vec![op],
    }
}

/// The judge's report.
pub fn judged(records: &[Record], claims: &Claims) -> Result<serde_json::Value, Trouble> {
    let place = "staleness";
    let report =
        judge(&history(records, place)?, claims).map_err(|error| defect(error.to_string(), place))?;
    serde_json::to_value(report).map_err(|error| defect(error.to_string(), place))
}
