//! One session on its own thread, which sends reads at a low rate during the load. Its waiting time is the system's
//! alone, without the load's event loop: if the load's median is far above it, the client itself queues.
use crate::job::Job;
use crate::pace::pacer::{Pacer, Share};
use crate::record::merged::{Merged, outcome_of};
use crate::record::recorder::{Recorder, Writer};
use crate::record::times::Times;
use crate::threads::spawn;
use crate::user::probe::RecordProbe;
use crate::user::session::{Seat, Since, open, reopen};
use crate::user::watchdog::{timed, watched};
use crate::words::server_trouble;
use bakeoff_model::event::LatencyProbe;
use bakeoff_model::outcome::{Outcome, Trouble};
use bakeoff_model::time::{now_ns, sleep_until};
use bakeoff_model::workload::{Answer, Ended, Operation, ThreadId, Workload};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A latency probe at work.
pub struct Watch {
    operation: usize,
    messages: Receiver<Message>,
}

enum Message {
    Ready,
    Failed(Trouble),
    Seen(Box<Times>),
}

/// What the latency probe waited for its answers.
pub struct Seen {
    operation: usize,
    service: Times,
}

pub fn start<W: Workload>(
    job: &Arc<Job<W>>,
    rate_ops_per_s: f64,
    operation: usize,
    worker: usize,
) -> Result<Watch, Trouble> {
    let (sender, messages) = channel();
    let (job, on, spins) = (job.clone(), job.on(), job.spec.spin);
    let body = move || {
        let recorder = Arc::new(Recorder::new(job.operations.len(), 1, 1));
        let watching = watch::<W>(job, rate_ops_per_s, worker, recorder.clone(), sender.clone());
        let last = match on.block_on(recorder, spins, watching) {
            Ok(times) => Message::Seen(Box::new(times)),
            Err(trouble) => Message::Failed(trouble),
        };
        let _ = sender.send(last);
    };
    spawn("latency probe", ", or do without a latency probe", body)?;
    Ok(Watch { operation, messages })
}

impl Watch {
    pub fn wait_ready(&self) -> Result<(), Trouble> {
        match self.messages.recv() {
            Ok(Message::Failed(trouble)) => Err(trouble),
            _ => Ok(()),
        }
    }

    /// `None` when it had nothing to tell, or is still waiting for an answer when it is not waited for any longer, which
    /// is asked about twice a second.
    pub fn seen(self, mut waits_on: impl FnMut() -> bool) -> Option<Seen> {
        loop {
            match self.messages.recv_timeout(Duration::from_millis(500)) {
                Ok(Message::Seen(service)) => {
                    return Some(Seen {
                        operation: self.operation,
                        service: *service,
                    });
                }
                Err(RecvTimeoutError::Timeout) if waits_on() => {}
                _ => return None,
            }
        }
    }
}

async fn watch<W: Workload>(
    job: Arc<Job<W>>,
    rate_ops_per_s: f64,
    worker: usize,
    recorder: Arc<Recorder>,
    messages: Sender<Message>,
) -> Result<Times, Trouble> {
    let cells = watched(&job, 1);
    let cell = &cells[0];
    let client = job.driver.open(worker).await?;
    let endpoint = job.routes.reader_of(0).unwrap_or(job.routes.first());
    let opened = open(&job, &*client, cell, endpoint).await;
    let session =
        opened.map_err(|e| server_trouble(&e, &job.spec.driver, "opening the latency probe's session"))?;
    let mut seat = Seat::new(session, endpoint, 0);
    let _ = messages.send(Message::Ready);
    let mut times = Times::default();
    let Some(axis) = job.wait_for_axis().await else {
        return Ok(times);
    };
    // Its operations are not the run's: what they say of themselves goes to a recorder that nobody reads.
    let mut probe = RecordProbe::new(Rc::new(Writer::new(recorder, axis.clone())));
    let state = job.workload.worker(worker);
    let stream = u64::MAX - u64::from(job.spec.client.index);
    let mut thread = job.workload.thread(
        &state,
        ThreadId {
            thread: job.spec.threads,
            stream,
            latency_probe: true,
        },
    );
    let mut pacer = Pacer::constant(Share {
        rate_ops_per_s,
        threads: 1,
        first: 0,
        stride: 1,
        count: 1,
        phase: 0.5,
    });
    loop {
        let due_ns = axis.epoch_ns + pacer.next_due_ns();
        if !wait(due_ns, &axis).await {
            return Ok(times);
        }
        let Some(session) = &mut seat.session else {
            return Ok(times);
        };
        job.workload.next(&state, &mut thread);
        let begin_ns = now_ns();
        let answer = {
            let asked = pin!(job.workload.execute(&state, &mut thread, session, &mut probe));
            timed(cell, begin_ns + job.timeout_ns, asked).await
        };
        let end_ns = now_ns();
        let (outcome, lost) = match answer {
            Some(Ok(Answer::Right)) => (Outcome::Ok, false),
            Some(Ok(Answer::Wrong(_))) => (Outcome::Wrong, false),
            Some(Err(error)) => (error.outcome, error.connection_lost),
            None => (Outcome::Unknown, true),
        };
        job.workload
            .settle(&state, &mut thread, Ended::at_once(outcome, lost), &mut probe);
        if outcome == Outcome::Ok && axis.counts(due_ns, end_ns) {
            times.record(end_ns.saturating_sub(begin_ns));
        }
        if lost && !reopen(&job, &*client, cell, &probe.writer, &mut seat, Since::Lost).await {
            return Ok(times);
        }
    }
}

/// False when the window ended first.
async fn wait(due_ns: u64, axis: &crate::control::Axis) -> bool {
    const NAP_NS: u64 = 50_000_000;
    loop {
        let now = now_ns();
        if now.max(due_ns) >= axis.window_end_ns() {
            return false;
        }
        if now >= due_ns {
            return true;
        }
        sleep_until(due_ns.min(now + NAP_NS)).await;
    }
}

impl Seen {
    /// With the same operation of the load, to compare.
    pub fn against(self, merged: &[Merged], operations: &[Operation]) -> LatencyProbe {
        let same = |m: &&Merged| {
            m.series / Outcome::COUNT == self.operation
                && outcome_of(m.series) == Outcome::Ok
                && m.service.count() > 0
        };
        let under_load_ns = merged.iter().find(same).map(|m| m.service.quantile_ns(0.5));
        let own_ns = self.service.quantile_ns(0.5);
        LatencyProbe {
            operation: operations[self.operation].name.clone(),
            service: self.service.to_event(),
            median_ratio: under_load_ns
                .filter(|_| own_ns > 0)
                .map(|ns| ns as f64 / own_ns as f64),
        }
    }
}
