//! The columns c and pad: groups of eleven random digits joined by dashes.
use crate::rng::Random;
use bakeoff_model::value::Value;

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

pub const C_BYTES: usize = 10 * (GROUP_DIGITS + 1) - 1;
pub const PAD_BYTES: usize = 5 * (GROUP_DIGITS + 1) - 1;

/// What a statement writes into the columns of the same name.
#[derive(Clone, Debug)]
pub struct Texts {
    c: [u8; C_BYTES],
    pad: [u8; PAD_BYTES],
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            c: [b'-'; C_BYTES],
            pad: [b'-'; PAD_BYTES],
        }
    }
}

impl Texts {
    /// About 60 ns: one draw for each group.
    #[inline]
    pub fn draw_c(&mut self, rng: &mut Random) -> &[u8] {
        write_groups(&mut self.c, rng);
        &self.c
    }

    /// c and pad.
    #[inline]
    pub fn draw(&mut self, rng: &mut Random) -> (&[u8], &[u8]) {
        write_groups(&mut self.c, rng);
        write_groups(&mut self.pad, rng);
        (&self.c, &self.pad)
    }
}

/// The dashes are there already.
#[inline]
fn write_groups(text: &mut [u8], rng: &mut Random) {
    for group in text.chunks_mut(GROUP_DIGITS + 1) {
        let mut rest = rng.below(GROUP_VALUES);
        for pair in [9, 7, 5, 3, 1] {
            let two = (rest % 100) as usize * 2;
            rest /= 100;
            group[pair..pair + 2].copy_from_slice(&DIGIT_PAIRS[two..two + 2]);
        }
        group[0] = b'0' + rest as u8;
    }
}

static DIGIT_PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut i = 0;
    while i < 100 {
        pairs[2 * i] = b'0' + (i / 10) as u8;
        pairs[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    pairs
};

/// What was written. The columns are a character longer, and some systems fill CHAR with blanks and read them back.
#[inline]
pub fn unpadded(cell: Option<Value<'_>>) -> Option<&[u8]> {
    let text = cell?.bytes()?;
    Some(text.strip_suffix(b" ").unwrap_or(text))
}

/// Looks at the length and three dashes; every byte has been touched by whoever copied the row.
#[inline]
pub fn looks_like_c(cell: Option<Value<'_>>) -> bool {
    matches!(unpadded(cell), Some(text)
        if text.len() == C_BYTES && text[11] == b'-' && text[59] == b'-' && text[107] == b'-')
}

/// Every byte is as it must be.
pub fn is_c(text: &[u8]) -> bool {
    text.len() == C_BYTES && is_groups(text)
}

pub fn is_pad(text: &[u8]) -> bool {
    text.len() == PAD_BYTES && is_groups(text)
}

fn is_groups(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(i, byte)| {
        if i % (GROUP_DIGITS + 1) == GROUP_DIGITS {
            *byte == b'-'
        } else {
            byte.is_ascii_digit()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_lengths_and_dashes_of_the_original() {
        let (mut texts, mut rng) = (Texts::default(), Random::new(3));
        for _ in 0..1000 {
            let (c, pad) = texts.draw(&mut rng);
            assert_eq!((c.len(), pad.len()), (119, 59));
            assert!(is_c(c) && is_pad(pad) && looks_like_c(Some(Value::Text(c))));
            assert!(!is_c(pad) && !is_pad(c));
        }
    }

    #[test]
    fn every_digit_is_equally_likely_at_every_place() {
        let (mut texts, mut rng) = (Texts::default(), Random::new(9));
        let mut hits = [[0u32; 10]; C_BYTES];
        let draws = 20_000;
        for _ in 0..draws {
            for (place, byte) in texts
                .draw_c(&mut rng)
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte != b'-')
            {
                hits[place][usize::from(byte - b'0')] += 1;
            }
        }
        let tenth = f64::from(draws) / 10.0;
        for (place, digits) in hits.iter().enumerate().filter(|(place, _)| place % 12 != 11) {
            // Nine degrees of freedom, 110 places: exceeded somewhere once in a thousand seeds; this seed is fixed.
            let chi: f64 = digits
                .iter()
                .map(|&hit| (f64::from(hit) - tenth).powi(2) / tenth)
                .sum();
            assert!(chi < 40.5, "place {place}: chi-square {chi}");
        }
    }

    #[test]
    fn a_text_cut_short_is_seen() {
        let (mut texts, mut rng) = (Texts::default(), Random::new(3));
        let c = texts.draw_c(&mut rng).to_vec();
        assert!(!looks_like_c(Some(Value::Text(&c[..118]))));
        assert!(!looks_like_c(Some(Value::Null)) && !looks_like_c(None));
        let filled = |blanks: usize| [&c[..], &vec![b' '; blanks]].concat();
        assert!(looks_like_c(Some(Value::Text(&filled(1)))));
        assert!(!looks_like_c(Some(Value::Text(&filled(2)))));
        let mut wrong = c.clone();
        wrong[40] = b'x';
        assert!(!is_c(&wrong));
    }
}
