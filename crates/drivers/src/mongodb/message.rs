//! Messages of MongoDB's wire protocol (OP_MSG): a request is one message with a command in it, and so is its answer.
//!
//! Source: MongoDB documentation, "MongoDB Wire Protocol".
use super::bson;
use super::errors::server_error;
use crate::server::channel::Channel;
use crate::server::errors::malformed;
use crate::server::stranger;
use bakeoff_model::outcome::OpError;

/// Header and flags.
const HEAD_BYTES: usize = 20;
const OP_MSG: u32 = 2013;
const OP_REPLY: u32 = 1;
/// More than any server sends: 48,000,000 bytes, and what it allows itself beyond that.
const LENGTH_MAX: usize = 64 << 20;

const CHECKSUM: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
/// Below it a flag has a meaning that nobody may pass over.
const REQUIRED: u32 = 0xFFFF;

const BODY: u8 = 0;
const SEQUENCE: u8 = 1;

/// One connection, and one request with its answer at a time.
pub struct Wire {
    channel: Channel,
    number: u32,
    /// Of the answer that was read last, which lies in the input until the next request begins.
    answer_bytes: usize,
    body: std::ops::Range<usize>,
}

/// A request that is being written: where its body begins.
#[derive(Clone, Copy)]
pub struct Body(usize);

impl Wire {
    pub fn new(channel: Channel) -> Self {
        Self {
            channel,
            number: 0,
            answer_bytes: 0,
            body: 0..0,
        }
    }

    /// The request, with its head; a command is written next. The last answer is over.
    #[inline]
    pub fn begin(&mut self) -> (&mut Vec<u8>, Body) {
        self.channel.consume(std::mem::take(&mut self.answer_bytes));
        self.body = 0..0;
        self.number = self.number.wrapping_add(1);
        let request = self.channel.request();
        request.clear();
        request.extend_from_slice(&[0; 4]);
        request.extend_from_slice(&self.number.to_le_bytes());
        request.extend_from_slice(&[0; 4]);
        request.extend_from_slice(&OP_MSG.to_le_bytes());
        request.extend_from_slice(&[0; 4]);
        request.push(BODY);
        let body = bson::open(request);
        (request, Body(body))
    }

    #[inline]
    pub fn request(&mut self) -> &mut Vec<u8> {
        self.channel.request()
    }

    /// Sends the request and waits for all of the answer.
    #[inline]
    pub async fn ask(&mut self) -> Result<(), OpError> {
        self.seal();
        if !self.channel.input().is_empty() {
            return Err(malformed("an answer to nothing"));
        }
        self.channel.exchange().await?;
        loop {
            if let Some((size, body)) = whole(self.channel.input(), self.number)? {
                self.answer_bytes = size;
                self.body = body;
                return Ok(());
            }
            self.channel.receive().await?;
        }
    }

    fn seal(&mut self) {
        let request = self.channel.request();
        let length = request.len() as u32;
        request[..4].copy_from_slice(&length.to_le_bytes());
    }

    /// Whether a request has not ended: its future waits, or was dropped.
    pub fn is_in_flight(&self) -> bool {
        self.channel.is_in_flight()
    }

    /// Sends the request without waiting, as far as that goes: nobody is there for the answer.
    pub fn say_last(&mut self) {
        self.seal();
        let request = std::mem::take(self.channel.request());
        self.channel.say(&request);
    }

    /// The answer's document.
    #[inline]
    pub fn answer(&self) -> &[u8] {
        &self.channel.input()[self.body.clone()]
    }

    /// The same of a command that has no other outcome than that it was done.
    pub async fn carry_out(&mut self) -> Result<(), OpError> {
        self.ask().await?;
        done(self.answer())
    }
}

/// Ends the command.
#[inline]
pub fn end(request: &mut Vec<u8>, body: Body) {
    bson::close(request, body.0);
}

/// Begins a sequence of documents after the command, of the command's argument `name`; `end_sequence` gets what this returns.
#[inline]
pub fn sequence(request: &mut Vec<u8>, name: bson::Name<'_>) -> usize {
    request.push(SEQUENCE);
    request.extend_from_slice(&[0; 4]);
    let start = request.len() - 4;
    request.extend_from_slice(name);
    start
}

#[inline]
pub fn end_sequence(request: &mut [u8], start: usize) {
    let length = (request.len() - start) as u32;
    request[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// The size of the message that the input begins with, and where in it the document is; `None`: not all of it has arrived.
#[inline]
fn whole(input: &[u8], number: u32) -> Result<Option<(usize, std::ops::Range<usize>)>, OpError> {
    let word = |at: usize| {
        let bytes = input.get(at..at + 4)?;
        Some(u32::from_le_bytes(*bytes.first_chunk()?))
    };
    let Some(length) = word(0) else { return Ok(None) };
    let size = length as usize;
    if !(HEAD_BYTES + 1..=LENGTH_MAX).contains(&size) {
        let what = "a message shorter than its head, or longer than 64 MiB";
        return Err(malformed(stranger(input).unwrap_or(what)));
    }
    let (Some(to), Some(kind), Some(flags)) = (word(8), word(12), word(16)) else {
        return Ok(None);
    };
    match kind {
        OP_MSG => {}
        OP_REPLY => {
            return Err(malformed(
                "it speaks an older protocol: the server is older than 3.6",
            ));
        }
        _ => return Err(malformed(stranger(input).unwrap_or("a message of no known kind"))),
    }
    if to != number {
        return Err(malformed("an answer to another request"));
    }
    if flags & REQUIRED & !CHECKSUM != 0 {
        let more = flags & MORE_TO_COME != 0;
        return Err(malformed(if more {
            "more answers than one"
        } else {
            "an unknown flag"
        }));
    }
    if input.len() < size {
        return Ok(None);
    }
    let end = size - if flags & CHECKSUM != 0 { 4 } else { 0 };
    let body = HEAD_BYTES + 1..end;
    let fits = input[HEAD_BYTES] == BODY && body.start <= body.end && {
        let document = &input[body.clone()];
        bson::length(document) == Some(document.len())
    };
    match fits {
        true => Ok(Some((size, body))),
        false => Err(malformed("a message that is not one document")),
    }
}

/// Errors: the command was not done, or not as it was to be acknowledged.
#[inline]
pub fn done(answer: &[u8]) -> Result<(), OpError> {
    match written(answer) {
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a write says of itself: documents found or inserted.
#[inline]
pub fn written(answer: &[u8]) -> Result<u64, OpError> {
    let (mut is_done, mut count, mut failed) = (false, 0, false);
    let mut all = bson::elements(answer)?;
    while let Some((name, value)) = all.next()? {
        match name {
            b"ok" => is_done = value.is_true(),
            b"n" => count = value.whole_number().unwrap_or_default() as u64,
            b"writeErrors" | b"writeConcernError" => failed = true,
            _ => {}
        }
    }
    match is_done && !failed {
        true => Ok(count),
        false => Err(server_error(answer)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn message(flags: u32, kind: u32, to: u32, sections: &[u8]) -> Vec<u8> {
        let length = (HEAD_BYTES + sections.len()) as u32;
        let words = [length, 77, to, kind, flags].map(u32::to_le_bytes).concat();
        [&words, sections].concat()
    }

    const OK: &[u8] = b"\0\x11\0\0\0\x01ok\0\0\0\0\0\0\0\xf0\x3f\0";

    #[test]
    fn a_message_is_taken_when_it_is_whole() {
        for (flags, sections) in [
            (0, OK.to_vec()),
            (CHECKSUM, [OK, b"sums"].concat()),
            (1 << 16, OK.to_vec()),
        ] {
            let input = message(flags, OP_MSG, 7, &sections);
            for end in 0..input.len() {
                assert!(whole(&input[..end], 7).unwrap().is_none(), "{end}");
            }
            let more = [&input[..], b"more"].concat();
            let (size, body) = whole(&more, 7).unwrap().unwrap();
            assert_eq!((size, &more[body]), (input.len(), &OK[1..]));
            assert!(done(&OK[1..]).is_ok());
        }
    }

    #[test]
    fn what_is_not_in_the_protocol_is_refused() {
        let two = [OK, OK].concat();
        for input in [
            message(0, OP_MSG, 8, OK),
            message(0, OP_REPLY, 7, OK),
            message(0, 2004, 7, OK),
            message(MORE_TO_COME, OP_MSG, 7, OK),
            message(4, OP_MSG, 7, OK),
            message(0, OP_MSG, 7, &two),
            message(0, OP_MSG, 7, b"\x01\x05\0\0\0\0"),
            message(0, OP_MSG, 7, b"\0"),
            message(0, OP_MSG, 7, b"\0\xff\xff\xff\xff\0"),
            message(CHECKSUM, OP_MSG, 7, b"\0ab"),
            u32::MAX.to_le_bytes().to_vec(),
            (HEAD_BYTES as u32).to_le_bytes().to_vec(),
            b"HTTP/1.1 400\r\n".to_vec(),
        ] {
            assert!(whole(&input, 7).is_err(), "{input:?}");
        }
    }
}
