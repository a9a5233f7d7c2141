//! The original's scrambled zipfian, which is what `requestdistribution=zipfian` means: ranks over a fixed ten
//! billion, hashed onto the range. The hottest record gets 3.78 % of requests whatever the size of the table.
use super::{THETA, Zipfian, fnv64};
use crate::rng::Random;

/// 0..=10,000,000,000, as the original counts it.
const ITEMS: u64 = 10_000_000_001;
const ZETA: f64 = 26.469_028_201_783_02;

#[derive(Clone, Copy, Debug)]
pub struct Scrambled {
    range: Divisor,
    zipfian: Zipfian,
}

impl Scrambled {
    /// Draws fall in 0..range; whoever draws throws away those that are not readable yet.
    pub fn new(range: u64) -> Self {
        Self {
            range: Divisor::new(range.max(1)),
            zipfian: Zipfian::with_zeta(ITEMS, THETA, ZETA),
        }
    }

    /// A rank, a hash and a remainder: about 25 ns.
    #[inline]
    pub fn draw(&self, rng: &mut Random) -> u64 {
        self.range.remainder(fnv64(self.zipfian.draw(rng)))
    }

    /// One draw of each. A draw is a chain of a hundred cycles; step by step the chains overlap: about 10 ns each.
    #[inline]
    pub fn draw_all<const N: usize>(&self, rngs: &mut [Random; N]) -> [u64; N] {
        rngs.each_mut()
            .map(Random::unit)
            .map(|u| self.zipfian.rank_at(u))
            .map(fnv64)
            .map(|hash| self.range.remainder(hash))
    }
}

/// Remainders by multiplication, because a 64-bit division takes as long as the hash (Barrett).
#[derive(Clone, Copy, Debug)]
struct Divisor {
    divisor: u64,
    reciprocal: u64,
}

impl Divisor {
    fn new(divisor: u64) -> Self {
        Self {
            divisor,
            reciprocal: u64::MAX / divisor,
        }
    }

    #[inline]
    fn remainder(&self, x: u64) -> u64 {
        // The reciprocal is rounded down, so the quotient is at most 2 too small and never too large.
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let mut rest = x - quotient * self.divisor;
        // Whether it was too small is a matter of chance, so no branch: less than nothing is very much.
        rest = rest.min(rest.wrapping_sub(self.divisor));
        rest.min(rest.wrapping_sub(self.divisor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Permutation;

    proptest::proptest! {
        #[test]
        fn remainders_are_those_of_a_division(x: u64, small in 1u64..1_000_000, any in 1u64..) {
            for divisor in [small, any, 1, u64::MAX] {
                proptest::prop_assert_eq!(Divisor::new(divisor).remainder(x), x % divisor);
            }
            proptest::prop_assert_eq!(Divisor::new(small).remainder(u64::MAX), u64::MAX % small);
        }
    }

    /// Shares of the hottest 1 % and 10 % of keys over 400,000 draws, percent.
    fn hottest_shares(rows: usize, mut draw: impl FnMut(&mut Random) -> u64) -> (f64, f64) {
        let mut rng = Random::new(20_261_121);
        let mut hits = vec![0u32; rows];
        let draws = 400_000;
        for _ in 0..draws {
            hits[draw(&mut rng) as usize] += 1;
        }
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let share = |n: usize| 100.0 * f64::from(hits[..n].iter().sum::<u32>()) / f64::from(draws);
        (share(rows / 100), share(rows / 10))
    }

    #[track_caller]
    fn assert_near(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() < 0.5,
            "{actual:.2} %, expected {expected} %"
        );
    }

    #[test]
    fn the_skew_of_scrambled_keys_is_as_tabulated() {
        for (rows, one, ten) in [(10_000, 21.5, 36.8), (40_000, 26.9, 43.0)] {
            let scrambled = Scrambled::new(rows as u64);
            let (hottest_1, hottest_10) = hottest_shares(rows, |rng| scrambled.draw(rng));
            assert_near(hottest_1, one);
            assert_near(hottest_10, ten);
        }
    }

    #[test]
    fn the_skew_of_exact_keys_is_as_tabulated() {
        for (rows, one, ten) in [(10_000, 51.8, 75.6), (40_000, 57.4, 78.5)] {
            let (zipfian, permutation) = (Zipfian::new(rows as u64, THETA), Permutation::new(rows as u64));
            let (hottest_1, hottest_10) = hottest_shares(rows, |rng| permutation.of(zipfian.draw(rng)));
            // Gray's closed form is a little off in the middle ranks, hence the wider bound than sampling needs.
            assert!(
                (hottest_1 - one).abs() < 1.5,
                "{hottest_1:.2} %, expected {one} %"
            );
            assert!(
                (hottest_10 - ten).abs() < 1.5,
                "{hottest_10:.2} %, expected {ten} %"
            );
        }
    }

    #[test]
    fn the_hottest_key_gets_its_share_whatever_the_size() {
        for range in [1_000, 1_000_000] {
            let scrambled = Scrambled::new(range);
            let hottest = fnv64(0) % range;
            let mut rng = Random::new(5);
            let hits = (0..400_000)
                .filter(|_| scrambled.draw(&mut rng) == hottest)
                .count();
            let share = hits as f64 / 400_000.0;
            // 3.78 %, and in a small table a little more, from other ranks hashed onto the same key.
            assert!((0.0365..0.0405).contains(&share), "range {range}: {share}");
        }
    }
}
