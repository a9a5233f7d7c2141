//! What the library cannot see must be reported.

use std::fs;

use crate::setup::Setup;

fn report_of(script: &str, judged: bool) -> String {
    let setup = Setup::new();
    fs::write(setup.data("file"), [0; 8192]).unwrap();
    let mut actor = setup.start(
        &[],
        &format!("{script}\nprint('done', flush=True)\nimport sys; sys.stdin.read()"),
        &[],
    );
    assert_eq!(actor.line(), "done");
    let report = setup.check(judged);
    actor.kill();
    report
}

#[test]
fn a_quiet_process_can_be_judged() {
    let report = report_of("", true);
    assert!(
        report.starts_with(r#"{"judged": true, "programs": [""#),
        "{report}"
    );
    assert!(
        report
            .trim()
            .ends_with(r#""direct_files": 0, "volatile_files": 0, "blind": []}"#),
        "{report}"
    );
}

#[test]
fn system_calls_of_asynchronous_rings_are_reported() {
    let call = "import ctypes\nctypes.CDLL(None).syscall(425, 0, 0)"; // fails, but was tried
    assert!(report_of(call, false).contains(r#""what": "io_uring""#));
    let call = format!(
        "import ctypes\nctypes.CDLL(None).syscall({}, 0, 0, 0)",
        libc::SYS_io_submit
    );
    assert!(report_of(&call, false).contains(r#""what": "io_submit""#));
}

#[test]
fn a_shared_mapping_that_can_be_written_is_reported() {
    let map = |name: &str, protection: &str| {
        format!(
            "import mmap\nfile = open('{name}', 'r+b', buffering=0)\nm = mmap.mmap(file.fileno(), 8192, prot={protection})"
        )
    };
    let report = report_of(&map("file", "mmap.PROT_READ | mmap.PROT_WRITE"), false);
    assert!(
        report.contains(r#""what": "mapped""#) && report.contains("/data/file"),
        "{report}"
    );
    report_of(&map("file", "mmap.PROT_READ"), true);
}

#[test]
fn an_index_that_is_rebuilt_after_a_crash_may_be_mapped_and_is_removed() {
    let setup = Setup::new();
    fs::write(setup.data("x-shm"), [0; 4096]).unwrap();
    let script = "import mmap\nfile = open('x-shm', 'r+b', buffering=0)\nm = mmap.mmap(file.fileno(), 4096)\nprint('done', flush=True)";
    let mut actor = setup.start(&[], script, &[]);
    assert_eq!(actor.line(), "done");
    let _ = actor.child.wait();
    assert!(setup.check(true).contains(r#""volatile_files": 1"#));
    setup.apply();
    assert!(!setup.data("x-shm").exists());
}

#[test]
fn direct_writes_are_counted_and_undone() {
    let setup = Setup::new();
    fs::write(setup.data("file"), [b'a'; 8192]).unwrap();
    let script = "
import mmap, os, sys
buffer = mmap.mmap(-1, 4096); buffer.write(b'b' * 4096)
fd = os.open('file', os.O_RDWR | os.O_DIRECT)
os.pwrite(fd, buffer, 0); os.fsync(fd); os.pwrite(fd, buffer, 4096)
print('done', flush=True); sys.stdin.read()";
    let mut actor = setup.start(&[], script, &[]);
    assert_eq!(actor.line(), "done");
    actor.kill();
    assert!(setup.check(true).contains(r#""direct_files": 1"#));
    setup.apply();
    assert!(fs::read(setup.data("file")).unwrap() == [[b'b'; 4096], [b'a'; 4096]].concat());
}

#[test]
fn a_stream_that_changes_a_file_in_place_is_reported() {
    let script = "import ctypes\nctypes.CDLL(None).fopen(b'file', b'r+')";
    assert!(report_of(script, false).contains(r#""what": "stream_in_place""#));
}
