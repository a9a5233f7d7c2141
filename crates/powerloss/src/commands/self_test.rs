//! `self-test`: programs whose losses are known. Each runs with the library, says what it did, and is killed before it ends.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Failure, Options, Outcome, apply, check, quoted, run};

/// The command with which this program starts itself as one of them.
pub const ACTOR: &str = "act";

const OLD: &[u8] = b"old content";
const NEW: &[u8] = b"new";

/// A name, what the program does to a file that holds `OLD`, what a power loss must leave in it, and whether the report must refuse
/// a verdict.
type Case = (&'static str, fn(&Path) -> io::Result<()>, &'static [u8], bool);

static CASES: [Case; 8] = [
    (
        "an overwrite without a sync is lost",
        |path| write(path, false),
        OLD,
        false,
    ),
    (
        "an overwrite with a sync is kept",
        |path| write(path, true),
        b"new content",
        false,
    ),
    (
        "an appended part without a sync is lost",
        |path| append(path, false),
        OLD,
        false,
    ),
    (
        "an appended part with a sync is kept",
        |path| append(path, true),
        b"old contentnew",
        false,
    ),
    ("a truncation without a sync is undone", truncate, OLD, false),
    (
        "what is written after a sync is lost alone",
        write_after_sync,
        b"new content",
        false,
    ),
    (
        "a write to a synchronous descriptor is kept",
        write_synchronously,
        b"new content",
        false,
    ),
    ("a write through a mapping is reported", map, b"new content", true),
];

pub fn run(arguments: Vec<OsString>) -> Outcome {
    let mut options = Options::read(arguments)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = parent.join(format!("bakeoff-powerloss-{}", std::process::id()));
    let fail = |why: io::Error| Failure::new("self-test failed in", &folder, why);
    fs::create_dir_all(folder.join("data")).map_err(fail)?;
    options.data = vec![super::absolute(folder.join("data"))?];
    options.journal = Some(folder.join("journal"));
    let failed = failed_cases(&options);
    let _ = fs::remove_dir_all(&folder); // a folder for temporary files, which others may clean
    let failed = failed?;
    println!(
        r#"{{"passed": {}, "failed": [{}]}}"#,
        CASES.len() - failed.len(),
        failed.join(", ")
    );
    Ok(failed.is_empty())
}

fn failed_cases(options: &Options) -> Result<Vec<String>, Failure> {
    let mut failed = Vec::new();
    for (index, case) in CASES.iter().enumerate() {
        if !passes(index, case, options)? {
            failed.push(quoted(case.0));
        }
    }
    Ok(failed)
}

fn passes(index: usize, (_, _, left, blind): &Case, options: &Options) -> Result<bool, Failure> {
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
    let mut line = String::new();
    let read = child
        .stdout
        .take()
        .map(|output| BufReader::new(output).read_line(&mut line));
    child.kill().and_then(|()| child.wait()).map_err(fail)?;
    if read.is_none_or(|read| read.is_err()) || line != "done\n" {
        return Ok(false);
    }
    let journal = options.needed_journal()?;
    let (_, judged) = check::report(&check::read(&journal));
    apply::apply(&options.data, &journal)?;
    Ok(judged != *blind && fs::read(&path).map_err(fail)? == *left)
}

/// Is one of the programs: acts, says so, and waits to be killed. Ends with its parent, whose end closes its input.
pub fn act(arguments: Vec<OsString>) -> Outcome {
    let wrong = || Failure::usage("only the self-test starts this");
    let [index, path] = arguments.as_slice() else {
        return Err(wrong());
    };
    let case = index
        .to_str()
        .and_then(|index| CASES.get(index.parse::<usize>().ok()?));
    let ((_, act, ..), path) = (case.ok_or_else(wrong)?, Path::new(path));
    act(path).map_err(|why| Failure::new("cannot write", path, why))?;
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
