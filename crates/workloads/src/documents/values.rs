//! Documents written and verified: whatever is in one follows from its key, its version, and the last patch, which it says
//! itself. So a document that was read is compared with what it must be, whoever wrote it last, and nobody keeps a copy.
use super::template::{Follows, Generator, Leaf, Node, PATCHED, VERSION};
use crate::rng::{Random, mix};
use bakeoff_model::document::PathKind;
use bakeoff_model::json::{Elements, Members, at, unescape};
use bakeoff_model::value::{Civil, Timestamp, Value};
use std::ops::RangeInclusive;

/// What the values of one document follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Of seed and key.
    pub key: u64,
    pub version: u64,
    pub patched: u64,
}

/// Versions are whole numbers that every system keeps exactly.
pub const VERSION_BITS: u32 = 53;

impl Origin {
    /// As it was loaded or inserted.
    pub fn first(seed: u64, keynum: u64) -> Self {
        Self {
            key: mix(seed, keynum),
            version: 0,
            patched: 0,
        }
    }

    /// As a put writes it.
    pub fn at_version(self, version: u64) -> Self {
        Self {
            version,
            patched: version,
            ..self
        }
    }

    #[inline]
    fn random(&self, leaf: Leaf, element: u64) -> Random {
        let written = match leaf.follows {
            Follows::Key => 0,
            Follows::Version => self.version,
            Follows::Patched => self.patched,
        };
        Random::new(mix(mix(self.key, written), mix(leaf.seed, element)))
    }
}

/// The document, with its version and patch in front.
pub fn write_document(template: &Node, origin: Origin, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(VERSION.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(itoa::Buffer::new().format(origin.version).as_bytes());
    out.extend_from_slice(b",\"");
    out.extend_from_slice(PATCHED.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(itoa::Buffer::new().format(origin.patched).as_bytes());
    if let Node::Object(members) = template {
        for member in members {
            out.push(b',');
            write_member(&member.name, &member.node, origin, 0, out);
        }
    }
    out.push(b'}');
}

fn write_member(name: &[u8], node: &Node, origin: Origin, element: u64, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name);
    out.extend_from_slice(b"\":");
    write(node, origin, element, out);
}

/// The JSON of a node. `element`: which of an array's it is part of.
pub fn write(node: &Node, origin: Origin, element: u64, out: &mut Vec<u8>) {
    match node {
        Node::Object(members) => {
            out.push(b'{');
            for (place, member) in members.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_member(&member.name, &member.node, origin, element, out);
            }
            out.push(b'}');
        }
        Node::List(items) => {
            out.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write(item, origin, element, out);
            }
            out.push(b']');
        }
        Node::Repeated {
            element: each,
            count,
            leaf,
        } => {
            out.push(b'[');
            for place in 0..elements(count, *leaf, origin, element) {
                if place > 0 {
                    out.push(b',');
                }
                write(each, origin, within(element, place), out);
            }
            out.push(b']');
        }
        Node::Value(leaf, generator) => draw(generator, origin.random(*leaf, element), out),
        Node::Constant(json) => out.extend_from_slice(json),
    }
}

fn elements(count: &RangeInclusive<u64>, leaf: Leaf, origin: Origin, element: u64) -> u64 {
    let random = origin.random(leaf, mix(element, u64::MAX));
    from(count, &mut { random })
}

/// The number of an array's element among all elements of a document.
fn within(element: u64, place: u64) -> u64 {
    mix(element, place + 1)
}

fn from(range: &RangeInclusive<u64>, random: &mut Random) -> u64 {
    let width = range.end() - range.start() + 1;
    range.start() + random.below(width)
}

/// Six bits each.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn draw(generator: &Generator, mut random: Random, out: &mut Vec<u8>) {
    let number =
        |value: i64, out: &mut Vec<u8>| out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    match generator {
        Generator::String(length) => {
            out.push(b'"');
            let mut left = from(length, &mut random);
            while left > 0 {
                let mut bits = random.bits();
                for _ in 0..left.min(10) {
                    out.push(CHARACTERS[(bits & 63) as usize]);
                    bits >>= 6;
                }
                left -= left.min(10);
            }
            out.push(b'"');
        }
        Generator::Text(length) => {
            out.push(b'"');
            let mut left = from(length, &mut random);
            while left > 0 {
                let mut bits = random.bits();
                let word = (2 + (bits & 7) + (bits >> 3 & 1)).min(left);
                bits >>= 4;
                for _ in 0..word {
                    out.push(b'a' + (((bits & 31) * 26) >> 5) as u8);
                    bits >>= 5;
                }
                left -= word;
                // No text ends with a blank: some systems would cut it off.
                if left > 1 {
                    out.push(b' ');
                    left -= 1;
                }
            }
            out.push(b'"');
        }
        Generator::Integer(range) => number(among(range, &mut random), out),
        Generator::Float(range) => {
            let hundredths = among(range, &mut random);
            if hundredths < 0 {
                out.push(b'-');
            }
            let hundredths = hundredths.unsigned_abs();
            number((hundredths / 100) as i64, out);
            let (tens, ones) = ((hundredths / 10 % 10) as u8, (hundredths % 10) as u8);
            out.extend_from_slice(&[b'.', b'0' + tens, b'0' + ones]);
        }
        Generator::Bool => out.extend_from_slice(if random.bits() & 1 == 1 { b"true" } else { b"false" }),
        Generator::Date | Generator::DateTime => moment(*generator == Generator::DateTime, &mut random, out),
        Generator::Uuid => uuid(&mut random, out),
        Generator::OneOf(_, all) => out.extend_from_slice(&all[random.below(all.len() as u64) as usize]),
    }
}

fn among(range: &RangeInclusive<i64>, random: &mut Random) -> i64 {
    let width = range.end().abs_diff(*range.start()).saturating_add(1);
    range.start().wrapping_add_unsigned(random.below(width))
}

/// Of the years 2000 to 2033.
fn moment(with_time: bool, random: &mut Random, out: &mut Vec<u8>) {
    const SECONDS: u64 = 1 << 30;
    let seconds = 946_684_800 + random.below(SECONDS) as i64;
    let Civil {
        year,
        month,
        day,
        hour,
        minute,
        second,
        ..
    } = Timestamp {
        us: seconds * 1_000_000,
    }
    .civil();
    let two = |number: u8| [b'0' + number / 10, b'0' + number % 10];
    out.extend_from_slice(b"\"20");
    out.extend_from_slice(&two((year % 100) as u8));
    for part in [month, day] {
        out.push(b'-');
        out.extend_from_slice(&two(part));
    }
    if with_time {
        for (between, part) in [(b'T', hour), (b':', minute), (b':', second)] {
            out.push(between);
            out.extend_from_slice(&two(part));
        }
        out.push(b'Z');
    }
    out.push(b'"');
}

/// Of version 4.
fn uuid(random: &mut Random, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bits = u128::from(random.bits()) << 64 | u128::from(random.bits());
    let bits = bits & !(0xF << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    out.push(b'"');
    for digit in 0..32 {
        if matches!(digit, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        out.push(DIGITS[(bits >> (124 - 4 * digit) & 15) as usize]);
    }
    out.push(b'"');
}

/// What a document that was read says that its values follow from.
pub fn origin_of(json: &[u8], key: u64) -> Option<Origin> {
    let number = |name: &str| whole(at(json, [name])?);
    Some(Origin {
        key,
        version: number(VERSION)?,
        patched: number(PATCHED)?,
    })
}

pub fn whole(json: &[u8]) -> Option<u64> {
    std::str::from_utf8(json).ok()?.parse().ok()
}

/// Room for what is computed while verifying.
#[derive(Debug, Default)]
pub struct Scratch {
    wanted: Vec<u8>,
    texts: [Vec<u8>; 2],
}

impl Scratch {
    pub fn for_values_of(longest: usize) -> Self {
        let room = || Vec::with_capacity(longest + 64);
        Self {
            wanted: room(),
            texts: [room(), room()],
        }
    }
}

/// Whether a value that was read is what the node gives. Members may come in another order, numbers in another form.
pub fn is_right(node: &Node, origin: Origin, element: u64, found: &[u8], scratch: &mut Scratch) -> bool {
    match node {
        Node::Object(members) => {
            let mut next = Members::of(found);
            members.iter().all(|member| {
                let named = |(name, _): &(&[u8], &[u8])| *name == member.name;
                let value = next
                    .next()
                    .filter(named)
                    .or_else(|| Members::of(found).find(named));
                value.is_some_and(|(_, value)| is_right(&member.node, origin, element, value, scratch))
            })
        }
        Node::List(items) => {
            let mut values = Elements::of(found);
            let right = items.iter().all(|item| {
                values
                    .next()
                    .is_some_and(|value| is_right(item, origin, element, value, scratch))
            });
            right && values.next().is_none()
        }
        Node::Repeated {
            element: each,
            count,
            leaf,
        } => {
            let mut values = Elements::of(found);
            let right = (0..elements(count, *leaf, origin, element)).all(|place| {
                let value = values.next();
                value.is_some_and(|value| is_right(each, origin, within(element, place), value, scratch))
            });
            right && values.next().is_none()
        }
        Node::Value(leaf, generator) => {
            let mut wanted = std::mem::take(&mut scratch.wanted);
            wanted.clear();
            draw(generator, origin.random(*leaf, element), &mut wanted);
            let right = same(&wanted, found, &mut scratch.texts);
            scratch.wanted = wanted;
            right
        }
        Node::Constant(json) => same(json, found, &mut scratch.texts),
    }
}

/// Whether two texts of JSON without members are the same value.
fn same(wanted: &[u8], found: &[u8], [a, b]: &mut [Vec<u8>; 2]) -> bool {
    if wanted == found {
        return true;
    }
    if wanted.first() == Some(&b'"') {
        a.clear();
        b.clear();
        return unescape(wanted, a) && unescape(found, b) && a == b;
    }
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    number(wanted).is_some_and(|wanted| number(found) == Some(wanted))
}

/// The value of a path as a condition or a patch has it. The bytes of a text are `out`'s.
pub fn value_of<'a>(node: &Node, origin: Origin, out: &'a mut Vec<u8>) -> Value<'a> {
    out.clear();
    match node {
        // Of an array its first element.
        Node::Repeated { element, .. } => write(element, origin, within(0, 0), out),
        node => write(node, origin, 0, out),
    }
    typed(node.kind(), out)
}

/// From its JSON.
pub fn typed(kind: Option<PathKind>, json: &mut Vec<u8>) -> Value<'_> {
    match kind {
        Some(PathKind::Text(_) | PathKind::Texts(_)) => {
            if json.contains(&b'\\') {
                unescape_in_place(json);
                return Value::Text(json);
            }
            Value::Text(json.get(1..json.len().saturating_sub(1)).unwrap_or_default())
        }
        Some(PathKind::Bool) => Value::Bool(json == b"true"),
        Some(PathKind::Integer) => number(json).map_or(Value::Null, Value::Int),
        Some(PathKind::Float) => number(json).map_or(Value::Null, Value::Float),
        None => Value::Null,
    }
}

fn number<T: std::str::FromStr>(json: &[u8]) -> Option<T> {
    std::str::from_utf8(json).ok()?.parse().ok()
}

/// Only of words of a plan that need it: it takes memory.
#[cold]
fn unescape_in_place(json: &mut Vec<u8>) {
    let mut plain = Vec::with_capacity(json.len());
    if unescape(json, &mut plain) {
        *json = plain;
    }
}

/// Whether a document has this value at the node, or among its elements.
pub fn has(node: &Node, origin: Origin, value: Value<'_>, text: &mut Vec<u8>) -> bool {
    match node {
        Node::Repeated { element, count, leaf } => (0..elements(count, *leaf, origin, 0)).any(|place| {
            text.clear();
            write(element, origin, within(0, place), text);
            typed(element.kind(), text) == value
        }),
        node => value_of(node, origin, text) == value,
    }
}
