//! The measured phase in order: open everything, wait for the common start, keep out of the way, and collect.
use crate::control::{Axis, clocks};
use crate::job::{Job, Terms};
use crate::latency_probe;
use crate::pace::arrivals::Arrivals;
use crate::pace::pacer::{Pacer, Share};
use crate::pace::schedule::Schedule;
use crate::pace::stages::Stages;
use crate::pace::think::Think;
use crate::phases::collect::{Measured, collect};
use crate::phases::result::empty_result;
use crate::record::event_log::{self, EventLog, WorkerLog};
use crate::record::interval::{Progress, Reporter, warn};
use crate::record::recorder::{Recorder, Writer};
use crate::record::refusals::sentences;
use crate::threads::placement::{Placement, place};
use crate::threads::ready::{tell_ready, thread_id};
use crate::threads::spawn;
use crate::threads::team::{self, Berth, Team, Work};
use crate::user::gate::Gate;
use crate::user::opened::Opened;
use crate::user::pool::Pool;
use crate::user::user_loop::{Pace, User, run_user, yield_once};
use crate::user::worker::Worker;
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::random::seed;
use bakeoff_model::run::{Arrival, Limit, Pacing, RunSpec};
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Workload;
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

/// Between everybody being ready and a start that was not named: every worker has looked for it by then.
const LEAD_NS: u64 = 30_000_000;
/// Beyond the timeout, for an operation to be ended after the window.
const SETTLE_NS: u64 = 500_000_000;
/// How often the controller hears that the last operations are being waited for, at most.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Hash per thread number.
type Hashes = Vec<(u32, u64)>;

pub fn run<W: Workload>(job: &Arc<Job<W>>) -> Result<RunResult, Trouble> {
    let stage = Stage::set(job)?;
    let team = start_team::<W>(job, &stage)?;
    let latency_probe = match (
        job.spec.latency_probe_rate_ops_per_s,
        job.workload.latency_probe_operation(),
    ) {
        (Some(rate), Some(operation)) => {
            let worker = stage.placements.len();
            Some(latency_probe::start::<W>(job, rate, operation, worker)?)
        }
        // A mix may have no operation that a latency probe could be compared by.
        _ => None,
    };
    let result = watch(job, stage, team, latency_probe)?;
    Ok(RunResult {
        evidence: serde_json::to_value(job.workload.evidence()).unwrap_or_default(),
        user_bytes_written: job.workload.user_bytes_written(),
        ..result
    })
}

/// Who works where, by which schedule, and logs where.
struct Stage {
    begun_ns: u64,
    placements: Vec<Placement>,
    schedules: Schedules,
    log: Option<EventLog>,
    /// By worker; none where nothing is logged.
    log_places: Vec<event_log::Place>,
}

impl Stage {
    fn set(job: &Terms) -> Result<Self, Trouble> {
        let begun_ns = now_ns();
        let placements = place(job)?;
        let log = job.spec.event_log.as_ref();
        let log = log
            .map(|spec| EventLog::open(spec, placements.len()))
            .transpose()?;
        let (log, log_places) = log.map_or((None, vec![]), |(log, places)| (Some(log), places));
        Ok(Self {
            begun_ns,
            schedules: new_schedules(&job.spec, &placements, job.is_blocking()),
            placements,
            log,
            log_places,
        })
    }

    fn recorders(&self, job: &Terms) -> Vec<Arc<Recorder>> {
        let (operations, endpoints) = (job.operations.len(), job.spec.driver.endpoints().len());
        let new = |p: &Placement| {
            let mut recorder = Recorder::new(operations, p.threads.len(), endpoints);
            recorder.service_by_second = is_staged(&job.spec);
            Arc::new(recorder)
        };
        self.placements.iter().map(new).collect()
    }
}

/// From all being opened to what all have seen.
fn watch(
    job: &Terms,
    stage: Stage,
    mut team: Team<Hashes>,
    latency_probe: Option<latency_probe::Watch>,
) -> Result<RunResult, Trouble> {
    let Stage {
        begun_ns,
        placements,
        schedules,
        log,
        ..
    } = stage;
    let opened = team.wait_ready().and_then(|()| {
        latency_probe
            .as_ref()
            .map_or(Ok(()), latency_probe::Watch::wait_ready)
    });
    if let Err(trouble) = opened {
        job.control.stop();
        return Err(trouble);
    }
    let sessions = placements.iter().map(|p| p.sessions.len()).sum();
    tell_ready(job, placements.len(), sessions, begun_ns);
    let Some(start_unix_ns) = job.control.wait_for_start() else {
        return Ok(RunResult {
            interrupted: true,
            ..empty_result(&job.spec)
        });
    };
    let arrivals = arrivals(&job.spec, &schedules); // before anybody claims any
    let axis = publish_axis(job, start_unix_ns);
    let reporter = start_reporter(job, &team.recorders, &axis, arrivals)?;
    let log = log
        .map(|log| log.begin(axis.clone(), &job.operations))
        .transpose()?;
    let measured = watch_window(job, &mut team, &axis)?;
    let _ = reporter.join();
    let event_log = log.map(event_log::Writing::end);
    let refusals = team
        .recorders
        .iter()
        .flat_map(|recorder| recorder.refusals.taken());
    for sentence in sentences(refusals.collect()) {
        warn(&job.sink, &job.control, sentence);
    }
    let watched = latency_probe.is_some();
    let latency_probe = latency_probe.and_then(|watch| watch.seen(|| waits_on(job, &axis, &team)));
    if watched && latency_probe.is_none() {
        warn(
            &job.sink,
            &job.control,
            "the latency probe lost its session or its answer: nothing to compare with",
        );
    }
    Ok(RunResult {
        event_log,
        ..collect(job, &axis, &team.recorders, &schedules, &measured, latency_probe)
    })
}

/// Schedules, by the threads they serve.
type Schedules = Vec<(Vec<u32>, Arc<Schedule>)>;

/// The schedules of an open loop, by the threads they serve: one per worker, or one for all blocking threads, or one
/// per thread (compat). Empty in a closed loop.
fn new_schedules(spec: &RunSpec, placements: &[Placement], blocking: bool) -> Schedules {
    let Pacing::Open {
        rate_ops_per_s,
        arrival,
        ref stages,
    } = spec.pacing
    else {
        return vec![];
    };
    let staged = (!stages.is_empty()).then(|| Arc::new(Stages::new(stages, rate_ops_per_s, spec.warm_up_s)));
    let threads = u64::from(spec.threads);
    let arrivals = spec.arrival_seed.unwrap_or(spec.seed);
    let groups: Vec<Vec<u32>> = match arrival {
        Arrival::PerSession => (0..spec.threads).map(|thread| vec![thread]).collect(),
        _ if blocking => vec![(0..spec.threads).collect()],
        _ => placements.iter().map(|p| p.threads.clone()).collect(),
    };
    let stride = groups.len() as u64;
    let schedule = |(index, group): (usize, &Vec<u32>)| {
        let count = group.len() as u64;
        let pacer = match arrival {
            Arrival::Poisson => Pacer::poisson(
                rate_ops_per_s * count as f64 / threads as f64,
                seed(&[arrivals, u64::from(spec.client.index), index as u64]),
            ),
            Arrival::Constant | Arrival::PerSession => Pacer::constant(Share {
                rate_ops_per_s,
                threads,
                first: index as u64,
                stride,
                count,
                phase: f64::from(spec.client.index) / f64::from(spec.client.count),
            }),
        };
        let pacer = match &staged {
            Some(stages) => pacer.staged(stages.clone()),
            None => pacer,
        };
        let operations = group
            .iter()
            .map(|thread| quota(spec, *thread))
            .reduce(u64::saturating_add);
        let limited = operations.filter(|_| matches!(spec.limit, Limit::Operations { .. }));
        (
            group.clone(),
            Arc::new(Schedule::new(pacer, limited, (spec.warm_up_s * 1e9) as u64)),
        )
    };
    groups.iter().enumerate().map(schedule).collect()
}

/// Whether the plan changes the rate.
fn is_staged(spec: &RunSpec) -> bool {
    matches!(&spec.pacing, Pacing::Open { stages, .. } if !stages.is_empty())
}

/// What falls due, where the rate changes.
fn arrivals(spec: &RunSpec, schedules: &Schedules) -> Option<Arrivals> {
    is_staged(spec).then(|| Arrivals::new(schedules.iter().map(|(_, schedule)| schedule.pacer())))
}

/// Operations of one thread that count; the first threads take what does not divide evenly.
fn quota(spec: &RunSpec, thread: u32) -> u64 {
    match spec.limit {
        Limit::Time { .. } => u64::MAX,
        Limit::Operations { operations, .. } => {
            let threads = u64::from(spec.threads);
            operations / threads + u64::from(u64::from(thread) < operations % threads)
        }
    }
}

fn start_team<W: Workload>(job: &Arc<Job<W>>, stage: &Stage) -> Result<Team<Hashes>, Trouble> {
    let mut of_thread = vec![None; job.spec.threads as usize];
    for (threads, schedule) in &stage.schedules {
        threads
            .iter()
            .for_each(|thread| of_thread[*thread as usize] = Some(schedule.clone()));
    }
    let (on, recorders, job) = (job.on(), stage.recorders(job), job.clone());
    let (of_thread, logs) = (Arc::new(of_thread), stage.log_places.clone());
    let work: Work<Hashes> = Arc::new(move |berth| {
        let log = logs.get(berth.placement.worker).cloned().map(WorkerLog::new);
        Box::pin(work::<W>(job.clone(), of_thread.clone(), log, berth))
    });
    team::start(on, &stage.placements, recorders, &work)
}

/// One worker from its first connection to its last operation.
async fn work<W: Workload>(
    job: Arc<Job<W>>,
    schedules: Arc<Vec<Option<Arc<Schedule>>>>,
    log: Option<WorkerLog>,
    berth: Rc<Berth<Hashes>>,
) -> Result<Hashes, Trouble> {
    let placement = &berth.placement;
    let Opened {
        cells,
        client,
        mut places,
    } = Opened::by(&job, placement).await?;
    let state = job.workload.worker(placement.worker);
    let pooled = places.len() < placement.threads.len();
    let pool = pooled.then(|| Pool::new(std::mem::take(&mut places), placement.threads.len()));
    let gate = Rc::new(Gate::default());
    let mut places = places.into_iter();
    let users = placement.threads.iter().zip(&cells).enumerate();
    let users = users.map(|(index, (thread, cell))| {
        let user = User {
            index,
            cell: cell.clone(),
            pace: pace(&job, &schedules, *thread),
        };
        let thread = job.workload.thread(&state, thread_id(&job.spec, *thread));
        run_user::<W>(gate.clone(), user, thread, places.next())
    });
    let mut running = job.on().join_all(users);
    let _ = poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx).is_ready())).await;
    yield_once().await; // now all stand at the gate
    berth.ready();
    let Some(axis) = job.wait_for_axis().await else {
        return Ok(vec![]);
    };
    let worker = Worker {
        state,
        writer: Rc::new(Writer::new(berth.recorder.clone(), axis)),
        client,
        pool,
        told_lost: Cell::new(false),
        log,
        job: job.clone(),
    };
    gate.open(worker, &cells);
    let hashes = running.await;
    Ok(placement.threads.iter().copied().zip(hashes).collect())
}

fn pace<W: Workload>(job: &Job<W>, schedules: &[Option<Arc<Schedule>>], thread: u32) -> Pace {
    if let Some(schedule) = &schedules[thread as usize] {
        return Pace::Scheduled(schedule.clone());
    }
    let of_list = match job.spec.limit {
        Limit::Time { .. } => None,
        Limit::Operations { operations, .. } => job.workload.share(thread_id(&job.spec, thread), operations),
    };
    Pace::Closed {
        left: of_list.unwrap_or_else(|| quota(&job.spec, thread)),
        think: Think::of(&job.spec, thread).map(Box::new),
    }
}

/// Turns the start named in real time into the axis everybody runs by. `0`: as soon as may be.
pub fn publish_axis(job: &Terms, start_unix_ns: u64) -> Arc<Axis> {
    let (unix_ns, now) = clocks();
    let start_unix_ns = if start_unix_ns > unix_ns {
        start_unix_ns
    } else {
        if start_unix_ns > 0 {
            let late_s = (unix_ns - start_unix_ns) as f64 / 1e9;
            warn(
                &job.sink,
                &job.control,
                format!(
                    "began {late_s:.3} s after the agreed start, which had passed when this client was ready"
                ),
            );
        }
        unix_ns + LEAD_NS
    };
    let window_ns = match job.spec.limit {
        Limit::Time { window_s } => Some(window_s),
        Limit::Operations { max_s, .. } => max_s,
    };
    let to_ns = |seconds: f64| (seconds * 1e9) as u64;
    let epoch_ns = now + (start_unix_ns - unix_ns);
    let axis = Axis::new(
        epoch_ns,
        start_unix_ns,
        to_ns(job.spec.warm_up_s),
        window_ns.map(to_ns),
        matches!(job.spec.pacing, Pacing::Open { .. }),
    );
    let axis = Arc::new(axis);
    bakeoff_model::time::set_epoch_ns(epoch_ns);
    job.control.set_axis(axis.clone());
    axis
}

fn start_reporter(
    job: &Terms,
    recorders: &[Arc<Recorder>],
    axis: &Arc<Axis>,
    arrivals: Option<Arrivals>,
) -> Result<std::thread::JoinHandle<()>, Trouble> {
    let reporter = Reporter {
        recorders: recorders.to_vec(),
        operations: job.operations.clone(),
        endpoints: job.spec.driver.endpoints().to_vec(),
        axis: axis.clone(),
        arrivals,
        sink: job.sink.clone(),
    };
    spawn("reporter", "", move || reporter.run())
}

/// Whether what is in flight after the window is waited for any longer; says that it is.
fn waits_on(job: &Terms, axis: &Axis, team: &Team<Hashes>) -> bool {
    let until_ns = axis.window_end_ns().saturating_add(job.timeout_ns + SETTLE_NS);
    let waits = now_ns() < until_ns && !job.control.is_hurried();
    if waits {
        let progress = Progress {
            elapsed_from_ns: axis.epoch_ns,
            total: team.size() as u64,
            sink: job.sink.clone(),
        };
        progress.report(team.done() as u64);
    }
    waits
}

/// Sleeps through the run; looks at the process's own costs when the window begins and when it ends.
fn watch_window(job: &Terms, team: &mut Team<Hashes>, axis: &Axis) -> Result<Measured, Trouble> {
    job.control.sleep_until(axis.window_start_ns);
    let capacity = || job.capacity.as_ref().map(|meter| meter.so_far());
    let (before, capacity_before) = (team.snapshot(), capacity());
    let mut hashes = vec![];
    let mut all_done = false;
    while !all_done && now_ns() < axis.window_end_ns() {
        match job.spec.limit {
            Limit::Time { .. } => {
                job.control.sleep_until(axis.window_end_ns());
            }
            Limit::Operations { .. } => {
                all_done = team.wait_done(Duration::from_millis(10), |more| hashes.extend(more))?;
            }
        }
    }
    let (after, capacity_after) = (team.snapshot(), capacity());
    if all_done {
        let last = team
            .recorders
            .iter()
            .map(|r| r.counters.last_end_ns.load(Relaxed))
            .max();
        axis.end_by(last.unwrap_or(0).max(axis.window_start_ns));
    } else {
        all_done = team.wait_done(HEARTBEAT, |more| hashes.extend(more))?;
        while !all_done && waits_on(job, axis, team) {
            all_done = team.wait_done(HEARTBEAT, |more| hashes.extend(more))?;
        }
    }
    if !all_done {
        warn(
            &job.sink,
            &job.control,
            "some sessions did not answer after the window: left behind",
        );
    }
    hashes.sort_unstable();
    Ok(Measured {
        before,
        after,
        capacity_units: capacity_after.map(|after| after.since(capacity_before.unwrap_or_default())),
        stream_hashes: hashes.iter().map(|(_, hash)| format!("{hash:016x}")).collect(),
        all_done,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // test code throughout
    use super::*;

    #[test]
    fn arrivals_have_a_seed_of_their_own_or_that_of_the_run() {
        let due = |seeds: &str| {
            let spec = crate::spec::parse(&format!(
                r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}},
                    "pacing":{{"kind":"open","rate_ops_per_s":1000,"arrival":"poisson"}}{seeds}}}"#
            ));
            let schedules = new_schedules(&spec.unwrap(), &[], true);
            (0..100)
                .map(|_| schedules[0].1.claim().unwrap())
                .collect::<Vec<_>>()
        };
        let run = due(r#","seed":7"#);
        assert_eq!(due(r#","seed":1,"arrival_seed":7"#), run);
        assert_ne!(due(r#","seed":7,"arrival_seed":8"#), run);
    }
}
