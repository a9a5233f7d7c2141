//! The text of a key: `user`, then the record's number or its hash, padded with zeros.
use crate::keys::fnv64;
use bakeoff_model::run::InsertOrder;
use std::ops::Deref;

const PREFIX: [u8; 4] = *b"user";

#[derive(Clone, Copy, Debug)]
pub struct KeyText {
    pub order: InsertOrder,
    pub zero_padding: usize,
}

/// One key, built from its end so that nothing has to be moved. Dereferences to the key's bytes.
#[derive(Clone, Debug)]
pub struct Key {
    /// Zeros, overwritten at the end by digits and before them by the prefix.
    bytes: Box<[u8]>,
    start: usize,
}

impl Deref for Key {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl KeyText {
    pub fn key(&self) -> Key {
        Key {
            bytes: vec![b'0'; self.longest()].into(),
            start: self.longest(),
        }
    }

    /// Replaces what is in `out`, which this `KeyText` made. About 8 ns, of which the hash is half.
    #[inline]
    pub fn write(&self, keynum: u64, out: &mut Key) {
        self.write_number(self.number(keynum), out);
    }

    /// What the key's digits say.
    #[inline]
    pub fn number(&self, keynum: u64) -> u64 {
        match self.order {
            InsertOrder::Hashed => fnv64(keynum),
            InsertOrder::Ordered => keynum,
        }
    }

    #[inline]
    pub fn write_number(&self, number: u64, out: &mut Key) {
        let Some((head, tail)) = out.bytes.split_last_chunk_mut::<MOST_DIGITS>() else {
            return;
        };
        let length = write_digits(number, tail).max(self.zero_padding);
        out.start = head.len() + MOST_DIGITS - length - PREFIX.len();
        if let Some(place) = out.bytes.get_mut(out.start..out.start + PREFIX.len()) {
            place.copy_from_slice(&PREFIX);
        }
    }

    #[cfg(test)]
    pub fn text(&self, keynum: u64) -> String {
        let mut key = self.key();
        self.write(keynum, &mut key);
        String::from_utf8(key.to_vec()).unwrap()
    }

    pub fn longest(&self) -> usize {
        PREFIX.len() + self.zero_padding.max(MOST_DIGITS)
    }

    /// Of most keys below `records`.
    pub fn common_length(&self, records: u64) -> usize {
        let digits = match self.order {
            InsertOrder::Hashed => 19,
            InsertOrder::Ordered => records.to_string().len(),
        };
        PREFIX.len() + self.zero_padding.max(digits)
    }
}

// Numbers as decimal digits, a key's most costly part: split by ever smaller powers of ten, all parts of a size at once in
// one register. A part is divided by multiplying with a reciprocal that is exact over its range.

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

    #[test]
    fn hashed_keys_are_those_of_the_original() {
        let keys = KeyText {
            order: InsertOrder::Hashed,
            zero_padding: 1,
        };
        assert_eq!(keys.text(0), "user6284781860667377211");
        assert_eq!(keys.text(1), "user8517097267634966620");
        assert_eq!(keys.text(2), "user1820151046732198393");
        assert_eq!(keys.text(999), "user2071219101098386137");
        assert_eq!(keys.text(39_999), "user1335631891055428422");
        assert_eq!(keys.text(399_999), "user471389318855264438");
    }

    #[test]
    fn ordered_keys_are_padded_to_sort_as_numbers() {
        let padded = KeyText {
            order: InsertOrder::Ordered,
            zero_padding: 6,
        };
        assert_eq!(padded.text(42), "user000042");
        assert_eq!(padded.text(1_234_567), "user1234567");
        assert!(padded.text(2) < padded.text(10));
        let plain = KeyText {
            order: InsertOrder::Ordered,
            zero_padding: 1,
        };
        assert_eq!(plain.text(0), "user0");
        assert!(plain.text(2) > plain.text(10));
    }

    proptest! {
        #[test]
        fn a_key_is_its_number_formatted_whatever_was_in_the_buffer_before(
            numbers in proptest::collection::vec((any::<u64>(), 0u32..64), 1..5), zero_padding in 0usize..60,
        ) {
            let keys = KeyText { order: InsertOrder::Ordered, zero_padding };
            let mut key = keys.key();
            for (number, shift) in numbers {
                let number = number >> shift;
                keys.write(number, &mut key);
                prop_assert_eq!(key.to_vec(), format!("user{number:0zero_padding$}").into_bytes());
            }
        }
    }

    #[test]
    fn numbers_around_every_power_of_ten_are_formatted() {
        let keys = KeyText {
            order: InsertOrder::Ordered,
            zero_padding: 1,
        };
        for power in (0..20).map(|exponent| 10u64.pow(exponent)) {
            for number in [power - 1, power, power + 1, u64::MAX - power] {
                assert_eq!(keys.text(number), format!("user{number}"));
            }
        }
    }

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
