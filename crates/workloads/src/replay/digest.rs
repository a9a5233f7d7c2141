//! The form of a statement: what is left when its numbers and texts are taken out.

/// Numbers and texts become `?`, a list of them `?, ...`, several lists of rows one; blanks are one, comments are gone.
/// quotes_names: a text in double quotes is a name.
pub fn digest(sql: &str, quotes_names: bool) -> String {
    let bytes = sql.as_bytes();
    let mut form = String::with_capacity(sql.len().min(200));
    let mut at = 0;
    while at < bytes.len() {
        let rest = &sql[at..];
        let byte = bytes[at];
        let length = match byte {
            b'"' if quotes_names => {
                let end = quoted(bytes, at) - at;
                word(&mut form, &rest[..end]);
                end
            }
            b'\'' | b'"' => {
                value(&mut form);
                quoted(bytes, at) - at
            }
            b'`' => {
                let end = rest[1..].find('`').map_or(rest.len(), |end| end + 2);
                word(&mut form, &rest[..end]);
                end
            }
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") && !rest.starts_with("/*!") => {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            }
            b'0'..=b'9' => {
                value(&mut form);
                let end = |c: char| !(c.is_ascii_alphanumeric() || c == '.');
                rest.find(end).unwrap_or(rest.len())
            }
            _ if byte.is_ascii_whitespace() => {
                if !form.is_empty() && !form.ends_with(' ') {
                    form.push(' ');
                }
                1
            }
            _ if byte == b'_' || byte.is_ascii_alphabetic() || !byte.is_ascii() => {
                let end = |c: char| !(c == '_' || c == '$' || c.is_alphanumeric());
                let end = rest
                    .find(end)
                    .unwrap_or(rest.len())
                    .max(rest.chars().next().map_or(1, char::len_utf8));
                word(&mut form, &rest[..end]);
                end
            }
            b')' => {
                form.push(')');
                one_row(&mut form);
                1
            }
            _ => {
                if byte == b',' {
                    form.truncate(form.trim_end().len());
                }
                form.push(byte as char);
                1
            }
        };
        at += length.max(1);
    }
    form.truncate(form.trim_end().len());
    form
}

fn word(form: &mut String, word: &str) {
    form.push_str(word);
}

/// A value after others of its list goes without a place of its own.
fn value(form: &mut String) {
    for listed in ["?, ...,", "?,"] {
        let end = form.trim_end().len();
        if form[..end].ends_with(listed) {
            form.truncate(end - listed.len());
            form.push_str("?, ...");
            return;
        }
    }
    // A number with a sign.
    if form.ends_with("(-")
        || form.ends_with("= -")
        || form.ends_with("=-")
        || form.ends_with(",-")
        || form.ends_with(", -")
    {
        form.pop();
        return value(form);
    }
    form.push('?');
}

/// `(?, ...), (?, ...)` is what one of them is.
fn one_row(form: &mut String) {
    let Some(open) = form.rfind('(') else { return };
    let row = form[open..].to_owned();
    if !row.contains('?') {
        return;
    }
    let before = form[..open].trim_end();
    let Some(before) = before.strip_suffix(',') else {
        return;
    };
    let end = before.trim_end().len();
    if form[..end].ends_with(&row) {
        form.truncate(end);
    }
}

/// Where a text that begins at `at` ends: quotes in it are doubled or follow a backslash.
fn quoted(bytes: &[u8], at: usize) -> usize {
    let (quote, mut end) = (bytes[at], at + 1);
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 2,
            byte if byte == quote && bytes.get(end + 1) == Some(&quote) => end += 2,
            byte if byte == quote => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn statements_that_differ_in_values_have_one_form() {
        for (sql, form) in [
            (
                "SELECT c FROM sbtest1 WHERE id=5017",
                "SELECT c FROM sbtest1 WHERE id=?",
            ),
            (
                "SELECT  c\n FROM t WHERE a = 'it''s' AND b = \"x\\\"y\"",
                "SELECT c FROM t WHERE a = ? AND b = ?",
            ),
            (
                "SELECT a1 FROM t WHERE k IN (1, 2,3 , 4)",
                "SELECT a1 FROM t WHERE k IN (?, ...)",
            ),
            (
                "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y'),(3,'z')",
                "INSERT INTO t (a, b) VALUES (?, ...)",
            ),
            (
                "UPDATE t SET a = -1, b=-2.5e3 /* why */ WHERE i = 0xFF -- end",
                "UPDATE t SET a = ?, b=? WHERE i = ?",
            ),
            ("SELECT `c 1` FROM t", "SELECT `c 1` FROM t"),
            ("SELECT 'never closed", "SELECT ?"),
        ] {
            assert_eq!(digest(sql, false), form);
        }
        let names = "SELECT \"a\" FROM \"t\" WHERE b = ?";
        assert_eq!(digest("SELECT \"a\" FROM \"t\" WHERE b = 'x'", true), names);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(sql in "\\PC*") {
            digest(&sql, false);
            digest(&sql, true);
        }

        #[test]
        fn a_form_is_its_own_form(sql in "(SELECT|UPDATE) [a-z]{1,5}( = [0-9]{1,4}| IN \\([0-9], [0-9]\\)| '[a-z ]*')*") {
            let form = digest(&sql, false);
            prop_assert_eq!(digest(&form, false), form);
        }
    }
}
