//! The distributions of sysbench, on integers `a..=b`. Defaults are of 1.0.20; each formula stands at its type.
use crate::keys::ZipfianInversion;
use crate::rng::Random;
use bakeoff_model::run::sysbench::{SysbenchRandom, SysbenchSpec};

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
}
