//! JSON text read and written in place (RFC 8259): what adapters and drivers need of it without building a tree.
//!
//! Text that is no JSON has no members and no values; nothing here panics on it. Names of members are compared as they are
//! written: those that we write have nothing to escape.
use crate::document::PathKind;
use crate::row::RowBuf;
use crate::value::Value;

/// The text of the value at a path of members, from the outermost object inwards.
#[inline]
pub fn at<S: AsRef<[u8]>>(json: &[u8], steps: impl IntoIterator<Item = S>) -> Option<&[u8]> {
    let mut value = trimmed(json);
    for step in steps {
        value = Members::of(value).find_map(|(name, value)| (name == step.as_ref()).then_some(value))?;
    }
    Some(value)
}

/// The members of an object: their names without quotes, as they are written, and the texts of their values.
pub struct Members<'a> {
    /// Behind `{` or a member.
    rest: &'a [u8],
}

impl<'a> Members<'a> {
    /// Of another value than an object there are none.
    #[inline]
    pub fn of(value: &'a [u8]) -> Self {
        let rest = trimmed(value).strip_prefix(b"{");
        Self {
            rest: rest.unwrap_or_default(),
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);
    fn next(&mut self) -> Option<Self::Item> {
        let rest = trimmed(behind(trimmed(self.rest), b',').unwrap_or(self.rest));
        let (name, rest) = value(rest)?;
        let name = name.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let (value, rest) = value(trimmed(behind(trimmed(rest), b':')?))?;
        self.rest = rest;
        Some((name, value))
    }
}

/// The elements of an array, as texts. Of another value there are none.
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    #[inline]
    pub fn of(value: &'a [u8]) -> Self {
        let rest = trimmed(value).strip_prefix(b"[");
        Self {
            rest: rest.unwrap_or_default(),
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = trimmed(behind(trimmed(self.rest), b',').unwrap_or(self.rest));
        let (value, rest) = value(rest)?;
        self.rest = rest;
        Some(value)
    }
}

/// The first value of a text, and what is behind it.
fn value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = match text.first()? {
        b'"' => string_length(text)?,
        b'{' | b'[' => nested_length(text)?,
        b'}' | b']' | b',' | b':' => return None,
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' | b':');
            text.iter().position(ends).unwrap_or(text.len())
        }
    };
    Some(text.split_at(length))
}

/// With its quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn nested_length(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0usize);
    loop {
        match text.get(at)? {
            b'"' => {
                at += string_length(&text[at..])?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    let space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = text.iter().take_while(space).count();
    let text = &text[start..];
    &text[..text.len() - text.iter().rev().take_while(space).count()]
}

fn behind(text: &[u8], first: u8) -> Option<&[u8]> {
    text.split_first()
        .filter(|(byte, _)| **byte == first)
        .map(|(_, rest)| rest)
}

/// The characters of a string, whose text has its quotes, appended to a buffer. False: it is none, or none that UTF-8 can
/// say; the buffer may have part of it.
pub fn unescape(string: &[u8], out: &mut Vec<u8>) -> bool {
    let inside = string
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let Some(mut rest) = inside else {
        return false;
    };
    while let Some(plain) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(&rest[..plain]);
        let Some(&escape) = rest.get(plain + 1) else {
            return false;
        };
        rest = &rest[plain + 2..];
        match escape {
            b'"' | b'\\' | b'/' => out.push(escape),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let Some(character) = escaped(&mut rest) else {
                    return false;
                };
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return false,
        }
    }
    out.extend_from_slice(rest);
    true
}

/// Behind `\u`: one unit, or a pair of surrogates.
fn escaped(rest: &mut &[u8]) -> Option<char> {
    let first = unit(rest)?;
    if !(0xD800..0xDC00).contains(&first) {
        return char::from_u32(first);
    }
    *rest = rest.strip_prefix(b"\\u")?;
    let second = unit(rest)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second)
}

fn unit(rest: &mut &[u8]) -> Option<u32> {
    let (digits, behind) = rest.split_at_checked(4)?;
    *rest = behind;
    digits.iter().try_fold(0, |unit, digit| {
        Some(unit * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// Appends a text as a JSON string with its quotes. What is not UTF-8 is for the reader to refuse.
#[inline]
pub fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[plain..at]);
        plain = at + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let (high, low) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
    out.extend_from_slice(&text[plain..]);
    out.push(b'"');
}

/// Appends a value as JSON. A number that JSON has not (infinite, none) is null; moments and UUIDs are their texts.
pub fn write_value(value: Value<'_>, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to a vector cannot fail.
    let _ = match value {
        Value::Null => out.write_all(b"null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float(value) if value.is_finite() => write!(out, "{value:?}"),
        Value::Float(_) => out.write_all(b"null"),
        Value::Decimal(value) => write!(out, "{value}"),
        Value::Text(text) | Value::Bytes(text) => {
            write_text(text, out);
            Ok(())
        }
        Value::Timestamp(_) | Value::Uuid(_) => write!(out, "\"{value}\""),
    };
}

/// Adds the value of a path, from its text, to a row: null where it is absent, null, or of another kind. `text` is room
/// that is used again and again.
pub fn push_cell(found: Option<&[u8]>, kind: PathKind, text: &mut Vec<u8>, row: &mut RowBuf) {
    let found = found.unwrap_or(b"null");
    let digits = || std::str::from_utf8(found).ok();
    text.clear();
    match kind {
        PathKind::Text(_) if unescape(found, text) => row.push(Value::Text(text)),
        PathKind::Integer => row.push(whole(digits()).map_or(Value::Null, Value::Int)),
        PathKind::Float => {
            let number = digits().and_then(|digits| digits.parse().ok());
            row.push(number.map_or(Value::Null, Value::Float));
        }
        PathKind::Bool if found == b"true" => row.push(Value::Bool(true)),
        PathKind::Bool if found == b"false" => row.push(Value::Bool(false)),
        PathKind::Text(_) | PathKind::Bool | PathKind::Texts(_) => row.push(Value::Null),
    }
}

/// Some systems write a whole number with a fraction of zeros.
fn whole(digits: Option<&str>) -> Option<i64> {
    let digits = digits?;
    digits.parse().ok().or_else(|| {
        let (whole, fraction) = digits.split_once('.')?;
        fraction
            .bytes()
            .all(|digit| digit == b'0')
            .then(|| whole.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &[u8] =
        br#" { "a" : {"b":[1,{"c":"]}"}],"n":-1.50e3 ,"t":true}, "s":"q\"\\\u00e9\ud83d\ude00\n", "z":null } "#;

    fn found<'a>(path: &str) -> Option<&'a [u8]> {
        at(DOCUMENT, path.split('.'))
    }

    #[test]
    fn members_are_found_by_their_path_whatever_other_members_hold() {
        assert_eq!(found("a.b"), Some(&br#"[1,{"c":"]}"}]"#[..]));
        assert_eq!(found("a.n"), Some(&b"-1.50e3"[..]));
        assert_eq!(found("a.t"), Some(&b"true"[..]));
        assert_eq!(found("z"), Some(&b"null"[..]));
        assert_eq!(found("a.x"), None);
        assert_eq!(found("s.x"), None);
        assert_eq!(found("b"), None, "only of the object itself");
        let elements: Vec<_> = found("a.b").into_iter().flat_map(Elements::of).collect();
        assert_eq!(elements, [&b"1"[..], br#"{"c":"]}"}"#]);
    }

    #[test]
    fn texts_are_what_they_were_before_they_were_escaped() {
        let mut text = vec![];
        assert!(found("s").is_some_and(|string| unescape(string, &mut text)));
        assert_eq!(text, "q\"\\é😀\n".as_bytes());
        for hostile in [
            "",
            "\"",
            "\\",
            "a\"b\\c\u{1}\u{1f}\t\n\r",
            "☃😀",
            "'; DROP TABLE x; --",
        ] {
            let (mut written, mut read) = (vec![], vec![]);
            write_text(hostile.as_bytes(), &mut written);
            assert_eq!(
                serde_json::from_slice::<String>(&written).ok().as_deref(),
                Some(hostile)
            );
            assert!(unescape(&written, &mut read));
            assert_eq!(read, hostile.as_bytes());
        }
        for broken in [
            &br#""\u12""#[..],
            br#""\ud800""#,
            br#""\ud800\u0041""#,
            br#""\x""#,
            br#""\"#,
            b"x",
            b"\"",
        ] {
            assert!(
                !unescape(broken, &mut vec![]),
                "{}",
                String::from_utf8_lossy(broken)
            );
        }
    }

    #[test]
    fn what_is_no_json_has_nothing_in_it() {
        for broken in [
            "",
            "{",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":{",
            "{\"a\":\"",
            "{,}",
            "{\"a\":}",
            "[1",
            "\\",
        ] {
            assert_eq!(at(broken.as_bytes(), ["a"]), None, "{broken}");
        }
    }

    #[test]
    fn cells_are_of_the_paths_kind_or_null() {
        let (mut row, mut text) = (RowBuf::default(), vec![]);
        let mut push = |found: Option<&[u8]>, kind| push_cell(found, kind, &mut text, &mut row);
        push(Some(br#""a\nb""#), PathKind::Text(9));
        push(Some(b"-7"), PathKind::Integer);
        push(Some(b"7.00"), PathKind::Integer);
        push(Some(b"0.5"), PathKind::Float);
        push(Some(b"3"), PathKind::Float);
        push(Some(b"false"), PathKind::Bool);
        push(None, PathKind::Integer);
        push(Some(b"null"), PathKind::Bool);
        push(Some(b"\"7\""), PathKind::Integer);
        let nothing = Value::Null;
        let cells = [
            Value::Text(b"a\nb"),
            Value::Int(-7),
            Value::Int(7),
            Value::Float(0.5),
            Value::Float(3.0),
            Value::Bool(false),
            nothing,
            nothing,
            nothing,
        ];
        assert!(row.cells().eq(cells), "{row:?}");
    }

    #[test]
    fn values_are_written_as_json_has_them() {
        let written = |value| {
            let mut out = vec![];
            write_value(value, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        assert_eq!(written(Value::Float(2.0)), "2.0");
        assert_eq!(written(Value::Float(f64::NAN)), "null");
        assert_eq!(written(Value::Int(-3)), "-3");
        assert_eq!(written(Value::Bool(true)), "true");
        assert_eq!(written(Value::Text(b"\"")), r#""\"""#);
    }
}
