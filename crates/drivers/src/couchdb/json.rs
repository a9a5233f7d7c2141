//! Documents as CouchDB has them: between the members of their own stand those of the server, whose names begin with `_`.
use bakeoff_model::json::{Members, unescape};

/// The characters of a string; what is none as it is.
pub fn text(value: &[u8]) -> String {
    let mut out = Vec::new();
    match unescape(value, &mut out) {
        true => String::from_utf8_lossy(&out).into_owned(),
        false => String::from_utf8_lossy(value).into_owned(),
    }
}

/// A key as the server may have it: `_` at the beginning is its own. The sign in its place has the same place in the order
/// of keys, and is in none.
#[inline]
pub fn stored(key: &[u8]) -> (&'static [u8], &[u8]) {
    match key {
        [b'_', rest @ ..] => (b"^", rest),
        key => (b"", key),
    }
}

/// The key of an `_id`, as text of JSON, appended. Such keys have nothing to escape.
#[inline]
pub fn push_key(id: &[u8], out: &mut Vec<u8>) {
    let inside = id.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    match inside.unwrap_or_default() {
        [b'^', rest @ ..] => {
            out.push(b'_');
            out.extend_from_slice(rest);
        }
        key => out.extend_from_slice(key),
    }
}

/// A key as a string of JSON.
#[inline]
pub fn push_id(key: &[u8], out: &mut Vec<u8>) {
    let (sign, rest) = stored(key);
    out.push(b'"');
    out.extend_from_slice(sign);
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// A document without the server's members.
pub fn push_own(document: &[u8], out: &mut Vec<u8>) {
    out.push(b'{');
    let mut separator: &[u8] = b"";
    for (name, value) in Members::of(document).filter(|(name, _)| !name.starts_with(b"_")) {
        out.extend_from_slice(separator);
        push_name(name, out);
        out.extend_from_slice(value);
        separator = b",";
    }
    out.push(b'}');
}

/// With its `_id`. False: it is no object.
#[inline]
pub fn push_with_id(key: &[u8], json: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(rest) = json.trim_ascii_start().strip_prefix(b"{") else {
        return false;
    };
    out.extend_from_slice(b"{\"_id\":");
    push_id(key, out);
    if !rest.trim_ascii_start().starts_with(b"}") {
        out.push(b',');
    }
    out.extend_from_slice(rest);
    true
}

/// As it is written in JSON.
#[inline]
fn push_name(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name);
    out.extend_from_slice(b"\":");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn what_is_the_servers_is_taken_out_and_put_in() {
        let document = br#"{"_id":"k","a": {"_id":1},"_rev":"1-x","b":"\"}","_attachments":{}}"#;
        assert_eq!(
            written(|out| push_own(document, out)),
            r#"{"a":{"_id":1},"b":"\"}"}"#
        );
        assert_eq!(written(|out| push_own(br#"{"_id":"k"}"#, out)), "{}");
        let with = |json: &[u8]| written(|out| assert!(push_with_id(b"_k", json, out)));
        assert_eq!(with(b" { }"), r#"{"_id":"^k" }"#);
        assert_eq!(with(br#"{"a":1}"#), r#"{"_id":"^k","a":1}"#);
        assert!(!push_with_id(b"k", b"[1]", &mut Vec::new()));
    }

    #[test]
    fn keys_keep_their_order_and_come_back() {
        let mut keys: Vec<Vec<u8>> = [&b"-"[..], b"0", b"Z", b"_", b"_a", b"a", b"z_"]
            .map(<[u8]>::to_vec)
            .to_vec();
        let id = |key: &Vec<u8>| written(|out| push_id(key, out));
        let ids: Vec<String> = keys.iter().map(id).collect();
        assert!(ids.is_sorted(), "{ids:?}");
        keys.reverse();
        for key in keys {
            assert_eq!(
                written(|out| push_key(id(&key).as_bytes(), out)).into_bytes(),
                key
            );
            assert!(!id(&key).starts_with("\"_"));
        }
    }
}
