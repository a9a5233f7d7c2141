//! Numbers as decimal digits, a key's most costly part: split by ever smaller powers of ten, all parts of a size at once in
//! one register. A part is divided by multiplying with a reciprocal that is exact over its range.

/// Digits of the largest 64-bit number.
pub const MOST_DIGITS: usize = 20;

const FOUR_ZEROS: u32 = u32::from_le_bytes(*b"0000");

/// Writes `n` with leading zeros; returns how many digits are left without them, at least one. About 4 ns.
#[inline]
pub fn write_digits(n: u64, out: &mut [u8; MOST_DIGITS]) -> usize {
    const EIGHT: u64 = 100_000_000;
    let (upper, low) = (n / EIGHT, n % EIGHT);
    let (top, middle) = (upper / EIGHT, upper % EIGHT);
    let first = four_digits(top as u32);
    out[..4].copy_from_slice(&first.to_le_bytes());
    out[4..].copy_from_slice(&sixteen_digits(middle, low));
    if first != FOUR_ZEROS {
        return MOST_DIGITS - ((first ^ FOUR_ZEROS).trailing_zeros() / 8) as usize; // nearly every hash
    }
    let zeros = out.iter().position(|&digit| digit != b'0');
    MOST_DIGITS - zeros.unwrap_or(MOST_DIGITS - 1)
}

/// n < 10^4, the first digit lowest.
#[inline]
fn four_digits(n: u32) -> u32 {
    let hundreds = (n * 5_243) >> 19;
    let twos = hundreds | (n - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000F_000F;
    FOUR_ZEROS | tens | (twos - tens * 10) << 8
}

/// Both below 10^8. SSE2 is part of every x86-64.
#[cfg(target_arch = "x86_64")]
#[inline]
fn sixteen_digits(upper: u64, low: u64) -> [u8; 16] {
    use std::arch::x86_64::*;
    // SAFETY: these instructions exist on every x86-64 processor, and none of them touches memory.
    let digits = unsafe {
        let eights = _mm_set_epi64x(low as i64, upper as i64);
        let firsts = _mm_srli_epi64::<45>(_mm_mul_epu32(eights, _mm_set1_epi64x(0xD1B7_1759)));
        let seconds = _mm_sub_epi64(eights, _mm_mul_epu32(firsts, _mm_set1_epi64x(10_000)));
        let fours = _mm_or_si128(firsts, _mm_slli_epi64::<32>(seconds));
        let firsts = _mm_srli_epi16::<3>(_mm_mulhi_epu16(fours, _mm_set1_epi16(5_243)));
        let seconds = _mm_sub_epi16(fours, _mm_mullo_epi16(firsts, _mm_set1_epi16(100)));
        let twos = _mm_or_si128(firsts, _mm_slli_epi32::<16>(seconds));
        let firsts = _mm_mulhi_epu16(twos, _mm_set1_epi16(6_554));
        let seconds = _mm_sub_epi16(twos, _mm_mullo_epi16(firsts, _mm_set1_epi16(10)));
        let ones = _mm_or_si128(firsts, _mm_slli_epi16::<8>(seconds));
        _mm_or_si128(ones, _mm_set1_epi8(b'0' as i8))
    };
    // SAFETY: both are sixteen bytes without padding.
    unsafe { std::mem::transmute::<__m128i, [u8; 16]>(digits) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn sixteen_digits(upper: u64, low: u64) -> [u8; 16] {
    let fours = [upper / 10_000, upper % 10_000, low / 10_000, low % 10_000];
    let mut out = [0; 16];
    for (place, four) in out.chunks_exact_mut(4).zip(fours) {
        place.copy_from_slice(&four_digits(four as u32).to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_written(n: u64) {
        let mut digits = [b'x'; MOST_DIGITS];
        let length = write_digits(n, &mut digits);
        assert_eq!(String::from_utf8_lossy(&digits), format!("{n:020}"));
        assert_eq!(length, n.to_string().len(), "{n}");
    }

    /// The reciprocals are exact: every value of every part.
    #[test]
    fn every_four_digits_are_written_at_every_place() {
        for four in 0..10_000 {
            for place in 0..5 {
                if let Some(n) = 10u64.pow(4 * place).checked_mul(four) {
                    assert_written(n);
                }
            }
        }
    }

    #[test]
    fn numbers_around_every_power_of_ten_are_written() {
        for power in (0..20).map(|exponent| 10u64.pow(exponent)) {
            for n in [power - 1, power, power + 1, u64::MAX - power] {
                assert_written(n);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_is_written(n: u64, shift in 0u32..64) {
            assert_written(n >> shift);
        }
    }
}
