//! The test bench: a system whose every reply is scripted, a workload of one operation, and builders.
#![allow(dead_code, clippy::unwrap_used)] // test code throughout; each file uses its part

use bakeoff_measure::{Control, execute};
use bakeoff_model::driver::Driver;
use bakeoff_model::endpoint::Asked;
use bakeoff_model::event::{Check, Event, Interval, RunResult, Series};
use bakeoff_model::needs::{Needs, Offer, Offers};
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble};
use bakeoff_model::run::{CheckSpec, RunSpec, RunnerKind};
use bakeoff_model::time::{epoch_ns, now_ns, sleep_until};
use bakeoff_model::workload::{Answer, Ended, Operation, Probe, Queries, ThreadId, Workload};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the system does with one operation.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    Right,
    Wrong,
    Fail(FailClass),
    Lost,
    /// The node will not serve.
    Leave,
    Hang,
    After(Duration),
    /// Ns of the clock.
    At(u64),
}

/// Number of the operation since the process began -> reply.
pub type Script = Arc<dyn Fn(u64) -> Reply + Send + Sync>;

/// Number that stands for a user's last statements.
pub const FINISH: u64 = u64::MAX;

pub struct TestDriver {
    pub script: Script,
    pub runners: &'static [RunnerKind],
    pub opened: Arc<AtomicU64>,
    /// From this session on none is opened: the system is asked, and says nothing.
    pub opens: u64,
    pub nodes: Arc<Nodes>,
}

/// Which nodes are down, and what came to each.
#[derive(Default)]
pub struct Nodes {
    /// A bit for each.
    pub down: AtomicU64,
    /// Sessions that one has refused.
    pub refused: AtomicU64,
    /// Of each operation that was answered, in turn: where, and which it was.
    pub answered: Mutex<Vec<(usize, usize)>>,
}

impl Nodes {
    fn is_down(&self, endpoint: usize) -> bool {
        self.down.load(SeqCst) & (1 << endpoint) != 0
    }
}

pub struct TestSession {
    script: Script,
    endpoint: usize,
    nodes: Arc<Nodes>,
}

impl Asked for TestSession {}

impl Driver for TestDriver {
    const RUNNERS: &'static [RunnerKind] = &[RunnerKind::Tokio, RunnerKind::Thread, RunnerKind::Reactor];
    type Client = ();
    type Session = TestSession;
    fn runners(&self) -> &'static [RunnerKind] {
        self.runners
    }
    fn client(&self) -> &'static str {
        "bench"
    }
    fn offers(&self) -> Offers {
        Offers::of(&[Offer::CountsFound])
    }
    async fn open(&self, _: usize) -> Result<(), Trouble> {
        Ok(())
    }
    async fn session(&self, _: &(), endpoint: usize, _: Needs) -> Result<TestSession, OpError> {
        if self.nodes.is_down(endpoint) {
            self.nodes.refused.fetch_add(1, SeqCst);
            return Err(OpError::fail(FailClass::Other, "D", "the node is down"));
        }
        if self.opened.fetch_add(1, SeqCst) >= self.opens {
            std::future::pending::<()>().await;
        }
        Ok(TestSession {
            script: self.script.clone(),
            endpoint,
            nodes: self.nodes.clone(),
        })
    }
}

/// `op`, unless it was made with others.
pub struct Operations(pub Vec<Operation>);

impl Default for Operations {
    fn default() -> Self {
        Self(vec![Operation::new("op")])
    }
}

/// Asks its operations in turn; counts what happens to them.
#[derive(Default)]
pub struct TestWorkload {
    pub operations: Operations,
    /// Why an answer is wrong.
    pub reason: String,
    pub executed: Arc<AtomicU64>,
    pub settled: Arc<Mutex<Vec<(Outcome, bool)>>>,
    /// Sum of what it counted.
    pub perhaps_applied: Arc<AtomicU64>,
    /// Its client computes for so long to draw an operation.
    pub draw_ns: u64,
    /// When operations ended, at the latest: sum, ns of the clock. `None`: not asked, because a look at the clock costs.
    pub settled_ns: Option<Arc<AtomicU64>>,
    /// Sessions that its system opens before it is silent for ever; `None`: any number.
    pub opens: Option<u64>,
    pub needs: Needs,
    /// Of its system, by name and role; empty: it has none.
    pub nodes: Vec<(&'static str, &'static str)>,
    /// What becomes of them; asked about each operation where there are several.
    pub fate: Arc<Nodes>,
    /// Before every operation of a user but its first.
    pub pause_ns: u64,
    /// Users whose state has been made.
    pub made: Arc<AtomicU64>,
    /// Statements of each attempt.
    pub queries: Option<Queries>,
    /// A user reconnects after this number of operations; 0: never.
    pub reconnect: u64,
    /// Operations are made true by `finish` only; how many were.
    pub owing: bool,
    pub made_true: Arc<AtomicU64>,
    /// Steps after a load, and each one taken with the number of the operation it was.
    pub steps: u64,
    pub steps_taken: Arc<Mutex<Vec<(u64, u64)>>>,
}

/// What a run did to the data.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    executed: u64,
}

/// One user.
pub struct TestThread {
    stream: u64,
    drawn: u64,
    /// The operation drawn last, and the next.
    asked: usize,
    turn: usize,
    owed: u64,
}

impl Workload for TestWorkload {
    type Session = TestSession;
    type Worker = ();
    type Thread = TestThread;
    type Evidence = Done;
    fn needs(&self) -> Needs {
        self.needs
    }
    fn operations(&self) -> &[Operation] {
        &self.operations.0
    }
    fn latency_probe_operation(&self) -> Option<usize> {
        Some(0)
    }
    fn worker(&self, _: usize) {}
    fn thread(&self, _: &(), id: ThreadId) -> TestThread {
        self.made.fetch_add(1, SeqCst);
        TestThread {
            stream: id.stream,
            drawn: 0,
            asked: 0,
            turn: 0,
            owed: 0,
        }
    }
    async fn attach(&self, _: &mut TestSession) -> Result<(), OpError> {
        Ok(())
    }
    fn next(&self, _: &(), thread: &mut TestThread) -> usize {
        if self.draw_ns > 0 {
            let until_ns = now_ns() + self.draw_ns;
            while now_ns() < until_ns {}
        }
        thread.drawn += 1;
        let operation = thread.turn;
        thread.asked = operation;
        // No remainder of a division: the harness's floor is measured with this.
        thread.turn = if operation + 1 < self.operations.0.len() {
            operation + 1
        } else {
            0
        };
        operation
    }
    fn pause_ns(&self, thread: &TestThread) -> u64 {
        if thread.drawn > 1 { self.pause_ns } else { 0 }
    }
    async fn execute(
        &self,
        _: &(),
        thread: &mut TestThread,
        session: &mut TestSession,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'_>, OpError> {
        if let Some(queries) = self.queries {
            probe.queries(queries);
        }
        let number = self.executed.fetch_add(1, SeqCst);
        let reply = (session.script)(number);
        if self.nodes.len() > 1 {
            if session.nodes.is_down(session.endpoint) {
                return Err(OpError::lost("D", "the node is down"));
            }
            let answered = &session.nodes.answered;
            answered.lock().unwrap().push((session.endpoint, thread.asked));
        }
        match reply {
            Reply::Right => {}
            Reply::Wrong => return Ok(Answer::Wrong(&self.reason)),
            Reply::Fail(class) => return Err(OpError::fail(class, "F", "told to fail").with_statement("ask")),
            Reply::Lost => return Err(OpError::lost("L", "told to hang up")),
            Reply::Leave => return Err(OpError::fail(FailClass::Refused, "R", "read-only").leaving_node()),
            Reply::Hang => std::future::pending().await,
            Reply::After(pause) => sleep_until(now_ns() + pause.as_nanos() as u64).await,
            Reply::At(ns) => sleep_until(ns).await,
        }
        Ok(Answer::Right)
    }
    fn settle(&self, _: &(), thread: &mut TestThread, ended: Ended, _: &mut dyn Probe) {
        let Ended {
            outcome,
            session_lost,
            perhaps_applied,
        } = ended;
        self.perhaps_applied.fetch_add(perhaps_applied.into(), SeqCst);
        thread.owed += u64::from(self.owing && outcome == Outcome::Ok);
        if let Some(sum_ns) = &self.settled_ns {
            sum_ns.fetch_add(now_ns(), SeqCst);
        }
        if outcome != Outcome::Ok {
            self.settled.lock().unwrap().push((outcome, session_lost));
        }
    }
    fn wants_new_session(&self, thread: &TestThread) -> bool {
        self.reconnect > 0 && thread.drawn.is_multiple_of(self.reconnect)
    }
    fn owes(&self, thread: &TestThread) -> bool {
        thread.owed > 0
    }
    async fn finish(
        &self,
        _: &(),
        thread: &mut TestThread,
        session: &mut TestSession,
        _: &mut dyn Probe,
    ) -> Result<(), OpError> {
        self.answer(session, FINISH).await?;
        self.made_true.fetch_add(std::mem::take(&mut thread.owed), SeqCst);
        Ok(())
    }
    fn abandon(&self, thread: &mut TestThread, probe: &mut dyn Probe) {
        probe.revoke(std::mem::take(&mut thread.owed));
    }
    fn stream_hash(&self, thread: &TestThread) -> u64 {
        thread.stream
    }
    async fn create(&self, _: &mut TestSession, _: bool) -> Result<(), Trouble> {
        Ok(())
    }
    async fn drop(&self, _: &mut TestSession) -> Result<(), Trouble> {
        Ok(())
    }
    fn load_units(&self) -> u64 {
        1050
    }
    fn load_chunk_units(&self) -> u64 {
        100
    }
    async fn load_chunk(
        &self,
        _: &(),
        _: &mut TestThread,
        session: &mut TestSession,
        _: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let number = self.executed.fetch_add(1, SeqCst);
        self.answer(session, number).await.map(|()| count)
    }
    fn after_load_steps(&self) -> u64 {
        self.steps
    }
    async fn after_load(&self, session: &mut TestSession, step: u64) -> Result<(), OpError> {
        let number = self.executed.fetch_add(1, SeqCst);
        self.answer(session, number).await?;
        self.steps_taken.lock().unwrap().push((step, number));
        Ok(())
    }
    async fn scan_all(&self, session: &mut TestSession) -> Result<u64, OpError> {
        self.answer(session, self.executed.fetch_add(1, SeqCst)).await?;
        Ok(7)
    }
    async fn check(
        &self,
        session: &mut TestSession,
        done: &[Option<Done>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        self.answer(session, self.executed.fetch_add(1, SeqCst)).await?;
        let found = Check {
            name: "evidence".into(),
            ok: true,
            expected: format!("{} rows", spec.sample),
            actual: format!("{done:?}"),
            evidence: vec![],
        };
        Ok(vec![found])
    }
    fn evidence(&self) -> Done {
        Done {
            executed: self.executed.load(SeqCst),
        }
    }
}

impl TestWorkload {
    /// Of a chunk, a step or the last statements, which are never wrong.
    async fn answer(&self, session: &TestSession, number: u64) -> Result<(), OpError> {
        match (session.script)(number) {
            Reply::Fail(class) => return Err(OpError::fail(class, "F", "told to fail")),
            Reply::Lost => return Err(OpError::lost("L", "told to hang up")),
            Reply::Leave => return Err(OpError::fail(FailClass::Refused, "R", "read-only").leaving_node()),
            Reply::Hang => std::future::pending().await,
            Reply::After(pause) => sleep_until(now_ns() + pause.as_nanos() as u64).await,
            Reply::At(ns) => sleep_until(ns).await,
            Reply::Right | Reply::Wrong => {}
        }
        Ok(())
    }
}

/// A run document with defaults for tests; `extra` is more of its keys.
pub fn spec(extra: &str) -> RunSpec {
    let text = format!(
        r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}},"workers":1{extra}}}"#
    );
    bakeoff_measure::spec::parse(&text).unwrap()
}

/// The document of a system that has these, whatever answers in their place.
fn with_nodes(spec: &RunSpec, nodes: &[(&str, &str)]) -> RunSpec {
    let endpoint = |(name, role): &(&str, &str)| json!({"name": name, "role": role, "address": "db:1"});
    let endpoints: Vec<Value> = nodes.iter().map(endpoint).collect();
    let driver = json!({"kind": "mysql", "endpoints": endpoints, "user": "", "schema": ""});
    let mut spec = spec.clone();
    if !nodes.is_empty() {
        spec.driver = serde_json::from_value(driver).unwrap();
    }
    spec
}

/// A limit, for [`spec`].
pub const HALF_A_SECOND: &str = r#","limit":{"kind":"time","window_s":0.5}"#;

/// Another.
pub fn operations(n: u64) -> String {
    format!(r#","limit":{{"kind":"operations","operations":{n},"max_s":null}}"#)
}

pub fn pause(ms: u64) -> Reply {
    Reply::After(Duration::from_millis(ms))
}

/// One run and all that was seen of it.
pub struct Ran {
    pub result: RunResult,
    pub events: Vec<Event>,
    pub executed: u64,
    pub opened: u64,
    /// Users that had their state when the engine said that it was ready.
    pub made_when_ready: u64,
    pub settled: Vec<(Outcome, bool)>,
}

pub fn run(spec: &RunSpec, script: impl Fn(u64) -> Reply + Send + Sync + 'static) -> Ran {
    try_run(spec, Arc::new(Control::default()), script).unwrap()
}

pub fn try_run(
    spec: &RunSpec,
    control: Arc<Control>,
    script: impl Fn(u64) -> Reply + Send + Sync + 'static,
) -> Result<Ran, Trouble> {
    try_run_of(spec, control, TestWorkload::default(), script)
}

/// Of a workload with wishes.
pub fn try_run_of(
    spec: &RunSpec,
    control: Arc<Control>,
    workload: TestWorkload,
    script: impl Fn(u64) -> Reply + Send + Sync + 'static,
) -> Result<Ran, Trouble> {
    control.start_now();
    let driver = TestDriver {
        script: Arc::new(script),
        runners: &[RunnerKind::Tokio, RunnerKind::Thread],
        opened: Arc::default(),
        opens: workload.opens.unwrap_or(u64::MAX),
        nodes: workload.fate.clone(),
    };
    let (opened, executed, settled) = (
        driver.opened.clone(),
        workload.executed.clone(),
        workload.settled.clone(),
    );
    let (made, made_when_ready) = (workload.made.clone(), Arc::new(AtomicU64::new(0)));
    let events = Arc::new(Mutex::new(vec![]));
    let (seen, at_ready) = (events.clone(), made_when_ready.clone());
    let sink = Arc::new(move |event| {
        if matches!(event, Event::Ready(_)) {
            at_ready.store(made.load(SeqCst), SeqCst);
        }
        seen.lock().unwrap().push(event);
    });
    let spec = with_nodes(spec, &workload.nodes);
    let result = execute(&spec, Box::new(Arc::new(driver)), workload, control, sink)?;
    let events = std::mem::take(&mut *events.lock().unwrap());
    let settled = settled.lock().unwrap().clone();
    Ok(Ran {
        result,
        events,
        executed: executed.load(SeqCst),
        opened: opened.load(SeqCst),
        made_when_ready: made_when_ready.load(SeqCst),
        settled,
    })
}

impl Ran {
    pub fn series(&self, outcome: Outcome) -> Option<&Series> {
        self.result.series.iter().find(|series| series.outcome == outcome)
    }
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.series(outcome).map_or(0, |series| series.count)
    }
    pub fn intervals(&self) -> Vec<&Interval> {
        let events = self.events.iter();
        events
            .filter_map(|event| {
                if let Event::Interval(interval) = event {
                    Some(interval)
                } else {
                    None
                }
            })
            .collect()
    }
}

/// Nothing is answered from `from_s` to `to_s` after the epoch.
pub fn stall(from_s: f64, to_s: f64) -> impl Fn(u64) -> Reply + Send + Sync {
    move |_| {
        let at = |s: f64| epoch_ns().unwrap() + (s * 1e9) as u64;
        if (at(from_s)..at(to_s)).contains(&now_ns()) {
            Reply::At(at(to_s))
        } else {
            Reply::Right
        }
    }
}

/// Values of a histogram above `bound_ns`.
pub fn above(histogram: &bakeoff_model::event::Histogram, bound_ns: u64) -> u64 {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(&histogram.hdr)
        .unwrap();
    let decoded: hdrhistogram::Histogram<u64> = hdrhistogram::serialization::Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .unwrap();
    decoded.count_between(bound_ns, u64::MAX)
}

/// CPU time so far, ns, by one of the kernel's two clocks of it: CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID.
pub fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
