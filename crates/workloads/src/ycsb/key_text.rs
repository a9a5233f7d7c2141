//! The text of a key: `user`, then the record's number or its hash, padded with zeros.
use crate::keys::fnv64;
use bakeoff_model::run::InsertOrder;
use std::ops::Deref;

const PREFIX: [u8; 4] = *b"user";
/// Digits of the largest 64-bit number.
const MOST_DIGITS: usize = 20;

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

    /// Replaces what is in `out`, which this `KeyText` made. About 15 ns, of which the hash is half.
    #[inline]
    pub fn write(&self, keynum: u64, out: &mut Key) {
        let number = match self.order {
            InsertOrder::Hashed => fnv64(keynum),
            InsertOrder::Ordered => keynum,
        };
        let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
        let length = digits.max(self.zero_padding);
        let Some(tail) = out.bytes.last_chunk_mut::<MOST_DIGITS>() else {
            return;
        };
        *tail = twenty_digits(number);
        out.start = out.bytes.len() - length - PREFIX.len();
        out.bytes[out.start..out.start + PREFIX.len()].copy_from_slice(&PREFIX);
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
}

/// With leading zeros.
#[inline]
fn twenty_digits(n: u64) -> [u8; MOST_DIGITS] {
    const EIGHT: u64 = 100_000_000;
    let (upper, low) = (n / EIGHT, n % EIGHT);
    let (top, middle) = (upper / EIGHT, upper % EIGHT);
    let mut out = [0; MOST_DIGITS];
    out[..4].copy_from_slice(&four_digits(top as u32)); // at most 1844
    out[4..12].copy_from_slice(&eight_digits(middle));
    out[12..].copy_from_slice(&eight_digits(low));
    out
}

#[inline]
fn four_digits(n: u32) -> [u8; 4] {
    let hundreds = (n * 10_486) >> 20;
    let twos = hundreds | ((n - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones | 0x3030_3030).to_le_bytes()
}

/// Splits eight digits into fours, twos and ones, all halves of a step at once in one 64-bit word.
#[inline]
fn eight_digits(n: u64) -> [u8; 8] {
    let fours = (n / 10_000) | ((n % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
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

        #[test]
        fn eight_digits_are_the_number_with_leading_zeros(n in 0u64..100_000_000) {
            prop_assert_eq!(eight_digits(n).to_vec(), format!("{n:08}").into_bytes());
        }
    }

    #[test]
    fn every_four_digits_are_right_in_both_halves() {
        for n in 0..10_000u64 {
            assert_eq!(eight_digits(n * 10_001), format!("{n:04}{n:04}").as_bytes());
            assert_eq!(four_digits(n as u32), format!("{n:04}").as_bytes());
        }
    }
}
