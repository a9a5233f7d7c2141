//! What is PostgreSQL's own, through our own client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // test code throughout
mod bench;
#[path = "postgresql_cases/mod.rs"]
mod cases;
mod server_cases;

use bakeoff_drivers::postgresql::wire::WireDriver;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::run::{PostgresqlSpec, Secret, TlsSpec};
use bakeoff_model::sql::{SpeaksSql, SqlSession};
use std::io::{Read, Write};

mod client {
    use bakeoff_drivers::postgresql::wire::{WireDriver, WireSession};
    use bakeoff_drivers::records::SqlRecords;
    use bakeoff_model::run::PostgresqlSpec;
    use std::time::Duration;

    pub use crate::bench::{postgresql_wire_driver as driver, run_on_reactor as run};
    pub type Session = SqlRecords<WireSession>;

    pub fn driver_within(spec: PostgresqlSpec, timeout: Duration) -> WireDriver {
        WireDriver::new(&spec, None, timeout).unwrap()
    }
}

#[test]
fn tls_is_refused_and_the_client_that_has_it_named() {
    let tls = Some(TlsSpec {
        ca_file: None,
        verify: false,
    });
    let spec = PostgresqlSpec {
        tls,
        ..cases::at("127.0.0.1:1")
    };
    let trouble = WireDriver::new(&spec, None, bench::TIMEOUT).err().unwrap();
    assert!(trouble.hint.contains("tokio_postgres"), "{trouble:?}");
}

#[test]
fn over_plain_tcp_nobody_gets_the_password_by_asking_for_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut heard = vec![0; 1000];
        let greeted = stream.read(&mut heard).unwrap();
        stream.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
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
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused));
    assert!(error.message.contains("tls"), "{error}");
    let heard = serving.join().unwrap();
    assert!(!heard.windows(7).any(|window| window == b"hunter2"), "{heard:?}");
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
