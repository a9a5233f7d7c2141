//! How long a user thinks before each operation.
use crate::threads::ready::thread_id;
use bakeoff_model::random::{SplitMix64, seed};
use bakeoff_model::run::{Pacing, RunSpec, Thought};

pub struct Think {
    mean_ns: f64,
    distribution: Thought,
    random: SplitMix64,
}

/// Keeps these draws apart from others of the seed.
const STREAM: u64 = 0x7468_696e;

impl Think {
    /// Of one user; `None`: it does not.
    pub fn of(spec: &RunSpec, thread: u32) -> Option<Self> {
        let Pacing::Thinking { mean_s, distribution } = spec.pacing else {
            return None;
        };
        Some(Self {
            mean_ns: mean_s * 1e9,
            distribution,
            random: SplitMix64(seed(&[spec.seed, STREAM, thread_id(spec, thread).stream])),
        })
    }

    pub fn draw_ns(&mut self) -> u64 {
        match self.distribution {
            Thought::Constant => self.mean_ns as u64,
            Thought::Exponential => (self.random.exponential() * self.mean_ns) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::parse;

    fn think(distribution: &str, thread: u32) -> Think {
        let document = format!(
            r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"workload":{{"kind":"ycsb"}},
                "pacing":{{"kind":"thinking","mean_s":0.1,"distribution":"{distribution}"}}}}"#
        );
        Think::of(&parse(&document).unwrap(), thread).unwrap()
    }

    #[test]
    fn times_have_the_mean_that_was_asked_for_and_differ_between_users() {
        let (mut one, mut other) = (think("exponential", 0), think("exponential", 1));
        let drawn: Vec<u64> = (0..100_000).map(|_| one.draw_ns()).collect();
        let mean_ns = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        assert!((mean_ns / 1e8 - 1.0).abs() < 0.02, "{mean_ns}");
        assert_ne!(drawn[0], other.draw_ns());
    }

    #[test]
    fn constant_times_are_all_the_same() {
        let mut think = think("constant", 3);
        assert_eq!([think.draw_ns(), think.draw_ns()], [100_000_000; 2]);
    }
}
