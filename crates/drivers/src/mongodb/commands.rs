//! What every command ends with: its database, and either the session's concerns or its transaction.
use super::bson::{self, close, open_document};
use super::options::{MongodbSpec, ReadPreference};
use bakeoff_model::outcome::OpError;

/// What a command does.
#[derive(Clone, Copy, PartialEq)]
pub enum Does {
    Reads,
    Writes,
    /// It reads what the server has of collections, which knows no read concern.
    Lists,
    /// It goes on with what another has begun.
    Neither,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Outside,
    /// Of which the server has not heard yet.
    Begun,
    Open,
}

/// As elements of BSON, written once.
pub struct Context {
    database: Vec<u8>,
    admin: Vec<u8>,
    reads: Vec<u8>,
    /// Without it a secondary does not answer.
    preference: Vec<u8>,
    writes: Vec<u8>,
    /// Of a transaction: with its first command, and with its commit.
    read_concern: Vec<u8>,
    write_concern: Vec<u8>,
    /// The number of our session, which is not the connection's.
    session: Vec<u8>,
    transaction: i64,
    pub state: State,
}

impl Context {
    pub fn new(spec: &MongodbSpec) -> Result<Self, OpError> {
        let mut read_concern = vec![];
        if let Some(concern) = spec.read_concern {
            let inner = open_document(&mut read_concern, b"readConcern\0");
            bson::text(&mut read_concern, b"level\0", concern.name().as_bytes());
            close(&mut read_concern, inner);
        }
        let mut preference = vec![];
        if spec.read_preference != ReadPreference::Primary {
            let inner = open_document(&mut preference, b"$readPreference\0");
            bson::text(&mut preference, b"mode\0", spec.read_preference.mode().as_bytes());
            close(&mut preference, inner);
        }
        let reads = [&read_concern[..], &preference].concat();
        let write_concern = write_concern(spec);
        let database = |name: &str| {
            let mut element = vec![];
            bson::text(&mut element, b"$db\0", name.as_bytes());
            element
        };
        let mut session = vec![];
        if spec.transactions {
            let inner = open_document(&mut session, b"lsid\0");
            bson::binary(&mut session, b"id\0", 4, &uuid()?);
            close(&mut session, inner);
        }
        Ok(Self {
            database: database(&spec.database),
            admin: database("admin"),
            reads,
            preference,
            writes: write_concern.clone(),
            read_concern,
            write_concern,
            session,
            transaction: 0,
            state: State::Outside,
        })
    }

    pub fn begin(&mut self) {
        self.transaction += 1;
        self.state = State::Begun;
    }

    /// Appends to a command of the workload's.
    #[inline]
    pub fn conclude(&mut self, request: &mut Vec<u8>, does: Does) {
        request.extend_from_slice(&self.database);
        if self.state != State::Outside {
            return self.in_transaction(request);
        }
        match does {
            Does::Reads => request.extend_from_slice(&self.reads),
            Does::Writes => request.extend_from_slice(&self.writes),
            Does::Lists => request.extend_from_slice(&self.preference),
            Does::Neither => {}
        }
    }

    fn in_transaction(&mut self, request: &mut Vec<u8>) {
        self.number(request);
        if self.state == State::Begun {
            self.state = State::Open;
            bson::bool(request, b"startTransaction\0", true);
            request.extend_from_slice(&self.read_concern);
        }
    }

    fn number(&self, request: &mut Vec<u8>) {
        request.extend_from_slice(&self.session);
        bson::int64(request, b"txnNumber\0", self.transaction);
        bson::bool(request, b"autocommit\0", false);
    }

    /// The same for the command that ends the transaction.
    pub fn conclude_end(&mut self, request: &mut Vec<u8>) {
        request.extend_from_slice(&self.admin);
        self.number(request);
        request.extend_from_slice(&self.write_concern);
        self.state = State::Outside;
    }
}

fn write_concern(spec: &MongodbSpec) -> Vec<u8> {
    let mut element = vec![];
    if spec.write_concern.is_none() && spec.journal.is_none() && spec.write_timeout_ms.is_none() {
        return element;
    }
    let inner = open_document(&mut element, b"writeConcern\0");
    match spec
        .write_concern
        .as_deref()
        .map(|name| (name, name.parse::<i32>()))
    {
        Some((_, Ok(members))) => bson::int32(&mut element, b"w\0", members),
        Some((name, Err(_))) => bson::text(&mut element, b"w\0", name.as_bytes()),
        None => {}
    }
    if let Some(journal) = spec.journal {
        bson::bool(&mut element, b"j\0", journal);
    }
    if let Some(timeout) = spec.write_timeout_ms {
        bson::int32(&mut element, b"wtimeout\0", timeout as i32);
    }
    close(&mut element, inner);
    element
}

/// Of random bits (RFC 9562, version 4).
fn uuid() -> Result<[u8; 16], OpError> {
    let mut bytes = super::login::random::<16>()?;
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::options::ReadConcern;
    use super::*;

    /// The members of what is appended, in words.
    fn concluded(context: &mut Context, does: Does) -> String {
        written(|out| context.conclude(out, does))
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let (mut out, mut json) = (vec![], vec![]);
        let start = bson::open(&mut out);
        write(&mut out);
        close(&mut out, start);
        // The number of our session is random, and no JSON.
        let mut plain = vec![];
        let whole = bson::open(&mut plain);
        let session = out.windows(5).position(|window| window == b"lsid\0");
        match session {
            Some(at) => {
                plain.extend_from_slice(&out[4..at - 1]);
                let length = bson::length(&out[at + 5..]).unwrap();
                assert_eq!(length, 4 + 1 + 3 + 4 + 1 + 16 + 1);
                plain.extend_from_slice(&out[at + 5 + length..out.len() - 1]);
            }
            None => plain.extend_from_slice(&out[4..out.len() - 1]),
        }
        close(&mut plain, whole);
        super::super::json::write(&mut json, &plain).unwrap();
        let said = if session.is_some() { "lsid " } else { "" };
        format!("{said}{}", String::from_utf8(json).unwrap())
    }

    #[test]
    fn commands_have_the_concerns_that_they_need_and_no_others() {
        let spec = MongodbSpec {
            database: "d".into(),
            read_concern: Some(ReadConcern::Majority),
            read_preference: ReadPreference::SecondaryPreferred,
            write_concern: Some("2".into()),
            journal: Some(true),
            write_timeout_ms: Some(500),
            ..MongodbSpec::default()
        };
        let mut context = Context::new(&spec).unwrap();
        assert_eq!(
            concluded(&mut context, Does::Reads),
            r#"{"$db":"d","readConcern":{"level":"majority"},"$readPreference":{"mode":"secondaryPreferred"}}"#
        );
        assert_eq!(
            concluded(&mut context, Does::Writes),
            r#"{"$db":"d","writeConcern":{"w":2,"j":true,"wtimeout":500}}"#
        );
        assert_eq!(
            concluded(&mut context, Does::Lists),
            r#"{"$db":"d","$readPreference":{"mode":"secondaryPreferred"}}"#
        );
        assert_eq!(concluded(&mut context, Does::Neither), r#"{"$db":"d"}"#);
        let plain = MongodbSpec {
            database: "d".into(),
            ..MongodbSpec::default()
        };
        let mut context = Context::new(&plain).unwrap();
        assert_eq!(concluded(&mut context, Does::Reads), r#"{"$db":"d"}"#);
        assert_eq!(concluded(&mut context, Does::Writes), r#"{"$db":"d"}"#);
    }

    #[test]
    fn a_transaction_says_its_concern_once_and_ends_with_the_other() {
        let spec = MongodbSpec {
            database: "d".into(),
            read_concern: Some(ReadConcern::Snapshot),
            read_preference: ReadPreference::Nearest,
            write_concern: Some("majority".into()),
            transactions: true,
            ..MongodbSpec::default()
        };
        let mut context = Context::new(&spec).unwrap();
        for number in 1..3 {
            let numbered = format!(r#""txnNumber":{number},"autocommit":false"#);
            context.begin();
            assert_eq!(
                concluded(&mut context, Does::Writes),
                format!(
                    r#"lsid {{"$db":"d",{numbered},"startTransaction":true,"readConcern":{{"level":"snapshot"}}}}"#
                )
            );
            let next = format!(r#"lsid {{"$db":"d",{numbered}}}"#);
            assert_eq!(concluded(&mut context, Does::Reads), next);
            assert_eq!(
                written(|out| context.conclude_end(out)),
                format!(r#"lsid {{"$db":"admin",{numbered},"writeConcern":{{"w":"majority"}}}}"#)
            );
            assert_eq!(context.state, State::Outside);
        }
    }
}
