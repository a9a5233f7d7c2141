//! Records as a request has them: parameters, escaped and numbered, and expressions, quoted.
use crate::server::digits::digits;
use crate::server::http::escape;
use bakeoff_model::record::{Fields, Record, TableSpec};

/// As the control plane has it: the item in every domain that this driver has made.
pub const MARK: &[u8] = b"#bakeoff";
/// Every record has it.
const THERE: (&[u8], &[u8]) = (b"%23", b"1");

pub struct Attached {
    /// As a parameter has it.
    pub domain: Vec<u8>,
    /// As an expression has it.
    pub quoted: Vec<u8>,
    pub fields: Vec<Field>,
}

pub struct Field {
    pub name: Vec<u8>,
    pub parameter: Vec<u8>,
    pub quoted: Vec<u8>,
}

pub fn escaped(text: &[u8]) -> Vec<u8> {
    let mut written = vec![];
    escape(&mut written, text);
    written
}

/// A text or a name in an expression: its quotes are doubled.
fn push_quoted(expression: &mut Vec<u8>, quote: u8, text: &[u8]) {
    expression.push(quote);
    for &byte in text {
        expression.push(byte);
        if byte == quote {
            expression.push(quote);
        }
    }
    expression.push(quote);
}

fn named(name: &str) -> Vec<u8> {
    let mut written = vec![];
    push_quoted(&mut written, b'`', name.as_bytes());
    written
}

impl Attached {
    pub fn new(spec: &TableSpec) -> Self {
        let field = |name: &String| Field {
            name: name.as_bytes().to_vec(),
            parameter: escaped(name.as_bytes()),
            quoted: named(name),
        };
        Self {
            domain: escaped(spec.name.as_bytes()),
            quoted: named(&spec.name),
            fields: spec.field_names.iter().map(field).collect(),
        }
    }

    /// Which of its fields are selected.
    pub fn selected(&self, fields: Fields) -> std::ops::Range<usize> {
        match fields {
            Fields::One(field) => field as usize..field as usize + 1,
            _ => 0..self.fields.len(),
        }
    }
}

/// The numbers from 1 to `count` in the order of their digits: 1, 10, 11, 2.
pub fn by_digits(count: usize) -> impl Iterator<Item = usize> {
    let mut next = Some(1).filter(|first| *first <= count);
    std::iter::from_fn(move || {
        let now = next?;
        next = Some(now * 10).filter(|longer| *longer <= count).or_else(|| {
            let mut up = now;
            while up > 0 && (up % 10 == 9 || up == count) {
                up /= 10;
            }
            (up > 0).then_some(up + 1)
        });
        Some(now)
    })
}

pub fn push_number(body: &mut Vec<u8>, number: usize) {
    digits(number, |digits| body.extend_from_slice(digits));
}

/// `&Item.2.Attribute.1.Name=`; `item`: of a batch.
#[inline]
pub fn push_part(body: &mut Vec<u8>, item: Option<usize>, attribute: usize, part: &[u8]) {
    body.push(b'&');
    if let Some(item) = item {
        body.extend_from_slice(b"Item.");
        push_number(body, item);
        body.push(b'.');
    }
    body.extend_from_slice(b"Attribute.");
    push_number(body, attribute);
    body.extend_from_slice(part);
}

/// Attributes of one item, by their names as parameters have them. `replace`: in place of values that there are.
#[inline]
pub fn push_attributes<'a>(
    body: &mut Vec<u8>,
    item: Option<usize>,
    count: usize,
    replace: bool,
    attribute: impl Fn(usize) -> (&'a [u8], &'a [u8]),
) {
    for number in by_digits(count) {
        let (name, value) = attribute(number - 1);
        push_part(body, item, number, b".Name=");
        body.extend_from_slice(name);
        if replace {
            push_part(body, item, number, b".Replace=true");
        }
        push_part(body, item, number, b".Value=");
        escape(body, value);
    }
}

/// Those of a record, the one that every record has behind them.
#[inline]
pub fn push_record(
    body: &mut Vec<u8>,
    item: Option<usize>,
    table: &Attached,
    record: Record<'_>,
    replace: bool,
) {
    let fields = record.ends.len().min(table.fields.len());
    push_attributes(body, item, fields + 1, replace, |place| {
        if place == fields {
            return THERE;
        }
        let start = place
            .checked_sub(1)
            .map_or(0, |before| record.ends[before] as usize);
        let value = &record.bytes[start..record.ends[place] as usize];
        (&table.fields[place].parameter, value)
    });
}

/// `select ... from ... where itemName() ...`, without the mark.
pub fn begin_select(select: &mut Vec<u8>, what: &[u8], table: &Attached, start: &[u8]) {
    select.clear();
    select.extend_from_slice(b"select ");
    select.extend_from_slice(what);
    select.extend_from_slice(b" from ");
    select.extend_from_slice(&table.quoted);
    let (comparison, bound): (&[u8], _) = match start > MARK {
        true => (b" where itemName() >= ", start),
        false => (b" where itemName() > ", MARK),
    };
    select.extend_from_slice(comparison);
    push_quoted(select, b'\'', bound);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_the_order_of_their_digits() {
        for count in [0, 1, 9, 10, 12, 99, 100, 101, 256] {
            let mut sorted: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
            sorted.sort();
            let numbers: Vec<String> = by_digits(count).map(|number| number.to_string()).collect();
            assert_eq!(numbers, sorted);
        }
    }

    #[test]
    fn what_is_quoted_cannot_end_its_quotes() {
        let mut text = vec![];
        push_quoted(&mut text, b'\'', b"a'b`");
        assert_eq!(text, b"'a''b`'");
        assert_eq!(named("a`b"), b"`a``b`");
    }
}
