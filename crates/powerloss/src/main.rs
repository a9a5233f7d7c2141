//! `bakeoff-powerloss`: runs a command with the library, undoes what it did not sync, and says whether that can be judged.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the program's output")]

mod commands;
#[allow(dead_code, reason = "the library writes what the program reads")]
mod format;

use std::process::ExitCode;

const HELP: &str = "\
bakeoff-powerloss run --data data --journal journal -- mariadbd --datadir=data --innodb-use-native-aio=0
bakeoff-powerloss apply --data data --journal journal      after the server was killed: undo what was not synced

run        starts a command with the library (the process stays the same)
             --data FOLDER...        what is watched
             --journal FOLDER        on the same file system, outside of the data; its content is replaced
             --strict                names that were not synced are undone, too
             --sync-latency TIME     a sync takes at least this, e.g. 2ms; with --jitter TIME and --seed N
             --bandwidth BYTES       written per second, e.g. 50MB
             --clock FILE            the time of day is wrong by 8 bytes of nanoseconds in it, which may change
             --library FILE          default: next to this program
apply      --data FOLDER... --journal FOLDER
check      --journal FOLDER [--process ID...]   what bypassed the library; ask before the kill to have processes inspected
self-test  [--folder FOLDER] [--library FILE]   small programs whose losses are known

Output is JSON. Exit codes: 0 done, 1 not to be judged or a self-test failed, 2 wrong use, 3 failed.";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    let rest = rest.to_vec();
    let outcome = match command.to_str() {
        Some("run") => commands::run::run(rest),
        Some("apply") => commands::apply::run(rest),
        Some("check") => commands::check::run(rest),
        Some("self-test") => commands::self_test::run(rest),
        Some(commands::self_test::ACTOR) => commands::self_test::act(rest),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(true)
        }
        _ => Err(commands::Failure::usage(format!(
            "unknown command {}",
            command.display()
        ))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("error: {}", failure.text);
            ExitCode::from(failure.code)
        }
    }
}
