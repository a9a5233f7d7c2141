//! What one session does without a clock: make tables, warm, check, drop.
use crate::control::Control;
use crate::job::{Job, Terms};
use crate::phases::result::empty_result;
use crate::record::recorder::Recorder;
use crate::runner::Runner;
use crate::threads::ready::tell_ready;
use crate::threads::team::watched_cells;
use crate::user::session::{open, open_bare};
use crate::words::{server_trouble, usage};
use bakeoff_model::driver::Driver;
use bakeoff_model::event::{Check, RunResult};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::CheckSpec;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Workload;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// What the session is opened for.
enum Errand<'a, E> {
    /// Before the load's own sessions are opened, which are those that are told to be ready.
    Create,
    /// The same full scan on every system, so that all are equally warm.
    Warm,
    /// After runs that gave this evidence.
    Check(&'a CheckSpec, Vec<Option<E>>),
    Drop,
}

/// What came of it.
#[derive(Default)]
struct Done {
    elapsed_s: f64,
    rows: u64,
    checks: Vec<Check>,
}

pub fn create<R: Runner, D: Driver, W: Workload<D::Session>>(job: &Arc<Job<D, W>>) -> Result<(), Trouble> {
    run::<R, D, W>(job, Errand::Create).map(drop)
}

pub fn warm<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    Ok(result(job, run::<R, D, W>(job, Errand::Warm)?))
}

pub fn check<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    let Some(spec) = &job.spec.check else {
        return Err(usage(
            "nothing to check",
            "run.json: check",
            "a check phase says in `check` what must hold",
        ));
    };
    let errand = Errand::Check(spec, evidence(&spec.evidence)?);
    Ok(result(job, run::<R, D, W>(job, errand)?))
}

/// As the workload reads it.
fn evidence<E: DeserializeOwned>(documents: &[serde_json::Value]) -> Result<Vec<Option<E>>, Trouble> {
    let each = |document: &serde_json::Value| serde_json::from_value(document.clone());
    documents.iter().map(each).collect::<Result<_, _>>().map_err(|e| {
        usage(
            format!("this workload wrote no such evidence: {e}"),
            "run.json: check.evidence",
            "hand over what its runs gave as `evidence` in their results, or null for a run that gave none",
        )
    })
}

pub fn drop_tables<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    Ok(result(job, run::<R, D, W>(job, Errand::Drop)?))
}

fn result(job: &Terms, done: Done) -> RunResult {
    RunResult {
        elapsed_s: done.elapsed_s,
        rows: done.rows,
        checks: done.checks,
        interrupted: Control::is_stopped(&job.control),
        ..empty_result(&job.spec)
    }
}

fn run<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    errand: Errand<'_, W::Evidence>,
) -> Result<Done, Trouble> {
    let recorder = Arc::new(Recorder::new(0, 1, 1));
    R::block_on(
        recorder,
        job.spec.spin,
        Box::pin(carry_out::<R, D, W>(job, errand)),
    )?
}

/// Opens one session on this thread, tells `ready`, and does what it was opened for.
async fn carry_out<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Job<D, W>,
    errand: Errand<'_, W::Evidence>,
) -> Result<Done, Trouble> {
    let begun_ns = now_ns();
    let client = job.driver.open(0).await?;
    let cells = watched_cells::<R>(job, 1);
    let opened = match errand {
        Errand::Warm | Errand::Check(..) => open(job, &client, &cells[0], job.routes.first()).await,
        // There may be no table to attach to.
        Errand::Create | Errand::Drop => open_bare(job, &client, &cells[0]).await,
    };
    let mut session = opened.map_err(|e| server_trouble(&e, "opening a session"))?;
    if !matches!(errand, Errand::Create) {
        tell_ready(job, 1, 1, begun_ns);
    }
    let ready_ns = now_ns();
    let (workload, session) = (&job.workload, &mut session);
    let mut done = Done::default();
    match errand {
        Errand::Create => workload.create(session, job.spec.drop_existing).await?,
        Errand::Drop => workload.drop(session).await?,
        Errand::Warm => {
            let rows = workload.scan_all(session).await;
            done.rows = rows.map_err(|e| server_trouble(&e, "reading all rows"))?;
        }
        Errand::Check(spec, evidence) => {
            let checks = workload.check(session, &evidence, spec).await;
            done.checks = checks.map_err(|e| server_trouble(&e, "checking the data"))?;
        }
    }
    done.elapsed_s = (now_ns() - ready_ns) as f64 / 1e9;
    Ok(done)
}
