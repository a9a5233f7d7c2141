//! How a connection begins: what the server is, and who logs in.
use super::bson::{self, Bson};
use super::errors::{COMMAND_NOT_FOUND, server_error};
use super::message::{Wire, done, end};
use super::options::MongodbSpec;
use super::scram::{Login, Password, refused};
use crate::server::errors::malformed;
use bakeoff_model::outcome::{FailClass, OpError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};

/// Of the server, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub batch_documents: usize,
    pub message_bytes: usize,
}

/// In which the protocol's messages are spoken: 3.6, and with transactions 4.0 and (by `mongos`) 4.2.
const WIRE_VERSION_MIN: i64 = 6;
const WIRE_VERSION_OF_TRANSACTIONS: i64 = 7;
const WIRE_VERSION_OF_SHARDED_TRANSACTIONS: i64 = 8;

/// Greets. Errors: the server is too old, or has no transactions where they are asked for.
pub async fn greet(wire: &mut Wire, spec: &MongodbSpec) -> Result<Limits, OpError> {
    hello(wire, b"hello\0").await?;
    let answered = match done(wire.answer()) {
        Err(error) if error.code == COMMAND_NOT_FOUND => {
            hello(wire, b"isMaster\0").await?; // as servers before 4.4.2 know it
            done(wire.answer())
        }
        answered => answered,
    };
    answered?;
    read(wire.answer(), spec.transactions)
}

async fn hello(wire: &mut Wire, name: bson::Name<'_>) -> Result<(), OpError> {
    let (request, body) = wire.begin();
    bson::int32(request, name, 1);
    let client = bson::open_document(request, b"client\0");
    let driver = bson::open_document(request, b"driver\0");
    bson::text(request, b"name\0", b"bakeoff");
    bson::text(request, b"version\0", env!("CARGO_PKG_VERSION").as_bytes());
    bson::close(request, driver);
    let os = bson::open_document(request, b"os\0");
    bson::text(request, b"type\0", std::env::consts::OS.as_bytes());
    bson::close(request, os);
    bson::close(request, client);
    bson::text(request, b"$db\0", b"admin");
    end(request, body);
    wire.ask().await
}

fn read(answer: &[u8], transactions: bool) -> Result<Limits, OpError> {
    let mut limits = Limits {
        batch_documents: 1000,
        message_bytes: 48_000_000,
    };
    let (mut version, mut is_replica, mut is_mongos, mut has_sessions) = (0, false, false, false);
    let mut all = bson::elements(answer)?;
    while let Some((name, value)) = all.next()? {
        let size = |least: usize, most: usize| {
            let size = value.whole_number().and_then(|size| usize::try_from(size).ok());
            size.map_or(least, |size| size.clamp(least, most))
        };
        match name {
            b"maxWriteBatchSize" => limits.batch_documents = size(1, 100_000),
            b"maxMessageSizeBytes" => limits.message_bytes = size(1 << 20, 48_000_000),
            b"maxWireVersion" => version = value.whole_number().unwrap_or_default(),
            b"setName" => is_replica = true,
            b"msg" => is_mongos = value == Bson::Text(b"isdbgrid"),
            b"logicalSessionTimeoutMinutes" => has_sessions = value.whole_number().is_some(),
            _ => {}
        }
    }
    if version < WIRE_VERSION_MIN {
        return Err(lacking("the server is older than 3.6"));
    }
    if transactions {
        let least = match is_mongos {
            true => WIRE_VERSION_OF_SHARDED_TRANSACTIONS,
            false => WIRE_VERSION_OF_TRANSACTIONS,
        };
        if !(is_replica || is_mongos) || !has_sessions || version < least {
            return Err(lacking(
                "transactions = true needs a member of a replica set (4.0 or later) or `mongos` (4.2), and this server is neither",
            ));
        }
    }
    Ok(limits)
}

#[cold]
fn lacking(what: &str) -> OpError {
    OpError::fail(FailClass::Refused, "VERSION", what)
}

/// Logs in by SCRAM-SHA-256.
pub async fn log_in(wire: &mut Wire, source: &str, user: &str, password: &Password) -> Result<(), OpError> {
    let login = Login::new(user, &STANDARD.encode(random::<24>()?));
    let (request, body) = wire.begin();
    bson::int32(request, b"saslStart\0", 1);
    bson::text(request, b"mechanism\0", b"SCRAM-SHA-256");
    bson::binary(request, b"payload\0", 0, login.first().as_bytes());
    let options = bson::open_document(request, b"options\0");
    bson::bool(request, b"skipEmptyExchange\0", true);
    bson::close(request, options);
    bson::text(request, b"$db\0", source.as_bytes());
    end(request, body);
    wire.ask().await?;
    let challenge = Step::read(wire.answer())?;
    let conversation = challenge.conversation;
    let (answer, expected) = login.last(password, challenge.payload)?;
    go_on(wire, conversation, answer.as_bytes(), source).await?;
    let last = Step::read(wire.answer())?;
    if last.payload != expected.as_bytes() {
        return Err(refused("the server does not know the password either"));
    }
    if !last.is_done {
        go_on(wire, conversation, b"", source).await?; // servers before 4.4 want one more
        if !Step::read(wire.answer())?.is_done {
            return Err(refused("it goes on without an end"));
        }
    }
    Ok(())
}

async fn go_on(wire: &mut Wire, conversation: i32, payload: &[u8], source: &str) -> Result<(), OpError> {
    let (request, body) = wire.begin();
    bson::int32(request, b"saslContinue\0", 1);
    bson::int32(request, b"conversationId\0", conversation);
    bson::binary(request, b"payload\0", 0, payload);
    bson::text(request, b"$db\0", source.as_bytes());
    end(request, body);
    wire.ask().await
}

struct Step<'a> {
    conversation: i32,
    is_done: bool,
    payload: &'a [u8],
}

impl<'a> Step<'a> {
    fn read(answer: &'a [u8]) -> Result<Self, OpError> {
        let (mut conversation, mut is_done, mut payload, mut is_ok) = (0, false, None, false);
        let mut all = bson::elements(answer)?;
        while let Some((name, value)) = all.next()? {
            match (name, value) {
                (b"ok", value) => is_ok = value.is_true(),
                (b"done", value) => is_done = value.is_true(),
                (b"conversationId", Bson::Int(number)) => conversation = number as i32,
                (b"payload", Bson::Binary(bytes)) => payload = Some(bytes),
                _ => {}
            }
        }
        match payload {
            _ if !is_ok => Err(server_error(answer)),
            Some(payload) => Ok(Self {
                conversation,
                is_done,
                payload,
            }),
            None => Err(malformed("a login without a payload")),
        }
    }
}

pub fn random<const N: usize>() -> Result<[u8; N], OpError> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| OpError::fail(FailClass::Other, "CLIENT", "this machine gives no random numbers"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answer(version: i32, set: bool, mongos: bool, sessions: bool) -> Vec<u8> {
        let mut out = vec![];
        let start = bson::open(&mut out);
        bson::int32(&mut out, b"maxWireVersion\0", version);
        bson::int32(&mut out, b"maxMessageSizeBytes\0", 2_000_000);
        bson::int64(&mut out, b"maxWriteBatchSize\0", -3);
        if set {
            bson::text(&mut out, b"setName\0", b"rs0");
        }
        if mongos {
            bson::text(&mut out, b"msg\0", b"isdbgrid");
        }
        if sessions {
            bson::int32(&mut out, b"logicalSessionTimeoutMinutes\0", 30);
        }
        bson::close(&mut out, start);
        out
    }

    #[test]
    fn transactions_need_a_replica_set_or_mongos_of_a_version_that_has_them() {
        for (version, set, mongos, sessions, has) in [
            (7, true, false, true, true),
            (8, false, true, true, true),
            (7, false, true, true, false),
            (6, true, false, true, false),
            (21, false, false, true, false),
            (8, true, false, false, false),
        ] {
            let answer = answer(version, set, mongos, sessions);
            assert_eq!(
                read(&answer, true).is_ok(),
                has,
                "{version} {set} {mongos} {sessions}"
            );
            assert!(read(&answer, false).is_ok());
        }
        assert!(
            read(&answer(5, true, false, true), false)
                .unwrap_err()
                .message
                .contains("3.6")
        );
    }

    #[test]
    fn limits_are_the_servers_within_bounds() {
        let limits = Limits {
            batch_documents: 1,
            message_bytes: 2_000_000,
        };
        assert_eq!(read(&answer(8, false, false, true), false).unwrap(), limits);
    }
}
