//! A server that follows a script: one answer to each request.
#![allow(dead_code)] // every test file uses its own part of it
pub mod http;
pub mod mongodb;
pub mod postgresql;

use crate::bench::endpoint;
use bakeoff_drivers::Secret;
use bakeoff_drivers::mysql::{AccessPath, MysqlSpec};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::OnceLock;

pub const PASSWORD: &[u8] = b"hunter2";

/// Of 2048 bits; nobody has the other half.
pub const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----
";

fn password() -> Secret {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let file = crate::bench::sqlite_file().with_extension("password");
        std::fs::write(&file, PASSWORD).unwrap();
        file
    });
    Secret::File(file.display().to_string())
}

/// An account at a scripted server. `tuned`: with a session variable, which is set and read back.
pub fn spec(address: &str, tuned: bool) -> MysqlSpec {
    let variables = tuned.then(|| ("sql_mode".to_owned(), "ANSI".to_owned()));
    MysqlSpec {
        endpoints: vec![endpoint(address)],
        user: "u".into(),
        password: Some(password()),
        schema: "s".into(),
        tls: None,
        session_variables: variables.into_iter().collect(),
        client: None,
        server_public_key_file: None,
        access: AccessPath::Sql,
        table_options: String::new(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocol {
    Mysql,
    Postgresql,
    Mongodb,
}

#[derive(Clone, Debug)]
pub struct Conversation {
    pub protocol: Protocol,
    /// Each is one or more whole packets: the greeting, then an answer to each request.
    pub said: Vec<Vec<u8>>,
    /// The first that is not what the server said: from there on it listens no more, says the rest, and closes.
    changed: usize,
    pub tuned: bool,
    /// Written at a time.
    pub piece_bytes: usize,
}

impl Conversation {
    pub fn new(said: Vec<Vec<u8>>) -> Self {
        Self {
            protocol: Protocol::Mysql,
            changed: said.len(),
            said,
            tuned: false,
            piece_bytes: usize::MAX,
        }
    }

    /// As a MariaDB 10.11 speaks (arrays of parameters, columns described once), a MySQL 8 (another authentication, columns
    /// described with each answer, LOAD DATA LOCAL), a server that marks ends in the older way, a PostgreSQL, and a MongoDB.
    pub fn known() -> Vec<Conversation> {
        vec![
            mariadb(),
            mysql(true),
            mysql(false),
            postgresql::conversation(),
            mongodb::conversation(),
        ]
    }

    /// `keeps_lengths`: only the first packet's content is changed, and its header says how long it now is.
    pub fn change(&mut self, step: usize, keeps_lengths: bool, change: impl FnOnce(&mut Vec<u8>)) {
        let said = &mut self.said[step];
        self.changed = step;
        if !keeps_lengths || said.is_empty() {
            return change(said);
        }
        if self.protocol == Protocol::Postgresql {
            let rest = said.split_off(1 + (usize::from(said[3]) << 8 | usize::from(said[4])));
            let mut content = said.split_off(5);
            change(&mut content);
            *said = [postgresql::message(said[0], &content), rest].concat();
            return;
        }
        if self.protocol == Protocol::Mongodb {
            let mut content = said.split_off(16);
            change(&mut content);
            *said = mongodb::framed(step as u32, &content);
            return;
        }
        let length = usize::from(said[0]) | usize::from(said[1]) << 8;
        let rest = said.split_off(4 + length);
        let mut payload = said.split_off(4);
        change(&mut payload);
        let number = said[3];
        *said = packet(number, &payload);
        said.extend(rest);
    }
}

/// Serves one connection with the conversation, while `ask` talks to the address; what `ask` answered.
pub fn serve<T>(conversation: Conversation, ask: impl FnOnce(&str) -> T) -> T {
    serve_and_hear(conversation, ask).0
}

/// The same, and what was heard after each thing said.
pub fn serve_and_hear<T>(conversation: Conversation, ask: impl FnOnce(&str) -> T) -> (T, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving =
        std::thread::spawn(move || listener.accept().map(|(stream, _)| talk(stream, &conversation)));
    let answer = ask(&address);
    (answer, serving.join().unwrap().unwrap())
}

fn talk(mut stream: TcpStream, conversation: &Conversation) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    stream.set_nodelay(true).unwrap();
    for (step, said) in conversation.said.iter().enumerate() {
        let pieces = said.chunks(conversation.piece_bytes);
        if pieces
            .map(|piece| stream.write_all(piece))
            .any(|sent| sent.is_err())
        {
            return heard;
        }
        if step < conversation.changed {
            let packet = match conversation.protocol {
                Protocol::Mysql => hear(&mut stream),
                Protocol::Postgresql => postgresql::hear(&mut stream, step == 0),
                Protocol::Mongodb => mongodb::hear(&mut stream),
            };
            match packet {
                Some(packet) => heard.push(packet),
                None => return heard,
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
    heard
}

/// One packet's payload; `None`: the other side has closed.
fn hear(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let [a, b, c, _] = header;
    let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

pub fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
    [&[a, b, c, number], payload].concat()
}

/// Packets of one answer, numbered from 1.
pub fn answer(payloads: &[&[u8]]) -> Vec<u8> {
    (1..)
        .zip(payloads)
        .flat_map(|(number, payload)| packet(number, payload))
        .collect()
}

const CONNECT_WITH_DB: u32 = 8;
const PROTOCOL_41: u32 = 0x200;
const TRANSACTIONS: u32 = 0x2000;
const SECURE: u32 = 0x8000;
const MULTI_RESULTS: u32 = 0x2_0000;
const PLUGIN_AUTH: u32 = 0x8_0000;
const DEPRECATE_EOF: u32 = 0x100_0000;
const LOCAL_FILES: u32 = 0x80;
const FOUND_ROWS: u32 = 2;
const LONG_PASSWORD: u32 = 1;
const SERVER: u32 = CONNECT_WITH_DB
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE
    | MULTI_RESULTS
    | PLUGIN_AUTH
    | LOCAL_FILES
    | FOUND_ROWS;

pub const NONCE: &[u8; 20] = b"12345678901234567890";

pub fn greeting(version: &str, capabilities: u32, extended: u32, plugin: &str) -> Vec<u8> {
    let low = (capabilities as u16).to_le_bytes();
    let high = ((capabilities >> 16) as u16).to_le_bytes();
    let payload = [
        &[10][..],
        version.as_bytes(),
        &[0, 7, 0, 0, 0],
        &NONCE[..8],
        &[0],
        &low,
        &[45, 2, 0],
        &high,
        &[21, 0, 0, 0, 0, 0, 0],
        &extended.to_le_bytes(),
        &NONCE[8..],
        &[0],
        plugin.as_bytes(),
        &[0],
    ];
    packet(0, &payload.concat())
}

pub fn mysql_greeting() -> Vec<u8> {
    greeting(
        "8.0.36",
        SERVER | DEPRECATE_EOF | LONG_PASSWORD,
        0,
        "caching_sha2_password",
    )
}

pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
const OLD_END: &[u8] = &[0xFE, 0, 0, 2, 0];

fn column(kind: u8, character_set: u8) -> Vec<u8> {
    let names = b"\x03def\x01s\x01t\x01t\x01a\x01a";
    [
        names,
        &[12, character_set, 0, 0, 1, 0, 0, kind, 0, 0, 0, 0, 0][..],
    ]
    .concat()
}

/// A result set of the text protocol or the binary one.
fn result(columns: &[Vec<u8>], rows: &[&[u8]], eof: bool, cached: Option<bool>) -> Vec<u8> {
    let count = [
        &[columns.len() as u8][..],
        &cached.map_or(vec![], |described| vec![described.into()]),
    ]
    .concat();
    let mut payloads = vec![count];
    if cached != Some(false) {
        payloads.extend(columns.iter().cloned());
        payloads.extend(eof.then(|| OLD_END.to_vec()));
    }
    payloads.extend(rows.iter().map(|row| row.to_vec()));
    payloads.push(if eof { OLD_END } else { END }.to_vec());
    answer(&payloads.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

const LONGLONG: u8 = 8;
const DATETIME: u8 = 12;
const TIME: u8 = 11;
const VAR_STRING: u8 = 253;

/// A statement of one parameter and these columns.
fn prepared(columns: &[Vec<u8>], params: u16, eof: bool) -> Vec<u8> {
    let mut payloads = vec![
        [
            &[0, 1, 0, 0, 0][..],
            &(columns.len() as u16).to_le_bytes(),
            &params.to_le_bytes(),
            &[0, 0, 0],
        ]
        .concat(),
    ];
    payloads.extend((0..params).map(|_| column(VAR_STRING, 63)));
    payloads.extend((eof && params > 0).then(|| OLD_END.to_vec()));
    payloads.extend(columns.iter().cloned());
    payloads.extend((eof && !columns.is_empty()).then(|| OLD_END.to_vec()));
    answer(&payloads.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn of_three() -> Vec<Vec<u8>> {
    vec![column(LONGLONG, 63), column(DATETIME, 63), column(TIME, 63)]
}

/// A number, a date, a time; and a row of nothing.
const ROW: &[u8] = &[
    0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 7, 0xEA, 7, 11, 21, 1, 2, 3, 8, 0, 1, 0, 0, 0, 2, 3, 4,
];
const NULLS: &[u8] = &[0, 0x1C];
/// `x`, and nothing.
const TEXT_ROW: &[u8] = b"\x01x\xFB";
const TWO: &[u8] = b"\x012";

fn mariadb() -> Conversation {
    const ARRAYS_AND_CACHED_COLUMNS: u32 = 4 | 16;
    let version = "5.5.5-10.11.6-MariaDB";
    let greeting = greeting(
        version,
        SERVER | DEPRECATE_EOF,
        ARRAYS_AND_CACHED_COLUMNS,
        "mysql_native_password",
    );
    let two = [column(LONGLONG, 63), column(VAR_STRING, 45)];
    let text = |columns: &[Vec<u8>], rows: &[&[u8]]| result(columns, rows, false, Some(true));
    let said = vec![
        greeting,
        packet(2, OK),
        answer(&[OK]),                                   // SET
        text(&[column(VAR_STRING, 45)], &[b"\x04ANSI"]), // and read back
        prepared(&of_three(), 1, false),
        result(&of_three(), &[ROW, NULLS], false, Some(false)),
        text(&two, &[TEXT_ROW]),
        answer(&[OK]), // of a pipeline: SET autocommit = 0
        result(&of_three(), &[ROW], false, Some(false)),
        answer(&[OK]),           // COMMIT
        answer(&[OK]),           // SET autocommit = 1
        text(&two, &[]),         // which columns the table has
        text(&two[..1], &[TWO]), // and in which character sets
        answer(&[OK]),           // START TRANSACTION
        prepared(&[], 2, false),
        answer(&[&[0, 2, 0, 2, 0, 1, 0]]), // two rows, one warning
        text(
            &[two[1].clone(), two[1].clone(), two[1].clone()],
            &[b"\x04Note\x041592\x05words"],
        ),
        answer(&[OK]), // the statement is closed; COMMIT
    ];
    Conversation {
        tuned: true,
        ..Conversation::new(said)
    }
}

fn mysql(deprecates_eof: bool) -> Conversation {
    let eof = !deprecates_eof;
    let offered = if eof { SERVER } else { SERVER | DEPRECATE_EOF };
    let two = [column(LONGLONG, 63), column(VAR_STRING, 45)];
    let text = |columns: &[Vec<u8>], rows: &[&[u8]]| result(columns, rows, eof, None);
    let said = vec![
        greeting("8.0.36", offered | LONG_PASSWORD, 0, "caching_sha2_password"),
        packet(2, &[b"\xFEmysql_native_password\0", &NONCE[..], &[0]].concat()),
        packet(4, OK),
        prepared(&of_three(), 1, eof),
        result(&of_three(), &[ROW, NULLS], eof, None),
        text(&two, &[TEXT_ROW]),
        answer(&[OK]), // of a pipeline: SET autocommit = 0
        result(&of_three(), &[ROW], eof, None),
        answer(&[OK]), // COMMIT
        answer(&[OK]), // SET autocommit = 1
        text(&two, &[]),
        text(&two[..1], &[TWO]),
        answer(&[OK]),                     // START TRANSACTION
        answer(&[b"\xFBrows"]),            // LOAD DATA LOCAL
        vec![],                            // takes the rows
        packet(4, &[0, 2, 0, 2, 0, 0, 0]), // and their end
        answer(&[OK]),                     // COMMIT
    ];
    Conversation::new(said)
}
