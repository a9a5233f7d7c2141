//! Which driver and workload go together in the build, as the engine answers it.
use bakeoff_drivers::DRIVERS;
use bakeoff_drivers::registration::Registration;
use schemars::SchemaGenerator;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// The last line that the engine answers to this one.
fn answer(arguments: &[&str], line: &Value) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    serde_json::from_str(output.lines().last().unwrap()).unwrap()
}

/// The least that the schema asks of a driver's document, and an account where there may be one. Nobody is there.
fn least(driver: &Registration) -> Value {
    let schema = driver.schema(&mut SchemaGenerator::default()).to_value();
    let required = schema["required"].as_array().unwrap().iter();
    let given = required.map(|name| {
        let value = match name.as_str().unwrap() {
            "kind" => driver.kind.into(),
            "endpoints" => json!([{ "name": "n1", "role": "primary", "address": "127.0.0.1:1" }]),
            _ => "/nowhere/it".into(),
        };
        (name.as_str().unwrap().to_owned(), value)
    });
    let mut document = Value::Object(given.collect());
    for (option, value) in [("path", "/nowhere/it"), ("database", "it")] {
        if schema["properties"].get(option).is_some() && driver.kind != "redis" {
            document[option] = value.into();
        }
    }
    if schema["properties"].get("password").is_some() {
        document["user"] = "somebody".into();
        document["password"] = json!({ "env": "PATH" });
    }
    document
}

#[test]
fn every_driver_in_the_build_runs_a_workload() {
    for kind in DRIVERS.iter().filter(|kind| kind.client.make.runs_workloads()) {
        // Which only a client that is paired with the workload finds out.
        let event = answer(
            &["--now", "-"],
            &json!({
                "format": 1, "phase": "run", "driver": least(kind), "workload": { "kind": "ycsb" }, "timeout_s": 5,
                "limit": { "kind": "operations", "operations": 1, "max_s": null },
            }),
        );
        assert!(event["kind"] != "usage", "{}: {event}", kind.kind);
    }
}

#[test]
fn a_driver_reads_its_options_and_refuses_others() {
    for kind in DRIVERS.iter().filter(|kind| kind.client.make.runs_workloads()) {
        let mut driver = least(kind);
        driver["colour"] = "blue".into();
        let event = answer(
            &["--now", "-"],
            &json!({ "format": 1, "phase": "run", "driver": driver, "workload": { "kind": "ycsb" } }),
        );
        let told = ["kind", "what", "where"].map(|key| event[key].as_str().unwrap());
        assert_eq!(
            told,
            ["usage", "unknown option `colour`", "run.json: driver.colour"]
        );
    }
}

/// Why Cassandra does not do this workload; empty: it does.
fn refusal(workload: &str, options: Value) -> String {
    let answer = answer(
        &["resolve"],
        &json!({
            "ask": "workload", "kind": workload, "options": options,
            "driver": { "kind": "cassandra", "options": {} },
        }),
    );
    answer["what"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_cassandra_does_not_have_is_refused_in_words() {
    let ycsb = |options| refusal("ycsb", options);
    assert_eq!(ycsb(json!({ "preset": "a" })), "");
    assert_eq!(
        ycsb(json!({ "preset": "e" })),
        "ycsb needs scans in the order of keys, which cassandra does not offer"
    );
    assert_eq!(
        ycsb(json!({ "preset": "a", "ops_per_transaction": 4 })),
        "ycsb needs transactions, which cassandra does not offer"
    );
    assert_eq!(refusal("hatshop", json!({ "layout": "line_items" })), "");
    assert_eq!(
        refusal("tpcc", json!({})),
        "tpcc needs transactions, which cassandra does not offer"
    );
}
