//! What a few sessions do in a given order, to see what a database promises: the engine's work besides the loads of
//! `bakeoff-workloads`. Times here order what happened; no figure of performance comes from them.
//!
//! - [`actor`]: a session on a thread of its own, which carries out a statement at a time;
//! - [`play`]: several of them by a script, with the blocked ones waiting;
//! - [`isolation`]: scripts that provoke the anomalies by which levels of isolation are defined;
//! - [`transactions`]: random ones, whose history is judged;
//! - [`log`]: what their sessions have recorded, and when that is enough;
//! - [`staleness`]: versions that are written and read on every node;
//! - [`staleness_probe`]: the same next to a load; [`versions`]: what both do alike.
//! - [`ledger`]: inserts, of which a crash may take some; on records, so systems without SQL have it, too.
//! - [`convergence`]: rows that sessions write at the same time, and what every node holds afterwards.
mod actor;
mod convergence;
mod isolation;
mod ledger;
mod log;
mod play;
mod shared;
mod staleness;
mod staleness_probe;
mod transactions;
mod versions;

use bakeoff_histories::level::Level;
use bakeoff_measure::phases::result::empty_result;
use bakeoff_measure::record::recorder::Recorder;
use bakeoff_measure::runner::{self, reactor};
use bakeoff_measure::threads::ready::ready;
use bakeoff_measure::{Control, Sink, words};
use bakeoff_model::any::{AnyRecords, AnySql};
use bakeoff_model::driver::AnyDriver;
use bakeoff_model::endpoint::Routing;
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::run::{ExperimentSpec, RunSpec, RunnerKind};
use log::Span;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use versions::Versions;

pub use isolation::schedules::names;
pub use staleness_probe::{Probe, ProbeDriver};

/// What every session of an experiment shares.
struct Stage<S = AnySql> {
    driver: Box<dyn AnyDriver<S>>,
    runner: RunnerKind,
    spec: RunSpec,
    /// Of the endpoints that sessions are dealt over.
    places: Vec<u32>,
    /// For an answer: longer than the system's own limit for locks.
    timeout: Duration,
    control: Arc<Control>,
}

impl<S> Stage<S> {
    /// `writers`: the nodes that take writes. `sessions_per_worker`: by which the reactor chooses how it works.
    fn new(
        spec: &RunSpec,
        driver: Box<dyn AnyDriver<S>>,
        control: &Arc<Control>,
        writers: &Routing,
        sessions_per_worker: u32,
    ) -> Result<Self, Trouble> {
        let Some(runner) = spec.runner.or(driver.runners().first().copied()) else {
            return Err(words::usage(
                "the driver names no runner",
                "driver",
                "report this as a defect of the driver",
            ));
        };
        if runner == RunnerKind::Reactor {
            reactor::choose_io(spec.io, sessions_per_worker)?;
        }
        Ok(Self {
            driver,
            runner,
            spec: spec.clone(),
            places: writers.among(spec.driver.endpoints())?.places,
            timeout: spec.timeout().max(TIMEOUT_MIN),
            control: control.clone(),
        })
    }

    fn nodes(&self) -> usize {
        self.spec.driver.endpoints().len().max(1)
    }

    /// Carries this out on the calling thread, by the runner of the driver's sessions. No figures come of it.
    fn block_on<T>(&self, work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let recorder = Arc::new(Recorder::new(0, 1, 1));
        runner::of(self.runner).block_on(recorder, false, work)
    }

    /// Each session has a thread.
    fn tell_ready(&self, sink: &Sink, sessions: usize, begun_ns: u64) {
        sink(ready(
            self.runner,
            self.driver.client(),
            sessions,
            sessions,
            begun_ns,
        ));
    }
}

/// Sessions limit their waiting for a lock to 3 s where the system can.
const TIMEOUT_MIN: Duration = Duration::from_secs(5);

fn silent<S>(stage: &Stage<S>, what: &str) -> Trouble {
    Trouble::new(
        TroubleKind::Server,
        format!("{what} within {} s", stage.timeout.as_secs_f64()),
        "verify",
        "is the server still up, and does anybody hold a lock on its tables?",
    )
}

/// The endpoint of a session by its number.
fn place_of<S>(stage: &Stage<S>, session: usize) -> usize {
    stage.places[session % stage.places.len()] as usize
}

/// Carries out the experiment that `spec` names. Blocks; signs of progress go to `sink`.
pub fn execute(
    spec: &RunSpec,
    driver: Box<dyn AnyDriver<AnySql>>,
    control: &Arc<Control>,
    sink: &Sink,
) -> Result<RunResult, Trouble> {
    let Some(experiment) = &spec.experiment else {
        return Err(nothing_asked());
    };
    actor::NEEDS.check("an experiment on isolation", driver.offers(), &spec.driver.kind)?;
    let begun = Instant::now();
    let stage = Arc::new(Stage::new(spec, driver, control, &spec.routing, 1)?);
    let evidence = match experiment {
        ExperimentSpec::Isolation {
            schedules,
            tries,
            blocked_after_s,
            session_setup,
        } => {
            let isolation = isolation::Isolation {
                stage: stage.clone(),
                tries: *tries,
                blocked_after: Duration::from_secs_f64(*blocked_after_s),
                session_setup: session_setup.clone(),
            };
            serde_json::to_value(isolation.run(schedules, sink)?)
        }
        ExperimentSpec::Transactions {
            sessions,
            seconds,
            enough_after_s,
            claim,
            session_setup,
            folder,
            nodes_back_within_s,
        } => Ok(transactions::Transactions {
            stage: stage.clone(),
            sessions: (*sessions).max(1),
            span: Span::new(*seconds, *enough_after_s),
            claim: claim.as_deref().map(level).transpose()?,
            session_setup: session_setup.clone(),
            folder: folder.clone(),
            nodes_back_within: Duration::from_secs_f64(*nodes_back_within_s),
        }
        .run(sink)?),
        ExperimentSpec::Staleness { .. } => Ok(staleness(&stage, sink)?),
        ExperimentSpec::Ledger { .. } | ExperimentSpec::LedgerFound { .. } => return Err(nothing_asked()),
        ExperimentSpec::Convergence { .. } => Ok(convergence(&stage, sink)?),
    };
    stage.driver.close()?;
    let evidence = evidence.map_err(|error| defect(error.to_string(), "evidence"))?;
    Ok(result(spec, control, begun, evidence))
}

/// The same with an experiment on records: of the ledger, or on a system without SQL.
pub fn execute_on_records(
    spec: &RunSpec,
    driver: Box<dyn AnyDriver<AnyRecords>>,
    control: &Arc<Control>,
    sink: &Sink,
) -> Result<RunResult, Trouble> {
    let begun = Instant::now();
    let stage = Arc::new(Stage::new(spec, driver, control, &spec.routing, 1)?);
    let evidence = match &spec.experiment {
        Some(ExperimentSpec::Staleness { .. }) => staleness(&stage, sink)?,
        Some(ExperimentSpec::Convergence { .. }) => convergence(&stage, sink)?,
        Some(ExperimentSpec::Ledger {
            folder,
            first,
            sessions,
            seconds,
        }) => {
            let ledger = ledger::Ledger {
                stage: stage.clone(),
                folder: folder.into(),
                first: *first,
                sessions: (*sessions).max(1),
                duration: Duration::from_secs_f64(*seconds),
            };
            ledger.run(sink)?;
            Value::Null
        }
        Some(ExperimentSpec::LedgerFound { folder }) => {
            ledger::find(&stage, folder.as_ref(), sink)?;
            Value::Null
        }
        _ => return Err(nothing_asked()),
    };
    stage.driver.close()?;
    Ok(result(spec, control, begun, evidence))
}

fn staleness<S: Versions>(stage: &Arc<Stage<S>>, sink: &Sink) -> Result<Value, Trouble> {
    let Some(ExperimentSpec::Staleness {
        seconds,
        enough_after_s,
        writes_per_s,
        reads_per_s,
        claims,
        session_setup,
        folder,
    }) = &stage.spec.experiment
    else {
        return Err(nothing_asked());
    };
    staleness::Staleness {
        stage: stage.clone(),
        span: Span::new(*seconds, *enough_after_s),
        writes_per_s: *writes_per_s,
        reads_per_s: *reads_per_s,
        claims: versions::claims(claims, "run.json: experiment.claims")?,
        session_setup: session_setup.clone(),
        folder: folder.clone(),
    }
    .run(sink)
}

fn convergence<S: Versions>(stage: &Arc<Stage<S>>, sink: &Sink) -> Result<Value, Trouble> {
    let Some(ExperimentSpec::Convergence {
        seconds,
        enough_after_s,
        deadline_s,
        session_setup,
    }) = &stage.spec.experiment
    else {
        return Err(nothing_asked());
    };
    let report = convergence::Convergence {
        stage: stage.clone(),
        span: Span::new(*seconds, *enough_after_s),
        deadline: Duration::from_secs_f64(*deadline_s),
        session_setup: session_setup.clone(),
    }
    .run(sink)?;
    serde_json::to_value(report).map_err(|error| defect(error.to_string(), "convergence"))
}

fn result(spec: &RunSpec, control: &Control, begun: Instant, evidence: Value) -> RunResult {
    RunResult {
        elapsed_s: begun.elapsed().as_secs_f64(),
        interrupted: control.is_stopped(),
        evidence,
        ..empty_result(spec)
    }
}

fn defect(what: String, place: &str) -> Trouble {
    words::usage(what, place, "report this as a defect of bakeoff")
}

fn nothing_asked() -> Trouble {
    words::usage(
        "nothing to verify",
        "run.json: experiment",
        "a verify phase says in `experiment` what is done",
    )
}

fn level(name: &str) -> Result<Level, Trouble> {
    serde_json::from_value(name.into()).map_err(|_| {
        words::usage(
            format!("{name} is no level that histories are judged by"),
            "run.json: experiment.claim",
            "read-uncommitted, read-committed, snapshot or serializable",
        )
    })
}
