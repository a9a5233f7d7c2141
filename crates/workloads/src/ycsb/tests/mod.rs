//! The workload as a whole, against the database in memory of [`super::fake`]: what all its tests share.

mod answers;
mod phases;
mod streams;
mod transactions;

use super::fake::{FakeProbe, FakeStore, now};
use super::*;
use crate::account::Evidence;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::run::{FieldLength, RequestDistribution};

/// One user at work on a loaded table.
struct Bench {
    /// For as long as the answers that may borrow from it.
    ycsb: &'static Ycsb,
    store: FakeStore,
    session: AnyRecords,
    worker: Worker,
    thread: Thread,
    probe: FakeProbe,
}

fn thread_of(ycsb: &Ycsb, worker: &Worker, stream: u64, latency_probe: bool) -> Thread {
    let id = ThreadId {
        thread: stream as u32,
        stream,
        latency_probe,
    };
    Workload::thread(ycsb, worker, id)
}

fn worker_of(ycsb: &Ycsb) -> Worker {
    Workload::worker(ycsb, 0)
}

fn load(store: &FakeStore, spec: &YcsbSpec, seed: u64, client: ClientSpec) -> Result<u64, OpError> {
    let ycsb = Ycsb::new(spec, seed, client).unwrap();
    let worker = worker_of(&ycsb);
    let mut thread = thread_of(&ycsb, &worker, 0, false);
    let mut session = store.session();
    let units = Workload::load_units(&ycsb);
    let chunk = Workload::load_chunk_units(&ycsb);
    let (mut first, mut stored) = (0, 0);
    while first < units {
        let count = chunk.min(units - first);
        stored += now(ycsb.load_chunk(&worker, &mut thread, &mut session, first, count))?;
        first += count;
    }
    Ok(stored)
}

impl Bench {
    /// `spec` loaded with seed 1, and a user of stream 0 with the same seed.
    fn new(spec: YcsbSpec) -> Self {
        Self::with_stream(spec, 0)
    }

    fn with_stream(spec: YcsbSpec, stream: u64) -> Self {
        let store = FakeStore::default();
        load(&store, &spec, 1, ClientSpec::default()).unwrap();
        let made = Ycsb::new(&spec, 1, ClientSpec::default()).unwrap();
        let ycsb: &Ycsb = Box::leak(Box::new(made));
        let worker = worker_of(ycsb);
        let thread = thread_of(ycsb, &worker, stream, false);
        Self {
            session: store.session(),
            store,
            ycsb,
            worker,
            thread,
            probe: FakeProbe::default(),
        }
    }

    fn next(&mut self) -> usize {
        Workload::next(self.ycsb, &self.worker, &mut self.thread)
    }

    fn execute(&mut self) -> Result<Answer<'static>, OpError> {
        now(self
            .ycsb
            .execute(&self.worker, &mut self.thread, &mut self.session, &mut self.probe))
    }

    fn settle(&mut self, outcome: Outcome, session_lost: bool) {
        let Self {
            ycsb,
            worker,
            thread,
            probe,
            ..
        } = self;
        let ended = Ended::at_once(outcome, session_lost);
        Workload::settle(*ycsb, worker, thread, ended, probe);
    }

    /// After attempts of which the first one, `lost`, may have been applied.
    fn settle_retried(&mut self, outcome: Outcome) {
        let ended = Ended {
            perhaps_applied: 1,
            ..Ended::at_once(outcome, false)
        };
        Workload::settle(self.ycsb, &self.worker, &mut self.thread, ended, &mut self.probe);
    }

    /// Draws, executes once and settles, as a worker without retries does.
    fn step(&mut self) -> (usize, Outcome) {
        let kind = self.next();
        let (outcome, lost) = match self.execute() {
            Ok(Answer::Right) => (Outcome::Ok, false),
            Ok(Answer::Wrong(_)) => (Outcome::Wrong, false),
            Err(error) => (error.outcome, error.connection_lost),
        };
        self.settle(outcome, lost);
        (kind, outcome)
    }

    fn answer(&mut self) -> Answer<'static> {
        self.next();
        let answer = self.execute().unwrap();
        self.settle(
            if answer == Answer::Right {
                Outcome::Ok
            } else {
                Outcome::Wrong
            },
            false,
        );
        answer
    }

    fn finish(&mut self) -> Result<(), OpError> {
        now(self
            .ycsb
            .finish(&self.worker, &mut self.thread, &mut self.session, &mut self.probe))
    }

    fn evidence(&self) -> Evidence {
        Workload::evidence(self.ycsb).counts
    }

    fn bytes_written(&self) -> u64 {
        Workload::user_bytes_written(self.ycsb)
    }

    /// After runs that did `done`.
    fn check(&mut self, done: &[Option<Evidence>], after_run: bool) -> Vec<Check> {
        let did: Vec<_> = done
            .iter()
            .map(|run| run.map(|counts| Did { counts, ledger: None }))
            .collect();
        self.check_keys(&did, after_run, 0)
    }

    /// The same, with this many rows read by their keys.
    fn check_keys(&mut self, done: &[Option<Did>], after_run: bool, acknowledged: u64) -> Vec<Check> {
        let spec = CheckSpec {
            sample: 50,
            acknowledged,
            after_run,
            ..CheckSpec::default()
        };
        now(self.ycsb.check(&mut self.session, done, &spec)).unwrap()
    }

    fn rows(&self) -> u64 {
        self.store.change(|state| state.rows.len() as u64)
    }
}

/// Nothing but this kind of operation, on 200 small records.
fn only(kind: usize) -> YcsbSpec {
    let weight = |k| if k == kind { 1.0 } else { 0.0 };
    YcsbSpec {
        records: 200,
        field_length: 20,
        read_proportion: weight(READ),
        update_proportion: weight(UPDATE),
        insert_proportion: weight(INSERT),
        scan_proportion: weight(SCAN),
        read_modify_write_proportion: weight(READ_MODIFY_WRITE),
        ..Default::default()
    }
}

fn conflict() -> OpError {
    OpError::fail(FailClass::Conflict, "1213", "deadlock")
}

/// The step matters, not its result.
fn ignore<T>(_: T) {}
