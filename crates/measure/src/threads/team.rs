//! The OS threads of a phase: who is on which, and how they report. A worker that never returns (a blocked call) is
//! left behind and cannot keep the others' figures.
use crate::record::recorder::Recorder;
use crate::runner::{Erased, Runner};
use crate::threads::client_cost::{Snapshot, write_down};
use crate::threads::placement::Placement;
use crate::threads::{affinity, spawn};
use crate::words::worker_died;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::time::now_ns;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

pub enum Message<T> {
    Ready { thread_id: i32 },
    Failed(Trouble),
    Done(T),
}

/// Workers at work.
pub struct Team<T> {
    messages: Receiver<(usize, Message<T>)>,
    /// By worker, the kernel's; 0: it has not said that it is ready.
    thread_ids: Vec<i32>,
    pub recorders: Vec<Arc<Recorder>>,
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
    recorders: Vec<Arc<Recorder>>,
    work: &Work<T>,
) -> Result<Team<T>, Trouble> {
    let (sender, messages) = channel();
    for (placement, recorder) in placements.iter().zip(&recorders) {
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
            // A panic (where it unwinds: in tests) must not leave the others waiting for this worker.
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
        spawn(&format!("worker {worker}"), ", or ask for fewer threads", body)?;
    }
    Ok(Team {
        messages,
        thread_ids: vec![0; recorders.len()],
        recorders,
        done: 0,
    })
}

fn pin_to(core: Option<u32>) -> Result<(), Trouble> {
    core.map_or(Ok(()), |core| affinity::pin(&[core]))
}

impl<T> Team<T> {
    pub fn size(&self) -> usize {
        self.recorders.len()
    }

    /// Workers that have given their results.
    pub fn done(&self) -> usize {
        self.done
    }

    /// What it has cost so far.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.thread_ids, &self.recorders)
    }

    /// Until all are ready, or one has failed.
    pub fn wait_ready(&mut self) -> Result<(), Trouble> {
        let mut ready = 0;
        while ready < self.size() {
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
        while self.done < self.size() {
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
