//! Text of a length, of letters and digits, which a compressing system can make smaller by as much as is asked.
use crate::rng::Random;

const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789";
/// Of one draw, six bits each.
const LETTERS_A_DRAW: usize = 10;

/// Appends `length` characters: the share `redundancy` of them is one letter again and again, at the end. About 1 ns a
/// character.
pub fn push_text(length: usize, redundancy: f64, random: &mut Random, text: &mut Vec<u8>) {
    let same = (length as f64 * redundancy) as usize;
    let drawn_end = text.len() + length - same;
    while text.len() < drawn_end {
        let mut bits = random.bits();
        for _ in 0..LETTERS_A_DRAW.min(drawn_end - text.len()) {
            text.push(LETTERS[(bits & 63) as usize]);
            bits >>= 6;
        }
    }
    text.resize(drawn_end + same, b'x');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_it_is_the_same_letter() {
        let mut text = b"kept".to_vec();
        push_text(100, 0.75, &mut Random::new(1), &mut text);
        assert_eq!(text.len(), 104);
        assert_eq!(&text[..4], b"kept");
        assert!(text[29..].iter().all(|letter| *letter == b'x'));
        assert!(text[4..29].iter().any(|letter| *letter != b'x'));
    }

    #[test]
    fn every_letter_is_drawn() {
        let mut text = vec![];
        push_text(20_000, 0.0, &mut Random::new(1), &mut text);
        assert!(LETTERS.iter().all(|letter| text.contains(letter)));
    }
}
