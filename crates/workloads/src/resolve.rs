//! From a plan's workload to all its options and what follows from them: what workloads share. The rest of each is in
//! its own `resolve.rs`.
use crate::prelude::*;
use bakeoff_model::options::{Described, Said, Table, over, unreadable};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;
use std::marker::PhantomData;

pub struct Kind {
    /// As in the run's `workload.kind`.
    pub kind: &'static str,
    /// Raised when the same options and seed give other data or other operations. Part of a data set's identity.
    pub generator_version: u32,
    /// Of the options that shape the tables those that say how rows are stored and not what they are: keys, indexes, names
    /// and types of columns, engines.
    pub form: &'static str,
    pub summary: &'static str,
    /// The option whose names are the presets.
    pub preset: &'static str,
    pub describe: fn() -> Vec<Described>,
    pub resolve: fn(&WorkloadRequest) -> Result<(Resolved, Needs), Trouble>,
    /// `None`: it cannot tell.
    pub preview: Option<Previewing>,
}

/// The first operations of a run's first user, for people: from a run's options, its seed, and how many.
type Previewing = fn(&WorkloadSpec, u64, usize) -> Result<Vec<Previewed>, Trouble>;

/// Options of a plan that are none of the run's: they say where the others begin.
pub trait Beside: DeserializeOwned + JsonSchema {
    type Spec: Serialize + DeserializeOwned + JsonSchema;

    /// What holds where neither the plan nor a file says otherwise.
    fn base(&self) -> Self::Spec;
}

/// No options besides those of a run.
#[derive(Deserialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "S: JsonSchema")]
pub struct NoneBeside<S> {
    #[serde(skip)]
    of: PhantomData<S>,
}

impl<S: Serialize + DeserializeOwned + JsonSchema + Default> Beside for NoneBeside<S> {
    type Spec = S;

    fn base(&self) -> S {
        S::default()
    }
}

/// Wherever work has a name that may do what nobody has read.
pub const UNCHECKED: &str =
    ", unchecked SQL: what statements change outside of the plan's tables is not known";

pub fn describe<B: Beside>() -> Vec<Described> {
    table::<B>().describe()
}

fn table<B: Beside>() -> Table {
    Table::of::<B>().followed_by(&Table::of::<B::Spec>())
}

/// A request's options, read.
pub struct Read<B: Beside> {
    pub beside: B,
    pub spec: B::Spec,
    /// Those that the plan says itself, checked.
    pub said: Said,
}

pub fn read<B: Beside>(request: &WorkloadRequest) -> Result<Read<B>, Trouble> {
    let table = table::<B>();
    let mut said = request.options.clone();
    table.check(&mut said, "workload")?;
    let mut merged = request
        .file
        .as_ref()
        .map(|file| file.options.clone())
        .unwrap_or_default();
    table.check(&mut merged, "workload")?;
    merged.extend(said.clone());
    let own: Said = Table::of::<B>()
        .names()
        .into_iter()
        .filter_map(|name| merged.remove_entry(name))
        .collect();
    let beside: B =
        serde_json::from_value(Value::Object(own)).map_err(|error| unreadable(&error, "workload"))?;
    Ok(Read {
        spec: over(&beside.base(), merged, "workload")?,
        beside,
        said,
    })
}

/// What follows from a request for most workloads; each says where it differs. `shape`: what shapes tables and rows, by
/// which a data set has its name.
pub fn usual(
    kind: &Kind,
    request: &WorkloadRequest,
    shape: Value,
    needs: &Needs,
    spec: WorkloadSpec,
) -> Resolved {
    let name = |shape: &Value| name_of(kind.kind, kind.generator_version, request.seed, shape);
    let dataset = name(&shape);
    let mut content = shape;
    if let Some(options) = content.as_object_mut() {
        options.retain(|option, _| !kind.form.split(' ').any(|form| form == option));
    }
    Resolved {
        spec,
        label: String::new(),
        loaded_rows: 0,
        size_estimate_bytes: 0,
        tables: vec![],
        dataset,
        content: name(&content),
        operations: vec![],
        writes: true,
        keeps_session: needs.own_session,
        replaces_sessions: false,
        users_max: None,
        prepared_statements: None,
        prepares_s: 0.0,
        lasts_s: 0.0,
        retry: None,
        continues_by: None,
        rates: vec![],
        limits: vec![],
        advice: vec![],
    }
}

/// After a conflict the same operation may succeed.
pub fn after_conflicts(retries: u32, backoff_s: f64) -> Option<Retry> {
    Some(Retry {
        retries,
        on: vec![FailClass::Conflict],
        backoff_s,
        ..Retry::default()
    })
}

/// `NAME-VERSION-HASH` over the generator's version, the seed and the shape. As stored with data sets and in bundles since
/// their first format: the text under the hash must not change.
pub fn name_of(kind: &str, generator_version: u32, seed: u64, shape: &Value) -> String {
    let mut shaped = json!([generator_version, seed, shape]);
    shaped.sort_all_objects();
    let mut text = Vec::new();
    // Neither a value of JSON nor a vector refuses.
    let _ = shaped.serialize(&mut Serializer::with_formatter(&mut text, Spaced));
    let mut hash = String::new();
    for byte in &Sha256::digest(&text)[..6] {
        let _ = write!(hash, "{byte:02x}");
    }
    format!("{kind}-{generator_version}-{hash}")
}

/// The fields of `spec` with these names, which have blanks between them.
pub fn shape(spec: &impl Serialize, names: &str) -> Value {
    let spec = serde_json::to_value(spec).unwrap_or_default();
    let field = |name: &str| (name.to_owned(), spec[name].clone());
    names.split(' ').map(field).collect()
}

/// JSON with a blank after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Every option that the plan sets, for a label: "payload compat".
pub fn words(said: &Said, without: &[&str]) -> Vec<String> {
    let shown = said.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    shown
        .map(|(name, value)| format!("{name} {}", value_words(value)))
        .collect()
}

fn value_words(value: &Value) -> String {
    let joined = |words: Vec<String>| words.join(" ");
    match value {
        Value::Object(parts) => joined(parts.values().map(value_words).collect()),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => joined(items.iter().map(value_words).collect()),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What a plan asks with these options alone, with the seed 1.
#[cfg(test)]
pub fn asked(kind: &str, options: &Value) -> WorkloadRequest {
    WorkloadRequest {
        kind: kind.into(),
        options: options.as_object().unwrap().clone(),
        file: None,
        driver: None,
        seed: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::resolve;

    fn resolved(kind: &str, options: &Value, seed: u64) -> Resolved {
        let request = WorkloadRequest {
            seed,
            ..asked(kind, options)
        };
        resolve(&request).unwrap().0
    }

    #[test]
    fn the_same_rows_stored_otherwise_are_another_data_set_of_the_same_content() {
        for (kind, form) in [
            ("hatshop", json!({"layout": "line_items"})),
            (
                "hatshop",
                json!({"layout": "line_items", "secondary_index": false}),
            ),
            ("ycsb", json!({"value_varchar": 100, "field_prefix": "f"})),
            ("ycsb", json!({"form": "document"})),
            ("documents", json!({"collection": "d", "index": ["account"]})),
            ("sysbench", json!({"create_secondary": false})),
            ("sysbench", json!({"mysql_storage_engine": "rocksdb"})),
            (
                "sysbench",
                json!({"create_table_options": "ROW_FORMAT=COMPRESSED"}),
            ),
            ("tpcc", json!({"foreign_keys": false})),
            ("tpcc", json!({"tables": {"new_orders": "new_order"}})),
            ("linkbench", json!({"partitions": 1})),
        ] {
            let (plain, other) = (resolved(kind, &json!({}), 1), resolved(kind, &form, 1));
            assert_ne!(other.dataset, plain.dataset, "{kind} {form}");
            assert_eq!(other.content, plain.content, "{kind} {form}");
        }
    }

    #[test]
    fn another_seed_size_or_value_is_another_content() {
        for (kind, rows) in [
            ("hatshop", json!({"orders": 499})),
            ("hatshop", json!({"orders_seed": 2})),
            ("ycsb", json!({"records": 999})),
            ("ycsb", json!({"field_length": 99})),
            ("ycsb", json!({"insert_order": "ordered"})),
            ("sysbench", json!({"table_size": 9999})),
            ("sysbench", json!({"script": "bulk_insert"})),
            ("tpcc", json!({"warehouses": 2})),
            ("linkbench", json!({"maxid1": 9001})),
            ("documents", json!({"zero_padding": 9})),
            ("documents", json!({"template": {"a": "bool"}})),
        ] {
            let plain = resolved(kind, &json!({}), 1).content;
            assert_ne!(resolved(kind, &rows, 1).content, plain, "{kind} {rows}");
            assert_ne!(resolved(kind, &json!({}), 2).content, plain, "{kind}");
        }
    }
}
