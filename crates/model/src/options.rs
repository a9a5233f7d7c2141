//! Tables of options. A Rust structure is the only list of them: its JSON Schema says of each option its type, default,
//! bounds (`#[schemars(range(..))]`, `length(..)`) and meaning (the doc comment). From it what a plan says is checked, a
//! document's bounds are checked, and the reference pages are made (`words`).
mod words;

use crate::outcome::{Trouble, TroubleKind};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub use words::{Described, nearest, one_of};

/// Options by name, in the order in which they were written.
pub type Said = Map<String, Value>;

/// Larger whole numbers are not carried by TOML.
const MOST: u64 = i64::MAX as u64;

/// The options of one structure.
pub struct Table {
    schema: Value,
}

impl Table {
    pub fn of<T: JsonSchema>() -> Self {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        Self {
            schema: schema.to_value(),
        }
    }

    /// Without what the control plane alone knows: fields marked `system`.
    pub fn of_plan<T: JsonSchema>() -> Self {
        let mut table = Self::of::<T>();
        if let Some(options) = table.schema["properties"].as_object_mut() {
            options.retain(|_, schema| schema["system"] != true);
        }
        table
    }

    /// With another structure's options after its own.
    pub fn followed_by(mut self, other: &Self) -> Self {
        for key in ["properties", "$defs"] {
            let of = |table: &Self| table.schema[key].as_object().cloned().unwrap_or_default();
            self.schema[key] = of(&self).into_iter().chain(of(other)).collect();
        }
        self
    }

    pub fn names(&self) -> Vec<&str> {
        keys(&self.schema)
    }

    /// Refuses the first option that is unknown, of another type or out of bounds; the place is `ROOM.OPTION`. A name alone
    /// becomes the table it is short for: `"hotspot"` is `{ kind = "hotspot" }`; so does `true` where a table may be absent.
    pub fn check(&self, said: &mut Said, room: &str) -> Result<(), Trouble> {
        for (name, value) in said {
            let checked = match self.schema["properties"].get(name) {
                Some(schema) => self.value(schema, value).map_err(|wrong| wrong.of(name)),
                None => Err(Wrong::new(
                    format!("unknown option `{name}`"),
                    nearest(name, &self.names()),
                )),
            };
            checked.map_err(|wrong| {
                Trouble::new(
                    TroubleKind::Usage,
                    wrong.what,
                    format!("{room}.{name}"),
                    wrong.hint,
                )
            })?;
        }
        Ok(())
    }

    fn value(&self, schema: &Value, value: &mut Value) -> Result<(), Wrong> {
        if value.is_null() && may_be_null(schema) {
            return Ok(());
        }
        let may_be_absent = may_be_null(schema);
        let schema = self.followed(schema);
        if !self.named(schema).is_empty() {
            return self.name(schema, value);
        }
        if let (true, "object", Some(present)) = (may_be_absent, kind_of(schema), value.as_bool()) {
            *value = if present { json!({}) } else { Value::Null };
            return Ok(());
        }
        let fits = match kind_of(schema) {
            "string" => value
                .as_str()
                .is_some_and(|text| text.len() as u64 >= schema["minLength"].as_u64().unwrap_or(0)),
            "boolean" => value.is_boolean(),
            "integer" => {
                value.as_u64().is_some_and(|number| number <= most(schema)) && in_bounds(schema, value)
            }
            "number" => in_bounds(schema, value),
            "array" => return self.list(schema, value),
            "object" => return self.table(schema, value),
            _ => true, // has a meaning of its own, and is read where it is used
        };
        if fits {
            Ok(())
        } else {
            Err(Wrong::cannot_be(value, self.must_be(schema)))
        }
    }

    /// One of several names, or of several tables that the name in `kind` distinguishes.
    fn name(&self, schema: &Value, value: &mut Value) -> Result<(), Wrong> {
        let is_table = schema["oneOf"][0]["properties"]["kind"].is_object();
        if is_table && value.is_string() {
            *value = json!({ "kind": value });
        }
        let said = if is_table {
            value["kind"].as_str()
        } else {
            value.as_str()
        };
        let Some(said) = said else {
            let hint = if is_table {
                "it is a name, or a table such as { kind = \"uniform\" }"
            } else {
                "it is a name"
            };
            return Err(Wrong::cannot_be(value, hint));
        };
        let known = self.named(schema);
        match known.iter().find(|(name, _)| *name == said) {
            Some((_, branch)) if is_table => self.table(branch, value),
            Some(_) => Ok(()),
            None => {
                let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                Err(Wrong::cannot_be(&json!(said), one_of(said, &known)))
            }
        }
    }

    fn list(&self, schema: &Value, value: &mut Value) -> Result<(), Wrong> {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
        let fits = value
            .as_array()
            .is_some_and(|items| (least..=most).contains(&(items.len() as u64)));
        if !fits {
            return Err(Wrong::cannot_be(value, self.must_be(schema)));
        }
        for (index, item) in value.as_array_mut().into_iter().flatten().enumerate() {
            self.value(schema["prefixItems"].get(index).unwrap_or(&schema["items"]), item)?;
        }
        Ok(())
    }

    fn table(&self, schema: &Value, value: &mut Value) -> Result<(), Wrong> {
        if !value.is_object() {
            return Err(Wrong::cannot_be(value, self.must_be(schema)));
        }
        let required = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        if let Some(name) = required.into_iter().find(|name| value.get(name).is_none()) {
            let hint = self.must_be(&schema["properties"][name]);
            return Err(Wrong::new(format!("needs `{name}`"), hint));
        }
        for (name, part) in value.as_object_mut().into_iter().flatten() {
            match schema["properties"].get(name) {
                Some(own) => self.value(own, part).map_err(|wrong| wrong.of(name))?,
                None if schema["additionalProperties"].is_object() => {
                    let own = &schema["additionalProperties"];
                    if kind_of(own) == "string" {
                        *part = spelled(part);
                    }
                    self.value(own, part).map_err(|wrong| wrong.of(name))?;
                }
                // Of parts that only their reader knows.
                None if schema["additionalProperties"] == true => {}
                None => {
                    return Err(Wrong::new(
                        format!("has no part `{name}`"),
                        nearest(name, &keys(schema)),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The schema that a reference stands for; of an option that may be absent, that of its presence.
    fn followed<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(name) = text(schema, "$ref").strip_prefix("#/$defs/") {
            return &self.schema["$defs"][name];
        }
        match schema["anyOf"].get(0) {
            Some(present) => self.followed(present),
            None => schema,
        }
    }

    /// The names that may stand there, each with its schema; none where a value is no name.
    fn named<'a>(&'a self, schema: &'a Value) -> Vec<(&'a str, &'a Value)> {
        let schema = self.followed(schema);
        let branches = schema["oneOf"]
            .as_array()
            .map_or(std::slice::from_ref(schema), Vec::as_slice);
        let mut named = Vec::new();
        for branch in branches {
            let name = branch["properties"].get("kind").unwrap_or(branch);
            let names = name["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .chain(name.get("const"));
            named.extend(names.filter_map(Value::as_str).map(|name| (name, branch)));
        }
        named
    }
}

/// Refuses what is out of bounds in options that have been read already: those of a run's document.
pub fn check_bounds<T: Serialize + JsonSchema>(options: &T, room: &str) -> Result<(), Trouble> {
    match serde_json::to_value(options) {
        Ok(Value::Object(mut said)) => Table::of::<T>().check(&mut said, room),
        _ => Ok(()), // no table has no options
    }
}

/// A plan's options of a driver: every one decided, and as the plan's part of the whole. What the plan does not say is as
/// in `T::default()`.
pub fn decide<T>(said: &Said, room: &str) -> Result<(T, Said), Trouble>
where
    T: Default + Serialize + DeserializeOwned + JsonSchema,
{
    let table = Table::of_plan::<T>();
    let mut said = said.clone();
    table.check(&mut said, room)?;
    let whole: T = over(&T::default(), said, room)?;
    let decided = serde_json::to_value(&whole).map_err(|error| unreadable(&error, room))?;
    let of_plan = |name: &str| Some((name.to_owned(), decided.get(name)?.clone()));
    Ok((whole, table.names().into_iter().filter_map(of_plan).collect()))
}

/// `base` with these options in their places, which have been checked.
pub fn over<T: Serialize + DeserializeOwned>(base: &T, said: Said, room: &str) -> Result<T, Trouble> {
    let mut whole = serde_json::to_value(base).map_err(|error| unreadable(&error, room))?;
    if let Value::Object(options) = &mut whole {
        options.extend(said);
    }
    serde_json::from_value(whole).map_err(|error| unreadable(&error, room))
}

/// What passed the check of its table and is refused all the same.
pub fn unreadable(error: &serde_json::Error, room: &str) -> Trouble {
    let hint = "`bakeoff-engine list` shows the options and their values";
    Trouble::new(TroubleKind::Usage, error.to_string(), room, hint)
}

/// A value that another program calls by a name of its own, as configurations spell it.
fn spelled(value: &Value) -> Value {
    match value {
        Value::Bool(on) => json!(if *on { "ON" } else { "OFF" }),
        Value::Number(number) => json!(number.to_string()),
        other => other.clone(),
    }
}

/// What is wrong with a value, as what follows its name in a sentence.
struct Wrong {
    what: String,
    hint: String,
}

impl Wrong {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    fn cannot_be(value: &Value, hint: impl Into<String>) -> Self {
        Self::new(format!("cannot be {value}"), hint)
    }

    fn of(self, name: &str) -> Self {
        Self::new(format!("`{name}` {}", self.what), self.hint)
    }
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

fn keys(schema: &Value) -> Vec<&str> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect()
}

fn may_be_null(schema: &Value) -> bool {
    schema.get("anyOf").is_some()
        || schema["type"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
}

/// "integer"; of a value that may be absent too.
fn kind_of(schema: &Value) -> &str {
    schema["type"]
        .as_str()
        .or(schema["type"][0].as_str())
        .unwrap_or_default()
}

/// Of a whole number.
fn most(schema: &Value) -> u64 {
    let type_most = if text(schema, "format") == "uint32" {
        u64::from(u32::MAX)
    } else {
        MOST
    };
    schema["maximum"].as_u64().unwrap_or(type_most)
}

fn in_bounds(schema: &Value, value: &Value) -> bool {
    let Some(number) = value.as_f64() else {
        return false;
    };
    let holds =
        |key, compare: fn(f64, f64) -> bool| schema[key].as_f64().is_none_or(|bound| compare(number, bound));
    holds("minimum", |n, least| n >= least)
        && holds("maximum", |n, most| n <= most)
        && holds("exclusiveMinimum", |n, bound| n > bound)
        && holds("exclusiveMaximum", |n, bound| n < bound)
}

#[cfg(test)]
mod tests;
