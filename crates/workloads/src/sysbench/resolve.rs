//! sysbench before a run: another version's ways, which errors are ignored, and what follows from the options.
use super::preview::preview;
use super::script::{Script, name};
use super::validate::validate;
use super::{GENERATOR_VERSION, needs};
use crate::prelude::*;
use crate::resolve::{Beside, Identity, Kind, Read, describe, identity, read, shape, words};
use crate::trouble::refuse;
use bakeoff_model::run::sysbench::{
    IndexTime, PreparedMode, SysbenchRandom, SysbenchScript, SysbenchSpec, TableChoice,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "sysbench",
    summary: "sysbench's OLTP scripts: point and range selects, updates, deletes and inserts (akopytov/sysbench 1.0.20)",
    preset: "script",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Options {
    /// The version whose ways these are, see below.
    compat: Compat,
    /// Codes of errors after which the event is started again, without end, with new values; `"all"`; `[]`: none.
    #[schemars(extend("title" = "a list of the server's codes such as [1213, 1020, 1205], or \"all\"; [] for none"))]
    mysql_ignore_errors: Value,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compat: Compat::Of2017,
            mysql_ignore_errors: json!(IGNORED),
        }
    }
}

/// Deadlock, record changed since the last read, lock wait timeout.
const IGNORED: [u32; 3] = [1213, 1020, 1205];
/// Deadlock, unique violation, serialization failure: the original's driver for PostgreSQL ignores these always, whatever
/// the list says (drv_pgsql.c). The codes of one system are no other's.
const IGNORED_BESIDE: [&str; 3] = ["40P01", "23505", "40001"];
/// An ignored error starts the event again, without end in the original.
const WITHOUT_END: u32 = u32::MAX;
/// id and k (4 bytes each), c and pad (CHAR of 120 and 60).
const ROW_BYTES: u64 = 188;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq)]
enum Compat {
    /// 1.0.20
    #[serde(rename = "1.0")]
    Of2017,
    /// early 2012
    #[serde(rename = "0.5")]
    Of2012,
}

impl Beside for Options {
    type Spec = SysbenchSpec;

    fn base(&self) -> SysbenchSpec {
        match self.compat {
            Compat::Of2017 => SysbenchSpec::default(),
            Compat::Of2012 => SysbenchSpec {
                table_choice: TableChoice::PerTransaction,
                db_ps_mode: PreparedMode::Disable,
                index_time: IndexTime::BeforeRows,
                ..SysbenchSpec::default()
            },
        }
    }
}

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let read = read::<Options>(request)?;
    let spec = &read.spec;
    validate(spec, ClientSpec::default(), None)?;
    let retry = retry(&read.beside.mysql_ignore_errors)?;
    let loaded_rows = if starts_empty(spec) {
        0
    } else {
        u64::from(spec.tables) * spec.table_size
    };
    let is_bulk = spec.script == SysbenchScript::BulkInsert;
    let needs = needs(spec);
    let Identity { dataset, content } =
        identity(KIND.kind, GENERATOR_VERSION, request.seed, shape_of(spec), &FORM);
    let resolved = Resolved {
        label: label(&read),
        loaded_rows,
        size_estimate_bytes: loaded_rows * ROW_BYTES,
        tables: (1..=spec.tables)
            .map(|number| format!("sbtest{number}"))
            .collect(),
        dataset,
        content,
        operations: vec![name(spec.script).into()],
        writes: !Script::new(spec).reads_only,
        keeps_session: needs.own_session,
        replaces_sessions: spec.reconnect > 0,
        prepared_statements: None,
        prepares_s: 0.0,
        users_max: is_bulk.then_some(spec.tables),
        // Ids that the client makes up are the same in every run; other scripts make none, or put back what they took.
        continues_by: (!starts_empty(spec)).then(BTreeMap::new),
        rates: vec![],
        limits: vec![],
        advice: advice(spec, &retry),
        retry: Some(retry),
        spec: WorkloadSpec::Sysbench(read.spec),
    };
    Ok((resolved, needs))
}

/// Script, size, and every option that the plan sets beside them.
fn label(read: &Read<Options>) -> String {
    let mut options = vec![format!("{} x {} rows", read.spec.tables, read.spec.table_size)];
    options.extend(words(&read.said, &["script", "tables", "table_size"]));
    format!("sysbench {} ({})", name(read.spec.script), options.join(", "))
}

fn advice(spec: &SysbenchSpec, retry: &Retry) -> Vec<String> {
    let several_writes = spec.skip_trx && writes_several_times(&Script::new(spec));
    let words = if spec.script == SysbenchScript::OltpDelete {
        "oltp_delete puts no row back, so later deletes find nothing: use short windows or large tables"
    } else if several_writes && spec.secondary {
        "with skip_trx and secondary two threads may store one id twice, and the check of the rows fails"
    } else if several_writes && !retry.on_codes.iter().any(|code| code == "1062" || code == "all") {
        "with skip_trx two threads may insert the same row; add 1062 to mysql_ignore_errors"
    } else {
        return vec![];
    };
    vec![words.into()]
}

fn writes_several_times(script: &Script) -> bool {
    let writes = script.groups.iter().filter(|group| group.kind.writes());
    script.puts_back || writes.map(|group| group.times).sum::<u32>() > 1
}

/// Codes in a list, or in a text as the original has them: "1213,1020"; "all" is every failure.
fn retry(said: &Value) -> Result<Retry, Trouble> {
    let codes: Option<Vec<String>> = match said {
        Value::String(text) => Some(
            text.split(',')
                .map(|code| code.trim().to_owned())
                .filter(|code| !code.is_empty())
                .collect(),
        ),
        Value::Array(items) => items.iter().map(code_text).collect(),
        _ => None,
    };
    let Some(mut on_codes) = codes.filter(|codes| codes.iter().all(|code| is_code(code))) else {
        let hint = "it is a list of the server's codes such as [1213, 1020, 1205], or \"all\"; [] for none";
        return Err(refuse(
            "mysql_ignore_errors",
            format!("`mysql_ignore_errors` cannot be {said}"),
            hint,
        ));
    };
    let is_none = on_codes.is_empty();
    if !is_none && !on_codes.iter().any(|code| code == "all") {
        on_codes.extend(IGNORED_BESIDE.map(str::to_owned));
    }
    Ok(Retry {
        retries: if is_none { 0 } else { WITHOUT_END },
        on_codes,
        ..Retry::default()
    })
}

fn code_text(item: &Value) -> Option<String> {
    item.as_u64()
        .map(|code| code.to_string())
        .or_else(|| item.as_str().map(str::to_owned))
}

/// A system's own code, or all of them: 1213, SQLITE_BUSY.
fn is_code(text: &str) -> bool {
    let is_number = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    let is_name = text.starts_with(|c: char| c.is_ascii_uppercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    text == "all" || !text.is_empty() && (is_number || is_name)
}

/// Of the options that shape the tables: how rows are stored, and not what they are.
const FORM: [&str; 6] = [
    "auto_inc",
    "secondary",
    "create_secondary",
    "index_time",
    "mysql_storage_engine",
    "create_table_options",
];

/// The options that shape the tables and their rows. How they are loaded, and what is asked of them afterwards, are left out.
fn shape_of(spec: &SysbenchSpec) -> Value {
    if spec.script == SysbenchScript::BulkInsert {
        let mut own = shape(spec, &["tables", "mysql_storage_engine"]);
        own["own"] = json!("bulk_insert");
        return own;
    }
    let mut names = vec![
        "tables",
        "auto_inc",
        "secondary",
        "create_secondary",
        "index_time",
        "mysql_storage_engine",
    ];
    if !spec.create_table_options.is_empty() {
        names.push("create_table_options"); // older identities know nothing of it
    }
    if starts_empty(spec) {
        let mut empty = shape(spec, &names);
        empty["table_size"] = json!(0);
        return empty;
    }
    names.extend(["table_size", "rand_type"]);
    // k is drawn at load, too.
    names.extend_from_slice(match spec.rand_type {
        SysbenchRandom::Uniform => &[],
        SysbenchRandom::Gaussian => &["rand_spec_iter"],
        SysbenchRandom::Special => &["rand_spec_iter", "rand_spec_pct", "rand_spec_res"],
        SysbenchRandom::Pareto => &["rand_pareto_h"],
        SysbenchRandom::Zipfian => &["rand_zipfian_exp"],
    });
    shape(spec, &names)
}

/// Scripts that fill tables of their own, or whose ids could be there already.
fn starts_empty(spec: &SysbenchSpec) -> bool {
    match spec.script {
        SysbenchScript::BulkInsert => true,
        SysbenchScript::OltpInsert => !spec.auto_inc,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(options: Value) -> WorkloadRequest {
        let options = options.as_object().unwrap().clone();
        WorkloadRequest {
            kind: "sysbench".into(),
            options,
            file: None,
            driver: None,
            seed: 1,
        }
    }

    fn sysbench(options: Value) -> Resolved {
        resolve(&request(options)).unwrap().0
    }

    #[test]
    fn identities_are_those_that_bundles_and_marker_tables_hold() {
        for (options, dataset) in [
            (json!({}), "sysbench-1-c6d5b523f31d"),
            (
                json!({"tables": 16, "table_size": 250_000, "rand_type": "uniform"}),
                "sysbench-1-f138f0f9e769",
            ),
            (
                json!({"rand_type": "pareto", "rand_pareto_h": 0.3}),
                "sysbench-1-56898928c74d",
            ),
            (json!({"rand_type": "zipfian"}), "sysbench-1-82cdf56ecbc8"),
            (
                json!({"rand_type": "zipfian", "rand_zipfian_exp": 1}),
                "sysbench-1-d6e24aaaaabd",
            ),
            (
                json!({"script": "bulk_insert", "tables": 4}),
                "sysbench-1-f316dbba852b",
            ),
            (
                json!({"script": "oltp_insert", "auto_inc": false}),
                "sysbench-1-ef389f76c810",
            ),
            (
                json!({"compat": "0.5", "rand_type": "gaussian"}),
                "sysbench-1-6e92aeac2277",
            ),
        ] {
            assert_eq!(sysbench(options.clone()).dataset, dataset, "{options}");
        }
    }

    #[test]
    fn a_script_writes_unless_all_its_statements_read() {
        for (options, writes) in [
            (json!({}), true),
            (
                json!({"index_updates": 0, "non_index_updates": 0, "delete_inserts": 0}),
                false,
            ),
            (json!({"script": "oltp_read_only"}), false),
            (json!({"script": "oltp_delete"}), true),
            (json!({"script": "bulk_insert"}), true),
            (json!({"script": "select_random_points"}), false),
        ] {
            assert_eq!(sysbench(options.clone()).writes, writes, "{options}");
        }
    }

    #[test]
    fn only_scripts_that_fill_tables_of_each_threads_own_bound_the_threads() {
        assert_eq!(sysbench(json!({"tables": 3})).users_max, None);
        assert_eq!(
            sysbench(json!({"script": "bulk_insert", "tables": 3})).users_max,
            Some(3)
        );
    }

    #[test]
    fn ignored_errors_are_tried_again_without_end() {
        for (said, codes) in [
            (json!([1213, 1062]), vec!["1213", "1062"]),
            (json!("1213, 1062"), vec!["1213", "1062"]),
            (json!("SQLITE_BUSY"), vec!["SQLITE_BUSY"]),
        ] {
            let retry = sysbench(json!({"mysql_ignore_errors": said})).retry.unwrap();
            assert_eq!(retry.on_codes, [codes.as_slice(), &IGNORED_BESIDE].concat());
            assert_eq!(retry.retries, u32::MAX);
        }
        for (said, codes, retries) in [(json!("all"), vec!["all"], u32::MAX), (json!([]), vec![], 0)] {
            let retry = sysbench(json!({"mysql_ignore_errors": said})).retry.unwrap();
            assert_eq!(
                (retry.on_codes, retry.retries),
                (codes.iter().map(|c: &&str| (*c).to_owned()).collect(), retries)
            );
        }
        for said in [
            json!(1213),
            json!("off"),
            json!([true]),
            json!([0]),
            json!(["01"]),
        ] {
            let trouble = resolve(&request(json!({"mysql_ignore_errors": said}))).unwrap_err();
            assert_eq!(trouble.place, "workload.mysql_ignore_errors", "{said}");
        }
    }

    #[test]
    fn scripts_whose_ids_are_made_up_cannot_go_on_where_another_run_ended() {
        assert!(sysbench(json!({})).continues_by.is_some());
        assert!(sysbench(json!({"script": "oltp_insert"})).continues_by.is_some());
        assert!(
            sysbench(json!({"script": "oltp_insert", "auto_inc": false}))
                .continues_by
                .is_none()
        );
        assert!(sysbench(json!({"script": "bulk_insert"})).continues_by.is_none());
    }

    #[test]
    fn rows_and_bytes_are_those_of_the_load() {
        let found = sysbench(json!({"tables": 16, "table_size": 250_000}));
        assert_eq!(
            (found.loaded_rows, found.size_estimate_bytes),
            (4_000_000, 752_000_000)
        );
        assert_eq!(found.tables.len(), 16);
        assert_eq!(sysbench(json!({"script": "oltp_insert"})).loaded_rows, 10_000);
        assert_eq!(
            sysbench(json!({"script": "oltp_insert", "auto_inc": false})).loaded_rows,
            0
        );
    }
}
