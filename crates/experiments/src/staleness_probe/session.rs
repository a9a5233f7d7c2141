//! One session of the probe. Its writes are a Poisson process. It announces each acknowledged write to every session, and each
//! session then reads that key at a time of its own, as often between 0.1 and 1 ms as between 1 and 10 ms, for as long as the
//! judge calls a read exposed, and right afterwards another key. The budget allows few reads; so none is spent where nothing
//! old could be seen. (Uniform delays of up to 50 ms found nothing on a Galera cluster in 8 s: most of its windows are
//! shorter than a few milliseconds.)
use super::NAP;
use super::budget::{Arrivals, RECORDS_MAX, Spent};
use crate::Stage;
use crate::versions::{At, KEYS, Versions, record};
use bakeoff_histories::record::{MicroOp, Outcome, Record};
use bakeoff_histories::register::EXPOSED_WITHIN_NS;
use bakeoff_measure::control::Axis;
use bakeoff_measure::threads::client_cost::{cpu_ns, thread_cpu_ns};
use bakeoff_model::driver::AnyClient;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::random::{SplitMix64, seed};
use bakeoff_model::time::{now_ns, sleep};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Announced reads that wait for a session; more are left out.
const WAITING_MAX: usize = 64;
/// After the acknowledgement of a write.
const SOONEST_NS: f64 = 100_000.0;
const BEFORE_REOPENING: Duration = Duration::from_millis(100);

/// When it is due, ns, and the key.
type Due = (u64, u64);

/// By session, which is by node.
pub struct Shared {
    /// Of all sessions together, as the bits of a float.
    ops_per_s: AtomicU64,
    readers: Vec<SyncSender<Due>>,
    reads: Mutex<Vec<Receiver<Due>>>,
    records: Vec<Mutex<Vec<Record>>>,
    /// Of all sessions, like what follows.
    recorded: AtomicUsize,
    operations: AtomicU64,
    cpu_ns: AtomicU64,
    lost: Vec<AtomicU32>,
}

impl Shared {
    pub fn new(sessions: usize, ops_per_s: f64) -> Self {
        let (readers, reads) = (0..sessions).map(|_| sync_channel(WAITING_MAX)).unzip();
        Self {
            ops_per_s: AtomicU64::new(ops_per_s.to_bits()),
            readers,
            reads: Mutex::new(reads),
            records: (0..sessions).map(|_| Mutex::default()).collect(),
            recorded: AtomicUsize::new(0),
            operations: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
            lost: (0..sessions).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The announcements that each session reads; empty the second time.
    pub fn take_readers(&self) -> Vec<Receiver<Due>> {
        std::mem::take(&mut self.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Of all sessions, also of one that still waits for an answer.
    pub fn take_records(&self) -> Vec<Record> {
        (0..self.records.len())
            .flat_map(|session| std::mem::take(&mut *self.records(session)))
            .collect()
    }

    /// No session records any more.
    pub fn is_full(&self) -> bool {
        self.recorded.load(Relaxed) >= RECORDS_MAX
    }

    /// Of all sessions, and of the client up to now.
    pub fn spent(&self) -> Spent {
        Spent {
            operations: self.operations.load(Relaxed),
            probe_ns: self.cpu_ns.load(Relaxed),
            client_ns: cpu_ns(),
        }
    }

    /// Of all sessions together, from now on.
    pub fn set_ops_per_s(&self, ops_per_s: f64) {
        self.ops_per_s.store(ops_per_s.to_bits(), Relaxed);
    }

    /// How often each session was lost.
    pub fn lost(&self) -> impl Iterator<Item = u32> {
        self.lost.iter().map(|lost| lost.load(Relaxed))
    }

    fn records(&self, session: usize) -> MutexGuard<'_, Vec<Record>> {
        self.records[session]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Session {
    node: usize,
    shared: Arc<Shared>,
    reads: Receiver<Due>,
    waiting: BinaryHeap<Reverse<Due>>,
    /// The keys that it alone writes; none where its node takes no writes.
    own: Vec<u64>,
    version: i64,
    /// Its own, for each operation of the whole probe.
    writes_per_op: f64,
    random: SplitMix64,
}

impl Session {
    pub fn new<S>(node: usize, stage: &Stage<S>, shared: Arc<Shared>, reads: Receiver<Due>) -> Self {
        let writers = stage.places.len();
        let place = stage.places.iter().position(|place| *place as usize == node);
        Self {
            node,
            reads,
            waiting: BinaryHeap::new(),
            own: place.map_or(vec![], |place| (0..KEYS).skip(place).step_by(writers).collect()),
            version: 0,
            // A write has every session read twice.
            writes_per_op: 1.0 / ((1 + 2 * shared.readers.len()) * writers) as f64,
            random: SplitMix64(seed(&[stage.spec.seed, node as u64])),
            shared,
        }
    }

    /// From its first connection to the end of the window.
    pub async fn live<S: Versions>(
        mut self,
        stage: &Stage<S>,
        setup: &[String],
        opened: impl FnOnce(),
    ) -> Result<(), Trouble> {
        let client = stage.driver.open(self.node).await?;
        let mut at = At::open(stage, &*client, setup, self.node).await?;
        opened();
        let control = &stage.control;
        let Some(axis) = control.wait_for_axis() else {
            return Ok(());
        };
        control.sleep_until(axis.epoch_ns);
        let mut arrivals = Arrivals::from(axis.epoch_ns, &mut self.random);
        let mut spent_ns = thread_cpu_ns();
        while !self.is_over(&axis) {
            let (now, per_s) = (now_ns(), self.writes_per_s());
            let operations = if let Some(key) = self.due(now) {
                self.read(&mut at, key, &axis).await;
                let another = (key + 1 + self.random.below(KEYS - 1)) % KEYS;
                self.read(&mut at, another, &axis).await;
                2
            } else if self.own.is_empty() {
                self.wait(u64::MAX);
                0
            } else if arrivals.is_due(now, per_s, &mut self.random) {
                self.write(&mut at).await;
                1
            } else {
                self.wait(arrivals.wait_ns(per_s));
                0
            };
            let before_ns = std::mem::replace(&mut spent_ns, thread_cpu_ns());
            self.shared.operations.fetch_add(operations, Relaxed);
            self.shared.cpu_ns.fetch_add(spent_ns - before_ns, Relaxed);
            if at.is_lost {
                self.shared.lost[self.node].fetch_add(1, Relaxed);
                self.reopen(&mut at, stage, &*client, setup, &axis).await;
            }
        }
        Ok(())
    }

    fn is_over(&self, axis: &Axis) -> bool {
        self.shared.is_full() || now_ns() >= axis.window_end_ns()
    }

    fn writes_per_s(&self) -> f64 {
        f64::from_bits(self.shared.ops_per_s.load(Relaxed)) * self.writes_per_op
    }

    /// The key of a read that is due.
    fn due(&mut self, now_ns: u64) -> Option<u64> {
        while let Ok(due) = self.reads.try_recv() {
            self.waiting.push(Reverse(due));
        }
        self.waiting
            .peek()
            .filter(|Reverse((due_ns, _))| *due_ns <= now_ns)?;
        self.waiting.pop().map(|Reverse((_, key))| key)
    }

    /// For a read to be announced or to fall due, but not past the next write.
    fn wait(&mut self, write_ns: u64) {
        let read_ns = self
            .waiting
            .peek()
            .map_or(u64::MAX, |Reverse((due_ns, _))| due_ns.saturating_sub(now_ns()));
        let at_most = Duration::from_nanos(write_ns.min(read_ns)).min(NAP);
        if let Ok(due) = self.reads.recv_timeout(at_most) {
            self.waiting.push(Reverse(due));
        }
    }

    async fn write<S: Versions>(&mut self, at: &mut At<S>) {
        let key = self.own[self.random.below(self.own.len() as u64) as usize];
        self.version += 1;
        let op = MicroOp::Write(key, self.version);
        // Others may read it before it has an answer, and it may never have one.
        let index = self.note(now_ns(), (Outcome::Unknown, op));
        let outcome = at.write(key, self.version).await;
        let now = now_ns();
        // Not there any more if the answer came after the run's end.
        if let Some(written) = self.shared.records(self.node).get_mut(index) {
            (written.outcome, written.return_ns) = (outcome, now as i64);
        }
        if outcome == Outcome::Ok {
            for reader in &self.shared.readers {
                let _ = reader.try_send((now + delay_ns(&mut self.random), key));
            }
        }
    }

    /// Noted only in the window: what the warm-up read is not judged.
    async fn read<S: Versions>(&mut self, at: &mut At<S>, key: u64, axis: &Axis) {
        let call_ns = now_ns();
        let done = at.read(key).await;
        if call_ns >= axis.window_start_ns {
            self.note(call_ns, done);
        }
    }

    /// Its place among the session's records.
    fn note(&self, call_ns: u64, done: (Outcome, MicroOp)) -> usize {
        let mut records = self.shared.records(self.node);
        let index = records.len();
        records.push(record(self.node as u32, self.node, index, call_ns, done));
        self.shared.recorded.fetch_add(1, Relaxed);
        index
    }

    async fn reopen<S: Versions>(
        &self,
        at: &mut At<S>,
        stage: &Stage<S>,
        client: &dyn AnyClient<S>,
        setup: &[String],
        axis: &Axis,
    ) {
        while at.is_lost && !self.is_over(axis) {
            match At::open(stage, client, setup, self.node).await {
                Ok(again) => *at = again,
                Err(_) => sleep(BEFORE_REOPENING).await,
            }
        }
    }
}

/// From a write to a read of it: its logarithm is uniform.
fn delay_ns(random: &mut SplitMix64) -> u64 {
    let range = EXPOSED_WITHIN_NS as f64 / SOONEST_NS;
    (SOONEST_NS * range.powf(random.open_unit())) as u64
}
