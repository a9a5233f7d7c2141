//! Random calls, sent one at a time, and a kill after a random one: the file must hold exactly what a model says was synced.

use std::fs;

use crate::setup::{Random, Setup};

/// Makes the calls that it reads, and answers each.
const ACTOR: &str = r#"
import ctypes, os, sys
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
fd = os.open("file", os.O_RDWR | os.O_CREAT)
print("ready", flush=True)
for line in sys.stdin:
    name, offset, length, byte = line.split()
    offset, length, content = int(offset), int(length), byte.encode() * int(length)
    if name == "pwrite": os.pwrite(fd, content, offset)
    elif name == "write": os.lseek(fd, offset, os.SEEK_SET); os.write(fd, content)
    elif name == "pieces": os.pwritev(fd, [content[:length // 2], content[length // 2:]], offset)
    elif name == "write_only":
        other = os.open("file", os.O_WRONLY); os.pwrite(other, content, offset); os.close(other)
    elif name == "append":
        other = os.open("file", os.O_WRONLY | os.O_APPEND); os.write(other, content); os.close(other)
    elif name == "stream":
        stream = c.fopen(b"file", b"a")
        c.fwrite(content, 1, length, ctypes.c_void_p(stream)); c.fclose(ctypes.c_void_p(stream))
    elif name == "child":
        child = os.fork()
        if child == 0: os.pwrite(fd, content, offset); os._exit(0)
        os.waitpid(child, 0)
    elif name == "synchronous":
        other = os.open("file", os.O_WRONLY | os.O_DSYNC); os.pwrite(other, content, offset); os.close(other)
    elif name == "truncate": os.ftruncate(fd, offset)
    elif name == "truncate_path": os.truncate("file", offset)
    elif name == "empty": os.close(os.open("file", os.O_WRONLY | os.O_TRUNC))
    elif name == "allocate": os.posix_fallocate(fd, offset, length)
    elif name == "fsync": os.fsync(fd)
    elif name == "fdatasync":
        other = os.open("file", os.O_RDONLY); os.fdatasync(other); os.close(other)
    elif name == "sync": os.sync()
    print("done", flush=True)
"#;

const CALLS: [&str; 15] = [
    "pwrite",
    "write",
    "pieces",
    "write_only",
    "append",
    "stream",
    "child",
    "synchronous",
    "truncate",
    "truncate_path",
    "empty",
    "allocate",
    "fsync",
    "fdatasync",
    "pwrite",
];

fn put(content: &mut Vec<u8>, offset: usize, length: usize, byte: u8) {
    if length > 0 {
        content.resize(content.len().max(offset + length), 0);
        content[offset..offset + length].fill(byte);
    }
}

fn follow(name: &str, offset: usize, length: usize, byte: u8, now: &mut Vec<u8>, synced: &mut Vec<u8>) {
    match name {
        "append" | "stream" => {
            let end = now.len();
            put(now, end, length, byte);
        }
        "synchronous" => {
            put(now, offset, length, byte);
            put(synced, offset, length, byte);
        }
        "truncate" | "truncate_path" => now.resize(offset, 0),
        "empty" => now.clear(),
        "allocate" => now.resize(now.len().max(offset + length), 0),
        "fsync" | "fdatasync" | "sync" => synced.clone_from(now),
        _ => put(now, offset, length, byte),
    }
}

#[test]
fn a_file_holds_exactly_what_was_synced() {
    for seed in 0..40 {
        let setup = Setup::new();
        let mut random = Random(seed);
        let mut now = vec![b'0'; random.below(9000) as usize];
        fs::write(setup.data("file"), &now).unwrap();
        let mut synced = now.clone();
        let mut actor = setup.start(&[], ACTOR, &[]);
        assert_eq!(actor.line(), "ready");
        let mut story = Vec::new();
        for step in 0..1 + random.below(60) {
            let name = CALLS[random.below(CALLS.len() as u64) as usize];
            let (offset, length) = (random.below(20_000) as usize, 1 + random.below(20_000) as usize);
            let byte = b'a' + (step % 26) as u8;
            actor.send(&format!("{name} {offset} {length} {}", byte as char));
            assert_eq!(actor.line(), "done", "seed {seed}: {name}");
            follow(name, offset, length, byte, &mut now, &mut synced);
            story.push(format!("{name} {offset} {length} {}", byte as char));
        }
        actor.kill();
        assert!(
            fs::read(setup.data("file")).unwrap() == now,
            "seed {seed}: the calls did something else: {story:?}"
        );
        setup.check(true);
        setup.apply();
        assert!(
            fs::read(setup.data("file")).unwrap() == synced,
            "seed {seed}: {story:?}"
        );
    }
}

#[test]
fn sync_makes_all_files_durable() {
    let setup = Setup::new();
    let mut actor = setup.start(&[], ACTOR, &[]);
    assert_eq!(actor.line(), "ready");
    for line in ["pwrite 0 5000 a", "sync 0 0 x", "pwrite 100 5 b", "append 0 9 c"] {
        actor.send(line);
        assert_eq!(actor.line(), "done");
    }
    actor.kill();
    setup.apply();
    assert!(fs::read(setup.data("file")).unwrap() == [b'a'; 5000]);
}

#[test]
fn applying_twice_changes_nothing_more() {
    let setup = Setup::new();
    fs::write(setup.data("file"), "old").unwrap();
    let mut actor = setup.start(&[], ACTOR, &[]);
    assert_eq!(actor.line(), "ready");
    actor.send("pwrite 1 9 a");
    assert_eq!(actor.line(), "done");
    actor.kill();
    assert_eq!(setup.apply().trim(), r#"{"files": 1, "bytes": 9, "names": 0}"#);
    assert_eq!(setup.apply().trim(), r#"{"files": 0, "bytes": 0, "names": 0}"#);
    assert_eq!(fs::read(setup.data("file")).unwrap(), b"old");
}

#[test]
fn nothing_is_undone_under_a_running_process() {
    let setup = Setup::new();
    let mut actor = setup.start(&[], ACTOR, &[]);
    assert_eq!(actor.line(), "ready");
    actor.send("pwrite 0 9 a");
    assert_eq!(actor.line(), "done");
    let output = setup.program("apply").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("still runs"));
    assert_eq!(fs::read(setup.data("file")).unwrap(), b"aaaaaaaaa");
    actor.kill();
}
