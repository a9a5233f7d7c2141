//! One value, of a parameter and of a cell alike. A driver maps it to the column's declared type and back.
use std::fmt;

/// Text and bytes are borrowed, so a value is copied freely: three words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Decimal(Decimal),
    /// UTF-8, as far as the system keeps it so. Also what no other variant can hold: a decimal of too many digits, a date
    /// that is none.
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    /// A date is its midnight.
    Timestamp(Timestamp),
    Uuid([u8; 16]),
}

impl<'a> Value<'a> {
    /// Of text and of bytes: some systems do not tell them apart in every answer.
    #[inline(always)]
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Text(bytes) | Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A whole number, as systems give it (a count, a sum): as such, as a decimal without places, or in digits.
    pub fn whole_number(self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(value),
            Value::Decimal(Decimal { units, scale: 0 }) => Some(units),
            Value::Text(digits) | Value::Bytes(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
            _ => None,
        }
    }
}

/// As a person reads it; bytes in hexadecimal digits.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Null => f.write_str("NULL"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Decimal(value) => write!(f, "{value}"),
            Value::Text(text) => f.write_str(&String::from_utf8_lossy(text)),
            Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Timestamp(value) => write!(f, "{value}"),
            Value::Uuid(bytes) => bytes.iter().enumerate().try_for_each(|(i, byte)| {
                let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
                write!(f, "{dash}{byte:02x}")
            }),
        }
    }
}

/// `units` / 10^`scale`: 12.30 is 1230 of scale 2, and another value than 12.3. 18 digits always fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub units: i64,
    pub scale: u8,
}

impl Decimal {
    /// From digits with at most one point, and a sign; `None`: it is none, or has too many digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (negative, digits) = match text.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, text),
        };
        let (mut units, mut places, mut count) = (0i64, None, 0);
        for &byte in digits {
            match byte {
                b'0'..=b'9' => {
                    units = units.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                    count += 1;
                }
                b'.' if places.is_none() => places = Some(count),
                _ => return None,
            }
        }
        let scale = places.map_or(0, |before| count - before);
        (count > 0).then_some(())?;
        Some(Self {
            units: if negative { -units } else { units },
            scale: u8::try_from(scale).ok()?,
        })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.units < 0 { "-" } else { "" };
        let units = self.units.unsigned_abs();
        let Some(one) = 10u64.checked_pow(self.scale.into()) else {
            return write!(f, "{sign}0.{units:0places$}", places = self.scale.into());
        };
        match self.scale {
            0 => write!(f, "{sign}{units}"),
            scale => write!(
                f,
                "{sign}{}.{:0places$}",
                units / one,
                units % one,
                places = scale.into()
            ),
        }
    }
}

/// Microseconds after 1970-01-01 00:00 UTC, on the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    pub us: i64,
}

const DAY_S: i64 = 86_400;

impl Timestamp {
    /// `None`: there is no such moment (a month 0, a 30th of February).
    pub fn from_civil(civil: Civil) -> Option<Self> {
        let days = days_from_civil(civil.year, civil.month, civil.day);
        let time_s = i64::from(civil.hour) * 3600 + i64::from(civil.minute) * 60 + i64::from(civil.second);
        let found = Self {
            us: (days * DAY_S + time_s) * 1_000_000 + i64::from(civil.us),
        };
        (found.civil() == civil).then_some(found)
    }

    pub fn civil(self) -> Civil {
        let (seconds, us) = (self.us.div_euclid(1_000_000), self.us.rem_euclid(1_000_000));
        let (days, second_of_day) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month,
            day,
            hour: (second_of_day / 3600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
            us: us as u32,
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.civil().fmt(f)
    }
}

/// `2026-11-21 08:01:00.000000`, which every SQL system reads.
impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            us,
        } = self;
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06}"
        )
    }
}

/// Date and time of day, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Civil {
    pub year: i32,
    /// From 1, as the day.
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub us: u32,
}

/// Days after 1970-01-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013).
fn days_from_civil(year: i32, month: u8, day: u8) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i32, u8, u8) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u8, day as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value<'_>>(), 24);
    }

    #[test]
    fn decimals_keep_their_places() {
        for (text, units, scale) in [
            ("12.30", 1230, 2),
            ("-0.05", -5, 2),
            ("7", 7, 0),
            ("-123456789012345678", -123_456_789_012_345_678, 0),
        ] {
            let decimal = Decimal { units, scale };
            assert_eq!(Decimal::parse(text.as_bytes()), Some(decimal));
            assert_eq!(decimal.to_string(), text);
        }
        assert_eq!(Decimal::parse(b".5"), Some(Decimal { units: 5, scale: 1 }));
        for none in ["", "-", ".", "1.2.3", "NaN", "1e5", "99999999999999999999"] {
            assert_eq!(Decimal::parse(none.as_bytes()), None, "{none}");
        }
        let small = Decimal { units: -3, scale: 25 };
        assert_eq!(small.to_string(), format!("-0.{}3", "0".repeat(24)));
    }

    #[test]
    fn moments_and_dates_are_the_same() {
        for (text, us) in [
            ("1970-01-01 00:00:00.000000", 0),
            ("2026-11-21 08:01:02.000003", 1_795_248_062_000_003),
            ("2000-02-29 23:59:59.999999", 951_868_799_999_999),
            ("1969-12-31 23:59:59.000000", -1_000_000),
            ("0001-01-01 00:00:00.000000", -62_135_596_800_000_000),
        ] {
            let moment = Timestamp { us };
            assert_eq!(moment.to_string(), text);
            assert_eq!(Timestamp::from_civil(moment.civil()), Some(moment));
        }
        let date = |year, month, day| Civil {
            year,
            month,
            day,
            ..Civil::default()
        };
        for none in [
            date(0, 0, 0),
            date(2026, 2, 29),
            date(2026, 13, 1),
            date(2026, 1, 0),
        ] {
            assert_eq!(Timestamp::from_civil(none), None, "{none:?}");
        }
    }

    #[test]
    fn values_are_written_as_a_person_reads_them() {
        let id = *b"\x12\x34\x56\x78\x9a\xbc\xde\xf0\x12\x34\x56\x78\x9a\xbc\xde\xf0";
        assert_eq!(
            Value::Uuid(id).to_string(),
            "12345678-9abc-def0-1234-56789abcdef0"
        );
        assert_eq!(Value::Bytes(b"\x00\xff").to_string(), "00ff");
        assert_eq!(Value::Text("Grün".as_bytes()).to_string(), "Grün");
        assert_eq!(Value::Null.to_string(), "NULL");
    }

    #[test]
    fn whole_numbers_come_in_many_shapes() {
        for value in [
            Value::Int(-7),
            Value::Decimal(Decimal { units: -7, scale: 0 }),
            Value::Text(b"-7"),
            Value::Bytes(b"-7"),
        ] {
            assert_eq!(value.whole_number(), Some(-7), "{value:?}");
        }
        assert_eq!(
            Value::Decimal(Decimal { units: 70, scale: 1 }).whole_number(),
            None
        );
        assert_eq!(Value::Null.whole_number(), None);
    }
}
