//! From a plan's template to what makes values: a tree of generators, and the paths in it by name.
use crate::rng::mix;
use crate::trouble::refuse;
use bakeoff_model::document::PathKind;
use bakeoff_model::json::write_text;
use bakeoff_model::outcome::Trouble;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// Members that every document has besides those of its template: what its values follow from.
pub const VERSION: &str = "version";
/// The same of the paths that a patch sets.
pub const PATCHED: &str = "patched";

#[derive(Debug)]
pub enum Node {
    Object(Vec<Member>),
    List(Vec<Node>),
    /// As many of the element as the count says.
    Repeated {
        element: Box<Node>,
        count: RangeInclusive<u64>,
        leaf: Leaf,
    },
    Value(Leaf, Generator),
    /// As in the template.
    Constant(Vec<u8>),
}

#[derive(Debug)]
pub struct Member {
    /// As it is written, without quotes.
    pub name: Vec<u8>,
    pub node: Node,
}

/// A place of which each document has a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// A hash of its path, so that it has the same values wherever it is in the template.
    pub seed: u64,
    pub follows: Follows,
}

/// What the values of a place follow from, besides the document's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing: they are found by.
    Key,
    Version,
    Patched,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// Letters and digits.
    String(RangeInclusive<u64>),
    /// Words of 2 to 10 letters.
    Text(RangeInclusive<u64>),
    Integer(RangeInclusive<i64>),
    /// Hundredths.
    Float(RangeInclusive<i64>),
    Bool,
    Date,
    DateTime,
    Uuid,
    /// Each as JSON, all of one kind.
    OneOf(PathKind, Vec<Vec<u8>>),
}

/// The paths that operations name, and what becomes of them.
pub struct Uses<'a> {
    pub found: Vec<&'a str>,
    pub patched: Vec<&'a str>,
}

impl Uses<'_> {
    fn follows(&self, path: &str) -> Follows {
        let within = |outer: &&str| {
            let rest = path.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match () {
            () if self.found.iter().any(within) => Follows::Key,
            () if self.patched.iter().any(within) => Follows::Patched,
            () => Follows::Version,
        }
    }
}

/// Of a template's tables and lists within each other.
const DEPTH_MAX: usize = 20;

pub fn compile(template: &Map<String, Value>, uses: &Uses<'_>) -> Result<Node, Trouble> {
    if template.is_empty() {
        return Err(refuse(
            "template",
            "the template is empty",
            "give a document at least one member",
        ));
    }
    if let Some(own) = [VERSION, PATCHED]
        .into_iter()
        .find(|name| template.contains_key(*name))
    {
        let what = format!("every document has a member `{own}` of its own");
        return Err(refuse("template", what, "give the template's another name"));
    }
    object(template, "", uses, 0)
}

fn object(members: &Map<String, Value>, path: &str, uses: &Uses<'_>, depth: usize) -> Result<Node, Trouble> {
    let member = |(name, value): (&String, &Value)| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(known) {
            let what = format!("`{name}` cannot be the name of a member");
            return Err(refuse("template", what, "use letters, digits and `_`"));
        }
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        Ok(Member {
            name: name.as_bytes().into(),
            node: node(value, &path, uses, depth + 1)?,
        })
    };
    Ok(Node::Object(
        members.iter().map(member).collect::<Result<_, Trouble>>()?,
    ))
}

fn node(value: &Value, path: &str, uses: &Uses<'_>, depth: usize) -> Result<Node, Trouble> {
    if depth > DEPTH_MAX {
        let what = format!("`{path}` lies deeper than {DEPTH_MAX} tables");
        return Err(refuse("template", what, "make it flatter"));
    }
    let leaf = Leaf {
        seed: path.bytes().fold(0, |seed, byte| mix(seed, byte.into())),
        follows: uses.follows(path),
    };
    Ok(match value {
        Value::Object(parts)
            if parts.len() == 2 && parts.contains_key("each") && parts.contains_key("count") =>
        {
            let count = match &parts["count"] {
                Value::String(text) => span(text).ok_or_else(|| unreadable(path, text))?,
                Value::Number(number) => number
                    .as_u64()
                    .map(|n| n..=n)
                    .ok_or_else(|| unreadable(path, &number.to_string()))?,
                other => return Err(unreadable(path, &other.to_string())),
            };
            if *count.end() > 10_000 {
                return Err(refuse(
                    "template",
                    format!("`{path}` has more than 10000 elements"),
                    "lower `count`",
                ));
            }
            Node::Repeated {
                element: Box::new(node(&parts["each"], path, uses, depth + 1)?),
                count,
                leaf,
            }
        }
        Value::Object(members) => object(members, path, uses, depth)?,
        Value::Array(items) => {
            let item = |(at, item)| node(item, &format!("{path}.{at}"), uses, depth + 1);
            Node::List(
                items
                    .iter()
                    .enumerate()
                    .map(item)
                    .collect::<Result<_, Trouble>>()?,
            )
        }
        Value::String(text) => Node::Value(leaf, generator(text).ok_or_else(|| unreadable(path, text))?),
        other => Node::Constant(other.to_string().into_bytes()),
    })
}

fn unreadable(path: &str, text: &str) -> Trouble {
    let what = format!("`{path}` cannot be made from \"{text}\"");
    let hint = "it is one of: string:N, text:N, int, int:A..B, int:1,2,3, float, float:A..B, float:1.5,2.5, bool, date, \
        datetime, uuid, enum:a,b,c; N may be A..B";
    refuse("template", what, hint)
}

/// Characters of a text.
const LENGTH_MAX: u64 = 16 << 20;
const HUNDREDTHS_MAX: f64 = 1e15;

fn generator(text: &str) -> Option<Generator> {
    let (name, of) = text.split_once(':').unwrap_or((text, ""));
    let length = || span(of).filter(|length| *length.end() <= LENGTH_MAX);
    Some(match (name, of) {
        ("string", _) => Generator::String(length()?),
        ("text", _) => Generator::Text(length()?),
        ("int", "") => Generator::Integer(i32::MIN.into()..=i32::MAX.into()),
        ("int", of) if of.contains("..") => Generator::Integer(integers(of)?),
        ("int", of) => {
            let all = of.split(',').map(|number| number.trim().parse::<i64>().ok());
            let all = all.map(|number| Some(number?.to_string().into_bytes()));
            Generator::OneOf(PathKind::Integer, all.collect::<Option<_>>()?)
        }
        ("float", "") => Generator::Float(0..=100),
        ("float", of) if of.contains("..") => {
            let (least, most) = of.split_once("..")?;
            let hundredths = |text: &str| {
                let number = text.trim().parse::<f64>().ok()? * 100.0;
                (number.abs() <= HUNDREDTHS_MAX).then_some(number.round() as i64)
            };
            Generator::Float(ordered(hundredths(least)?, hundredths(most)?)?)
        }
        ("float", of) => {
            let all = of.split(',').map(|number| number.trim().parse::<f64>().ok());
            let all = all.map(|number| {
                number
                    .filter(|number| number.is_finite())
                    .map(|number| format!("{number:?}").into_bytes())
            });
            Generator::OneOf(PathKind::Float, all.collect::<Option<_>>()?)
        }
        ("bool", "") => Generator::Bool,
        ("date", "") => Generator::Date,
        ("datetime", "") => Generator::DateTime,
        ("uuid", "") => Generator::Uuid,
        ("enum", of) if !of.is_empty() => {
            let longest = of.split(',').map(|word| word.chars().count()).max()?;
            let word = |word: &str| {
                let mut json = vec![];
                write_text(word.as_bytes(), &mut json);
                json
            };
            Generator::OneOf(PathKind::Text(longest as u32), of.split(',').map(word).collect())
        }
        _ => return None,
    })
}

fn span(text: &str) -> Option<RangeInclusive<u64>> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    ordered(least.trim().parse().ok()?, most.trim().parse().ok()?)
}

fn integers(text: &str) -> Option<RangeInclusive<i64>> {
    let (least, most) = text.split_once("..")?;
    ordered(least.trim().parse().ok()?, most.trim().parse().ok()?)
}

fn ordered<T: PartialOrd>(least: T, most: T) -> Option<RangeInclusive<T>> {
    (least <= most).then_some(least..=most)
}

impl Generator {
    pub fn kind(&self) -> PathKind {
        match self {
            Self::String(length) | Self::Text(length) => PathKind::Text(*length.end() as u32),
            Self::Integer(_) => PathKind::Integer,
            Self::Float(_) => PathKind::Float,
            Self::Bool => PathKind::Bool,
            Self::Date => PathKind::Text(10),
            Self::DateTime => PathKind::Text(20),
            Self::Uuid => PathKind::Text(36),
            Self::OneOf(kind, _) => *kind,
        }
    }

    /// Bytes of JSON.
    fn longest(&self) -> usize {
        match self {
            Self::String(length) | Self::Text(length) => *length.end() as usize + 2,
            Self::Integer(_) | Self::Float(_) => 24,
            Self::Bool => 5,
            Self::Date => 12,
            Self::DateTime => 22,
            Self::Uuid => 38,
            Self::OneOf(_, all) => all.iter().map(Vec::len).max().unwrap_or(0),
        }
    }

    fn usual(&self) -> f64 {
        let middle = |length: &RangeInclusive<u64>| (length.start() + length.end()) as f64 / 2.0 + 2.0;
        match self {
            Self::String(length) | Self::Text(length) => middle(length),
            Self::Integer(range) => {
                (range.start().to_string().len() + range.end().to_string().len()) as f64 / 2.0
            }
            Self::Float(range) => range.end().to_string().len() as f64 + 1.0,
            Self::OneOf(_, all) => all.iter().map(Vec::len).sum::<usize>() as f64 / all.len().max(1) as f64,
            other => other.longest() as f64,
        }
    }
}

impl Node {
    /// What lies at a path of members.
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, step| match node {
            Node::Object(members) => {
                let member = members.iter().find(|member| member.name == step.as_bytes());
                member.map(|member| &member.node)
            }
            _ => None,
        })
    }

    /// As a collection has it; `None` where a path cannot end.
    pub fn kind(&self) -> Option<PathKind> {
        match self {
            Node::Value(_, generator) => Some(generator.kind()),
            Node::Repeated { element, .. } => match element.kind() {
                Some(PathKind::Text(length)) => Some(PathKind::Texts(length)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Most bytes of its JSON.
    pub fn longest(&self) -> usize {
        self.bytes(&|generator| generator.longest() as f64, &|count| {
            *count.end() as f64
        }) as usize
    }

    /// Bytes of its JSON, in the mean.
    pub fn usual(&self) -> f64 {
        self.bytes(&Generator::usual, &|count| {
            (count.start() + count.end()) as f64 / 2.0
        })
    }

    fn bytes(&self, of: &dyn Fn(&Generator) -> f64, count: &dyn Fn(&RangeInclusive<u64>) -> f64) -> f64 {
        match self {
            Node::Object(members) => {
                let member = |member: &Member| member.name.len() as f64 + 4.0 + member.node.bytes(of, count);
                2.0 + members.iter().map(member).sum::<f64>()
            }
            Node::List(items) => 2.0 + items.iter().map(|item| item.bytes(of, count) + 1.0).sum::<f64>(),
            Node::Repeated {
                element, count: span, ..
            } => 2.0 + count(span) * (element.bytes(of, count) + 1.0),
            Node::Value(_, generator) => of(generator),
            Node::Constant(json) => json.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn generators_are_read_as_they_are_written() {
        let integer = |range| Some(Generator::Integer(range));
        assert_eq!(generator("int"), integer(i32::MIN.into()..=i32::MAX.into()));
        assert_eq!(generator("int:-5..7"), integer(-5..=7));
        assert_eq!(generator("string:8"), Some(Generator::String(8..=8)));
        assert_eq!(generator("text:8..10"), Some(Generator::Text(8..=10)));
        assert_eq!(generator("float:1..2.5"), Some(Generator::Float(100..=250)));
        let one_of = |kind, words: &[&str]| {
            let words = words.iter().map(|word| word.as_bytes().to_vec());
            Some(Generator::OneOf(kind, words.collect()))
        };
        assert_eq!(generator("int:1,2"), one_of(PathKind::Integer, &["1", "2"]));
        assert_eq!(generator("float:1.1,2"), one_of(PathKind::Float, &["1.1", "2.0"]));
        assert_eq!(
            generator("enum:a,\"b"),
            one_of(PathKind::Text(2), &["\"a\"", "\"\\\"b\""])
        );
        for none in [
            "",
            "strin:3",
            "string",
            "string:x",
            "int:7..5",
            "int:1,x",
            "float:x..2",
            "bool:1",
            "enum:",
            "string:99999999999",
        ] {
            assert_eq!(generator(none), None, "{none}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_is_refused_with_the_path() {
        let nothing = Uses {
            found: vec![],
            patched: vec![],
        };
        let compiled = |template: Value| compile(template.as_object().unwrap(), &nothing);
        let mut deep = json!("bool");
        (0..30).for_each(|_| deep = json!({ "a": deep }));
        for (template, words) in [
            (json!({}), "empty"),
            (json!({ "a": { "b": "nmae:3" } }), "`a.b`"),
            (json!({ "a": { "each": "bool", "count": "x" } }), "`a`"),
            (json!({ "a.b": "bool" }), "`a.b`"),
            (json!({ "version": "bool" }), "`version`"),
            (deep, "deeper"),
        ] {
            let trouble = compiled(template.clone()).unwrap_err();
            assert!(trouble.what.contains(words), "{template}: {}", trouble.what);
            assert_eq!(trouble.place, "workload.template");
        }
    }
}
