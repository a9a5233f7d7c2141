//! One recorder per OS thread of the engine, allocated before the window. [`Recorder`] is the memory, which others
//! may read at any time (a session blocked for ever must not hide what came before it); [`Writer`] is the one thread's
//! right to write. Cost per operation: three histogram records, one more count and two flag stores, about 15 ns; it never allocates or
//! locks but for one swap of buffers a second.
use crate::control::Axis;
use crate::record::nodes::{NodeSet, NodeTotals};
use crate::record::refusals::Refusals;
use crate::record::samples::Samples;
use crate::record::seconds::{Second, SecondTotals, Seconds, Size, TENTHS};
use crate::record::tally::Tally;
use crate::record::times::{HIGHEST_NS, Times, TimesSet, add, bucket};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Queries;
use std::cell::{Cell, Ref, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

const SECOND_NS: u64 = 1_000_000_000;
const TENTH_NS: u64 = SECOND_NS / TENTHS as u64;

/// Times that belong to no operation x outcome.
#[derive(Clone, Copy)]
pub enum Extra {
    Backlog,
    Lateness,
    PoolWait,
}

/// How many kinds of [`Extra`] there are; what each operation left unfinished follows them.
const EXTRAS: usize = 3;

/// What a user is in the middle of.
#[derive(Default)]
struct InFlight {
    /// When it fell due; 0: nothing is in flight.
    due_ns: AtomicU64,
    operation: AtomicUsize,
}

#[derive(Default)]
pub struct Counters {
    /// Operations that fell due before the window of an open loop and ended in it.
    pub late_from_warm_up: AtomicU64,
    /// Those of them that ended ok.
    pub ok_from_warm_up: AtomicU64,
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
    /// Each [`Extra`], then what each operation left unfinished.
    extra: TimesSet,
    /// `None`: there is but one node, or none.
    nodes: Option<NodeSet>,
    /// Per user of this worker.
    in_flight: Box<[InFlight]>,
    pub counters: Counters,
    /// Statements of operations in the run's figures; retries and reconnects in the window.
    pub tally: Tally,
    pub samples: Samples,
    pub refusals: Refusals,
    /// Set from before an operation's end is read off the clock until it has been recorded. Whoever finds it clear
    /// some milliseconds after a second's end knows that the second is complete.
    recording: AtomicBool,
    seconds: Seconds,
    /// Whether each second has service times, too.
    pub service_by_second: bool,
}

/// Dense index of an operation x outcome.
pub fn series(operation: usize, outcome: Outcome) -> usize {
    operation * Outcome::COUNT + outcome.index()
}

impl Recorder {
    pub fn new(operations: usize, users: usize, endpoints: usize) -> Self {
        let all = operations * Outcome::COUNT;
        Self {
            run: TimesSet::new(2 * all),
            extra: TimesSet::new(EXTRAS + operations),
            nodes: NodeSet::of_several(endpoints),
            in_flight: (0..users).map(|_| InFlight::default()).collect(),
            counters: Counters::default(),
            tally: Tally::default(),
            samples: Samples::default(),
            refusals: Refusals::default(),
            recording: AtomicBool::new(false),
            seconds: Seconds::new(Size {
                series: all,
                endpoints,
            }),
            service_by_second: false,
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

    /// Of one operation: ended after the window, at its age when the window did.
    pub fn unfinished(&self, operation: usize, total: &mut Times) {
        self.extra.add_to(EXTRAS + operation, total);
    }

    /// Of several nodes; `totals`: one for each.
    pub fn nodes(&self, totals: &mut [NodeTotals]) {
        self.nodes.iter().for_each(|nodes| nodes.add_to(totals));
    }

    /// Operations begun and not ended, each with its due time.
    pub fn in_flight(&self) -> impl Iterator<Item = (usize, u64)> {
        let read = |user: &InFlight| {
            (
                user.operation.load(Ordering::Relaxed),
                user.due_ns.load(Ordering::Relaxed),
            )
        };
        self.in_flight.iter().map(read).filter(|(_, due_ns)| *due_ns > 0)
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
    tenth_end_ns: Cell<u64>,
    /// Place of the first series in the tenth of the second that it is.
    tenth: Cell<usize>,
}

impl Writer {
    pub fn new(recorder: Arc<Recorder>, axis: Arc<Axis>) -> Self {
        Self {
            recorder,
            axis,
            // Replaced by the first record, because every end lies after 0.
            current: RefCell::new(Arc::new(Second::new(Size {
                series: 0,
                endpoints: 0,
            }))),
            current_end_ns: Cell::new(0),
            tenth_end_ns: Cell::new(0),
            tenth: Cell::new(0),
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
    pub fn set_in_flight(&self, user: usize, operation: usize, due_ns: u64) {
        let in_flight = &self.recorder.in_flight[user];
        in_flight.operation.store(operation, Ordering::Relaxed);
        in_flight.due_ns.store(due_ns, Ordering::Relaxed);
    }

    #[inline]
    pub fn clear_in_flight(&self, user: usize) {
        self.recorder.in_flight[user].due_ns.store(0, Ordering::Relaxed);
    }

    /// One operation that has ended. Between `begin_recording` (before `end_ns` was read off the clock) and
    /// `end_recording`. True when it is in the run's figures.
    #[inline]
    pub fn operation(&self, series: usize, endpoint: u32, due_ns: u64, begin_ns: u64, end_ns: u64) -> bool {
        let recorder = &*self.recorder;
        if end_ns > self.axis.window_end_ns() {
            self.owed_at(EXTRAS + series / Outcome::COUNT, due_ns);
            return false;
        }
        let response_ns = end_ns.saturating_sub(due_ns).max(1);
        let bucket = bucket(response_ns.min(HIGHEST_NS));
        let outcome = series % Outcome::COUNT;
        {
            let second = self.second(end_ns);
            second.times.record_in(series, response_ns, bucket);
            second.in_tenth(self.tenth.get() + series);
            if let Some(nodes) = &second.nodes {
                nodes.operation(endpoint, outcome, response_ns, bucket);
            }
            if recorder.service_by_second && outcome == Outcome::Ok.index() {
                let place = recorder.seconds.series();
                second.times.record(place, end_ns.saturating_sub(begin_ns));
            }
        }
        if end_ns < self.axis.window_start_ns {
            return false;
        }
        if due_ns < self.axis.due_from_ns {
            add(&recorder.counters.late_from_warm_up, 1);
            if outcome == Outcome::Ok.index() {
                add(&recorder.counters.ok_from_warm_up, 1);
            }
            return false;
        }
        if let Some(nodes) = &recorder.nodes {
            nodes.operation(endpoint, outcome, response_ns, bucket);
        }
        recorder.run.record_in(2 * series, response_ns, bucket);
        recorder
            .run
            .record(2 * series + 1, end_ns.saturating_sub(begin_ns));
        recorder.counters.last_end_ns.store(end_ns, Ordering::Relaxed);
        true
    }

    /// A part of an operation: timed, but it is no operation that ended at an endpoint. Like [`Writer::operation`],
    /// `end_ns` is read off the clock after `begin_recording`, so that its second cannot have been reported meanwhile.
    pub fn part(&self, operation: usize, outcome: Outcome, start_ns: u64, end_ns: u64) {
        if end_ns > self.axis.window_end_ns() {
            return;
        }
        let series = series(operation, outcome);
        let time_ns = end_ns.saturating_sub(start_ns);
        self.second(end_ns).times.record(series, time_ns);
        if self.axis.counts(start_ns, end_ns) {
            self.recorder.run.record(2 * series, time_ns);
            self.recorder.run.record(2 * series + 1, time_ns);
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
        }
    }

    /// `failed`: how the attempt before it ended.
    pub fn retry(&self, failed: Outcome) {
        let after_conflict = failed == Outcome::Fail(FailClass::Conflict);
        self.count(|tally, _| {
            add(&tally.retries, 1);
            add(&tally.retries_after_conflict, u64::from(after_conflict));
        });
    }

    pub fn reconnect(&self, endpoint: u32) {
        self.count(|tally, nodes| {
            add(&tally.reconnects, 1);
            nodes.iter().for_each(|nodes| nodes.reconnect(endpoint));
        });
    }

    /// One more, in the second that it is and, if that is in the window, in the run. The clock is read while recording:
    /// a thread kept from running in between holds up the second's report.
    fn count(&self, one_more: impl Fn(&Tally, &Option<NodeSet>)) {
        self.begin_recording();
        let now = now_ns();
        let second = self.second(now);
        one_more(&second.tally, &second.nodes);
        drop(second);
        self.end_recording();
        if self.axis.in_window(now) {
            one_more(&self.recorder.tally, &self.recorder.nodes);
        }
    }

    /// The buffer of the second that has this time in it.
    #[inline]
    fn second(&self, end_ns: u64) -> Ref<'_, Arc<Second>> {
        if end_ns >= self.tenth_end_ns.get() {
            self.next_tenth(end_ns);
        }
        self.current.borrow()
    }

    /// Ten times a second.
    #[cold]
    fn next_tenth(&self, end_ns: u64) {
        let tenth = end_ns.saturating_sub(self.axis.epoch_ns) / TENTH_NS;
        let end_of = |tenths: u64| self.axis.epoch_ns + tenths * TENTH_NS;
        let (second, within) = (tenth / TENTHS as u64, tenth % TENTHS as u64);
        if end_ns >= self.current_end_ns.get() {
            self.current_end_ns.set(end_of((second + 1) * TENTHS as u64));
            *self.current.borrow_mut() = self.recorder.seconds.begin(second);
        }
        self.tenth_end_ns.set(end_of(tenth + 1));
        self.tenth.set(within as usize * self.recorder.seconds.series());
    }

    #[inline]
    pub fn extra(&self, which: Extra, time_ns: u64) {
        self.recorder.extra.record(which as usize, time_ns);
    }

    /// Fell due and had not begun when the window ended: it enters at its age.
    pub fn backlog(&self, due_ns: u64) {
        self.owed_at(Extra::Backlog as usize, due_ns);
    }

    #[cold]
    fn owed_at(&self, histogram: usize, due_ns: u64) {
        if let Some(age_ns) = self.axis.age_at_end_ns(due_ns) {
            self.recorder.extra.record(histogram, age_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tally::Totals;

    const S: u64 = SECOND_NS;
    /// Operation at one endpoint.
    const ONE: Size = Size {
        series: Outcome::COUNT,
        endpoints: 1,
    };

    /// Epoch at 10 s, window from 12 s to 15 s.
    fn writer(open: bool) -> Writer {
        let axis = Arc::new(Axis::new(10 * S, 0, 2 * S, Some(3 * S), open));
        Writer::new(Arc::new(Recorder::new(1, 1, 1)), axis)
    }

    fn record(writer: &Writer, due_ns: u64, end_ns: u64) {
        writer.operation(0, 0, due_ns, due_ns + 1, end_ns);
    }

    /// Counted, answered too late to count, and unfinished.
    fn counts(writer: &Writer) -> (u64, u64, u64) {
        let (mut response, mut unfinished) = (Times::default(), Times::default());
        writer.recorder.response(0, &mut response);
        writer.recorder.unfinished(0, &mut unfinished);
        let late = &writer.recorder.counters.late_from_warm_up;
        (response.count(), late.load(Ordering::Relaxed), unfinished.count())
    }

    #[test]
    fn an_operation_of_an_open_loop_belongs_to_where_it_fell_due() {
        let writer = writer(true);
        record(&writer, 10 * S, 11 * S); // warm-up
        assert_eq!(counts(&writer), (0, 0, 0));
        record(&writer, 11 * S, 12 * S + 1);
        assert_eq!(counts(&writer), (0, 1, 0));
        record(&writer, 12 * S, 13 * S);
        assert_eq!(counts(&writer), (1, 1, 0));
        record(&writer, 14 * S, 16 * S); // unfinished at the end
        assert_eq!(counts(&writer), (1, 1, 1));
        record(&writer, 11 * S, 16 * S); // due before the window and unfinished: in neither
        assert_eq!(counts(&writer), (1, 1, 1));
    }

    #[test]
    fn an_operation_of_a_closed_loop_belongs_to_where_it_ended_with_its_whole_time() {
        let writer = writer(false);
        record(&writer, 10 * S, 11 * S); // warm-up
        assert_eq!(counts(&writer), (0, 0, 0));
        record(&writer, 10 * S, 12 * S + 1);
        assert_eq!(counts(&writer), (1, 0, 0));
        let mut response = Times::default();
        writer.recorder.response(0, &mut response);
        assert_eq!(response.to_event().max_ns, 2 * S + 1);
        record(&writer, 12 * S, 13 * S);
        assert_eq!(counts(&writer), (2, 0, 0));
        record(&writer, 11 * S, 16 * S); // unfinished, wherever it began
        assert_eq!(counts(&writer), (2, 0, 1));
        let mut unfinished = Times::default();
        writer.recorder.unfinished(0, &mut unfinished);
        assert_eq!(unfinished.to_event().max_ns, 4 * S);
    }

    #[test]
    fn a_second_has_service_times_of_what_ended_ok_where_they_are_kept() {
        for service_by_second in [false, true] {
            let mut recorder = Recorder::new(1, 1, 1);
            recorder.service_by_second = service_by_second;
            let axis = Arc::new(Axis::new(10 * S, 0, 2 * S, Some(3 * S), true));
            let writer = Writer::new(Arc::new(recorder), axis);
            writer.operation(0, 0, 12 * S, 13 * S, 13 * S + 500);
            let failed = series(0, Outcome::Fail(FailClass::Other));
            writer.operation(failed, 0, 12 * S, 13 * S, 13 * S + 900);
            let mut all = SecondTotals::new(ONE);
            writer.recorder.harvest(3, &mut all);
            let longest_ns = all.service.map(|times| times.to_event().max_ns);
            assert_eq!(longest_ns, service_by_second.then_some(500));
        }
    }

    #[test]
    fn parts_and_statements_count_by_the_same_rule() {
        let three = Queries {
            read: 3,
            ..Queries::default()
        };
        for (open, counted) in [(true, 1), (false, 2)] {
            let writer = writer(open);
            for due_ns in [11 * S, 13 * S] {
                let end_ns = due_ns + S + 1;
                writer.part(0, Outcome::Ok, due_ns, end_ns);
                let counted = writer.operation(1, 0, due_ns, due_ns, end_ns);
                writer.queries(three, end_ns, counted);
            }
            let (mut parts, mut totals) = (Times::default(), Totals::default());
            writer.recorder.response(0, &mut parts);
            writer.recorder.tally.add_to(&mut totals);
            assert_eq!((parts.count(), totals.queries.read), (counted, 3 * counted));
        }
    }

    #[test]
    fn retries_and_reconnects_count_in_the_window_only_but_in_every_second() {
        let hour = 3600 * S;
        for (warm_up_ns, in_window) in [(hour, 0), (0, 1)] {
            let axis = Arc::new(Axis::new(now_ns(), 0, warm_up_ns, Some(hour), false));
            let writer = Writer::new(Arc::new(Recorder::new(1, 1, 1)), axis);
            writer.retry(Outcome::Unknown);
            writer.reconnect(0);
            let mut totals = SecondTotals::new(ONE);
            (0..60).for_each(|second| writer.recorder.harvest(second, &mut totals));
            assert_eq!((totals.totals.retries, totals.totals.reconnects), (1, 1));
            let mut run = Totals::default();
            writer.recorder.tally.add_to(&mut run);
            assert_eq!((run.retries, run.reconnects), (in_window, in_window));
        }
    }

    #[test]
    fn unfinished_operations_enter_at_their_age() {
        let writer = writer(true);
        record(&writer, 14 * S, 20 * S);
        let mut unfinished = Times::default();
        writer.recorder.unfinished(0, &mut unfinished);
        assert_eq!(unfinished.to_event().max_ns, S);
    }

    #[test]
    fn seconds_hold_what_ended_in_them_warm_up_included() {
        let writer = writer(true);
        for end in [10 * S + 5, 10 * S + 6, 11 * S, 13 * S] {
            record(&writer, end - 5, end);
        }
        let harvest = |second| {
            let mut totals = SecondTotals::new(ONE);
            writer.recorder.harvest(second, &mut totals);
            totals.times[0].as_ref().map_or(0, Times::count)
        };
        assert_eq!([harvest(0), harvest(1), harvest(2), harvest(3)], [2, 1, 0, 1]);
    }

    #[test]
    fn tenths_of_a_second_count_whole_operations_by_when_they_ended() {
        let writer = writer(true);
        let tenth = S / 10;
        for end in [
            10 * S,
            10 * S + tenth - 1,
            10 * S + tenth,
            11 * S - 1,
            13 * S + 5 * tenth,
        ] {
            record(&writer, end - 5, end);
        }
        writer.part(0, Outcome::Ok, 13 * S, 13 * S + 5 * tenth);
        let failed = series(0, Outcome::Unknown);
        writer.operation(failed, 0, 13 * S, 13 * S, 13 * S + 9 * tenth);
        let harvest = |second| {
            let mut totals = SecondTotals::new(ONE);
            writer.recorder.harvest(second, &mut totals);
            [0, failed].map(|wanted| totals.in_tenths(|series| series == wanted))
        };
        let none = vec![0; TENTHS];
        assert_eq!(harvest(0), [vec![2, 1, 0, 0, 0, 0, 0, 0, 0, 1], none.clone()]);
        assert_eq!(harvest(2), [none.clone(), none]);
        assert_eq!(
            harvest(3),
            [
                vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
                vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
            ]
        );
    }
}
