//! Numbers of any length in their binary form (`numeric_send` in PostgreSQL's src/backend/utils/adt/numeric.c): digits to
//! the base of 10,000, of which it says how many there are, the first one's power, the sign, and the decimals to show.
use bakeoff_model::value::Decimal;
use bytes::BufMut;
use std::fmt::Write;

const BASE: i128 = 10_000;
/// Decimal digits in one of ours.
const PLACES: i32 = 4;
const NEGATIVE: u16 = 0x4000;
const DECIMALS: u16 = 0x3FFF;
/// Ours in the longest number: 19 digits, and up to 3 places that fill the last one.
const DIGITS_MAX: usize = 6;

struct Binary<'a> {
    /// Of the first digit.
    weight: i32,
    sign: u16,
    decimals: u16,
    digits: &'a [u8],
}

fn read(value: &[u8]) -> Option<Binary<'_>> {
    let (head, digits) = value.split_first_chunk::<8>()?;
    let [c0, c1, w0, w1, s0, s1, d0, d1] = *head;
    (digits.len() == 2 * usize::from(u16::from_be_bytes([c0, c1]))).then_some(Binary {
        weight: i16::from_be_bytes([w0, w1]).into(),
        sign: u16::from_be_bytes([s0, s1]),
        decimals: u16::from_be_bytes([d0, d1]) & DECIMALS,
        digits,
    })
}

/// `None`: it is no number, or has too many digits; then [`text`] has it.
#[inline]
pub fn decimal(value: &[u8]) -> Option<Decimal> {
    let binary = read(value)?;
    let scale = u8::try_from(binary.decimals).ok()?;
    let count = binary.digits.len() / 2;
    if count > DIGITS_MAX || ![0, NEGATIVE].contains(&binary.sign) {
        return None;
    }
    let mut units = 0;
    for pair in binary.digits.chunks_exact(2) {
        let digit = i128::from(u16::from_be_bytes([pair[0], pair[1]]));
        if digit >= BASE {
            return None;
        }
        units = units * BASE + digit;
    }
    // From the place of the last digit to that of the last decimal.
    let places = i32::from(scale) + PLACES * (binary.weight + 1 - count as i32);
    let factor = 10i128.checked_pow(places.unsigned_abs());
    units = match factor {
        _ if units == 0 => 0,
        Some(factor) if places >= 0 => units.checked_mul(factor)?,
        Some(factor) if units % factor == 0 => units / factor,
        _ => return None,
    };
    let units = i64::try_from(if binary.sign == NEGATIVE { -units } else { units }).ok()?;
    Some(Decimal { units, scale })
}

/// The binary form.
#[inline]
pub fn write(decimal: Decimal, out: &mut impl BufMut) {
    let fraction = i32::from(decimal.scale.div_ceil(PLACES as u8));
    let filling = fraction * PLACES - i32::from(decimal.scale);
    let mut rest = i128::from(decimal.units).abs() * 10i128.pow(filling.unsigned_abs());
    // The last first, without zeros at the end.
    let (mut digits, mut count, mut power) = ([0u16; DIGITS_MAX], 0, -fraction);
    while rest > 0 {
        let digit = (rest % BASE) as u16;
        if count > 0 || digit > 0 {
            digits[count] = digit;
            count += 1;
        }
        rest /= BASE;
        power += 1;
    }
    out.put_u16(count as u16);
    out.put_i16(if count > 0 { (power - 1) as i16 } else { 0 });
    out.put_u16(if decimal.units < 0 { NEGATIVE } else { 0 });
    out.put_u16(decimal.scale.into());
    digits[..count].iter().rev().for_each(|digit| out.put_u16(*digit));
}

/// As the server writes it; `None`: it is none.
#[cold]
pub fn text(value: &[u8]) -> Option<String> {
    let mut text = String::new();
    let Binary {
        weight,
        sign,
        decimals,
        digits,
    } = read(value)?;
    let digit = |power: i32| -> u16 {
        let index = usize::try_from(weight - power).ok();
        let pair = index.and_then(|index| digits.get(2 * index..2 * index + 2));
        pair.map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
    };
    match sign {
        0 => {}
        NEGATIVE => text.push('-'),
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
    let decimals = usize::from(decimals);
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

    #[test]
    fn what_is_written_is_read_back_and_printed_alike() {
        let units = [0, 1, -5, 10_000, -10_000, 1_230, 99_999_999, i64::MAX, i64::MIN];
        for decimal in units
            .into_iter()
            .flat_map(|units| [0, 1, 2, 3, 4, 5, 8, 19, 20, 38, 255].map(|scale| Decimal { units, scale }))
        {
            let mut bytes = Vec::new();
            write(decimal, &mut bytes);
            assert_eq!(super::decimal(&bytes), Some(decimal));
            assert_eq!(text(&bytes), Some(decimal.to_string()));
        }
    }

    #[test]
    fn what_no_decimal_holds_is_left_to_its_text() {
        let number = |weight: i16, sign: u16, decimals: u16, digits: &[u16]| {
            let head = [digits.len() as u16, weight as u16, sign, decimals];
            head.iter()
                .chain(digits)
                .flat_map(|n| n.to_be_bytes())
                .collect::<Vec<u8>>()
        };
        for none in [
            number(0, 0xC000, 0, &[]),    // not a number
            number(5, 0, 0, &[1]),        // 21 digits
            number(i16::MAX, 0, 0, &[1]), // as many as there can be
            number(0, 0, 0x3FFF, &[1]),
            number(0, 0, 0, &[10_000]), // no digit
            number(-1, 0, 2, &[1]),     // more places than it shows
            number(0, 0, 0, &[1; 7]),
            vec![0; 7],
        ] {
            assert_eq!(decimal(&none), None, "{none:?}");
        }
    }
}
