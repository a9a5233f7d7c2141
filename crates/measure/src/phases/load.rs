//! The load phase: makes the tables (first client only), then all threads take chunks from one counter until there
//! are none left, and then, once the last chunk is in, the steps that follow (secondary indexes) in the same way. A chunk
//! or step that met a conflict or an overloaded system is tried again; it is all or nothing. A chunk may take the run's
//! timeout; a step may take hours, and for as long as it lasts the system must answer to somebody else.
//!
//! Clients do not wait for each other: a workload whose steps are for one client only gives the others none, and that
//! one takes them when its own share is loaded.
use crate::control::Control;
use crate::job::Job;
use crate::phases::result::empty_result;
use crate::record::interval::Progress;
use crate::record::recorder::Recorder;
use crate::runner::Runner;
use crate::threads::client_cost::{Snapshot, cost_between, cpu_ns};
use crate::threads::ready::{tell_ready, thread_id};
use crate::threads::team::{self, Berth};
use crate::user::session::{Slot, open, open_bare};
use crate::user::watchdog::{UserCell, timed};
use crate::words::server_trouble;
use bakeoff_model::driver::Driver;
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::workload::Workload;
use std::future::Future;
use std::pin::pin;
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

pub fn load<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    let begun_ns = now_ns();
    if job.spec.client.index == 0 {
        create_tables::<R, D, W>(job)?;
    }
    let placements = team::place(job, R::BLOCKING)?;
    tell_ready::<R, D, W>(job, &placements, begun_ns);
    if job.control.wait_for_start().is_none() {
        return Ok(RunResult {
            interrupted: true,
            ..empty_result(&job.spec)
        });
    }
    // Only now are the tables there for every client's sessions to attach to.
    let started_ns = now_ns();
    let shared = Arc::new(Shared {
        loaders: placements.iter().map(|p| p.sessions.len() as u64).sum(),
        ..Shared::default()
    });
    let recorder = |p: &team::Placement| Arc::new(Recorder::new(0, p.threads.len(), 1));
    let recorders: Vec<_> = placements.iter().map(recorder).collect();
    let (their_job, their_shared) = (job.clone(), shared.clone());
    // The workers have cost nothing yet: there are none.
    let before = Snapshot::take(&vec![0; recorders.len()], &recorders);
    let mut team = team::start::<R, _, _, _>(&placements, &recorders, move |berth| {
        let (job, shared) = (their_job.clone(), their_shared.clone());
        async move {
            let ended = work::<R, D, W>(job, shared.clone(), berth).await;
            shared.failed.fetch_or(ended.is_err(), Relaxed);
            ended
        }
    })?;
    let progress = Progress {
        elapsed_from_ns: started_ns,
        total: job.workload.load_units(),
        sink: job.sink.clone(),
    };
    let mut told = shared.signs_of_life::<R>();
    while !team.wait_done(Duration::from_secs(1), drop)? {
        let seen = shared.signs_of_life::<R>();
        if seen != told {
            progress.report(shared.rows.load(Relaxed));
            told = seen;
        }
        let given_up = |at_ns: u64| now_ns() > at_ns + job.timeout_ns;
        if job.control.stopped_at_ns().is_some_and(given_up) {
            break;
        }
    }
    progress.report(shared.rows.load(Relaxed));
    let after = Snapshot::take(&team.thread_ids, &recorders);
    Ok(RunResult {
        cost: cost_between(&before, &after),
        rows: shared.rows.load(Relaxed),
        retries: shared.retries.load(Relaxed),
        elapsed_s: (now_ns() - started_ns) as f64 / 1e9,
        interrupted: Control::is_stopped(&job.control),
        state: job.workload.state(),
        ..empty_result(&job.spec)
    })
}

impl Shared {
    /// Changes as long as anything goes on. An embedded system has nobody else to answer to: there it is time of the
    /// processor, in hundredths of a second.
    fn signs_of_life<R: Runner>(&self) -> [u64; 4] {
        let cpu_ticks = if R::BLOCKING { cpu_ns() / 10_000_000 } else { 0 };
        let [rows, steps, answers] =
            [&self.rows, &self.next_step, &self.answers].map(|count| count.load(Relaxed));
        [rows, steps, answers, cpu_ticks]
    }
}

fn create_tables<R: Runner, D: Driver, W: Workload<D::Session>>(job: &Arc<Job<D, W>>) -> Result<(), Trouble> {
    R::block_on(Arc::new(Recorder::new(0, 1, 1)), async {
        let client = job.driver.open(0).await?;
        let cells = team::watched_cells::<R, D, W>(job, 1);
        let opened = open_bare(job, &client, &cells[0]).await;
        let mut session = opened.map_err(|e| server_trouble(&e, "opening a session to make the tables"))?;
        job.workload.create(&mut session, job.spec.drop_existing).await
    })?
}

async fn work<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: Arc<Job<D, W>>,
    shared: Arc<Shared>,
    berth: Rc<Berth<()>>,
) -> Result<(), Trouble> {
    let placement = &berth.placement;
    let cells = team::watched_cells::<R, D, W>(&job, placement.threads.len());
    let client = Rc::new(job.driver.open(placement.worker).await?);
    // A pool makes no sense for batches: as many threads load as there are sessions.
    let slots = team::open_sessions::<R, D, W>(&job, &client, &cells, &placement.sessions).await?;
    let state = Rc::new(job.workload.worker(placement.worker));
    berth.ready();
    let users = placement.threads.iter().zip(slots).zip(&cells);
    let users = users.map(|((thread, slot), cell)| {
        let loader = Loader {
            job: job.clone(),
            shared: shared.clone(),
            thread: *thread,
            client: client.clone(),
            cell: cell.clone(),
            endpoint: slot.endpoint,
        };
        loader.load(state.clone(), slot)
    });
    R::join_all(users.collect()).await.into_iter().collect()
}

/// One of the threads that share the load.
struct Loader<D: Driver, W> {
    job: Arc<Job<D, W>>,
    shared: Arc<Shared>,
    thread: u32,
    client: Rc<D::Client>,
    cell: Rc<UserCell>,
    endpoint: u32,
}

impl<D: Driver, W: Workload<D::Session>> Loader<D, W> {
    async fn load(self, state: Rc<W::Worker>, slot: Slot<D::Session>) -> Result<(), Trouble> {
        let Some(mut session) = slot.session else {
            return Ok(());
        };
        let ended = self.load_and_follow(&state, &mut session).await;
        self.shared.failed.fetch_or(ended.is_err(), Relaxed);
        ended
    }

    async fn load_and_follow(&self, state: &W::Worker, session: &mut D::Session) -> Result<(), Trouble> {
        self.load_chunks(state, session).await?;
        self.shared.loaded.fetch_add(1, Relaxed);
        self.wait_for_all().await;
        self.take_steps(session).await
    }

    async fn load_chunks(&self, state: &W::Worker, session: &mut D::Session) -> Result<(), Trouble> {
        let workload = &self.job.workload;
        let mut user = workload.thread(state, thread_id(&self.job.spec, self.thread));
        let (total, chunk) = (workload.load_units(), workload.load_chunk_units().max(1));
        loop {
            let first = self.shared.next_unit.fetch_add(chunk, Relaxed);
            if first >= total || self.is_over() {
                return Ok(());
            }
            let count = chunk.min(total - first);
            let place = || format!("loading units {first} to {}", first + count);
            let load = async || {
                let chunk = workload.load_chunk(state, &mut user, session, first, count);
                self.in_time(chunk).await
            };
            let rows = self.persist(place, load).await?;
            self.shared.rows.fetch_add(rows.unwrap_or(0), Relaxed);
        }
    }

    /// Until every thread's chunks are stored, or they never will be.
    async fn wait_for_all(&self) {
        while self.shared.loaded.load(Relaxed) < self.shared.loaders && !self.is_over() {
            sleep(Duration::from_millis(LOOK_MS)).await;
        }
    }

    async fn take_steps(&self, session: &mut D::Session) -> Result<(), Trouble> {
        let steps = self.job.workload.after_load_steps();
        loop {
            let step = self.shared.next_step.fetch_add(1, Relaxed);
            if step >= steps || self.is_over() {
                return Ok(());
            }
            let place = || format!("step {} of {steps} after the load", step + 1);
            let take = async || {
                self.while_it_answers(self.job.workload.after_load(session, step))
                    .await
            };
            self.persist(place, take).await?;
        }
    }

    fn is_over(&self) -> bool {
        self.job.control.is_stopped() || self.shared.failed.load(Relaxed)
    }

    async fn in_time<T>(&self, attempt: impl Future<Output = Result<T, OpError>>) -> Result<T, OpError> {
        let ended = timed(&self.cell, now_ns() + self.job.timeout_ns, pin!(attempt)).await;
        ended.unwrap_or_else(|| {
            let message = format!("no answer within {} s", self.job.spec.timeout_s);
            Err(OpError::lost("timeout", message))
        })
    }

    async fn while_it_answers<T>(
        &self,
        attempt: impl Future<Output = Result<T, OpError>>,
    ) -> Result<T, OpError> {
        let mut attempt = pin!(attempt);
        loop {
            let until_ns = now_ns() + self.job.timeout_ns;
            if let Some(ended) = timed(&self.cell, until_ns, attempt.as_mut()).await {
                return ended;
            }
            drop(open(&self.job, &self.client, &self.cell, self.endpoint).await?);
            self.shared.answers.fetch_add(1, Relaxed);
        }
    }

    /// Tries until it is done; `None`: the load was stopped before.
    async fn persist<T>(
        &self,
        place: impl Fn() -> String,
        mut attempt: impl AsyncFnMut() -> Result<T, OpError>,
    ) -> Result<Option<T>, Trouble> {
        for tries in 1.. {
            match attempt().await {
                Ok(done) => return Ok(Some(done)),
                Err(_) if self.job.control.is_stopped() => return Ok(None),
                Err(error) if tries < TRIES && worth_another_try(&error) => {
                    self.shared.retries.fetch_add(1, Relaxed);
                    sleep(pause(tries, self.thread)).await;
                }
                Err(error) => return Err(server_trouble(&error, place())),
            }
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
