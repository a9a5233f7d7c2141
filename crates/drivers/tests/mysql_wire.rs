//! What is the MySQL protocol's own, through our own client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout
mod bench;
#[path = "mysql_cases/mod.rs"]
mod cases;
mod scripted;
mod server_cases;

use bakeoff_drivers::mysql::wire::WireDriver;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::run::{MysqlSpec, TlsSpec};
use bakeoff_model::transaction::{Access, Transactional};
use scripted::Conversation;

mod client {
    use bakeoff_drivers::mysql::wire::{WireDriver, WireSession};
    use bakeoff_drivers::records::SqlRecords;
    use bakeoff_model::run::MysqlSpec;
    use std::time::Duration;

    pub use crate::bench::{run_on_reactor as run, wire_driver as driver};
    pub type Session = SqlRecords<WireSession>;

    pub fn driver_within(spec: MysqlSpec, timeout: Duration) -> WireDriver {
        WireDriver::new(spec, None, timeout).unwrap()
    }
}

#[test]
fn tls_is_refused_and_the_client_that_has_it_named() {
    let Some(spec) = bench::mysql_spec() else { return };
    let tls = Some(TlsSpec {
        ca_file: None,
        verify: false,
    });
    let refused = WireDriver::new(
        bakeoff_model::run::MysqlSpec { tls, ..spec },
        None,
        bench::TIMEOUT,
    );
    let trouble = refused.err().unwrap();
    assert!(trouble.hint.contains("mysql_async"), "{trouble:?}");
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
    use bakeoff_model::sql::SpeaksSql;
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
