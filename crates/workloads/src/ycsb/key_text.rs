//! The text of a key: `user`, then the record's number or its hash, padded with zeros.
use crate::keys::fnv64;
use bakeoff_model::run::InsertOrder;

const PREFIX: &[u8] = b"user";
/// Digits of the largest 64-bit number.
const MOST_DIGITS: usize = 20;

#[derive(Clone, Copy, Debug)]
pub struct KeyText {
    pub order: InsertOrder,
    pub zero_padding: usize,
}

impl KeyText {
    /// Replaces what is in `out`. Allocates nothing once `out` holds `longest()` bytes.
    #[inline]
    pub fn write(&self, keynum: u64, out: &mut Vec<u8>) {
        let number = match self.order {
            InsertOrder::Hashed => fnv64(keynum),
            InsertOrder::Ordered => keynum,
        };
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(number).as_bytes();
        out.clear();
        out.extend_from_slice(PREFIX);
        if digits.len() < self.zero_padding {
            out.resize(PREFIX.len() + self.zero_padding - digits.len(), b'0');
        }
        out.extend_from_slice(digits);
    }

    #[cfg(test)]
    pub fn text(&self, keynum: u64) -> String {
        let mut out = Vec::with_capacity(self.longest());
        self.write(keynum, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    pub fn longest(&self) -> usize {
        PREFIX.len() + self.zero_padding.max(MOST_DIGITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn nothing_of_a_longer_key_stays_in_the_buffer() {
        let keys = KeyText {
            order: InsertOrder::Ordered,
            zero_padding: 1,
        };
        let mut out = Vec::new();
        keys.write(123_456, &mut out);
        keys.write(7, &mut out);
        assert_eq!(out, b"user7");
    }
}
