//! Exponentially fewer requests the older a record is.
use crate::rng::Random;

#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    rate: f64,
}

impl Exponential {
    /// `percentile` percent of requests fall in the newest `records` x `fraction` records.
    pub fn new(percentile: f64, fraction: f64, records: u64) -> Self {
        Self {
            rate: -(1.0 - percentile / 100.0).ln() / (records as f64 * fraction),
        }
    }

    /// The newest of `items` minus the draw; redrawn while it falls before the first.
    #[inline]
    pub fn draw(&self, items: u64, rng: &mut Random) -> u64 {
        loop {
            // 1 - u is in (0, 1], so the logarithm is finite.
            let age = -(1.0 - rng.unit()).ln() / self.rate;
            if age < items as f64 {
                return items - 1 - age as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_percentage_falls_in_the_newest_records() {
        let exponential = Exponential::new(95.0, 0.1, 10_000);
        let mut rng = Random::new(2);
        let newest = (0..100_000)
            .filter(|_| exponential.draw(10_000, &mut rng) >= 9_000)
            .count();
        assert!((newest as f64 / 100_000.0 - 0.95).abs() < 0.003, "{newest}");
    }

    #[test]
    fn the_default_of_the_original_stays_in_range() {
        let exponential = Exponential::new(95.0, 0.857_142_857_1, 10);
        let mut rng = Random::new(4);
        assert!((0..10_000).all(|_| exponential.draw(10, &mut rng) < 10));
    }
}
