//! When operations fall due: pure arithmetic, no clock inside, so a table tests it.
//!
//! All threads of a process are numbered 0..T, and worker w of W owns threads w, w + W, w + 2W, ... Constant arrivals
//! are numbered too: number j falls due at j / rate and belongs to thread j mod T, so each worker's share is
//! proportional to its threads and the process as a whole is evenly spaced, however many workers it has. Poisson
//! arrivals of a worker are a stream of their own with its share of the rate: the sum of Poisson streams is one.

use crate::pace::stages::Stages;
use bakeoff_model::random::SplitMix64;
use std::sync::Arc;

/// Next due time, ns after the epoch.
#[derive(Clone, Debug)]
pub enum Pacer {
    Constant {
        share: Share,
        next: u64,
    },
    Poisson {
        gap_ns: f64,
        at_ns: f64,
        random: SplitMix64,
    },
    /// By a time of their own; `at`: the piece of the last one.
    Staged {
        even: Box<Pacer>,
        stages: Arc<Stages>,
        at: usize,
    },
}

/// Which of the evenly spaced arrivals of a process are one worker's (or one thread's).
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Of the whole process.
    pub rate_ops_per_s: f64,
    /// Threads of the whole process.
    pub threads: u64,
    /// The first thread here, the distance to the next one, and how many there are.
    pub first: u64,
    pub stride: u64,
    pub count: u64,
    /// Share of a gap by which this process is shifted, so that several clients interleave.
    pub phase: f64,
}

impl Share {
    /// Due time of its k-th arrival, ns after the epoch.
    pub fn due_ns(&self, k: u64) -> u64 {
        self.number_due_ns(k / self.count * self.threads + self.first + k % self.count * self.stride)
    }

    /// Due time of a number of the whole process.
    fn number_due_ns(&self, number: u64) -> u64 {
        ((number as f64 + self.phase) * 1e9 / self.rate_ops_per_s) as u64
    }

    /// How many of its arrivals fall due before `end_ns`.
    fn due_before(&self, end_ns: u64) -> u64 {
        let mut numbers = (end_ns as f64 * self.rate_ops_per_s / 1e9 - self.phase).max(0.0) as u64;
        // What rounding did to the estimate.
        while numbers > 0 && self.number_due_ns(numbers - 1) >= end_ns {
            numbers -= 1;
        }
        while self.number_due_ns(numbers) < end_ns {
            numbers += 1;
        }
        let (rounds, rest) = (numbers / self.threads, numbers % self.threads);
        rounds * self.count
            + rest
                .saturating_sub(self.first)
                .div_ceil(self.stride)
                .min(self.count)
    }
}

impl Pacer {
    pub fn constant(share: Share) -> Self {
        Pacer::Constant { share, next: 0 }
    }

    /// `rate_ops_per_s` is this stream's own.
    pub fn poisson(rate_ops_per_s: f64, seed: u64) -> Self {
        Pacer::Poisson {
            gap_ns: 1e9 / rate_ops_per_s,
            at_ns: 0.0,
            random: SplitMix64(seed),
        }
    }

    /// The same arrivals at a rate that changes around this one's.
    pub fn staged(self, stages: Arc<Stages>) -> Self {
        Pacer::Staged {
            even: Box::new(self),
            stages,
            at: 0,
        }
    }

    /// Due times never decrease.
    pub fn next_due_ns(&mut self) -> u64 {
        match self {
            Pacer::Constant { share, next } => {
                *next += 1;
                share.due_ns(*next - 1)
            }
            Pacer::Poisson {
                gap_ns,
                at_ns,
                random,
            } => {
                *at_ns += random.exponential() * *gap_ns;
                *at_ns as u64
            }
            Pacer::Staged { even, stages, at } => {
                let own_ns = even.next_due_ns();
                stages.clock_ns(own_ns, at)
            }
        }
    }
}

impl Pacer {
    /// Passes over everything due before `end_ns` by arithmetic, however much that is. Returns how many. Poisson arrivals
    /// are not drawn for that: each falls due a mean gap after the one before.
    pub fn skip(&mut self, end_ns: u64) -> u64 {
        match self {
            Pacer::Constant { share, next } => {
                let skipped = share.due_before(end_ns).saturating_sub(*next);
                *next += skipped;
                skipped
            }
            Pacer::Poisson { gap_ns, at_ns, .. } => {
                let skipped = ((end_ns as f64 - *at_ns) / *gap_ns).max(0.0).floor();
                *at_ns += skipped * *gap_ns;
                skipped as u64
            }
            Pacer::Staged { even, stages, .. } => even.skip(stages.own_ns(end_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::random::seed;
    use proptest::prelude::*;

    fn worker_share(rate_ops_per_s: f64, threads: u64, workers: u64, worker: u64) -> Share {
        Share {
            rate_ops_per_s,
            threads,
            first: worker,
            stride: workers,
            count: (threads - worker).div_ceil(workers),
            phase: 0.0,
        }
    }

    proptest! {
        #[test]
        fn constant_arrivals_never_run_ahead_nor_behind(
            rate in 0.5..1e6f64, threads in 1..100u64, workers in 1..8u64, elapsed_s in 0.0..2.0f64,
        ) {
            let workers = workers.min(threads);
            let limit_ns = (elapsed_s * 1e9) as u64;
            let mut due = 0;
            for worker in 0..workers {
                let mut pacer = Pacer::constant(worker_share(rate, threads, workers, worker));
                while pacer.next_due_ns() <= limit_ns && due < 100_000 {
                    due += 1;
                }
            }
            if due < 100_000 {
                let expected = rate * elapsed_s;
                prop_assert!((due as f64 - expected).abs() <= 2.0, "{due} against {expected}");
            }
        }

        #[test]
        fn workers_share_the_arrivals_without_gap_or_overlap(threads in 1..20u64, workers in 1..6u64) {
            let workers = workers.min(threads);
            let mut all: Vec<u64> = (0..workers)
                .flat_map(|w| {
                    let share = worker_share(1000.0, threads, workers, w);
                    (0..share.count * 10).map(move |k| share.due_ns(k))
                })
                .collect();
            all.sort_unstable();
            let expected: Vec<u64> = (0..threads * 10).map(|j| j * 1_000_000).collect();
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn what_is_skipped_is_what_would_have_been_taken_one_by_one(
            rate in 0.5..1e6f64, threads in 1..20u64, workers in 1..6u64, taken in 0..50u64, end_ns in 0..1_000_000_000u64,
        ) {
            let workers = workers.min(threads);
            for worker in 0..workers {
                let mut skipping = Pacer::constant(Share { phase: 0.25, ..worker_share(rate, threads, workers, worker) });
                (0..taken).for_each(|_| { skipping.next_due_ns(); });
                let mut stepping = skipping.clone();
                let end_ns = end_ns.min((20_000.0 / rate * 1e9) as u64);
                let skipped = skipping.skip(end_ns);
                let mut stepped = 0;
                let next_ns = loop {
                    let due_ns = stepping.next_due_ns();
                    if due_ns >= end_ns { break due_ns; }
                    stepped += 1;
                };
                prop_assert_eq!(skipped, stepped);
                prop_assert_eq!(skipping.next_due_ns(), next_ns);
            }
        }

        #[test]
        fn due_times_never_decrease(seed in any::<u64>(), rate in 0.1..1e7f64) {
            let mut pacer = Pacer::poisson(rate, seed);
            let mut last = 0;
            for _ in 0..1000 {
                let due = pacer.next_due_ns();
                prop_assert!(due >= last);
                last = due;
            }
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut pacer = Pacer::poisson(1000.0, 7);
        let due: Vec<f64> = (0..200_000).map(|_| pacer.next_due_ns() as f64).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.02,
            "{}",
            variance.sqrt() / mean
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let due = |seed| {
            (0..100)
                .map({
                    let mut p = Pacer::poisson(50.0, seed);
                    move |_| p.next_due_ns()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(due(seed(&[1, 2])), due(seed(&[1, 2])));
        assert_ne!(due(seed(&[1, 2])), due(seed(&[2, 1])));
    }

    #[test]
    fn clients_interleave() {
        let share = |phase| Share {
            phase,
            ..worker_share(10.0, 1, 1, 0)
        };
        assert_eq!(share(0.0).due_ns(3), 300_000_000);
        assert_eq!(share(0.5).due_ns(3), 350_000_000);
    }
}
