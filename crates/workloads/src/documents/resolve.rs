//! `documents` before a run: presets, and what follows from the options.
use super::presets::Preset;
use super::{Documents, GENERATOR_VERSION, NAMES, keys, needs, reads_only, weights};
use crate::prelude::*;
use crate::resolve::{Beside, Kind, Read, describe, read, shape, usual, words};
use crate::rng::Stream;
use bakeoff_model::run::RequestDistribution;
use bakeoff_model::run::documents::DocumentsSpec;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "documents",
    generator_version: GENERATOR_VERSION,
    form: FORM,
    summary: "documents with nested objects and arrays: by key, by what is in them, in batches",
    preset: "preset",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

/// How documents are stored, and not what they are.
const FORM: &str = "collection index";

#[derive(Deserialize, JsonSchema)]
struct Options {
    /// A mix of the table above.
    #[serde(default)]
    preset: Option<Preset>,
}

impl Beside for Options {
    type Spec = DocumentsSpec;

    fn base(&self) -> DocumentsSpec {
        self.preset.map(Preset::spec).unwrap_or_default()
    }
}

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let read = read::<Options>(request)?;
    let spec = &read.spec;
    let documents = Documents::new(spec, request.seed, ClientSpec::default())?;
    let needs = needs(spec);
    let mixed_in = || {
        let all = weights(spec).into_iter().enumerate();
        all.filter(|(_, weight)| *weight > 0.0)
            .map(|(operation, _)| operation)
    };
    let bytes = documents.key_text.common_length(spec.records) as f64 + documents.template.usual();
    let resolved = Resolved {
        label: label(&read),
        loaded_rows: spec.records,
        size_estimate_bytes: (spec.records as f64 * bytes) as u64,
        tables: vec![spec.collection.clone()],
        operations: mixed_in().map(|operation| NAMES[operation].into()).collect(),
        writes: mixed_in().any(|operation| !reads_only(operation)),
        prepared_statements: u32::try_from(documents.uses().len()).ok(),
        continues_by: continues_by(spec),
        ..usual(
            &KIND,
            request,
            shape_of(spec),
            &needs,
            WorkloadSpec::Documents(Box::new(spec.clone())),
        )
    };
    Ok((resolved, needs))
}

fn label(read: &Read<Options>) -> String {
    let preset = read.said.get("preset").and_then(|preset| preset.as_str());
    let mut options = vec![format!("records {}", read.spec.records)];
    if read.said.contains_key("template") {
        options.push("own template".into());
    }
    options.extend(words(&read.said, &["preset", "records", "template"]));
    format!(
        "documents {} ({})",
        preset.unwrap_or("custom"),
        options.join(", ")
    )
}

/// More documents than any run stores.
const INSERTS_OF_A_RUN_MAX: u64 = 100_000_000_000;

fn continues_by(spec: &DocumentsSpec) -> Option<BTreeMap<String, u64>> {
    if keys(spec).insert_proportion == 0.0 {
        return Some(BTreeMap::new());
    }
    if matches!(spec.request_distribution, RequestDistribution::Exponential { .. }) {
        return None; // it is drawn over all keys
    }
    Some(BTreeMap::from([(
        "inserted_before".to_owned(),
        INSERTS_OF_A_RUN_MAX,
    )]))
}

/// The options that shape the collection and its documents.
fn shape_of(spec: &DocumentsSpec) -> serde_json::Value {
    shape(
        spec,
        "collection index records template insert_order zero_padding",
    )
}

/// The first operations of a run's first user, without a session.
pub fn preview(workload: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Documents(spec) = workload else {
        return Ok(vec![]);
    };
    let documents = Documents::new(spec, seed, ClientSpec::default())?;
    let worker = documents.worker(0);
    let mut thread = documents.user(Stream::new(seed, 0), false);
    let mut previewed = |_| {
        let kind = documents.next(&worker, &mut thread);
        let mut lines = match kind {
            super::PUT_BATCH | super::GET_BATCH => {
                let keys = thread.keys.iter().map(|(key, _)| String::from_utf8_lossy(key));
                vec![keys.collect::<Vec<_>>().join(" ")]
            }
            _ => vec![String::from_utf8_lossy(&thread.key).into_owned()],
        };
        lines.extend(
            (0..thread.ends.len()).map(|place| String::from_utf8_lossy(thread.document(place)).into_owned()),
        );
        Previewed {
            operation: NAMES[kind].into(),
            lines,
        }
    };
    Ok((0..count).map(&mut previewed).collect())
}
