//! A server that speaks PostgreSQL's protocol: it waits for the client's first word.
use super::{Conversation, Protocol};
use crate::bench::endpoint;
use bakeoff_drivers::postgresql::PostgresqlSpec;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpStream;

/// An account at a scripted server that asks for no password.
pub fn spec(address: &str) -> PostgresqlSpec {
    PostgresqlSpec {
        endpoints: vec![endpoint(address)],
        user: "u".into(),
        password: None,
        database: "d".into(),
        tls: None,
        session_variables: BTreeMap::new(),
        client: None,
    }
}

/// All messages up to one that wants an answer; `None`: the other side has closed.
pub fn hear(stream: &mut TcpStream, first: bool) -> Option<Vec<u8>> {
    let mut heard = Vec::new();
    loop {
        let mut header = [0; 5];
        // The first message has no tag.
        stream.read_exact(&mut header[usize::from(first)..]).ok()?;
        let [tag, a, b, c, d] = header;
        let mut content = vec![0; (u32::from_be_bytes([a, b, c, d]) - 4) as usize];
        stream.read_exact(&mut content).ok()?;
        heard.extend(content);
        if first || matches!(tag, b'S' | b'Q' | b'c' | b'p') {
            return Some(heard);
        }
    }
}

pub fn message(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], content].concat()
}

/// One after the other.
pub fn messages(all: &[(u8, &[u8])]) -> Vec<u8> {
    let all = all.iter().map(|(tag, content)| message(*tag, content));
    all.collect::<Vec<_>>().concat()
}

/// Of types by their numbers.
fn columns(types: &[u32]) -> Vec<u8> {
    let mut described = (types.len() as u16).to_be_bytes().to_vec();
    for kind in types {
        described.extend(b"a\0\0\0\0\0\0\0");
        described.extend(kind.to_be_bytes());
        described.extend([0; 8]);
    }
    described
}

const INT4: &[u8] = &[0, 1, 0, 0, 0, 23];
/// A number, a moment, a number of any length; and a row of nothing.
pub const ROW: &[u8] = &[
    0, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 8, 0, 2, 0xB5, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 1, 0, 0,
    0, 0, 0, 2, 0, 7,
];
const NULLS: &[u8] = &[0, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];
const TEXT_ROW: &[u8] = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
const READY: (u8, &[u8]) = (b'Z', b"I");
const IN_TRANSACTION: (u8, &[u8]) = (b'Z', b"T");
const PREPARED: (u8, &[u8]) = (b'1', b"");
const BOUND: (u8, &[u8]) = (b'2', b"");
const NO_PARAMS: (u8, &[u8]) = (b't', &[0, 0]);
const NO_ROWS: (u8, &[u8]) = (b'n', b"");
pub const TWO_SEEN: (u8, &[u8]) = (b'C', b"SELECT 2\0");

/// Of which of its answers the tests put others in place.
pub const QUERY_STEP: usize = 3;

pub fn conversation() -> Conversation {
    let (three, two) = (columns(&[20, 1114, 1700]), columns(&[20, 25]));
    let said = vec![
        vec![],
        messages(&[(b'R', &[0; 4]), (b'S', b"a\0b\0"), (b'K', &[0; 8]), READY]),
        messages(&[PREPARED, (b't', INT4), (b'T', &three), READY]),
        messages(&[BOUND, (b'D', ROW), (b'D', NULLS), TWO_SEEN, READY]),
        messages(&[(b'T', &two), (b'D', TEXT_ROW), (b'C', b"SELECT 1\0"), READY]),
        messages(&[PREPARED, NO_PARAMS, NO_ROWS, READY]), // BEGIN
        messages(&[PREPARED, NO_PARAMS, NO_ROWS, READY]), // COMMIT
        messages(&[
            BOUND,
            (b'C', b"BEGIN\0"),
            BOUND,
            (b'D', ROW),
            (b'D', NULLS),
            TWO_SEEN,
            BOUND,
            (b'C', b"COMMIT\0"),
            READY,
        ]),
        messages(&[PREPARED, NO_PARAMS, (b'T', &two), READY]), // which columns the table has
        messages(&[(b'C', b"BEGIN\0"), IN_TRANSACTION]),
        messages(&[(b'G', &[1, 0, 2, 0, 1, 0, 1])]),
        messages(&[(b'C', b"COPY 2\0"), IN_TRANSACTION]),
        messages(&[(b'C', b"COMMIT\0"), READY]),
    ];
    Conversation {
        protocol: Protocol::Postgresql,
        ..Conversation::new(said)
    }
}
