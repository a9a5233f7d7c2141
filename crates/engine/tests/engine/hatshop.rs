//! The Hat Shop from end to end, on SQLite: loaded, its events carried out and checked, and what its checks find.
use serde_json::{Value, json};
use std::collections::HashMap;

use crate::database::Database;

const ORDERS: u64 = 60;
const LAYOUTS: [(&str, bool); 4] = [
    ("documents", true),
    ("line_items", true),
    ("line_items", false),
    ("line_items_by_order", true),
];

const ORDERS_OF_DOCUMENTS: &str = "(SELECT id AS order_id, doc ->> 'client_id' AS client_id, \
    1000 * (doc ->> 'date_created') AS date_created, \
    doc ->> 'order_status' AS order_status, doc ->> 'sub_total' AS sub_total FROM order_documents)";
const LINES_OF_DOCUMENTS: &str = "(SELECT order_documents.id AS order_id, value ->> 'line_item_id' AS line_item_id, \
    value ->> 'product_id' AS product_id, value ->> 'colour' AS colour, value ->> 'size' AS size, \
    value ->> 'quantity' AS quantity, value ->> 'line_price' AS line_price \
    FROM order_documents, json_each(doc, '$.line_items'))";

fn workload(more: Value) -> Value {
    let mut workload = json!({ "kind": "hatshop", "orders": ORDERS, "orders_seed": 5, "events": 1000 });
    let options = workload.as_object_mut().unwrap();
    options.extend(more.as_object().unwrap().clone());
    workload
}

/// How many of each kind ended ok.
fn counts(result: &Value) -> HashMap<String, u64> {
    let series = result["series"].as_array().unwrap_or_else(|| panic!("{result}"));
    let ok = series.iter().filter(|one| one["outcome"] == "ok");
    ok.map(|one| {
        (
            one["operation"].as_str().unwrap().to_owned(),
            one["count"].as_u64().unwrap(),
        )
    })
    .collect()
}

fn run(database: &Database, workload: &Value, users: u64) -> Value {
    let limit = json!({ "kind": "operations", "operations": 1000, "max_s": null });
    let more = json!({ "threads": users, "limit": limit });
    let result = database.phase("run", workload, more);
    assert_eq!(result["error_ratio"], 0.0, "{:#}", result["errors"]);
    result
}

/// What the tables themselves would not allow.
fn plant(database: &Database, fault: &str) {
    let connection = rusqlite::Connection::open(&database.0).unwrap();
    let unchecked = format!("PRAGMA foreign_keys = OFF; {fault}");
    connection.execute_batch(&unchecked).unwrap();
}

/// Of both tables.
type Rows = (Vec<String>, Vec<String>);

/// Every row of both tables, or of the documents what these rows would have.
fn contents(database: &Database, layout: &str) -> Rows {
    let connection = rusqlite::Connection::open(&database.0).unwrap();
    let rows = |sql: &str| -> Vec<String> {
        let mut select = connection.prepare(sql).unwrap();
        let rows = select.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let order = "order_id || ' ' || client_id || ' ' || date_created || ' ' || order_status || ' ' || round(100 * sub_total)";
    let line = "order_id || ' ' || line_item_id || ' ' || product_id || ' ' || colour || ' ' || size || ' ' || quantity \
                || ' ' || round(100 * line_price)";
    let (orders, lines) = match layout {
        "documents" => (ORDERS_OF_DOCUMENTS, LINES_OF_DOCUMENTS),
        _ => ("orders", "line_items"),
    };
    (
        rows(&format!("SELECT {order} FROM {orders} ORDER BY order_id")),
        rows(&format!("SELECT {line} FROM {lines} ORDER BY line_item_id")),
    )
}

#[test]
fn the_same_list_leaves_the_same_rows_whatever_the_layout_and_the_users() {
    let mut first: Option<(HashMap<String, u64>, Value, Rows)> = None;
    for ((layout, secondary_index), users) in LAYOUTS.into_iter().zip([5, 1, 7, 3]) {
        let database = Database::new(&format!("hatshop-{layout}-{secondary_index}"));
        let workload = workload(json!({ "layout": layout, "secondary_index": secondary_index }));
        let loaded = database.load(&workload);
        assert!(loaded > 2 * ORDERS || layout == "documents", "{loaded} rows");
        database.check(&workload, &[], false);
        let result = run(&database, &workload, users);
        let evidence = result["evidence"].clone();
        database.check(&workload, std::slice::from_ref(&evidence), true);
        let found = (counts(&result), evidence, contents(&database, layout));
        assert_eq!(found.0.values().sum::<u64>(), 1000);
        assert_eq!(found.0.len(), 5, "{:?}", found.0);
        match &first {
            None => first = Some(found),
            Some(first) => {
                assert_eq!((&found.0, &found.1), (&first.0, &first.1), "{layout}");
                let other = |(one, other): &(&String, &String)| one != other;
                let (found, first) = (&found.2, &first.2);
                assert_eq!(found.0.iter().zip(&first.0).find(other), None, "{layout}");
                assert_eq!(found.1.iter().zip(&first.1).find(other), None, "{layout}");
                assert_eq!(
                    (found.0.len(), found.1.len()),
                    (first.0.len(), first.1.len()),
                    "{layout}"
                );
            }
        }
    }
}

#[test]
fn every_planted_fault_is_found_by_its_check_and_no_other() {
    let (sums, orphans, orders) = (
        "sum of lines = sub_total",
        "no line without an order",
        "number of orders",
    );
    let database = Database::new("hatshop-faults");
    let workload = workload(json!({}));
    for (fault, found) in [
        (
            "UPDATE line_items SET line_price = line_price + 0.01 WHERE rowid = 5",
            vec![sums],
        ),
        (
            "UPDATE orders SET sub_total = sub_total - 0.01 WHERE rowid = 5",
            vec![sums],
        ),
        ("DELETE FROM line_items WHERE rowid = 5", vec![sums]),
        ("DELETE FROM orders WHERE rowid = 5", vec![orphans, orders]),
        (
            "UPDATE line_items SET order_id = 'none' WHERE order_id = (SELECT MIN(order_id) FROM orders)",
            vec![sums, orphans],
        ),
        (
            "DELETE FROM line_items WHERE order_id = (SELECT MIN(order_id) FROM orders); \
             DELETE FROM orders WHERE order_id = (SELECT MIN(order_id) FROM orders)",
            vec![orders],
        ),
    ] {
        database.load(&workload);
        plant(&database, fault);
        let checks = database.checks(&workload, &[], false);
        assert_eq!(checks.len(), 4, "{checks:?}");
        let failed = checks.iter().filter(|check| check["ok"] == false);
        let names: Vec<&str> = failed.filter_map(|check| check["name"].as_str()).collect();
        let sampled = names.last() == Some(&"sample of orders");
        assert!(
            names[..names.len() - usize::from(sampled)] == found,
            "{fault}: {names:?}"
        );
    }
}

#[test]
fn every_fault_planted_in_a_document_is_found() {
    let (sums, orders, sample) = ("sum of lines = sub_total", "number of orders", "sample of orders");
    let database = Database::new("hatshop-document-faults");
    let workload = workload(json!({ "layout": "documents" }));
    for (fault, found) in [
        (
            "UPDATE order_documents SET doc = jsonb_set(doc, '$.line_items[0].line_price', 0.01)",
            vec![sums, sample],
        ),
        (
            "UPDATE order_documents SET doc = jsonb_set(doc, '$.sub_total', 'none')",
            vec![sums, sample],
        ),
        (
            "UPDATE order_documents SET doc = jsonb_remove(doc, '$.line_items')",
            vec![sums, sample],
        ),
        (
            "UPDATE order_documents SET doc = jsonb_set(doc, '$.line_items[0].product_id', 'none')",
            vec![sample],
        ),
        (
            "UPDATE order_documents SET doc = jsonb_set(doc, '$.client_id', 'nobody')",
            vec![sample],
        ),
        (
            "DELETE FROM order_documents WHERE rowid = 1",
            vec![orders, sample],
        ),
        ("UPDATE order_documents SET doc = jsonb('[]')", vec![sums, sample]),
    ] {
        database.load(&workload);
        plant(&database, fault);
        let checks = database.checks(&workload, &[], false);
        let failed = checks.iter().filter(|check| check["ok"] == false);
        let names: Vec<&str> = failed.filter_map(|check| check["name"].as_str()).collect();
        assert_eq!(names, found, "{fault}");
    }
}

#[test]
fn what_no_event_of_the_mix_changes_is_compared_with_what_was_loaded() {
    let database = Database::new("hatshop-kept");
    let reads = workload(json!({ "create": 0, "update": 0, "update_attribute": 0, "delete": 0 }));
    let all = workload(json!({}));
    let client = "UPDATE orders SET client_id = 'nobody'";
    for (workload, fault, found) in [
        (&reads, "UPDATE line_items SET colour = 'Bogus'", true),
        (&reads, client, true),
        (&all, client, true),
        (&all, "UPDATE line_items SET product_id = 'none'", true),
        (&all, "UPDATE line_items SET colour = 'Puce'", false),
        (&all, "UPDATE orders SET order_status = 'DELIVERED'", false),
    ] {
        database.load(workload);
        plant(&database, fault);
        let none = json!({ "created": { "rows": 0, "unknown": 0 }, "deleted": { "rows": 0, "unknown": 0 }, "events": 0, "events_sha256": "" });
        let checks = database.checks(workload, &[none], true);
        assert_eq!(checks[3]["ok"], !found, "{fault}: {}", checks[3]);
    }
}

#[test]
fn what_a_read_finds_besides_the_truth_is_wrong() {
    let database = Database::new("hatshop-wrong");
    let only_reads = json!({ "create": 0, "update": 0, "update_attribute": 0, "delete": 0 });
    let workload = workload(only_reads);
    for (fault, why) in [
        ("DELETE FROM line_items", "another number of lines"),
        ("UPDATE orders SET order_status = 'LOST'", "another status"),
        ("UPDATE orders SET sub_total = 1", "another sub_total"),
        (
            "UPDATE line_items SET line_price = 1",
            "lines do not add up to sub_total",
        ),
        (
            "DELETE FROM orders",
            "order missing, or there against all that is known",
        ),
    ] {
        database.load(&workload);
        plant(&database, fault);
        let result = database.run(&workload, 100);
        assert_eq!(result["error_ratio"], 1.0, "{fault}");
        assert_eq!(result["errors"][0]["message"], why);
    }
}

/// What `bakeoff-engine resolve` answers.
fn resolved(request: &Value) -> Value {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
        .arg("resolve")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        format!("{request}\n").as_bytes(),
    )
    .unwrap();
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

/// The list of 1,000 events, in a file.
fn written(database: &Database) -> (Value, Value) {
    let path = database.0.with_extension("jsonl");
    let request = json!({ "ask": "write_events", "workload": workload(json!({})), "seed": 5, "path": path });
    let answer = resolved(&request);
    assert_eq!(answer["events"], 1000, "{answer}");
    (
        json!({ "name": "events.jsonl", "path": path }),
        answer["sha256"].clone(),
    )
}

#[test]
fn a_list_from_a_file_leaves_the_same_rows_as_when_it_is_drawn() {
    let (drawn, read) = (Database::new("hatshop-drawn"), Database::new("hatshop-read"));
    let (file, sha256) = written(&read);
    let from_file = workload(json!({ "events_file": file, "events_sha256": sha256 }));
    drawn.load(&workload(json!({})));
    read.load(&from_file);
    let (one, other) = (run(&drawn, &workload(json!({})), 2), run(&read, &from_file, 5));
    assert_eq!(one["evidence"], other["evidence"]);
    assert_eq!(one["evidence"]["events_sha256"], sha256);
    assert!(contents(&drawn, "line_items_by_order") == contents(&read, "line_items_by_order"));
    read.check(&from_file, &[other["evidence"].clone()], true);
    std::fs::remove_file(file["path"].as_str().unwrap()).unwrap();
}

#[test]
fn a_file_that_is_another_list_or_ends_too_soon_is_refused() {
    let database = Database::new("hatshop-refused");
    let (file, sha256) = written(&database);
    let path = file["path"].as_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let refused = |options: Value, more: Value| {
        let mut options = options;
        options["events_file"] = file.clone();
        let result = database.phase("run", &workload(options), more);
        assert_eq!(result["kind"], "usage", "{result}");
        result["what"].as_str().unwrap().to_owned()
    };
    let all = json!({ "limit": { "kind": "operations", "operations": 1000, "max_s": null } });
    let window = refused(json!({}), json!({ "limit": { "kind": "time", "window_s": 1.0 } }));
    assert!(window.contains("have an end"), "{window}");
    let other_orders = refused(json!({ "orders_seed": 6 }), all.clone());
    assert!(other_orders.contains("events.jsonl, line 1: "), "{other_orders}");
    std::fs::write(path, text.replacen("\"quantity\":", "\"quantity\":1", 1)).unwrap();
    let changed = refused(json!({}), all.clone());
    assert!(
        changed.contains("it does not add up, or is written otherwise"),
        "{changed}"
    );
    let delete = text
        .lines()
        .find(|line| line.contains("READ"))
        .unwrap()
        .replace("READ", "DELETE");
    std::fs::write(path, format!("{delete}\n{delete}\n")).unwrap();
    let twice = refused(
        json!({}),
        json!({ "limit": { "kind": "operations", "operations": 1, "max_s": null } }),
    );
    assert!(
        twice.contains("is neither loaded nor made by an event before, or is deleted"),
        "{twice}"
    );
    std::fs::write(path, text.replacen("READ", "DELETE", 1)).unwrap();
    let hash = refused(json!({ "events_sha256": sha256 }), all);
    assert!(
        hash.contains("is another list") || hash.contains("line "),
        "{hash}"
    );
    std::fs::remove_file(path).unwrap();
}
