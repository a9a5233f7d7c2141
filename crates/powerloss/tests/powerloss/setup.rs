//! A folder with data and a journal, and small Python programs that run with the library.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_bakeoff-powerloss");

/// Cargo leaves the library in `deps`, and next to the program only after a build of everything.
pub fn library() -> PathBuf {
    let folder = PathBuf::from(PROGRAM).parent().unwrap().to_owned();
    let places = [
        folder.join("deps/libbakeoff_powerloss.so"),
        folder.join("libbakeoff_powerloss.so"),
    ];
    let built = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    places.into_iter().max_by_key(built).unwrap()
}

/// The interpreter itself: `python3` may be a script that starts others, which takes long and would be killed in place of it.
pub fn python() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let output = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

pub struct Setup {
    pub folder: PathBuf,
}

impl Setup {
    pub fn new() -> Setup {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Not in memory: a file system of its own, and times of birth, are part of the test.
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{count}", std::process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        Setup {
            folder: folder.canonicalize().unwrap(),
        }
    }

    pub fn data(&self, name: &str) -> PathBuf {
        self.folder.join("data").join(name)
    }

    pub fn program(&self, command: &str) -> Command {
        let mut program = Command::new(PROGRAM);
        program.arg(command);
        if command != "check" {
            program.arg("--data").arg(self.folder.join("data"));
        }
        program.arg("--journal").arg(self.folder.join("journal"));
        program
    }

    /// Runs a Python program in the data folder.
    pub fn start(&self, options: &[&str], script: &str, arguments: &[&str]) -> Actor {
        let mut run = self.program("run");
        run.args(options).arg("--library").arg(library());
        run.args(["--", python(), "-c", script]).args(arguments);
        run.current_dir(self.folder.join("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = run.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Actor {
            child,
            input: Some(input),
            output: BufReader::new(output),
        }
    }

    /// What `apply` prints.
    pub fn apply(&self) -> String {
        printed(&mut self.program("apply"), 0)
    }

    pub fn check(&self, judged: bool) -> String {
        printed(&mut self.program("check"), if judged { 0 } else { 1 })
    }
}

fn printed(program: &mut Command, code: i32) -> String {
    let output = program.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

impl Drop for Setup {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

pub struct Actor {
    pub child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Actor {
    pub fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line, without its end. Empty if the program has ended.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// SIGKILL to the program and its forked children: they are a group. Returns what they still had printed.
    pub fn kill(mut self) -> Vec<String> {
        let group = i32::try_from(self.child.id()).unwrap();
        // SAFETY: numbers only. The group is the child's, which has not been waited for.
        assert_eq!(unsafe { libc::kill(-group, libc::SIGKILL) }, 0);
        self.child.wait().unwrap();
        self.output.lines().map(Result::unwrap).collect()
    }
}

/// A small generator: the same numbers for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
