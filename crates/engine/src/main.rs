//! `bakeoff-engine`: one run document in, one JSON line per event out. Nothing here measures; it opens the door and
//! sees that the process ends when it should.
mod control;
mod exit;
mod guard;
mod output;
mod registry;
mod resolve;
mod schema;

use bakeoff_measure::Control;
use bakeoff_model::event::Event;
use bakeoff_model::outcome::{Trouble, TroubleKind};
use guard::Guard;
use output::Output;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;

const HELP: &str = "\
The measuring process of bakeoff: reads one run, prints one JSON line per event.

  bakeoff-engine --now run.json         carry out the run now, by hand
  bakeoff-engine run.json               wait for {\"control\":\"start_at\",\"unix_ns\":...} on stdin first
  bakeoff-engine -                      the run document is the first line of stdin
  bakeoff-engine list                   drivers and workloads in this build, and what it may not use here, as JSON
  bakeoff-engine resolve                options of workloads decided before a run: a request a line in, an answer a line out
  bakeoff-engine delay                  delay packets of sockets that have a mark, until stdin ends; its first line says which and how long
  bakeoff-engine schema [FOLDER]        JSON Schema of run, event, control, request and answer; into FOLDER as files

Control lines on stdin: start_at, mark, stop. End of input means stop and exit; with --now stdin is not read.
Phases load and run wait for start_at; warm, check, verify and drop begin at once.

Exit codes: 0 done; 2 wrong use or document; 3 server or environment failed; 130 interrupted by a signal
(what was measured is reported first).
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--help" | "-h" | "help"] => say(HELP),
        ["--version" | "-V"] => say(&format!("bakeoff-engine {}\n", env!("CARGO_PKG_VERSION"))),
        ["list"] => say(&registry::list()),
        ["resolve"] => match resolve::answer_all(std::io::stdin().lock(), std::io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(exit::SYSTEM),
        },
        ["delay"] => match bakeoff_delay::run(&std::io::stdin(), std::io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "error: {error}");
                ExitCode::from(exit::SYSTEM)
            }
        },
        ["schema"] => say(&schema::all()),
        ["schema", folder] => match schema::write(folder.as_ref()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => wrong_use(&format!("could not write to {folder}: {error}")),
        },
        ["--now", document] | [document, "--now"] if is_document(document) => carry_out(document, true),
        [document] if is_document(document) => carry_out(document, false),
        _ => wrong_use(&format!("cannot do {words:?}")),
    }
}

fn is_document(word: &str) -> bool {
    word == "-" || !word.starts_with('-')
}

fn say(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(exit::SYSTEM),
    }
}

fn wrong_use(what: &str) -> ExitCode {
    let _ = write!(
        std::io::stderr(),
        "error: {what}\n  hint: `bakeoff-engine --help` shows how it is used\n"
    );
    ExitCode::from(exit::USAGE)
}

/// From the document to the last event. Ends the process itself, because a thread may be blocked for ever.
fn carry_out(document: &str, now: bool) -> ExitCode {
    bakeoff_measure::clock::choose();
    raise_open_files();
    let output = Arc::new(Output::start());
    let control = Arc::new(Control::default());
    let outcome = read(document).and_then(|text| {
        let spec = bakeoff_measure::spec::parse(&text)?;
        let guard = Guard::watch(&control, &output, spec.timeout_s)?;
        if now {
            control.start_now();
        } else {
            control::listen(&control, &output, &guard)?;
        }
        registry::execute(&spec, control.clone(), output.sink())
    });
    let code = match &outcome {
        Ok(_) if exit::signalled() => exit::INTERRUPTED,
        Ok(_) => exit::DONE,
        Err(trouble) => exit::code(trouble),
    };
    output.send(match outcome {
        Ok(result) => Event::Result(Box::new(result)),
        Err(trouble) => Event::Error(trouble),
    });
    output.flush();
    exit::now(code)
}

/// Thousands of sessions need more descriptors than most shells allow at first; the hard limit is the machine's word.
fn raise_open_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: reads and writes this process's own limit through a valid structure; failure leaves it as it was.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// The document's text. Only its own line is taken from stdin: control lines follow.
fn read(document: &str) -> Result<String, Trouble> {
    let mut text = String::new();
    let read = match document {
        "-" => std::io::stdin().lock().read_line(&mut text).map(drop),
        path => std::fs::read_to_string(path).map(|content| text = content),
    };
    read.map_err(|error| {
        let hint = "name a run document, or `-` for one line of stdin";
        Trouble::new(
            TroubleKind::Usage,
            format!("could not read {document}: {error}"),
            document,
            hint,
        )
    })?;
    Ok(text)
}
