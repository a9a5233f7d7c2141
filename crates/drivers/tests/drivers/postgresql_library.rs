//! What is PostgreSQL's own, through tokio-postgres.
use crate::bench;
#[path = "postgresql_cases.rs"]
mod cases;
#[path = "server_cases.rs"]
mod server_cases;

use bakeoff_drivers::TlsSpec;
use bakeoff_drivers::postgresql::PostgresqlSpec;
use bakeoff_drivers::postgresql::library::LibraryDriver;

mod client {
    use bakeoff_drivers::postgresql::PostgresqlSpec;
    use bakeoff_drivers::postgresql::library::{LibraryDriver, LibrarySession};
    use bakeoff_model::sql_records::SqlRecords;
    use std::time::Duration;

    pub use crate::bench::{postgresql_library_driver as driver, run};
    pub type Session = SqlRecords<LibrarySession>;

    pub fn driver_within(spec: PostgresqlSpec, timeout: Duration) -> LibraryDriver {
        LibraryDriver::new(&spec, None, timeout).unwrap()
    }
}

const ENCRYPTED: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

#[test]
fn tls_encrypts_and_verifies_where_the_environment_names_an_authority() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    let Ok(ca_file) = std::env::var("BAKEOFF_TEST_POSTGRESQL_CA") else {
        println!("skipped: no server with TLS to test against (BAKEOFF_TEST_POSTGRESQL_CA is not set)");
        return;
    };
    let with = |ca_file: Option<String>, verify| PostgresqlSpec {
        tls: Some(TlsSpec { ca_file, verify }),
        ..spec.clone()
    };
    client::run(async {
        for spec in [with(Some(ca_file), true), with(None, false)] {
            let mut session = server_cases::session(spec).await;
            assert_eq!(server_cases::ask(&mut session, ENCRYPTED).await.unwrap(), "t");
        }
        // An authority that did not sign the server's certificate is not enough.
        let stranger = bench::open(&client::driver(with(None, true), None)).await;
        let error = stranger.err().unwrap();
        assert!(error.message.contains("certificate"), "{error}");
    });
}

#[test]
fn a_password_over_plain_tcp_wants_a_word_that_it_is_a_throwaway_one() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    let spec = PostgresqlSpec {
        throwaway_password: false,
        ..spec
    };
    if spec.password.is_some() {
        let trouble = LibraryDriver::new(&spec, None, bench::TIMEOUT).err().unwrap();
        assert!(trouble.hint.contains("tls"), "{trouble:?}");
    }
}
