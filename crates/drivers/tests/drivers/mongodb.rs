//! What is MongoDB's own: logins, transactions and errors, at servers that follow a script. The peer has none of them.
use crate::bench::{TIMEOUT, endpoint, open, run_on_reactor};
use crate::scripted::mongodb::{batch, hear, member, message, spec};
use bakeoff_drivers::Secret;
use bakeoff_drivers::mongodb::{MongodbDriver, MongodbSession, MongodbSpec};
use bakeoff_model::document::{
    Collection, CollectionSpec, DocumentSession, Expect, Keyed, Patch, PathKind, PathSpec, Select,
};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::transaction::Transactional;
use bakeoff_model::value::Value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use serde_json::{Value as Json, json};
use std::future::Future;
use std::io::Write;
use std::net::TcpListener;
use std::num::NonZeroU32;
use std::time::Duration;

const C: Collection = Collection(0);
const DOCUMENT: Keyed<'_> = Keyed {
    key: b"k",
    json: b"{\"a\":1}",
};
const PATCH: &[Patch<'_>] = &[Patch {
    path: 0,
    value: Value::Int(2),
}];

fn collection() -> CollectionSpec {
    CollectionSpec {
        name: "c".into(),
        key_length: 10,
        paths: vec![PathSpec {
            steps: vec!["a".into()],
            kind: PathKind::Integer,
            indexed: true,
        }],
    }
}

/// Runs a test at a server that answers each request with what `answer` makes of its number (from 1) and its bytes, until that is
/// nothing: then it hangs up. What it has heard comes back, too.
fn ask<T, F: Future<Output = T>>(
    change: impl FnOnce(&mut MongodbSpec),
    mut answer: impl FnMut(u32, &[u8]) -> Option<Json> + Send + 'static,
    test: impl FnOnce(MongodbDriver) -> F,
) -> (T, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut heard = vec![];
        for number in 1.. {
            let Some(request) = hear(&mut stream) else { break };
            let said = answer(number, &request);
            heard.push(request);
            let Some(said) = said else { break };
            let asked = u32::from_le_bytes(*heard[heard.len() - 1][4..].first_chunk().unwrap());
            stream.write_all(&message(asked, &said)).unwrap();
        }
        heard
    });
    let mut spec = spec(&address);
    change(&mut spec);
    let driver = MongodbDriver::new(spec, TIMEOUT).unwrap();
    let outcome = run_on_reactor(test(driver));
    (outcome, serving.join().unwrap())
}

/// The same, at the member of a replica set, with a session on its collection.
fn with_session<T>(
    answers: Vec<Json>,
    test: impl AsyncFnOnce(&mut MongodbSession) -> T,
) -> (T, Vec<Vec<u8>>) {
    let said = move |number: u32, _: &[u8]| match number {
        1 => Some(member()),
        _ => answers.get(number as usize - 2).cloned(),
    };
    ask(
        |_| {},
        said,
        async move |driver| {
            let mut session = open(&driver).await.unwrap();
            session.attach(&[collection()]).await.unwrap();
            test(&mut session).await
        },
    )
}

fn has(heard: &[u8], words: &str) -> bool {
    heard
        .windows(words.len())
        .any(|window| window == words.as_bytes())
}

fn done(count: u32) -> Json {
    json!({ "n": count, "ok": 1 })
}

fn failed(code: i32) -> Json {
    json!({ "ok": 0, "code": code, "errmsg": "words" })
}

// -- login ---------------------------------------------------------------------------------------------------------------

/// The server's half of SCRAM-SHA-256, for an account with this password.
struct Accounts {
    password: &'static str,
    honest: bool,
    nonce: String,
    signed: String,
}

const SALT: &[u8] = b"0123456789abcdef";
const ROUNDS: u32 = 5000;

fn sign(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
        .as_ref()
        .to_vec()
}

impl Accounts {
    fn new(password: &'static str, honest: bool) -> Self {
        Self {
            password,
            honest,
            nonce: String::new(),
            signed: String::new(),
        }
    }

    fn answer(&mut self, number: u32, request: &[u8]) -> Option<Json> {
        let text = String::from_utf8_lossy(request).into_owned();
        match number {
            1 => Some(member()),
            2 => {
                let start = text.find("n,,").unwrap() + 3;
                let first: String = text[start..]
                    .chars()
                    .take_while(|c| c.is_ascii_graphic())
                    .collect();
                let client_nonce = first.split_once(",r=").unwrap().1;
                self.nonce = format!("{client_nonce}more");
                let challenge = format!("r={},s={},i={ROUNDS}", self.nonce, STANDARD.encode(SALT));
                self.signed = format!("{first},{challenge},c=biws,r={}", self.nonce);
                Some(step(&challenge, false))
            }
            3 => {
                let mut salted = [0; 32];
                let rounds = NonZeroU32::new(ROUNDS).unwrap();
                pbkdf2::derive(
                    pbkdf2::PBKDF2_HMAC_SHA256,
                    rounds,
                    SALT,
                    self.password.as_bytes(),
                    &mut salted,
                );
                let client_key = sign(&salted, b"Client Key");
                let stored = digest::digest(&digest::SHA256, &client_key);
                let signature = sign(stored.as_ref(), self.signed.as_bytes());
                let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
                if !text.contains(&format!("c=biws,r={},p={}", self.nonce, STANDARD.encode(proof))) {
                    return Some(failed(18));
                }
                let server_key = sign(&salted, if self.honest { b"Server Key" } else { b"other" });
                let verifier = STANDARD.encode(sign(&server_key, self.signed.as_bytes()));
                Some(step(&format!("v={verifier}"), false))
            }
            4 => Some(step("", true)),
            _ => None,
        }
    }
}

/// Bytes as the tests' encoder has them: told from texts by their name.
fn step(payload: &str, is_done: bool) -> Json {
    json!({ "ok": 1, "conversationId": 1, "done": is_done, "payload": { "$binary": payload } })
}

fn logged_in(password: &'static str, honest: bool) -> (Result<(), OpError>, Vec<Vec<u8>>) {
    let mut accounts = Accounts::new(password, honest);
    let file = crate::bench::sqlite_file().with_extension("password");
    std::fs::write(&file, "pencil").unwrap();
    let account = |spec: &mut MongodbSpec| {
        spec.user = Some("user".into());
        spec.password = Some(Secret::File(file.display().to_string()));
    };
    ask(
        account,
        move |number, request| accounts.answer(number, request),
        async |driver| open(&driver).await.map(drop),
    )
}

#[test]
fn an_account_logs_in_and_its_password_goes_nowhere() {
    let (outcome, heard) = logged_in("pencil", true);
    outcome.unwrap();
    assert_eq!(heard.len(), 4);
    assert!(heard.iter().all(|heard| !has(heard, "pencil")));
    assert!(has(&heard[1], "SCRAM-SHA-256") && has(&heard[1], "admin"));
}

#[test]
fn a_wrong_password_is_refused_and_a_server_without_the_account_is_not_believed() {
    let refused = logged_in("another", true).0.unwrap_err();
    assert_eq!(
        (refused.outcome, &*refused.code),
        (Outcome::Fail(FailClass::Refused), "18")
    );
    assert!(
        refused.message.contains("could not log in") && refused.message.contains("auth_source"),
        "{refused}"
    );
    let liar = logged_in("pencil", false).0.unwrap_err();
    assert!(liar.message.contains("does not know the password"), "{liar}");
}

// -- greeting ------------------------------------------------------------------------------------------------------------

fn greeted(answers: Vec<Json>, change: impl FnOnce(&mut MongodbSpec)) -> Result<(), OpError> {
    let said = move |number: u32, _: &[u8]| answers.get(number as usize - 1).cloned();
    ask(change, said, async |driver| open(&driver).await.map(drop)).0
}

#[test]
fn a_server_of_before_is_greeted_by_its_own_word() {
    greeted(vec![failed(59), member()], |_| {}).unwrap();
    let error = greeted(vec![failed(59), failed(13)], |_| {}).unwrap_err();
    assert_eq!(&*error.code, "13");
}

#[test]
fn transactions_on_a_server_that_has_none_are_refused_in_words() {
    let alone = json!({ "ok": 1, "maxWireVersion": 21, "logicalSessionTimeoutMinutes": 30 });
    let error = greeted(vec![alone.clone()], |_| {}).unwrap_err();
    assert!(error.message.contains("replica set"), "{error}");
    greeted(vec![alone], |spec| spec.transactions = false).unwrap();
    let old = json!({ "ok": 1, "maxWireVersion": 5 });
    let error = greeted(vec![old], |spec| spec.transactions = false).unwrap_err();
    assert!(error.message.contains("3.6"), "{error}");
}

#[test]
fn a_server_that_says_nothing_is_waited_for_no_longer_than_the_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let spec = MongodbSpec {
        endpoints: vec![endpoint(&listener.local_addr().unwrap().to_string())],
        ..spec("")
    };
    let driver = MongodbDriver::new(spec, Duration::from_millis(100)).unwrap();
    let error = run_on_reactor(open(&driver)).err().unwrap();
    assert_eq!(&*error.code, "CONNECT_TIMEOUT", "{error}");
}

#[test]
fn with_tls_the_first_byte_is_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut first = [0];
        std::io::Read::read_exact(&mut stream, &mut first).unwrap();
        first
    });
    let spec = MongodbSpec {
        tls: Some(bakeoff_drivers::TlsSpec {
            ca_file: None,
            verify: false,
        }),
        ..spec(&address)
    };
    let driver = MongodbDriver::new(spec, TIMEOUT).unwrap();
    assert!(run_on_reactor(open(&driver)).is_err());
    assert_eq!(serving.join().unwrap(), [0x16]);
}

// -- transactions --------------------------------------------------------------------------------------------------------

#[test]
fn a_transaction_is_begun_by_its_first_command_and_committed_by_one() {
    let answers = vec![done(1), done(1), json!({ "ok": 1 }), done(1)];
    let (_, heard) = with_session(answers, async |session| {
        session.begin(Default::default()).await.unwrap();
        session.patch(C, b"k", PATCH).await.unwrap();
        session.patch(C, b"k", PATCH).await.unwrap();
        session.commit().await.unwrap();
        session.patch(C, b"k", PATCH).await.unwrap();
    });
    let said = |place: usize, words: &str| has(&heard[place], words);
    assert!(said(1, "startTransaction") && said(1, "txnNumber") && said(1, "lsid"));
    assert!(!said(2, "startTransaction") && said(2, "txnNumber") && said(2, "autocommit"));
    assert!(said(3, "commitTransaction") && said(3, "admin"));
    assert!(!said(4, "txnNumber"));
}

#[test]
fn a_transaction_without_a_command_is_nothing_to_the_server() {
    let (_, heard) = with_session(vec![], async |session| {
        for _ in 0..2 {
            session.begin(Default::default()).await.unwrap();
            session.commit().await.unwrap();
            session.begin(Default::default()).await.unwrap();
            session.rollback().await.unwrap();
        }
    });
    assert_eq!(heard.len(), 1);
}

#[test]
fn a_conflict_undoes_its_transaction_and_the_session_goes_on() {
    let conflict =
        json!({ "ok": 0, "code": 112, "errmsg": "w", "errorLabels": ["TransientTransactionError"] });
    let (error, heard) = with_session(vec![conflict, failed(251), done(1)], async |session| {
        session.begin(Default::default()).await.unwrap();
        let patched = session.patch(C, b"k", PATCH).await;
        let error = session.end(patched).await.unwrap_err();
        session.patch(C, b"k", PATCH).await.unwrap();
        error
    });
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict));
    assert!(!error.connection_lost);
    assert!(has(&heard[2], "abortTransaction"));
}

#[test]
fn nobody_knows_of_a_commit_that_was_not_answered_in_time_or_not_by_enough_members() {
    let unacknowledged = json!({ "ok": 1, "writeConcernError": { "code": 64, "errmsg": "waited" } });
    for answer in [failed(50), failed(91), unacknowledged] {
        let (error, _) = with_session(vec![done(1), answer], async |session| {
            session.begin(Default::default()).await.unwrap();
            session.patch(C, b"k", PATCH).await.unwrap();
            session.commit().await.unwrap_err()
        });
        assert_eq!(error.outcome, Outcome::Unknown, "{error}");
        assert_eq!(error.statement.as_deref(), Some("commitTransaction"));
    }
}

#[test]
fn a_session_that_goes_away_ends_its_transaction() {
    let (_, heard) = with_session(vec![done(1)], async |session| {
        session.begin(Default::default()).await.unwrap();
        session.patch(C, b"k", PATCH).await.unwrap();
    });
    assert!(has(heard.last().unwrap(), "abortTransaction"));
}

#[test]
fn a_batch_is_a_transaction_of_its_own() {
    let (outcome, heard) = with_session(vec![done(1), json!({ "ok": 1 })], async |session| {
        session.put_batch(C, &[DOCUMENT]).await
    });
    assert_eq!(outcome.unwrap(), 1);
    assert!(has(&heard[1], "startTransaction") && has(&heard[2], "commitTransaction"));
}

// -- writes --------------------------------------------------------------------------------------------------------------

#[test]
fn a_batch_goes_in_as_many_commands_as_the_server_wants() {
    let greeting =
        json!({ "ok": 1, "maxWireVersion": 21, "maxWriteBatchSize": 2, "maxMessageSizeBytes": 1 << 20 });
    let said = move |number: u32, request: &[u8]| match number {
        1 => Some(greeting.clone()),
        _ => Some(done(
            request
                .windows(6)
                .filter(|window| window == b"\x02_id\0\x02")
                .count() as u32,
        )),
    };
    let alone = |spec: &mut MongodbSpec| spec.transactions = false;
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(700_000));
    let ((stored, large_stored), heard) = ask(alone, said, async |driver| {
        let mut session = open(&driver).await.unwrap();
        session.attach(&[collection()]).await.unwrap();
        let small = session
            .put_batch(
                C,
                &[Keyed {
                    key: b"1",
                    ..DOCUMENT
                }; 5],
            )
            .await
            .unwrap();
        let document = Keyed {
            key: b"1",
            json: large.as_bytes(),
        };
        (small, session.put_batch(C, &[document; 2]).await.unwrap())
    });
    assert_eq!((stored, large_stored), (5, 2));
    assert_eq!(heard.len(), 1 + 3 + 2);
    assert!(heard.iter().all(|request| request.len() <= 1 << 20));
    assert!(
        heard[1..]
            .iter()
            .all(|request| has(request, "documents") && !has(request, "lsid"))
    );
}

fn written(answer: Json) -> OpError {
    let (error, _) = with_session(vec![answer], async |session| {
        session.put(C, DOCUMENT, Expect::Present).await.unwrap_err()
    });
    assert_eq!(error.statement.as_deref(), Some("update"));
    error
}

#[test]
fn a_write_that_may_be_rolled_back_is_unknown_and_a_node_that_is_no_primary_is_left() {
    let concern = json!({ "n": 1, "ok": 1, "writeConcernError": { "code": 64, "errmsg": "waited" } });
    let error = written(concern);
    assert_eq!((error.outcome, error.leave_node), (Outcome::Unknown, false));
    let error = written(failed(10107));
    assert_eq!(
        (error.outcome, error.leave_node),
        (Outcome::Fail(FailClass::Refused), true)
    );
    let error = written(failed(11600));
    assert_eq!((error.outcome, error.leave_node), (Outcome::Unknown, true));
    let duplicate =
        json!({ "n": 0, "ok": 1, "writeErrors": [{ "index": 0, "code": 11000, "errmsg": "dup" }] });
    assert_eq!(written(duplicate).outcome, Outcome::Fail(FailClass::Constraint));
}

#[test]
fn two_that_make_the_same_document_are_in_conflict() {
    let duplicate =
        json!({ "n": 0, "ok": 1, "writeErrors": [{ "index": 0, "code": 11000, "errmsg": "dup" }] });
    let (error, _) = with_session(vec![duplicate], async |session| {
        session.put(C, DOCUMENT, Expect::Anything).await.unwrap_err()
    });
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict));
}

#[test]
fn what_cannot_be_written_is_not_sent() {
    let ((), heard) = with_session(vec![done(1)], async |session| {
        let bad = Keyed {
            json: b"{\"_id\":1}",
            ..DOCUMENT
        };
        for expect in [Expect::Absent, Expect::Present] {
            let error = session.put(C, bad, expect).await.unwrap_err();
            assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused));
        }
        session.put(C, DOCUMENT, Expect::Present).await.unwrap();
    });
    assert_eq!(heard.len(), 2);
}

// -- reads ---------------------------------------------------------------------------------------------------------------

#[test]
fn a_cursor_that_is_gone_fails_the_read() {
    let first = batch("firstBatch", 9, &[json!({ "_id": "k", "#rev": 1, "a": 1 })]);
    let (error, heard) = with_session(vec![first, failed(43)], async |session| {
        session
            .range(C, b"", None, Select::Whole, &mut |_| {})
            .await
            .unwrap_err()
    });
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Other));
    assert!(has(&heard[2], "getMore") && !error.connection_lost);
}

#[test]
fn whether_a_collection_is_missing_is_asked_once_in_a_second_and_always_while_it_is() {
    let none = || batch("firstBatch", 0, &[]);
    let here = batch("firstBatch", 0, &[json!({ "name": "c", "type": "collection" })]);
    let answers = vec![none(), here, none(), none()];
    let (_, heard) = with_session(answers, async |session| {
        for _ in 0..3 {
            assert!(session.get(C, b"k", Select::Whole).await.unwrap().is_none());
        }
    });
    let asked = |heard: &[Vec<u8>]| heard.iter().filter(|heard| has(heard, "listCollections")).count();
    assert_eq!(asked(&heard), 1);
    let answers = (0..4).map(|_| none()).chain([none(), none()]).collect();
    let (_, heard) = with_session(answers, async |session| {
        for _ in 0..2 {
            let error = session.get(C, b"k", Select::Whole).await.unwrap_err();
            assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused));
        }
        // A write would make it again.
        assert!(session.put(C, DOCUMENT, Expect::Absent).await.is_err());
        assert!(session.put_batch(C, &[DOCUMENT]).await.is_err());
    });
    assert_eq!(asked(&heard), 4);
    assert!(heard.iter().all(|heard| !has(heard, "insert")));
}
