//! The one entry: a resolved run, a driver and a workload in; a result out. Chooses the runner and the phase.
use crate::control::{Control, Sink};
use crate::job::{Job, Terms};
use crate::phases::{load, run, single};
use crate::routes::Routes;
use crate::runner::reactor;
use crate::serving::Serving;
use crate::threads::{affinity, placement};
use crate::words::usage;
use bakeoff_model::driver::AnyDriver;
use bakeoff_model::endpoint::Routing;
use bakeoff_model::event::RunResult;
use bakeoff_model::needs::{Needs, Offers};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{Phase, RunSpec, RunnerKind};
use bakeoff_model::workload::Workload;
use std::sync::Arc;

/// Runs one phase to its end. `spec` has passed [`crate::spec::check`]. Blocks; events go to `sink`.
pub fn execute<W: Workload>(
    spec: &RunSpec,
    driver: Box<dyn AnyDriver<W::Session>>,
    workload: W,
    control: Arc<Control>,
    sink: Sink,
) -> Result<RunResult, Trouble> {
    check_needs(spec, driver.offers(), workload.needs())?;
    let cores = affinity::keep_to(&spec.cores)?;
    let runner = choose_runner(spec, driver.runners())?;
    let terms = Terms {
        spec: spec.clone(),
        control,
        sink,
        cores,
        timeout_ns: (spec.timeout_s * 1e9) as u64,
        runner,
        client: driver.client(),
        capacity: driver.capacity(),
        routes: Routes::new(spec.routing.among(spec.driver.endpoints())?),
        serving: Serving::new(spec.driver.endpoints().len()),
        operations: workload.operations().to_vec(),
    };
    let job = Arc::new(Job {
        terms,
        driver,
        workload,
    });
    if runner == RunnerKind::Reactor {
        reactor::choose_io(spec.io, placement::sessions_per_worker(spec, job.cores.len()))?;
    }
    let result = execute_phase(&job)?;
    job.driver.close()?;
    Ok(result)
}

fn unsuited(runner: RunnerKind, suited: &[RunnerKind]) -> Trouble {
    usage(
        format!("runner {runner:?} does not suit the driver"),
        "run.json: runner",
        format!("this driver runs on {suited:?}; leave `runner` out to take its preferred one"),
    )
}

fn execute_phase<W: Workload>(job: &Arc<Job<W>>) -> Result<RunResult, Trouble> {
    match job.spec.phase {
        Phase::Load => load::load(job),
        Phase::Warm => single::warm(job),
        Phase::Run => run::run(job),
        Phase::Check => single::check(job),
        Phase::Drop => single::drop_tables(job),
        Phase::Verify => Err(usage(
            "an experiment is no phase of a workload",
            "run.json: phase",
            "`bakeoff-engine` carries experiments out by themselves",
        )),
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
