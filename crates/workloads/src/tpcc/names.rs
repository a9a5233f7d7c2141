//! Last names of customers: three syllables for the three digits of a number (clause 4.3.2.3).

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// Of the longest syllables.
pub const LAST_NAME_BYTES: usize = 15;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastName {
    bytes: [u8; LAST_NAME_BYTES],
    length: u8,
}

impl LastName {
    /// `number` below 1000.
    #[inline]
    pub fn new(number: u64) -> Self {
        let mut name = Self::default();
        for digit in [number / 100, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit as usize % 10].as_bytes();
            let start = name.length as usize;
            name.bytes[start..start + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len() as u8;
        }
        name
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_digits() {
        for (number, name) in [
            (0, "BARBARBAR"),
            (371, "PRICALLYOUGHT"),
            (777, "CALLYCALLYCALLY"),
            (999, "EINGEINGEING"),
            (25, "BARABLEESE"),
        ] {
            assert_eq!(LastName::new(number).as_bytes(), name.as_bytes());
        }
    }
}
