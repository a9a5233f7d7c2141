//! Old reads next to a load. One session on each node writes versions of a few keys and reads them, all together at most a
//! hundredth of what the load completes and of the client's CPU time, or one operation per second. They have threads of their own, and learn from the load
//! only how much that was, second by second. Whatever happens to them, the run goes on, and the evidence says what kept them from seeing more.
mod budget;
mod session;

use crate::shared::Own;
use crate::versions::Versions;
use crate::{Stage, versions};
use bakeoff_histories::record::{MicroOp, Record};
use bakeoff_histories::register::Claims;
use bakeoff_measure::threads::affinity::keep_to;
use bakeoff_measure::threads::placement::sessions_per_worker;
use bakeoff_measure::{Control, Sink, threads};
use bakeoff_model::any::{AnyRecords, AnySql};
use bakeoff_model::driver::AnyDriver;
use bakeoff_model::event::{Event, StalenessProbe};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{RunSpec, StalenessProbeSpec};
use bakeoff_model::time::now_ns;
use budget::Budget;
use session::{Session, Shared};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// After the window, for the sessions' last answers.
const SESSIONS_PATIENCE: Duration = Duration::from_secs(1);
/// After the run, for the evidence, and again for the table to be dropped. A controller gives up a silent engine after 10 s.
const PATIENCE: Duration = Duration::from_secs(3);
/// For the table and the sessions, before the load begins.
const START_PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(50);

/// Where versions are kept: in records where there is no SQL.
pub enum ProbeDriver {
    Sql(Box<dyn AnyDriver<AnySql>>),
    Records(Box<dyn AnyDriver<AnyRecords>>),
}

/// A probe at work.
pub struct Probe {
    budget: Budget,
    shared: Arc<Shared>,
    messages: Receiver<Message>,
}

enum Message {
    Seen(StalenessProbe),
    Dropped(Result<(), Trouble>),
}

/// What a session says of itself.
enum Said {
    Opened,
    Ended(Result<(), Trouble>),
}

impl Probe {
    /// Makes the table and opens the sessions, and returns when that is done, has failed or takes longer than an operation
    /// may. Error: this system has no sessions for it, or the document is wrong.
    pub fn start(
        spec: &RunSpec,
        asked: &StalenessProbeSpec,
        driver: ProbeDriver,
        control: &Arc<Control>,
    ) -> Result<Self, Trouble> {
        match driver {
            ProbeDriver::Sql(driver) => Self::begin(spec, asked, driver, control),
            ProbeDriver::Records(driver) => Self::begin(spec, asked, driver, control),
        }
    }

    fn begin<S: Versions>(
        spec: &RunSpec,
        asked: &StalenessProbeSpec,
        driver: Box<dyn AnyDriver<S>>,
        control: &Arc<Control>,
    ) -> Result<Self, Trouble> {
        S::needs().check("the probe of old reads", driver.offers(), &spec.driver.kind)?;
        let cores = keep_to(&spec.cores)?;
        let sessions = sessions_per_worker(spec, cores.len());
        let stage = Arc::new(Stage::new(spec, driver, control, &asked.writers, sessions)?);
        let claims = versions::claims(&asked.claims, "run.json: staleness_probe.claims")?;
        let (budget, timeout) = (Budget::of(spec), stage.timeout);
        let shared = Arc::new(Shared::new(stage.nodes(), budget.first_ops_per_s()));
        let watch = Watch {
            shared: shared.clone(),
            setup: asked.session_setup.clone(),
            stage,
            claims,
        };
        let (ready, is_ready) = channel();
        let (say, messages) = channel();
        threads::spawn("staleness probe", ", or do without the probe", move || {
            watch.run(ready, &say);
        })?;
        let _ = is_ready.recv_timeout(timeout.min(START_PATIENCE));
        Ok(Self {
            budget,
            shared,
            messages,
        })
    }

    /// Where the load's events go, so that the probe keeps within its budget.
    pub fn follow(&self, sink: Sink) -> Sink {
        let (budget, shared) = (self.budget, self.shared.clone());
        let before = Mutex::new(shared.spent());
        Arc::new(move |event| {
            if let Event::Interval(second) = &event {
                let (completed, now) = (second.tenths.ok.iter().sum(), shared.spent());
                let before =
                    std::mem::replace(&mut *before.lock().unwrap_or_else(PoisonError::into_inner), now);
                shared.set_ops_per_s(budget.ops_per_s(completed, second.length_s, [before, now]));
            }
            sink(event);
        })
    }

    /// What it saw, once the run has ended.
    pub fn finish(self) -> StalenessProbe {
        let Ok(Message::Seen(mut seen)) = self.messages.recv_timeout(PATIENCE) else {
            return failed("the probe did not end with the run".into());
        };
        match self.messages.recv_timeout(PATIENCE) {
            Ok(Message::Dropped(Err(trouble))) => seen.troubles.push(trouble.what),
            Err(RecvTimeoutError::Timeout) => seen
                .troubles
                .push("its table could not be dropped in time".into()),
            // Or there was none.
            _ => {}
        }
        seen
    }
}

fn failed(what: String) -> StalenessProbe {
    StalenessProbe {
        troubles: vec![what],
        ..StalenessProbe::default()
    }
}

/// The thread that looks after the sessions.
struct Watch<S> {
    stage: Arc<Stage<S>>,
    setup: Vec<String>,
    claims: Claims,
    shared: Arc<Shared>,
}

impl<S: Versions> Watch<S> {
    fn run(&self, ready: Sender<()>, say: &Sender<Message>) {
        let table = match versions::make(&self.stage, &self.setup, versions::KEYS) {
            Ok(table) => table,
            Err(trouble) => {
                let _ = say.send(Message::Seen(failed(trouble.what)));
                return;
            }
        };
        let seen = match self.stage.control.axis() {
            Some(_) => {
                self.wait_for_the_end();
                failed("its table was not there in time".into())
            }
            None => self.watch(ready),
        };
        let _ = say.send(Message::Seen(seen));
        let (dropped, closed) = (table.drop(), self.stage.driver.close());
        let _ = say.send(Message::Dropped(dropped.and(closed)));
    }

    /// From the sessions' begin to the judgement.
    fn watch(&self, ready: Sender<()>) -> StalenessProbe {
        let (said, hear) = channel();
        let nodes = self.stage.nodes();
        let mut troubles = vec![];
        let mut at_work = vec![false; nodes];
        for (node, reads) in self.shared.take_readers().into_iter().enumerate() {
            let (said, stage, setup) = (said.clone(), self.stage.clone(), self.setup.clone());
            let session = Session::new(node, &self.stage, self.shared.clone(), reads);
            let spawned = threads::spawn("probe session", "", move || {
                let opened = || drop(said.send((node, Said::Opened)));
                let lives = stage.block_on(session.live(&stage, &setup, opened));
                let _ = said.send((node, Said::Ended(lives)));
            });
            match spawned {
                Ok(_) => at_work[node] = true,
                Err(trouble) => troubles.push(trouble.what),
            }
        }
        drop(said);
        let (mut unopened, mut ready) = (at_work.iter().filter(|at_work| **at_work).count(), Some(ready));
        let mut sessions = 0;
        while at_work.contains(&true) {
            if unopened == 0 {
                ready.take().map(|ready| ready.send(()));
            }
            match hear.recv_timeout(NAP) {
                Ok((_, Said::Opened)) => (unopened, sessions) = (unopened - 1, sessions + 1),
                Ok((node, Said::Ended(lives))) => {
                    at_work[node] = false;
                    if let Err(trouble) = lives {
                        unopened = unopened.saturating_sub(1);
                        troubles.push(format!("{}: {}", self.name(node), trouble.what));
                    }
                }
                Err(RecvTimeoutError::Timeout) if !self.is_over_since(SESSIONS_PATIENCE) => {}
                Err(_) => break,
            }
        }
        let silent = (0..nodes).filter(|node| at_work[*node]);
        troubles.extend(silent.map(|node| format!("{} did not answer any more", self.name(node))));
        self.wait_for_the_end();
        self.evidence(sessions, troubles)
    }

    fn name(&self, node: usize) -> &str {
        let endpoints = self.stage.spec.driver.endpoints();
        endpoints
            .get(node)
            .map_or("its session", |endpoint| &endpoint.name)
    }

    /// Judging and dropping a table would be in the way of the load.
    fn wait_for_the_end(&self) {
        while !self.is_over_since(Duration::ZERO) {
            sleep(NAP);
        }
    }

    /// Whether the run ended this long ago.
    fn is_over_since(&self, patience: Duration) -> bool {
        let control = &self.stage.control;
        let last_ns = control
            .axis()
            .map(|axis| axis.window_end_ns().saturating_add(patience.as_nanos() as u64));
        last_ns.map_or(control.is_stopped(), |last_ns| now_ns() > last_ns)
    }

    fn evidence(&self, sessions: u32, mut troubles: Vec<String>) -> StalenessProbe {
        for (node, lost) in self.shared.lost().enumerate().filter(|(_, lost)| *lost > 0) {
            let times = if lost == 1 { "once" } else { "several times" };
            troubles.push(format!("{} lost its session {times}", self.name(node)));
        }
        let records = self.shared.take_records();
        if self.shared.is_full() {
            troubles.push(format!("it ended early, after {} operations", records.len()));
        }
        let begin_ns = self.stage.control.axis().map_or(0, |axis| axis.window_start_ns);
        let counted = records.iter().filter(|record| record.call_ns as u64 >= begin_ns);
        let is_write = |record: &Record| matches!(record.ops[..], [MicroOp::Write(..)]);
        let (writes, reads): (Vec<&Record>, Vec<&Record>) = counted.partition(|record| is_write(record));
        let report = match versions::judged(&records, &self.claims) {
            Ok(report) => report,
            Err(trouble) => {
                troubles.push(trouble.what);
                serde_json::Value::Null
            }
        };
        StalenessProbe {
            sessions,
            writes: writes.len() as u64,
            reads: reads.len() as u64,
            report,
            troubles,
        }
    }
}
