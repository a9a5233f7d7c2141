//! Documents from JSON to BSON and back. On the way there a text without escapes is copied once and nothing is allocated;
//! what is no JSON, or has a member that this driver keeps for itself, is refused before anything is sent.
use super::bson::{self, A_TEXT, ARRAY, Bson, DOCUMENT, NOTHING};
use crate::server::errors::malformed;
use bakeoff_model::outcome::{FailClass, OpError};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use std::fmt;

/// The key's member, which is the server's own name for it.
pub const KEY: &[u8] = b"_id";
/// The revision's. No path of a workload can be called so, and a document with such a member is refused.
pub const REVISION: &[u8] = b"#rev";

/// Deeper documents the server itself refuses (its limit is 100 of those that are stored, 200 of all that it reads).
const DEPTH_MAX: usize = 200;

/// Appends the members of a JSON object to a document that was begun. Errors: it is none.
#[inline]
pub fn append(out: &mut Vec<u8>, json: &[u8]) -> Result<(), OpError> {
    let mut from = serde_json::Deserializer::from_slice(json);
    let appended = from.deserialize_map(Members { out, outermost: true });
    appended.and_then(|()| from.end()).map_err(refused)
}

#[cold]
fn refused(error: serde_json::Error) -> OpError {
    OpError::fail(
        FailClass::Refused,
        "CLIENT",
        format!("the document cannot be stored: {error}"),
    )
}

/// The members of an object, each appended.
struct Members<'o> {
    out: &'o mut Vec<u8>,
    outermost: bool,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { out, outermost } = self;
        loop {
            let kind = out.len();
            let name = MemberName { out, outermost };
            if map.next_key_seed(name)?.is_none() {
                return Ok(());
            }
            map.next_value_seed(Member { out, kind })?;
        }
    }
}

/// A member's name, after a place for its type.
struct MemberName<'o> {
    out: &'o mut Vec<u8>,
    outermost: bool,
}

impl<'de> DeserializeSeed<'de> for MemberName<'_> {
    type Value = ();
    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberName<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        let name = name.as_bytes();
        if self.outermost && (name == KEY || name == REVISION) {
            return Err(E::custom("its members `_id` and `#rev` are the driver's own"));
        }
        if name.contains(&0) {
            return Err(E::custom("the name of a member has a zero in it"));
        }
        self.out.push(0);
        self.out.extend_from_slice(name);
        self.out.push(0);
        Ok(())
    }
}

/// A member's value, and its type's place.
struct Member<'o> {
    out: &'o mut Vec<u8>,
    kind: usize,
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = ();
    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    #[inline]
    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.out[self.kind] = bson::boolean(self.out, value);
        Ok(())
    }
    #[inline]
    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.out[self.kind] = bson::integer(self.out, value);
        Ok(())
    }
    #[inline]
    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.out[self.kind] = match i64::try_from(value) {
            Ok(value) => bson::integer(self.out, value),
            Err(_) => bson::double(self.out, value as f64),
        };
        Ok(())
    }
    #[inline]
    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.out[self.kind] = bson::double(self.out, value);
        Ok(())
    }
    #[inline]
    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        bson::bare_text(self.out, value.as_bytes());
        self.out[self.kind] = A_TEXT;
        Ok(())
    }
    #[inline]
    fn visit_unit<E>(self) -> Result<(), E> {
        self.out[self.kind] = NOTHING;
        Ok(())
    }
    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let Self { out, kind } = self;
        out[kind] = DOCUMENT;
        let start = bson::open(out);
        Members {
            out,
            outermost: false,
        }
        .visit_map(map)?;
        bson::close(out, start);
        Ok(())
    }
    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { out, kind } = self;
        out[kind] = ARRAY;
        let start = bson::open(out);
        for number in 0.. {
            let kind = out.len();
            out.push(0);
            number_name(out, number);
            if seq.next_element_seed(Member { out, kind })?.is_none() {
                out.truncate(kind);
                break;
            }
        }
        bson::close(out, start);
        Ok(())
    }
}

/// The name of an array's element, and its end.
#[inline]
pub fn number_name(out: &mut Vec<u8>, number: usize) {
    crate::server::digits::digits(number, |digits| out.extend_from_slice(digits));
    out.push(0);
}

/// Appends the document as a JSON object, without what is the driver's own.
#[inline]
pub fn write(out: &mut Vec<u8>, document: &[u8]) -> Result<(), OpError> {
    write_document(out, document, 0)
}

fn write_document(out: &mut Vec<u8>, document: &[u8], depth: usize) -> Result<(), OpError> {
    let mut all = bson::elements(document)?;
    out.push(b'{');
    let mut is_first = true;
    while let Some((name, value)) = all.next()? {
        if depth == 0 && (name == KEY || name == REVISION) {
            continue;
        }
        if !std::mem::replace(&mut is_first, false) {
            out.push(b',');
        }
        write_text(out, name)?;
        out.push(b':');
        write_value(out, value, depth)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_array(out: &mut Vec<u8>, array: &[u8], depth: usize) -> Result<(), OpError> {
    let mut all = bson::elements(array)?;
    out.push(b'[');
    let mut is_first = true;
    while let Some((_, value)) = all.next()? {
        if !std::mem::replace(&mut is_first, false) {
            out.push(b',');
        }
        write_value(out, value, depth)?;
    }
    out.push(b']');
    Ok(())
}

fn write_value(out: &mut Vec<u8>, value: Bson<'_>, depth: usize) -> Result<(), OpError> {
    if depth == DEPTH_MAX {
        return Err(malformed("documents in documents without an end"));
    }
    match value {
        Bson::Double(number) => write_json(out, &number),
        Bson::Text(text) => write_text(out, text),
        Bson::Document(document) => write_document(out, document, depth + 1),
        Bson::Array(array) => write_array(out, array, depth + 1),
        Bson::Bool(value) => write_json(out, &value),
        Bson::Null => write_json(out, &()),
        Bson::Int(number) => write_json(out, &number),
        Bson::Binary(_) => Err(no_json(0x05)),
        Bson::Other(kind) => Err(no_json(kind)),
    }
}

#[inline]
fn write_text(out: &mut Vec<u8>, text: &[u8]) -> Result<(), OpError> {
    match std::str::from_utf8(text) {
        Ok(text) => write_json(out, text),
        Err(_) => Err(malformed("a text that is no UTF-8")),
    }
}

/// Into memory nothing of this fails.
#[inline]
fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), OpError> {
    serde_json::to_writer(out, value).map_err(refused)
}

#[cold]
fn no_json(kind: u8) -> OpError {
    let what = format!("a document holds a value of BSON type 0x{kind:02x}, which has no form in JSON");
    OpError::fail(FailClass::Other, "CLIENT", what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Number, Value, json};

    fn stored(json: &str) -> Result<Vec<u8>, OpError> {
        let mut out = vec![];
        let start = bson::open(&mut out);
        append(&mut out, json.as_bytes())?;
        bson::close(&mut out, start);
        Ok(out)
    }

    fn there_and_back(json: &str) -> String {
        let mut out = vec![];
        write(&mut out, &stored(json).unwrap()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_comes_back_as_it_was() {
        for json in [
            "{}",
            r#"{"a":1,"b":-1,"c":2147483648,"d":9223372036854775807,"e":-9223372036854775808}"#,
            r#"{"a":1.0,"b":-0.5,"c":1e+300,"d":true,"e":false,"f":null}"#,
            r#"{"text":"Grün \" \\ \n \u0001 \u0000","":""}"#,
            r#"{"a":{"b":{"c":[]}},"d":[{},[1,"x",[2.5]],null]}"#,
            r#"{"in":{"_id":1,"{#rev}":2},"_id ":3}"#,
        ] {
            assert_eq!(there_and_back(json), json);
        }
        let long: Vec<u32> = (0..1200).collect();
        let long = json!({ "a": long }).to_string();
        assert_eq!(there_and_back(&long), long);
    }

    #[test]
    fn what_cannot_be_a_document_is_refused() {
        for json in [
            "",
            "[]",
            "1",
            "null",
            "{",
            r#"{"a":}"#,
            "{} {}",
            r#"{"a":1,}"#,
            r#"{"a\u0000":1}"#,
            r#"{"_id":1}"#,
            r##"{"#rev":1}"##,
        ] {
            let error = stored(json).unwrap_err();
            assert_eq!(&*error.code, "CLIENT", "{json}");
            assert!(!error.connection_lost);
        }
        assert!(stored(r#"{"a":"\xff"}"#).is_err());
        let deep = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
        assert!(stored(&deep).is_err());
    }

    #[test]
    fn documents_without_an_end_are_refused() {
        let mut document = b"\x05\0\0\0\0".to_vec();
        for _ in 0..DEPTH_MAX + 5 {
            let mut outer = vec![];
            let start = bson::open(&mut outer);
            outer.extend_from_slice(b"\x03a\0");
            outer.extend_from_slice(&document);
            bson::close(&mut outer, start);
            document = outer;
        }
        assert!(write(&mut vec![], &document).is_err());
    }

    #[test]
    fn what_has_no_form_in_json_is_reported_and_the_session_goes_on() {
        let error = write(&mut vec![], b"\x10\0\0\0\x09a\0abcdefgh\0").unwrap_err();
        assert!(
            error.message.contains("0x09") && !error.connection_lost,
            "{error}"
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| Number::from_f64(number).map_or(Value::Null, Value::Number)),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map("[^\0]{0,8}", inner, 0..8).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_comes_back(value in prop::collection::btree_map("[a-z]{0,8}", any_json(), 0..8)) {
            let value = Value::from_iter(value);
            let back: Value = serde_json::from_str(&there_and_back(&value.to_string())).unwrap();
            prop_assert_eq!(back, value);
        }

        #[test]
        fn noise_is_read_or_refused(noise in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut document = vec![];
            let start = bson::open(&mut document);
            document.extend_from_slice(&noise);
            bson::close(&mut document, start);
            let mut out = vec![];
            if write(&mut out, &document).is_ok() {
                serde_json::from_slice::<Value>(&out).unwrap();
            }
        }
    }
}
