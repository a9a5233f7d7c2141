//! A queue of packets in the kernel (NFQUEUE). Only their numbers come here; they are released in the order of these.
use crate::netlink::{self, ACK, Message, attributes, messages, number_at};
use socket2::Socket;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};

const SUBSYSTEM: u16 = 3 << 8; // NFNL_SUBSYS_QUEUE
const PACKET: u16 = SUBSYSTEM;
const CONFIG: u16 = SUBSYSTEM | 2;
const VERDICT_UP_TO: u16 = SUBSYSTEM | 3;
/// Those of other programs are mostly small numbers.
const NUMBER_MIN: u16 = 42_000;
const NUMBERS: u16 = 100;
const ONLY_NUMBERS: u8 = 1; // NFQNL_COPY_META
/// A full queue lets packets pass, and segments that the sender left together stay together.
const FLAGS: u32 = 1 | 4;
/// Of 100 ms at 600,000 packets/s.
const PACKETS_MAX: u32 = 1 << 16;
const ACCEPT: u32 = 1;
const BUFFER_BYTES: usize = 16 << 20;

pub struct Queue {
    socket: Socket,
    number: u16,
    /// Numbers that came together with the last one.
    read: std::vec::IntoIter<u32>,
}

impl Queue {
    /// The first that nobody has. Raises what the kernel says: EPERM without CAP_NET_ADMIN.
    pub fn open() -> io::Result<Self> {
        let socket = netlink::open()?;
        let _ = socket.set_recv_buffer_size(BUFFER_BYTES); // as much as this machine allows
        let mut number = NUMBER_MIN;
        while let Err(error) = take(&socket, number) {
            number += 1;
            if number == NUMBER_MIN + NUMBERS || error.raw_os_error() != Some(libc::EBUSY) {
                return Err(error);
            }
        }
        let mut params = [0; 5];
        params[4] = ONLY_NUMBERS;
        let mut asked = Message::default();
        asked
            .begin(CONFIG, ACK, 0, number)
            .attribute(2, &params)
            .number(3, PACKETS_MAX);
        netlink::carry_out(&socket, asked.number(4, FLAGS).number(5, FLAGS))?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            number,
            read: vec![].into_iter(),
        })
    }

    pub fn number(&self) -> u16 {
        self.number
    }

    /// The number of the next packet; None: none has arrived.
    pub fn receive(&mut self) -> io::Result<Option<u32>> {
        loop {
            if let Some(packet) = self.read.next() {
                return Ok(Some(packet));
            }
            let mut answer = [0; 8192];
            match (&self.socket).read(&mut answer) {
                Ok(length) => self.read = packets(&answer[..length]).collect::<Vec<_>>().into_iter(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // Of packets that did not fit: the kernel let them pass.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// This packet and all before it.
    pub fn release(&self, packet: u32) -> io::Result<()> {
        let mut verdict = ACCEPT.to_be_bytes().to_vec();
        verdict.extend(packet.to_be_bytes());
        let mut asked = Message::default();
        netlink::send(
            &self.socket,
            asked
                .begin(VERDICT_UP_TO, 0, 0, self.number)
                .attribute(2, &verdict),
        )
    }
}

impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn take(socket: &Socket, number: u16) -> io::Result<()> {
    let mut asked = Message::default();
    netlink::carry_out(
        socket,
        asked.begin(CONFIG, ACK, 0, number).attribute(1, &[1, 0, 0, 0]),
    )
}

fn packets(answer: &[u8]) -> impl Iterator<Item = u32> {
    let of_kind = messages(answer).filter(|(kind, _)| *kind == PACKET);
    of_kind.filter_map(|(_, body)| {
        let header = attributes(body).find(|(kind, _)| *kind == 1)?.1;
        number_at(header, 0, u32::from_be_bytes)
    })
}
