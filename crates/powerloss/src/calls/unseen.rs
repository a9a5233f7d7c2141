//! What writes past the library. It is not stopped, but noted, and then the program gives no verdict.

use std::ffi::{CStr, c_int, c_long, c_void};

use super::{Original, functions, syncing, writing};
use crate::descriptors::{self, Kind};
use crate::notes::{self, Once};
use crate::sys::{call, path_of, raw, returned};

functions! {
    [syscall] (number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long =
        system_call(number, [a, b, c, d, e, f]);
    [mmap, mmap64] (address: *mut c_void, length: usize, access: c_int, flags: c_int, fd: c_int, offset: i64)
        -> *mut c_void = {
            let result = returned(call!(SYS_mmap, address, length, access, flags, fd, offset));
            // One that fails is no mapping: InnoDB tries whether its log is in persistent memory.
            if result != -1 {
                note_mapping(access, flags, fd);
            }
            result as *mut c_void
        };
    [io_uring_setup] (a: usize, b: usize) -> c_int = noted(Once::IoUring, c"io_uring_setup", [a, b, 0, 0, 0]);
    [io_uring_queue_init] (a: usize, b: usize, c: usize) -> c_int =
        noted(Once::IoUring, c"io_uring_queue_init", [a, b, c, 0, 0]);
    [io_uring_queue_init_params] (a: usize, b: usize, c: usize) -> c_int =
        noted(Once::IoUring, c"io_uring_queue_init_params", [a, b, c, 0, 0]);
    [io_uring_queue_init_mem] (a: usize, b: usize, c: usize, d: usize, e: usize) -> c_int =
        noted(Once::IoUring, c"io_uring_queue_init_mem", [a, b, c, d, e]);
    [io_submit] (a: usize, b: usize, c: usize) -> c_int = noted(Once::IoSubmit, c"io_submit", [a, b, c, 0, 0]);
    [aio_write, aio_write64] (a: usize) -> c_int = noted(Once::PosixAio, c"aio_write", [a, 0, 0, 0, 0]);
    [lio_listio, lio_listio64] (a: usize, b: usize, c: usize, d: usize) -> c_int =
        noted(Once::PosixAio, c"lio_listio", [a, b, c, d, 0]);
}

/// # Safety
/// That of the system call. A call that this library knows is made through its function.
unsafe fn system_call(number: c_long, all: [usize; 6]) -> c_long {
    let [fd, bytes, length, offset, ..] = all;
    let (fd, bytes) = (fd as c_int, bytes as *const c_void);
    // SAFETY: the caller's.
    unsafe {
        match number {
            libc::SYS_write => return writing::write(fd, bytes, length) as c_long,
            libc::SYS_pwrite64 => return writing::pwrite(fd, bytes, length, offset as i64) as c_long,
            libc::SYS_fsync => return c_long::from(syncing::fsync(fd)),
            libc::SYS_fdatasync => return c_long::from(syncing::fdatasync(fd)),
            libc::SYS_io_uring_setup => notes::once(Once::IoUring, b"system call"),
            libc::SYS_io_submit => notes::once(Once::IoSubmit, b"system call"),
            _ => {}
        }
        returned(raw(number, all)) as c_long
    }
}

/// Notes a function of another library, or of the C library, and calls it. All take at most five integers or pointers, which are
/// passed in registers, so one that the function does not take is not seen.
///
/// # Safety
/// That of the function.
unsafe fn noted(what: Once, name: &'static CStr, arguments: [usize; 5]) -> c_int {
    type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_int;
    notes::once(what, name.to_bytes());
    let [a, b, c, d, e] = arguments;
    // SAFETY: the caller's.
    unsafe {
        Original::new(name)
            .get::<Function>()
            .map_or(-libc::ENOSYS, |function| function(a, b, c, d, e))
    }
}

/// SQLite's shared-memory index and LMDB's table of readers are rebuilt after a crash, so they are no data.
fn note_mapping(access: c_int, flags: c_int, fd: c_int) {
    let shared = matches!(
        flags & libc::MAP_TYPE,
        libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE
    );
    let file = fd >= 0 && flags & libc::MAP_ANONYMOUS == 0;
    if !(shared && file && access & libc::PROT_WRITE != 0 && descriptors::kind(fd) == Kind::File) {
        return;
    }
    let Some(path) = path_of(fd) else { return };
    let volatile = [&b"-shm"[..], b"/lock.mdb"]
        .iter()
        .any(|end| path.bytes().ends_with(end));
    notes::write(if volatile { b"volatile" } else { b"mapped" }, path.bytes());
}
