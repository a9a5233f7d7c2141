//! What is the MySQL protocol's own, through mysql_async.
#[path = "mysql_cases.rs"]
mod cases;
#[path = "server_cases.rs"]
mod server_cases;

use crate::bench::{mysql_spec, open};
use crate::scripted;
use bakeoff_drivers::TlsSpec;
use bakeoff_drivers::mysql::MysqlSpec;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::value::Value;
use client::{driver, run};
use server_cases::session;

mod client {
    use bakeoff_drivers::mysql::MysqlSpec;
    use bakeoff_drivers::mysql::library::{LibraryDriver, LibrarySession};
    use bakeoff_model::sql_records::SqlRecords;
    use std::time::Duration;

    pub use crate::bench::{mysql_driver as driver, run};
    pub type Session = SqlRecords<LibrarySession>;

    pub fn driver_within(spec: MysqlSpec, timeout: Duration) -> LibraryDriver {
        LibraryDriver::new(spec, None, timeout).unwrap()
    }
}

#[test]
fn tls_encrypts_and_verifies_where_the_environment_names_an_authority() {
    let Some(spec) = mysql_spec() else { return };
    let Ok(ca_file) = std::env::var("BAKEOFF_TEST_MYSQL_CA") else {
        println!("skipped: no server with TLS to test against (BAKEOFF_TEST_MYSQL_CA is not set)");
        return;
    };
    let with = |tls| MysqlSpec {
        tls: Some(tls),
        ..spec.clone()
    };
    run(async {
        for tls in [
            TlsSpec {
                ca_file: Some(ca_file),
                verify: true,
            },
            TlsSpec {
                ca_file: None,
                verify: false,
            },
        ] {
            let mut session = session(with(tls)).await;
            let statement = session
                .sql()
                .prepare(&Ask::read("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))
                .await
                .unwrap();
            let row = session.sql().query_one(statement, &[]).await.unwrap().unwrap();
            assert!(
                matches!(row.cell(1), Some(Value::Text(cipher)) if !cipher.is_empty()),
                "not encrypted"
            );
        }
        // An authority that did not sign the server's certificate is not enough.
        let error = open(&driver(
            with(TlsSpec {
                ca_file: None,
                verify: true,
            }),
            None,
        ))
        .await
        .err()
        .unwrap();
        assert!(error.message.contains("certificate"), "{error}");
    });
}

#[test]
fn a_server_without_tls_is_told_from_one_with() {
    let Some(spec) = mysql_spec() else { return };
    if std::env::var("BAKEOFF_TEST_MYSQL_CA").is_ok() {
        println!("skipped: the server has TLS (BAKEOFF_TEST_MYSQL_CA is set)");
        return;
    }
    let tls = Some(TlsSpec {
        ca_file: None,
        verify: false,
    });
    run(async {
        match open(&driver(MysqlSpec { tls, ..spec }, None)).await {
            // Some servers make themselves a certificate.
            Ok(mut session) => {
                let statement = session
                    .sql()
                    .prepare(&Ask::read("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))
                    .await
                    .unwrap();
                let row = session.sql().query_one(statement, &[]).await.unwrap().unwrap();
                assert!(
                    matches!(row.cell(1), Some(Value::Text(cipher)) if !cipher.is_empty()),
                    "not encrypted"
                );
            }
            Err(error) => assert!(error.message.contains("SSL"), "{error}"),
        }
    });
}

#[test]
fn a_server_that_does_not_tell_where_a_session_comes_from_gives_it_all_the_same() {
    let said = vec![
        scripted::mysql_greeting(),
        scripted::packet(2, scripted::OK),
        scripted::packet(1, b"\xff\x76\x04#42000no list of processes"),
    ];
    let opened = scripted::serve(scripted::Conversation::new(said), |address| {
        run(async { open(&driver(cases::at(address), None)).await.map(drop) })
    });
    opened.unwrap();
}
