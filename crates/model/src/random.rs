//! Random numbers from a seed, the same on every machine.

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014. About 1 ns a draw.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..bound (bound > 0); the bias is below bound / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    pub fn one_in(&mut self, chance: u64) -> bool {
        self.below(chance) == 0
    }

    /// Uniform in (0, 1]: its logarithm is finite.
    pub fn open_unit(&mut self) -> f64 {
        ((self.draw() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// With a mean of 1.
    pub fn exponential(&mut self) -> f64 {
        -self.open_unit().ln()
    }
}

/// Several numbers made into one seed.
pub fn seed(parts: &[u64]) -> u64 {
    parts
        .iter()
        .fold(0, |state, part| SplitMix64(state ^ part).draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_draws_are_1_on_average_and_never_infinite() {
        let mut random = SplitMix64(1);
        let draws: Vec<f64> = (0..100_000).map(|_| random.exponential()).collect();
        assert!(draws.iter().all(|draw| draw.is_finite()));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((0.99..1.01).contains(&mean), "{mean}"); // one deviation: 0.003
    }
}
