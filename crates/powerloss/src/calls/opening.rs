//! Opening and closing. A file that is opened for writing gets a journal at once, so that also a write that is not seen (a
//! stream's) is cut off if it made the file longer.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::{Original, Path, as_int, functions, sizing};
use crate::changes::Name;
use crate::descriptors::{self, Kind};
use crate::journal::Journal;
use crate::sys::{Text, call, path_of};
use crate::{notes, settings};

functions! {
    [open, open64, __open, __open64, __open_2, __open64_2] (path: Path, flags: c_int, mode: c_uint) -> c_int =
        open_at(libc::AT_FDCWD, path, flags, mode);
    [openat, openat64, __openat_2, __openat64_2] (folder: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int =
        open_at(folder, path, flags, mode);
    [creat, creat64] (path: Path, mode: c_uint) -> c_int =
        open_at(libc::AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode);
    [fopen] (path: Path, mode: *const c_char) -> *mut libc::FILE = open_stream(&FOPEN, path, mode);
    [fopen64] (path: Path, mode: *const c_char) -> *mut libc::FILE = open_stream(&FOPEN64, path, mode);
    [fclose] (stream: *mut libc::FILE) -> c_int = close_stream(stream);
    [close, __close] (fd: c_int) -> c_int = { descriptors::forget(fd); as_int(call!(SYS_close, fd)) };
    [close_range] (first: c_uint, last: c_uint, flags: c_int) -> c_int = close_from(first, last, flags);
    [closefrom] (first: c_int) -> () = { close_from(first.max(0) as c_uint, c_uint::MAX, 0); };
    [dup] (fd: c_int) -> c_int = forgotten(as_int(call!(SYS_dup, fd)));
    [dup2] (fd: c_int, copy: c_int) -> c_int = duplicate(fd, copy);
    [dup3] (fd: c_int, copy: c_int, flags: c_int) -> c_int = forgotten(as_int(call!(SYS_dup3, fd, copy, flags)));
}

static FOPEN: Original = Original::new(c"fopen");
static FOPEN64: Original = Original::new(c"fopen64");
static FCLOSE: Original = Original::new(c"fclose");

/// # Safety
/// `path` is a string that ends with a zero byte.
unsafe fn open_at(folder: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int {
    // Truncation is done afterwards, when it is known what is truncated.
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY && settings::journal().is_some();
    let truncates = writes && flags & libc::O_TRUNC != 0;
    let used = if truncates { flags & !libc::O_TRUNC } else { flags };
    // SAFETY: the caller's.
    let open = || unsafe { call!(SYS_openat, folder, path, used, mode) };
    // SAFETY: the caller's.
    let name = if flags & libc::O_CREAT != 0 {
        unsafe { Name::of(folder, path) }
    } else {
        None
    };
    let fd = forgotten(as_int(name.map_or_else(open, |name| name.created(open))));
    if fd < 0 || !writes {
        return fd;
    }
    if descriptors::kind(fd) == Kind::File {
        drop(Journal::of(fd));
        if truncates {
            sizing::resize(fd, 0);
        }
        if flags & libc::O_DIRECT != 0 {
            notes::write(b"direct", path_of(fd).as_ref().map_or(b"?", Text::bytes));
        }
    } else if truncates {
        // Fails for what has no size, where `open` does nothing, too.
        // SAFETY: numbers only.
        unsafe { call!(SYS_ftruncate, fd, 0) };
    }
    fd
}

/// A stream writes inside the C library, unseen. What makes the file longer is cut off all the same; what is changed in place
/// is not undone, and noted.
///
/// # Safety
/// Both pointers are strings that end with a zero byte, and `original` is `fopen` or `fopen64`.
unsafe fn open_stream(original: &Original, path: Path, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let options = text.split(|byte| *byte == b',').next().unwrap_or(b"");
    let has = |letter: u8| options.contains(&letter);
    if settings::journal().is_none() || !(has(b'+') || has(b'w') || has(b'a')) {
        type Open = unsafe extern "C" fn(Path, *const c_char) -> *mut libc::FILE;
        // SAFETY: the type is that of both functions; the pointers are the caller's.
        return unsafe {
            original
                .get::<Open>()
                .map_or(std::ptr::null_mut(), |open| open(path, mode))
        };
    }
    let mut flags = if has(b'+') { libc::O_RDWR } else { libc::O_WRONLY };
    flags |= match options.first() {
        Some(b'w') => libc::O_CREAT | libc::O_TRUNC,
        Some(b'a') => libc::O_CREAT | libc::O_APPEND,
        _ => 0,
    };
    flags |= if has(b'x') { libc::O_EXCL } else { 0 } | if has(b'e') { libc::O_CLOEXEC } else { 0 };
    // SAFETY: the caller's.
    let fd = unsafe { open_at(libc::AT_FDCWD, path, flags, 0o666) };
    if fd < 0 {
        return std::ptr::null_mut();
    }
    if options.first() == Some(&b'r') && descriptors::kind(fd) == Kind::File {
        notes::write(b"stream_in_place", path_of(fd).as_ref().map_or(b"?", Text::bytes));
    }
    // SAFETY: the descriptor was just opened in this mode, and nobody else has it.
    unsafe { libc::fdopen(fd, mode) }
}

/// # Safety
/// `stream` is an open stream.
unsafe fn close_stream(stream: *mut libc::FILE) -> c_int {
    type Close = unsafe extern "C" fn(*mut libc::FILE) -> c_int;
    // SAFETY: the caller's; the type is that of `fclose`.
    unsafe {
        descriptors::forget(libc::fileno(stream));
        FCLOSE.get::<Close>().map_or(libc::EOF, |close| close(stream))
    }
}

fn close_from(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    descriptors::forget_from(first, last);
    // SAFETY: numbers only.
    as_int(unsafe { call!(SYS_close_range, first, last, flags) })
}

fn forgotten(fd: c_int) -> c_int {
    descriptors::forget(fd);
    fd
}

/// `dup3` refuses what `dup2` does for two equal numbers: it only says whether the descriptor is open.
fn duplicate(fd: c_int, copy: c_int) -> c_int {
    // SAFETY: numbers only.
    unsafe {
        if fd == copy {
            let flags = call!(SYS_fcntl, fd, libc::F_GETFD);
            return if flags < 0 { as_int(flags) } else { copy };
        }
        forgotten(as_int(call!(SYS_dup3, fd, copy, 0)))
    }
}
