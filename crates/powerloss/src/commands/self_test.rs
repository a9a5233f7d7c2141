//! `self-test`: programs whose losses are known. Each runs with the library, says what it did, and is killed before it ends.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Failure, Options, Outcome, apply, check, quoted, run};

/// The command with which this program starts itself as one of them.
pub const ACTOR: &str = "act";

const OLD: &[u8] = b"old content";
const NEW: &[u8] = b"new";

/// What a program does to a file that holds `OLD`, and what a power loss must leave in it.
struct Case {
    name: &'static str,
    act: fn(&Path) -> io::Result<()>,
    left: &'static [u8],
    /// The report must refuse a verdict.
    blind: bool,
}

static CASES: [Case; 8] = [
    Case {
        name: "an overwrite without a sync is lost",
        act: |path| write(path, false),
        left: OLD,
        blind: false,
    },
    Case {
        name: "an overwrite with a sync is kept",
        act: |path| write(path, true),
        left: b"new content",
        blind: false,
    },
    Case {
        name: "an appended part without a sync is lost",
        act: |path| append(path, false),
        left: OLD,
        blind: false,
    },
    Case {
        name: "an appended part with a sync is kept",
        act: |path| append(path, true),
        left: b"old contentnew",
        blind: false,
    },
    Case {
        name: "a truncation without a sync is undone",
        act: truncate,
        left: OLD,
        blind: false,
    },
    Case {
        name: "what is written after a sync is lost alone",
        act: write_after_sync,
        left: b"new content",
        blind: false,
    },
    Case {
        name: "a write to a synchronous descriptor is kept",
        act: write_synchronously,
        left: b"new content",
        blind: false,
    },
    Case {
        name: "a write through a mapping is reported",
        act: map,
        left: b"new content",
        blind: true,
    },
];

pub fn run(arguments: Vec<OsString>) -> Outcome {
    let mut options = Options::read(arguments)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = parent.join(format!("bakeoff-powerloss-{}", std::process::id()));
    let fail = |why: io::Error| Failure::new("self-test failed in", &folder, why);
    fs::create_dir_all(folder.join("data")).map_err(fail)?;
    options.data = vec![super::absolute(folder.join("data"))?];
    options.journal = Some(folder.join("journal"));
    let mut failures = Vec::new();
    let outcome: Result<(), Failure> = CASES.iter().enumerate().try_for_each(|(index, case)| {
        let passed = passes(index, case, &options)?;
        if !passed {
            failures.push(quoted(case.name));
        }
        Ok(())
    });
    let _ = fs::remove_dir_all(&folder); // a folder for temporary files, which others may clean
    outcome?;
    println!(
        "{{\"passed\": {}, \"failed\": [{}]}}",
        CASES.len() - failures.len(),
        failures.join(", ")
    );
    Ok(failures.is_empty())
}

fn passes(index: usize, case: &Case, options: &Options) -> Result<bool, Failure> {
    let path = options.data[0].join("file");
    let fail = |why: io::Error| Failure::new("self-test failed at", &path, why);
    fs::write(&path, OLD).map_err(fail)?;
    let mut command = Command::new(std::env::current_exe().map_err(fail)?);
    command
        .arg(ACTOR)
        .arg(index.to_string())
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    run::prepare(&mut command, options)?;
    let mut child = command.spawn().map_err(fail)?;
    let done = wait_until_done(&mut child);
    child.kill().and_then(|()| child.wait()).map_err(fail)?;
    if !done {
        return Ok(false);
    }
    let journal = options.needed_journal()?;
    let (_, judged) = check::report(&check::read(&journal));
    apply::apply(&options.data, &journal)?;
    Ok(judged != case.blind && fs::read(&path).map_err(fail)? == case.left)
}

fn wait_until_done(child: &mut Child) -> bool {
    let Some(output) = child.stdout.take() else {
        return false;
    };
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).is_ok() && line == "done\n"
}

/// Is one of the programs: acts, says so, and waits to be killed. Ends with its parent, whose end closes its input.
pub fn act(arguments: Vec<OsString>) -> Outcome {
    let [index, path] = arguments.as_slice() else {
        return Err(Failure::usage("a self-test starts this"));
    };
    let case = index
        .to_str()
        .and_then(|index| CASES.get(index.parse::<usize>().ok()?));
    let case = case.ok_or_else(|| Failure::usage("a self-test starts this"))?;
    let path = Path::new(path);
    (case.act)(path).map_err(|why| Failure::new("cannot write", path, why))?;
    println!("done");
    let _ = io::stdin().read_line(&mut String::new());
    Ok(true)
}

fn write(path: &Path, sync: bool) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(NEW)?;
    if sync { file.sync_data() } else { Ok(()) }
}

fn append(path: &Path, sync: bool) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(NEW)?;
    if sync { file.sync_all() } else { Ok(()) }
}

fn truncate(path: &Path) -> io::Result<()> {
    File::create(path)?.write_all(NEW)
}

fn write_after_sync(path: &Path) -> io::Result<()> {
    write(path, true)?;
    OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all_at(b"later, and longer", 2)
}

fn write_synchronously(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(b"NEW")?;
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_DSYNC)
        .open(path)?
        .write_all(NEW)
}

fn map(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping of a file that has more bytes than are written, and that nobody else changes.
    unsafe {
        let address = libc::mmap(
            std::ptr::null_mut(),
            OLD.len(),
            protection,
            flags,
            file.as_raw_fd(),
            0,
        );
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        std::ptr::copy_nonoverlapping(NEW.as_ptr(), address.cast(), NEW.len());
    }
    Ok(())
}
