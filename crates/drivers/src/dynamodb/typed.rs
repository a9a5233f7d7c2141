//! Documents from JSON to DynamoDB's typed attributes and back: `{"a":[1]}` is `{"a":{"L":[{"N":"1"}]}}` there. Texts and digits
//! are copied as they are written, and no tree is built. What is no JSON is refused before anything is sent.
//!
//! Source: Amazon DynamoDB API Reference, "AttributeValue".
use super::errors::client;
use crate::server::errors::malformed;
use bakeoff_model::json::{Elements, Members, write_text, write_value};
use bakeoff_model::outcome::OpError;
use bakeoff_model::value::Value;

/// How the names of attributes begin that are this driver's own. A document with such a member is refused.
pub const OWN: u8 = b'#';
/// The same as JSON may escape it.
const OWN_ESCAPED: &[u8] = b"\\u0023";
/// DynamoDB has 32 levels.
const DEPTH_MAX: usize = 40;

/// Appends the members of a JSON object as attributes, each behind a comma.
#[inline]
pub fn append(out: &mut Vec<u8>, json: &[u8]) -> Result<(), OpError> {
    let mut text = Text { rest: json };
    let whole = std::str::from_utf8(json).is_ok() && text.takes(b'{').is_some();
    let done = whole && text.members(out, 0, true).is_some() && text.next().is_none();
    done.then_some(()).ok_or_else(|| {
        client("the document is no JSON object, is too deep, or has a member whose name begins with #")
    })
}

/// What is left of a JSON text.
struct Text<'j> {
    rest: &'j [u8],
}

impl<'j> Text<'j> {
    /// Behind spaces.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    #[inline]
    fn takes(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.rest = &self.rest[1..])
    }

    fn takes_word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    /// Behind `{`. None: it is no JSON.
    fn members(&mut self, out: &mut Vec<u8>, depth: usize, mut follows: bool) -> Option<()> {
        if self.next()? == b'}' {
            return self.takes(b'}');
        }
        loop {
            if std::mem::replace(&mut follows, true) {
                out.push(b',');
            }
            self.next()?;
            let name = self.string()?;
            let inside = &name[1..];
            if depth == 0 && (inside[0] == OWN || inside.starts_with(OWN_ESCAPED)) {
                return None;
            }
            out.extend_from_slice(name);
            out.push(b':');
            self.takes(b':')?;
            self.value(out, depth + 1)?;
            match self.next()? {
                b',' => self.takes(b',')?,
                _ => return self.takes(b'}'),
            }
        }
    }

    fn elements(&mut self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        if self.next()? == b']' {
            return self.takes(b']');
        }
        loop {
            self.value(out, depth + 1)?;
            match self.next()? {
                b',' => self.takes(b',')?,
                _ => return self.takes(b']'),
            }
            out.push(b',');
        }
    }

    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.next()? {
            b'"' => {
                out.extend_from_slice(b"{\"S\":");
                out.extend_from_slice(self.string()?);
                out.push(b'}');
            }
            b'{' => {
                self.takes(b'{')?;
                out.extend_from_slice(b"{\"M\":{");
                self.members(out, depth, false)?;
                out.extend_from_slice(b"}}");
            }
            b'[' => {
                self.takes(b'[')?;
                out.extend_from_slice(b"{\"L\":[");
                self.elements(out, depth)?;
                out.extend_from_slice(b"]}");
            }
            b't' => {
                self.takes_word(b"true")?;
                out.extend_from_slice(b"{\"BOOL\":true}");
            }
            b'f' => {
                self.takes_word(b"false")?;
                out.extend_from_slice(b"{\"BOOL\":false}");
            }
            b'n' => {
                self.takes_word(b"null")?;
                out.extend_from_slice(b"{\"NULL\":true}");
            }
            _ => number(out, self.number()?),
        }
        Some(())
    }

    /// With its quotes.
    #[inline]
    fn string(&mut self) -> Option<&'j [u8]> {
        let text = self.rest.strip_prefix(b"\"")?;
        let mut at = 0;
        loop {
            match text.get(at)? {
                b'"' => break,
                b'\\' => match text.get(at + 1)? {
                    b'u' => {
                        let digits = text.get(at + 2..at + 6)?;
                        at += digits.iter().all(u8::is_ascii_hexdigit).then_some(6)?;
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    _ => return None,
                },
                0..0x20 => return None,
                _ => at += 1,
            }
        }
        let (string, rest) = self.rest.split_at(at + 2);
        self.rest = rest;
        Some(string)
    }

    #[inline]
    fn number(&mut self) -> Option<&'j [u8]> {
        let text = self.rest;
        let digits_from = |from: usize| {
            text[from..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count()
        };
        let start = usize::from(text.first() == Some(&b'-'));
        let whole = digits_from(start);
        if whole == 0 || (whole > 1 && text[start] == b'0') {
            return None;
        }
        let mut at = start + whole;
        if text.get(at) == Some(&b'.') {
            let fraction = digits_from(at + 1);
            at += (fraction > 0).then_some(1 + fraction)?;
        }
        if let Some(b'e' | b'E') = text.get(at) {
            let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
            let exponent = digits_from(at + 1 + sign);
            at += (exponent > 0).then_some(1 + sign + exponent)?;
        }
        let (number, rest) = text.split_at(at);
        self.rest = rest;
        Some(number)
    }
}

#[inline]
fn number(out: &mut Vec<u8>, digits: &[u8]) {
    out.extend_from_slice(b"{\"N\":\"");
    out.extend_from_slice(digits);
    out.extend_from_slice(b"\"}");
}

/// Appends a text as an attribute's value.
#[inline]
pub fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(b"{\"S\":");
    write_text(text, out);
    out.push(b'}');
}

/// Appends any value as an attribute's.
pub fn value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Null => out.extend_from_slice(b"{\"NULL\":true}"),
        Value::Bool(true) => out.extend_from_slice(b"{\"BOOL\":true}"),
        Value::Bool(false) => out.extend_from_slice(b"{\"BOOL\":false}"),
        Value::Int(_) | Value::Float(_) | Value::Decimal(_) => {
            out.extend_from_slice(b"{\"N\":\"");
            write_value(value, out);
            out.extend_from_slice(b"\"}");
        }
        Value::Text(_) | Value::Bytes(_) | Value::Timestamp(_) | Value::Uuid(_) => {
            out.extend_from_slice(b"{\"S\":");
            write_value(value, out);
            out.push(b'}');
        }
    }
}

/// What an index keeps of a plain value of a document, which is a text with quotes or a number: a text that is empty it cannot.
#[inline]
pub fn indexed(out: &mut Vec<u8>, plain: &[u8]) {
    match plain {
        [b'"', ..] => {
            out.extend_from_slice(b"{\"S\":");
            out.extend_from_slice(plain);
            out.push(b'}');
        }
        digits => number(out, digits),
    }
}

/// The type's letters and the value of an attribute's value.
#[inline]
fn split(typed: &[u8]) -> Option<(&[u8], &[u8])> {
    Members::of(typed).next()
}

/// As JSON has it. None: it is no text, number or truth.
#[inline]
pub fn plain(typed: &[u8]) -> Option<&[u8]> {
    match split(typed)? {
        (b"S" | b"BOOL", value) => Some(value),
        (b"N", value) => unquoted(value),
        _ => None,
    }
}

#[inline]
fn unquoted(string: &[u8]) -> Option<&[u8]> {
    string.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The value at a path of an item, from its attributes inwards.
#[inline]
pub fn at<'a>(item: &'a [u8], steps: &[String]) -> Option<&'a [u8]> {
    let (last, outer) = steps.split_last()?;
    let mut members = item;
    let member = |members: &'a [u8], step: &String| {
        Members::of(members).find_map(|(name, value)| (name == step.as_bytes()).then_some(value))
    };
    for step in outer {
        members = match split(member(members, step)?)? {
            (b"M", members) => members,
            _ => return None,
        };
    }
    member(members, last)
}

/// Appends an item as a JSON object, without what is the driver's own.
#[inline]
pub fn write(out: &mut Vec<u8>, item: &[u8]) -> Result<(), OpError> {
    write_members(out, item, 0)
}

fn write_members(out: &mut Vec<u8>, members: &[u8], depth: usize) -> Result<(), OpError> {
    out.push(b'{');
    let mut is_first = true;
    for (name, typed) in Members::of(members) {
        if depth == 0 && name.first() == Some(&OWN) {
            continue;
        }
        if !std::mem::replace(&mut is_first, false) {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        write_typed(out, typed, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_typed(out: &mut Vec<u8>, typed: &[u8], depth: usize) -> Result<(), OpError> {
    match split(typed) {
        _ if depth > DEPTH_MAX => return Err(malformed("documents in documents without an end")),
        Some((b"S" | b"BOOL", value)) => out.extend_from_slice(value),
        Some((b"NULL", _)) => out.extend_from_slice(b"null"),
        Some((b"M", members)) => return write_members(out, members, depth),
        Some((b"L", elements)) => {
            out.push(b'[');
            for (place, element) in Elements::of(elements).enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_typed(out, element, depth + 1)?;
            }
            out.push(b']');
        }
        Some((b"N", value)) => match unquoted(value) {
            Some(digits) => out.extend_from_slice(digits),
            None => return Err(malformed("a number that is none")),
        },
        _ => return Err(malformed("an attribute of a type that JSON has not")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn stored(json: &[u8]) -> Result<String, OpError> {
        let mut out = b"{\"#key\":{\"S\":\"k\"}".to_vec();
        append(&mut out, json)?;
        out.push(b'}');
        Ok(String::from_utf8(out).unwrap())
    }

    fn there_and_back(json: &str) -> Json {
        let mut out = vec![];
        write(&mut out, stored(json.as_bytes()).unwrap().as_bytes()).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn documents_are_typed_and_come_back() {
        let typed = stored(br#" { "a" : [1, -2.5e3, "x\"", true, null], "m": {"n":{}} } "#).unwrap();
        let typed: Json = serde_json::from_str(&typed).unwrap();
        let wanted = json!({
            "#key": { "S": "k" },
            "a": { "L": [{ "N": "1" }, { "N": "-2.5e3" }, { "S": "x\"" }, { "BOOL": true }, { "NULL": true }] },
            "m": { "M": { "n": { "M": {} } } },
        });
        assert_eq!(typed, wanted);
        for document in [
            json!({}),
            json!({ "a": [], "b": {}, "c": [[{}], ""], "d": "Grüße \u{1}😀\\\"", "in": { "#key": 1 } }),
            json!({ "int": -42, "float": 0.25, "huge": 1.25e20, "t": true, "f": false, "n": null }),
        ] {
            assert_eq!(there_and_back(&document.to_string()), document);
        }
    }

    #[test]
    fn what_cannot_be_an_item_is_refused() {
        for json in [
            "",
            " ",
            "[]",
            "1",
            "{",
            "{\"a\":}",
            "{} {}",
            "{\"a\":1,}",
            "{,}",
            "{\"a\" 1}",
            "{\"a\":01}",
            "{\"a\":1.}",
            "{\"a\":-}",
            "{\"a\":1e}",
            "{\"a\":tru}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":\"\n\"}",
            "{a:1}",
            "{\"a\":[1,]}",
            "{\"a\":[1 2]}",
            "{\"a\":\"x}",
            "{\"#rev\":1}",
            "{\"\\u0023key\":1}",
            "{\"name\": ",
            "{\"\":",
        ] {
            let error = stored(json.as_bytes()).unwrap_err();
            assert_eq!((&*error.code, error.connection_lost), ("CLIENT", false), "{json}");
        }
        assert!(stored(b"{\"a\":\"\xff\"}").is_err());
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert!(stored(deep.as_bytes()).is_err());
    }

    #[test]
    fn plain_values_are_found_by_their_path() {
        let item = stored(br#"{"a":{"b":{"c":-1}},"s":"x\n","t":false,"n":null,"l":[1]}"#).unwrap();
        let found = |path: &str| {
            let steps: Vec<String> = path.split('.').map(str::to_owned).collect();
            at(item.as_bytes(), &steps).and_then(plain)
        };
        assert_eq!(found("a.b.c"), Some(&b"-1"[..]));
        assert_eq!(found("s"), Some(&br#""x\n""#[..]));
        assert_eq!(found("t"), Some(&b"false"[..]));
        for none in ["a", "a.b", "a.x.c", "s.x", "n", "l", "nowhere"] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_as_serde_takes_them_or_refused(text in r#"[\{\}\[\]",:0-9a-z\\ #.eE+-]{0,40}"#) {
            let object = serde_json::from_str::<serde_json::Map<String, Json>>(&text);
            if stored(text.as_bytes()).is_ok() {
                // But for numbers beyond those of f64, and halves of surrogates.
                prop_assert!(object.is_ok() || text.contains(['e', 'E', 'u']), "{}", text);
            } else if let Ok(object) = object {
                prop_assert!(object.keys().any(|name| name.starts_with('#')), "{}", text);
            }
        }

        #[test]
        fn hostile_answers_are_read_or_refused(text in r#"[\{\}\[\]",:SNMLBO1]{0,60}"#) {
            let _ = write(&mut vec![], text.as_bytes());
        }
    }
}
