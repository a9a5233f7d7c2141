//! LinkBench from end to end, on SQLite: loaded, asked and checked, and what its checks find.
use serde_json::{Value, json};

use crate::database::Database;

const NODES: u64 = 300;

fn workload(more: Value) -> Value {
    let mut workload = json!({ "kind": "linkbench", "maxid1": NODES + 1, "loader_chunk_size": 50 });
    let options = workload.as_object_mut().unwrap();
    options.extend(more.as_object().unwrap().clone());
    workload
}

/// What the checks say, by name: those that failed, with their first evidence or what there is.
fn failed(
    database: &Database,
    workload: &Value,
    evidence: &[Value],
    after_run: bool,
) -> Vec<(String, String)> {
    let spec = json!({ "evidence": evidence, "sample": 100, "after_run": after_run });
    let result = database.phase("check", workload, json!({ "check": spec }));
    let checks = result["checks"].as_array().unwrap_or_else(|| panic!("{result}"));
    assert_eq!(checks.len(), 5, "{checks:?}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let failed = checks.iter().filter(|check| check["ok"] == false);
    failed
        .map(|check| {
            let told = check["evidence"].get(0).unwrap_or(&check["actual"]);
            (text(&check["name"]), text(told))
        })
        .collect()
}

#[test]
fn requests_of_every_kind_leave_counts_that_are_those_of_the_links() {
    let database = Database::new("linkbench");
    // Lists are cut off early, so that there is something to go on with.
    let workload = workload(json!({ "range_limit": 3, "getlinklist_history": 30, "deletenode": 5 }));
    let loaded = database.load(&workload);
    assert!(loaded > 3 * NODES, "{loaded} rows");
    assert_eq!(failed(&database, &workload, &[], false), []);
    let mut evidence = vec![];
    for _ in 0..2 {
        let result = database.run(&workload, 3000);
        assert_eq!(result["error_ratio"], 0.0, "{:#}", result["errors"]);
        let series = result["series"].as_array().unwrap();
        let asked = |kind: &str| {
            series
                .iter()
                .any(|one| one["operation"] == kind && one["count"] != 0)
        };
        for kind in [
            "addlink",
            "deletelink",
            "updatelink",
            "countlink",
            "getlink",
            "getlinklist",
            "getlinklist_history",
            "addnode",
            "updatenode",
            "deletenode",
            "getnode",
        ] {
            assert!(asked(kind), "{kind}");
        }
        evidence.push(result["evidence"].clone());
        assert_eq!(failed(&database, &workload, &evidence, true), []);
    }
    let first = &evidence[0];
    assert!(
        first["links_added"]["rows"] != 0 && first["nodes_deleted"]["rows"] != 0,
        "{first}"
    );
}

#[test]
fn data_are_the_same_whoever_loads_them() {
    let contents = |chunk: u64, threads: u64| {
        let database = Database::new(&format!("linkbench-{chunk}-{threads}"));
        // A node of many links has them in several chunks.
        let workload = workload(json!({ "loader_chunk_size": chunk }));
        let loaded = database.phase(
            "load",
            &workload,
            json!({ "threads": threads, "drop_existing": true }),
        );
        assert_eq!(loaded["event"], "result", "{loaded}");
        assert_eq!(failed(&database, &workload, &[], false), []);
        let connection = rusqlite::Connection::open(&database.0).unwrap();
        let rows = |sql: &str| -> Vec<String> {
            let mut select = connection.prepare(sql).unwrap();
            let rows = select.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let links = "SELECT id1 || ' ' || id2 || ' ' || link_type || ' ' || hex(data) || ' ' || time \
                     FROM linktable ORDER BY link_type, id1, id2";
        let nodes = "SELECT id || ' ' || hex(data) FROM nodetable ORDER BY id";
        (rows(links), rows(nodes))
    };
    let one = contents(1000, 1);
    assert_eq!(one.1.len() as u64, NODES);
    assert!(contents(7, 3) == one);
}

#[test]
fn a_wrong_count_a_hidden_link_and_a_lost_link_are_each_found() {
    let database = Database::new("linkbench-faults");
    let workload = workload(json!({}));
    for (fault, found) in [
        (
            "UPDATE counttable SET count = count + 1 WHERE rowid = 5",
            vec!["counts of links"],
        ),
        ("DELETE FROM counttable WHERE rowid = 5", vec!["counts of links"]),
        (
            "UPDATE linktable SET visibility = 0 WHERE rowid = 5",
            vec!["counts of links"],
        ),
        (
            "UPDATE linktable SET visibility = 7 WHERE rowid = 5",
            vec!["counts of links", "visibility of links"],
        ),
        (
            "DELETE FROM linktable WHERE rowid = 5",
            vec!["counts of links", "number of links"],
        ),
        ("DELETE FROM nodetable WHERE id = 17", vec!["number of nodes"]),
    ] {
        database.load(&workload);
        rusqlite::Connection::open(&database.0)
            .unwrap()
            .execute(fault, [])
            .unwrap();
        let failed = failed(&database, &workload, &[], false);
        let names: Vec<&str> = failed
            .iter()
            .map(|(name, _)| &**name)
            .filter(|name| *name != "sample of nodes")
            .collect();
        assert_eq!(names, found, "{fault}");
        if names[0] == "counts of links" {
            assert!(failed[0].1.starts_with("id "), "{failed:?}");
        }
    }
}

#[test]
fn the_sample_finds_a_row_that_is_not_as_it_was_loaded() {
    let database = Database::new("linkbench-sample");
    let workload = workload(json!({ "maxid1": 101 }));
    for (fault, told) in [
        (
            "UPDATE nodetable SET data = x'33' WHERE id = 17",
            "node 17: payload differs",
        ),
        (
            "UPDATE nodetable SET type = 7 WHERE id = 17",
            "node 17: a node of another type",
        ),
        (
            "UPDATE linktable SET time = time + 1 WHERE id1 = (SELECT MIN(id1) FROM linktable)",
            "a link differs",
        ),
    ] {
        database.load(&workload);
        rusqlite::Connection::open(&database.0)
            .unwrap()
            .execute(fault, [])
            .unwrap();
        let failed = failed(&database, &workload, &[], false);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].1.ends_with(told), "{failed:?}");
    }
}
