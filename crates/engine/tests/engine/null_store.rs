//! The null system over the phases of a run, each a process of its own: what it kept, and whom its faults strike.
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bakeoff-null-{}-{test}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// One phase in a process; its exit code and last event.
    fn phase(&self, phase: &str, driver: &Value, changes: &Value) -> (Option<i32>, Value) {
        let mut document = json!({
            "format": 1, "phase": phase, "driver": {"kind": "null", "store": true, "store_path": self.0.join("rows")},
            "workload": {"kind": "ycsb", "records": 50, "data_integrity": true, "batch_size": 7,
                "read_proportion": 0, "update_proportion": 0.5, "insert_proportion": 0.5},
            "limit": {"kind": "operations", "operations": 100, "max_s": null},
            "check": {"sample": 50},
        });
        for (into, from) in [("driver", driver), ("", changes)] {
            let target = if into.is_empty() {
                &mut document
            } else {
                &mut document[into]
            };
            from.as_object()
                .unwrap()
                .iter()
                .for_each(|(key, value)| target[key] = value.clone());
        }
        let path = self.0.join("document.json");
        std::fs::write(&path, document.to_string()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
            .args(["--now".as_ref(), path.as_os_str()])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (
            output.status.code(),
            serde_json::from_str(text.lines().last().unwrap()).unwrap(),
        )
    }

    /// Whether a check holds after runs with these results.
    fn holds(&self, runs: &[Value]) -> bool {
        let evidence: Vec<&Value> = runs.iter().map(|result| &result["evidence"]).collect();
        let (code, result) = self.phase(
            "check",
            &json!({}),
            &json!({"check": {"evidence": evidence, "sample": 200, "after_run": true}}),
        );
        assert_eq!(code, Some(0), "{result}");
        result["checks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|check| check["ok"] == true)
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.0.join("rows")).unwrap().count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn rows_exist_in_the_next_phase_and_a_load_makes_new_ones() {
    let (place, none) = (Place::new("kept"), json!({}));
    assert_eq!(place.phase("load", &none, &none).0, Some(0));
    assert!(place.holds(&[]));
    let (code, result) = place.phase("run", &none, &none);
    assert_eq!(code, Some(0), "{result}");
    let inserted = result["evidence"]["inserts_acknowledged"].as_u64().unwrap();
    assert!(inserted > 20, "{result}");
    assert!(place.holds(&[result]) && !place.holds(&[]));
    let (code, refused) = place.phase("load", &none, &none);
    assert_ne!(code, Some(0), "the table is there: {refused}");
    let (code, _) = place.phase("load", &none, &json!({"drop_existing": true}));
    assert_eq!(code, Some(0));
    assert!(place.holds(&[]));
    assert_eq!(place.files(), 1, "what a load replaced is gone");
    let (_, result) = place.phase("run", &none, &none);
    assert!(place.holds(&[result]), "the run's rows come after the load's");
}

#[test]
fn clients_side_by_side_keep_each_others_rows() {
    let (place, none) = (Place::new("clients"), json!({}));
    place.phase("load", &none, &none);
    let mut runs = vec![];
    let aside = place.0.join("aside");
    for index in 0..2 {
        let client = json!({"client": {"index": index, "count": 2}});
        let (_, result) = place.phase("run", &none, &client);
        runs.push(result);
        // As if the second had read the files before the first wrote its own.
        if index == 0 {
            std::fs::rename(place.0.join("rows/000002.rows"), &aside).unwrap();
        }
    }
    std::fs::rename(&aside, place.0.join("rows/000003.rows")).unwrap();
    assert!(place.holds(&runs));
}

#[test]
fn writes_that_were_lost_in_the_run_are_found_by_the_check_after_it() {
    let (place, none) = (Place::new("lost"), json!({}));
    let lost = json!({"lost_write_ratio": 0.5});
    assert_eq!(place.phase("load", &lost, &none).0, Some(0));
    assert!(place.holds(&[]), "nothing is lost but in the run");
    let (_, result) = place.phase("run", &lost, &none);
    assert!(!place.holds(&[result]));
}

#[test]
fn faults_strike_the_run_alone() {
    let (place, none) = (Place::new("faults"), json!({}));
    for faults in [json!({"error_ratio": 1}), json!({"wrong_ratio": 1})] {
        let (code, result) = place.phase("load", &faults, &json!({"drop_existing": true}));
        assert_eq!(code, Some(0), "{result}");
        assert_eq!(place.phase("warm", &faults, &none).1["rows"], 50);
        let (_, result) = place.phase("run", &faults, &none);
        let right = result["series"]
            .as_array()
            .unwrap()
            .iter()
            .any(|s| s["outcome"] == "ok" && s["count"] != 0);
        assert!(!right, "{result}");
        assert!(place.holds(&[]));
    }
}

#[test]
fn what_cannot_be_meant_is_refused_by_its_name() {
    let (place, none) = (Place::new("refused"), json!({}));
    for (option, value) in [
        ("latency_ns", json!(u64::MAX)),
        ("latency_ns", json!(3_600_000_000_001_u64)),
        ("error_ratio", json!(1.5)),
        ("wrong_ratio", json!(-0.1)),
        ("lost_write_ratio", json!(2)),
        ("stalls", json!([{"at_s": 1e300, "for_s": 1}])),
        ("stalls", json!([{"at_s": 0, "for_s": 0}])),
    ] {
        let (code, event) = place.phase("run", &json!({option: value}), &none);
        assert_eq!(code, Some(2), "{event}");
        assert!(event["where"].as_str().unwrap().ends_with(option), "{event}");
    }
}
