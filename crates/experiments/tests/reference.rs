//! The experiments on a store of which the truth is known: what each of its bugs breaks is found, and nothing else is.
#![allow(clippy::unwrap_used)] // test code throughout

use bakeoff_drivers::reference::DRIVER;
use bakeoff_experiments::execute;
use bakeoff_measure::Control;
use bakeoff_model::run::RunSpec;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The evidence of one experiment on three nodes.
fn evidence(options: &Value, level: &str, experiment: Value) -> Value {
    let mut driver = json!({ "kind": "reference", "endpoints": [] });
    let nodes = ["n1", "n2", "n3"].map(|name| json!({ "name": name, "role": "node", "address": "" }));
    driver["endpoints"] = nodes.to_vec().into();
    driver
        .as_object_mut()
        .unwrap()
        .extend(options.as_object().unwrap().clone());
    let document = json!({
        "format": 1, "phase": "verify", "driver": driver, "workload": { "kind": "ycsb" }, "isolation": level, "seed": 7,
        "experiment": experiment,
    });
    let spec: RunSpec = serde_json::from_value(document).unwrap();
    let driver = DRIVER.client.make.experiments().unwrap()(&spec).unwrap();
    let sink: bakeoff_measure::Sink = Arc::new(|_| {});
    execute(&spec, driver, &Arc::new(Control::default()), &sink)
        .unwrap()
        .evidence
}

fn schedules(options: &Value, level: &str) -> BTreeSet<String> {
    let experiment = json!({ "kind": "isolation", "tries": 1, "blocked_after_s": 0.1 });
    let evidence = evidence(options, level, experiment);
    let anomalous = |schedule: &&Value| schedule["tries"][0]["anomaly"] == true;
    let found = evidence["schedules"].as_array().unwrap().iter().filter(anomalous);
    found
        .map(|schedule| schedule["name"].as_str().unwrap().into())
        .collect()
}

fn transactions(options: &Value, level: &str, seconds: f64) -> Value {
    let experiment = json!({ "kind": "transactions", "seconds": seconds, "claim": level });
    evidence(options, level, experiment)
}

fn reads(options: &Value, seconds: f64) -> Value {
    let claims = json!({
        "staleness": "none",
        "guarantees": ["read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads"],
        "linearizable": true,
    });
    let experiment = json!({ "kind": "staleness", "seconds": seconds, "claims": claims });
    evidence(options, "serializable", experiment)
}

/// Anomalies and promises that did not hold.
fn broken(options: &Value, level: &str) -> BTreeSet<String> {
    let mut found = schedules(options, level);
    for (kind, report) in transactions(options, level, 0.5).as_object().unwrap() {
        if report["verdict"] == "VIOLATED" {
            found.insert(kind.clone());
        }
        let violations = report["violations"].as_array().into_iter().flatten();
        found.extend(violations.map(|one| format!("lists: {}", one["anomaly"].as_str().unwrap())));
    }
    let report = reads(options, 0.5);
    let parts = [
        ("stale reads", &report["staleness"]),
        ("one copy", &report["linearizable"]),
    ];
    let guarantees = report["guarantees"].as_array().unwrap().iter();
    let guarantees = guarantees.map(|one| (one["guarantee"].as_str().unwrap(), one));
    for (name, part) in guarantees.chain(parts) {
        if part["verdict"] == "VIOLATED" {
            found.insert(name.into());
        }
    }
    if report["impossible_reads"] != 0 {
        found.insert("impossible reads".into());
    }
    found
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const WRITE_SKEW: [&str; 3] = ["G2", "G2-item", "G2-three"];

#[test]
fn a_store_without_a_bug_keeps_every_promise() {
    assert_eq!(broken(&json!({}), "serializable"), names(&[]));
    assert_eq!(broken(&json!({}), "snapshot"), names(&WRITE_SKEW));
}

#[test]
fn each_bug_breaks_the_promise_that_it_is_about() {
    for (bug, expected) in [
        (
            "drop_write",
            &[
                "lists: lost-write",
                "bank_relative",
                "stale reads",
                "read-your-writes",
            ][..],
        ),
        ("aborted_read", &["G1a", "G1b", "lists: G1a"]),
        (
            "ignore_conflict",
            &["P4", "lists: G-single", "bank_read_modify_write"],
        ),
        ("write_skew", &["G2-item", "G2", "G2-three", "lists: G2-item"]),
        (
            "read_skew",
            &["G-single", "PMP", "lists: G-single", "bank_relative"],
        ),
        ("reorder", &["lists: incompatible-order"]),
        ("duplicate", &["lists: duplicate", "bank_relative"]),
        ("forget_own", &["lists: internal"]),
        ("phantom", &["lists: phantom", "impossible reads"]),
        (
            "stale_node",
            &["stale reads", "read-your-writes", "monotonic-reads", "one copy"],
        ),
        (
            "late_commit",
            &[
                "stale reads",
                "monotonic-writes",
                "writes-follow-reads",
                "one copy",
            ],
        ),
    ] {
        let found = broken(&json!({ "bug": bug }), "serializable");
        assert!(
            names(expected).is_subset(&found),
            "{bug}: {expected:?} is not in {found:?}"
        );
    }
}

#[test]
fn reads_of_one_node_are_at_most_as_old_as_the_delay() {
    let weak = json!({ "write_nodes": 1, "read_nodes": 1, "delay_ns": 30_000_000 });
    let report = reads(&weak, 0.5);
    assert_eq!(report["staleness"]["verdict"], "VIOLATED");
    let oldest_ms = report["staleness"]["age_ns"]["max"].as_f64().unwrap() / 1e6;
    // A node that takes a write gets what came before it, and each takes some.
    assert!((0.5..60.0).contains(&oldest_ms), "{oldest_ms}");
    let lists = &transactions(&weak, "serializable", 0.5)["list_append"];
    assert_ne!(lists["verdict"], "VIOLATED", "{lists:#}");
}

#[test]
fn crashed_and_cut_off_nodes_leave_outcomes_unknown_and_break_no_promise() {
    let fault = |kind, node, at_s, for_s| json!({ "kind": kind, "node": node, "at_s": at_s, "for_s": for_s });
    let crash = |number: i32| fault("crash", 1 + number % 3, 0.5 + 0.02 * f64::from(number), 0.005);
    let faults: Vec<Value> = (0..20)
        .map(crash)
        .chain([fault("partition", 3, 0.6, 0.1)])
        .collect();
    let faulty = json!({ "faults": faults });
    let lists = &transactions(&faulty, "serializable", 1.0)["list_append"];
    assert!(lists["exposure"]["unknown"].as_u64().unwrap() > 0, "{lists:#}");
    assert_ne!(lists["verdict"], "VIOLATED", "{lists:#}");
    let report = reads(&faulty, 1.0);
    assert_ne!(report["verdict"], "VIOLATED", "{report:#}");
}

#[test]
fn an_experiment_ends_once_a_verdict_is_possible_or_out_of_reach() {
    let begun = Instant::now();
    let early =
        json!({ "kind": "transactions", "seconds": 60, "enough_after_s": 0.1, "claim": "serializable" });
    for (kind, report) in evidence(&json!({}), "serializable", early).as_object().unwrap() {
        assert_eq!(report["verdict"], "HELD", "{kind}: {report:#}");
    }
    let rare = json!({
        "kind": "staleness", "seconds": 60, "enough_after_s": 0.1, "writes_per_s": 5, "reads_per_s": 5,
        "claims": { "staleness": "none" },
    });
    let report = evidence(&json!({}), "serializable", rare);
    assert_eq!(report["verdict"], "INCONCLUSIVE");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
