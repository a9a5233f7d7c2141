//! Messages to the kernel's packet filter, as include/uapi/linux/netfilter/nfnetlink.h of Linux lays them out.
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};

/// Of the machine's byte order, where the kernel wants it; attributes are big endian.
const HEADER_BYTES: usize = 16;
const ERROR: u16 = 2;
pub const REQUEST: u16 = 1;
pub const ACK: u16 = 4;
pub const CREATE: u16 = 0x400;
pub const APPEND: u16 = 0x800;
const NESTED: u16 = 1 << 15;

/// A message, or several of a batch.
#[derive(Default)]
pub struct Message {
    bytes: Vec<u8>,
    begun: usize,
}

impl Message {
    /// Begins another message. kind: subsystem and message. of: of its own header, a queue or a subsystem.
    pub fn begin(&mut self, kind: u16, flags: u16, family: u8, of: u16) -> &mut Self {
        self.begun = self.bytes.len();
        self.bytes.extend(0u32.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((flags | REQUEST).to_ne_bytes());
        self.bytes.extend([0; 8]);
        self.bytes.extend([family, 0]);
        self.bytes.extend(of.to_be_bytes());
        self.finish(self.begun)
    }

    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.bytes.extend((4 + value.len() as u16).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.finish(self.begun)
    }

    pub fn number(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        self.attribute(kind, format!("{value}\0").as_bytes())
    }

    /// An attribute that is made of attributes.
    pub fn nest(&mut self, kind: u16, inner: impl FnOnce(&mut Self)) -> &mut Self {
        let begun = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend((kind | NESTED).to_ne_bytes());
        inner(self);
        let length = (self.bytes.len() - begun) as u16;
        self.bytes[begun..begun + 2].copy_from_slice(&length.to_ne_bytes());
        self.finish(self.begun)
    }

    /// Writes the length of the message that began there.
    fn finish(&mut self, begun: usize) -> &mut Self {
        let length = (self.bytes.len() - begun) as u32;
        self.bytes[begun..begun + 4].copy_from_slice(&length.to_ne_bytes());
        self
    }
}

pub fn open() -> io::Result<Socket> {
    let (domain, kind) = (Domain::from(libc::AF_NETLINK), Type::RAW);
    Socket::new(domain, kind, Some(Protocol::from(libc::NETLINK_NETFILTER)))
}

/// Sends a message and waits until the kernel has done what it says; one of its messages demands an `ACK`.
pub fn carry_out(mut socket: &Socket, message: &Message) -> io::Result<()> {
    socket.write_all(&message.bytes)?;
    let mut answer = [0; 8192];
    loop {
        let length = socket.read(&mut answer)?;
        if let Some((ERROR, body)) = messages(&answer[..length]).next() {
            let number = number_at(body, 0, i32::from_ne_bytes).unwrap_or(0);
            return match number {
                0 => Ok(()),
                _ => Err(io::Error::from_raw_os_error(-number)),
            };
        }
    }
}

/// Sends a message that nobody answers.
pub fn send(mut socket: &Socket, message: &Message) -> io::Result<()> {
    socket.write_all(&message.bytes)
}

/// Those of an answer: what kind each is, and what follows the first header.
pub fn messages(mut answer: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = number_at(answer, 0, u32::from_ne_bytes)? as usize;
        let kind = number_at(answer, 4, u16::from_ne_bytes)?;
        let body = answer.get(HEADER_BYTES..length)?;
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// Attributes that follow the second header of a message.
pub fn attributes(body: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = body.get(4..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = number_at(rest, 0, u16::from_ne_bytes)? as usize;
        let kind = number_at(rest, 2, u16::from_ne_bytes)?;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

/// None: the bytes end before.
pub fn number_at<const N: usize, T>(bytes: &[u8], at: usize, read: fn([u8; N]) -> T) -> Option<T> {
    Some(read(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_is_cut_off_is_not() {
        let mut message = Message::default();
        message.begin(0x301, ACK, 2, 7).text(1, "table").nest(4, |hook| {
            hook.number(1, 3);
        });
        message.begin(0x302, 0, 2, 7).number(9, 0x01020304);
        let read: Vec<_> = messages(&message.bytes).collect();
        assert_eq!(
            read.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [0x301, 0x302]
        );
        let first: Vec<_> = attributes(read[0].1).collect();
        assert_eq!(first[0], (1, &b"table\0"[..]));
        assert_eq!(first[1], (4, &[8, 0, 1, 0, 0, 0, 0, 3][..]));
        assert_eq!(attributes(read[1].1).next(), Some((9, &[1, 2, 3, 4][..])));
        for length in 0..message.bytes.len() {
            assert!(messages(&message.bytes[..length]).count() < 2);
        }
    }
}
