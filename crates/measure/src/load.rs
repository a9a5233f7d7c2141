//! The load phase: makes the tables (first client only), then all threads take chunks from one counter until there
//! are none left. A batch that met a conflict or an overloaded system is tried again; it is all or nothing.
use crate::control::Control;
use crate::interval::Progress;
use crate::phase::{Job, empty_result, server_trouble};
use crate::recorder::Recorder;
use crate::run::{tell_ready, thread_id};
use crate::runner::Runner;
use crate::session::Slot;
use crate::team::{self, Berth};
use bakeoff_model::driver::Driver;
use bakeoff_model::event::RunResult;
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::workload::Workload;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Tries of one chunk, and the longest pause between two.
const TRIES: u32 = 50;
const LONGEST_PAUSE_MS: u64 = 1000;

#[derive(Default)]
struct Shared {
    next_unit: AtomicU64,
    rows: AtomicU64,
    retries: AtomicU64,
}

pub fn load<R: Runner, D: Driver, W: Workload<D::Session>>(
    job: &Arc<Job<D, W>>,
) -> Result<RunResult, Trouble> {
    let begun_ns = now_ns();
    if job.spec.client.index == 0 {
        create_tables::<R, D, W>(job)?;
    }
    let placements = team::place(job, R::BLOCKING);
    tell_ready::<R, D, W>(job, &placements, begun_ns);
    if job.control.wait_for_start().is_none() {
        return Ok(RunResult {
            interrupted: true,
            ..empty_result(&job.spec)
        });
    }
    // Only now are the tables there for every client's sessions to attach to.
    let started_ns = now_ns();
    let shared = Arc::new(Shared::default());
    let recorder = |p: &team::Placement| Arc::new(Recorder::new(0, p.threads.len(), 1));
    let recorders: Vec<_> = placements.iter().map(recorder).collect();
    let (their_job, their_shared) = (job.clone(), shared.clone());
    let mut team = team::start::<R, _, _, _>(&placements, &recorders, move |berth| {
        work::<R, D, W>(their_job.clone(), their_shared.clone(), berth)
    })?;
    let progress = Progress {
        elapsed_from_ns: started_ns,
        total: job.workload.load_units(),
        sink: job.sink.clone(),
    };
    while !team.wait_done(Duration::from_secs(1), drop)? {
        progress.report(shared.rows.load(Relaxed));
        let given_up = |at_ns: u64| now_ns() > at_ns + job.timeout_ns;
        if job.control.stopped_at_ns().is_some_and(given_up) {
            break;
        }
    }
    progress.report(shared.rows.load(Relaxed));
    Ok(RunResult {
        rows: shared.rows.load(Relaxed),
        retries: shared.retries.load(Relaxed),
        elapsed_s: (now_ns() - started_ns) as f64 / 1e9,
        interrupted: Control::is_stopped(&job.control),
        state: job.workload.state(),
        ..empty_result(&job.spec)
    })
}

fn create_tables<R: Runner, D: Driver, W: Workload<D::Session>>(job: &Arc<Job<D, W>>) -> Result<(), Trouble> {
    R::block_on(Arc::new(Recorder::new(0, 1, 1)), async {
        let client = job.driver.open(0).await?;
        let opened = job.driver.session(&client, 0).await;
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
    let users =
        placement.threads.iter().zip(slots).map(|(thread, slot)| {
            load_chunks::<D, W>(job.clone(), shared.clone(), state.clone(), *thread, slot)
        });
    R::join_all(users.collect()).await.into_iter().collect()
}

async fn load_chunks<D: Driver, W: Workload<D::Session>>(
    job: Arc<Job<D, W>>,
    shared: Arc<Shared>,
    state: Rc<W::Worker>,
    thread: u32,
    slot: Slot<D::Session>,
) -> Result<(), Trouble> {
    let Some(mut session) = slot.session else {
        return Ok(());
    };
    let mut user = job.workload.thread(&state, thread_id(&job.spec, thread));
    let (total, chunk) = (job.workload.load_units(), job.workload.load_chunk_units().max(1));
    loop {
        let first = shared.next_unit.fetch_add(chunk, Relaxed);
        if first >= total || job.control.is_stopped() {
            return Ok(());
        }
        let count = chunk.min(total - first);
        let mut tries = 1;
        let rows = loop {
            match job
                .workload
                .load_chunk(&state, &mut user, &mut session, first, count)
                .await
            {
                Ok(rows) => break rows,
                Err(error) if tries < TRIES && worth_another_try(&error) && !job.control.is_stopped() => {
                    shared.retries.fetch_add(1, Relaxed);
                    let pause_ms = (10u64 << tries.min(10)).min(LONGEST_PAUSE_MS);
                    sleep(Duration::from_millis(
                        pause_ms / 2 + u64::from(thread) % pause_ms / 2,
                    ))
                    .await;
                    tries += 1;
                }
                Err(_) if job.control.is_stopped() => return Ok(()),
                Err(error) => {
                    return Err(server_trouble(
                        &error,
                        format!("loading units {first} to {}", first + count),
                    ));
                }
            }
        };
        shared.rows.fetch_add(rows, Relaxed);
    }
}

/// Definitely not applied, and perhaps applied when asked again.
fn worth_another_try(error: &OpError) -> bool {
    let passing = matches!(
        error.outcome,
        Outcome::Fail(FailClass::Conflict | FailClass::Overload)
    );
    passing && !error.connection_lost
}
