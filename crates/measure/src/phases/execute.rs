//! The one entry: a resolved run, a driver and a workload in; a result out. Chooses the runner and the phase.
use crate::control::{Control, Sink};
use crate::job::{Job, Terms};
use crate::phases::{load, run, single};
use crate::routes::Routes;
use crate::runner::Runner;
use crate::runner::reactor::{self, ReactorRunner};
use crate::runner::thread::ThreadRunner;
use crate::runner::tokio::TokioRunner;
use crate::serving::Serving;
use crate::threads::{affinity, team};
use crate::words::usage;
use bakeoff_model::driver::Driver;
use bakeoff_model::endpoint::Routing;
use bakeoff_model::event::RunResult;
use bakeoff_model::needs::{Needs, Offers};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{Phase, RunSpec, RunnerKind};
use bakeoff_model::workload::Workload;
use std::sync::Arc;

/// Runs one phase to its end. `spec` has passed [`crate::spec::check`]. Blocks; events go to `sink`.
pub fn execute<D: Driver, W: Workload<D::Session>>(
    spec: &RunSpec,
    driver: D,
    workload: W,
    control: Arc<Control>,
    sink: Sink,
) -> Result<RunResult, Trouble> {
    check_needs(spec, driver.offers(), workload.needs())?;
    if !spec.cores.is_empty() {
        affinity::pin(&spec.cores)?;
    }
    let runner = choose_runner(spec, driver.runners())?;
    let terms = Terms {
        spec: spec.clone(),
        control,
        sink,
        cores: affinity::allowed(),
        timeout_ns: (spec.timeout_s * 1e9) as u64,
        runner,
        client: driver.client(),
        routes: Routes::new(spec.routing.among(spec.driver.endpoints())?),
        serving: Serving::new(spec.driver.endpoints().len()),
        operations: workload.operations().to_vec(),
    };
    let job = Arc::new(Job {
        terms,
        driver,
        workload,
    });
    let result = run_on_its(&job)?;
    job.driver.close()?;
    Ok(result)
}

fn run_on_its<D: Driver, W: Workload<D::Session>>(job: &Arc<Job<D, W>>) -> Result<RunResult, Trouble> {
    // Constants, so that no pair of driver and workload is compiled for a runner it never has.
    match job.runner {
        RunnerKind::Tokio if const { has(D::RUNNERS, RunnerKind::Tokio) } => {
            execute_on::<TokioRunner, D, W>(job)
        }
        RunnerKind::Thread if const { has(D::RUNNERS, RunnerKind::Thread) } => {
            execute_on::<ThreadRunner, D, W>(job)
        }
        RunnerKind::Reactor if const { has(D::RUNNERS, RunnerKind::Reactor) } => {
            reactor::choose_io(job.spec.io, team::sessions_per_worker(&job.spec, job.cores.len()))?;
            execute_on::<ReactorRunner, D, W>(job)
        }
        runner => Err(unsuited(runner, D::RUNNERS)),
    }
}

const fn has(runners: &[RunnerKind], wanted: RunnerKind) -> bool {
    let mut index = 0;
    while index < runners.len() {
        if runners[index] as u8 == wanted as u8 {
            return true;
        }
        index += 1;
    }
    false
}

fn unsuited(runner: RunnerKind, suited: &[RunnerKind]) -> Trouble {
    usage(
        format!("runner {runner:?} does not suit the driver"),
        "run.json: runner",
        format!("this driver runs on {suited:?}; leave `runner` out to take its preferred one"),
    )
}

fn execute_on<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    match job.spec.phase {
        Phase::Load => load::load::<R, D, W>(job),
        Phase::Warm => single::warm::<R, D, W>(job),
        Phase::Run => run::run::<R, D, W>(job),
        Phase::Check => single::check::<R, D, W>(job),
        Phase::Drop => single::drop_tables::<R, D, W>(job),
    }
}

fn choose_runner(spec: &RunSpec, suited: &[RunnerKind]) -> Result<RunnerKind, Trouble> {
    let Some(runner) = spec.runner.or(suited.first().copied()) else {
        return Err(usage(
            "the driver names no runner",
            "driver",
            "report this as a defect of the driver",
        ));
    };
    if !suited.contains(&runner) {
        return Err(unsuited(runner, suited));
    }
    if spec.io.is_some() && runner != RunnerKind::Reactor {
        return Err(usage(
            format!("`io` chooses how the reactor works, and this run is on the runner {runner:?}"),
            "run.json: io",
            "leave `io` out",
        ));
    }
    if runner == RunnerKind::Thread && spec.sessions.is_some_and(|sessions| sessions < spec.threads) {
        return Err(usage(
            "a pool (fewer sessions than threads) needs an asynchronous runner",
            "run.json: sessions",
            "the `thread` runner has one session per thread: leave `sessions` out, or lower `threads`",
        ));
    }
    Ok(runner)
}

fn check_needs(spec: &RunSpec, offers: Offers, needs: Needs) -> Result<(), Trouble> {
    needs.check(spec.workload.kind(), offers, &spec.driver.kind)?;
    if needs.own_session && spec.sessions.is_some_and(|sessions| sessions < spec.threads) {
        return Err(usage(
            "this workload keeps transactions open over several operations, so sessions cannot be pooled",
            "run.json: sessions",
            "leave `sessions` out, or set the workload's operations per transaction to 1",
        ));
    }
    if needs.own_session && spec.routing == Routing::Split {
        return Err(usage(
            "this workload keeps transactions open over several operations, so they cannot go to different nodes",
            "run.json: routing",
            "leave `routing` out, or set the workload's operations per transaction to 1",
        ));
    }
    Ok(())
}
