//! Random integers from `first` to `last`, both included, distributed as in pgbench.
use super::number::Fault;
use crate::keys::ZipfianInversion;
use crate::rng::Random;
use std::f64::consts::TAU;

/// Of first and last; at least 1.
pub fn size(first: i64, last: i64) -> Result<u64, Fault> {
    if first > last {
        return Err(Fault::EmptyRange);
    }
    let beyond = last
        .checked_sub(first)
        .and_then(|distance| distance.checked_add(1));
    beyond.map(|size| size as u64).ok_or(Fault::RangeTooLarge)
}

pub fn uniform(first: i64, last: i64, random: &mut Random) -> Result<i64, Fault> {
    Ok(first + random.below(size(first, last)?) as i64)
}

/// From a place in [0, 1).
fn at(first: i64, size: u64, place: f64) -> i64 {
    first + ((size as f64 * place) as u64).min(size - 1) as i64
}

/// Cut at `parameter` times the mean, which is at the end of the range.
pub fn exponential(first: i64, last: i64, parameter: f64, random: &mut Random) -> Result<i64, Fault> {
    let size = size(first, last)?;
    if parameter.is_nan() || parameter <= 0.0 {
        return Err(Fault::Exponential);
    }
    let cut = (-parameter).exp();
    // In (0, 1], so the logarithm is finite.
    let uniform = 1.0 - random.unit();
    Ok(at(first, size, -(cut + (1.0 - cut) * uniform).ln() / parameter))
}

/// Around the middle, cut at `parameter` standard deviations, which are the ends of the range.
pub fn gaussian(first: i64, last: i64, parameter: f64, random: &mut Random) -> Result<i64, Fault> {
    let size = size(first, last)?;
    if parameter.is_nan() || parameter < 2.0 {
        return Err(Fault::Gaussian);
    }
    loop {
        // Box and Muller; 4.6 % are cut at most.
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let deviations = radius * (TAU * random.unit()).sin();
        if (-parameter..parameter).contains(&deviations) {
            return Ok(at(first, size, (deviations + parameter) / (2.0 * parameter)));
        }
    }
}

/// For ranges of any size, and of the `usual` one sooner.
pub fn zipfian_of(parameter: f64, usual: u64) -> Result<ZipfianInversion, Fault> {
    match (1.001..=1000.0).contains(&parameter) {
        true => Ok(ZipfianInversion::new(parameter, usual)),
        false => Err(Fault::Zipfian),
    }
}

/// `first` is the most frequent.
pub fn zipfian(first: i64, last: i64, zipfian: &ZipfianInversion, random: &mut Random) -> Result<i64, Fault> {
    let size = size(first, last)?;
    Ok(first + (zipfian.draw(random, size) - 1) as i64)
}
