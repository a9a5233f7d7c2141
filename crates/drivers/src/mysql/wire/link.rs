//! Packets over a connection (MySQL Client/Server Protocol, "MySQL Packets"): a length of three bytes, a number, the
//! payload; a payload of 2^24-1 bytes is continued by the next packet. What does not follow that ends the connection.
use super::read;
use crate::mysql::options::PACKET_BYTES_MAX;
use crate::server::channel::Channel;
use crate::server::errors::malformed;
use crate::server::tls::Encryption;
use bakeoff_model::outcome::{OpError, Outcome};
use bakeoff_reactor::Stream;

const HEADER_BYTES: usize = 4;
const PAYLOAD_BYTES_MAX: usize = 0xFF_FFFF;

pub struct Link {
    channel: Channel,
    /// Bytes of the packet handed out last, which the next call consumes.
    taken: usize,
    /// Number of the packet that comes next.
    next: u8,
    /// A payload put together from several packets.
    assembled: Vec<u8>,
}

impl Link {
    pub fn new(stream: Stream) -> Self {
        Self {
            channel: Channel::new(stream),
            taken: 0,
            next: 0,
            assembled: Vec::new(),
        }
    }

    /// From now on.
    pub async fn encrypt(&mut self, encryption: &Encryption) -> Result<(), OpError> {
        self.channel.encrypt(encryption).await
    }

    /// The buffer in which a request is written, with room for its header. To be finished by `ask`,
    /// `tell` or `send`.
    #[inline]
    pub fn request(&mut self) -> &mut Vec<u8> {
        let request = self.channel.request();
        request.clear();
        request.extend_from_slice(&[0; HEADER_BYTES]);
        request
    }

    /// Sends the request as a new command, and receives the first bytes of the answer.
    #[inline]
    pub async fn ask(&mut self) -> Result<(), OpError> {
        self.seal(0)?;
        self.channel.exchange().await
    }

    /// Several commands are to be written, each with `command`, and sent by `ask_all`.
    pub fn begin_commands(&mut self) {
        self.channel.request().clear();
    }

    /// Written so far.
    pub fn commands_bytes(&mut self) -> usize {
        self.channel.request().len()
    }

    #[inline]
    pub fn command(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        append(self.channel.request(), write);
    }

    /// Sends all commands, and receives the first bytes of the first answer. Each is to be announced by `next_answer`.
    pub async fn ask_all(&mut self) -> Result<(), OpError> {
        self.consume();
        if !self.channel.input().is_empty() {
            return Err(self.unasked());
        }
        self.channel.exchange().await
    }

    /// The packets that follow answer the next command, and are numbered from 1 again.
    #[inline]
    pub fn next_answer(&mut self) {
        self.next = 1;
    }

    /// Sends the request as a new command, whose answer, if it has one, is to be waited for with `packet`.
    pub async fn tell(&mut self) -> Result<(), OpError> {
        self.seal(0)?;
        self.channel.send().await
    }

    /// Sends the request as the next packet of a dialogue; its answer is to be waited for with `packet`.
    pub async fn send(&mut self) -> Result<(), OpError> {
        self.seal(self.next)?;
        self.channel.send().await
    }

    /// The request gets its header, once all that was said before has been heard.
    #[inline]
    fn seal(&mut self, sequence: u8) -> Result<(), OpError> {
        self.consume();
        if !self.channel.input().is_empty() {
            return Err(self.unasked());
        }
        self.next = seal(self.channel.request(), sequence).wrapping_add(1);
        Ok(())
    }

    /// What has arrived and was not taken as a packet.
    pub fn heard(&self) -> &[u8] {
        self.channel.input()
    }

    /// Sends a packet without waiting, as far as that goes; for the last word of a session.
    pub fn say(&mut self, packet: &[u8]) {
        self.channel.say(packet);
    }

    /// Whether the server owes an answer, as far as this side knows.
    pub fn is_in_flight(&self) -> bool {
        self.channel.is_in_flight()
    }

    /// `None` on a unix socket.
    pub fn local_port(&self) -> Option<u16> {
        self.channel.local_port()
    }

    #[inline]
    fn consume(&mut self) {
        self.channel.consume(std::mem::take(&mut self.taken));
    }

    /// The payload of the next packet, valid until the next call.
    #[inline]
    pub async fn packet(&mut self) -> Result<&[u8], OpError> {
        self.consume();
        loop {
            if let Some((length, sequence)) = header(self.channel.input()) {
                if sequence != self.next {
                    return Err(self.unasked());
                }
                if length == PAYLOAD_BYTES_MAX {
                    return self.assemble().await;
                }
                if self.channel.input().len() >= HEADER_BYTES + length {
                    self.taken = HEADER_BYTES + length;
                    self.next = sequence.wrapping_add(1);
                    return Ok(&self.channel.input()[HEADER_BYTES..HEADER_BYTES + length]);
                }
            }
            self.channel.receive().await?;
        }
    }

    #[cold]
    async fn assemble(&mut self) -> Result<&[u8], OpError> {
        self.assembled.clear();
        loop {
            let Some((length, sequence)) = header(self.channel.input()) else {
                self.channel.receive().await?;
                continue;
            };
            if sequence != self.next {
                return Err(self.unasked());
            }
            if self.assembled.len() + length > PACKET_BYTES_MAX {
                return Err(malformed("a packet of more than 1 GiB"));
            }
            while self.channel.input().len() < HEADER_BYTES + length {
                self.channel.receive().await?;
            }
            let payload = &self.channel.input()[HEADER_BYTES..HEADER_BYTES + length];
            self.assembled.extend_from_slice(payload);
            self.channel.consume(HEADER_BYTES + length);
            self.next = sequence.wrapping_add(1);
            if length < PAYLOAD_BYTES_MAX {
                return Ok(&self.assembled);
            }
        }
    }

    /// Something was said that answers nothing. A server that throws a client out says why before it is asked.
    #[cold]
    fn unasked(&self) -> OpError {
        let input = self.channel.input();
        let payload = header(input).and_then(|(length, _)| input.get(HEADER_BYTES..HEADER_BYTES + length));
        match payload.and_then(<[u8]>::split_first) {
            Some((0xFF, error)) => {
                let mut last_words = read::refusal(error);
                last_words.outcome = Outcome::Unknown;
                last_words.connection_lost = true;
                last_words
            }
            _ => malformed("a packet out of its order"),
        }
    }
}

/// Another command, behind those written before.
#[inline]
fn append(request: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = request.len();
    request.extend_from_slice(&[0; HEADER_BYTES]);
    write(request);
    if request.len() - start - HEADER_BYTES >= PAYLOAD_BYTES_MAX {
        let mut long = request.split_off(start);
        split(&mut long, 0);
        request.append(&mut long);
    } else {
        write_header(&mut request[start..], 0);
    }
}

#[inline]
fn header(input: &[u8]) -> Option<(usize, u8)> {
    let header = input.first_chunk::<HEADER_BYTES>()?;
    let [a, b, c, sequence] = *header;
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, sequence))
}

/// Writes the header, or several where the payload is too long for one. The number of the last packet.
#[inline]
fn seal(request: &mut Vec<u8>, sequence: u8) -> u8 {
    let length = request.len() - HEADER_BYTES;
    if length >= PAYLOAD_BYTES_MAX {
        return split(request, sequence);
    }
    write_header(request, sequence);
    sequence
}

/// Of a payload that is short enough for one.
#[inline]
fn write_header(packet: &mut [u8], sequence: u8) {
    let [a, b, c, _] = ((packet.len() - HEADER_BYTES) as u32).to_le_bytes();
    packet[..HEADER_BYTES].copy_from_slice(&[a, b, c, sequence]);
}

#[cold]
fn split(request: &mut Vec<u8>, mut sequence: u8) -> u8 {
    let payload = request.split_off(HEADER_BYTES);
    request.clear();
    let mut rest = payload.as_slice();
    loop {
        let (now, later) = rest.split_at(rest.len().min(PAYLOAD_BYTES_MAX));
        let [a, b, c, _] = (now.len() as u32).to_le_bytes();
        request.extend_from_slice(&[a, b, c, sequence]);
        request.extend_from_slice(now);
        if now.len() < PAYLOAD_BYTES_MAX {
            return sequence;
        }
        rest = later;
        sequence = sequence.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_exactly_the_longest_payload_is_followed_by_an_empty_packet() {
        let mut request = vec![7; HEADER_BYTES + PAYLOAD_BYTES_MAX];
        assert_eq!(seal(&mut request, 0), 1);
        assert_eq!(request.len(), 2 * HEADER_BYTES + PAYLOAD_BYTES_MAX);
        assert_eq!(request[..4], [0xFF, 0xFF, 0xFF, 0]);
        assert_eq!(request[request.len() - 4..], [0, 0, 0, 1]);
    }

    #[test]
    fn commands_follow_each_other_each_numbered_from_its_own_beginning() {
        let mut two = Vec::new();
        for payload in [&b"ab"[..], b""] {
            append(&mut two, |request| request.extend_from_slice(payload));
        }
        assert_eq!(two, [2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0]);
        let mut long = two;
        append(&mut long, |request| {
            request.resize(request.len() + PAYLOAD_BYTES_MAX, 7)
        });
        assert_eq!(long.len(), 10 + 2 * HEADER_BYTES + PAYLOAD_BYTES_MAX);
        assert_eq!(long[10..14], [0xFF, 0xFF, 0xFF, 0]);
        assert_eq!(long[long.len() - 4..], [0, 0, 0, 1]);
    }

    #[test]
    fn a_short_request_has_one_header() {
        let mut request = vec![0, 0, 0, 0, 3, b'a'];
        assert_eq!(seal(&mut request, 0), 0);
        assert_eq!(request, [2, 0, 0, 0, 3, b'a']);
    }
}
