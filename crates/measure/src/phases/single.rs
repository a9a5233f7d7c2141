//! Phases that need one session and no clock: warm, check, drop.
use crate::control::Control;
use crate::job::Job;
use crate::phases::result::empty_result;
use crate::record::recorder::Recorder;
use crate::runner::Runner;
use crate::threads::team::watched_cells;
use crate::user::session::{open, open_bare};
use crate::words::{server_trouble, usage};
use bakeoff_model::driver::Driver;
use bakeoff_model::event::{Event, Ready, RunResult};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Workload;
use std::sync::Arc;

/// The same full scan on every system, so that all are equally warm.
pub fn warm<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    let (elapsed_s, rows) = with_session::<R, D, W, _>(job, true, async |session| {
        job.workload
            .scan_all(session)
            .await
            .map_err(|e| server_trouble(&e, "reading all rows"))
    })?;
    Ok(RunResult {
        rows,
        ..finished(job, elapsed_s)
    })
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
    let (elapsed_s, checks) = with_session::<R, D, W, _>(job, true, async |session| {
        job.workload
            .check(session, spec)
            .await
            .map_err(|e| server_trouble(&e, "checking the data"))
    })?;
    Ok(RunResult {
        checks,
        ..finished(job, elapsed_s)
    })
}

/// Does not attach first: there may be no table to attach to.
pub fn drop_tables<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    let dropping = async |session: &mut D::Session| job.workload.drop(session).await;
    let (elapsed_s, ()) = with_session::<R, D, W, _>(job, false, dropping)?;
    Ok(finished(job, elapsed_s))
}

fn finished<D, W>(job: &Job<D, W>, elapsed_s: f64) -> RunResult {
    RunResult {
        elapsed_s,
        interrupted: Control::is_stopped(&job.control),
        ..empty_result(&job.spec)
    }
}

/// Opens one session on this thread, tells `ready` and does `work`; the seconds it took, and its answer.
pub fn with_session<R: Runner, D: Driver, W: Workload<D::Session>, T>(
    job: &Arc<Job<D, W>>,
    attach: bool,
    work: impl AsyncFnOnce(&mut D::Session) -> Result<T, Trouble>,
) -> Result<(f64, T), Trouble> {
    R::block_on(Arc::new(Recorder::new(0, 1, 1)), async {
        let begun_ns = now_ns();
        let client = job.driver.open(0).await?;
        let cells = watched_cells::<R, D, W>(job, 1);
        let opened = match attach {
            true => open(job, &client, &cells[0], 0).await,
            false => open_bare(job, &client, &cells[0]).await,
        };
        let mut session = opened.map_err(|e| server_trouble(&e, "opening a session"))?;
        (job.sink)(Event::Ready(Ready {
            format: bakeoff_model::FORMAT,
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            runner: R::KIND,
            io: R::io(),
            client: job.driver.client().to_owned(),
            workers: 1,
            sessions: 1,
            connect_s: (now_ns() - begun_ns) as f64 / 1e9,
        }));
        let ready_ns = now_ns();
        let answer = work(&mut session).await?;
        Ok(((now_ns() - ready_ns) as f64 / 1e9, answer))
    })?
}
