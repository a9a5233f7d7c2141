//! The distributions of sysbench, on integers `a..=b`. Defaults are of 1.0.20; each formula stands at its type.
use crate::keys::ZipfianInversion;
use crate::rng::Random;
use bakeoff_model::run::sysbench::{SysbenchRandom, SysbenchSpec};
use bakeoff_model::value::Value;

#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    Uniform,
    Gaussian(Gaussian),
    Special(Special),
    Pareto { power: f64 },
    Zipfian(ZipfianInversion),
}

/// The mean of some uniform numbers: a bell around the middle.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian {
    iterations: u32,
}

/// A share `1 - 1/multiple` of draws falls evenly into a narrow band in the middle, the rest is bell-shaped.
///
/// The same number decides for the band and the place within, so only the upper part of the band is ever hit: with the
/// defaults its upper three quarters, which is how the original draws.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    bell: Gaussian,
    /// 100 / (100 - rand_spec_res)
    multiple: f64,
    /// rand_spec_pct / 100
    band: f64,
}

impl Distribution {
    /// `spec` has been validated.
    pub fn new(spec: &SysbenchSpec) -> Self {
        let bell = Gaussian {
            iterations: spec.rand_spec_iter,
        };
        match spec.rand_type {
            SysbenchRandom::Uniform => Self::Uniform,
            SysbenchRandom::Gaussian => Self::Gaussian(bell),
            SysbenchRandom::Special => Self::Special(Special {
                bell,
                multiple: 100.0 / (100.0 - f64::from(spec.rand_spec_res)),
                band: f64::from(spec.rand_spec_pct) / 100.0,
            }),
            SysbenchRandom::Pareto => Self::Pareto {
                power: spec.rand_pareto_h.ln() / (1.0 - spec.rand_pareto_h).ln(),
            },
            SysbenchRandom::Zipfian => {
                Self::Zipfian(ZipfianInversion::new(spec.rand_zipfian_exp, spec.table_size))
            }
        }
    }

    /// A number in `a..=b`; a <= b, both below 2^32. From 2 ns (uniform) by way of 10 (special), 20 (gaussian) and 40
    /// (pareto) to 80 (zipfian).
    #[inline]
    pub fn draw(&self, rng: &mut Random, a: u64, b: u64) -> u64 {
        let n = b - a + 1;
        match self {
            Self::Uniform => a + rng.below(n),
            Self::Gaussian(bell) => a + (bell.unit(rng) * n as f64) as u64,
            Self::Special(special) => a + special.draw(rng, (b - a) as f64),
            Self::Pareto { power } => a + (n as f64 * rng.unit().powf(*power)) as u64,
            Self::Zipfian(zipfian) => a + zipfian.draw(rng, n) - 1,
        }
    }
}

impl Gaussian {
    /// In [0, 1).
    #[inline]
    fn unit(self, rng: &mut Random) -> f64 {
        let sum: f64 = (0..self.iterations).map(|_| rng.unit()).sum();
        sum / f64::from(self.iterations)
    }
}

impl Special {
    /// In 0..=t.
    #[inline]
    fn draw(&self, rng: &mut Random, t: f64) -> u64 {
        let u = rng.unit();
        if u * t * self.multiple < t {
            return (t * self.bell.unit(rng)) as u64;
        }
        let width = t * self.band;
        (u * (width + 1.0) + t / 2.0 - width / 2.0) as u64
    }
}

// The columns c and pad: groups of eleven random digits joined by dashes.

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

pub const C_BYTES: usize = 10 * (GROUP_DIGITS + 1) - 1;
pub const PAD_BYTES: usize = 5 * (GROUP_DIGITS + 1) - 1;

/// What a statement writes into the columns of the same name.
#[derive(Clone, Debug)]
pub struct Texts {
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            c: [b'-'; C_BYTES],
            pad: [b'-'; PAD_BYTES],
        }
    }
}

impl Texts {
    /// About 60 ns: one draw for each group.
    #[inline]
    pub fn draw_c(&mut self, rng: &mut Random) -> &[u8] {
        write_groups(&mut self.c, rng);
        &self.c
    }

    /// c and pad.
    #[inline]
    pub fn draw(&mut self, rng: &mut Random) -> (&[u8], &[u8]) {
        write_groups(&mut self.c, rng);
        write_groups(&mut self.pad, rng);
        (&self.c, &self.pad)
    }
}

/// The dashes are there already.
#[inline]
fn write_groups(text: &mut [u8], rng: &mut Random) {
    for group in text.chunks_mut(GROUP_DIGITS + 1) {
        let mut rest = rng.below(GROUP_VALUES);
        for pair in [9, 7, 5, 3, 1] {
            let two = (rest % 100) as usize * 2;
            rest /= 100;
            group[pair..pair + 2].copy_from_slice(&DIGIT_PAIRS[two..two + 2]);
        }
        group[0] = b'0' + rest as u8;
    }
}

static DIGIT_PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut i = 0;
    while i < 100 {
        pairs[2 * i] = b'0' + (i / 10) as u8;
        pairs[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    pairs
};

/// What was written. The columns are a character longer, and some systems fill CHAR with blanks and read them back.
#[inline]
pub fn unpadded(cell: Option<Value<'_>>) -> Option<&[u8]> {
    let text = cell?.bytes()?;
    Some(text.strip_suffix(b" ").unwrap_or(text))
}

/// Looks at the length and three dashes; every byte has been touched by whoever copied the row.
#[inline]
pub fn looks_like_c(cell: Option<Value<'_>>) -> bool {
    matches!(unpadded(cell), Some(text)
        if text.len() == C_BYTES && text[11] == b'-' && text[59] == b'-' && text[107] == b'-')
}

/// Every byte is as it must be.
pub fn is_c(text: &[u8]) -> bool {
    text.len() == C_BYTES && is_groups(text)
}

pub fn is_pad(text: &[u8]) -> bool {
    text.len() == PAD_BYTES && is_groups(text)
}

fn is_groups(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(i, byte)| {
        if i % (GROUP_DIGITS + 1) == GROUP_DIGITS {
            *byte == b'-'
        } else {
            byte.is_ascii_digit()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRAWS: u32 = 200_000;

    fn distribution(rand_type: SysbenchRandom) -> Distribution {
        Distribution::new(&SysbenchSpec {
            rand_type,
            ..SysbenchSpec::default()
        })
    }

    /// Share of draws on 1..=n that fall into `from..=to`.
    fn share(rand_type: SysbenchRandom, n: u64, from: u64, to: u64) -> f64 {
        let (distribution, mut rng) = (distribution(rand_type), Random::new(11));
        let hits = (0..DRAWS)
            .filter(|_| (from..=to).contains(&distribution.draw(&mut rng, 1, n)))
            .count();
        hits as f64 / f64::from(DRAWS)
    }

    fn assert_near(share: f64, expected: f64) {
        // Five standard deviations of a share counted over DRAWS.
        let tolerance = 5.0 * (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt().max(1e-5);
        assert!((share - expected).abs() < tolerance, "{share} of {expected}");
    }

    #[test]
    fn uniform_gives_every_tenth_a_tenth() {
        for tenth in 0..10 {
            assert_near(
                share(SysbenchRandom::Uniform, 1000, tenth * 100 + 1, tenth * 100 + 100),
                0.1,
            );
        }
    }

    #[test]
    fn gaussian_is_a_bell_with_the_width_of_a_mean_of_twelve() {
        // Standard deviation of the mean of 12 uniforms: 1/12, and the sum of 12 is close to normal.
        let n = 120_000;
        let middle = n / 2;
        assert_near(
            share(SysbenchRandom::Gaussian, n, middle - n / 12 + 1, middle + n / 12),
            0.677,
        );
        assert_near(share(SysbenchRandom::Gaussian, n, 1, middle), 0.5);
    }

    #[test]
    fn special_puts_three_quarters_into_the_upper_three_quarters_of_the_middle_percent() {
        let n = 1_000_001; // t = 10^6: the band is 495,000 to 505,001 from the first
        let (band_first, band_last) = (497_501, 505_001);
        let in_bell = |from: f64, to: f64| 0.25 * (to - from) / (1.0 / 12.0) * 0.399 * 1e-6;
        assert_near(
            share(SysbenchRandom::Special, n, band_first, band_last),
            0.75 + in_bell(band_first as f64, band_last as f64),
        );
        // Of the band's lower quarter only the bell takes its part.
        assert_near(
            share(SysbenchRandom::Special, n, 495_001, 497_500),
            in_bell(495_001.0, 497_500.0),
        );
    }

    #[test]
    fn special_on_few_rows_reaches_what_the_formula_says() {
        // t = 9: the band is u * 1.09 + 4.455 with u in [0.25, 1), so 4 from the first where u is below 0.5, else 5. The
        // bell (mean of 12, as good as normal with deviation 1/12) gives those two 0.495 and 0.230 of its quarter.
        for (value, expected) in [(5, 0.25 + 0.25 * 0.495), (6, 0.5 + 0.25 * 0.230)] {
            let found = share(SysbenchRandom::Special, 10, value, value);
            assert!((found - expected).abs() < 0.006, "{value}: {found} of {expected}");
        }
        assert_eq!(share(SysbenchRandom::Special, 10, 10, 10), 0.0);
    }

    #[test]
    fn pareto_gives_a_fifth_of_the_rows_four_fifths_of_the_draws() {
        assert_near(share(SysbenchRandom::Pareto, 100_000, 1, 20_000), 0.8);
        assert_near(share(SysbenchRandom::Pareto, 100_000, 1, 4_000), 0.64);
    }

    proptest! {
        #[test]
        fn every_draw_is_in_range(
            kind in 0usize..5, seed: u64, a in 0u64..1_000_000, more in 0u64..4_000_000_000,
            pct in 0u32..=100, res in 0u32..100, iterations in 1u32..20, h in 0.01f64..0.99, exponent in 0.0f64..5.0,
        ) {
            let rand_type = [
                SysbenchRandom::Uniform,
                SysbenchRandom::Gaussian,
                SysbenchRandom::Special,
                SysbenchRandom::Pareto,
                SysbenchRandom::Zipfian,
            ][kind];
            let distribution = Distribution::new(&SysbenchSpec {
                rand_type,
                rand_spec_pct: pct,
                rand_spec_res: res,
                rand_spec_iter: iterations,
                rand_pareto_h: h,
                rand_zipfian_exp: exponent,
                ..SysbenchSpec::default()
            });
            let mut rng = Random::new(seed);
            for b in [a, a + 1, a + 2, a + more % 100, a + more] {
                for _ in 0..50 {
                    let value = distribution.draw(&mut rng, a, b);
                    prop_assert!((a..=b).contains(&value), "{value} of {a}..={b}");
                }
            }
        }
    }

    #[test]
    fn texts_have_the_lengths_and_dashes_of_the_original() {
        let (mut texts, mut rng) = (Texts::default(), Random::new(3));
        for _ in 0..1000 {
            let (c, pad) = texts.draw(&mut rng);
            assert_eq!((c.len(), pad.len()), (119, 59));
            assert!(is_c(c) && is_pad(pad) && looks_like_c(Some(Value::Text(c))));
            assert!(!is_c(pad) && !is_pad(c));
        }
    }

    #[test]
    fn every_digit_is_equally_likely_at_every_place() {
        let (mut texts, mut rng) = (Texts::default(), Random::new(9));
        let mut hits = [[0u32; 10]; C_BYTES];
        let draws = 20_000;
        for _ in 0..draws {
            for (place, byte) in texts
                .draw_c(&mut rng)
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte != b'-')
            {
                hits[place][usize::from(byte - b'0')] += 1;
            }
        }
        let tenth = f64::from(draws) / 10.0;
        for (place, digits) in hits.iter().enumerate().filter(|(place, _)| place % 12 != 11) {
            // Nine degrees of freedom, 110 places: exceeded somewhere once in a thousand seeds; this seed is fixed.
            let chi: f64 = digits
                .iter()
                .map(|&hit| (f64::from(hit) - tenth).powi(2) / tenth)
                .sum();
            assert!(chi < 40.5, "place {place}: chi-square {chi}");
        }
    }

    #[test]
    fn a_text_cut_short_is_seen() {
        let (mut texts, mut rng) = (Texts::default(), Random::new(3));
        let c = texts.draw_c(&mut rng).to_vec();
        assert!(!looks_like_c(Some(Value::Text(&c[..118]))));
        assert!(!looks_like_c(Some(Value::Null)) && !looks_like_c(None));
        let filled = |blanks: usize| [&c[..], &vec![b' '; blanks]].concat();
        assert!(looks_like_c(Some(Value::Text(&filled(1)))));
        assert!(!looks_like_c(Some(Value::Text(&filled(2)))));
        let mut wrong = c.clone();
        wrong[40] = b'x';
        assert!(!is_c(&wrong));
    }
}
