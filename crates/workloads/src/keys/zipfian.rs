//! Zipfian ranks. Source: Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994.
use super::THETA;
use crate::rng::Random;

/// Rank 0 is drawn most often, rank i with probability proportional to (i+1)^-theta (approximately: Gray's closed
/// form is exact for the first two ranks). Cost of a draw: about 12 ns for the usual theta, 20 for another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipfian {
    items: u64,
    /// The same number.
    scale: f64,
    theta: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
    /// Where rank 1 ends on the scale of u * zeta.
    second: f64,
}

impl Zipfian {
    /// items >= 1; 0 < theta < 1.
    pub fn new(items: u64, theta: f64) -> Self {
        Self::with_zeta(items, theta, zeta(items, theta))
    }

    /// With a constant given instead of computed (the original's scrambled zipfian).
    pub fn with_zeta(items: u64, theta: f64, zeta_items: f64) -> Self {
        let second = 1.0 + 0.5f64.powf(theta);
        Self {
            items,
            scale: items as f64,
            theta,
            alpha: 1.0 / (1.0 - theta),
            zeta: zeta_items,
            // For 1 and 2 items eta means nothing (0/0), and no draw gets as far as using it.
            eta: (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - second / zeta_items),
            second,
        }
    }

    /// The same skew over another number of items. Costs three `powf`, so it is for when a table has grown by a
    /// block, not for every draw.
    pub fn resized(self, items: u64) -> Self {
        if items == self.items {
            self
        } else {
            Self::new(items, self.theta)
        }
    }

    pub fn items(&self) -> u64 {
        self.items
    }

    #[inline]
    pub fn draw(&self, rng: &mut Random) -> u64 {
        self.rank_at(rng.unit())
    }

    /// u in [0, 1).
    #[inline]
    pub fn rank_at(&self, u: f64) -> u64 {
        let scaled = u * self.zeta;
        let rank = self.scale * self.power(self.eta * u - self.eta + 1.0);
        // Neither negative nor above 2^63; a signed conversion is one instruction, an unsigned one a dozen.
        let rank = (rank as i64 as u64).min(self.items - 1);
        // Chosen last: which it is cannot be foreseen, and a wrong guess costs more than the power.
        if scaled < 1.0 {
            0
        } else if scaled < self.second {
            1
        } else {
            rank
        }
    }
}

impl Zipfian {
    /// x^alpha. The usual theta makes alpha 100, up to rounding: eight multiplications instead of a `powf`, and the
    /// same on every machine.
    #[inline]
    fn power(&self, x: f64) -> f64 {
        if self.theta != THETA {
            return x.powf(self.alpha);
        }
        let x4 = (x * x) * (x * x);
        let x32 = ((x4 * x4) * (x4 * x4)) * ((x4 * x4) * (x4 * x4));
        (x32 * x32) * (x32 * x4)
    }
}

/// Terms added one by one before the tail is taken from the integral.
const DIRECT_TERMS: u64 = 1000;

/// sum of i^-theta for i in 1..=n. The tail beyond 1,000 terms is the Euler-Maclaurin formula, whose next term is
/// below 1e-14 there; so the start costs the same for a thousand records as for a billion, and a grown table needs
/// no sum to be extended.
pub fn zeta(n: u64, theta: f64) -> f64 {
    let head: f64 = (1..=n.min(DIRECT_TERMS))
        .rev()
        .map(|i| (i as f64).powf(-theta))
        .sum();
    if n <= DIRECT_TERMS {
        return head;
    }
    let (a, b) = (DIRECT_TERMS as f64, n as f64);
    let integral = (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta);
    let ends = (b.powf(-theta) - a.powf(-theta)) / 2.0;
    let slopes = theta / 12.0 * (a.powf(-theta - 1.0) - b.powf(-theta - 1.0));
    head + integral + ends + slopes
}

// Zipf over ranks by rejection-inversion, exact for every exponent and without a table.
//
// Source: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
// ACM TOMACS 6(3), 1996, with the integral (x^(1-e) - 1) / (1-e), which has a limit (ln x) where e is 1.

/// P(rank i) is proportional to i^-exponent.
#[derive(Clone, Copy, Debug)]
pub struct ZipfianInversion {
    exponent: f64,
    /// Where the integral begins: one whole rank before 3/2.
    first: f64,
    /// A rank at most this far above its x is accepted without evaluating the hat.
    shortcut: f64,
    /// The number of ranks that is asked for most, and the integral to its end.
    usual: (u64, f64),
}

impl ZipfianInversion {
    /// exponent >= 0; 0 is uniform. `usual` ranks are drawn faster than another number of them.
    pub fn new(exponent: f64, usual: u64) -> Self {
        let mut zipfian = Self {
            exponent,
            first: 0.0,
            shortcut: 0.0,
            usual: (usual, 0.0),
        };
        zipfian.usual.1 = zipfian.integral(usual as f64 + 0.5);
        zipfian.first = zipfian.integral(1.5) - 1.0;
        zipfian.shortcut = 2.0 - zipfian.inverse(zipfian.integral(2.5) - zipfian.weight(2.0));
        zipfian
    }

    /// A rank in 1..=n; n >= 1.
    #[inline]
    pub fn draw(&self, rng: &mut Random, n: u64) -> u64 {
        let last = match self.usual {
            (usual, last) if usual == n => last,
            _ => self.integral(n as f64 + 0.5),
        };
        loop {
            let u = last + rng.unit() * (self.first - last);
            let x = self.inverse(u);
            let rank = (x + 0.5).clamp(1.0, n as f64).floor();
            if rank - x <= self.shortcut || u >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }

    #[inline]
    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// Of the weight, from 1 to x.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let (rest, log) = (1.0 - self.exponent, x.ln());
        // exp_m1 keeps its digits where the exponent is close to 1.
        if rest == 0.0 {
            log
        } else {
            (rest * log).exp_m1() / rest
        }
    }

    #[inline]
    fn inverse(&self, integral: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest == 0.0 {
            integral.exp()
        } else {
            // Rounding may leave the domain at its very end.
            ((rest * integral).max(-1.0).ln_1p() / rest).exp()
        }
    }
}

// What scatters the ranks of an exact zipfian over the table: a fixed permutation, computed and not stored.

/// A bijection on 0..n: a bijection on the next power of two, walked until it falls inside (fewer than two steps on
/// average). Needs no memory, whatever n. About 5 ns.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    items: u64,
    mask: u64,
    shift: u32,
}

/// Odd, so that multiplying by one is a bijection modulo a power of two.
const MULTIPLIERS: [u64; 3] = [
    0x9E37_79B9_7F4A_7C15,
    0xD6E8_FEB8_6659_FD93,
    0xA076_1D64_78BD_642F,
];

impl Permutation {
    /// items >= 1.
    pub fn new(items: u64) -> Self {
        let bits = items.next_power_of_two().trailing_zeros();
        Self {
            items,
            mask: (1u64 << bits) - 1,
            shift: (bits / 2).max(1),
        }
    }

    /// Where `rank` lies. Ranks of records that came after the permutation was fixed lie where they are: the newest
    /// are the coldest, and no hot key moves when the table grows.
    #[inline]
    pub fn of(&self, rank: u64) -> u64 {
        if rank >= self.items {
            return rank;
        }
        let mut x = rank;
        loop {
            x = self.scatter(x);
            if x < self.items {
                return x;
            }
        }
    }

    #[inline]
    fn scatter(&self, mut x: u64) -> u64 {
        for multiplier in MULTIPLIERS {
            x = x.wrapping_mul(multiplier).wrapping_add(multiplier >> 32) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zeta_agrees_with_adding_every_term() {
        for theta in [0.2, 0.5, 0.99] {
            for n in [1, 2, 999, 1000, 1001, 5000, 1_000_000] {
                let sum: f64 = (1..=n).rev().map(|i| (i as f64).powf(-theta)).sum();
                let error = (zeta(n, theta) / sum - 1.0).abs();
                assert!(error < 1e-13, "n {n} theta {theta}: relative error {error}");
            }
        }
    }

    #[test]
    fn zeta_of_ten_billion_is_the_constant_the_original_carries() {
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-9);
    }

    #[test]
    fn the_two_hottest_ranks_have_their_exact_shares() {
        let zipf = Zipfian::new(10_000, 0.99);
        let mut rng = Random::new(1);
        let draws = 1_000_000;
        let mut hits = [0u32; 2];
        for _ in 0..draws {
            if let Some(hit) = hits.get_mut(zipf.draw(&mut rng) as usize) {
                *hit += 1;
            }
        }
        let total = zeta(10_000, 0.99);
        for (rank, &hit) in hits.iter().enumerate() {
            let expected = (rank as f64 + 1.0).powf(-0.99) / total;
            let share = f64::from(hit) / f64::from(draws);
            assert!(
                (share - expected).abs() < 0.001,
                "rank {rank}: {share} of {expected}"
            );
        }
    }

    #[test]
    fn the_usual_skew_is_computed_as_any_other() {
        let zipf = Zipfian::new(1000, THETA);
        for x in [0.0, 0.01, 0.3, 0.9, 0.999, 1.0] {
            assert!((zipf.power(x) - x.powf(1.0 / (1.0 - THETA))).abs() < 1e-13, "{x}");
        }
    }

    proptest! {
        #[test]
        fn ranks_are_in_range_and_rise_with_u(
            items in 1u64..5_000_000, theta in 0.05f64..0.995, a in 0.0f64..1.0, b in 0.0f64..1.0,
        ) {
            let zipf = Zipfian::new(items, theta);
            let (low, high) = (zipf.rank_at(a.min(b)), zipf.rank_at(a.max(b)));
            prop_assert!(low <= high && high < items);
            prop_assert_eq!(zipf.rank_at(0.0), 0);
        }

        #[test]
        fn growing_gives_what_starting_at_that_size_gives(from in 1u64..100_000, to in 1u64..100_000) {
            prop_assert_eq!(Zipfian::new(from, 0.99).resized(to).rank_at(0.7), Zipfian::new(to, 0.99).rank_at(0.7));
        }
    }

    #[test]
    fn every_rank_has_its_exact_share() {
        for exponent in [0.0, 0.5, 0.8, 0.99, 1.0, 1.5, 3.0] {
            let (n, draws) = (20u64, 400_000u32);
            let (zipfian, mut rng) = (
                ZipfianInversion::new(exponent, if exponent < 1.0 { n } else { 7 }),
                Random::new(5),
            );
            let mut hits = [0u32; 20];
            (0..draws).for_each(|_| hits[zipfian.draw(&mut rng, n) as usize - 1] += 1);
            let total: f64 = (1..=n).map(|i| (i as f64).powf(-exponent)).sum();
            // Chi-square with 19 degrees of freedom: 43.8 is exceeded once in a thousand seeds; this seed is fixed.
            let chi: f64 = hits
                .iter()
                .enumerate()
                .map(|(i, &hit)| {
                    let expected = f64::from(draws) * (i as f64 + 1.0).powf(-exponent) / total;
                    (f64::from(hit) - expected).powi(2) / expected
                })
                .sum();
            assert!(chi < 43.8, "exponent {exponent}: chi-square {chi}");
        }
    }

    #[test]
    fn large_ranges_have_the_tail_they_must() {
        let (n, draws) = (1_000_000u64, 200_000);
        let (zipfian, mut rng) = (ZipfianInversion::new(0.8, n), Random::new(5));
        let first_percent = (0..draws)
            .filter(|_| zipfian.draw(&mut rng, n) <= n / 100)
            .count();
        // zeta(10^4, 0.8) / zeta(10^6, 0.8) by the sum itself.
        let sum = |n: u64| -> f64 { (1..=n).map(|i| (i as f64).powf(-0.8)).sum() };
        let (share, expected) = (
            f64::from(first_percent as u32) / f64::from(draws),
            sum(n / 100) / sum(n),
        );
        assert!((share - expected).abs() < 0.006, "{share} of {expected}");
    }

    proptest! {
        #[test]
        fn every_record_is_hit_exactly_once(items in 1u64..3_000) {
            let permutation = Permutation::new(items);
            let mut places: Vec<u64> = (0..items).map(|rank| permutation.of(rank)).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..items).collect::<Vec<_>>());
            prop_assert_eq!(permutation.of(items + 5), items + 5);
        }
    }

    #[test]
    fn adjacent_ranks_are_scattered() {
        let permutation = Permutation::new(100_000);
        let near = (0..1000u64)
            .filter(|&r| permutation.of(r).abs_diff(permutation.of(r + 1)) < 100)
            .count();
        assert!(near < 20, "{near} of 1000 adjacent ranks lie within 100 records");
    }
}
