//! The load phase: makes the tables (first client only), then all threads take chunks from one counter until there
//! are none left, and then, once the last chunk is in, the steps that follow (secondary indexes) in the same way. A chunk
//! or step that met a conflict or an overloaded system is tried again; it is all or nothing. A chunk may take the run's
//! timeout; a step may take hours, and for as long as it lasts the system must answer to somebody else.
//!
//! Clients do not wait for each other: a workload whose steps are for one client only gives the others none, and that
//! one takes them when its own share is loaded.
use crate::control::Control;
use crate::job::{Job, Terms};
use crate::phases::result::empty_result;
use crate::phases::single;
use crate::record::interval::Progress;
use crate::record::recorder::Recorder;
use crate::runner::Erased;
use crate::threads::client_cost::{Snapshot, cost_between, cpu_ns};
use crate::threads::placement::{Placement, place};
use crate::threads::ready::{tell_ready, thread_id};
use crate::threads::team::{self, Berth, Work};
use crate::user::opened::Opened;
use crate::user::session::{Place, while_it_answers};
use crate::user::watchdog::{UserCell, timed};
use crate::words::server_trouble;
use bakeoff_model::driver::AnyClient;
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::workload::Workload;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Tries of one chunk, and the longest pause between two.
const TRIES: u32 = 50;
const LONGEST_PAUSE_MS: u64 = 1000;
/// How often a thread without chunks looks whether the others have finished theirs.
const LOOK_MS: u64 = 2;

#[derive(Default)]
struct Shared {
    next_unit: AtomicU64,
    /// Loaded.
    units: AtomicU64,
    rows: AtomicU64,
    retries: AtomicU64,
    /// Of those that share the load: as many as there are sessions.
    loaders: u64,
    /// Those that found no more chunks, and have all of theirs stored.
    loaded: AtomicU64,
    /// How often a system with a long step in hand has answered somebody else.
    answers: AtomicU64,
    next_step: AtomicU64,
    /// A thread gave up, so the others need not wait for it.
    failed: AtomicBool,
}

pub fn load<W: Workload>(job: &Arc<Job<W>>) -> Result<RunResult, Trouble> {
    let begun_ns = now_ns();
    if job.spec.client.index == 0 {
        single::create::<W>(job)?;
    }
    let placements = place(job)?;
    let shared = Arc::new(Shared {
        loaders: placements.iter().map(|p| p.sessions.len() as u64).sum(),
        ..Shared::default()
    });
    let (their_job, their_shared) = (job.clone(), shared.clone());
    let work: Work<()> = Arc::new(move |berth| {
        let (job, shared) = (their_job.clone(), their_shared.clone());
        Box::pin(async move {
            let ended = work::<W>(job, shared.clone(), berth).await;
            shared.failed.fetch_or(ended.is_err(), Relaxed);
            ended
        })
    });
    let units = job.workload.load_units();
    let result = watch(job, &placements, &shared, units, begun_ns, &work)?;
    Ok(RunResult {
        user_bytes_written: job.workload.user_bytes_written(),
        ..result
    })
}

/// From the common start to the last chunk and step.
fn watch(
    job: &Terms,
    placements: &[Placement],
    shared: &Shared,
    units: u64,
    begun_ns: u64,
    work: &Work<()>,
) -> Result<RunResult, Trouble> {
    tell_ready(job, placements.len(), shared.loaders as usize, begun_ns);
    if job.control.wait_for_start().is_none() {
        return Ok(RunResult {
            interrupted: true,
            ..empty_result(&job.spec)
        });
    }
    // Only now are the tables there for every client's sessions to attach to.
    let started_ns = now_ns();
    let recorder = |p: &Placement| Arc::new(Recorder::new(0, p.threads.len(), 1));
    let recorders: Vec<_> = placements.iter().map(recorder).collect();
    // The workers have cost nothing yet: there are none.
    let before = Snapshot::take(&vec![0; recorders.len()], &recorders);
    let mut team = team::start(job.on(), placements, recorders, work)?;
    let progress = Progress {
        elapsed_from_ns: started_ns,
        total: units,
        sink: job.sink.clone(),
    };
    let mut told = shared.signs_of_life(job);
    while !team.wait_done(Duration::from_secs(1), drop)? {
        let seen = shared.signs_of_life(job);
        if seen != told {
            progress.report(shared.units.load(Relaxed));
            told = seen;
        }
        let given_up = |at_ns: u64| now_ns() > at_ns + job.timeout_ns;
        if job.control.stopped_at_ns().is_some_and(given_up) {
            break;
        }
    }
    progress.report(shared.units.load(Relaxed));
    let after = team.snapshot();
    Ok(RunResult {
        cost: cost_between(&before, &after),
        rows: shared.rows.load(Relaxed),
        retries: shared.retries.load(Relaxed),
        elapsed_s: (now_ns() - started_ns) as f64 / 1e9,
        interrupted: Control::is_stopped(&job.control),
        ..empty_result(&job.spec)
    })
}

impl Shared {
    fn is_over(&self, job: &Terms) -> bool {
        job.control.is_stopped() || self.failed.load(Relaxed)
    }

    /// The first unit of a chunk that nobody has taken.
    fn next_chunk(&self, job: &Terms, total: u64, chunk: u64) -> Option<u64> {
        let first = self.next_unit.fetch_add(chunk, Relaxed);
        (first < total && !self.is_over(job)).then_some(first)
    }

    /// Until every thread's chunks are stored, or they never will be.
    async fn wait_for_all(&self, job: &Terms) {
        while self.loaded.load(Relaxed) < self.loaders && !self.is_over(job) {
            sleep(Duration::from_millis(LOOK_MS)).await;
        }
    }

    fn next_step(&self, job: &Terms, steps: u64) -> Option<u64> {
        let step = self.next_step.fetch_add(1, Relaxed);
        (step < steps && !self.is_over(job)).then_some(step)
    }

    /// Changes as long as anything goes on. An embedded system has nobody else to answer to: there it is time of the
    /// processor, in hundredths of a second.
    fn signs_of_life(&self, job: &Terms) -> [u64; 4] {
        let cpu_ticks = if job.is_blocking() {
            cpu_ns() / 10_000_000
        } else {
            0
        };
        let [rows, steps, answers] =
            [&self.rows, &self.next_step, &self.answers].map(|count| count.load(Relaxed));
        [rows, steps, answers, cpu_ticks]
    }
}

async fn work<W: Workload>(
    job: Arc<Job<W>>,
    shared: Arc<Shared>,
    berth: Rc<Berth<()>>,
) -> Result<(), Trouble> {
    let placement = &berth.placement;
    let Opened {
        cells,
        client,
        places,
    } = Opened::by(&job, placement).await?;
    let state = Rc::new(job.workload.worker(placement.worker));
    berth.ready();
    // A pool makes no sense for batches: as many threads load as there are sessions.
    let users = placement.threads.iter().zip(places).zip(&cells);
    let users = users.map(|((thread, place), cell)| {
        let loading = Loading {
            job: job.clone(),
            shared: shared.clone(),
            thread: *thread,
            client: client.clone(),
            cell: cell.clone(),
        };
        loading.load(state.clone(), place)
    });
    job.on().join_all(users).await.into_iter().collect()
}

/// What one of the threads that share the load is about.
struct Loading<W: Workload> {
    job: Arc<Job<W>>,
    shared: Arc<Shared>,
    thread: u32,
    client: Rc<dyn AnyClient<W::Session>>,
    cell: Rc<UserCell>,
}

impl<W: Workload> Loading<W> {
    async fn load(self, state: Rc<W::Worker>, place: Place<W::Session>) -> Result<(), Trouble> {
        let endpoint = place.seat.endpoint;
        let Some(mut session) = place.seat.session else {
            return Ok(());
        };
        let ended = self.load_and_follow(&state, &mut session, endpoint).await;
        self.shared.failed.fetch_or(ended.is_err(), Relaxed);
        ended
    }

    async fn load_and_follow(
        &self,
        state: &W::Worker,
        session: &mut W::Session,
        endpoint: u32,
    ) -> Result<(), Trouble> {
        self.load_chunks(state, session).await?;
        self.shared.loaded.fetch_add(1, Relaxed);
        self.shared.wait_for_all(&self.job).await;
        self.take_steps(session, endpoint).await
    }

    async fn load_chunks(&self, state: &W::Worker, session: &mut W::Session) -> Result<(), Trouble> {
        let (job, workload) = (&*self.job, &self.job.workload);
        let mut user = workload.thread(state, thread_id(&job.spec, self.thread));
        let (total, chunk) = (workload.load_units(), workload.load_chunk_units().max(1));
        while let Some(first) = self.shared.next_chunk(job, total, chunk) {
            let count = chunk.min(total - first);
            let place = || format!("loading units {first} to {}", first + count);
            let mut tries = Tries::of(self.thread);
            let mut rows = None;
            while rows.is_none() && !tries.over {
                let attempt = Box::pin(workload.load_chunk(state, &mut user, session, first, count));
                let ended = in_time(job, &self.cell, attempt).await;
                rows = tries.weigh(job, &self.shared, ended, &place).await?;
            }
            self.shared
                .units
                .fetch_add(if rows.is_some() { count } else { 0 }, Relaxed);
            self.shared.rows.fetch_add(rows.unwrap_or(0), Relaxed);
        }
        Ok(())
    }

    async fn take_steps(&self, session: &mut W::Session, endpoint: u32) -> Result<(), Trouble> {
        let job = &*self.job;
        let steps = job.workload.after_load_steps();
        while let Some(step) = self.shared.next_step(job, steps) {
            let place = || format!("step {} of {steps} after the load", step + 1);
            let mut tries = Tries::of(self.thread);
            let mut done = None;
            while done.is_none() && !tries.over {
                let step = Box::pin(job.workload.after_load(session, step));
                let answers = || {
                    self.shared.answers.fetch_add(1, Relaxed);
                };
                let times = (job.timeout_ns, u64::MAX);
                let ended =
                    while_it_answers(job, &*self.client, &self.cell, endpoint, times, step, &answers).await;
                done = tries.weigh(job, &self.shared, ended, &place).await?;
            }
        }
        Ok(())
    }
}

async fn in_time(
    job: &Terms,
    cell: &UserCell,
    mut attempt: Erased<'_, Result<u64, OpError>>,
) -> Result<u64, OpError> {
    let ended = timed(cell, now_ns() + job.timeout_ns, attempt.as_mut()).await;
    ended.unwrap_or_else(|| {
        let message = format!("no answer within {} s", job.spec.timeout_s);
        Err(OpError::lost("timeout", message))
    })
}

/// Of one chunk or step.
struct Tries {
    thread: u32,
    made: u32,
    /// The load was stopped before it was done.
    over: bool,
}

impl Tries {
    fn of(thread: u32) -> Self {
        Self {
            thread,
            made: 0,
            over: false,
        }
    }

    /// What the last try came to; `None`: try again; the pause has passed, unless the load has ended.
    async fn weigh<T>(
        &mut self,
        job: &Terms,
        shared: &Shared,
        ended: Result<T, OpError>,
        place: &dyn Fn() -> String,
    ) -> Result<Option<T>, Trouble> {
        self.made += 1;
        match ended {
            Ok(done) => return Ok(Some(done)),
            Err(_) if job.control.is_stopped() => self.over = true,
            Err(error) if self.made < TRIES && worth_another_try(&error) => {
                shared.retries.fetch_add(1, Relaxed);
                sleep(pause(self.made, self.thread)).await;
            }
            Err(error) => return Err(server_trouble(&error, &job.spec.driver, place())),
        }
        Ok(None)
    }
}

/// 10 ms doubling to a second; less for some threads than for others, so that they do not meet again.
fn pause(tries: u32, thread: u32) -> Duration {
    let pause_ms = (10u64 << tries.min(10)).min(LONGEST_PAUSE_MS);
    Duration::from_millis(pause_ms / 2 + u64::from(thread) % (pause_ms / 2))
}

/// Definitely not applied, and perhaps applied when asked again.
fn worth_another_try(error: &OpError) -> bool {
    let passing = matches!(
        error.outcome,
        Outcome::Fail(FailClass::Conflict | FailClass::Overload)
    );
    passing && !error.connection_lost
}
