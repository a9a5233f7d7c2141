//! NURand, the specification's skewed numbers (clause 2.1.6), and the constants C that it is drawn with.
use super::rules::Sizes;
use crate::rng::{Random, mix};
use bakeoff_model::run::tpcc::{TpccSpec, TpccVariant};

/// `(((uniform(0, A) | uniform(x, y)) + C) mod (y - x + 1)) + x`. With A and C of 0 it is uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonUniform {
    pub a: u64,
    pub c: u64,
    /// x
    pub first: u64,
    /// y - x + 1
    pub count: u64,
}

impl NonUniform {
    /// In `first..first + count`. Two draws and a division: about 8 ns.
    #[inline]
    pub fn draw(&self, rng: &mut Random) -> u64 {
        let skewed = rng.below(self.a + 1) | (self.first + rng.below(self.count));
        (skewed + self.c) % self.count + self.first
    }
}

/// What customers and items are drawn with, kept for a whole run by all terminals of all clients: it follows from the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// Numbers of last names, from 0: C-Load.
    pub loaded_last_name: NonUniform,
    /// The same during a run: C-Run.
    pub last_name: NonUniform,
    /// C_ID
    pub customer: NonUniform,
    /// OL_I_ID
    pub item: NonUniform,
}

/// NURand's A for last names.
const LAST_NAME_A: u64 = 255;
/// HammerDB's C for last names, at load and at run.
const TPROC_C: u64 = 123;

impl Draws {
    pub fn new(spec: &TpccSpec, sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Random::new(mix(seed, 0xC));
        let mut constant = |a: u64| rng.below(a + 1);
        let last_name = |c| NonUniform {
            a: LAST_NAME_A,
            c,
            first: 0,
            count: sizes.last_names,
        };
        let load = constant(LAST_NAME_A);
        let ids = |a: u64, c: u64, count: u64| NonUniform {
            a,
            c,
            first: 1,
            count,
        };
        match spec.variant {
            TpccVariant::TprocC => Self {
                loaded_last_name: last_name(TPROC_C),
                last_name: last_name(TPROC_C),
                customer: ids(0, 0, sizes.customers),
                item: ids(0, 0, sizes.items),
            },
            TpccVariant::Tpcc | TpccVariant::TpccMysql => Self {
                customer: ids(sizes.customer_a, constant(sizes.customer_a), sizes.customers),
                item: ids(sizes.item_a, constant(sizes.item_a), sizes.items),
                loaded_last_name: last_name(load),
                last_name: last_name(run_constant(load, &mut rng)),
            },
        }
    }
}

/// C-Run: 65 to 119 away from C-Load, and neither 96 nor 112 (clause 2.1.6.1).
fn run_constant(load: u64, rng: &mut Random) -> u64 {
    loop {
        let run = rng.below(LAST_NAME_A + 1);
        let distance = run.abs_diff(load);
        if (65..=119).contains(&distance) && distance != 96 && distance != 112 {
            return run;
        }
    }
}

// Last names of customers: three syllables for the three digits of a number (clause 4.3.2.3).

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// Of the longest syllables.
pub const LAST_NAME_BYTES: usize = 15;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastName {
    bytes: [u8; LAST_NAME_BYTES],
    length: u8,
}

impl LastName {
    /// `number` below 1000.
    #[inline]
    pub fn new(number: u64) -> Self {
        let mut name = Self::default();
        for digit in [number / 100, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit as usize % 10].as_bytes();
            let start = name.length as usize;
            name.bytes[start..start + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len() as u8;
        }
        name
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }
}

// Random strings (clause 4.3.2.2): letters and digits, several for each random number.

/// 26 + 26 + 10, and two of them twice, so that six bits choose one.
const LETTERS: [u8; 64] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzae";
/// Of one random number.
const LETTERS_DRAWN: usize = 10;
const DIGITS_DRAWN: usize = 16;

/// An a-string into all of `text`: about 1 ns a letter.
#[inline]
pub fn letters(text: &mut [u8], rng: &mut Random) {
    for part in text.chunks_mut(LETTERS_DRAWN) {
        let mut bits = rng.bits();
        for letter in part {
            *letter = LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// An n-string into all of `text`.
#[inline]
pub fn digits(text: &mut [u8], rng: &mut Random) {
    for part in text.chunks_mut(DIGITS_DRAWN) {
        let mut rest = rng.below(10u64.pow(DIGITS_DRAWN as u32));
        for digit in part {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(variant: TpccVariant, seed: u64) -> Draws {
        let spec = TpccSpec {
            variant,
            ..TpccSpec::default()
        };
        Draws::new(&spec, &Sizes::new(&spec), seed)
    }

    #[test]
    fn every_number_is_in_range_and_each_comes_up() {
        let few = NonUniform {
            a: 127,
            c: 77,
            first: 1,
            count: 300,
        };
        let (mut rng, mut hits) = (Random::new(3), [0u32; 301]);
        for _ in 0..100_000 {
            hits[few.draw(&mut rng) as usize] += 1;
        }
        assert_eq!(hits[0], 0);
        assert!(hits[1..].iter().all(|&count| count > 0));
    }

    #[test]
    fn numbers_are_as_skewed_as_the_specification_has_them() {
        // Each of the 13 low bits is set in 3 of 4 draws. Numbers in which all are (before C is added) are 12 of 100,000, and
        // come up in (3/4)^13 = 2.38 % of the draws, but for those that lie beyond 100,000: one in 61.
        let item = draws(TpccVariant::Tpcc, 1).item;
        let mut rng = Random::new(5);
        let hottest = |number: u64| (number - 1 + item.count - item.c) % item.count % 8192 == 8191;
        let draws = 400_000;
        let hits = (0..draws).filter(|_| hottest(item.draw(&mut rng))).count();
        let share = hits as f64 / f64::from(draws);
        assert!((share - 0.0234).abs() < 0.0012, "{share}");
    }

    #[test]
    fn the_constants_of_load_and_run_keep_their_distance() {
        for seed in 0..2_000 {
            let draws = draws(TpccVariant::Tpcc, seed);
            let distance = draws.loaded_last_name.c.abs_diff(draws.last_name.c);
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
            assert_eq!(draws, self::draws(TpccVariant::Tpcc, seed));
        }
    }

    #[test]
    fn hammerdb_draws_items_and_customers_evenly() {
        let draws = draws(TpccVariant::TprocC, 1);
        assert_eq!((draws.item.a, draws.item.c, draws.customer.a), (0, 0, 0));
        assert_eq!(draws.last_name, draws.loaded_last_name);
    }

    #[test]
    fn a_name_says_its_digits() {
        for (number, name) in [
            (0, "BARBARBAR"),
            (371, "PRICALLYOUGHT"),
            (777, "CALLYCALLYCALLY"),
            (999, "EINGEINGEING"),
            (25, "BARABLEESE"),
        ] {
            assert_eq!(LastName::new(number).as_bytes(), name.as_bytes());
        }
    }

    #[test]
    fn strings_are_of_letters_and_digits_and_repeat_nothing() {
        let mut rng = Random::new(1);
        let (mut text, mut before) = ([0; 500], [0; 500]);
        letters(&mut before, &mut rng);
        letters(&mut text, &mut rng);
        assert!(text.iter().all(u8::is_ascii_alphanumeric));
        let same = text.iter().zip(&before).filter(|(a, b)| a == b).count();
        assert!(same < 40, "{same} of 500 letters lie where they lay");
        let seen: std::collections::HashSet<u8> = text.into_iter().chain(before).collect();
        assert_eq!(seen.len(), 62);
        digits(&mut text, &mut rng);
        assert!(text.iter().all(u8::is_ascii_digit));
    }
}
