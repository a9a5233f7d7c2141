//! YCSB before a run: presets, and what follows from the options.
use super::key_text::KeyText;
use super::presets::Preset;
use super::validate::{Proportions, rows, validate};
use super::{
    GENERATOR_VERSION, INSERT, READ_MODIFY_WRITE, SCAN, Thread, UPDATE, Ycsb, groups, needs, operations, uses,
};
use crate::keys::{THETA, zeta};
use crate::prelude::*;
use crate::resolve::{Beside, Kind, Read, describe, read, shape, usual, words};
use crate::rng::Stream;
use bakeoff_model::run::{FieldLength, Form, RequestDistribution, YcsbSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "ycsb",
    generator_version: GENERATOR_VERSION,
    form: FORM,
    summary: "records by key: reads, updates, inserts, scans and read-modify-writes (Cooper et al., SoCC 2010)",
    preset: "preset",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

#[derive(Deserialize, JsonSchema)]
struct Options {
    /// A mix of the table above.
    #[serde(default)]
    preset: Option<Preset>,
}

impl Beside for Options {
    type Spec = YcsbSpec;

    fn base(&self) -> YcsbSpec {
        self.preset.map(Preset::spec).unwrap_or_default()
    }
}

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let mut read = read::<Options>(request)?;
    validate(&read.spec, ClientSpec::default())?;
    let continues_by = continues_by(&mut read.spec);
    let spec = &read.spec;
    let [_, updates, inserts, _, read_modify_writes] = spec.proportions();
    let writes = updates + inserts + read_modify_writes > 0.0;
    let needs = needs(spec);
    let resolved = Resolved {
        label: label(request, &read),
        loaded_rows: rows(spec),
        size_estimate_bytes: (rows(spec) as f64 * (key_length(spec) as f64 + fields_length(spec))) as u64,
        tables: vec![spec.table.clone()],
        operations: mixed_in(spec)
            .into_iter()
            .map(|operation| operation.name)
            .collect(),
        writes,
        prepared_statements: u32::try_from(uses(spec).len()).ok(),
        continues_by,
        advice: advice(spec, writes),
        ..usual(
            &KIND,
            request,
            shape_of(spec),
            &needs,
            WorkloadSpec::Ycsb(spec.clone()),
        )
    };
    Ok((resolved, needs))
}

/// Operations of which the mix has a share, and their parts.
fn mixed_in(spec: &YcsbSpec) -> Vec<Operation> {
    let [read, update, insert, scan, both] = spec.proportions();
    // In the order of their indices: a commit is there for whatever is drawn.
    let shares = [read, update, insert, scan, both, both, both, 1.0];
    let all = operations(groups(spec)).into_iter().zip(shares);
    all.filter(|(_, share)| *share > 0.0)
        .map(|(operation, _)| operation)
        .collect()
}

/// The mix, the size, and every other option that the plan sets.
fn label(request: &WorkloadRequest, read: &Read<Options>) -> String {
    let file = request.file.as_ref().map(|file| file.name.as_str());
    let preset = read
        .said
        .get("preset")
        .and_then(Value::as_str)
        .map(str::to_uppercase);
    let mut options = vec![format!("records {}", read.spec.records)];
    options.extend(words(&read.said, &["preset", "records"]));
    if read.spec.ops_per_transaction == 0 && !read.said.contains_key("ops_per_transaction") {
        options.push("one transaction per thread".into());
    }
    format!(
        "YCSB {} ({})",
        preset.as_deref().or(file).unwrap_or("custom"),
        options.join(", ")
    )
}

/// More rows than any run stores.
const INSERTS_OF_A_RUN_MAX: u64 = 100_000_000_000;

/// Inserts begin where `records` says, and with another `records` the loaded slice must be named to stay what it is.
fn continues_by(spec: &mut YcsbSpec) -> Option<BTreeMap<String, u64>> {
    if spec.insert_proportion == 0.0 {
        return Some(BTreeMap::new());
    }
    if matches!(spec.request_distribution, RequestDistribution::Exponential { .. }) {
        return None; // it is drawn over `records`
    }
    spec.insert_count = Some(rows(spec));
    Some(BTreeMap::from([("records".to_owned(), INSERTS_OF_A_RUN_MAX)]))
}

fn advice(spec: &YcsbSpec, writes: bool) -> Vec<String> {
    let words = "with data_integrity, updates write the values that are already stored, and some systems then write nothing";
    if spec.data_integrity && writes {
        vec![words.into()]
    } else {
        vec![]
    }
}

/// Of the options that shape the tables: how rows are stored, and not what they are.
const FORM: &str = "table key_column key_length field_prefix value_varchar form";

/// The options that shape the table and its rows. How they are loaded, and what is asked of them afterwards, are left out.
fn shape_of(spec: &YcsbSpec) -> Value {
    let mut names =
        "table key_column key_length field_prefix value_varchar insert_start field_count insert_order \
                     zero_padding data_integrity field_length_distribution"
            .to_owned();
    names += match spec.field_length_distribution {
        FieldLength::Histogram { .. } => "",
        FieldLength::Constant => " field_length",
        FieldLength::Uniform | FieldLength::Zipfian => " field_length min_field_length",
    };
    if !spec.data_integrity {
        names += " payload";
    }
    // Names of data sets of before there was another form stay.
    if spec.form == Form::Document {
        names += " form";
    }
    let mut shape = shape(spec, &names);
    shape["rows"] = json!(rows(spec));
    shape
}

/// Of a common key.
fn key_length(spec: &YcsbSpec) -> usize {
    let text = KeyText {
        order: spec.insert_order,
        zero_padding: spec.zero_padding as usize,
    };
    text.common_length(spec.records)
}

/// Of a record's values together, in the mean.
fn fields_length(spec: &YcsbSpec) -> f64 {
    let (shortest, longest) = (f64::from(spec.min_field_length), f64::from(spec.field_length));
    let length = match &spec.field_length_distribution {
        FieldLength::Constant => longest,
        FieldLength::Uniform => (shortest + longest) / 2.0,
        FieldLength::Zipfian => {
            // Length i of n, counted from the shortest, has the weight i^-theta.
            let lengths = u64::from(spec.field_length - spec.min_field_length) + 1;
            shortest - 1.0 + zeta(lengths, THETA - 1.0) / zeta(lengths, THETA)
        }
        FieldLength::Histogram { block_size, buckets } => {
            let counts: f64 = buckets.iter().map(|&(_, count)| count as f64).sum();
            let blocks: f64 = buckets
                .iter()
                .map(|&(bucket, count)| (f64::from(bucket) + 1.0) * count as f64)
                .sum();
            blocks / counts * f64::from(*block_size)
        }
    };
    f64::from(spec.field_count) * length
}

// The first operations of a run's first user, without a session.

/// Nothing where all keys would have to be gone through for it.
pub fn preview(workload: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    let WorkloadSpec::Ycsb(spec) = workload else {
        return Ok(vec![]);
    };
    if spec.scan_last_keys.is_some() {
        return Ok(vec![]);
    }
    let ycsb = Ycsb::new(spec, seed, ClientSpec::default())?;
    let cursor = ycsb.space.cursor(&spec.request_distribution);
    let mut thread = ycsb.user(Stream::new(seed, 0), false);
    Ok((0..count)
        .map(|_| {
            let kind = ycsb.draw(&cursor, &mut thread);
            Previewed {
                operation: ycsb.operations[kind].name.clone(),
                lines: ycsb.lines(kind, &thread),
            }
        })
        .collect())
}

impl Ycsb {
    /// The key, and below it the values that are written.
    fn lines(&self, kind: usize, thread: &Thread) -> Vec<String> {
        let key = String::from_utf8_lossy(thread.drawn.key());
        let fields = match kind {
            INSERT => 0..self.fields.field_count(),
            UPDATE | READ_MODIFY_WRITE => self.written_fields(&thread.drawn),
            _ => 0..0,
        };
        let rows = match thread.drawn.limit {
            Some(limit) if kind == SCAN => format!(", at most {limit} records"),
            _ => String::new(),
        };
        let mut lines = vec![format!("{key}{rows}")];
        let mut start = 0;
        for (field, &end) in fields.zip(&thread.ends) {
            let value = String::from_utf8_lossy(&thread.values[start..end as usize]);
            lines.push(format!("{}{field} = {value:?}", self.spec.field_prefix));
            start = end as usize;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::asked;
    use bakeoff_model::resolve::OptionFile;
    use bakeoff_model::run::YcsbSpec;

    fn request(options: Value) -> WorkloadRequest {
        asked("ycsb", &options)
    }

    fn ycsb(options: Value) -> Resolved {
        resolve(&request(options)).unwrap().0
    }

    fn spec(resolved: Resolved) -> YcsbSpec {
        let WorkloadSpec::Ycsb(spec) = resolved.spec else {
            panic!("another workload");
        };
        spec
    }

    #[test]
    fn operations_are_those_that_the_mix_has_with_their_parts() {
        for (options, operations) in [
            (json!({"preset": "c"}), &["READ"][..]),
            (json!({"preset": "e"}), &["INSERT", "SCAN"]),
            (
                json!({"preset": "f", "ops_per_transaction": 10}),
                &[
                    "READ",
                    "READ-MODIFY-WRITE",
                    "READ-MODIFY-WRITE:READ",
                    "READ-MODIFY-WRITE:UPDATE",
                    "COMMIT",
                ],
            ),
        ] {
            assert_eq!(resolve(&request(options)).unwrap().0.operations, operations);
        }
    }

    #[test]
    fn an_option_goes_before_the_file_the_file_before_the_preset() {
        let file = json!({"read_proportion": 0.7, "records": 50, "request_distribution": "latest"});
        let file = OptionFile {
            name: "f".into(),
            options: file.as_object().unwrap().clone(),
        };
        let asked = WorkloadRequest {
            file: Some(file),
            ..request(json!({"preset": "a", "records": 99}))
        };
        let found = spec(resolve(&asked).unwrap().0);
        assert_eq!(
            (found.records, found.read_proportion, found.update_proportion),
            (99, 0.7, 0.5)
        );
        assert_eq!(found.request_distribution, RequestDistribution::Latest);
        assert_eq!(found.field_count, YcsbSpec::default().field_count);
    }

    #[test]
    fn identities_are_those_that_bundles_and_marker_tables_hold() {
        for (options, dataset) in [
            (json!({}), "ycsb-1-e01578625892"),
            (json!({"preset": "a"}), "ycsb-1-e01578625892"),
            (json!({"preset": "lx-scan"}), "ycsb-1-81b53f6591b7"),
            (
                json!({"records": 77, "insert_start": 5, "insert_count": 50, "payload": "compat", "field_length_distribution": "uniform"}),
                "ycsb-1-3c2f86c829d5",
            ),
            (json!({"data_integrity": true}), "ycsb-1-a11cbcf83928"),
            (
                json!({"field_length_distribution": {"kind": "histogram", "block_size": 100, "buckets": [[0, 10], [2, 30]]}}),
                "ycsb-1-7c62749692f3",
            ),
            (
                json!({"field_length_distribution": "zipfian", "min_field_length": 3}),
                "ycsb-1-380b1e1b9126",
            ),
        ] {
            assert_eq!(ycsb(options.clone()).dataset, dataset, "{options}");
        }
        let other_seed = WorkloadRequest {
            seed: 20_261_121,
            ..request(json!({}))
        };
        assert_eq!(resolve(&other_seed).unwrap().0.dataset, "ycsb-1-952bda9df01f");
    }

    #[test]
    fn the_size_is_rows_times_key_and_values() {
        let size = |options| ycsb(options).size_estimate_bytes;
        assert_eq!(size(json!({"records": 100})), 100 * (23 + 1000));
        assert_eq!(
            size(json!({"records": 100, "insert_start": 50})),
            50 * (23 + 1000)
        );
        assert_eq!(
            size(json!({"field_length_distribution": "zipfian", "min_field_length": 3})),
            235_688
        );
        let histogram = json!({"kind": "histogram", "block_size": 100, "buckets": [[0, 10], [2, 30]]});
        assert_eq!(
            size(json!({"field_length_distribution": histogram, "field_count": 1})),
            1000 * (23 + 250)
        );
        let at_once =
            json!({"field_length_distribution": "zipfian", "field_count": 1, "field_length": u32::MAX});
        assert!(size(at_once) > 0);
    }

    #[test]
    fn the_label_tells_the_mix_the_size_and_what_the_plan_says() {
        assert_eq!(
            ycsb(json!({"preset": "a", "records": 10_000})).label,
            "YCSB A (records 10000)"
        );
        assert_eq!(
            ycsb(json!({"field_length": 10})).label,
            "YCSB custom (records 1000, field_length 10)"
        );
        let spelled = json!({"request_distribution": {"kind": "zipfian_exact", "theta": 0.5}, "read_all_fields": false});
        let label =
            "YCSB custom (records 1000, request_distribution zipfian_exact 0.5, read_all_fields false)";
        assert_eq!(ycsb(spelled).label, label);
    }

    #[test]
    fn parts_that_are_left_out_have_the_originals_defaults() {
        let found = spec(ycsb(json!({"request_distribution": "hotspot"}))).request_distribution;
        assert_eq!(
            found,
            RequestDistribution::Hotspot {
                data_fraction: 0.2,
                operation_fraction: 0.8
            }
        );
        let exact = spec(ycsb(json!({"request_distribution": "zipfian_exact"}))).request_distribution;
        assert_eq!(exact, RequestDistribution::ZipfianExact { theta: THETA });
    }

    #[test]
    fn a_run_that_goes_on_inserts_beyond_all_that_the_runs_before_it_can_have() {
        let inserting = ycsb(json!({"preset": "d", "records": 100}));
        assert_eq!(
            inserting.continues_by,
            Some(BTreeMap::from([("records".into(), INSERTS_OF_A_RUN_MAX)]))
        );
        assert_eq!(spec(inserting).insert_count, Some(100));
        assert_eq!(ycsb(json!({"preset": "a"})).continues_by, Some(BTreeMap::new()));
        let drawn_over_records = json!({"preset": "d", "request_distribution": "exponential"});
        assert_eq!(ycsb(drawn_over_records).continues_by, None);
    }

    #[test]
    fn what_a_mix_does_is_said() {
        assert!(!ycsb(json!({"preset": "e", "insert_proportion": 0})).writes);
        assert!(ycsb(json!({"preset": "e"})).writes);
        assert!(ycsb(json!({"ops_per_transaction": 0})).keeps_session);
        assert_eq!(ycsb(json!({"data_integrity": true})).advice.len(), 1);
    }

    fn previewed(spec: YcsbSpec) -> Vec<Previewed> {
        preview(&WorkloadSpec::Ycsb(spec), 7, 5).unwrap()
    }

    #[test]
    fn operations_stand_with_their_keys_and_what_they_write() {
        let updates = previewed(YcsbSpec {
            read_proportion: 0.0,
            update_proportion: 1.0,
            ..YcsbSpec::default()
        });
        assert_eq!(updates.len(), 5);
        for one in &updates {
            assert_eq!(
                (one.operation.as_str(), one.lines.len()),
                ("UPDATE", 2),
                "{one:?}"
            );
            assert!(one.lines[0].starts_with("user"), "{one:?}");
            assert!(one.lines[1].starts_with("FIELD"), "{one:?}");
        }
        let reads = previewed(YcsbSpec {
            read_proportion: 1.0,
            update_proportion: 0.0,
            ..YcsbSpec::default()
        });
        assert!(
            reads
                .iter()
                .all(|one| one.operation == "READ" && one.lines.len() == 1)
        );
    }

    #[test]
    fn an_insert_has_all_fields_and_a_scan_its_length() {
        let inserts = previewed(YcsbSpec {
            read_proportion: 0.0,
            update_proportion: 0.0,
            insert_proportion: 1.0,
            field_count: 3,
            ..YcsbSpec::default()
        });
        assert!(inserts.iter().all(|one| one.lines.len() == 4), "{inserts:?}");
        let scans = previewed(YcsbSpec {
            read_proportion: 0.0,
            update_proportion: 0.0,
            scan_proportion: 1.0,
            ..YcsbSpec::default()
        });
        assert!(
            scans.iter().all(|one| one.lines[0].ends_with(" records")),
            "{scans:?}"
        );
    }
}
