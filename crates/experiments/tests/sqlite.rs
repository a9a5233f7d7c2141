//! The experiment on a real system of which the answer is known: SQLite is serializable in every mode.
#![allow(clippy::unwrap_used)] // test code throughout

use bakeoff_drivers::sqlite::DRIVER;
use bakeoff_experiments::{execute, names};
use bakeoff_measure::Control;
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{IsolationEvidence, RunSpec, StepAnswer};
use std::path::Path;
use std::sync::Arc;

fn verify(folder: &Path, journal: &str, begin: &str) -> Result<IsolationEvidence, Trouble> {
    let experiment = serde_json::json!({ "kind": "isolation", "tries": 1, "blocked_after_s": 0.05 });
    Ok(serde_json::from_value(evidence(folder, journal, begin, experiment)?).unwrap())
}

fn evidence(
    folder: &Path,
    journal: &str,
    begin: &str,
    experiment: serde_json::Value,
) -> Result<serde_json::Value, Trouble> {
    let document = serde_json::json!({
        "format": 1,
        "phase": "verify",
        "driver": {
            "kind": "sqlite", "path": folder.join("db"), "pragmas": { "journal_mode": journal }, "begin": begin,
        },
        "workload": { "kind": "ycsb" },
        "timeout_s": 2,
        "experiment": experiment,
    });
    let spec: RunSpec = serde_json::from_value(document).unwrap();
    let driver = DRIVER.client.make.sql().unwrap()(&spec)?;
    let sink: bakeoff_measure::Sink = Arc::new(|_| {});
    Ok(execute(&spec, driver, &Arc::new(Control::default()), &sink)?.evidence)
}

struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bakeoff-experiments-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn sqlite_lets_no_anomaly_happen() {
    for (journal, begin) in [("wal", "immediate"), ("wal", "deferred"), ("delete", "immediate")] {
        let folder = Folder::new(&format!("{journal}-{begin}"));
        let evidence = verify(&folder.0, journal, begin).unwrap();
        let found: Vec<&str> = evidence.schedules.iter().map(|s| &*s.name).collect();
        assert_eq!(found, names());
        for schedule in &evidence.schedules {
            let [only] = &schedule.tries[..] else {
                panic!("one try was asked for");
            };
            assert!(!only.anomaly, "{journal}, {begin}, {}: {only:#?}", schedule.name);
            assert!(
                only.committed > 0,
                "{journal}, {begin}, {}: {only:#?}",
                schedule.name
            );
            let unanswered = only.steps.iter().filter(|s| s.answer == StepAnswer::None);
            assert_eq!(unanswered.count(), 0, "{only:#?}");
        }
    }
}

#[test]
fn one_copy_has_every_acknowledged_write() {
    let folder = Folder::new("one-copy");
    let experiment = serde_json::json!({ "kind": "convergence", "seconds": 1.0 });
    let report = evidence(&folder.0, "wal", "immediate", experiment).unwrap();
    for property in ["delivery", "termination", "validity", "convergence"] {
        assert_eq!(report[property]["count"], 0, "{report:#}");
    }
    assert!(
        report["writes_ok"].as_u64() > report["rounds"].as_u64(),
        "{report:#}"
    );
    assert!(report["converged_after_ns"].as_i64().is_some(), "{report:#}");
    assert_eq!(report["later_samples"], 5);
}

#[test]
fn a_table_of_that_name_is_refused_and_kept() {
    let folder = Folder::new("kept");
    // Its own table is gone afterwards, or the second run would be refused.
    verify(&folder.0, "wal", "immediate").unwrap();
    verify(&folder.0, "wal", "immediate").unwrap();
    let connection = rusqlite::Connection::open(folder.0.join("db")).unwrap();
    connection
        .execute_batch("CREATE TABLE bakeoff_isolation (id INT); INSERT INTO bakeoff_isolation VALUES (7)")
        .unwrap();
    let refused = verify(&folder.0, "wal", "immediate").unwrap_err();
    assert!(refused.hint.contains("must not exist before"), "{refused}");
    let kept: i64 = connection
        .query_row("SELECT id FROM bakeoff_isolation", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 7);
}
