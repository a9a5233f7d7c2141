//! What one session does without a clock: make tables, warm, check, drop.
use crate::control::Control;
use crate::job::{Job, Terms};
use crate::phases::result::empty_result;
use crate::record::interval::Progress;
use crate::record::recorder::Recorder;
use crate::runner::Erased;
use crate::threads::client_cost::cpu_ns;
use crate::threads::ready::tell_ready;
use crate::user::session::{open, open_bare, while_it_answers};
use crate::user::watchdog::{UserCell, watched};
use crate::words::{server_trouble, usage};
use bakeoff_model::driver::AnyClient;
use bakeoff_model::event::{Check, RunResult};
use bakeoff_model::outcome::{OpError, Trouble};
use bakeoff_model::run::CheckSpec;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Workload;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the system is to show that it is alive while it reads or checks all its rows.
const SIGN_NS: u64 = 5_000_000_000;
/// A system that answers others may still keep this phase waiting for ever, for a lock that somebody else holds. None of what
/// it does takes as long.
const LONGEST_NS: u64 = 12 * 3_600_000_000_000;
/// Less time of the processor than this is no sign of life: this thread's own look at the clock takes some.
const TICK_NS: u64 = 10_000_000;

/// What the session is opened for.
enum Errand<'a, E> {
    /// Before the load's own sessions are opened; only those report that they are ready.
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

pub fn create<W: Workload>(job: &Arc<Job<W>>) -> Result<(), Trouble> {
    run(job, Errand::Create).map(drop)
}

pub fn warm<W: Workload>(job: &Arc<Job<W>>) -> Result<RunResult, Trouble> {
    Ok(result(job, run(job, Errand::Warm)?))
}

pub fn check<W: Workload>(job: &Arc<Job<W>>) -> Result<RunResult, Trouble> {
    let Some(spec) = &job.spec.check else {
        return Err(usage(
            "nothing to check",
            "run.json: check",
            "a check phase says in `check` what must hold",
        ));
    };
    let errand = Errand::Check(spec, evidence(&spec.evidence)?);
    Ok(result(job, run(job, errand)?))
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

pub fn drop_tables<W: Workload>(job: &Arc<Job<W>>) -> Result<RunResult, Trouble> {
    Ok(result(job, run(job, Errand::Drop)?))
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

fn run<W: Workload>(job: &Job<W>, errand: Errand<'_, W::Evidence>) -> Result<Done, Trouble> {
    let recorder = Arc::new(Recorder::new(0, 1, 1));
    job.on().block_on(recorder, job.spec.spin, carry_out(job, errand))
}

/// Opens one session on this thread, tells `ready`, and does what it was opened for.
async fn carry_out<W: Workload>(job: &Job<W>, errand: Errand<'_, W::Evidence>) -> Result<Done, Trouble> {
    let begun_ns = now_ns();
    let client = job.driver.open(0).await?;
    let cells = watched(job, 1);
    let opened = match errand {
        Errand::Warm | Errand::Check(..) => open(job, &*client, &cells[0], job.routes.first()).await,
        // There may be no table to attach to.
        Errand::Create | Errand::Drop => open_bare(job, &*client, &cells[0]).await,
    };
    let mut session = opened.map_err(|e| server_trouble(&e, &job.spec.driver, "opening a session"))?;
    if !matches!(errand, Errand::Create) {
        tell_ready(job, 1, 1, begun_ns);
    }
    let ready_ns = now_ns();
    let (workload, session) = (&job.workload, &mut session);
    let in_sight = InSight {
        job,
        client: &*client,
        cell: &cells[0],
        begun_ns: ready_ns,
    };
    let mut done = Done::default();
    match errand {
        Errand::Create => workload.create(session, job.spec.drop_existing).await?,
        Errand::Drop => workload.drop(session).await?,
        Errand::Warm => {
            let rows = in_sight.of(Box::pin(workload.scan_all(session))).await;
            done.rows = rows.map_err(|e| server_trouble(&e, &job.spec.driver, "reading all rows"))?;
        }
        Errand::Check(spec, evidence) => {
            let checks = in_sight
                .of(Box::pin(workload.check(session, &evidence, spec)))
                .await;
            done.checks = checks.map_err(|e| server_trouble(&e, &job.spec.driver, "checking the data"))?;
        }
    }
    done.elapsed_s = (now_ns() - ready_ns) as f64 / 1e9;
    Ok(done)
}

/// What may take hours: its end is waited for as long as the system shows that it is alive, and each sign of that is
/// reported, so that the controller need not guess how long is too long.
struct InSight<'a, W: Workload> {
    job: &'a Job<W>,
    client: &'a dyn AnyClient<W::Session>,
    cell: &'a UserCell,
    begun_ns: u64,
}

impl<W: Workload> InSight<'_, W> {
    async fn of<T>(&self, errand: Erased<'_, Result<T, OpError>>) -> Result<T, OpError> {
        let progress = Progress {
            elapsed_from_ns: self.begun_ns,
            total: 0,
            sink: self.job.sink.clone(),
        };
        if self.job.is_blocking() {
            return while_it_works(progress, errand).await;
        }
        let signs = Cell::new(0);
        let answered = || {
            signs.set(signs.get() + 1);
            progress.report(signs.get());
        };
        let endpoint = self.job.routes.first();
        let period_ns = self.job.timeout_ns.min(SIGN_NS);
        let until_ns = self.begun_ns + LONGEST_NS;
        while_it_answers(
            self.job,
            self.client,
            self.cell,
            endpoint,
            (period_ns, until_ns),
            errand,
            &answered,
        )
        .await
    }
}

/// An embedded system holds this thread and has nobody else to answer to: that it is alive shows in time of the processor.
async fn while_it_works<T>(progress: Progress, errand: impl Future<Output = T>) -> T {
    let (ends, ended) = channel::<()>();
    let watcher = std::thread::Builder::new().name("heartbeat".into());
    let watching = watcher.spawn(move || {
        let mut seen = cpu_ns();
        while ended.recv_timeout(Duration::from_nanos(SIGN_NS)) == Err(RecvTimeoutError::Timeout) {
            let now = cpu_ns();
            if now > seen + TICK_NS {
                progress.report(now / TICK_NS);
            }
            seen = now;
        }
    });
    let done = errand.await;
    drop(ends);
    let _ = watching.map(|thread| thread.join());
    done
}
