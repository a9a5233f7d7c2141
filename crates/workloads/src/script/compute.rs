//! What functions and operators make of values: the rules of pgbench.
use super::function::Function;
use super::number::{Fault, Number};
use crate::keys::{ZipfianInversion, fnv1a};
use crate::rng::Random;
use rand_xoshiro::Xoroshiro128StarStar;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use std::f64::consts::TAU;

/// Of values that are not NULL, but for Is and Debug.
pub fn compute(function: Function, [a, b, c]: [Number; 3], random: &mut Random) -> Result<Number, Fault> {
    use Number::{Bool, Double, Int};
    Ok(match function {
        Function::Add => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? + b.double()?),
            _ => Int(a.int()?.checked_add(b.int()?).ok_or(Fault::AddOverflow)?),
        },
        Function::Sub => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? - b.double()?),
            _ => Int(a.int()?.checked_sub(b.int()?).ok_or(Fault::SubOverflow)?),
        },
        Function::Mul => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? * b.double()?),
            _ => Int(a.int()?.checked_mul(b.int()?).ok_or(Fault::MulOverflow)?),
        },
        Function::Div => match (a, b) {
            (Double(_), _) | (_, Double(_)) => Double(a.double()? / b.double()?),
            _ => {
                let (a, b) = (a.int()?, b.int()?);
                let by_zero = if b == 0 {
                    Fault::DivisionByZero
                } else {
                    Fault::DivOverflow
                };
                Int(a.checked_div(b).ok_or(by_zero)?)
            }
        },
        Function::Mod => match (a.int()?, b.int()?) {
            (_, 0) => return Err(Fault::DivisionByZero),
            (a, b) => Int(a.wrapping_rem(b)),
        },
        Function::Equal => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? == b.double()?,
            _ => a.int()? == b.int()?,
        }),
        Function::NotEqual => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? != b.double()?,
            _ => a.int()? != b.int()?,
        }),
        Function::Less => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? < b.double()?,
            _ => a.int()? < b.int()?,
        }),
        Function::LessEqual => Bool(match (a, b) {
            (Double(_), _) | (_, Double(_)) => a.double()? <= b.double()?,
            _ => a.int()? <= b.int()?,
        }),
        Function::BitAnd => Int(a.int()? & b.int()?),
        Function::BitOr => Int(a.int()? | b.int()?),
        Function::BitXor => Int(a.int()? ^ b.int()?),
        // By the six lowest bits of the distance, as processors do and pgbench relies on.
        Function::ShiftLeft => Int(a.int()?.wrapping_shl(b.int()? as u32)),
        Function::ShiftRight => Int(a.int()?.wrapping_shr(b.int()? as u32)),
        Function::Not => Bool(!a.boolean()?),
        Function::Is => Bool(a == b),
        Function::Debug => a,
        Function::Abs => match a {
            Double(value) => Double(value.abs()),
            _ => Int(a.int()?.checked_abs().ok_or(Fault::AbsOverflow)?),
        },
        Function::Double => Double(a.double()?),
        Function::Int => Int(a.int()?),
        Function::Exp => Double(a.double()?.exp()),
        Function::Ln => Double(a.double()?.ln()),
        Function::Sqrt => Double(a.double()?.sqrt()),
        Function::Pow => Double(a.double()?.powf(b.double()?)),
        Function::Pi => Double(std::f64::consts::PI),
        Function::HashFnv1a => Int(hash_fnv1a(a.int()?, b.int()?)),
        Function::HashMurmur2 => Int(hash_murmur2(a.int()?, b.int()?)),
        Function::Permute => match b.int()? {
            size if size > 0 => Int(permute(a.int()?, size, c.int()?)),
            _ => return Err(Fault::PermuteSize),
        },
        Function::Random => Int(uniform(a.int()?, b.int()?, random)?),
        Function::RandomExponential => Int(exponential(a.int()?, b.int()?, c.double()?, random)?),
        Function::RandomGaussian => Int(gaussian(a.int()?, b.int()?, c.double()?, random)?),
        Function::RandomZipfian => {
            let of = zipfian_of(c.double()?, 1)?;
            Int(zipfian(a.int()?, b.int()?, &of, random)?)
        }
        Function::Greatest | Function::Least => extreme(function, a, b)?,
    })
}

/// One double makes doubles of all; one NULL is the answer.
pub fn extreme(function: Function, a: Number, b: Number) -> Result<Number, Fault> {
    use Number::{Double, Int, Null};
    let greatest = function == Function::Greatest;
    Ok(match (a, b) {
        (Null, _) | (_, Null) => Null,
        (Double(_), _) | (_, Double(_)) => {
            let (a, b) = (a.double()?, b.double()?);
            Double(if (b > a) == greatest { b } else { a })
        }
        _ => {
            let (a, b) = (a.int()?, b.int()?);
            Int(if greatest { a.max(b) } else { a.min(b) })
        }
    })
}

// The hashes and the permutation of pgbench, value for value.

pub fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    fnv1a(value as u64, seed as u64) as i64
}

/// MurmurHash2 of 64 bits (Austin Appleby), of 8 octets.
pub fn hash_murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;
    const SHIFT: u32 = 47;
    let scatter = |value: u64| (value ^ (value >> SHIFT)).wrapping_mul(MULTIPLIER);
    let value = scatter((value as u64).wrapping_mul(MULTIPLIER));
    let hash = (seed as u64 ^ MULTIPLIER.wrapping_mul(8) ^ value).wrapping_mul(MULTIPLIER);
    let hash = scatter(hash);
    (hash ^ (hash >> SHIFT)) as i64
}

const ROUNDS: usize = 6;

/// Where `value` lies in a permutation of 0..size; size >= 1. About 30 ns.
///
/// Rounds of bijections: a multiplication by an odd number, an exclusive or and a rotation, which need a power of two, of
/// the lower and then of the upper part, and a shift of all.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Xoroshiro128StarStar::seed_from_u64(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    let mut place = value as u64 % size;
    for _ in 0..ROUNDS {
        place = scatter(place, mask, bits, &mut random);
        place = size - 1 - scatter(size - 1 - place, mask, bits, &mut random);
        place = (place + up_to(size - 1, &mut random)) % size;
    }
    place as i64
}

fn scatter(place: u64, mask: u64, bits: u32, random: &mut Xoroshiro128StarStar) -> u64 {
    let factor = (random.next_u64() & mask) | 1;
    let flips = random.next_u64() & mask;
    if place > mask {
        return place;
    }
    let place = (place.wrapping_mul(factor) ^ flips) & mask;
    ((place << 1) & mask) | (place >> (bits - 1))
}

/// Uniform in 0..=last by rejection; last >= 1.
fn up_to(last: u64, random: &mut Xoroshiro128StarStar) -> u64 {
    loop {
        let drawn = random.next_u64() >> last.leading_zeros();
        if drawn <= last {
            return drawn;
        }
    }
}

// Random integers from `first` to `last`, both included, distributed as in pgbench.

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
