//! The few system calls that have no better home. Errors are `io::Error`s.
use std::io;
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The call's answer, or the error it left behind.
pub fn checked(answer: i64) -> io::Result<i64> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

pub fn owned(answer: i64) -> io::Result<OwnedFd> {
    let fd = checked(answer)? as RawFd;
    // SAFETY: a descriptor the kernel has just made for us, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub fn set_option(fd: &OwnedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the value outlives the call and its length is given.
    let answer = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    checked(answer.into()).map(drop)
}

/// What became of a connect that was in progress.
pub fn take_error(fd: &OwnedFd) -> io::Result<()> {
    let mut error: i32 = 0;
    let mut length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: writes an i32 into an i32.
    let answer = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &mut length,
        )
    };
    checked(answer.into())?;
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

/// `None`: not a socket of TCP.
pub fn local_port(fd: &OwnedFd) -> Option<u16> {
    // SAFETY: an open descriptor, which is not closed here.
    let socket = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(fd.as_raw_fd()) });
    socket.local_addr().ok().map(|address| address.port())
}

pub fn set_blocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: flags of a descriptor that is open.
    unsafe {
        let flags = checked(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL).into())? as i32;
        checked(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK).into()).map(drop)
    }
}

/// Makes whatever is in flight on it end at once, also when the other side is frozen.
pub fn shut_down(fd: RawFd) {
    // SAFETY: no memory involved. Fails where there is no connection any more, which is what was wanted.
    unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
}

/// What does not fit at once is not sent.
pub fn send_now(fd: RawFd, bytes: &[u8]) {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes outlive the call.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
}

/// As `Stream::peek`.
pub fn peek(fd: RawFd) -> io::Result<usize> {
    let mut byte = 0u8;
    let flags = libc::MSG_DONTWAIT | libc::MSG_PEEK;
    // SAFETY: room for the one byte that is asked for.
    let peeked = unsafe { libc::recv(fd, (&raw mut byte).cast(), 1, flags) };
    checked(peeked as i64).map(|bytes| bytes as usize)
}

pub fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}
