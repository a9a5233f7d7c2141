//! `check`: may this run be judged? Not if something wrote past the library, or if no process had it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Failure, Options, Outcome, quoted};

/// What the library cannot undo, as it notes it, and what would help.
const BLIND: [(&str, &str); 8] = [
    (
        "io_uring",
        "its writes are not seen: turn it off (MariaDB: innodb_use_native_aio=0)",
    ),
    (
        "io_submit",
        "native asynchronous writes are not seen: turn them off (innodb_use_native_aio=0)",
    ),
    ("posix_aio", "aio_write happens inside the C library, unseen"),
    (
        "mapped",
        "writes to a mapped file are not seen: use a setting that writes by calls, or LazyFS",
    ),
    (
        "stream_in_place",
        "a stream changed a file in place inside the C library, unseen",
    ),
    (
        "journal_failed",
        "the journal is incomplete: is its disk full, or may the server's user not write it?",
    ),
    (
        "not_kept",
        "a removed file could not be linked: put the journal on the file system of the data",
    ),
    (
        "not_loaded",
        "the process does not have the library: a static program, or one with other privileges",
    ),
];

/// Kind, process and detail.
type Note = [String; 3];

pub fn run(arguments: Vec<OsString>) -> Outcome {
    let options = Options::read(arguments)?;
    let mut notes = read(&options.needed_journal()?);
    for process in &options.processes {
        inspect(*process, &mut notes)?;
    }
    let (json, judged) = report(&notes);
    println!("{json}");
    Ok(judged)
}

/// The report, and whether the run may be judged.
pub fn report(notes: &BTreeSet<Note>) -> (String, bool) {
    let of = |wanted: &str| {
        let of_kind = notes.iter().filter(|[kind, ..]| kind == wanted);
        of_kind
            .map(|[_, _, detail]| quoted(detail))
            .collect::<BTreeSet<_>>()
    };
    let blind: Vec<String> = notes.iter().filter_map(blind_to_json).collect();
    let judged = blind.is_empty() && !of("attached").is_empty();
    let json = format!(
        r#"{{"judged": {judged}, "programs": [{}], "direct_files": {}, "volatile_files": {}, "blind": [{}]}}"#,
        of("attached").into_iter().collect::<Vec<_>>().join(", "),
        of("direct").len(),
        of("volatile").len(),
        blind.join(", ")
    );
    (json, judged)
}

fn blind_to_json([kind, process, detail]: &Note) -> Option<String> {
    let (_, advice) = BLIND.iter().find(|(blind, _)| kind == *blind)?;
    let [kind, process, detail, advice] = [kind.as_str(), process, detail, advice].map(quoted);
    Some(format!(
        r#"{{"what": {kind}, "process": {process}, "detail": {detail}, "advice": {advice}}}"#
    ))
}

/// Each note once. No note at all means that no process had the library.
pub fn read(journal: &Path) -> BTreeSet<Note> {
    let bytes = fs::read(journal.join("notes")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let parts = text
        .lines()
        .map(|line| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>());
    parts.filter_map(|parts| Note::try_from(parts).ok()).collect()
}

/// What a running process shows of itself, also where it makes system calls without the C library.
fn inspect(process: u32, notes: &mut BTreeSet<Note>) -> Result<(), Failure> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let fail = |why| Failure::new("cannot inspect", &folder, why);
    let maps = fs::read_to_string(folder.join("maps")).map_err(fail)?;
    let mut note =
        |kind: &str, detail: &str| notes.insert([kind, &process.to_string(), detail].map(str::to_owned));
    if !maps.contains("libbakeoff_powerloss") {
        note("not_loaded", "its memory does not have the library");
    }
    if maps.contains("/[aio]") {
        note("io_submit", "it has a context of native asynchronous I/O");
    }
    for entry in fs::read_dir(folder.join("fd")).map_err(fail)?.flatten() {
        if fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == "anon_inode:[io_uring]") {
            note("io_uring", "it has an io_uring open");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_judged_if_a_process_had_the_library_and_nothing_bypassed_it() {
        let judged = |kinds: &[&str]| {
            report(
                &kinds
                    .iter()
                    .map(|kind| [kind, "7", "x"].map(str::to_owned))
                    .collect(),
            )
            .1
        };
        assert!(judged(&["attached", "direct", "volatile"]));
        assert!(!judged(&[]));
        for (kind, _) in BLIND {
            assert!(!judged(&["attached", kind]), "{kind}");
        }
    }
}
