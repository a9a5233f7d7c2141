//! The time of day is wrong as the file says, at once and in forked children, and nothing lasts longer or shorter for it.

use std::fs;
use std::process::Command;

use crate::setup::{PROGRAM, Setup, library, python};

const SECOND_NS: i64 = 1_000_000_000;

/// Says by how much each function's time of day differs from the kernel's, whole seconds, whenever it is asked to.
const TELLS: &str = "
import ctypes, os, sys, time
c = ctypes.CDLL(None)
class Time(ctypes.Structure):
    _fields_ = [('s', ctypes.c_int64), ('part', ctypes.c_int64)]
def kernel():
    now = Time()
    c.syscall(ctypes.c_long(228 if os.uname().machine == 'x86_64' else 113), 0, ctypes.byref(now))
    return now.s + now.part / 1e9
def readings():
    one, other, third = Time(), Time(), Time()
    c.clock_gettime(0, ctypes.byref(one)); c.gettimeofday(ctypes.byref(other), None); c.timespec_get(ctypes.byref(third), 1)
    c.time.restype = ctypes.c_int64
    return one.s + one.part / 1e9, other.s + other.part / 1e6, third.s + third.part / 1e9, c.time(None) + 0.5
def differ():
    right = kernel()
    return ' '.join(str(round(wrong - right)) for wrong in readings())
for line in sys.stdin:
    child, out = os.pipe()
    if os.fork() == 0:
        os.write(out, differ().encode()); os._exit(0)
    print(differ(), '|', os.read(child, 100).decode(), flush=True)
";

/// Waits for a fifth of a second until a time of day, by each function that can, and says how long it took.
const WAITS: &str = "
import ctypes, time
c = ctypes.CDLL(None)
class Time(ctypes.Structure):
    _fields_ = [('s', ctypes.c_int64), ('part', ctypes.c_int64)]
def until(clock):
    ns = time.clock_gettime_ns(clock) + 200_000_000
    return ctypes.byref(Time(ns // 10**9, ns % 10**9))
mutex, condition, lock, semaphore = (ctypes.create_string_buffer(256) for _ in range(4))
c.sem_init(semaphore, 0, 0); c.pthread_rwlock_wrlock(lock); c.pthread_mutex_lock(mutex)
held = ctypes.create_string_buffer(256); c.pthread_mutex_lock(held)
attributes, monotonic = ctypes.create_string_buffer(64), ctypes.create_string_buffer(256)
c.pthread_condattr_init(attributes); c.pthread_condattr_setclock(attributes, 1); c.pthread_cond_init(monotonic, attributes)
for wait in (
    lambda: c.pthread_cond_timedwait(condition, mutex, until(0)),
    lambda: c.pthread_cond_timedwait(monotonic, mutex, until(1)),
    lambda: c.pthread_cond_clockwait(condition, mutex, 0, until(0)),
    lambda: c.pthread_mutex_timedlock(held, until(0)),
    lambda: c.sem_timedwait(semaphore, until(0)),
    lambda: c.sem_clockwait(semaphore, 0, until(0)),
    lambda: c.clock_nanosleep(0, 1, until(0), None),
):
    begin = time.monotonic(); wait(); print(time.monotonic() - begin, flush=True)
";

fn setup(shift_ns: i64) -> (Setup, String) {
    let setup = Setup::new();
    let clock = setup.folder.join("clock");
    fs::write(&clock, shift_ns.to_ne_bytes()).unwrap();
    let clock = clock.to_str().unwrap().to_owned();
    (setup, clock)
}

#[test]
fn every_function_tells_what_the_file_says_at_once() {
    let (setup, clock) = setup(0);
    let mut server = setup.start(&["--clock", &clock], TELLS, &[]);
    for shift_s in [0, 3600, -7, 0] {
        fs::write(&clock, (shift_s * SECOND_NS).to_ne_bytes()).unwrap();
        server.send("");
        let all = format!("{shift_s} {shift_s} {shift_s} {shift_s}");
        assert_eq!(server.line(), format!("{all} | {all}"));
    }
    server.kill();
}

#[test]
fn waits_last_as_long_as_with_the_right_time() {
    for shift_s in [3600, -3600] {
        let (setup, clock) = setup(shift_s * SECOND_NS);
        let mut server = setup.start(&["--clock", &clock], WAITS, &[]);
        for number in 0..7 {
            let seconds: f64 = server.line().parse().unwrap();
            assert!((0.19..5.0).contains(&seconds), "wait {number} took {seconds} s");
        }
        server.kill();
    }
}

#[test]
fn a_clock_alone_needs_no_data() {
    let (_setup, clock) = setup(86_400 * SECOND_NS);
    let mut run = Command::new(PROGRAM);
    run.args(["run", "--clock", &clock, "--library"]).arg(library());
    let output = run
        .args(["--", python(), "-c", "import time; print(int(time.time()))"])
        .output()
        .unwrap();
    let read: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!((86_390..=86_400).contains(&(read - now)), "{read} {now}");
}
