//! Numbers of any length in their binary form (`numeric_send` in PostgreSQL's src/backend/utils/adt/numeric.c).
use std::fmt::Write;

/// As the server writes it; `None`: it is none. Digits to the base of 10,000: how many, the first one's power, the sign,
/// decimals to show, the digits.
pub fn text(value: &[u8]) -> Option<String> {
    const DECIMALS: u16 = 0x3FFF;
    let mut text = String::new();
    let (head, digits) = value.split_first_chunk::<8>()?;
    let [c0, c1, w0, w1, s0, s1, d0, d1] = *head;
    let weight = i32::from(i16::from_be_bytes([w0, w1]));
    if digits.len() != 2 * usize::from(u16::from_be_bytes([c0, c1])) {
        return None;
    }
    let digit = |power: i32| -> u16 {
        let index = usize::try_from(weight - power).ok();
        let pair = index.and_then(|index| digits.get(2 * index..2 * index + 2));
        pair.map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
    };
    match u16::from_be_bytes([s0, s1]) {
        0 => {}
        0x4000 => text.push('-'),
        special => {
            text.push_str(match special {
                0xC000 => "NaN",
                0xD000 => "Infinity",
                0xF000 => "-Infinity",
                _ => return None,
            });
            return Some(text);
        }
    }
    write!(text, "{}", digit(weight.max(0))).ok()?;
    for power in (0..weight).rev() {
        write!(text, "{:04}", digit(power)).ok()?;
    }
    let decimals = usize::from(u16::from_be_bytes([d0, d1]) & DECIMALS);
    if decimals > 0 {
        text.push('.');
        let end = text.len() + decimals;
        let mut power = -1;
        while text.len() < end {
            write!(text, "{:04}", digit(power)).ok()?;
            power -= 1;
        }
        text.truncate(end);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_written_with_their_decimals() {
        let number = |weight: i16, sign: u16, decimals: u16, digits: &[u16]| {
            let head = [digits.len() as u16, weight as u16, sign, decimals];
            let bytes: Vec<u8> = head.iter().chain(digits).flat_map(|n| n.to_be_bytes()).collect();
            text(&bytes).unwrap()
        };
        assert_eq!(number(0, 0, 0, &[]), "0");
        assert_eq!(number(1, 0x4000, 2, &[12, 345, 6000]), "-120345.60");
        assert_eq!(number(-2, 0, 8, &[12]), "0.00000012");
        assert_eq!(number(2, 0, 0, &[1]), "100000000");
        assert_eq!(number(0, 0xC000, 0, &[]), "NaN");
        assert!(text(&[0, 1, 0, 0, 0, 0, 0, 0]).is_none());
    }
}
