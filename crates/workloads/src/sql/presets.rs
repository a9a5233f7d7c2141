//! pgbench's own transactions, in the words in which one's own are said: scripts, tables, rows and checks. Texts are those
//! of pgbench 15 (`--show-script`) and of `pgbench -i`, so that either tool runs on tables that the other has made.
use super::SqlSpec;
use bakeoff_model::run::sql::{Builtin, CheckTime, LoadTable, Script, SqlCheck, TextFile, Texts};
use serde_json::json;

pub fn name(script: Builtin) -> &'static str {
    match script {
        Builtin::TpcbLike => "tpcb-like",
        Builtin::SimpleUpdate => "simple-update",
        Builtin::SelectOnly => "select-only",
    }
}

/// The options with everything said that a preset stands for.
pub fn whole(spec: &SqlSpec) -> SqlSpec {
    let Some(script) = spec.script else {
        return spec.clone();
    };
    let text = match script {
        Builtin::TpcbLike => include_str!("presets/tpcb-like.sql"),
        Builtin::SimpleUpdate => include_str!("presets/simple-update.sql"),
        Builtin::SelectOnly => include_str!("presets/select-only.sql"),
    };
    let file = |name: &str, text: &str| {
        Some(TextFile {
            name: name.into(),
            text: text.into(),
        })
    };
    let nothing = || file("nothing.sql", "");
    let checks = checks().into_iter().chain(spec.checks.iter().cloned());
    SqlSpec {
        script: None,
        scripts: vec![Script {
            name: name(script).into(),
            file: file(&format!("{}.sql", name(script)), text),
            ..Script::default()
        }],
        schema: Some(Texts {
            file: file("schema.sql", include_str!("presets/schema.sql")),
            postgresql: file(
                "schema-postgresql.sql",
                include_str!("presets/schema-postgresql.sql"),
            ),
            sqlite: file("schema-sqlite.sql", include_str!("presets/schema-sqlite.sql")),
            mysql: None,
        }),
        after_load: Some(Texts {
            file: nothing(),
            postgresql: file(
                "after-postgresql.sql",
                include_str!("presets/after-postgresql.sql"),
            ),
            ..Texts::default()
        }),
        load: [
            table("pgbench_branches", "scale", &[("bid", "row"), ("bbalance", "0")]),
            table(
                "pgbench_tellers",
                "10 * scale",
                &[("tid", "row"), ("bid", "(row - 1) / 10 + 1"), ("tbalance", "0")],
            ),
            table(
                "pgbench_accounts",
                "100000 * scale",
                &[
                    ("aid", "row"),
                    ("bid", "(row - 1) / 100000 + 1"),
                    ("abalance", "0"),
                    ("filler", "''"),
                ],
            ),
        ]
        .into_iter()
        .collect(),
        checks: checks.collect(),
        ..spec.clone()
    }
}

fn table(name: &str, rows: &str, columns: &[(&str, &str)]) -> (String, LoadTable) {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    let load = LoadTable {
        rows: json!(rows),
        columns: columns.iter().map(owned).collect(),
        ..LoadTable::default()
    };
    (name.into(), load)
}

/// What holds whichever of the three scripts have run, and how often.
fn checks() -> [SqlCheck; 2] {
    let sum = |column: &str, table: &str| format!("SELECT COALESCE(SUM({column}), 0) FROM pgbench_{table}");
    let agree = |name: &str, queries: [String; 2]| SqlCheck {
        name: name.into(),
        empty: None,
        equal: Some(queries.into()),
        when: CheckTime::Always,
    };
    [
        agree(
            "accounts and history agree",
            [sum("abalance", "accounts"), sum("delta", "history")],
        ),
        agree(
            "tellers and branches agree",
            [sum("tbalance", "tellers"), sum("bbalance", "branches")],
        ),
    ]
}
