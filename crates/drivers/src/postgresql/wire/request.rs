//! Requests, written straight into the connection's buffer.
use crate::postgresql::kind::Kind;
use bakeoff_model::value::Value;
use std::rc::Rc;

const PROTOCOL_3_0: u32 = 3 << 16;
const CANCEL: u32 = 1234 << 16 | 5678;
const ENCRYPTION: u32 = 1234 << 16 | 5679;

/// Terminate.
pub const QUIT: [u8; 5] = [b'X', 0, 0, 0, 4];
/// The end of what stands and falls together; the server says that it is ready.
pub const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
/// The server sends the answers that it has.
pub const FLUSH: [u8; 5] = [b'H', 0, 0, 0, 4];
/// Execute of the unnamed portal, for all rows.
const EXECUTE: [u8; 10] = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];
/// The same and Sync.
const EXECUTE_AND_SYNC: [u8; 15] = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];

/// Adds a message; `content` writes what follows the length.
fn message(request: &mut Vec<u8>, tag: u8, content: impl FnOnce(&mut Vec<u8>)) {
    request.push(tag);
    counted(request, content);
}

fn counted(request: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    let start = request.len();
    request.extend_from_slice(&[0; 4]);
    content(request);
    set_length(request, start);
}

#[inline]
fn set_length(request: &mut [u8], start: usize) {
    let length = ((request.len() - start) as u32).to_be_bytes();
    request[start..start + 4].copy_from_slice(&length);
}

fn text(request: &mut Vec<u8>, text: &[u8]) {
    request.extend_from_slice(text);
    request.push(0);
}

pub fn start_up(request: &mut Vec<u8>, settings: &[(&str, &str)]) {
    counted(request, |request| {
        request.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in settings {
            text(request, name.as_bytes());
            text(request, value.as_bytes());
        }
        request.push(0);
    });
}

/// What names a connection to whoever wants it to stop what it does.
#[derive(Clone, Copy, Debug, Default)]
pub struct CancelKey {
    pub process: u32,
    pub secret: u32,
}

/// Asks whether what follows may be encrypted.
pub fn encryption(request: &mut Vec<u8>) {
    counted(request, |request| {
        request.extend_from_slice(&ENCRYPTION.to_be_bytes())
    });
}

pub fn cancel(request: &mut Vec<u8>, key: CancelKey) {
    counted(request, |request| {
        for number in [CANCEL, key.process, key.secret] {
            request.extend_from_slice(&number.to_be_bytes());
        }
    });
}

/// A password with the zero after it, or the answer to a challenge, which has none.
pub fn password(request: &mut Vec<u8>, answer: &[u8]) {
    message(request, b'p', |request| request.extend_from_slice(answer));
}

/// The first answer by a mechanism.
pub fn mechanism(request: &mut Vec<u8>, name: &str, answer: &[u8]) {
    message(request, b'p', |request| {
        text(request, name.as_bytes());
        request.extend_from_slice(&(answer.len() as u32).to_be_bytes());
        request.extend_from_slice(answer);
    });
}

pub fn query(request: &mut Vec<u8>, sql: &str) {
    message(request, b'Q', |request| text(request, sql.as_bytes()));
}

/// Prepares a statement under a name, and asks of which types it is.
pub fn prepare(request: &mut Vec<u8>, name: &str, sql: &str) {
    message(request, b'P', |request| {
        text(request, name.as_bytes());
        text(request, sql.as_bytes());
        request.extend_from_slice(&[0, 0]); // the server is to find the types of the parameters
    });
    message(request, b'D', |request| {
        request.push(b'S');
        text(request, name.as_bytes());
    });
    request.extend_from_slice(&SYNC);
}

/// Rows of a load.
pub fn copy_data(request: &mut Vec<u8>, rows: impl FnOnce(&mut Vec<u8>)) {
    message(request, b'd', rows);
}

pub fn copy_done(request: &mut Vec<u8>) {
    message(request, b'c', |_| {});
}

/// A prepared statement: what executing it says before its values and after them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Prepared {
    pub params: Box<[Kind]>,
    pub columns: Box<[Kind]>,
    /// Bind, up to the formats of the values.
    head: Box<[u8]>,
    /// The formats of the columns.
    tail: Box<[u8]>,
    /// The beginning of its text, for errors.
    pub sql: Rc<str>,
}

impl Prepared {
    pub fn new(name: &str, params: Box<[Kind]>, columns: Box<[Kind]>, sql: Rc<str>) -> Self {
        let mut head = vec![b'B', 0, 0, 0, 0, 0]; // to the unnamed portal
        text(&mut head, name.as_bytes());
        head.extend_from_slice(&(params.len() as u16).to_be_bytes());
        let mut tail = (columns.len() as u16).to_be_bytes().to_vec();
        for kind in &columns {
            tail.extend_from_slice(&kind.result_format().to_be_bytes());
        }
        Self {
            params,
            columns,
            head: head.into(),
            tail: tail.into(),
            sql,
        }
    }

    /// Binds the values and executes, as one request. Their number is the statement's.
    #[inline]
    pub fn execute(&self, request: &mut Vec<u8>, values: &[Value<'_>]) {
        self.bind(request, values.iter().copied());
        request.extend_from_slice(&EXECUTE_AND_SYNC);
    }

    /// The same as one of several requests that are sent together.
    #[inline]
    pub fn execute_among<'a>(&self, request: &mut Vec<u8>, values: impl ExactSizeIterator<Item = Value<'a>>) {
        self.bind(request, values);
        request.extend_from_slice(&EXECUTE);
    }

    #[inline]
    fn bind<'a>(&self, request: &mut Vec<u8>, values: impl ExactSizeIterator<Item = Value<'a>>) {
        let start = request.len();
        request.extend_from_slice(&self.head);
        let formats = request.len();
        request.resize(formats + 2 * values.len(), 0);
        request.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for (index, (value, kind)) in values.zip(&self.params).enumerate() {
            if let Value::Null = value {
                request.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let at = request.len();
            request.extend_from_slice(&[0; 4]);
            let binary = kind.write(&value, request);
            let length = ((request.len() - at - 4) as u32).to_be_bytes();
            request[at..at + 4].copy_from_slice(&length);
            request[formats + 2 * index + 1] = binary.into();
        }
        request.extend_from_slice(&self.tail);
        set_length(request, start + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_bound_executed_and_synced_in_one_request() {
        let prepared = Prepared::new(
            "7",
            [Kind::Int4, Kind::Text, Kind::Text].into(),
            [Kind::Text, Kind::Other].into(),
            "".into(),
        );
        let mut request = Vec::new();
        prepared.execute(&mut request, &[Value::Int(5), Value::Text(b"ab"), Value::Null]);
        let content = [
            &b"\x007\0"[..],
            &[0, 3, 0, 1, 0, 0, 0, 0], // formats: one number, two texts
            &[
                0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 2, b'a', b'b', 255, 255, 255, 255,
            ],
            &[0, 2, 0, 1, 0, 0], // of the columns
        ]
        .concat();
        let bind = [&[b'B', 0, 0, 0, content.len() as u8 + 4][..], &content].concat();
        assert_eq!(request, [&bind[..], &EXECUTE_AND_SYNC].concat());
    }

    #[test]
    fn lengths_count_themselves_but_not_the_tag() {
        let mut request = Vec::new();
        query(&mut request, "BEGIN");
        assert_eq!(request, b"Q\0\0\0\x0aBEGIN\0");
        request.clear();
        cancel(
            &mut request,
            CancelKey {
                process: 1,
                secret: 2,
            },
        );
        assert_eq!(request, [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2]);
    }
}
