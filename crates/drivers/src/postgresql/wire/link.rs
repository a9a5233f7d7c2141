//! Messages over a connection (PostgreSQL documentation, "Message Formats"): a byte that says which, four bytes of length
//! that count themselves, the content. What does not follow that ends the connection.
use super::{read, request};
use crate::postgresql::errors::server_error;
use crate::server::channel::{Channel, no_tls};
use crate::server::errors::malformed;
use crate::server::tls::Encryption;
use bakeoff_model::outcome::{OpError, Outcome};
use bakeoff_reactor::Stream;

const HEADER_BYTES: usize = 5;
/// The server's own limit on what it builds.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

pub struct Link {
    channel: Channel,
    /// Of the message handed out last, which the next call consumes.
    taken: usize,
    notices: u64,
}

/// The first message of the input, if it is whole: its tag, its content.
#[inline]
pub fn message(input: &[u8]) -> Result<Option<(u8, &[u8])>, OpError> {
    let Some([tag, a, b, c, d]) = input.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
        return Err(malformed(
            "a message of less than no bytes, or of more than 1 GiB",
        ));
    }
    Ok(input.get(HEADER_BYTES..=length).map(|content| (*tag, content)))
}

/// Of a whole message.
#[inline]
pub fn size(content: &[u8]) -> usize {
    HEADER_BYTES + content.len()
}

impl Link {
    pub fn new(stream: Stream) -> Self {
        Self {
            channel: Channel::new(stream),
            taken: 0,
            notices: 0,
        }
    }

    /// From now on, if the server can.
    pub async fn encrypt(&mut self, encryption: &Encryption) -> Result<(), OpError> {
        request::encryption(self.request());
        self.ask().await?;
        match self.input() {
            [b'S', ..] => self.channel.consume(1),
            [b'N', ..] => return Err(no_tls()),
            _ => return Err(malformed("neither yes nor no to encryption")),
        }
        self.channel.encrypt(encryption).await
    }

    /// The buffer in which a request is written; to be sent by `ask` or `tell`.
    #[inline]
    pub fn request(&mut self) -> &mut Vec<u8> {
        let request = self.channel.request();
        request.clear();
        request
    }

    /// Sends the request, and receives the first bytes of the answer.
    #[inline]
    pub async fn ask(&mut self) -> Result<(), OpError> {
        self.consume(0);
        if !self.channel.input().is_empty() {
            self.heed_unasked()?;
        }
        self.channel.exchange().await
    }

    /// Sends the request, whose answer, if it has one, is to be waited for with `next`.
    pub async fn tell(&mut self) -> Result<(), OpError> {
        self.channel.send().await
    }

    /// What has arrived and was not consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        self.channel.input()
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.channel.consume(std::mem::take(&mut self.taken) + bytes);
    }

    /// Waits for more input.
    pub async fn more(&mut self) -> Result<(), OpError> {
        self.channel.receive().await
    }

    /// The next message that answers something, valid until the next call. For what is not measured.
    pub async fn next(&mut self) -> Result<(u8, &[u8]), OpError> {
        loop {
            self.consume(0);
            let Some((tag, content)) = message(self.channel.input())? else {
                self.more().await?;
                continue;
            };
            self.taken = size(content);
            self.notices += u64::from(tag == b'N');
            if !is_aside(tag) {
                return Ok((tag, &self.channel.input()[HEADER_BYTES..self.taken]));
            }
        }
    }

    /// Notices are counted and not kept: nobody reads them while the clock runs.
    pub fn note(&mut self, notices: u64) {
        self.notices += notices;
    }

    pub fn notices(&self) -> u64 {
        self.notices
    }

    /// Whether an answer is still to come that nobody waits for any more.
    pub fn is_in_flight(&self) -> bool {
        self.channel.is_in_flight()
    }

    /// Sends a message without waiting, as far as that goes; for the last word of a session.
    pub fn say(&mut self, message: &[u8]) {
        self.channel.say(message);
    }

    /// Something was said before anything was asked. A server that throws a client out says why.
    #[cold]
    fn heed_unasked(&mut self) -> Result<(), OpError> {
        loop {
            match message(self.channel.input())? {
                None => break,
                Some((b'E', content)) => {
                    let mut last_words = server_error(read::error(content));
                    last_words.outcome = Outcome::Unknown;
                    last_words.connection_lost = true;
                    return Err(last_words);
                }
                Some((tag, content)) if is_aside(tag) => {
                    let bytes = size(content);
                    self.notices += u64::from(tag == b'N');
                    self.channel.consume(bytes);
                }
                Some(_) => return Err(malformed("an answer to nothing")),
            }
        }
        match self.channel.input().first() {
            Some(&tag) if tag != b'E' && !is_aside(tag) => Err(malformed("an answer to nothing")),
            _ => Ok(()),
        }
    }
}

/// Said at any time, and answering nothing: a notice, a parameter that has changed, another session's notification.
#[inline]
pub fn is_aside(tag: u8) -> bool {
    matches!(tag, b'N' | b'S' | b'A')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_message_is_taken_when_it_is_whole() {
        let input = b"Z\0\0\0\x05IT\0\0\0\x04";
        for end in 0..6 {
            assert!(message(&input[..end]).unwrap().is_none(), "{end}");
        }
        let (tag, content) = message(input).unwrap().unwrap();
        assert_eq!((tag, content, size(content)), (b'Z', &b"I"[..], 6));
        assert_eq!(message(&input[6..]).unwrap(), Some((b'T', &b""[..])));
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for length in [0, 3, u32::MAX, 1 << 31] {
            let input = [&b"D"[..], &length.to_be_bytes(), &[0; 10]].concat();
            assert!(message(&input).is_err(), "{length}");
        }
    }
}
