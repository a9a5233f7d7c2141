//! Options in words: for a refusal's hint, and for the reference pages.
use super::{Table, keys, kind_of, most, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One option, a line of a reference page.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub name: String,
    pub default: Value,
    /// "a whole number from 1 to 65535".
    pub values: String,
    pub meaning: String,
    /// Where a value is one of several names: each with a few words, empty if it says enough.
    pub names: Vec<(String, String)>,
}

impl Table {
    pub fn describe(&self) -> Vec<Described> {
        let describe = |name: &str| {
            let schema = &self.schema["properties"][name];
            let named = self.named(schema).into_iter();
            Described {
                name: name.to_owned(),
                default: schema["default"].clone(),
                values: self.words(schema),
                meaning: text(schema, "description").replace('\n', " "),
                names: named
                    .map(|(name, branch)| (name.to_owned(), text(branch, "description").replace('\n', " ")))
                    .collect(),
            }
        };
        self.names().into_iter().map(describe).collect()
    }

    pub(super) fn must_be(&self, schema: &Value) -> String {
        format!("it must be {}", self.words(schema))
    }

    /// What may stand there. A schema's own title goes first.
    fn words(&self, schema: &Value) -> String {
        for schema in [schema, self.followed(schema)] {
            if !text(schema, "title").is_empty() {
                return text(schema, "title").to_owned();
            }
        }
        let schema = self.followed(schema);
        let named: Vec<String> = self
            .named(schema)
            .into_iter()
            .map(|(name, branch)| with_parts(name, branch))
            .collect();
        if !named.is_empty() {
            return named.join(", ");
        }
        match kind_of(schema) {
            "string" if schema["minLength"].is_u64() => "a text that is not empty".into(),
            "string" => "a text".into(),
            "boolean" => "true or false".into(),
            "integer" => format!("a whole number{}", bounds(schema)),
            "number" => format!("a number{}", bounds(schema)),
            "array" => "a list".into(),
            _ => "a table".into(),
        }
    }
}

/// `uniform`, or with the parts of its table: `hotspot { data_fraction, operation_fraction }`.
fn with_parts(name: &str, branch: &Value) -> String {
    let parts: Vec<&str> = keys(branch).into_iter().filter(|part| *part != "kind").collect();
    if parts.is_empty() {
        return format!("`\"{name}\"`");
    }
    format!("`{{ kind = \"{name}\", {} }}`", parts.join(", "))
}

/// " from 0 to 99", " from 1", " above 0 and below 1".
fn bounds(schema: &Value) -> String {
    let bound = |key| schema[key].as_f64();
    // The largest number of a type is no bound that anybody meant.
    let most = bound("maximum").or(
        (kind_of(schema) == "integer" && most(schema) < u64::from(u32::MAX)).then_some(most(schema) as f64),
    );
    let least = bound("minimum").map(|least| match most {
        Some(most) => format!(" from {least} to {most}"),
        None => format!(" from {least}"),
    });
    let above = bound("exclusiveMinimum").map(|above| match bound("exclusiveMaximum") {
        Some(below) => format!(" above {above} and below {below}"),
        None => format!(" above {above}"),
    });
    least.or(above).unwrap_or_default()
}

/// How alike two names must be for one to be taken for the other: the share of their pairs of letters that they have in
/// common (Sørensen and Dice).
const ALIKE: f64 = 0.45;

/// A hint: the known name most like `word`, or all of them if none is like it.
pub fn nearest(word: &str, known: &[&str]) -> String {
    likeliest(word, known).unwrap_or_else(|| format!("it is one of: {}", known.join(", ")))
}

/// A hint: all the names, the likeliest first.
pub fn one_of(word: &str, known: &[&str]) -> String {
    let likely = likeliest(word, known)
        .map(|hint| format!("{hint} "))
        .unwrap_or_default();
    let all = format!("it is one of: {}", known.join(", "));
    if likely.is_empty() {
        all
    } else {
        format!("{likely}I{}", &all[1..])
    }
}

fn likeliest(word: &str, known: &[&str]) -> Option<String> {
    let likeness = |name: &&&str| strsim::sorensen_dice(&plain(word), &plain(name));
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= ALIKE).then(|| format!("did you mean `{best}`?"))
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}
