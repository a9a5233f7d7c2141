//! What is PostgreSQL's own, through our own client.
use crate::bench;
use crate::pipelines::{count, inserted, numbered, told};
#[path = "postgresql_cases.rs"]
mod cases;
#[path = "server_cases.rs"]
mod server_cases;

use bakeoff_drivers::Secret;
use bakeoff_drivers::postgresql::PostgresqlSpec;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::pipeline::Pipeline;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::value::Value;
use std::io::{Read, Write};

mod client {
    use bakeoff_drivers::postgresql::PostgresqlSpec;
    use bakeoff_drivers::postgresql::wire::{WireDriver, WireSession};
    use bakeoff_model::sql_records::SqlRecords;
    use std::time::Duration;

    pub use crate::bench::{postgresql_wire_driver as driver, run_on_reactor as run};
    pub type Session = SqlRecords<WireSession>;

    pub fn driver_within(spec: PostgresqlSpec, timeout: Duration) -> WireDriver {
        WireDriver::new(&spec, None, timeout).unwrap()
    }
}

/// Why a login by TLS fails at a server that answers this to the word for it.
fn answered(answer: &'static [u8]) -> OpError {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut word = [0; 8];
        stream.read_exact(&mut word).unwrap();
        stream.write_all(answer).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        (word, rest)
    });
    let error = server_cases::refusal(server_cases::encrypted(&cases::at(&address), None, false));
    let (word, rest) = serving.join().unwrap();
    assert_eq!(word, [0, 0, 0, 8, 4, 210, 22, 47]);
    // Nothing of the account goes anywhere in plain.
    assert!(rest.is_empty() || rest[0] == 0x16, "{rest:?}");
    error
}

#[test]
fn a_server_that_does_not_encrypt_is_reported_and_hears_nothing() {
    let none = answered(b"N");
    assert!(none.code == "TLS" && none.message.contains("SSL"), "{none}");
    // Put in on the way, to be taken for what the server says under TLS.
    let injected = answered(b"SR\0\0\0\x08\0\0\0\0");
    assert!(injected.message.contains("before the encryption"), "{injected}");
    assert!(answered(b"HTTP/1.1 400").message.contains("HTTP"));
    assert!(answered(b"E\0").message.contains("neither yes nor no"));
    let alert = answered(b"S");
    assert!(matches!(&*alert.code, "IO" | "TLS"), "{alert}");
}

/// How a login ends at a server that asks for the password in this way and hangs up; what the server has heard.
fn asked_for_its_password(request: &'static [u8]) -> (OpError, Vec<u8>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut heard = vec![0; 1000];
        let greeted = stream.read(&mut heard).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        heard.truncate(greeted);
        stream.read_to_end(&mut heard).unwrap();
        heard
    });
    let file = bench::sqlite_file().with_extension("password");
    std::fs::write(&file, "hunter2").unwrap();
    let spec = PostgresqlSpec {
        password: Some(Secret::File(file.display().to_string())),
        ..cases::at(&address)
    };
    let error = client::run(bench::open(&client::driver(spec, None)))
        .err()
        .unwrap();
    let heard = serving.join().unwrap();
    assert!(!heard.windows(7).any(|window| window == b"hunter2"), "{heard:?}");
    (error, heard)
}

#[test]
fn over_plain_tcp_nobody_gets_the_password_by_asking_for_it() {
    let (error, _) = asked_for_its_password(b"R\0\0\0\x08\0\0\0\x03");
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused));
    assert!(error.message.contains("tls"), "{error}");
}

#[test]
fn an_old_server_gets_a_hash_of_the_password_and_of_its_own_salt() {
    let (_, heard) = asked_for_its_password(b"R\0\0\0\x0c\0\0\0\x05abcd");
    assert!(
        heard.ends_with(b"md533fa5f9ad5c8be29d88215dfcd961e79\0"),
        "{heard:?}"
    );
}

#[test]
fn notices_are_counted() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    client::run(async {
        let mut session = server_cases::session(spec).await;
        let sql = session.sql();
        let before = sql.notices();
        sql.execute_text("DROP TABLE IF EXISTS no_such_table_here")
            .await
            .unwrap();
        assert_eq!(sql.notices(), before + 1);
    });
}

#[test]
fn a_commit_in_a_pipeline_that_undoes_is_no_commit() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    client::run(async {
        let mut session = server_cases::session(spec).await;
        let sql = session.sql();
        let (table, [insert, _]) = numbered(sql, "undone").await;
        let mut commit = Pipeline::default();
        commit.commit();
        told(sql, &inserted(insert, &[1, 1], b"")).await.1.unwrap_err();
        let error = told(sql, &commit).await.1.unwrap_err();
        assert_eq!(error.code, "25P02", "{error}");
        assert_eq!(count(sql, &table).await, "0");
        let few = inserted(insert, &[1], b"");
        let mut wrong = Pipeline::default();
        wrong.push(insert, &[Value::Int(1)]);
        let error = told(sql, &wrong).await.1.unwrap_err();
        assert!(error.message.contains("2 parameters wanted, 1 given"), "{error}");
        told(sql, &few).await.1.unwrap();
        told(sql, &commit).await.1.unwrap();
        assert_eq!(count(sql, &table).await, "1");
        sql.execute_text(&format!("DROP TABLE {table}")).await.unwrap();
    });
}
