//! What is the MySQL protocol's own, through our own client.
use crate::bench;
#[path = "mysql_cases.rs"]
mod cases;
#[path = "server_cases.rs"]
mod server_cases;

use crate::scripted::{self, Conversation};
use bakeoff_drivers::mysql::MysqlSpec;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::pipeline::{Part, Pipeline};
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod client {
    use bakeoff_drivers::mysql::MysqlSpec;
    use bakeoff_drivers::mysql::wire::{WireDriver, WireSession};
    use bakeoff_model::sql_records::SqlRecords;
    use std::time::Duration;

    pub use crate::bench::{run_on_reactor as run, wire_driver as driver};
    pub type Session = SqlRecords<WireSession>;

    pub fn driver_within(spec: MysqlSpec, timeout: Duration) -> WireDriver {
        WireDriver::new(spec, None, timeout).unwrap()
    }
}

#[test]
fn a_server_without_tls_is_reported_and_hears_nothing() {
    let said = vec![scripted::mysql_greeting()];
    let (error, heard) = scripted::serve_and_hear(Conversation::new(said), |address| {
        server_cases::refusal(server_cases::encrypted(
            &scripted::spec(address, false),
            None,
            false,
        ))
    });
    assert!(error.code == "TLS" && error.message.contains("SSL"), "{error}");
    assert!(heard.is_empty(), "{heard:?}");
}

/// What becomes of a login when the server asks for the password itself, and what the server has heard after each word.
fn full_authentication(account: impl Fn(MysqlSpec) -> MysqlSpec) -> (OpError, Vec<Vec<u8>>) {
    let said = vec![scripted::mysql_greeting(), scripted::packet(2, &[1, 4])];
    scripted::serve_and_hear(Conversation::new(said), |address| {
        let spec = account(scripted::spec(address, false));
        client::run(bench::open(&client::driver(spec, None)))
            .err()
            .unwrap()
    })
}

#[test]
fn over_plain_tcp_nobody_gets_the_password_by_asking_for_it() {
    let (error, heard) = full_authentication(|spec| spec);
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused));
    assert!(error.message.contains("server_public_key_file"), "{error}");
    assert_eq!(heard.len(), 1, "not even a key is asked for");
}

#[test]
fn the_password_is_given_to_who_has_the_key_that_the_plan_names() {
    let file = bench::sqlite_file().with_extension("pem");
    std::fs::write(&file, scripted::PUBLIC_KEY).unwrap();
    let (_, heard) = full_authentication(|spec| MysqlSpec {
        server_public_key_file: Some(file.display().to_string()),
        ..spec
    });
    assert_eq!(heard[1].len(), 256, "as long as the key");
}

#[test]
fn a_commit_that_the_server_could_not_finish_is_unknown() {
    let during_commit = b"\xFF\x9C\x04#HY000Got error 28 during COMMIT";
    let said = vec![
        scripted::mysql_greeting(),
        scripted::packet(2, scripted::OK),
        scripted::answer(&[scripted::OK]),
        scripted::answer(&[during_commit]),
    ];
    let error = scripted::serve(Conversation::new(said), |address| {
        client::run(async {
            let mut session = server_cases::session(scripted::spec(address, false)).await;
            session.sql().begin(Access::default()).await.unwrap();
            session.sql().commit().await.unwrap_err()
        })
    });
    assert_eq!((error.outcome, &*error.code), (Outcome::Unknown, "1180"));
}

/// Three statements sent together to a server that answers them so; what the sink received, and how it ended. Afterwards
/// the session asks again.
fn piped(answers: [&[u8]; 3], also: Option<&[u8]>) -> (Vec<usize>, Option<OpError>, bool) {
    let mut said = vec![
        scripted::mysql_greeting(),
        scripted::packet(2, scripted::OK),
        scripted::answer(&[&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]), // prepared, of no columns and no parameters
    ];
    said.extend(
        answers
            .iter()
            .filter(|told| !told.is_empty())
            .map(|told| scripted::answer(&[told])),
    );
    said.extend(also.map(|told| scripted::answer(&[told])));
    let mut conversation = Conversation::new(said);
    conversation.piece_bytes = 3;
    scripted::serve(conversation, |address| {
        client::run(async {
            let mut session = server_cases::session(scripted::spec(address, false)).await;
            let read = session.sql().prepare(&Ask::read("SELECT 1")).await.unwrap();
            let mut pipeline = Pipeline::default();
            (0..3).for_each(|_| pipeline.push(read, &[]));
            let mut ended = Vec::new();
            let mut each = |place: usize, _: Part<'_>| ended.push(place);
            let outcome = session.sql().run_pipeline(&pipeline, &mut each).await;
            let goes_on = session.sql().execute(read, &[]).await.is_ok();
            (ended, outcome.err(), goes_on)
        })
    })
}

#[test]
fn of_a_pipeline_the_first_error_counts_and_the_other_answers_are_taken_in() {
    let first = b"\xFF\x14\x04#42S02first".as_slice();
    let second = b"\xFF\x14\x04#42S02second".as_slice();
    let ok = scripted::OK;
    for (answers, told, message) in [
        ([ok, first, ok], vec![0], Some("first")),
        ([first, second, ok], vec![], Some("first")),
        ([ok, ok, second], vec![0, 1], Some("second")),
        ([ok, ok, ok], vec![0, 1, 2], None),
    ] {
        let (ended, error, goes_on) = piped(answers, Some(ok));
        assert_eq!((ended, goes_on), (told, true), "{error:?}");
        assert_eq!(error.as_ref().map(|error| &*error.message), message);
    }
}

#[test]
fn a_pipeline_whose_server_leaves_in_the_middle_is_lost() {
    let shut_down = b"\xFF\x1D\x04#08S01Server shutdown".as_slice();
    let ok = scripted::OK;
    for (answers, told) in [
        ([ok, b"", b""], vec![0]),
        ([ok, ok, b""], vec![0, 1]),
        ([ok, shut_down, b""], vec![0]),
    ] {
        let (ended, error, goes_on) = piped(answers, None);
        assert_eq!((ended, goes_on), (told, false));
        server_cases::assert_lost(&error.unwrap());
    }
}

/// Passes on what the clients of a server say until two have been there and the second has left, and says what all said.
fn eavesdrop(server: String, listener: TcpListener) -> Vec<u8> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let client = listener.accept().unwrap().0;
            let server = TcpStream::connect(&server).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (mut from, mut to, said) = (client, server, said.clone());
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = from.read(&mut piece) {
                    said.lock().unwrap().extend_from_slice(&piece[..length]);
                    to.write_all(&piece[..length]).unwrap();
                }
                let _ = to.shutdown(Shutdown::Both);
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    said.lock().unwrap().clone()
}

#[test]
fn a_session_that_may_be_somebody_elses_is_not_killed() {
    let Some(spec) = bench::mysql_spec() else { return };
    // Behind a proxy the server sees another port than ours, as it would of a stranger with the same number.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = bench::endpoint(&listener.local_addr().unwrap().to_string());
    let server = spec.endpoints[0].address.clone();
    let passing = std::thread::spawn(move || eavesdrop(server, listener));
    client::run(async {
        let there = MysqlSpec {
            endpoints: vec![proxy],
            tls: None,
            ..spec.clone()
        };
        let mut victim = server_cases::session(there).await;
        let number = cases::number(&mut victim).await;
        let mut asleep = Box::pin(async move {
            let _ = victim.sql().query_text(cases::SLEEP, &mut |_| {}).await;
            victim
        });
        let mut other = server_cases::session(spec).await;
        server_cases::until_busy(&mut asleep, &number, &mut other).await;
        drop(asleep);
        // The eavesdropper's thread ends when the second connection has been closed.
        while !passing.is_finished() {
            bakeoff_model::time::sleep(Duration::from_millis(5)).await;
        }
        let _ = other.sql().execute_text(&format!("KILL {number}")).await;
    });
    let said = passing.join().unwrap();
    let says = |words: &str| said.windows(words.len()).any(|part| part == words.as_bytes());
    assert!(says("FROM information_schema.PROCESSLIST") && !says("KILL"));
}
