//! One's own SQL before a run: every text read as it will be, and what follows from it.
use super::preview::preview;
use super::schema::{Schema, changes_of_rows};
use super::scripts::Scripts;
use super::{GENERATOR_VERSION, allowed, check, needs, presets, rows, scripts};
use crate::prelude::*;
use crate::resolve::{Kind, NoneBeside, UNCHECKED, after_conflicts, describe, name_of, read, shape, usual};
use crate::trouble::refuse;
use bakeoff_model::run::sql::SqlSpec;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const KIND: Kind = Kind {
    kind: "sql",
    generator_version: GENERATOR_VERSION,
    form: "",
    summary: "your own SQL: a schema, rows, transactions in pgbench's language and checks, from files; and pgbench's own",
    preset: "script",
    describe: describe::<Options>,
    resolve,
    preview: Some(preview),
};

type Options = NoneBeside<SqlSpec>;

/// After a conflict the same transaction may succeed, soon. The number is that of pgbench's `--max-tries`.
const RETRIES: u32 = 10;
const BACKOFF_S: f64 = 0.001;

fn resolve(request: &WorkloadRequest) -> Result<(Resolved, Needs), Trouble> {
    let mut spec = read::<Options>(request)?.spec;
    alone(&spec)?;
    scripts::validate(&spec)?;
    check::validate(&spec)?;
    let files = rows::files(&spec)?;
    for (name, data) in &files {
        if let Some(load) = spec.load.get_mut(name) {
            load.file = Some(data.file.clone());
        }
    }
    let whole = presets::whole(&spec);
    let dialect = request.driver.as_ref().map_or("", |driver| driver.kind.as_str());
    let mut scripts = Scripts::new(&whole, dialect)?;
    let schema = Schema::new(&whole, dialect)?;
    allowed::validate(&whole, dialect, &schema, &mut scripts)?;
    let tables = rows::tables(&whole, request.seed, files)?;
    let names = || scripts.all.iter().map(|script| script.name.clone());
    let needs = needs(&scripts);
    let resolved = Resolved {
        label: label(&spec, &whole, &names().collect::<Vec<_>>())
            + if spec.unchecked_sql { UNCHECKED } else { "" },
        loaded_rows: tables.iter().map(|table| table.rows).sum(),
        size_estimate_bytes: rows::size_estimate_bytes(&tables, &scripts::values(&whole, 0, request.seed))?,
        tables: schema.tables,
        operations: names().collect(),
        writes: !scripts.all.iter().all(|script| script.program.reads_only),
        retry: after_conflicts(RETRIES, BACKOFF_S),
        continues_by: Some(BTreeMap::from([("turn".to_owned(), 1)])),
        advice: advice(&scripts),
        content: content(request, &spec)?,
        ..usual(
            &KIND,
            request,
            shape_of(&spec),
            &needs,
            WorkloadSpec::Sql(Box::new(spec.clone())),
        )
    };
    Ok((resolved, needs))
}

fn advice(scripts: &Scripts) -> Vec<String> {
    let silent = scripts.all.iter().filter(|script| !script.program.asks());
    silent
        .map(|script| {
            format!(
                "the script {} asks the system nothing: its rate is the client's own",
                script.name
            )
        })
        .collect()
}

/// pgbench's own transactions have tables of their own.
fn alone(spec: &SqlSpec) -> Result<(), Trouble> {
    if spec.script.is_none() {
        return Ok(());
    }
    let said = [
        ("scripts", !spec.scripts.is_empty()),
        ("schema", spec.schema.is_some()),
        ("after_load", spec.after_load.is_some()),
        ("tables", !spec.tables.is_empty()),
        ("load", !spec.load.is_empty()),
    ];
    match said.into_iter().find(|(_, said)| *said) {
        Some((option, _)) => {
            let what = format!(
                "`{option}` cannot be combined with `script`, whose tables and transactions are pgbench's"
            );
            Err(refuse(option, what, format!("leave out `script`, or `{option}`")))
        }
        None => Ok(()),
    }
}

fn label(spec: &SqlSpec, whole: &SqlSpec, names: &[String]) -> String {
    if let Some(script) = spec.script {
        return format!("pgbench {} (scale {})", presets::name(script), spec.scale);
    }
    let weighted = |(name, weight): (&String, u32)| format!("{name} {weight}");
    let words: Vec<String> = match names {
        [name] => vec![name.clone()],
        names => names
            .iter()
            .zip(whole.scripts.iter().map(|script| script.weight))
            .map(weighted)
            .collect(),
    };
    format!("SQL {} (scale {})", words.join(", "), spec.scale)
}

/// What tables and rows depend on, and what they do not: on names of files, and where those lie. A schema of the asker's own
/// may make rows, too.
fn shape_of(spec: &SqlSpec) -> Value {
    if spec.script.is_some() {
        return json!({"pgbench": spec.scale});
    }
    let mut shape = shape(spec, "scale variables schema after_load lists");
    shape["load"] = json!({});
    for (name, load) in &spec.load {
        shape["load"][name] = match &load.file {
            Some(file) => json!([file.sha256, load.header, load.delimiter, load.null]),
            None => json!([load.rows, load.columns]),
        };
    }
    without_names(&mut shape);
    shape
}

/// The name of the rows, however they are stored: of what is done after the load, only statements that may change rows.
fn content(request: &WorkloadRequest, spec: &SqlSpec) -> Result<String, Trouble> {
    let mut shape = shape_of(spec);
    if let Some(texts) = &spec.after_load {
        let mut left = texts.clone();
        let mut is_form = true;
        let files = [
            &mut left.file,
            &mut left.mysql,
            &mut left.postgresql,
            &mut left.sqlite,
        ];
        for file in files.into_iter().flatten() {
            let changing = changes_of_rows(file)?;
            is_form &= changing.is_empty();
            file.text = changing;
        }
        if is_form {
            shape["after_load"] = Value::Null;
        } else {
            shape["after_load"] = json!(left);
            without_names(&mut shape);
        }
    }
    Ok(name_of(KIND.kind, KIND.generator_version, request.seed, &shape))
}

/// Only a text's content counts, not its file's name.
fn without_names(value: &mut Value) {
    match value {
        Value::Object(parts) if parts.contains_key("text") && parts.contains_key("name") => {
            parts.remove("name");
        }
        Value::Object(parts) => parts.values_mut().for_each(without_names),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::asked;

    fn request(options: Value) -> WorkloadRequest {
        asked("sql", &options)
    }

    fn shop() -> Value {
        json!({
            "schema": {"file": {"name": "shop.sql", "text": "CREATE TABLE customers (id int, name text);"}},
            "scripts": [
                {"file": {"name": "browse.sql", "text": "\\set id random(1, :customers)\nSELECT name FROM customers WHERE id = :id;"}, "weight": 7},
                {"file": {"name": "order.sql", "text": "UPDATE customers SET name = '' WHERE id = 1;"}, "weight": 3}
            ],
            "variables": {"customers": 100},
            "load": {"customers": {"rows": "customers * scale", "columns": {"id": "row", "name": "text(10)"}}},
            "scale": 2
        })
    }

    fn resolved(options: Value) -> Resolved {
        resolve(&request(options)).unwrap().0
    }

    fn refused(options: Value) -> (String, String) {
        let trouble = resolve(&request(options)).unwrap_err();
        (trouble.place, trouble.what)
    }

    #[test]
    fn what_follows_from_the_texts_is_reported() {
        let found = resolved(shop());
        assert_eq!(found.label, "SQL browse 7, order 3 (scale 2)");
        assert_eq!((found.loaded_rows, found.size_estimate_bytes), (200, 3600));
        assert_eq!(
            (found.tables, found.operations),
            (vec!["customers".into()], vec!["browse".into(), "order".into()])
        );
        assert!(found.writes);
        let mut reading = shop();
        reading["scripts"].as_array_mut().unwrap().pop();
        let reading = resolved(reading);
        assert_eq!(
            (reading.label.as_str(), reading.writes),
            ("SQL browse (scale 2)", false)
        );
    }

    #[test]
    fn identities_are_those_that_bundles_and_marker_tables_hold() {
        assert_eq!(resolved(shop()).dataset, "sql-1-16834102e9a4");
        assert_eq!(
            resolved(json!({"script": "tpcb-like", "scale": 10})).dataset,
            "sql-1-29c734129da3"
        );
    }

    #[test]
    fn data_are_the_same_where_what_shapes_them_is() {
        let own = resolved(shop()).dataset;
        let same = |change: fn(&mut Value)| {
            let mut changed = shop();
            change(&mut changed);
            resolved(changed).dataset == own
        };
        assert!(same(|shop| shop["schema"]["file"]["name"] = json!("other.sql")));
        assert!(same(|shop| shop["scripts"][0]["weight"] = json!(1)));
        assert!(!same(|shop| shop["scale"] = json!(3)));
        assert!(!same(
            |shop| shop["load"]["customers"]["columns"]["name"] = json!("text(11)")
        ));
        assert!(!same(
            |shop| shop["schema"]["file"]["text"] = json!("CREATE TABLE customers (id bigint, name text);")
        ));
    }

    #[test]
    fn an_index_after_the_load_is_another_data_set_of_the_same_rows() {
        let after = |text: Option<&str>| {
            let mut shop = shop();
            shop["unchecked_sql"] = json!(true);
            if let Some(text) = text {
                shop["after_load"] = json!({"file": {"name": "after.sql", "text": text}});
            }
            let found = resolved(shop);
            (found.dataset, found.content)
        };
        let plain = after(None);
        assert_eq!(plain.0, plain.1);
        for form in [
            "CREATE INDEX by_name ON customers (name);",
            "create unique index concurrently i on customers (id); ANALYZE customers",
            "-- a key\nALTER TABLE customers ADD PRIMARY KEY (id), ADD INDEX (name);",
            "DROP INDEX i; VACUUM",
        ] {
            let found = after(Some(form));
            assert_ne!(found.0, plain.0, "{form}");
            assert_eq!(found.1, plain.1, "{form}");
        }
        let other = "INSERT INTO customers VALUES (0, 'x')";
        for rows in [
            other,
            "ALTER TABLE customers ADD INDEX (name), ADD age int DEFAULT 3",
            "ALTER TABLE customers ADD INDEX (name), DROP COLUMN name",
            "ALTER TABLE customers ADD COLUMN unique_name text",
            "CREATE TABLE b AS SELECT 1",
        ] {
            assert_ne!(after(Some(rows)).1, plain.1, "{rows}");
        }
        let both = format!("CREATE INDEX i ON customers (name); {other}");
        assert_eq!(
            after(Some(&both)).1,
            after(Some(&format!("ANALYZE;\n{other};"))).1
        );
    }

    #[test]
    fn a_script_that_asks_nothing_is_reported() {
        let mut shop = shop();
        assert!(resolved(shop.clone()).advice.is_empty());
        shop["scripts"][0]["file"]["text"] = json!("\\set id random(1, 10)\n\\sleep 1 ms\n");
        assert_eq!(
            resolved(shop).advice,
            ["the script browse asks the system nothing: its rate is the client's own"]
        );
    }

    #[test]
    fn a_preset_is_what_its_options_are() {
        let found = resolved(json!({"script": "tpcb-like", "scale": 3}));
        assert_eq!(found.label, "pgbench tpcb-like (scale 3)");
        assert_eq!(found.loaded_rows, 300_033);
        assert_eq!(found.operations, ["tpcb-like"]);
        assert_eq!(found.tables.len(), 4);
        let reading = resolved(json!({"script": "select-only", "scale": 3}));
        assert_eq!((reading.dataset == found.dataset, reading.writes), (true, false));
        let mut unchecked = shop();
        unchecked["schema"]["file"]["text"] =
            json!("CREATE TABLE customers (id int); CREATE VIEW v AS SELECT 1");
        assert_eq!(
            refused(unchecked.clone()).1,
            "shop.sql, line 1: `CREATE VIEW` is not one of the statements that a schema may have"
        );
        unchecked["unchecked_sql"] = json!(true);
        assert!(resolved(unchecked).label.ends_with(UNCHECKED));
        let mut beside = shop();
        beside["script"] = json!("select-only");
        assert_eq!(refused(beside).0, "workload.scripts");
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_option() {
        let changed = |change: fn(&mut Value)| {
            let mut shop = shop();
            change(&mut shop);
            refused(shop)
        };
        let said = |place: &str, what: &str| (format!("workload.{place}"), what.to_owned());
        assert_eq!(
            changed(|shop| shop["load"]["customers"]["rowz"] = json!(1)),
            said("load", "`load` `customers` has no part `rowz`")
        );
        assert_eq!(
            changed(|shop| shop["load"]["orders"] = json!({"rows": 1, "columns": {"id": "row"}})),
            said(
                "load",
                "rows are loaded into `orders`, which is not one of the tables"
            )
        );
        assert_eq!(
            changed(|shop| shop["checks"] = json!([{"name": "x", "empty": "SELECT 1", "equal": ["a", "b"]}])),
            said("checks", "`checks` \"x\" must say either `empty` or `equal`")
        );
        assert_eq!(
            changed(|shop| shop["checks"] =
                json!([{"name": "x", "equal": ["SELECT 1", "DELETE FROM customers"]}])),
            said(
                "checks",
                "the check \"x\", line 1, column 1 (DELETE FROM customers): it does more than ask"
            )
        );
        assert_eq!(
            changed(|shop| shop["checks"] = json!([{"name": "x", "equal": ["a"]}])).0,
            "workload.checks"
        );
        assert_eq!(
            changed(|shop| shop["variables"] = json!({"customers": "many"})),
            said("variables", "`variables` `customers` cannot be \"many\"")
        );
        assert_eq!(refused(json!({})).0, "workload.scripts");
        assert_eq!(refused(json!({"scrpts": []})).1, "unknown option `scrpts`");
    }
}
