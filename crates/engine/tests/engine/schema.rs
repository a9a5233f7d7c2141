//! The checked-in schemas are the Rust types, and the examples are read and written back unchanged.
use bakeoff_model::event::Event;
use bakeoff_model::resolve::{Answer, Request};
use bakeoff_model::run::RunSpec;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema")
}

#[test]
fn schemas_are_those_of_the_rust_types() {
    let generated = Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
        .arg("schema")
        .output()
        .unwrap();
    let generated: Value = serde_json::from_slice(&generated.stdout).unwrap();
    for name in ["run", "event", "control", "request", "answer"] {
        let path = folder().join(format!("{name}.schema.json"));
        let checked_in: Value = std::fs::read_to_string(&path).map_or(Value::Null, |text| {
            serde_json::from_str(&text).unwrap_or(Value::Null)
        });
        assert!(
            checked_in == generated[name],
            "schema/{name}.schema.json is out of date; repair it with\n\n    cargo run -p bakeoff-engine -- schema schema\n"
        );
    }
}

fn written_back(example: &Value) -> Result<Value, serde_json::Error> {
    if example.get("answer").is_some() {
        let answer: Answer = serde_json::from_value(example.clone())?;
        return serde_json::to_value(answer);
    }
    if example.get("ask").is_some() {
        let request: Request = serde_json::from_value(example.clone())?;
        return serde_json::to_value(request);
    }
    if example.get("event").is_some() {
        let event: Event = serde_json::from_value(example.clone())?;
        return serde_json::to_value(event);
    }
    let spec: RunSpec = serde_json::from_value(example.clone())?;
    serde_json::to_value(spec)
}

#[test]
fn examples_are_read_and_written_back_unchanged() {
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(folder().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let example: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let back = written_back(&example).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(back, example, "{}", path.display());
        let kind = ["event", "answer", "ask"].iter().find_map(|tag| example.get(tag));
        seen.push(kind.map_or("run".into(), |kind| kind.as_str().unwrap().to_owned()));
    }
    for kind in [
        "run", "ready", "progress", "interval", "mark", "warning", "result", "error", "workload", "resolved",
        "driver", "refused",
    ] {
        assert!(seen.iter().any(|s| s == kind), "no example of {kind}");
    }
}
