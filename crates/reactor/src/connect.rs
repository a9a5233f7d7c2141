//! Addresses, and sockets that are on their way to being connected.
use crate::sys;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Where to connect to; names are looked up before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    pub fn is_local(&self) -> bool {
        matches!(self, Address::Unix(_))
    }
}

/// A socket that does not block, connected (true) or on its way (false).
pub fn open_socket(address: &Address) -> io::Result<(OwnedFd, bool)> {
    let (family, name, length) = match address {
        Address::Tcp(address) => {
            let (name, length) = tcp_name(address);
            (
                if address.is_ipv4() {
                    libc::AF_INET
                } else {
                    libc::AF_INET6
                },
                name,
                length,
            )
        }
        Address::Unix(path) => {
            let (name, length) = unix_name(path)?;
            (libc::AF_UNIX, name, length)
        }
    };
    // SAFETY: makes a descriptor.
    let fd = sys::owned(
        unsafe {
            libc::socket(
                family,
                libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
                0,
            )
        }
        .into(),
    )?;
    if !address.is_local() {
        sys::set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    }
    // SAFETY: name and length are of the family the socket was made for.
    let answer = unsafe { libc::connect(fd.as_raw_fd(), (&raw const name).cast(), length) };
    match sys::checked(answer.into()) {
        Ok(_) => Ok((fd, true)),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((fd, false)),
        Err(error) => Err(error),
    }
}

fn empty_name() -> libc::sockaddr_storage {
    // SAFETY: all zeros is a valid value of this structure.
    unsafe { std::mem::zeroed() }
}

fn tcp_name(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    let mut storage = empty_name();
    let length = match address {
        SocketAddr::V4(v4) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is larger than, and aligned for, every kind of name.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(name) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(name) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

fn unix_name(path: &std::path::Path) -> io::Result<(libc::sockaddr_storage, libc::socklen_t)> {
    let mut storage = empty_name();
    let bytes = path.as_os_str().as_bytes();
    let name = (&raw mut storage).cast::<libc::sockaddr_un>();
    // SAFETY: the storage is larger than, and aligned for, every kind of name.
    let name = unsafe { &mut *name };
    if bytes.len() >= name.sun_path.len() {
        let what = format!(
            "the socket's path is longer than {} bytes",
            name.sun_path.len() - 1
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    name.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in name.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    Ok((storage, size_of::<libc::sockaddr_un>() as libc::socklen_t))
}
