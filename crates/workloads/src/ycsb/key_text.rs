//! The text of a key: `user`, then the record's number or its hash, padded with zeros.
use super::digits::{MOST_DIGITS, write_digits};
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
}
