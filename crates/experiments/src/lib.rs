//! What a few sessions do in a given order, to see what a database promises: the engine's work besides the loads of
//! `bakeoff-workloads`. Times here order what happened; no figure of performance comes from them.
//!
//! - [`actor`]: a session on a thread of its own, which carries out a statement at a time;
//! - [`play`]: several of them by a script, with the blocked ones waiting;
//! - [`isolation`]: scripts that provoke the anomalies by which levels of isolation are defined;
//! - [`transactions`]: random ones, whose history is judged;
//! - [`staleness`]: versions that are written and read on every node;
//! - [`convergence`]: rows that sessions write at the same time, and what every node holds afterwards.
mod actor;
mod convergence;
mod isolation;
mod play;
mod shared;
mod staleness;
mod transactions;

use bakeoff_histories::level::Level;
use bakeoff_measure::phases::result::empty_result;
use bakeoff_measure::runner::reactor;
use bakeoff_measure::{Control, Sink, words};
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::AnyDriver;
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::run::{ExperimentSpec, RunSpec, RunnerKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use isolation::schedules::names;

/// What every session of an experiment shares.
struct Stage {
    driver: Box<dyn AnyDriver<AnySql>>,
    runner: RunnerKind,
    spec: RunSpec,
    /// Of the endpoints that sessions are dealt over.
    places: Vec<u32>,
    /// For an answer: longer than the system's own limit for locks.
    timeout: Duration,
    control: Arc<Control>,
}

impl Stage {
    fn nodes(&self) -> usize {
        self.spec.driver.endpoints().len().max(1)
    }
}

/// Sessions limit their waiting for a lock to 3 s where the system can.
const TIMEOUT_MIN: Duration = Duration::from_secs(5);

fn silent(stage: &Stage, what: &str) -> Trouble {
    Trouble::new(
        TroubleKind::Server,
        format!("{what} within {} s", stage.timeout.as_secs_f64()),
        "verify",
        "is the server still up, and does anybody hold a lock on its tables?",
    )
}

/// The endpoint of a session by its number.
fn place_of(stage: &Stage, session: usize) -> usize {
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
        return Err(words::usage(
            "nothing to verify",
            "run.json: experiment",
            "a verify phase says in `experiment` what is done",
        ));
    };
    actor::NEEDS.check("an experiment on isolation", driver.offers(), &spec.driver.kind)?;
    let Some(runner) = spec.runner.or(driver.runners().first().copied()) else {
        return Err(words::usage(
            "the driver names no runner",
            "driver",
            "report this as a defect of the driver",
        ));
    };
    if runner == RunnerKind::Reactor {
        reactor::choose_io(spec.io, 1)?;
    }
    let begun = Instant::now();
    let stage = Arc::new(Stage {
        driver,
        runner,
        spec: spec.clone(),
        places: spec.routing.among(spec.driver.endpoints())?.places,
        timeout: spec.timeout().max(TIMEOUT_MIN),
        control: control.clone(),
    });
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
            claim,
            session_setup,
            folder,
            nodes_back_within_s,
        } => Ok(transactions::Transactions {
            stage: stage.clone(),
            sessions: (*sessions).max(1),
            duration: Duration::from_secs_f64(*seconds),
            claim: claim.as_deref().map(level).transpose()?,
            session_setup: session_setup.clone(),
            folder: folder.clone(),
            nodes_back_within: Duration::from_secs_f64(*nodes_back_within_s),
        }
        .run(sink)?),
        ExperimentSpec::Staleness {
            seconds,
            writes_per_s,
            reads_per_s,
            claims,
            session_setup,
            folder,
        } => Ok(staleness::Staleness {
            stage: stage.clone(),
            duration: Duration::from_secs_f64(*seconds),
            writes_per_s: *writes_per_s,
            reads_per_s: *reads_per_s,
            claims: serde_json::from_value(claims.clone()).map_err(|error| {
                words::usage(
                    error.to_string(),
                    "run.json: experiment.claims",
                    "see docs/method/histories.md",
                )
            })?,
            session_setup: session_setup.clone(),
            folder: folder.clone(),
        }
        .run(sink)?),
        ExperimentSpec::Convergence {
            seconds,
            deadline_s,
            session_setup,
        } => serde_json::to_value(
            convergence::Convergence {
                stage: stage.clone(),
                duration: Duration::from_secs_f64(*seconds),
                deadline: Duration::from_secs_f64(*deadline_s),
                session_setup: session_setup.clone(),
            }
            .run(sink)?,
        ),
    };
    stage.driver.close()?;
    Ok(RunResult {
        elapsed_s: begun.elapsed().as_secs_f64(),
        interrupted: control.is_stopped(),
        evidence: evidence.map_err(|error| {
            words::usage(
                error.to_string(),
                "evidence",
                "report this as a defect of bakeoff",
            )
        })?,
        ..empty_result(spec)
    })
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
