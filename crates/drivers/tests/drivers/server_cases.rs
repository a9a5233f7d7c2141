//! What the clients of all servers do alike: logging in, lost connections, locks. `super::client` says through which client,
//! `super::cases` against which kind of server.
use super::cases::{self, Spec, kill};
use super::client::{Session, driver, driver_within, run};
use crate::bench::{self, endpoint, open, row, table};
use bakeoff_drivers::{Secret, TlsSpec};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec, ValueType};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::{Access, Transactional};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{Read, Write};
use std::time::Duration;

pub const T: Table = Table(0);
pub const CHANGE: [FieldValue<'static>; 1] = [FieldValue {
    field: 0,
    value: b"x",
}];

pub async fn session(spec: Spec) -> Session {
    open(&driver(spec, None)).await.unwrap()
}

pub async fn on_table(server: Spec, spec: &TableSpec) -> Session {
    let mut session = session(server).await;
    session.attach(std::slice::from_ref(spec)).await.unwrap();
    session.drop_table(spec).await.unwrap();
    session.create_table(spec).await.unwrap();
    session
}

pub fn with(spec: &Spec, name: &str, value: &str) -> Spec {
    Spec {
        session_variables: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..spec.clone()
    }
}

/// The first cell that a query answers, as text.
pub async fn ask(session: &mut Session, sql: &str) -> Result<String, OpError> {
    let mut found = String::new();
    let mut each = |row: &RowBuf| {
        found = row.cell(0).expect("one cell").to_string();
    };
    session.sql().query_text(sql, &mut each).await?;
    Ok(found)
}

pub fn assert_lost(error: &OpError) {
    assert_eq!(error.outcome, Outcome::Unknown, "{error}");
    assert!(error.connection_lost, "{error}");
}

/// Why no session could be opened.
pub fn refusal(spec: Spec) -> OpError {
    run(open(&driver(spec, None))).err().unwrap()
}

#[test]
fn a_wrong_password_is_reported_without_the_password() {
    let Some(spec) = cases::spec() else { return };
    let file = bench::sqlite_file().with_extension("password");
    std::fs::write(&file, "hunter2-is-wrong\n").unwrap();
    let (address, user) = (spec.endpoints[0].address.clone(), spec.user.clone());
    let error = refusal(Spec {
        password: Some(Secret::File(file.display().to_string())),
        ..spec
    });
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
    assert!(
        error.message.contains(&address) && error.message.contains(&user),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn a_refused_connection_names_host_and_port() {
    let closed = "127.0.0.1:1"; // a port that nobody is given by chance
    let error = refusal(cases::at(closed));
    assert!(error.message.contains(closed), "{error}");
    assert!(
        !error.connection_lost && matches!(error.outcome, Outcome::Fail(_)),
        "{error:?}"
    );
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_the_timeout() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let driver = driver_within(cases::at(&address), Duration::from_millis(100));
    let error = run(open(&driver)).err().unwrap();
    assert_eq!(error.code, "CONNECT_TIMEOUT", "{error}");
}

/// The error when a server says this to every client and hangs up.
fn told_of(said: &'static [u8]) -> OpError {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = refusal(cases::at(&address));
    serving.join().unwrap();
    assert!(error.message.contains(&address), "{error}");
    assert!(!error.message.contains(char::is_control), "{error}");
    error
}

#[test]
fn what_is_no_server_is_reported_as_what_it_is() {
    for said in [
        b"".as_slice(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x15\x03\x03\x00\x02\x02\x28", // a TLS alert
        b"\x1b[2J\x1b[31m garbage \x00\xff",
        cases::ANOTHER_GREETING,
    ] {
        let error = told_of(said);
        assert!(error.message.contains(cases::SERVER), "{error}");
    }
    let (said, code) = cases::TOO_MANY;
    let thrown_out = told_of(said);
    assert_eq!(thrown_out.code, code, "{thrown_out}");
    assert!(thrown_out.message.contains("too many"), "{thrown_out}");
}

#[test]
fn a_database_that_is_not_there_is_refused_by_name() {
    let Some(spec) = cases::spec() else { return };
    let error = refusal(cases::in_database(spec, "no_such_database"));
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
    assert!(error.message.contains("no_such_database"), "{error}");
}

#[test]
fn a_connection_killed_between_operations_is_lost() {
    let Some(spec) = cases::spec() else { return };
    let table = table("killed_idle");
    run(async {
        let mut victim = on_table(spec.clone(), &table).await;
        let record = row("k", [b"", b"", b""]);
        victim.insert(T, record.record()).await.unwrap();
        let kill = kill(&mut victim).await;
        let mut killer = session(spec).await;
        killer.sql().execute_text(&kill).await.unwrap();
        assert_lost(&victim.insert(T, record.record()).await.unwrap_err());
        assert_lost(&victim.read(T, b"k", Fields::All).await.unwrap_err());
        killer.drop_table(&table).await.unwrap();
    });
}

/// Polls the statement of another session for as long as it takes the server to be at it.
pub async fn until_busy(statement: &mut (impl Future + Unpin), number: &str, other: &mut Session) {
    let busy = cases::busy(number);
    tokio::select! {
        biased;
        _ = statement => panic!("it has ended"),
        () = async { while ask(other, &busy).await.unwrap() != "1" {} } => {}
    }
}

async fn until_idle(number: &str, other: &mut Session) {
    let busy = cases::busy(number);
    while ask(other, &busy).await.unwrap() == "1" {
        bakeoff_model::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_statement_that_is_given_up_is_ended_on_the_server_and_its_locks_are_free() {
    let Some(spec) = cases::spec() else { return };
    let table = table("given_up");
    run(async {
        let mut other = on_table(spec.clone(), &table).await;
        let record = row("k", [b"", b"", b""]);
        other.insert(T, record.record()).await.unwrap();
        // Several at once, which one connection ends.
        let mut numbers = Vec::new();
        let mut asleep = Vec::new();
        for holds in [true, false, false] {
            let mut victim = session(spec.clone()).await;
            victim.attach(std::slice::from_ref(&table)).await.unwrap();
            let number = cases::number(&mut victim).await;
            if holds {
                victim.begin(Access::default()).await.unwrap();
                victim.update(T, b"k", &CHANGE).await.unwrap();
            }
            let mut statement = Box::pin(async move {
                let _ = victim.sql().query_text(cases::SLEEP, &mut |_| {}).await;
                victim
            });
            until_busy(&mut statement, &number, &mut other).await;
            numbers.push(number);
            asleep.push(statement);
        }
        drop(asleep);
        for number in &numbers {
            until_idle(number, &mut other).await;
        }
        assert_eq!(other.update(T, b"k", &CHANGE).await.unwrap(), Some(1));
        other.drop_table(&table).await.unwrap();
    });
}

/// It was not applied, for certain, and there is nothing wrong with the session.
fn assert_cancelled(error: &OpError) {
    assert_eq!(
        (error.outcome, error.connection_lost),
        (Outcome::Fail(FailClass::Other), false),
        "{error}"
    );
}

#[test]
fn a_read_that_the_servers_limit_ends_has_failed_and_its_session_goes_on() {
    let Some(spec) = cases::spec() else { return };
    run(async {
        let mut session = cases::in_a_hurry(&spec).await;
        assert_cancelled(&ask(&mut session, cases::ENDLESS).await.unwrap_err());
        assert_eq!(ask(&mut session, "SELECT 1").await.unwrap(), "1");
    });
}

#[test]
fn a_write_that_the_server_is_told_to_end_was_not_applied_and_its_session_goes_on() {
    let Some(spec) = cases::spec() else { return };
    let table = table("told_to_end");
    run(async {
        let mut holder = on_table(spec.clone(), &table).await;
        let record = row("k", [b"before", b"", b""]);
        holder.insert(T, record.record()).await.unwrap();
        let mut waiter = session(spec.clone()).await;
        waiter.attach(std::slice::from_ref(&table)).await.unwrap();
        // Prepared before: a KILL that arrives while it prepares does not end the execution.
        waiter.update(T, b"none", &CHANGE).await.unwrap();
        let number = cases::number(&mut waiter).await;
        let mut other = session(spec).await;
        holder.begin(Access::default()).await.unwrap();
        let locked = [FieldValue {
            field: 1,
            value: b"y",
        }];
        holder.update(T, b"k", &locked).await.unwrap();
        {
            let mut update = Box::pin(waiter.update(T, b"k", &CHANGE));
            until_busy(&mut update, &number, &mut other).await;
            ask(&mut other, &cases::cancel(&number)).await.unwrap();
            assert_cancelled(&update.await.unwrap_err());
        }
        holder.rollback().await.unwrap();
        let read = waiter.read(T, b"k", Fields::One(0)).await.unwrap();
        assert_eq!(bench::texts(read.unwrap()), [b"before"]);
        assert_eq!(waiter.update(T, b"k", &CHANGE).await.unwrap(), Some(1));
        waiter.drop_table(&table).await.unwrap();
    });
}

#[test]
fn a_row_locked_by_another_is_a_conflict() {
    let Some(spec) = cases::spec() else { return };
    let table = table("locked");
    run(async {
        let mut holder = on_table(spec.clone(), &table).await;
        let record = row("k", [b"", b"", b""]);
        holder.insert(T, record.record()).await.unwrap();
        let (name, value) = cases::SHORT_LOCK_WAIT;
        let mut waiter = session(with(&spec, name, value)).await;
        waiter.attach(std::slice::from_ref(&table)).await.unwrap();
        holder.begin(Access::default()).await.unwrap();
        holder.update(T, b"k", &CHANGE).await.unwrap();
        let error = waiter.update(T, b"k", &CHANGE).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        assert!(!error.connection_lost);
        holder.rollback().await.unwrap();
        assert_eq!(waiter.update(T, b"k", &CHANGE).await.unwrap(), Some(1));
        waiter.drop_table(&table).await.unwrap();
    });
}

#[test]
fn a_value_too_long_is_a_constraint_and_names_its_statement() {
    let Some(spec) = cases::spec() else { return };
    let table = TableSpec {
        value_type: ValueType::Varchar(3),
        ..table("too_long")
    };
    run(async {
        let mut session = on_table(cases::strict(spec), &table).await;
        let record = row("k", [b"four", b"", b""]);
        let error = session.insert(T, record.record()).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        assert!(error.statement.as_deref().unwrap().starts_with("INSERT INTO"));
        session.drop_table(&table).await.unwrap();
    });
}

pub fn encrypted(spec: &Spec, ca_file: Option<String>, verify: bool) -> Spec {
    Spec {
        tls: Some(TlsSpec { ca_file, verify }),
        ..spec.clone()
    }
}

#[test]
fn tls_encrypts_and_trusts_the_named_authority_and_name_alone() {
    let Some(spec) = cases::spec() else { return };
    let Some(TlsSpec { ca_file, .. }) = spec.tls.clone() else {
        println!("skipped: no server with TLS to test against (no variable ends with _CA)");
        return;
    };
    // A name of 127.0.0.1 that is not in its certificate.
    let renamed = spec.endpoints[0].address.replace("127.0.0.1", "0x7f000001");
    assert!(renamed != spec.endpoints[0].address, "{renamed}");
    let elsewhere = Spec {
        endpoints: vec![endpoint(&renamed)],
        ..spec.clone()
    };
    run(async {
        for spec in [
            encrypted(&spec, ca_file.clone(), true),
            encrypted(&elsewhere, None, false),
        ] {
            assert!(cases::is_encrypted(&mut session(spec).await).await);
        }
    });
    for stranger in [encrypted(&spec, None, true), encrypted(&elsewhere, ca_file, true)] {
        let error = refusal(stranger);
        assert_eq!(error.code, "TLS", "{error}");
        assert!(error.message.contains("certificate"), "{error}");
    }
}

#[test]
fn a_unix_socket_works_where_the_environment_names_one() {
    let Some(spec) = cases::spec() else { return };
    let Ok(path) = std::env::var(cases::SOCKET_VARIABLE) else {
        println!(
            "skipped: no unix socket to test with ({} is not set)",
            cases::SOCKET_VARIABLE
        );
        return;
    };
    run(async {
        let there = Spec {
            endpoints: vec![endpoint(&path)],
            tls: None,
            ..spec
        };
        let answer = ask(&mut session(there).await, "SELECT 'there'").await;
        assert_eq!(answer.unwrap(), "there");
    });
}
