//! `run`: sets what the library reads, and becomes the command.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Failure, Options, Outcome, absolute};

pub fn run(arguments: Vec<OsString>) -> Outcome {
    let options = Options::read(arguments)?;
    let (program, arguments) = options
        .command
        .split_first()
        .ok_or_else(|| Failure::usage("no command follows `--`"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    prepare(&mut command, &options)?;
    Err(Failure::new("cannot run", Path::new(program), command.exec()))
}

/// Gives a command the library and its settings, and makes the journal's folder.
pub fn prepare(command: &mut Command, options: &Options) -> Result<(), Failure> {
    let device = options.sync_latency_ns.or(options.bandwidth_bytes_per_s);
    let watches = options.journal.is_some() || device.is_some();
    if watches == options.data.is_empty() {
        return Err(Failure::usage(
            "--data is needed with --journal, --sync-latency or --bandwidth, and with nothing else",
        ));
    }
    if !watches && options.clock.is_none() {
        return Err(Failure::usage(
            "nothing to do without --journal, --sync-latency, --bandwidth or --clock",
        ));
    }
    let mut preloaded = library(options)?.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preloaded.push(":");
        preloaded.push(others);
    }
    let data = options
        .data
        .iter()
        .map(|folder| folder.as_os_str())
        .collect::<Vec<_>>()
        .join(OsStr::new(":"));
    command.env("LD_PRELOAD", preloaded);
    if let Some(clock) = &options.clock {
        command.env("BAKEOFF_CLOCK", clock);
    }
    if watches {
        command.env("BAKEOFF_STORAGE_DATA", data);
    }
    if let Some(journal) = &options.journal {
        command.env("BAKEOFF_STORAGE_JOURNAL", make_journal(journal, &options.data)?);
    }
    if options.strict {
        command.env("BAKEOFF_STORAGE_STRICT", "1");
    }
    let numbers = [
        ("SYNC_LATENCY_NS", options.sync_latency_ns.unwrap_or(0)),
        ("JITTER_NS", options.jitter_ns),
        (
            "BANDWIDTH_BYTES_PER_S",
            options.bandwidth_bytes_per_s.unwrap_or(0),
        ),
        ("SEED", options.seed),
    ];
    for (name, number) in numbers.into_iter().filter(|(_, number)| *number != 0) {
        command.env(format!("BAKEOFF_STORAGE_{name}"), number.to_string());
    }
    Ok(())
}

/// The library: as given, or next to this program, where cargo and packages put it.
fn library(options: &Options) -> Result<PathBuf, Failure> {
    if let Some(given) = &options.library {
        return absolute(given);
    }
    let program =
        std::env::current_exe().map_err(|why| Failure::new("cannot find", Path::new("this program"), why))?;
    absolute(program.with_file_name("libbakeoff_powerloss.so"))
}

/// An empty journal, which the server may write whatever user it becomes.
fn make_journal(journal: &Path, data: &[PathBuf]) -> Result<PathBuf, Failure> {
    let fail = |why: std::io::Error| Failure::new("cannot make the journal", journal, why);
    fs::create_dir_all(journal).map_err(fail)?;
    let journal = absolute(journal)?;
    if let Some(around) = data
        .iter()
        .find(|folder| journal.starts_with(folder) || folder.starts_with(&journal))
    {
        return Err(Failure::usage(format!(
            "the journal {} and the data {} overlap",
            journal.display(),
            around.display()
        )));
    }
    for entry in fs::read_dir(&journal).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let removed = match path.file_name().and_then(OsStr::to_str) {
            Some("inode" | "kept") => fs::remove_dir_all(&path),
            Some("changes" | "notes" | "alive") => fs::remove_file(&path),
            _ => {
                return Err(Failure::usage(format!(
                    "{} is no part of a journal",
                    path.display()
                )));
            }
        };
        removed.map_err(fail)?;
    }
    for folder in [journal.clone(), journal.join("inode"), journal.join("kept")] {
        fs::create_dir_all(&folder).map_err(fail)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).map_err(fail)?;
    }
    Ok(journal)
}
