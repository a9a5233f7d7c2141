//! What the sessions of an experiment have recorded so far. They end when their time is over, or once a verdict is possible.
use crate::shared::history;
use crate::{Stage, silent};
use bakeoff_histories::History;
use bakeoff_histories::record::Record;
use bakeoff_histories::verdict::Sufficiency;
use bakeoff_measure::{Sink, words};
use bakeoff_model::event::{Event, Progress};
use bakeoff_model::outcome::Trouble;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an experiment takes.
#[derive(Clone, Copy)]
pub struct Span {
    pub at_most: Duration,
    /// From then on it ends as soon as a verdict is possible, or out of reach.
    pub enough_after: Duration,
}

impl Span {
    pub fn new(seconds: f64, enough_after_s: Option<f64>) -> Self {
        let at_most = Duration::from_secs_f64(seconds);
        let enough_after = enough_after_s.map_or(at_most, Duration::from_secs_f64);
        Self {
            at_most,
            enough_after: enough_after.min(at_most),
        }
    }
}

/// Between two looks at what there is; as a part of the time so far it keeps them rare.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOK_EVERY_SHARE: f64 = 0.25;
/// Before a verdict is called out of reach.
const HOPE: Duration = Duration::from_secs(1);
const SHOWN_EVERY: Duration = Duration::from_secs(1);

pub struct Log {
    records: Mutex<Vec<Record>>,
    until: Instant,
    is_over: AtomicBool,
}

impl Log {
    /// From now on.
    pub fn new(span: Span) -> Self {
        Self {
            records: Mutex::default(),
            until: Instant::now() + span.at_most,
            is_over: AtomicBool::new(false),
        }
    }

    pub fn goes_on<S>(&self, stage: &Stage<S>) -> bool {
        !self.is_over.load(Relaxed) && Instant::now() < self.until && !stage.control.is_stopped()
    }

    pub fn add(&self, record: Record) {
        self.all().push(record);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until each session has ended, and returns what they have recorded. Shows at the begin, every second and at the
    /// end how many seconds have passed. `stop` of the controller ends the wait early: sessions see it, too.
    /// sufficiency: of a history; `None` where it cannot be judged.
    pub fn gather<S>(
        &self,
        stage: &Stage<S>,
        sink: &Sink,
        ends: &Receiver<Result<(), Trouble>>,
        sessions: usize,
        span: Span,
        sufficiency: impl Fn(&History) -> Option<Sufficiency>,
    ) -> Result<Vec<Record>, Trouble> {
        let begun = Instant::now();
        let patience = span.at_most + 3 * stage.timeout;
        let seconds = |done: f64| {
            let total = span.at_most.as_secs_f64().ceil() as u64;
            sink(Event::Progress(Progress {
                elapsed_s: begun.elapsed().as_secs_f64(),
                done: (done as u64).min(total),
                total,
            }));
        };
        seconds(0.0);
        let (mut ended, mut shown, mut look) = (0, Duration::ZERO, span.enough_after);
        while ended < sessions {
            let elapsed = begun.elapsed();
            if elapsed >= look && elapsed < span.at_most {
                let times = span.at_most.div_duration_f64(elapsed);
                let seen = self.seen().as_ref().and_then(&sufficiency);
                let is_hopeless = |seen: Sufficiency| elapsed >= HOPE && seen.is_out_of_reach(times);
                if seen.is_some_and(|seen| seen.is_enough() || is_hopeless(seen)) {
                    self.is_over.store(true, Relaxed);
                }
                look = elapsed + LOOK_EVERY.max(elapsed.mul_f64(LOOK_EVERY_SHARE));
            }
            let next = look.max(elapsed) - elapsed;
            match ends.recv_timeout(next.clamp(LOOK_EVERY, SHOWN_EVERY)) {
                Ok(end) => {
                    end?;
                    ended += 1;
                }
                Err(RecvTimeoutError::Timeout) if elapsed < patience => {
                    if elapsed >= shown + SHOWN_EVERY {
                        shown = elapsed;
                        seconds(elapsed.as_secs_f64());
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(silent(stage, "a session has no answer")),
                Err(RecvTimeoutError::Disconnected) => return Err(words::worker_died()),
            }
        }
        seconds(f64::INFINITY);
        Ok(std::mem::take(&mut *self.all()))
    }

    /// Sessions go on meanwhile.
    fn seen(&self) -> Option<History> {
        let records = self.all().clone();
        history(&records, "log").ok()
    }
}
