//! The OS threads of a phase: who is on which, and how they report. A worker that never returns (a blocked call) is
//! left behind and cannot keep the others' figures.
use crate::control::Axis;
use crate::job::{Job, Terms};
use crate::record::recorder::Recorder;
use crate::runner::{Erased, Runner};
use crate::threads::affinity;
use crate::threads::client_cost::write_down;
use crate::threads::thread_limits;
use crate::user::session::{Place, Seat, open};
use crate::user::watchdog::{self, UserCell};
use crate::words::{server_trouble, worker_died};
use bakeoff_model::driver::AnyClient;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use bakeoff_model::run::{Pacing, RunSpec};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_model::workload::Workload;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections that a worker opens at once: a server's queue of new ones is short.
const OPENED_AT_ONCE: usize = 16;

/// One worker's share of the plan's threads and sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub worker: usize,
    /// Thread numbers of this process.
    pub threads: Vec<u32>,
    /// Session numbers of this process.
    pub sessions: Vec<u32>,
    pub core: Option<u32>,
    /// Nothing has to happen at a certain moment and several answers may gather, so its thread need not interrupt others.
    pub patient: bool,
    /// It may stay awake shortly before a deadline.
    pub spins: bool,
}

/// OS threads that share the sessions of a runner that does not block, with `cores` for all of them.
fn workers(spec: &RunSpec, cores: usize, sessions: u32) -> u32 {
    let wanted = if spec.workers == 0 {
        cores as u32
    } else {
        spec.workers
    };
    wanted.clamp(1, sessions)
}

fn sessions(spec: &RunSpec) -> u32 {
    spec.sessions.unwrap_or(spec.threads)
}

/// Of the worker that has most, in the largest run of the plan.
pub fn sessions_per_worker(spec: &RunSpec, cores: usize) -> u32 {
    let sessions = spec.sessions_of_largest_run.max(sessions(spec));
    sessions.div_ceil(workers(spec, cores, sessions))
}

/// Whether a worker of so many sessions has nothing to do at a certain moment and several answers of a server may gather.
/// What lives in the engine answers by the clock: a thread that let others go first would be late for all its sessions
/// (null system, 200 us, 6 users, 2 cores, beside builds: 2,500/s with 0.9 of the time spent waiting for a core).
fn may_wait(spec: &RunSpec, sessions: usize) -> bool {
    spec.pacing == Pacing::Closed && sessions > 1 && !spec.driver.endpoints().is_empty()
}

/// Deals threads and sessions round-robin over the workers: thread t is on worker t mod W. Refuses more workers than this
/// machine has room for.
pub fn place(job: &Terms) -> Result<Vec<Placement>, Trouble> {
    let (spec, blocking) = (&job.spec, job.is_blocking());
    let workers = if blocking {
        spec.threads
    } else {
        workers(spec, job.cores.len(), sessions(spec))
    };
    let dealt = |worker: u32, all: u32| (worker..all).step_by(workers as usize).collect();
    let core = |worker: u32| {
        let pinned = !blocking && !spec.cores.is_empty();
        pinned.then(|| spec.cores[worker as usize % spec.cores.len()])
    };
    let placement = |worker: u32| {
        let sessions: Vec<u32> = dealt(worker, sessions(spec));
        Placement {
            worker: worker as usize,
            threads: dealt(worker, spec.threads),
            core: core(worker),
            patient: !blocking && may_wait(spec, sessions.len()),
            spins: spec.spin,
            sessions,
        }
    };
    thread_limits::check(u64::from(workers))?;
    Ok((0..workers).map(placement).collect())
}

pub enum Message<T> {
    Ready { thread_id: i32 },
    Failed(Trouble),
    Done(T),
}

/// Workers at work.
pub struct Team<T> {
    messages: Receiver<(usize, Message<T>)>,
    threads: Vec<JoinHandle<()>>,
    pub thread_ids: Vec<i32>,
    done: usize,
}

/// What a worker's future is given.
pub struct Berth<T> {
    pub placement: Placement,
    pub recorder: Arc<Recorder>,
    messages: Sender<(usize, Message<T>)>,
}

impl<T> Berth<T> {
    pub fn ready(&self) {
        // SAFETY: asks the kernel for the calling thread's number, nothing else.
        let thread_id = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let _ = self
            .messages
            .send((self.placement.worker, Message::Ready { thread_id }));
    }
}

/// What a worker does in its berth.
pub type Work<T> = Arc<dyn Fn(Rc<Berth<T>>) -> Erased<'static, Result<T, Trouble>> + Send + Sync>;

/// Starts one OS thread per placement; each makes its future with `work` and runs it on a runner of its own.
pub fn start<T: Send + 'static>(
    on: &'static dyn Runner,
    placements: &[Placement],
    recorders: &[Arc<Recorder>],
    work: &Work<T>,
) -> Result<Team<T>, Trouble> {
    let (sender, messages) = channel();
    let mut threads = Vec::with_capacity(placements.len());
    for (placement, recorder) in placements.iter().zip(recorders) {
        let (placement, recorder, work, messages) =
            (placement.clone(), recorder.clone(), work.clone(), sender.clone());
        let worker = placement.worker;
        let body = move || {
            let counted = recorder.clone();
            let berth = Berth {
                placement,
                recorder: recorder.clone(),
                messages: messages.clone(),
            };
            // A panic (where it unwinds) must not leave the others waiting for this worker.
            let ended = catch_unwind(AssertUnwindSafe(|| {
                pin_to(berth.placement.core)?;
                if berth.placement.patient {
                    affinity::wait_for_turn();
                }
                on.block_on(recorder, berth.placement.spins, work(Rc::new(berth)))
            }));
            let ended = ended.unwrap_or_else(|_| Err(worker_died()));
            write_down(&counted);
            let _ = messages.send((worker, ended.map_or_else(Message::Failed, Message::Done)));
        };
        let spawned = std::thread::Builder::new()
            .name(format!("worker-{worker}"))
            .spawn(body);
        threads.push(spawned.map_err(|e| no_thread(worker, &e))?);
    }
    Ok(Team {
        messages,
        threads,
        thread_ids: vec![0; placements.len()],
        done: 0,
    })
}

fn pin_to(core: Option<u32>) -> Result<(), Trouble> {
    core.map_or(Ok(()), |core| affinity::pin(&[core]))
}

fn no_thread(worker: usize, error: &std::io::Error) -> Trouble {
    Trouble::new(
        TroubleKind::Environment,
        format!("could not start a thread: {error}"),
        format!("worker {worker}"),
        "raise the limit of processes (ulimit -u), or ask for fewer threads",
    )
}

impl<T> Team<T> {
    /// Workers that have given their results.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Until all are ready, or one has failed.
    pub fn wait_ready(&mut self) -> Result<(), Trouble> {
        let mut ready = 0;
        while ready < self.threads.len() {
            match self.receive(Duration::from_secs(3600))? {
                Some((worker, Message::Ready { thread_id })) => {
                    self.thread_ids[worker] = thread_id;
                    ready += 1;
                }
                Some((_, Message::Failed(trouble))) => return Err(trouble),
                Some((_, Message::Done(_))) | None => {}
            }
        }
        Ok(())
    }

    /// Hands results to `each` as they come, for at most `within`; whether all workers have now given theirs.
    pub fn wait_done(&mut self, within: Duration, mut each: impl FnMut(T)) -> Result<bool, Trouble> {
        let until_ns = now_ns() + within.as_nanos() as u64;
        while self.done < self.threads.len() {
            match self.receive(Duration::from_nanos(until_ns.saturating_sub(now_ns())))? {
                Some((_, Message::Done(result))) => {
                    self.done += 1;
                    each(result);
                }
                Some((_, Message::Failed(trouble))) => return Err(trouble),
                Some((_, Message::Ready { .. })) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn receive(&self, within: Duration) -> Result<Option<(usize, Message<T>)>, Trouble> {
        let deadline_ns = now_ns() + within.as_nanos() as u64;
        loop {
            let left_ns = deadline_ns.saturating_sub(now_ns());
            match self
                .messages
                .recv_timeout(Duration::from_nanos(left_ns.min(200_000_000)))
            {
                Ok(message) => return Ok(Some(message)),
                Err(RecvTimeoutError::Timeout) if now_ns() < deadline_ns => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(worker_died()),
            }
        }
    }
}

/// The sessions of one worker, opened a few at a time, each attached to the workload.
pub async fn open_sessions<W: Workload>(
    job: &Arc<Job<W>>,
    client: &Rc<dyn AnyClient<W::Session>>,
    cells: &[Rc<UserCell>],
    sessions: &[u32],
) -> Result<Vec<Place<W::Session>>, Trouble> {
    let shift = job
        .spec
        .client
        .index
        .wrapping_mul(job.spec.sessions.unwrap_or(job.spec.threads));
    let mut places = Vec::with_capacity(sessions.len());
    for group in sessions
        .iter()
        .zip(cells)
        .collect::<Vec<_>>()
        .chunks(OPENED_AT_ONCE)
    {
        let opening = group.iter().map(|(session, cell)| {
            let (job, client, cell) = (job.clone(), client.clone(), Rc::clone(cell));
            let number = shift.wrapping_add(**session);
            async move { open_place(&job, &*client, &cell, number).await }
        });
        for place in job.on().join_all(opening).await {
            places.push(place?);
        }
    }
    Ok(places)
}

async fn open_place<W: Workload>(
    job: &Job<W>,
    client: &dyn AnyClient<W::Session>,
    cell: &UserCell,
    number: u32,
) -> Result<Place<W::Session>, Trouble> {
    let seat = async |endpoint| match open(job, client, cell, endpoint).await {
        Ok(session) => Ok(Seat::new(session, endpoint, number)),
        Err(e) => Err(server_trouble(
            &e,
            format!("opening a session at endpoint {endpoint}"),
        )),
    };
    Ok(Place {
        seat: seat(job.routes.of(number)).await?,
        reader: match job.routes.reader_of(number) {
            Some(endpoint) => Some(Box::new(seat(endpoint).await?)),
            None => None,
        },
    })
}

/// The cells of one worker's users, and a watchdog over them.
pub fn watched_cells(job: &Terms, users: usize) -> Vec<Rc<UserCell>> {
    let cells: Vec<Rc<UserCell>> = (0..users).map(|_| Rc::default()).collect();
    let (watched, control) = (cells.clone(), job.control.clone());
    let mut seen_stopped = false;
    let look = move || {
        let stopped = control.is_stopped();
        watchdog::scan(&watched, stopped && !seen_stopped);
        seen_stopped = stopped;
    };
    job.on().every(watchdog::period(job.timeout_ns), Box::new(look));
    cells
}

/// Waits for the start to be published. `None`: stopped before there was one.
pub async fn wait_for_axis(job: &Terms) -> Option<Arc<Axis>> {
    if job.is_blocking() {
        return job.control.wait_for_axis(); // thousands of threads that look every few ms would be a load themselves
    }
    loop {
        if let Some(axis) = job.control.axis() {
            return Some(axis.clone());
        }
        if job.control.is_stopped() {
            return None;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // test code throughout
    use super::*;

    #[test]
    fn only_answers_of_a_server_are_waited_for_in_turn() {
        let server = r#""kind":"mysql","user":"","schema":"","endpoints":[{"name":"a","role":"primary","address":"a:1"}]"#;
        let open = r#","pacing":{"kind":"open","rate_ops_per_s":1,"arrival":"poisson"}"#;
        let waits = |driver: &str, extra: &str, sessions| {
            let text = format!(
                r#"{{"format":1,"phase":"run","driver":{{{driver}}},"workload":{{"kind":"ycsb"}}{extra}}}"#
            );
            may_wait(&crate::spec::parse(&text).unwrap(), sessions)
        };
        assert!(waits(server, "", 2));
        assert!(!waits(server, "", 1) && !waits(server, open, 2));
        assert!(!waits(r#""kind":"null""#, "", 2));
    }

    #[test]
    fn sessions_per_worker_is_that_of_the_fullest_in_the_largest_run() {
        let of = |extra: &str| {
            let text = format!(
                r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}}{extra}}}"#
            );
            sessions_per_worker(&crate::spec::parse(&text).unwrap(), 2)
        };
        assert_eq!(of(r#","threads":9"#), 5, "a worker per core");
        assert_eq!(of(r#","threads":9,"workers":1"#), 9);
        assert_eq!(of(r#","threads":9,"sessions":4,"workers":3"#), 2, "a pool");
        assert_eq!(of(r#","threads":1,"workers":8"#), 1);
        for threads in [1, 2, 8, 64] {
            let extra = format!(r#","threads":{threads},"sessions_of_largest_run":64"#);
            assert_eq!(of(&extra), 32, "the same for all runs of a plan");
        }
    }
}
