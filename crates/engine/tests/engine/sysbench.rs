//! sysbench OLTP from end to end, on SQLite: every script on tables we loaded, and the checks afterwards.
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::database::Database;

const OPERATIONS: u64 = 60;
const TABLES: u64 = 2;
const TABLE_SIZE: u64 = 500;

fn workload(script: &str, mode: &str) -> Value {
    let tables = if script.starts_with("select_random") {
        1
    } else {
        TABLES
    };
    json!({
        "kind": "sysbench",
        "script": script,
        "tables": tables,
        "table_size": TABLE_SIZE,
        "db_ps_mode": mode,
    })
}

#[test]
fn every_script_runs_on_tables_we_loaded_and_leaves_them_as_they_must_be() {
    for mode in ["auto", "disable"] {
        let database = Database::new(&format!("sysbench-{mode}"));
        let rows = database.load(&workload("oltp_read_write", mode));
        assert_eq!(rows, TABLES * TABLE_SIZE);
        database.check(&workload("oltp_read_write", mode), &[], false);
        // Read, write, other of one event; the scripts that leave no row more or less come first.
        for (script, queries) in [
            ("oltp_read_only", (14, 0, 2)),
            ("oltp_point_select", (1, 0, 0)),
            ("select_random_points", (1, 0, 0)),
            ("select_random_ranges", (1, 0, 0)),
            ("oltp_read_write", (14, 4, 2)),
            ("oltp_write_only", (0, 4, 2)),
            ("oltp_update_index", (0, 1, 0)),
            ("oltp_update_non_index", (0, 1, 0)),
            ("oltp_insert", (0, 1, 0)),
        ] {
            let workload = workload(script, mode);
            let result = database.run(&workload, OPERATIONS);
            assert_eq!(result["series"][0]["operation"], script, "{result}");
            assert_eq!(result["error_ratio"], 0.0, "{script}: {:#}", result["errors"]);
            let counted = ["read", "write", "other"].map(|kind| result["queries"][kind].as_u64().unwrap());
            let (read, write, other) = queries;
            assert_eq!(
                counted,
                [read, write, other].map(|n: u64| n * OPERATIONS),
                "{script}"
            );
            let inserted = result["evidence"]["inserts_acknowledged"].as_u64().unwrap();
            assert_eq!(inserted, if script == "oltp_insert" { OPERATIONS } else { 0 });
            if !script.starts_with("select") {
                database.check(
                    &workload,
                    &[result["evidence"].clone()],
                    !script.contains("select") && script != "oltp_read_only",
                );
            }
        }
        let result = database.run(&workload("oltp_delete", mode), OPERATIONS);
        assert_eq!(result["error_ratio"], 0.0, "{:#}", result["errors"]);
        let [write, other] = ["write", "other"].map(|kind| result["queries"][kind].as_u64().unwrap());
        assert!(write > 0 && write + other == OPERATIONS, "{write} {other}");
    }
}

#[test]
fn bulk_inserts_go_on_where_the_last_run_ended() {
    let database = Database::new("sysbench-bulk");
    let workload = workload("bulk_insert", "auto");
    assert_eq!(database.load(&workload), 0);
    let mut evidence = vec![];
    for _ in 0..2 {
        let result = database.run(&workload, OPERATIONS);
        assert_eq!(result["error_ratio"], 0.0, "{:#}", result["errors"]);
        assert_eq!(result["evidence"]["inserts_acknowledged"], OPERATIONS);
        evidence.push(result["evidence"].clone());
        database.check(&workload, &evidence, true);
    }
}

#[test]
fn tables_without_the_rows_that_were_said_answer_wrong_and_fail_the_check() {
    let database = Database::new("sysbench-short");
    database.load(&workload("oltp_point_select", "auto"));
    let mut larger = workload("oltp_point_select", "auto");
    larger["table_size"] = json!(2 * TABLE_SIZE);
    let result = database.run(&larger, OPERATIONS);
    let wrong = result["series"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["outcome"] == "wrong");
    assert!(
        wrong.is_some_and(|series| series["count"].as_u64().unwrap() > 0),
        "{result:#}"
    );
    assert_eq!(result["errors"][0]["message"], "row missing");
    let result = database.phase("check", &larger, json!({ "check": { "sample": 10 } }));
    assert_eq!(result["checks"][0]["ok"], false);
    assert_eq!(
        result["checks"][0]["evidence"],
        json!(["sbtest1: 500 rows", "sbtest2: 500 rows"])
    );
}

#[test]
fn what_has_no_sql_is_refused_in_a_sentence() {
    let document = json!({
        "format": 1, "phase": "run", "driver": { "kind": "null" }, "workload": workload("oltp_read_write", "auto"),
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
        .args(["--now", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{document}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("sysbench needs SQL, which null does not offer"),
        "{text}"
    );
}
