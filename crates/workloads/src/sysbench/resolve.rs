//! sysbench before a run: another version's ways, which errors are ignored, and what follows from the options.
use super::random::Texts;
use super::steps::{Script, Steps, name};
use super::thread::Values;
use super::{GENERATOR_VERSION, Sysbench, needs};
use crate::prelude::*;
use crate::resolve::{Beside, Kind, Read, describe, read, shape, usual, words};
use crate::rng::Stream;
use crate::table_options;
use crate::trouble::{check_client, refuse};
use bakeoff_model::run::sysbench::{
    IndexTime, PreparedMode, SysbenchRandom, SysbenchScript, SysbenchSpec, TableChoice,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "sysbench",
    generator_version: GENERATOR_VERSION,
    form: FORM,
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
    let resolved = Resolved {
        label: label(&read),
        loaded_rows,
        size_estimate_bytes: loaded_rows * ROW_BYTES,
        tables: (1..=spec.tables)
            .map(|number| format!("sbtest{number}"))
            .collect(),
        operations: vec![name(spec.script).into()],
        writes: !Script::new(spec).reads_only,
        replaces_sessions: spec.reconnect > 0,
        users_max: is_bulk.then_some(spec.tables),
        // Ids that the client makes up are the same in every run; other scripts make none, or put back what they took.
        continues_by: (!starts_empty(spec)).then(BTreeMap::new),
        advice: advice(spec, &retry),
        retry: Some(retry),
        ..usual(
            &KIND,
            request,
            shape_of(spec),
            &needs,
            WorkloadSpec::Sysbench(spec.clone()),
        )
    };
    Ok((resolved, needs))
}

/// Script, size, and every other option that the plan sets.
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
const FORM: &str = "auto_inc secondary create_secondary index_time mysql_storage_engine create_table_options";

/// The options that shape the tables and their rows. How they are loaded, and what is asked of them afterwards, are left out.
fn shape_of(spec: &SysbenchSpec) -> Value {
    if spec.script == SysbenchScript::BulkInsert {
        let mut own = shape(spec, "tables mysql_storage_engine");
        own["own"] = json!("bulk_insert");
        return own;
    }
    let mut names = "tables auto_inc secondary create_secondary index_time mysql_storage_engine".to_owned();
    if !spec.create_table_options.is_empty() {
        names += " create_table_options"; // older identities know nothing of it
    }
    if starts_empty(spec) {
        let mut empty = shape(spec, &names);
        empty["table_size"] = json!(0);
        return empty;
    }
    names += " table_size rand_type";
    // k is drawn at load, too.
    names += match spec.rand_type {
        SysbenchRandom::Uniform => "",
        SysbenchRandom::Gaussian => " rand_spec_iter",
        SysbenchRandom::Special => " rand_spec_iter rand_spec_pct rand_spec_res",
        SysbenchRandom::Pareto => " rand_pareto_h",
        SysbenchRandom::Zipfian => " rand_zipfian_exp",
    };
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

// The first events of a run's first user, without a session.

/// Nothing of scripts whose values depend on how many users there are, or on the rows that the table has.
pub fn preview(workload: &WorkloadSpec, seed: u64, count: usize) -> Result<Vec<Previewed>, Trouble> {
    use SysbenchScript as S;
    let WorkloadSpec::Sysbench(spec) = workload else {
        return Ok(vec![]);
    };
    let unknown = [
        S::OltpInsert,
        S::BulkInsert,
        S::SelectRandomPoints,
        S::SelectRandomRanges,
    ];
    if unknown.contains(&spec.script) {
        return Ok(vec![]);
    }
    let sysbench = Sysbench::new(spec, seed, ClientSpec::default(), None)?;
    let mut stream = Stream::new(seed, 0);
    Ok((0..count)
        .map(|_| Previewed {
            operation: sysbench.operation[0].name.clone(),
            lines: sysbench.lines(stream.next_seed()),
        })
        .collect())
}

impl Sysbench {
    /// Statements with their values in them.
    fn lines(&self, event_seed: u64) -> Vec<String> {
        let (mut steps, mut texts) = (Steps::new(event_seed), Texts::default());
        let mut lines = vec![];
        while let Some(step) = steps.next(&self.draws) {
            let (kind, table) = (step.kind, step.table);
            let mut text = String::new();
            self.statements
                .written(&mut text, kind, table, &Values::of(step, &mut texts));
            lines.push(text);
        }
        if self.draws.script.transaction {
            lines.insert(0, "BEGIN".into());
            lines.push("COMMIT".into());
        }
        lines
    }
}

// Refuses what cannot be run, before anything starts. Bounds of single options are in run/sysbench.rs.

/// `users`: of the whole run; `None` in phases before and after it.
pub fn validate(spec: &SysbenchSpec, client: ClientSpec, users: Option<u64>) -> Result<(), Trouble> {
    check_client(client)?;
    check_bounds(spec, "workload")?;
    tables(spec, users)?;
    if spec.script != SysbenchScript::BulkInsert && Script::new(spec).groups.is_empty() {
        let what = format!(
            "an event of `{}` has no statement: all its counts are 0",
            name(spec.script)
        );
        let hint = "give at least one of them a number, such as point_selects = 10";
        return Err(refuse("script", what, hint));
    }
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name(&spec.mysql_storage_engine) {
        let what = format!("`mysql_storage_engine` cannot be {:?}", spec.mysql_storage_engine);
        let hint = "it is the name of an engine, such as \"innodb\", or \"\" for the server's default";
        return Err(refuse("mysql_storage_engine", what, hint));
    }
    table_options::validate(&spec.create_table_options)?;
    pipeline(spec)
}

fn pipeline(spec: &SysbenchSpec) -> Result<(), Trouble> {
    let refused = |why: &str, hint: &str| {
        let what = format!("`pipeline` sends a transaction's prepared statements together, and {why}");
        Err(refuse("pipeline", what, hint))
    };
    if !spec.pipeline {
        Ok(())
    } else if !Script::new(spec).transaction {
        refused(
            "there is no transaction here",
            "leave out `pipeline`; or `skip_trx`, with oltp_read_write, oltp_read_only or oltp_write_only",
        )
    } else if spec.db_ps_mode == PreparedMode::Disable {
        refused("`db_ps_mode` is \"disable\"", "write db_ps_mode = \"auto\"")
    } else {
        Ok(())
    }
}

fn tables(spec: &SysbenchSpec, users: Option<u64>) -> Result<(), Trouble> {
    use SysbenchScript::{BulkInsert, SelectRandomPoints, SelectRandomRanges};
    if matches!(spec.script, SelectRandomPoints | SelectRandomRanges) && spec.tables > 1 {
        let what = format!(
            "`tables` is {}, and {} asks one table only",
            spec.tables,
            name(spec.script)
        );
        return Err(refuse("tables", what, "write tables = 1"));
    }
    let too_many = users.filter(|users| spec.script == BulkInsert && *users > u64::from(spec.tables));
    if let Some(users) = too_many {
        let what = format!(
            "{users} threads, each filling a table of its own, and {} tables",
            spec.tables
        );
        return Err(refuse("tables", what, format!("set tables to {users} at least")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::asked;
    use bakeoff_model::run::sysbench::SysbenchSpec;

    fn request(options: Value) -> WorkloadRequest {
        asked("sysbench", &options)
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

    fn previewed(script: SysbenchScript) -> Vec<Previewed> {
        let spec = SysbenchSpec {
            script,
            ..SysbenchSpec::default()
        };
        preview(&WorkloadSpec::Sysbench(spec), 7, 2).unwrap()
    }

    #[test]
    fn an_event_is_its_statements_with_their_values() {
        let found = previewed(SysbenchScript::OltpReadWrite);
        assert_eq!(found.len(), 2);
        let lines = &found[0].lines;
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[19].as_str()),
            (20, "BEGIN", "COMMIT")
        );
        assert!(
            lines[1].starts_with("SELECT c FROM sbtest1 WHERE id="),
            "{lines:?}"
        );
        assert!(
            lines[18].starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES ("),
            "{lines:?}"
        );
        assert_eq!(previewed(SysbenchScript::OltpPointSelect)[0].lines.len(), 1);
    }

    #[test]
    fn what_depends_on_the_number_of_users_is_not_reported() {
        assert_eq!(previewed(SysbenchScript::SelectRandomPoints), []);
    }

    fn refused(option: &str, change: impl FnOnce(&mut SysbenchSpec)) {
        let mut spec = SysbenchSpec::default();
        change(&mut spec);
        let trouble = validate(&spec, ClientSpec::default(), Some(2)).unwrap_err();
        assert_eq!(
            (trouble.kind, &*trouble.place),
            (TroubleKind::Usage, &*format!("workload.{option}"))
        );
        assert!(!trouble.hint.is_empty());
    }

    #[test]
    fn the_defaults_can_be_run() {
        validate(&SysbenchSpec::default(), ClientSpec::default(), Some(1)).unwrap();
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_the_name_of_its_option() {
        refused("tables", |s| s.tables = 0);
        refused("table_size", |s| s.table_size = 0);
        refused("table_size", |s| s.table_size = 1 << 31);
        refused("range_size", |s| s.range_size = 0);
        refused("random_points", |s| s.random_points = 0);
        refused("random_points", |s| s.random_points = 70_000);
        refused("number_of_ranges", |s| s.number_of_ranges = 0);
        refused("number_of_ranges", |s| s.number_of_ranges = 33_000);
        refused("rand_spec_iter", |s| s.rand_spec_iter = 0);
        refused("rand_spec_pct", |s| s.rand_spec_pct = 101);
        refused("rand_spec_res", |s| s.rand_spec_res = 100);
        refused("rand_pareto_h", |s| s.rand_pareto_h = 1.0);
        refused("rand_pareto_h", |s| s.rand_pareto_h = f64::NAN);
        refused("rand_zipfian_exp", |s| s.rand_zipfian_exp = -0.1);
        refused("create_table_options", |s| {
            s.create_table_options = "; DROP TABLE IF EXISTS other.usertable".into()
        });
        refused("mysql_storage_engine", |s| {
            s.mysql_storage_engine = "innodb */ x".into()
        });
        refused("tables", |s| {
            (s.script, s.tables) = (SysbenchScript::SelectRandomPoints, 2)
        });
        refused("tables", |s| {
            (s.script, s.tables) = (SysbenchScript::BulkInsert, 1)
        });
        refused("script", |s| {
            (s.script, s.index_updates) = (SysbenchScript::OltpUpdateIndex, 0)
        });
        refused("script", |s| {
            (s.script, s.point_selects, s.range_selects) = (SysbenchScript::OltpReadOnly, 0, false);
        });
        refused("pipeline", |s| (s.pipeline, s.skip_trx) = (true, true));
        refused("pipeline", |s| {
            (s.pipeline, s.script) = (true, SysbenchScript::OltpPointSelect)
        });
        refused("pipeline", |s| {
            (s.pipeline, s.db_ps_mode) = (true, PreparedMode::Disable)
        });
    }

    #[test]
    fn tables_of_a_bulk_insert_are_counted_against_threads_in_a_run_only() {
        let spec = SysbenchSpec {
            script: SysbenchScript::BulkInsert,
            ..SysbenchSpec::default()
        };
        validate(&spec, ClientSpec::default(), None).unwrap();
    }

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        let client = ClientSpec { index: 2, count: 2 };
        assert_eq!(
            validate(&SysbenchSpec::default(), client, None)
                .unwrap_err()
                .place,
            "client"
        );
    }
}
