//! System calls, made directly. The library replaces functions of the C library, so calling those would lead back to itself;
//! and a direct call leaves `errno` alone, which belongs to the program.

use std::ffi::{c_char, c_int, c_long};

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("bakeoff-powerloss makes system calls of Linux on x86_64 and aarch64 only");

/// Returns what the kernel does: a result, or minus an error number.
///
/// # Safety
/// That of the system call: what is a pointer must point to what the kernel reads or writes.
#[cfg(target_arch = "x86_64")]
pub unsafe fn raw(number: c_long, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes rax, rcx and r11, and memory that the caller answers for.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
pub unsafe fn raw(number: c_long, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes x0, and memory that the caller answers for.
    unsafe {
        std::arch::asm!("svc 0", in("x8") number as isize, inlateout("x0") a[0] as isize => result,
            in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4], in("x5") a[5], options(nostack));
    }
    result
}

/// `call!(SYS_fsync, fd)`: the call with its arguments, each as the register it is passed in.
macro_rules! call {
    ($name:ident $(, $argument:expr)*) => {{
        let given: &[usize] = &[$($argument as usize),*];
        let mut all = [0usize; 6];
        all[..given.len()].copy_from_slice(given);
        $crate::sys::raw(libc::$name, all)
    }};
}
pub(crate) use call;

/// A result as the C library returns it: -1 and `errno`.
pub fn returned(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        // SAFETY: the address of this thread's `errno`, which is always valid.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}

/// A path, or a short text, on the stack. Always ends with a zero byte.
pub struct Text {
    bytes: [u8; 4096],
    length: usize,
}

impl Text {
    pub fn new(parts: &[&[u8]]) -> Text {
        let mut text = Text {
            bytes: [0; 4096],
            length: 0,
        };
        for part in parts {
            text.push(part);
        }
        text
    }

    pub fn push(&mut self, part: &[u8]) {
        let fits = part.len().min(self.bytes.len() - 1 - self.length);
        self.bytes[self.length..self.length + fits].copy_from_slice(&part[..fits]);
        self.length += fits;
    }

    pub fn push_hex(&mut self, number: u64) {
        let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            self.push(&[b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15]]);
        }
    }

    pub fn push_decimal(&mut self, number: u64) {
        if number >= 10 {
            self.push_decimal(number / 10);
        }
        self.push(&[b'0' + (number % 10) as u8]);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

/// What `statx` says of a file. `born_ns` tells two files apart that had the same inode number one after the other.
pub struct Status {
    pub device: u64,
    pub inode: u64,
    pub born_ns: u64,
    pub mode: u32,
    pub links: u32,
    pub size: u64,
}

impl Status {
    /// # Safety
    /// `path` is a string that ends with a zero byte.
    pub unsafe fn at(directory: c_int, path: *const c_char, flags: c_int) -> Option<Status> {
        // SAFETY: the structure is plain numbers, and the kernel fills it.
        let (result, found) = unsafe {
            let mut found: libc::statx = std::mem::zeroed();
            let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
            (
                call!(SYS_statx, directory, path, flags, mask, &raw mut found),
                found,
            )
        };
        (result == 0).then(|| Status {
            device: libc::makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born_ns: (found.stx_btime.tv_sec as u64) * 1_000_000_000 + u64::from(found.stx_btime.tv_nsec),
            mode: u32::from(found.stx_mode),
            links: found.stx_nlink,
            size: found.stx_size,
        })
    }

    pub fn of(fd: c_int) -> Option<Status> {
        // SAFETY: an empty string.
        unsafe { Status::at(fd, c"".as_ptr(), libc::AT_EMPTY_PATH) }
    }

    pub fn is(&self, kind: u32) -> bool {
        self.mode & libc::S_IFMT == kind
    }
}

/// The path that the kernel knows a descriptor by.
pub fn path_of(fd: c_int) -> Option<Text> {
    let mut link = Text::new(&[b"/proc/self/fd/"]);
    link.push_decimal(fd.try_into().ok()?);
    read_link(&link)
}

pub fn path_of_program() -> Option<Text> {
    read_link(&Text::new(&[b"/proc/self/exe"]))
}

fn read_link(link: &Text) -> Option<Text> {
    let mut path = Text::new(&[]);
    // SAFETY: the buffer has the length that is passed; its last byte stays zero.
    let length = unsafe {
        let room = path.bytes.len() - 1;
        call!(
            SYS_readlinkat,
            libc::AT_FDCWD,
            link.as_ptr(),
            path.bytes.as_mut_ptr(),
            room
        )
    };
    path.length = length.try_into().ok()?;
    Some(path)
}

/// Opens a file of our own, which a child that runs another program does not get.
pub fn open(path: &Text, flags: c_int) -> Option<c_int> {
    // SAFETY: `Text` ends with a zero byte.
    let fd = unsafe {
        call!(
            SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags | libc::O_CLOEXEC,
            0o666
        )
    };
    (fd >= 0).then_some(fd as c_int)
}

/// Opens a file of the journal. A server may create it as root and write it as its own user: everybody may.
pub fn open_shared(path: &Text, flags: c_int) -> Option<c_int> {
    open(path, flags).or_else(|| {
        let fd = open(path, flags | libc::O_CREAT)?;
        // SAFETY: numbers only.
        unsafe { call!(SYS_fchmod, fd, 0o666) };
        Some(fd)
    })
}

pub fn close(fd: c_int) {
    // SAFETY: the descriptor is ours.
    unsafe { call!(SYS_close, fd) };
}

/// Waits for the lock of a file of the journal. A lock belongs to the opening, so threads that opened the file each for
/// themselves exclude each other, as processes do.
pub fn lock(fd: c_int) {
    // SAFETY: numbers only.
    while unsafe { call!(SYS_flock, fd, libc::LOCK_EX) } == -(libc::EINTR as isize) {}
}

/// Gives the lock back and closes. The lock is given back by name: a child that was forked meanwhile shares it.
pub fn unlock_and_close(fd: c_int) {
    // SAFETY: numbers only, and the descriptor is ours.
    unsafe { call!(SYS_flock, fd, libc::LOCK_UN) };
    close(fd);
}

pub fn size_of(fd: c_int) -> u64 {
    // SAFETY: numbers only.
    unsafe { call!(SYS_lseek, fd, 0, libc::SEEK_END) }
        .try_into()
        .unwrap_or(0)
}

pub fn read_at(fd: c_int, buffer: &mut [u8], offset: u64) -> isize {
    // SAFETY: the buffer has the length that is passed.
    unsafe { call!(SYS_pread64, fd, buffer.as_mut_ptr(), buffer.len(), offset) }
}

/// Writes the parts one after the other, in one call. True if all was written.
pub fn write_at<const PARTS: usize>(fd: c_int, parts: [&[u8]; PARTS], offset: u64) -> bool {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let pieces = parts.map(|part| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    });
    // SAFETY: the pieces are the slices given; the kernel only reads them.
    unsafe { call!(SYS_pwritev, fd, pieces.as_ptr(), PARTS, offset, 0) == length as isize }
}

pub fn process() -> u64 {
    // SAFETY: has no argument and cannot fail.
    unsafe { call!(SYS_getpid) as u64 }
}

pub fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the structure.
    unsafe { call!(SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub fn sleep_until(moment_ns: u64) {
    let moment = libc::timespec {
        tv_sec: (moment_ns / 1_000_000_000) as i64,
        tv_nsec: (moment_ns % 1_000_000_000) as i64,
    };
    // SAFETY: the kernel reads the structure; it wants no rest, since the moment is absolute.
    let sleep = || unsafe {
        call!(
            SYS_clock_nanosleep,
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const moment,
            0
        )
    };
    while sleep() == -(libc::EINTR as isize) {}
}
