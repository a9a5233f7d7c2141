//! A second judge of one copy: Porcupine (Athalye), which searches where ours compares zones of registers, and cycles of lists. It
//! needs Go, and the module from Go's proxy or its cache; without them a test says why it is skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use bakeoff_drivers::reference::{ReferenceBug as Bug, ReferenceSpec};
use bakeoff_histories::export::write_porcupine;
use bakeoff_histories::level::{Level, Order};
use bakeoff_histories::list_append::judge;
use bakeoff_histories::record::{MicroOp, Outcome, Record};
use bakeoff_model::random::SplitMix64;

use crate::builders::{Folder, history, ok, write};
use crate::elle::histories;
use crate::replicas::{any_operations, found, with};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/porcupine");

fn go(arguments: &[&str]) -> Result<String, String> {
    let done = Command::new("go").args(arguments).current_dir(PROGRAM).output();
    let done = done.map_err(|error| format!("go does not run: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

/// The program, in a folder that also takes the histories; `None`, and why, if it cannot be built here.
fn built(name: &str) -> Option<(Folder, PathBuf)> {
    if let Err(why) = go(&["mod", "download"]) {
        println!("skipped: Porcupine cannot be fetched: {why}");
        return None;
    }
    let folder = Folder::new(&format!("porcupine-{name}"));
    let program = folder.0.join("porcupine");
    go(&["build", "-o", program.to_str().unwrap(), "."]).unwrap();
    Some((folder, program))
}

/// What Porcupine says of each file: whether it is linearizable.
fn verdicts(program: &mut Command) -> BTreeMap<PathBuf, bool> {
    let done = program.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines = String::from_utf8(done.stdout).unwrap();
    let verdict = |line: &str| {
        let (path, word) = line.rsplit_once(' ').unwrap();
        assert_ne!(word, "Unknown", "{line}");
        (path.into(), word == "Ok")
    };
    lines.lines().map(verdict).collect()
}

fn compare(ours: &BTreeMap<PathBuf, bool>, theirs: &BTreeMap<PathBuf, bool>) {
    let differ: Vec<_> = ours
        .iter()
        .filter(|(path, one_copy)| theirs[*path] != **one_copy)
        .collect();
    assert!(
        differ.is_empty(),
        "ours, which Porcupine contradicts: {differ:#?}"
    );
}

/// Some writes whose outcome nobody knows: applied, or not.
fn with_unknown(mut records: Vec<Record>, seed: u64) -> Vec<Record> {
    let mut random = SplitMix64(seed);
    for record in &mut records {
        let is_write = matches!(record.ops[..], [MicroOp::Write(..)]);
        if record.outcome == Outcome::Ok && is_write && random.one_in(10) {
            record.outcome = Outcome::Unknown;
        }
    }
    let never = ok(
        99,
        (records[0].call_ns, records[0].call_ns + 5),
        vec![write(0, 1_000_000)],
    );
    records.push(Record {
        outcome: Outcome::Unknown,
        ..never
    });
    records
}

#[test]
fn porcupine_says_the_same_of_one_copy() {
    let Some((folder, program)) = built("registers") else {
        return;
    };
    let weak = ReferenceSpec {
        write_nodes: 1,
        read_nodes: 1,
        ..ReferenceSpec::default()
    };
    let bugs = [
        Bug::DropWrite,
        Bug::AbortedRead,
        Bug::Phantom,
        Bug::StaleNode,
        Bug::LateCommit,
    ];
    let specs = [with(Bug::None), with(Bug::None), weak]
        .into_iter()
        .chain(bugs.map(with));
    let mut ours = BTreeMap::new();
    for (number, spec) in specs.enumerate() {
        for seed in 0..20 {
            // So few operations that with a bug, too, some histories are linearizable.
            let records = with_unknown(any_operations(spec.clone(), seed, 20 + 6 * seed), seed);
            let path = folder.0.join(format!("{number}-{seed}.jsonl"));
            write_porcupine(&history(&records), std::fs::File::create(&path).unwrap()).unwrap();
            let names = found(&records);
            let one_copy = ["not-linearizable", "phantom", "aborted-read"];
            ours.insert(path, !one_copy.iter().any(|name| names.contains(name)));
        }
    }
    let files: Vec<PathBuf> = ours.keys().cloned().collect();
    compare(&ours, &verdicts(Command::new(program).args(files)));
    let copies = ours.values().filter(|one_copy| **one_copy).count();
    assert!(
        (40..120).contains(&copies),
        "{copies} of {} are linearizable",
        ours.len()
    );
}

/// Strict serializability by definition: each transaction, whole, at one moment of its time.
#[test]
fn porcupine_says_the_same_of_lists() {
    let Some((folder, program)) = built("lists") else {
        return;
    };
    let mut ours = BTreeMap::new();
    for (name, records) in histories() {
        let path = folder.0.join(name + ".jsonl");
        let lines: Vec<String> = records
            .iter()
            .map(|record| serde_json::to_string(record).unwrap())
            .collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let report = judge(&history(&records), Some(Level::Serializable), Order::RealTime).unwrap();
        ours.insert(path, report.violations.is_empty());
    }
    compare(
        &ours,
        &verdicts(Command::new(program).arg("lists").args(ours.keys())),
    );
    let strict = ours.values().filter(|strict| **strict).count();
    assert!((30..200).contains(&strict), "{strict} of {}", ours.len());
}
