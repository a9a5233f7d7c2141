//! Reports each second of the run's time axis, also when nothing ended in it. A thread of its own, off the hot path:
//! it merges the workers' buffers of that second and hands the event to the sink.
use crate::control::{Axis, Control, Sink};
use crate::pace::arrivals::Arrivals;
use crate::record::merged::outcome_of;
use crate::record::recorder::{Recorder, series};
use crate::record::seconds::{SecondTotals, Size};
use crate::record::times::Times;
use bakeoff_model::endpoint::Endpoint;
use bakeoff_model::event::{Event, Interval, IntervalNode, IntervalSeries, Tenths};
use bakeoff_model::outcome::Outcome;
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Operation;
use std::sync::Arc;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;
/// A second is complete this long after its end: far longer than a store takes to reach another core.
const SETTLE_NS: u64 = 20_000_000;
/// How soon a window that is brought forward is noticed.
const NAP_NS: u64 = 50_000_000;

pub struct Reporter {
    pub recorders: Vec<Arc<Recorder>>,
    pub operations: Vec<Operation>,
    pub endpoints: Vec<Endpoint>,
    pub axis: Arc<Axis>,
    /// Where what falls due is counted.
    pub arrivals: Option<Arrivals>,
    pub sink: Sink,
}

impl Reporter {
    /// Returns when the window has ended and all its seconds are reported.
    pub fn run(mut self) {
        for second in 0.. {
            let begin_ns = self.axis.epoch_ns + second * SECOND_NS;
            let Some(length_ns) = self.wait_for_end(begin_ns) else {
                return;
            };
            self.report(second, begin_ns, length_ns);
        }
    }

    /// The second's length once it is complete; `None` if the window ends before it.
    fn wait_for_end(&self, begin_ns: u64) -> Option<u64> {
        loop {
            let end_ns = self.axis.window_end_ns().min(begin_ns + SECOND_NS);
            if end_ns <= begin_ns {
                return None;
            }
            let now = now_ns();
            if now >= end_ns + SETTLE_NS {
                return Some(end_ns - begin_ns);
            }
            std::thread::sleep(Duration::from_nanos((end_ns + SETTLE_NS - now).min(NAP_NS)));
        }
    }

    fn report(&mut self, second: u64, begin_ns: u64, length_ns: u64) {
        let end_ns = second * SECOND_NS + length_ns;
        let due = self.arrivals.as_mut().map(|arrivals| arrivals.until(end_ns));
        let mut all = SecondTotals::new(Size {
            series: self.operations.len() * Outcome::COUNT,
            endpoints: self.endpoints.len(),
        });
        for recorder in &self.recorders {
            recorder.harvest(second, &mut all);
        }
        let mut ended = Vec::new();
        for (index, operation) in self.operations.iter().enumerate() {
            for outcome in Outcome::ALL {
                if let Some(times) = &all.times[series(index, outcome)] {
                    ended.push(IntervalSeries {
                        operation: operation.name.clone(),
                        part: operation.part_of.is_some(),
                        outcome,
                        response: times.to_event(),
                    });
                }
            }
        }
        (self.sink)(Event::Interval(Interval {
            second,
            length_s: length_ns as f64 / 1e9,
            warm_up: begin_ns < self.axis.window_start_ns,
            due,
            service: all.service.as_ref().map(Times::to_event),
            series: ended,
            queries: all.totals.queries,
            retries: all.totals.retries,
            retries_after_conflict: all.totals.retries_after_conflict,
            reconnects: all.totals.reconnects,
            tenths: self.tenths(&all),
            nodes: self.nodes(&all),
        }));
    }

    fn tenths(&self, all: &SecondTotals) -> Tenths {
        let operation = |series: usize| &self.operations[series / Outcome::COUNT];
        let ok = |series| outcome_of(series) == Outcome::Ok && operation(series).part_of.is_none();
        Tenths {
            ok: all.in_tenths(ok),
            writes: all.in_tenths(|series| ok(series) && !operation(series).reads_only),
        }
    }

    fn nodes(&self, all: &SecondTotals) -> Vec<IntervalNode> {
        let nodes = self.endpoints.iter().zip(&all.nodes);
        nodes
            .map(|(endpoint, node)| IntervalNode {
                name: endpoint.name.clone(),
                outcomes: node.outcomes(),
                response: node.response.to_event(),
                reconnects: node.reconnects(),
            })
            .collect()
    }
}

/// About once a second, but only when something has gone on since the last one: silence means that nothing did.
pub struct Progress {
    pub elapsed_from_ns: u64,
    pub total: u64,
    pub sink: Sink,
}

impl Progress {
    pub fn report(&self, done: u64) {
        (self.sink)(Event::Progress(bakeoff_model::event::Progress {
            elapsed_s: (now_ns() - self.elapsed_from_ns) as f64 / 1e9,
            done,
            total: self.total,
        }));
    }
}

/// A warning on the run's time axis.
pub fn warn(sink: &Sink, control: &Control, what: impl Into<String>) {
    sink(Event::Warning(bakeoff_model::event::Warning {
        what: what.into(),
        at_s: control.seconds_now(),
    }));
}
