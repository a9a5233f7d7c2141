//! One transaction as it is in a history file: a line of JSON.
//!
//! ```text
//! {"session":0,"node":1,"index":7,"outcome":"ok","call_ns":1200,"return_ns":2400,"ops":[["append",3,17],["r",4,[1,2]]]}
//! ```
//!
//! | operation | means |
//! |---|---|
//! | `["append", key, value]` | adds a value to the end of the key's list |
//! | `["w", key, value]` | overwrites |
//! | `["add", key, amount]` | changes by an amount |
//! | `["r", key, [values]]` | read this list |
//! | `["r", key, value]` | read this value |
//! | `["r", key, null]` | read, and found nothing |
//! | `["r", key]` | a read without an answer |

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The server acknowledged.
    Ok,
    /// The server did not apply it, certainly.
    Fail,
    /// Anything else. It may take effect at any time after `call_ns`.
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    #[default]
    Load,
    /// After the load, when every node has applied everything: what it does not see is lost.
    Final,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// One logical client with one order of its own.
    pub session: u32,
    pub node: u32,
    /// Increases within the session.
    pub index: u64,
    #[serde(default)]
    pub phase: Phase,
    pub outcome: Outcome,
    /// Both on the client's monotonic clock.
    pub call_ns: i64,
    pub return_ns: i64,
    pub ops: Vec<MicroOp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MicroOp {
    Append(u64, i64),
    Write(u64, i64),
    Add(u64, i64),
    Read(u64, Answer),
    Unanswered(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Nothing,
    Value(i64),
    List(Vec<i64>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Function {
    Append,
    W,
    Add,
    R,
}

impl Serialize for MicroOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple =
            serializer.serialize_tuple(if matches!(self, Self::Unanswered(_)) { 2 } else { 3 })?;
        let (function, key) = match self {
            Self::Append(key, _) => (Function::Append, key),
            Self::Write(key, _) => (Function::W, key),
            Self::Add(key, _) => (Function::Add, key),
            Self::Read(key, _) | Self::Unanswered(key) => (Function::R, key),
        };
        tuple.serialize_element(&function)?;
        tuple.serialize_element(key)?;
        match self {
            Self::Append(_, value) | Self::Write(_, value) | Self::Add(_, value) => {
                tuple.serialize_element(value)?
            }
            Self::Read(_, answer) => tuple.serialize_element(answer)?,
            Self::Unanswered(_) => {}
        }
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for MicroOp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(MicroOpVisitor)
    }
}

struct MicroOpVisitor;

impl<'de> Visitor<'de> for MicroOpVisitor {
    type Value = MicroOp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation, as [\"append\", 3, 17] or [\"r\", 3, [17]]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MicroOp, A::Error> {
        let function: Function = seq
            .next_element()?
            .ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let key: u64 = seq
            .next_element()?
            .ok_or_else(|| A::Error::invalid_length(1, &self))?;
        let with_value: fn(u64, i64) -> MicroOp = match function {
            Function::R => {
                let answer = seq.next_element()?;
                return Ok(answer.map_or(MicroOp::Unanswered(key), |answer| MicroOp::Read(key, answer)));
            }
            Function::Append => MicroOp::Append,
            Function::W => MicroOp::Write,
            Function::Add => MicroOp::Add,
        };
        let value = seq
            .next_element()?
            .ok_or_else(|| A::Error::invalid_length(2, &self))?;
        Ok(with_value(key, value))
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnswerVisitor)
    }
}

struct AnswerVisitor;

impl<'de> Visitor<'de> for AnswerVisitor {
    type Value = Answer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, an integer or a list of integers")
    }

    fn visit_unit<E>(self) -> Result<Answer, E> {
        Ok(Answer::Nothing)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Answer, E> {
        Ok(Answer::Value(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Answer, E> {
        i64::try_from(value).map(Answer::Value).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Answer, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Answer::List(values))
    }
}
