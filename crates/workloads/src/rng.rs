//! Where every random number comes from: seeded, portable, the same on every machine.
//!
//! Two levels. A [`Stream`] belongs to one user and yields one number per operation, the operation's seed; an [`Random`]
//! started from that seed draws everything the operation needs. So an operation that needs more draws than another
//! (a key redrawn because it is not readable yet) does not shift the operations after it, and a stream stays the
//! same whatever the system's timing.
use bakeoff_model::random::SplitMix64;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// Mixes two numbers into one; every bit of the result depends on every bit of both. About 2 ns.
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    let mut z = a ^ b
        .wrapping_add(0x9E37_79B9_7F4A_7C15)
        .wrapping_mul(0xD6E8_FEB8_6659_FD93)
        .rotate_left(29);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One user's sequence of operation seeds (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// `stream` is unique over all threads of all clients.
    pub fn new(plan_seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(plan_seed, stream)))
    }

    #[inline]
    pub fn next_seed(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Short-lived generator for what one seed stands for: an operation, a field's value (SplitMix64). About 1 ns a draw.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.draw()
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n (n > 0) by widening multiplication; the bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

// What a user asked, in one number: two runs that asked the same have the same.

/// Operations that go into a stream's hash.
const HASHED_OPERATIONS: u32 = 10_000;

/// Hash over the first 10,000 operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamHash {
    value: u64,
    operations: u32,
}

impl StreamHash {
    #[inline]
    pub fn add<const N: usize>(&mut self, parts: [u64; N]) {
        if self.is_open() {
            self.operations += 1;
            self.value = parts.into_iter().fold(self.value, mix);
        }
    }

    /// Further operations still go into it.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.operations < HASHED_OPERATIONS
    }

    pub fn value(&self) -> u64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_stream_give_the_same_sequence() {
        let (mut a, mut b) = (Stream::new(7, 3), Stream::new(7, 3));
        assert!((0..100).all(|_| a.next_seed() == b.next_seed()));
    }

    #[test]
    fn adjacent_streams_and_seeds_share_no_operation() {
        let mut seen = std::collections::HashSet::new();
        for (seed, stream) in [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (0, 0)] {
            let mut s = Stream::new(seed, stream);
            for _ in 0..1000 {
                assert!(
                    seen.insert(s.next_seed()),
                    "seed {seed} stream {stream} repeats another"
                );
            }
        }
    }

    #[test]
    fn draws_are_spread_evenly() {
        let mut rng = Random::new(42);
        let mut hits = [0u32; 10];
        for _ in 0..100_000 {
            hits[rng.below(10) as usize] += 1;
            let u = rng.unit();
            assert!((0.0..1.0).contains(&u));
        }
        // Chi-square with 9 degrees of freedom: 27.9 is exceeded once in a thousand seeds; this seed is fixed.
        let chi: f64 = hits
            .iter()
            .map(|&h| (f64::from(h) - 10_000.0).powi(2) / 10_000.0)
            .sum();
        assert!(chi < 27.9, "chi-square {chi}");
    }
}
