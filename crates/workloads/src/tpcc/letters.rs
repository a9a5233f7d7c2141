//! Random strings (clause 4.3.2.2): letters and digits, several for each random number.
use crate::rng::Random;

/// 26 + 26 + 10, and two of them twice, so that six bits choose one.
const LETTERS: [u8; 64] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzae";
/// Of one random number.
const LETTERS_DRAWN: usize = 10;
const DIGITS_DRAWN: usize = 16;

/// An a-string into all of `text`: about 1 ns a letter.
#[inline]
pub fn letters(text: &mut [u8], rng: &mut Random) {
    for part in text.chunks_mut(LETTERS_DRAWN) {
        let mut bits = rng.bits();
        for letter in part {
            *letter = LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// An n-string into all of `text`.
#[inline]
pub fn digits(text: &mut [u8], rng: &mut Random) {
    for part in text.chunks_mut(DIGITS_DRAWN) {
        let mut rest = rng.below(10u64.pow(DIGITS_DRAWN as u32));
        for digit in part {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_of_letters_and_digits_and_repeat_nothing() {
        let mut rng = Random::new(1);
        let (mut text, mut before) = ([0; 500], [0; 500]);
        letters(&mut before, &mut rng);
        letters(&mut text, &mut rng);
        assert!(text.iter().all(u8::is_ascii_alphanumeric));
        let same = text.iter().zip(&before).filter(|(a, b)| a == b).count();
        assert!(same < 40, "{same} of 500 letters lie where they lay");
        let seen: std::collections::HashSet<u8> = text.into_iter().chain(before).collect();
        assert_eq!(seen.len(), 62);
        digits(&mut text, &mut rng);
        assert!(text.iter().all(u8::is_ascii_digit));
    }
}
