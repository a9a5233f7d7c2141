//! Was the client the limit? A closed loop cannot tell from inside (there N = X x R always holds), so the evidence
//! comes from outside the loop. Each sign names its figure and its bound.
//!
//! An embedded engine runs on the client's own threads: there a busy thread, or one that waits for a core, is the
//! system at work. What can be blamed on the client is the time its threads spend outside the operations.
//!
//! Time that a hypervisor took is no sign against the client: it was taken from the system as well. `steal_ratio` is in
//! the cost, and whether the run stands is judged where all of a run's figures are (python/bakeoff/analysis/validity.py).
use crate::record::merged::{Merged, outcome_of};
use crate::record::times::Times;
use bakeoff_model::event::{ClientCost, ClientVerdict, Witness, WorkerCost};
use bakeoff_model::outcome::Outcome;
use bakeoff_model::workload::Operation;

/// Share of the window that a worker may be busy: beyond it, operations queue behind each other in the client.
pub const BUSY: f64 = 0.9;
/// Share of the window that a worker may wait for a core.
pub const RUN_QUEUE_DELAY: f64 = 0.1;
/// The load's median may be this many times the witness's ...
pub const WITNESS_RATIO: f64 = 2.0;
/// ... while a worker is busier than this; in an idle client the difference is the server's queue.
pub const WITNESS_BUSY: f64 = 0.7;
/// The generator's 99th percentile of lateness, as a share of the median response time ...
pub const LATENESS: f64 = 0.1;
/// ... and at least this.
pub const LATENESS_NS: u64 = 100_000;
/// Share of a blocking thread's time outside its operations, closed loop.
pub const HARNESS: f64 = 0.1;

pub struct Evidence<'a> {
    pub cost: &'a ClientCost,
    pub lateness: &'a Times,
    pub witness: Option<&'a Witness>,
    pub merged: &'a [Merged],
    pub operations: &'a [Operation],
    pub window_s: f64,
    pub threads: u32,
    /// Operations run on the client's own threads.
    pub blocking: bool,
    pub closed: bool,
}

pub fn judge(seen: &Evidence<'_>) -> ClientVerdict {
    let busy = most(seen.cost, |worker| worker.busy_ratio);
    let delay = most(seen.cost, |worker| worker.run_queue_delay_ratio);
    let mut signs = Vec::new();
    let mut sign = |applies: bool, text: &dyn Fn() -> String| {
        if applies {
            signs.push(text());
        }
    };
    sign(!seen.blocking && busy > BUSY, &|| {
        format!(
            "a worker was busy {:.0} % of the window (bound {:.0} %)",
            busy * 100.0,
            BUSY * 100.0
        )
    });
    sign(!seen.blocking && delay > RUN_QUEUE_DELAY, &|| {
        let bound = RUN_QUEUE_DELAY * 100.0;
        format!(
            "a worker waited for a core {:.0} % of the window (bound {bound:.0} %)",
            delay * 100.0
        )
    });
    let ratio = seen
        .witness
        .and_then(|witness| witness.median_ratio)
        .unwrap_or(0.0);
    sign(
        !seen.blocking && ratio > WITNESS_RATIO && busy > WITNESS_BUSY,
        &|| {
            format!(
                "median service time {ratio:.1} times that of the witness (bound {WITNESS_RATIO}) with a worker {:.0} % busy",
                busy * 100.0
            )
        },
    );
    let (late_ns, bound_ns) = (seen.lateness.quantile_ns(0.99), lateness_bound_ns(seen));
    sign(late_ns > bound_ns, &|| {
        format!(
            "the generator began operations late: p99 {} us (bound {} us)",
            late_ns / 1000,
            bound_ns / 1000
        )
    });
    let harness = harness_share(seen);
    sign(seen.blocking && seen.closed && harness > HARNESS, &|| {
        let bound = HARNESS * 100.0;
        format!(
            "threads spent {:.0} % of the window outside operations (bound {bound:.0} %)",
            harness * 100.0
        )
    });
    ClientVerdict {
        client_limited: !signs.is_empty(),
        signs,
    }
}

fn most(cost: &ClientCost, figure: impl Fn(&WorkerCost) -> f64) -> f64 {
    cost.workers.iter().map(figure).fold(0.0, f64::max)
}

fn lateness_bound_ns(seen: &Evidence<'_>) -> u64 {
    let mut responses = Times::default();
    let right = seen
        .merged
        .iter()
        .filter(|merged| outcome_of(merged.series) == Outcome::Ok);
    right.for_each(|merged| responses.merge(&merged.response));
    ((responses.quantile_ns(0.5) as f64 * LATENESS) as u64).max(LATENESS_NS)
}

fn harness_share(seen: &Evidence<'_>) -> f64 {
    let whole = |merged: &&Merged| seen.operations[merged.series / Outcome::COUNT].part_of.is_none();
    let inside_ns: f64 = seen
        .merged
        .iter()
        .filter(whole)
        .map(|merged| merged.service.sum_ns())
        .sum();
    1.0 - inside_ns / (seen.window_s * 1e9 * f64::from(seen.threads)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(busy_ratio: f64, run_queue_delay_ratio: f64) -> ClientCost {
        ClientCost {
            workers: vec![WorkerCost {
                busy_ratio,
                run_queue_delay_ratio,
            }],
            ..ClientCost::default()
        }
    }

    fn witness(median_ratio: f64) -> Witness {
        Witness {
            operation: "read".into(),
            service: Times::default().to_event(),
            median_ratio: Some(median_ratio),
        }
    }

    struct Case {
        cost: ClientCost,
        lateness: Times,
        witness: Option<Witness>,
        blocking: bool,
        inside_ns: u64,
    }

    impl Case {
        fn idle() -> Self {
            Case {
                cost: worker(0.1, 0.0),
                lateness: Times::default(),
                witness: None,
                blocking: false,
                inside_ns: 990_000_000,
            }
        }

        fn signs(&self) -> Vec<String> {
            let mut merged = Merged {
                series: 0,
                response: Times::default(),
                service: Times::default(),
            };
            merged.response.record(self.inside_ns);
            merged.service.record(self.inside_ns);
            let verdict = judge(&Evidence {
                cost: &self.cost,
                lateness: &self.lateness,
                witness: self.witness.as_ref(),
                merged: &[merged],
                operations: &[Operation::new("read")],
                window_s: 1.0,
                threads: 1,
                blocking: self.blocking,
                closed: true,
            });
            assert_eq!(verdict.client_limited, !verdict.signs.is_empty());
            verdict.signs
        }
    }

    #[test]
    fn an_idle_client_shows_no_sign() {
        assert!(Case::idle().signs().is_empty());
    }

    #[test]
    fn each_bound_crossed_is_a_sign_with_its_figure() {
        let mut late = Times::default();
        late.record(200_000_000);
        for (case, word) in [
            (
                Case {
                    cost: worker(0.95, 0.0),
                    ..Case::idle()
                },
                "busy 95 %",
            ),
            (
                Case {
                    cost: worker(0.1, 0.2),
                    ..Case::idle()
                },
                "waited for a core 20 %",
            ),
            (
                Case {
                    cost: worker(0.8, 0.0),
                    witness: Some(witness(3.0)),
                    ..Case::idle()
                },
                "3.0 times",
            ),
            (
                Case {
                    lateness: late,
                    ..Case::idle()
                },
                "late: p99 200000 us",
            ),
            (
                Case {
                    blocking: true,
                    inside_ns: 500_000_000,
                    ..Case::idle()
                },
                "50 % of the window outside",
            ),
        ] {
            let signs = case.signs();
            assert!(signs.len() == 1 && signs[0].contains(word), "{word}: {signs:?}");
        }
    }

    #[test]
    fn a_slow_median_beside_an_idle_client_is_the_servers() {
        assert!(
            Case {
                witness: Some(witness(9.0)),
                ..Case::idle()
            }
            .signs()
            .is_empty()
        );
    }

    #[test]
    fn a_busy_thread_of_an_embedded_engine_is_the_system_at_work() {
        assert!(
            Case {
                cost: worker(1.0, 0.5),
                blocking: true,
                ..Case::idle()
            }
            .signs()
            .is_empty()
        );
    }
}
