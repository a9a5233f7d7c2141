//! A rate that changes over time. Operations fall due at an even rate by a time of their own, and this maps that time to the
//! clock's: what lies between two moments of it is always the same number of operations. Poisson arrivals stay Poisson
//! arrivals of the rate of that moment (time rescaling: Daley and Vere-Jones, "An Introduction to the Theory of Point
//! Processes", 2nd edition, theorem 7.4.I), and evenly spaced ones get closer as the rate rises.
use bakeoff_model::run::Stage;

/// After the last stage, and instead of a rate of zero in all: the window is over by then.
const RATE_MIN: f64 = 1e-6;

/// Rates are shares of the mean one.
#[derive(Clone, Debug)]
struct Piece {
    clock_ns: f64,
    own_ns: f64,
    rate: f64,
    /// By which the rate grows each ns.
    slope: f64,
}

impl Piece {
    fn own_after(&self, clock_ns: f64) -> f64 {
        let passed = clock_ns - self.clock_ns;
        self.own_ns + passed * (self.rate + self.slope * passed / 2.0)
    }

    fn clock_after(&self, own_ns: f64) -> f64 {
        let passed = own_ns - self.own_ns;
        if passed <= 0.0 {
            return self.clock_ns;
        }
        let root = (self.rate * self.rate + 2.0 * self.slope * passed)
            .max(0.0)
            .sqrt();
        self.clock_ns + 2.0 * passed / (self.rate + root)
    }
}

#[derive(Debug)]
pub struct Stages {
    pieces: Vec<Piece>,
}

impl Stages {
    /// rate_ops_per_s: the mean over the stages. The warm-up has the rate at the first one's start.
    pub fn new(stages: &[Stage], rate_ops_per_s: f64, warm_up_s: f64) -> Self {
        let first = stages
            .first()
            .map_or(rate_ops_per_s, |stage| stage.from_ops_per_s);
        let last = stages.last().map_or(rate_ops_per_s, |stage| stage.to_ops_per_s);
        let warm_up = Stage {
            for_s: warm_up_s,
            from_ops_per_s: first,
            to_ops_per_s: first,
        };
        let mut pieces = vec![];
        let (mut clock_ns, mut own_ns) = (0.0, 0.0);
        for stage in std::iter::once(&warm_up).chain(stages) {
            let length_ns = stage.for_s * 1e9;
            if length_ns <= 0.0 {
                continue;
            }
            let rate = stage.from_ops_per_s / rate_ops_per_s;
            let end = stage.to_ops_per_s / rate_ops_per_s;
            pieces.push(Piece {
                clock_ns,
                own_ns,
                rate,
                slope: (end - rate) / length_ns,
            });
            clock_ns += length_ns;
            own_ns += (rate + end) / 2.0 * length_ns;
        }
        pieces.push(Piece {
            clock_ns,
            own_ns,
            rate: (last / rate_ops_per_s).max(RATE_MIN),
            slope: 0.0,
        });
        Self { pieces }
    }

    /// The clock's time of one of their own. at: the piece of the time before, which was not later.
    pub fn clock_ns(&self, own_ns: u64, at: &mut usize) -> u64 {
        let own_ns = own_ns as f64;
        while self.pieces.get(*at + 1).is_some_and(|next| next.own_ns <= own_ns) {
            *at += 1;
        }
        let until_ns = self
            .pieces
            .get(*at + 1)
            .map_or(f64::INFINITY, |next| next.clock_ns);
        self.pieces[*at].clock_after(own_ns).min(until_ns) as u64
    }

    pub fn own_ns(&self, clock_ns: u64) -> u64 {
        let clock_ns = clock_ns as f64;
        let after = self.pieces.partition_point(|piece| piece.clock_ns <= clock_ns);
        self.pieces[after.saturating_sub(1)].own_after(clock_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::pacer::{Pacer, Share};
    use proptest::prelude::*;
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    fn stage(for_s: f64, from_ops_per_s: f64, to_ops_per_s: f64) -> Stage {
        Stage {
            for_s,
            from_ops_per_s,
            to_ops_per_s,
        }
    }

    fn mean(stages: &[Stage]) -> f64 {
        let done: f64 = stages
            .iter()
            .map(|s| s.for_s * (s.from_ops_per_s + s.to_ops_per_s) / 2.0)
            .sum();
        done / stages.iter().map(|s| s.for_s).sum::<f64>()
    }

    /// Half a gap late, so that rounding moves nothing over the edge of a second.
    fn evenly(rate_ops_per_s: f64) -> Pacer {
        Pacer::constant(Share {
            rate_ops_per_s,
            threads: 1,
            first: 0,
            stride: 1,
            count: 1,
            phase: 0.5,
        })
    }

    /// How many fall due in each second.
    fn counted(pacer: Pacer, stages: &[Stage], warm_up_s: f64, seconds: u64) -> Vec<u64> {
        let staged = Arc::new(Stages::new(stages, mean(stages), warm_up_s));
        let mut pacer = pacer.staged(staged);
        let mut counts = vec![0; seconds as usize];
        loop {
            let due_ns = pacer.next_due_ns();
            if due_ns >= seconds * SECOND {
                return counts;
            }
            counts[(due_ns / SECOND) as usize] += 1;
        }
    }

    #[test]
    fn each_stage_has_its_rate_and_the_warm_up_that_of_the_first() {
        let stages = [stage(2.0, 100.0, 100.0), stage(3.0, 400.0, 400.0)];
        let counts = counted(evenly(mean(&stages)), &stages, 2.0, 7);
        assert_eq!(counts, [100, 100, 100, 100, 400, 400, 400]);
    }

    #[test]
    fn a_ramp_goes_evenly_from_one_rate_to_the_other() {
        let stages = [stage(4.0, 0.0, 400.0)];
        let counts = counted(evenly(mean(&stages)), &stages, 0.0, 4);
        for (second, count) in counts.iter().enumerate() {
            let expected = 50.0 + 100.0 * second as f64;
            assert!((*count as f64 - expected).abs() <= 1.0, "{counts:?}");
        }
    }

    #[test]
    fn nothing_falls_due_in_a_pause() {
        let stages = [
            stage(1.0, 50.0, 50.0),
            stage(2.0, 0.0, 0.0),
            stage(1.0, 70.0, 70.0),
        ];
        let counts = counted(evenly(mean(&stages)), &stages, 0.0, 4);
        assert_eq!(counts, [50, 0, 0, 70]);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_of_their_moment() {
        let stages = [stage(10.0, 1000.0, 1000.0), stage(10.0, 4000.0, 4000.0)];
        let counts = counted(Pacer::poisson(mean(&stages), 3), &stages, 0.0, 20);
        let (low, high): (u64, u64) = (counts[..10].iter().sum(), counts[10..].iter().sum());
        assert!((low as f64 - 10_000.0).abs() < 500.0, "{low}");
        assert!((high as f64 - 40_000.0).abs() < 1000.0, "{high}");
    }

    proptest! {
        #[test]
        fn both_ways_lead_back_and_nothing_goes_backwards(
            rates in prop::collection::vec((0.01..5.0f64, 0.0..1000.0f64, 1.0..1000.0f64), 1..6), warm_up_s in 0.0..3.0f64,
        ) {
            let stages: Vec<Stage> = rates.iter().map(|(s, from, to)| stage(*s, *from, *to)).collect();
            let staged = Stages::new(&stages, mean(&stages), warm_up_s);
            let (mut at, mut last) = (0, 0);
            for own_ns in (0..20 * SECOND).step_by(97_000_003) {
                let clock_ns = staged.clock_ns(own_ns, &mut at);
                prop_assert!(clock_ns >= last);
                last = clock_ns;
                let back = staged.own_ns(clock_ns);
                prop_assert!(back.abs_diff(own_ns) <= 10_000 + own_ns / 1_000_000, "{own_ns} {clock_ns} {back}");
            }
        }
    }
}
