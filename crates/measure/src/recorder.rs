//! One recorder per OS thread of the engine, allocated before the window. [`Recorder`] is the memory, which others
//! may read at any time (a session blocked for ever must not hide what came before it); [`Writer`] is the one thread's
//! right to write. Cost per operation: three histogram records and two flag stores, about 15 ns; it never allocates or
//! locks but for one swap of buffers a second.
use crate::control::Axis;
use crate::samples::Samples;
use crate::seconds::{Second, SecondTotals, Seconds};
use crate::tally::Tally;
use crate::times::{HIGHEST_NS, Times, TimesSet, add, bucket};
use bakeoff_model::outcome::Outcome;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Queries;
use std::cell::{Cell, Ref, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SECOND_NS: u64 = 1_000_000_000;

/// Times that belong to no operation x outcome.
#[derive(Clone, Copy)]
pub enum Extra {
    Unfinished,
    Backlog,
    Lateness,
    PoolWait,
}

#[derive(Default)]
pub struct Counters {
    pub due: AtomicU64,
    pub connections_lost: AtomicU64,
    pub revoked: AtomicU64,
    /// Ns this thread spent spinning for a deadline: not work.
    pub spin_ns: AtomicU64,
    /// End of the last operation recorded, ns.
    pub last_end_ns: AtomicU64,
    /// CPU time and run-queue delay of this thread when it had ended; 0 before.
    pub ended_cpu_ns: AtomicU64,
    pub ended_delay_ns: AtomicU64,
}

pub struct Recorder {
    /// Response and service of each series, in turn.
    run: TimesSet,
    extra: TimesSet,
    carried_in: Box<[AtomicU64]>,
    endpoints: Box<[AtomicU64]>,
    /// Per user of this worker: due time of the operation in flight, 0 if none.
    in_flight: Box<[AtomicU64]>,
    pub counters: Counters,
    /// Statements of operations in the run's figures; retries and reconnects in the window.
    pub tally: Tally,
    /// Statements of operations that fell due before the window and ended in it.
    pub tally_carried_in: Tally,
    pub samples: Samples,
    /// Set from before an operation's end is read off the clock until it has been recorded. Whoever finds it clear
    /// some milliseconds after a second's end knows that the second is complete.
    recording: AtomicBool,
    seconds: Seconds,
}

/// Dense index of an operation x outcome.
pub fn series(operation: usize, outcome: Outcome) -> usize {
    operation * Outcome::COUNT + outcome.index()
}

impl Recorder {
    pub fn new(operations: usize, users: usize, endpoints: usize) -> Self {
        let zeros = |n| (0..n).map(|_| AtomicU64::new(0)).collect();
        let all = operations * Outcome::COUNT;
        Self {
            run: TimesSet::new(2 * all),
            extra: TimesSet::new(4),
            carried_in: zeros(all),
            endpoints: zeros(endpoints),
            in_flight: zeros(users),
            counters: Counters::default(),
            tally: Tally::default(),
            tally_carried_in: Tally::default(),
            samples: Samples::default(),
            recording: AtomicBool::new(false),
            seconds: Seconds::new(all),
        }
    }

    pub fn response(&self, series: usize, total: &mut Times) {
        self.run.add_to(2 * series, total);
    }

    pub fn service(&self, series: usize, total: &mut Times) {
        self.run.add_to(2 * series + 1, total);
    }

    pub fn extra(&self, which: Extra, total: &mut Times) {
        self.extra.add_to(which as usize, total);
    }

    pub fn carried_in(&self, series: usize) -> u64 {
        self.carried_in[series].load(Ordering::Relaxed)
    }

    pub fn endpoint(&self, endpoint: usize) -> u64 {
        self.endpoints[endpoint].load(Ordering::Relaxed)
    }

    /// Due times of operations begun and not ended.
    pub fn in_flight(&self) -> impl Iterator<Item = u64> {
        self.in_flight
            .iter()
            .map(|due| due.load(Ordering::Relaxed))
            .filter(|due| *due > 0)
    }

    /// Adds everything up to `second` to `totals` and frees its buffers. Called some milliseconds after the second's
    /// end; waits for an operation that is just being recorded.
    pub fn harvest(&self, second: u64, totals: &mut SecondTotals) {
        while self.recording.load(Ordering::Acquire) {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        self.seconds.take(second, totals);
    }
}

/// The writing side; stays on its thread.
pub struct Writer {
    recorder: Arc<Recorder>,
    pub axis: Arc<Axis>,
    current: RefCell<Arc<Second>>,
    current_end_ns: Cell<u64>,
}

impl Writer {
    pub fn new(recorder: Arc<Recorder>, axis: Arc<Axis>) -> Self {
        Self {
            recorder,
            axis,
            // Replaced by the first record, because every end lies after 0.
            current: RefCell::new(Arc::new(Second::new(0))),
            current_end_ns: Cell::new(0),
        }
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    #[inline]
    pub fn begin_recording(&self) {
        self.recorder.recording.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn end_recording(&self) {
        self.recorder.recording.store(false, Ordering::Release);
    }

    #[inline]
    pub fn set_in_flight(&self, user: usize, due_ns: u64) {
        self.recorder.in_flight[user].store(due_ns, Ordering::Relaxed);
    }

    /// One operation that has ended. Between `begin_recording` (before `end_ns` was read off the clock) and
    /// `end_recording`. True when it is in the run's figures.
    #[inline]
    pub fn operation(&self, series: usize, endpoint: u32, due_ns: u64, begin_ns: u64, end_ns: u64) -> bool {
        let recorder = &*self.recorder;
        let window_end_ns = self.axis.window_end_ns();
        let due_in_window = due_ns >= self.axis.window_start_ns;
        if end_ns > window_end_ns {
            if due_in_window && due_ns < window_end_ns {
                self.extra(Extra::Unfinished, window_end_ns - due_ns);
            }
            return false;
        }
        let response_ns = end_ns.saturating_sub(due_ns).max(1);
        let bucket = bucket(response_ns.min(HIGHEST_NS));
        self.second(end_ns).times.record_in(series, response_ns, bucket);
        if end_ns < self.axis.window_start_ns {
            return false;
        }
        add(&recorder.endpoints[endpoint as usize], 1);
        if !due_in_window {
            add(&recorder.carried_in[series], 1);
            return false;
        }
        recorder.run.record_in(2 * series, response_ns, bucket);
        recorder
            .run
            .record(2 * series + 1, end_ns.saturating_sub(begin_ns));
        recorder.counters.last_end_ns.store(end_ns, Ordering::Relaxed);
        true
    }

    /// A part of an operation: timed, but it is no operation that ended at an endpoint.
    pub fn part(&self, operation: usize, outcome: Outcome, start_ns: u64, end_ns: u64) {
        if end_ns > self.axis.window_end_ns() {
            return;
        }
        let series = series(operation, outcome);
        let time_ns = end_ns.saturating_sub(start_ns);
        self.second(end_ns).times.record(series, time_ns);
        if start_ns >= self.axis.window_start_ns {
            self.recorder.run.record(2 * series, time_ns);
            self.recorder.run.record(2 * series + 1, time_ns);
        } else if end_ns >= self.axis.window_start_ns {
            add(&self.recorder.carried_in[series], 1);
        }
    }

    /// Statements of an operation that ended at `end_ns`; `counted`: it is in the run's figures. To be called where
    /// [`Writer::operation`] is.
    pub fn queries(&self, queries: Queries, end_ns: u64, counted: bool) {
        if end_ns > self.axis.window_end_ns() {
            return;
        }
        self.second(end_ns).tally.add_queries(queries);
        if counted {
            self.recorder.tally.add_queries(queries);
        } else if end_ns >= self.axis.window_start_ns {
            self.recorder.tally_carried_in.add_queries(queries);
        }
    }

    pub fn retry(&self) {
        self.count(|tally| &tally.retries);
    }

    pub fn reconnect(&self) {
        self.count(|tally| &tally.reconnects);
    }

    /// One more, in the second that it is and, if that is in the window, in the run. The clock is read while recording:
    /// a thread kept from running in between holds up the second's report.
    fn count(&self, which: impl Fn(&Tally) -> &AtomicU64) {
        self.begin_recording();
        let now = now_ns();
        add(which(&self.second(now).tally), 1);
        self.end_recording();
        if (self.axis.window_start_ns..=self.axis.window_end_ns()).contains(&now) {
            add(which(&self.recorder.tally), 1);
        }
    }

    /// The buffer of the second that has this time in it.
    #[inline]
    fn second(&self, end_ns: u64) -> Ref<'_, Arc<Second>> {
        if end_ns >= self.current_end_ns.get() {
            self.next_second(end_ns);
        }
        self.current.borrow()
    }

    /// Once a second.
    #[cold]
    fn next_second(&self, end_ns: u64) {
        let second = end_ns.saturating_sub(self.axis.epoch_ns) / SECOND_NS;
        self.current_end_ns
            .set(self.axis.epoch_ns + (second + 1) * SECOND_NS);
        *self.current.borrow_mut() = self.recorder.seconds.begin(second);
    }

    #[inline]
    pub fn extra(&self, which: Extra, time_ns: u64) {
        self.recorder.extra.record(which as usize, time_ns);
    }

    /// Due in the window and never begun.
    pub fn backlog(&self, due_ns: u64) {
        let end_ns = self.axis.window_end_ns();
        if due_ns >= self.axis.window_start_ns && due_ns < end_ns && end_ns != u64::MAX {
            self.extra(Extra::Backlog, end_ns - due_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Totals;

    const S: u64 = SECOND_NS;

    /// Epoch at 10 s, window from 12 s to 15 s.
    fn writer() -> Writer {
        let axis = Arc::new(Axis::new(10 * S, 0, 2 * S, Some(3 * S)));
        Writer::new(Arc::new(Recorder::new(1, 1, 1)), axis)
    }

    fn record(writer: &Writer, due_ns: u64, end_ns: u64) {
        writer.operation(0, 0, due_ns, due_ns + 1, end_ns);
    }

    fn counts(writer: &Writer) -> (u64, u64, u64) {
        let (mut response, mut unfinished) = (Times::default(), Times::default());
        writer.recorder.response(0, &mut response);
        writer.recorder.extra(Extra::Unfinished, &mut unfinished);
        (
            response.count(),
            writer.recorder.carried_in(0),
            unfinished.count(),
        )
    }

    #[test]
    fn an_operation_counts_in_the_window_only_if_due_and_ended_there() {
        let writer = writer();
        record(&writer, 10 * S, 11 * S); // warm-up
        assert_eq!(counts(&writer), (0, 0, 0));
        record(&writer, 11 * S, 12 * S + 1); // carried in
        assert_eq!(counts(&writer), (0, 1, 0));
        record(&writer, 12 * S, 13 * S);
        assert_eq!(counts(&writer), (1, 1, 0));
        record(&writer, 14 * S, 16 * S); // unfinished at the end
        assert_eq!(counts(&writer), (1, 1, 1));
        record(&writer, 11 * S, 16 * S); // due before the window and unfinished: in neither
        assert_eq!(counts(&writer), (1, 1, 1));
    }

    #[test]
    fn retries_and_reconnects_count_in_the_window_only_but_in_every_second() {
        let hour = 3600 * S;
        for (warm_up_ns, in_window) in [(hour, 0), (0, 1)] {
            let axis = Arc::new(Axis::new(now_ns(), 0, warm_up_ns, Some(hour)));
            let writer = Writer::new(Arc::new(Recorder::new(1, 1, 1)), axis);
            writer.retry();
            writer.reconnect();
            let mut totals = SecondTotals::new(Outcome::COUNT);
            (0..60).for_each(|second| writer.recorder.harvest(second, &mut totals));
            assert_eq!((totals.totals.retries, totals.totals.reconnects), (1, 1));
            let mut run = Totals::default();
            writer.recorder.tally.add_to(&mut run);
            assert_eq!((run.retries, run.reconnects), (in_window, in_window));
        }
    }

    #[test]
    fn unfinished_operations_enter_at_their_age() {
        let writer = writer();
        record(&writer, 14 * S, 20 * S);
        let mut unfinished = Times::default();
        writer.recorder.extra(Extra::Unfinished, &mut unfinished);
        assert_eq!(unfinished.to_event().max_ns, S);
    }

    #[test]
    fn seconds_hold_what_ended_in_them_warm_up_included() {
        let writer = writer();
        for end in [10 * S + 5, 10 * S + 6, 11 * S, 13 * S] {
            record(&writer, end - 5, end);
        }
        let harvest = |second| {
            let mut totals = SecondTotals::new(Outcome::COUNT);
            writer.recorder.harvest(second, &mut totals);
            totals.times[0].as_ref().map_or(0, Times::count)
        };
        assert_eq!([harvest(0), harvest(1), harvest(2), harvest(3)], [2, 1, 0, 1]);
    }
}
