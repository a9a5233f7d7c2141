//! The experiment on a real system of which the answer is known: SQLite is serializable in every mode.
#![allow(clippy::unwrap_used)] // test code throughout

use bakeoff_drivers::sqlite::DRIVER;
use bakeoff_experiments::{Probe, ProbeDriver, execute, execute_on_records, names};
use bakeoff_measure::Control;
use bakeoff_measure::control::Axis;
use bakeoff_model::event::{Event, StalenessProbe};
use bakeoff_model::outcome::Trouble;
use bakeoff_model::run::{IsolationEvidence, RunSpec, StepAnswer};
use bakeoff_model::time::now_ns;
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
    let spec = spec(folder, journal, begin, experiment);
    let driver = DRIVER.client.make.sql().unwrap()(&spec)?;
    let sink: bakeoff_measure::Sink = Arc::new(|_| {});
    Ok(execute(&spec, driver, &Arc::new(Control::default()), &sink)?.evidence)
}

fn spec(folder: &Path, journal: &str, begin: &str, experiment: serde_json::Value) -> RunSpec {
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
    serde_json::from_value(document).unwrap()
}

/// As of a system without SQL.
#[test]
fn versions_in_records_are_read_as_of_one_copy() {
    let folder = Folder::new("records");
    let experiment = serde_json::json!({
        "kind": "staleness", "seconds": 1.0, "writes_per_s": 300, "reads_per_s": 500,
        "claims": { "staleness": "none", "guarantees": ["read-your-writes"], "linearizable": true },
    });
    let spec = spec(&folder.0, "wal", "immediate", experiment);
    // Its own table is gone afterwards, or the second one would not begin.
    for _ in 0..2 {
        let records = DRIVER.client.make.records(&spec).unwrap();
        let sink: bakeoff_measure::Sink = Arc::new(|_| {});
        let result = execute_on_records(&spec, records, &Arc::new(Control::default()), &sink).unwrap();
        let report = result.evidence;
        assert_eq!(report["staleness"]["stale"], 0, "{report:#}");
        assert_eq!(report["impossible_reads"], 0);
        assert!(report["reads"].as_u64().unwrap() > 200, "{report:#}");
        assert!(
            report["staleness"]["exposed"].as_u64().unwrap() > 50,
            "{report:#}"
        );
    }
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

/// How the probe keeps its versions.
type Shape = fn(&RunSpec) -> ProbeDriver;
const SHAPES: [Shape; 2] = [in_sql, |spec| {
    ProbeDriver::Records(DRIVER.client.make.records(spec).unwrap())
}];

fn in_sql(spec: &RunSpec) -> ProbeDriver {
    ProbeDriver::Sql(DRIVER.client.make.sql().unwrap()(spec).unwrap())
}

/// A probe next to a load that completes 20,000 operations a second, for a second after half a second of warm-up.
fn probe(shape: Shape, folder: &Path, meanwhile: impl FnOnce(&rusqlite::Connection)) -> StalenessProbe {
    let document = serde_json::json!({
        "format": 1,
        "phase": "run",
        "driver": { "kind": "sqlite", "path": folder.join("db"), "pragmas": { "journal_mode": "wal" } },
        "workload": { "kind": "ycsb" },
        "timeout_s": 5,
        "warm_up_s": 0.5,
        "limit": { "kind": "time", "window_s": 1.0 },
        "staleness_probe": { "claims": { "staleness": "none" } },
    });
    let spec: RunSpec = serde_json::from_value(document).unwrap();
    let control = Arc::new(Control::default());
    let asked = spec.staleness_probe.as_ref().unwrap();
    let probe = Probe::start(&spec, asked, shape(&spec), &control).unwrap();
    let sink = probe.follow(Arc::new(|_| {}));
    let second = serde_json::json!({
        "second": 0, "length_s": 1.0, "warm_up": true, "series": [], "queries": { "read": 0, "write": 0, "other": 0 },
        "retries": 0, "retries_after_conflict": 0, "reconnects": 0, "nodes": [],
        "tenths": { "ok": [20_000, 0, 0, 0, 0, 0, 0, 0, 0, 0], "writes": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
    });
    sink(Event::Interval(serde_json::from_value(second).unwrap()));
    let axis = Axis::new(now_ns(), 0, 500_000_000, Some(1_000_000_000), false);
    control.set_axis(Arc::new(axis));
    meanwhile(&rusqlite::Connection::open(folder.join("db")).unwrap());
    control.sleep_until(control.axis().unwrap().window_end_ns());
    probe.finish()
}

#[test]
fn a_probe_next_to_a_load_sees_nothing_old_and_keeps_to_its_budget() {
    let folder = Folder::new("probe");
    // Its own table is gone afterwards, or the second one would not begin.
    for shape in SHAPES {
        let seen = probe(shape, &folder.0, |_| {});
        assert_eq!(seen.troubles, Vec::<String>::new());
        assert_eq!(seen.sessions, 1);
        // 200 a second at most, of which a third is written; four deviations.
        let (writes, all) = (seen.writes as f64, (seen.writes + seen.reads) as f64);
        assert!((100.0..290.0).contains(&all), "{seen:?}");
        assert!((0.2..0.5).contains(&(writes / all)), "{seen:?}");
        let staleness = &seen.report["staleness"];
        assert_eq!(seen.report["reads"], seen.reads, "none of the warm-up: {seen:?}");
        assert_eq!(staleness["stale"], 0);
        assert_eq!(staleness["verdict"], "INCONCLUSIVE", "too few reads: {staleness}");
        assert!(
            staleness["exposed"].as_u64().unwrap() * 2 >= seen.reads - 10,
            "{staleness}"
        );
    }
}

#[test]
fn a_probe_finds_values_that_come_back() {
    for (number, shape) in SHAPES.into_iter().enumerate() {
        let folder = Folder::new("back");
        let seen = probe(shape, &folder.0, |connection| {
            connection
                .busy_timeout(std::time::Duration::from_secs(5))
                .unwrap();
            for _ in 0..100 {
                connection
                    .execute_batch("UPDATE bakeoff_probe SET value = 0")
                    .unwrap();
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        let staleness = &seen.report["staleness"];
        assert_eq!(staleness["verdict"], "VIOLATED", "shape {number}: {staleness}");
        assert!(
            staleness["stale"].as_u64().unwrap() > 10,
            "shape {number}: {staleness}"
        );
    }
}

#[test]
fn a_probe_that_cannot_begin_or_go_on_says_so() {
    let folder = Folder::new("trouble");
    let lost = probe(in_sql, &folder.0, |connection| {
        connection.execute_batch("DROP TABLE bakeoff_probe").unwrap();
    });
    assert!(lost.troubles[0].contains("bakeoff_probe"), "{lost:?}");
    let connection = rusqlite::Connection::open(folder.0.join("db")).unwrap();
    connection
        .execute_batch("CREATE TABLE bakeoff_probe (id INT)")
        .unwrap();
    let refused = probe(in_sql, &folder.0, |_| {});
    assert!(refused.troubles[0].contains("already exists"), "{refused:?}");
    assert_eq!((refused.sessions, refused.report), (0, serde_json::Value::Null));
    connection.execute_batch("SELECT id FROM bakeoff_probe").unwrap();
}
