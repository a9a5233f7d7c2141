//! An answer, read as it arrives: however it is cut into pieces, each byte of its head is searched once.
use crate::server::errors::malformed;
use crate::server::stranger;
use bakeoff_model::outcome::OpError;

/// Of status and fields together, provisional answers before them included, and of what follows a chunked body.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// Of the line with a chunk's size.
const SIZE_LINE_BYTES_MAX: usize = 4 << 10;
pub const BODY_BYTES_MAX: usize = 256 << 20;

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Part {
    #[default]
    Status,
    Fields,
    /// As long as the head says.
    Body(usize),
    /// All until the server closes the connection.
    Rest,
    ChunkSize,
    Chunk(usize),
    ChunkEnd,
    Trailer,
    Whole,
}

/// Places are counted from the beginning of the answer.
#[derive(Default)]
pub struct Reply {
    pub status: u16,
    part: Part,
    /// The first byte that is not read yet.
    at: usize,
    /// Up to here no line ends.
    searched: usize,
    /// Where the part began whose size is limited.
    since: usize,
    fields: (usize, usize),
    body: (usize, usize),
    length: Option<usize>,
    chunked: bool,
    head_only: bool,
    /// HTTP/1.0: the connection stays only where that is said.
    is_old: bool,
    closes: bool,
    keeps: bool,
}

impl Reply {
    /// `head_only`: to a HEAD.
    pub fn to(head_only: bool) -> Self {
        Self {
            head_only,
            ..Self::default()
        }
    }

    /// Takes from `input`, which holds the answer from its beginning, what was not taken before. True: it is whole. A chunked
    /// body is appended to `chunks`.
    #[inline]
    pub fn read(&mut self, input: &[u8], chunks: &mut Vec<u8>) -> Result<bool, OpError> {
        loop {
            match self.part {
                Part::Status => {
                    let wanted = b"HTTP/";
                    let first = &input[self.at..];
                    let known = first.len().min(wanted.len());
                    if first[..known] != wanted[..known] {
                        return Err(malformed(stranger(first).unwrap_or("it is no HTTP")));
                    }
                    let Some(line) = self.line(input, HEAD_BYTES_MAX)? else {
                        return Ok(false);
                    };
                    self.take_status(line)?;
                    self.fields.0 = self.at;
                    self.part = Part::Fields;
                }
                Part::Fields => {
                    let end = self.at;
                    match self.line(input, HEAD_BYTES_MAX)? {
                        None => return Ok(false),
                        Some([]) => {
                            self.fields.1 = end;
                            self.part = self.after_head()?;
                        }
                        Some(line) => self.take_field(line)?,
                    }
                }
                Part::Body(length) => {
                    let end = self.at + length;
                    if input.len() < end {
                        return Ok(false);
                    }
                    self.body = (self.at, end);
                    self.at = end;
                    self.part = Part::Whole;
                }
                Part::Rest => {
                    return match input.len() - self.at > BODY_BYTES_MAX {
                        true => Err(malformed(LONG)),
                        false => Ok(false),
                    };
                }
                Part::ChunkSize => {
                    let Some(line) = self.line(input, SIZE_LINE_BYTES_MAX)? else {
                        return Ok(false);
                    };
                    let size = chunk_size(line)?;
                    if chunks.len() + size > BODY_BYTES_MAX {
                        return Err(malformed(LONG));
                    }
                    self.since = self.at;
                    self.part = match size {
                        0 => Part::Trailer,
                        size => Part::Chunk(size),
                    };
                }
                Part::Chunk(left) => {
                    let taken = left.min(input.len() - self.at);
                    chunks.extend_from_slice(&input[self.at..self.at + taken]);
                    self.at += taken;
                    if taken < left {
                        self.part = Part::Chunk(left - taken);
                        return Ok(false);
                    }
                    (self.searched, self.since) = (self.at, self.at);
                    self.part = Part::ChunkEnd;
                }
                Part::ChunkEnd => {
                    match self.line(input, 2)? {
                        None => return Ok(false),
                        Some([]) => {}
                        Some(_) => return Err(malformed("a chunk that does not end where it says")),
                    }
                    self.since = self.at;
                    self.part = Part::ChunkSize;
                }
                Part::Trailer => match self.line(input, HEAD_BYTES_MAX)? {
                    None => return Ok(false),
                    Some([]) => self.part = Part::Whole,
                    Some(_) => {}
                },
                Part::Whole => return Ok(true),
            }
        }
    }

    /// The server has closed the connection. Errors: the answer is not whole.
    #[cold]
    pub fn closed(&mut self, input: &[u8]) -> Result<(), OpError> {
        if self.part != Part::Rest {
            let what = match input.is_empty() {
                true => "the server closed the connection",
                false => "the server closed the connection within an answer",
            };
            return Err(OpError::lost(crate::server::errors::IO, what));
        }
        self.body = (self.at, input.len());
        self.at = input.len();
        self.part = Part::Whole;
        Ok(())
    }

    /// Bytes taken of the input.
    #[inline]
    pub fn size(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn is_chunked(&self) -> bool {
        self.chunked
    }

    /// Whether another request may follow on the same connection. There was none yet: it may.
    #[inline]
    pub fn leaves_connection(&self) -> bool {
        match self.part {
            Part::Whole => !self.closes,
            Part::Status => self.at == 0,
            _ => false,
        }
    }

    #[inline]
    pub fn body<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        input.get(self.body.0..self.body.1).unwrap_or_default()
    }

    pub fn field<'a>(&self, input: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let fields = input.get(self.fields.0..self.fields.1)?;
        let lines = fields.split(|byte| *byte == b'\n');
        let mut known = lines.filter_map(|line| split(line.trim_ascii_end()));
        known.find_map(|(known, value)| known.eq_ignore_ascii_case(name.as_bytes()).then_some(value))
    }

    /// The next line, without its end; `None`: not all of it has arrived.
    #[inline]
    fn line<'a>(&mut self, input: &'a [u8], bytes_max: usize) -> Result<Option<&'a [u8]>, OpError> {
        let end = input[self.searched..].iter().position(|byte| *byte == b'\n');
        let end = end.map(|end| self.searched + end);
        if end.map_or(input.len(), |end| end + 1) - self.since > bytes_max {
            return Err(malformed("a head without an end"));
        }
        let Some(end) = end else {
            self.searched = input.len();
            return Ok(None);
        };
        let Some(line) = input[self.at..end].strip_suffix(b"\r") else {
            return Err(malformed("a line that ends in another way"));
        };
        self.at = end + 1;
        self.searched = self.at;
        Ok(Some(line))
    }

    fn take_status(&mut self, line: &[u8]) -> Result<(), OpError> {
        let version = line.strip_prefix(b"HTTP/1.");
        let Some([minor @ (b'0' | b'1'), b' ', a, b, c, rest @ ..]) = version else {
            return Err(malformed("a status that is none"));
        };
        let digits = [a, b, c].iter().all(|digit| digit.is_ascii_digit());
        if !digits || *a == b'0' || !matches!(rest, [] | [b' ', ..]) {
            return Err(malformed("a status that is none"));
        }
        self.status = [a, b, c]
            .iter()
            .fold(0, |status, digit| status * 10 + u16::from(**digit - b'0'));
        self.is_old = *minor == b'0';
        (self.closes, self.keeps) = (false, false);
        (self.length, self.chunked) = (None, false);
        Ok(())
    }

    fn take_field(&mut self, line: &[u8]) -> Result<(), OpError> {
        let Some((name, value)) = split(line) else {
            return Err(malformed("a field that is none"));
        };
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    self.closes |= word.eq_ignore_ascii_case(b"close");
                    self.keeps |= word.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = length(value)?;
                if self.length.is_some_and(|before| before != length) {
                    return Err(malformed("two lengths"));
                }
                self.length = Some(length);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(malformed("an encoding that nobody asked for"));
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9112, section 6.3.
    fn after_head(&mut self) -> Result<Part, OpError> {
        self.closes = self.closes || self.is_old && !self.keeps;
        if self.status < 200 {
            return match self.status {
                101 => Err(malformed("another protocol, which nobody asked for")),
                _ => Ok(Part::Status),
            };
        }
        if self.head_only || matches!(self.status, 204 | 304) {
            self.chunked = false;
            return Ok(Part::Whole);
        }
        Ok(match (self.chunked, self.length) {
            (true, Some(_)) => return Err(malformed("a length and chunks")),
            (true, None) => {
                self.since = self.at;
                Part::ChunkSize
            }
            (false, Some(length)) => Part::Body(length),
            (false, None) => {
                self.closes = true;
                Part::Rest
            }
        })
    }
}

const LONG: &str = "a body of more than 256 MiB";

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    (!name.is_empty() && !name.contains(&b' ') && !name.contains(&b'\t')).then(|| (name, value.trim_ascii()))
}

fn length(value: &[u8]) -> Result<usize, OpError> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(malformed("a length that is none"));
    }
    let length = value
        .iter()
        .fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    match length <= BODY_BYTES_MAX {
        true => Ok(length),
        false => Err(malformed(LONG)),
    }
}

/// Hexadecimal, and extensions that mean nothing here.
fn chunk_size(line: &[u8]) -> Result<usize, OpError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = digits.trim_ascii_end();
    let number =
        |size: Option<usize>, digit: &u8| Some(size? << 4 | char::from(*digit).to_digit(16)? as usize);
    match digits.len() {
        1..=15 => digits.iter().fold(Some(0), number),
        _ => None,
    }
    .ok_or_else(|| malformed("a chunk without a size"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// An answer that arrives in two pieces, cut at `cut`: status, body, whether the connection stays.
    fn read_in_two(answer: &[u8], cut: usize, head_only: bool) -> Result<(u16, Vec<u8>, bool), String> {
        let (mut reply, mut chunks) = (Reply::to(head_only), Vec::new());
        for end in [cut, answer.len()] {
            if reply
                .read(&answer[..end], &mut chunks)
                .map_err(|error| error.message.clone())?
            {
                assert_eq!(reply.size(), end, "whole before its end");
                let body = match reply.is_chunked() {
                    true => chunks,
                    false => reply.body(&answer[..end]).to_vec(),
                };
                return Ok((reply.status, body, reply.leaves_connection()));
            }
        }
        reply
            .closed(answer)
            .map_err(|error| error.message.clone())
            .map(|()| {
                (
                    reply.status,
                    reply.body(answer).to_vec(),
                    reply.leaves_connection(),
                )
            })
    }

    #[test]
    fn an_answer_is_the_same_however_it_is_cut() {
        for (answer, status, body, stays) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"[..], 200, &b"abc"[..], true),
            (b"HTTP/1.1 201\r\ncontent-length:0\r\n\r\n", 201, b"", true),
            (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", true),
            (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b"", true),
            (b"HTTP/1.1 200 OK\r\nConnection: x, CLOSE\r\nContent-Length: 1\r\n\r\na", 200, b"a", false),
            (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", false),
            (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na", 200, b"a", true),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", true),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nab\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n", 200, b"ab0123456789", true),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\n\r\n\r\n00\r\nX: y\r\n\r\n", 200, b"\r\n", true),
            (b"HTTP/1.1 200 OK\r\n\r\nall the rest", 200, b"all the rest", false),
        ] {
            for cut in 0..answer.len() {
                let read = read_in_two(answer, cut, false).unwrap();
                assert_eq!(read, (status, body.to_vec(), stays), "{:?} {cut}", answer.escape_ascii().to_string());
            }
        }
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
        assert_eq!(read_in_two(head, 20, true).unwrap(), (200, vec![], true));
    }

    #[test]
    fn an_answer_that_ends_too_early_is_none() {
        for answer in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n",
        ] {
            for end in 0..answer.len() {
                let said = read_in_two(&answer[..end], end / 2, false).unwrap_err();
                assert!(said.contains("closed the connection"), "{said}");
            }
        }
    }

    #[test]
    fn what_is_no_http_is_said_to_be_none() {
        for (answer, why) in [
            (&b"SSH-2.0-x\r\n"[..], "it speaks SSH"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "it speaks TLS"),
            (b"HTTP/2 200\r\n", "a status"),
            (b"HTTP/1.2 200 OK\r\n", "a status"),
            (b"HTTP/1.1 20 OK\r\n", "a status"),
            (b"HTTP/1.1 2000 OK\r\n", "a status"),
            (b"HTTP/1.1 099 OK\r\n", "a status"),
            (b"HTTP/1.\r\n", "a status"),
            (b"HTTP/\r\n", "a status"),
            (b"HTTP/1.1 101 x\r\n\r\n", "another protocol"),
            (b"HTTP/1.1 200 OK\n", "a line"),
            (b"HTTP/1.1 200 OK\r\nno field\r\n", "a field"),
            (b"HTTP/1.1 200 OK\r\nA : b\r\n", "a field"),
            (b"HTTP/1.1 200 OK\r\n folded: b\r\n", "a field"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", "a length"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n", "a length"),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
                "a length",
            ),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n", "256 MiB"),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
                "two lengths",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "a length and",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                "an encoding",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
                "a chunk",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
                "a chunk",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
                "256 MiB",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
                "a chunk",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
                "without an end",
            ),
        ] {
            for cut in 0..answer.len() {
                let said = read_in_two(answer, cut, false).unwrap_err();
                let early = cut > 0 && said.contains("it is no HTTP");
                assert!(
                    early || said.contains(why),
                    "{:?}: {said}",
                    answer.escape_ascii().to_string()
                );
            }
        }
    }

    #[test]
    fn a_head_has_an_end() {
        let field = b"X-Field: 0123456789\r\n".repeat(HEAD_BYTES_MAX / 20);
        let long_line = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; HEAD_BYTES_MAX]].concat();
        let continues = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(HEAD_BYTES_MAX / 20);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let size = [chunked.clone(), b"1;".to_vec(), vec![b'x'; SIZE_LINE_BYTES_MAX]].concat();
        for answer in [
            [b"HTTP/1.1 200 OK\r\n".to_vec(), field.clone()].concat(),
            long_line,
            continues,
            size,
            [chunked, b"0\r\n".to_vec(), field].concat(),
        ] {
            let said = read_in_two(&answer, answer.len() / 2, false).unwrap_err();
            assert!(said.contains("without an end"), "{said}");
        }
    }

    #[test]
    fn fields_are_found_by_name() {
        let answer = b"HTTP/1.1 200 OK\r\nETag: \"1-x\"\r\nX-Empty:\r\nContent-Length: 8\r\n\r\nx-a: no\n";
        let mut reply = Reply::to(false);
        assert!(reply.read(answer, &mut Vec::new()).unwrap());
        assert_eq!(reply.field(answer, "etag"), Some(&b"\"1-x\""[..]));
        assert_eq!(reply.field(answer, "X-EMPTY"), Some(&b""[..]));
        assert_eq!(reply.field(answer, "x-a"), None);
    }
}
