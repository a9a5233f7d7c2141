//! TPC-C from end to end, on SQLite: a load keeps all conditions, a run keeps them, and each thing that could be wrong with
//! the data is found by exactly the checks that are about it.
use crate::database::Database;
use rusqlite::Connection;
use serde_json::{Value, json};

fn workload(variant: &str) -> Value {
    json!({ "kind": "tpcc", "variant": variant, "mini": true })
}

/// What is wrong with the data, each by the number of its condition or the name of its check.
fn violated(checks: &[Value]) -> Vec<&str> {
    let wrong = checks.iter().filter(|check| check["ok"] == false);
    wrong
        .map(|check| {
            let name = check["name"].as_str().unwrap();
            name.strip_prefix("condition ")
                .map_or(name, |rest| rest.split(':').next().unwrap())
        })
        .collect()
}

#[test]
fn each_corruption_trips_the_checks_that_are_about_it_and_no_other() {
    let database = Database::new("tpcc-corrupted");
    let workload = workload("tpcc");
    database.load(&workload);
    let checks = database.checks(&workload, &[], false);
    assert_eq!(violated(&checks), [""; 0], "{checks:#?}");
    for (corruption, violates) in [
        ("UPDATE warehouse SET w_ytd = w_ytd + 1", vec!["1", "8"]),
        (
            "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_id = 3",
            vec!["1", "9"],
        ),
        (
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
            vec!["2"],
        ),
        ("UPDATE district SET d_next_o_id = NULL WHERE d_id = 3", vec!["2"]),
        // A new order from the middle is no longer one, and nobody delivered it.
        (
            "DELETE FROM new_orders WHERE no_d_id = 3 AND no_o_id = 250",
            vec!["3", "5", "11"],
        ),
        (
            "INSERT INTO order_line SELECT ol_o_id, ol_d_id, ol_w_id, 99, ol_i_id, ol_supply_w_id, ol_delivery_d, \
             ol_quantity, 0, ol_dist_info FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 1",
            vec!["4", "6"],
        ),
        (
            "UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 3 AND o_id = 300",
            vec!["5", "7"],
        ),
        (
            "UPDATE orders SET o_ol_cnt = CASE o_id WHEN 1 THEN o_ol_cnt + 1 ELSE o_ol_cnt - 1 END \
             WHERE o_d_id = 3 AND o_id <= 2",
            vec!["6"],
        ),
        (
            "UPDATE order_line SET ol_delivery_d = NULL, ol_amount = 0 WHERE ol_d_id = 3 AND ol_o_id = 1 AND ol_number = 2",
            vec!["7"],
        ),
        // Between districts of a warehouse, so that its own sum is right.
        (
            "UPDATE history SET h_d_id = 4 WHERE h_d_id = 3 AND h_c_id = 5",
            vec!["9"],
        ),
        (
            "UPDATE history SET h_amount = h_amount + 1 WHERE h_d_id = 3 AND h_c_id = 5",
            vec!["8", "9", "10"],
        ),
        (
            "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 3 AND c_id = 5",
            vec!["10"],
        ),
        (
            "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 3 AND c_id = 5",
            vec!["12"],
        ),
        (
            "UPDATE customer SET c_balance = NULL WHERE c_d_id = 3 AND c_id = 5",
            vec!["10", "12"],
        ),
        // What is missing altogether.
        ("DELETE FROM history", vec!["row counts", "8", "9", "10"]),
        (
            "DELETE FROM orders WHERE o_d_id = 3",
            vec!["row counts", "2", "4", "11", "foreign keys"],
        ),
        (
            "DELETE FROM district WHERE d_id = 10",
            vec![
                "row counts",
                "districts of each warehouse",
                "1",
                "11",
                "foreign keys",
            ],
        ),
        (
            "DELETE FROM customer WHERE c_d_id = 3 AND c_id = 5",
            vec!["row counts", "customers of each district", "foreign keys"],
        ),
        (
            "DELETE FROM stock WHERE s_i_id = 77",
            vec!["row counts", "stock of each warehouse", "foreign keys"],
        ),
        (
            "UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_i_id = 77",
            vec!["stock sent is what was ordered"],
        ),
        (
            "UPDATE stock SET s_quantity = -5 WHERE s_i_id = 77",
            vec!["stock sent is what was ordered"],
        ),
        (
            "DELETE FROM item WHERE i_id = 77",
            vec!["row counts", "foreign keys"],
        ),
        (
            "UPDATE order_line SET ol_i_id = 0 WHERE ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 1",
            vec!["foreign keys"],
        ),
        (
            "UPDATE history SET h_c_id = 0 WHERE h_d_id = 3 AND h_c_id = 5",
            vec!["10", "foreign keys"],
        ),
    ] {
        let damaged = Database::new("tpcc-damaged");
        std::fs::copy(&database.0, &damaged.0).unwrap();
        let connection = Connection::open(&damaged.0).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        assert_ne!(connection.execute(corruption, []).unwrap(), 0, "{corruption}");
        drop(connection);
        let checks = damaged.checks(&workload, &[], false);
        let found = violated(&checks);
        assert_eq!(found, violates, "{corruption}\n{checks:#?}");
        let first = checks.iter().find(|check| check["ok"] == false).unwrap();
        let named = !first["evidence"].as_array().unwrap().is_empty();
        assert!(named, "{corruption}\n{checks:#?}");
    }
}

#[test]
fn every_variant_keeps_its_conditions_after_a_load_and_after_runs() {
    for variant in ["tpcc", "tpcc-mysql", "tproc-c"] {
        let database = Database::new(&format!("tpcc-{variant}"));
        let workload = workload(variant);
        assert_eq!(database.load(&workload), 59_911);
        let checks = database.checks(&workload, &[], false);
        assert_eq!(violated(&checks), [""; 0], "{variant} {checks:#?}");
        let mut evidence = vec![];
        for _ in 0..2 {
            let result = database.run(&workload, 300);
            assert_eq!(result["error_ratio"], 0.0, "{variant} {:#}", result["errors"]);
            evidence.push(result["evidence"].clone());
            let checks = database.checks(&workload, &evidence, true);
            assert_eq!(violated(&checks), [""; 0], "{variant} {checks:#?}");
        }
        // A run of which nobody knows what it did.
        evidence[1] = Value::Null;
        let checks = database.checks(&workload, &evidence, true);
        assert_eq!(violated(&checks), [""; 0], "{variant} {checks:#?}");
        // One that says it did nothing.
        let checks = database.checks(&workload, &evidence[..1], true);
        assert_eq!(violated(&checks), ["row counts", "11"], "{variant} {checks:#?}");
    }
}
