//! The engine on a database file of SQLite: one phase, one process.
#![allow(dead_code)] // every user takes its own part of it
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A database file of one test.
pub struct Database(pub PathBuf);

impl Database {
    pub fn new(test: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let database = Self(folder.join(format!("{test}-{}.db", std::process::id())));
        database.remove();
        database
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }

    /// One phase in a process of its own; its last event.
    pub fn phase(&self, phase: &str, workload: &Value, more: Value) -> Value {
        let mut document = json!({
            "format": 1,
            "phase": phase,
            "seed": 5,
            "driver": {
                "kind": "sqlite",
                "path": self.0,
                "pragmas": { "journal_mode": "WAL", "synchronous": "OFF" },
            },
            "workload": workload,
        });
        document
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
            .args(["--now", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{document}").unwrap();
        let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        serde_json::from_str(output.lines().last().unwrap()).unwrap()
    }

    pub fn load(&self, workload: &Value) -> u64 {
        let result = self.phase("load", workload, json!({ "threads": 2, "drop_existing": true }));
        assert_eq!(result["event"], "result", "{result}");
        result["rows"].as_u64().unwrap()
    }

    /// With two users.
    pub fn run(&self, workload: &Value, operations: u64) -> Value {
        let limit = json!({ "kind": "operations", "operations": operations, "max_s": null });
        self.phase("run", workload, json!({ "threads": 2, "limit": limit }))
    }

    /// What is found after runs that gave this evidence.
    pub fn checks(&self, workload: &Value, evidence: &[Value], after_run: bool) -> Vec<Value> {
        let spec = json!({ "evidence": evidence, "sample": 50, "after_run": after_run });
        let result = self.phase("check", workload, json!({ "check": spec }));
        let checks = result["checks"].as_array().unwrap_or_else(|| panic!("{result}"));
        checks.clone()
    }

    /// All of it is right.
    pub fn check(&self, workload: &Value, evidence: &[Value], after_run: bool) {
        let checks = self.checks(workload, evidence, after_run);
        assert!(
            checks.len() > 1 && checks.iter().all(|check| check["ok"] == true),
            "{workload}: {checks:#?}"
        );
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.remove();
    }
}
