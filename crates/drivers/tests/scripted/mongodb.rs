//! A server that speaks MongoDB's protocol: it waits for the client's first word. Its documents are written as JSON here, and
//! made BSON by an encoder of the tests' own.
use super::{Conversation, Protocol};
use crate::bench::endpoint;
use bakeoff_drivers::mongodb::MongodbSpec;
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;

/// An account at a scripted server that asks for no password, with transactions.
pub fn spec(address: &str) -> MongodbSpec {
    MongodbSpec {
        endpoints: vec![endpoint(address)],
        database: "d".into(),
        transactions: true,
        batch_size: 2,
        ..MongodbSpec::default()
    }
}

/// One message; `None`: the other side has closed.
pub fn hear(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut rest = vec![0; u32::from_le_bytes(length) as usize - 4];
    stream.read_exact(&mut rest).ok()?;
    Some([&length[..], &rest].concat())
}

/// The answer to the request of that number.
pub fn message(number: u32, document: &Value) -> Vec<u8> {
    framed(number, &[&[0; 5], &bson(document)[..]].concat())
}

/// content: flags and sections.
pub fn framed(number: u32, content: &[u8]) -> Vec<u8> {
    let length = 16 + content.len() as u32;
    let head = [length, 1, number, 2013].map(u32::to_le_bytes).concat();
    [&head, content].concat()
}

pub fn bson(document: &Value) -> Vec<u8> {
    let members: Vec<(String, &Value)> = match document {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        other => panic!("no document: {other}"),
    };
    let mut out = vec![];
    for (name, value) in members {
        let (kind, bytes) = match value {
            Value::Null => (0x0A, vec![]),
            Value::Bool(value) => (0x08, vec![u8::from(*value)]),
            Value::Number(number) => match number.as_i64() {
                Some(number) => (0x12, number.to_le_bytes().to_vec()),
                None => (0x01, number.as_f64().unwrap().to_le_bytes().to_vec()),
            },
            Value::String(text) => {
                let length = (text.len() as u32 + 1).to_le_bytes();
                (0x02, [&length[..], text.as_bytes(), &[0]].concat())
            }
            Value::Object(members) => match members.get("$binary").and_then(Value::as_str) {
                Some(bytes) => {
                    let length = (bytes.len() as u32).to_le_bytes();
                    (0x05, [&length[..], &[0], bytes.as_bytes()].concat())
                }
                None => (0x03, bson(value)),
            },
            Value::Array(_) => (0x04, bson(value)),
        };
        out.push(kind);
        out.extend([name.as_bytes(), &[0], &bytes].concat());
    }
    let length = (out.len() as u32 + 5).to_le_bytes();
    [&length[..], &out, &[0]].concat()
}

/// The member of a replica set.
pub fn member() -> Value {
    json!({
        "ok": 1, "setName": "rs0", "maxWireVersion": 21, "maxWriteBatchSize": 100000, "maxMessageSizeBytes": 48000000,
        "logicalSessionTimeoutMinutes": 30,
    })
}

pub fn batch(name: &str, cursor: i64, documents: &[Value]) -> Value {
    json!({ "cursor": { "id": cursor, "ns": "d.c", name: documents }, "ok": 1.0 })
}

fn document(number: i64) -> Value {
    json!({ "_id": format!("k{number}"), "#rev": number, "a": "text", "n": { "b": [1, 2.5, true, null] } })
}

/// All that a session is used for: a document by its key, several in two batches, a replacement, a patch in a transaction, and
/// a count.
pub fn conversation() -> Conversation {
    let answers = [
        member(),
        batch("firstBatch", 0, &[document(1)]),
        batch("firstBatch", 7, &[document(1), document(2)]),
        batch("nextBatch", 0, &[document(3)]),
        json!({ "n": 1, "nModified": 1, "ok": 1 }),
        json!({ "n": 1, "ok": 1.0 }),
        json!({ "ok": 1 }),
        batch("firstBatch", 0, &[json!({ "_id": 1, "n": 3 })]),
    ];
    let answers = (1..)
        .zip(&answers)
        .map(|(number, answer)| message(number, answer));
    Conversation {
        protocol: Protocol::Mongodb,
        ..Conversation::new(std::iter::once(vec![]).chain(answers).collect())
    }
}
