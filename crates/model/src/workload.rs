//! What a workload is: schema, load, operations, checks.
//!
//! Order of calls. `create`, then `load_chunk` over `0..load_units` by many sessions at once, then `check`; or, for a
//! run, each OS thread makes a `worker` state, each user a `thread` state on it, and then for each operation:
//! `next` (draws the operation; pure arithmetic on the thread's own stream), `pause_ns`, `execute` once per attempt, `settle`
//! once with the final outcome. (The operation drawn last may never be executed: the window has ended.) `next` and `execute` may not allocate, lock or format.
use crate::endpoint::Asked;
use crate::event::Check;
use crate::needs::Needs;
use crate::outcome::{OpError, Outcome, Trouble};
use crate::run::CheckSpec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One kind of operation that is timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub name: String,
    /// A part of another operation (the read of a read-modify-write): recorded, but not counted in totals.
    pub part_of: Option<String>,
    /// It changes nothing, so a node that only reads may carry it out.
    pub reads_only: bool,
}

impl Operation {
    /// One that writes, or may.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            part_of: None,
            reads_only: false,
        }
    }

    pub fn part_of(name: impl Into<String>, whole: impl Into<String>) -> Self {
        Self {
            part_of: Some(whole.into()),
            ..Self::new(name)
        }
    }

    pub fn reading_only(self, reads_only: bool) -> Self {
        Self { reads_only, ..self }
    }
}

/// Who is asking: indices from 0. `stream` is unique over all threads of all clients and seeds the random stream;
/// `latency_probe` marks the one session next to the load, which may only read.
#[derive(Clone, Copy, Debug)]
pub struct ThreadId {
    pub thread: u32,
    pub stream: u64,
    pub latency_probe: bool,
}

impl ThreadId {
    /// A run's first user.
    pub const FIRST: Self = Self {
        thread: 0,
        stream: 0,
        latency_probe: false,
    };
}

/// How an attempt that was acknowledged went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'w> {
    Right,
    /// Why it is wrong, for the report: "row missing", "field3 differs", ... Words that the workload holds, or fixed ones.
    Wrong(&'w str),
}

/// How an operation ended, all its attempts taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Of the last attempt.
    pub outcome: Outcome,
    /// The session will be replaced, so whatever was uncommitted in it is gone.
    pub session_lost: bool,
    /// Attempts before the last one that nobody answered, because they lost their connection for instance, and that were
    /// retried: each may have been applied in full, whatever became of the last.
    pub perhaps_applied: u32,
}

impl Ended {
    /// By the first and only attempt.
    pub fn at_once(outcome: Outcome, session_lost: bool) -> Self {
        Self {
            outcome,
            session_lost,
            perhaps_applied: 0,
        }
    }
}

/// Statements that a server carried out within one operation, by what they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    pub read: u32,
    pub write: u32,
    /// Begin, commit, rollback, and writes that touched no row.
    pub other: u32,
}

/// What the worker lends to `execute` and `settle`: its clock, and records for parts of an operation.
pub trait Probe {
    fn now_ns(&self) -> u64;
    /// Records a part (an index into `operations()`) that began at `start_ns` and ends now; returns that end.
    fn part(&mut self, operation: usize, outcome: Outcome, start_ns: u64) -> u64;
    /// Statements carried out since the last call, failed attempts included. They count if the operation does.
    fn queries(&mut self, queries: Queries);
    /// Takes back `count` operations that were counted `ok` because the transaction they were in did not commit.
    fn revoke(&mut self, count: u64);
}

pub trait Workload: Send + Sync + Sized + 'static {
    /// What it asks: a shape of database.
    type Session: Asked + 'static;
    /// Shared by the users of one OS thread; need not be `Send`.
    type Worker: 'static;
    /// State of one user: random stream, generators, buffers.
    type Thread: 'static;
    /// What one client's run did to the data, as its checks need it. Others carry it as a document.
    type Evidence: Serialize + DeserializeOwned;

    /// Fixed when the workload is made: what follows counts by their places.
    fn operations(&self) -> &[Operation];
    /// The only operation that a latency probe draws (a read). `None`: this mix has none that it could be compared by, so
    /// there is no latency probe.
    fn latency_probe_operation(&self) -> Option<usize> {
        None
    }
    fn needs(&self) -> Needs;
    fn worker(&self, worker: usize) -> Self::Worker;
    fn thread(&self, worker: &Self::Worker, id: ThreadId) -> Self::Thread;

    /// Where users take their operations from one list: how many of its first ones are this user's, with `operations` for each
    /// client. `None`: users draw on their own, and share a number of operations evenly.
    fn share(&self, _id: ThreadId, _operations: u64) -> Option<u64> {
        None
    }

    /// Called once for each session after it is opened (or re-opened): attach tables, prepare statements.
    async fn attach(&self, session: &mut Self::Session) -> Result<(), OpError>;

    /// Draws the next operation; returns its index into `operations()`. Cost: tens of nanoseconds.
    fn next(&self, worker: &Self::Worker, thread: &mut Self::Thread) -> usize;
    /// How long a user of a closed loop thinks between the end of its last operation and the one drawn last, which falls due
    /// then. No session is held meanwhile where there is a pool.
    #[inline]
    fn pause_ns(&self, _thread: &Self::Thread) -> u64 {
        0
    }
    /// When the operation drawn last falls due in a closed loop, after the run's epoch: it may be past, and is late then. `None`:
    /// after the pause.
    #[inline]
    fn due_ns(&self, _thread: &Self::Thread) -> Option<u64> {
        None
    }
    /// One attempt at the operation drawn last.
    async fn execute(
        &self,
        worker: &Self::Worker,
        thread: &mut Self::Thread,
        session: &mut Self::Session,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError>;
    /// The operation drawn last is over (all attempts made, or timed out and dropped).
    fn settle(&self, worker: &Self::Worker, thread: &mut Self::Thread, ended: Ended, probe: &mut dyn Probe);
    /// Asked after `settle`: the user wants another connection before its next operation (counted as a reconnect).
    fn wants_new_session(&self, _thread: &Self::Thread) -> bool {
        false
    }
    /// Whether operations of this user were counted that only `finish` can make true.
    fn owes(&self, _thread: &Self::Thread) -> bool {
        false
    }
    /// The run is over for this user: commit what is open. Asked only of a user that owes something; not called where no
    /// session can be had.
    async fn finish(
        &self,
        _worker: &Self::Worker,
        _thread: &mut Self::Thread,
        _session: &mut Self::Session,
        _probe: &mut dyn Probe,
    ) -> Result<(), OpError> {
        Ok(())
    }
    /// `finish` failed, was given up, or never came to be called: whatever is still owed is revoked.
    fn abandon(&self, _thread: &mut Self::Thread, _probe: &mut dyn Probe) {}
    /// Hash over the first 10,000 operations this thread generated (kind, key, fields, lengths, values' seeds).
    fn stream_hash(&self, thread: &Self::Thread) -> u64;

    async fn create(&self, session: &mut Self::Session, drop_existing: bool) -> Result<(), Trouble>;
    async fn drop(&self, session: &mut Self::Session) -> Result<(), Trouble>;
    /// How many units (rows, or what stands for several) the load phase of this client has; chunks are `load_chunk_units`
    /// long. None: the steps that follow load all that is loaded.
    fn load_units(&self) -> u64 {
        0
    }
    fn load_chunk_units(&self) -> u64 {
        1
    }
    /// Loads units `first..first + count`, all or none (after a conflict it is called again); returns rows stored.
    async fn load_chunk(
        &self,
        _worker: &Self::Worker,
        _thread: &mut Self::Thread,
        _session: &mut Self::Session,
        _first: u64,
        _count: u64,
    ) -> Result<u64, OpError> {
        Ok(0)
    }
    /// Steps that follow once every unit of this client is loaded (secondary indexes); its sessions share them. Each is
    /// done once. Clients do not wait for each other: what is to be done once for all of them is a step of client 0's.
    fn after_load_steps(&self) -> u64 {
        0
    }
    async fn after_load(&self, _session: &mut Self::Session, _step: u64) -> Result<(), OpError> {
        Ok(())
    }
    /// Reads everything once, so that every system is equally warm. Returns rows read.
    async fn scan_all(&self, session: &mut Self::Session) -> Result<u64, OpError>;
    /// Invariants of the data, after a load or a run. A violated one is a `Check` with `ok = false`, not an error.
    /// `done`: of every client and every run since the data were loaded; `None`: nobody knows what that one did.
    async fn check(
        &self,
        session: &mut Self::Session,
        done: &[Option<Self::Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError>;
    /// What the run did to the data, for the checks that follow. Asked when it is over.
    fn evidence(&self) -> Self::Evidence;
    /// User bytes (keys and values) in acknowledged writes so far.
    fn user_bytes_written(&self) -> u64 {
        0
    }
}
