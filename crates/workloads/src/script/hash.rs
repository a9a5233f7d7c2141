//! The hashes and the permutation of pgbench, value for value.
use crate::keys::fnv1a;
use rand_xoshiro::Xoroshiro128StarStar;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

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
