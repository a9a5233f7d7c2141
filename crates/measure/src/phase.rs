//! The one entry: a resolved run, a driver and a workload in; a result out. Chooses the runner and the phase.
use crate::control::{Control, Sink};
use crate::runner::Runner;
use crate::runner::reactor::{self, ReactorRunner};
use crate::runner::thread::ThreadRunner;
use crate::runner::tokio::TokioRunner;
use crate::times::Times;
use crate::{affinity, load, run, single, team};
use bakeoff_model::driver::Driver;
use bakeoff_model::event::{ClientCost, ClientVerdict, QueryCounts, RunResult, StateReport};
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble, TroubleKind};
use bakeoff_model::run::{Phase, RunSpec, RunnerKind};
use bakeoff_model::workload::Workload;
use std::sync::Arc;

/// What every thread of a phase shares.
pub struct Job<D, W> {
    pub spec: RunSpec,
    pub driver: D,
    pub workload: W,
    pub control: Arc<Control>,
    pub sink: Sink,
    /// Cores the process may use.
    pub cores: Vec<u32>,
    pub timeout_ns: u64,
}

/// Runs one phase to its end. `spec` has passed [`crate::spec::check`]. Blocks; events go to `sink`.
pub fn execute<D: Driver, W: Workload<D::Session>>(
    spec: &RunSpec,
    driver: D,
    workload: W,
    control: Arc<Control>,
    sink: Sink,
) -> Result<RunResult, Trouble> {
    check_capabilities(spec, &driver, workload.keeps_session())?;
    if !spec.cores.is_empty() {
        affinity::pin(&spec.cores)?;
    }
    let runner = choose_runner(spec, &driver)?;
    let job = Arc::new(Job {
        spec: spec.clone(),
        driver,
        workload,
        control,
        sink,
        cores: affinity::allowed(),
        timeout_ns: (spec.timeout_s * 1e9) as u64,
    });
    let result = run_on_its(runner, spec, &job)?;
    job.driver.close()?;
    Ok(result)
}

fn run_on_its<D: Driver, W: Workload<D::Session>>(
    runner: RunnerKind,
    spec: &RunSpec,
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    // Constants, so that no pair of driver and workload is compiled for a runner it never has.
    match runner {
        RunnerKind::Tokio if const { has(D::RUNNERS, RunnerKind::Tokio) } => {
            execute_on::<TokioRunner, D, W>(job)
        }
        RunnerKind::Thread if const { has(D::RUNNERS, RunnerKind::Thread) } => {
            execute_on::<ThreadRunner, D, W>(job)
        }
        RunnerKind::Reactor if const { has(D::RUNNERS, RunnerKind::Reactor) } => {
            reactor::choose_io(spec.io, team::sessions_per_worker(spec, job.cores.len()))?;
            execute_on::<ReactorRunner, D, W>(job)
        }
        _ => Err(unsuited(runner, D::RUNNERS)),
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

fn choose_runner<D: Driver>(spec: &RunSpec, driver: &D) -> Result<RunnerKind, Trouble> {
    let suited = driver.runners();
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

fn check_capabilities<D: Driver>(spec: &RunSpec, driver: &D, keeps_session: bool) -> Result<(), Trouble> {
    let can = driver.capabilities();
    if let Some(isolation) = spec
        .isolation
        .filter(|isolation| !can.isolation.contains(isolation))
    {
        let hint = format!("this system offers {:?}", can.isolation);
        return Err(usage(
            format!("the system has no isolation {isolation:?}"),
            "run.json: isolation",
            hint,
        ));
    }
    if keeps_session && spec.sessions.is_some_and(|sessions| sessions < spec.threads) {
        return Err(usage(
            "this workload keeps transactions open over several operations, so sessions cannot be pooled",
            "run.json: sessions",
            "leave `sessions` out, or set the workload's operations per transaction to 1",
        ));
    }
    Ok(())
}

pub fn usage(what: impl Into<String>, place: &str, hint: impl Into<String>) -> Trouble {
    Trouble::new(TroubleKind::Usage, what, place, hint)
}

/// An error of a session outside the measured loop, for a person.
pub fn server_trouble(error: &OpError, place: impl Into<String>) -> Trouble {
    let hint = match error.outcome {
        Outcome::Unknown => "is the server up and its address right?",
        Outcome::Fail(FailClass::Refused) => {
            "check user, password, rights, the schema's name, and the settings that the plan asks for"
        }
        Outcome::Fail(FailClass::Overload) => {
            "the server could not take more: check its limits of connections, memory and disk"
        }
        Outcome::Fail(FailClass::Constraint) => {
            "are there rows of an earlier load? `drop_existing` replaces them"
        }
        _ => "the server's own log may say more",
    };
    let statement = error
        .statement
        .as_ref()
        .map(|s| format!(" in {s}"))
        .unwrap_or_default();
    Trouble::new(TroubleKind::Server, format!("{error}{statement}"), place, hint)
}

/// A result with everything that does not depend on the phase.
pub fn empty_result(spec: &RunSpec) -> RunResult {
    let none = Times::default().to_event();
    RunResult {
        format: bakeoff_model::FORMAT,
        phase: spec.phase,
        client: spec.client,
        seed: spec.seed,
        rows: 0,
        elapsed_s: 0.0,
        window_start_s: 0.0,
        window_end_s: 0.0,
        epoch_unix_ns: 0,
        interrupted: false,
        series: vec![],
        unfinished: none.clone(),
        backlog: none.clone(),
        due: 0,
        completed: 0,
        ok_from_warm_up: 0,
        lateness: none.clone(),
        pool_wait: none,
        queries: QueryCounts::default(),
        retries: 0,
        reconnects: 0,
        connections_lost: 0,
        revoked: 0,
        error_ratio: 0.0,
        error_budget_exceeded: false,
        errors: vec![],
        stream_hashes: vec![],
        endpoints: vec![],
        cost: ClientCost::default(),
        witness: None,
        verdict: ClientVerdict::default(),
        state: StateReport::default(),
        checks: vec![],
    }
}
