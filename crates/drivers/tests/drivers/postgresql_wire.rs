//! What is PostgreSQL's own, through our own client.
use crate::bench;
#[path = "postgresql_cases.rs"]
mod cases;
#[path = "server_cases.rs"]
mod server_cases;

use bakeoff_drivers::Secret;
use bakeoff_drivers::postgresql::PostgresqlSpec;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::pipeline::{Part, Pipeline};
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::transaction::Transactional;
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

/// An empty table `(id int PRIMARY KEY, t text)` and the statements that put a row into it and take one out.
async fn numbered(session: &mut impl SqlSession, test: &str) -> (String, [Statement; 2]) {
    let table = format!("pipe{}_{test}", std::process::id());
    for sql in [
        format!("DROP TABLE IF EXISTS {table}"),
        format!("CREATE TABLE {table} (id int PRIMARY KEY, t text)"),
    ] {
        session.execute_text(&sql).await.unwrap();
    }
    let insert = format!("INSERT INTO {table} VALUES ($1, $2)");
    let select = format!("SELECT id, t FROM {table} WHERE id <= $1 ORDER BY id");
    let insert = session.prepare(&Ask::write(&insert)).await.unwrap();
    let select = session.prepare(&Ask::read(&select)).await.unwrap();
    (table, [insert, select])
}

/// What the sink received for each place: rows as `id:length`, an end as `rows/affected`.
async fn told(session: &mut impl SqlSession, pipeline: &Pipeline) -> (Vec<String>, Result<(), OpError>) {
    let mut told = Vec::new();
    let mut each = |place: usize, part: Part<'_>| {
        told.push(match part {
            Part::Row(row) => format!(
                "{place} {}:{}",
                row.cell(0).unwrap(),
                row.cell(1).and_then(Value::bytes).map_or(0, <[u8]>::len)
            ),
            Part::End(rows, done) => format!("{place} {rows}/{}", done.affected.unwrap()),
        });
    };
    let outcome = session.run_pipeline(pipeline, &mut each).await;
    (told, outcome)
}

fn inserted(insert: Statement, ids: &[i64], text: &[u8]) -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.begin();
    for id in ids {
        pipeline.push(insert, &[Value::Int(*id), Value::Text(text)]);
    }
    pipeline
}

async fn count(session: &mut impl SqlSession, table: &str) -> String {
    let mut found = String::new();
    let mut each = |row: &bakeoff_model::row::RowBuf| found = row.cell(0).unwrap().to_string();
    let sql = format!("SELECT count(*) FROM {table}");
    session.query_text(&sql, &mut each).await.unwrap();
    found
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    client::run(async {
        let mut session = server_cases::session(spec).await;
        let sql = session.sql();
        let (table, [insert, select]) = numbered(sql, "order").await;
        let mut pipeline = inserted(insert, &[1, 2], b"abc");
        pipeline.push(select, &[Value::Int(9)]);
        pipeline.commit();
        let (told, outcome) = told(sql, &pipeline).await;
        outcome.unwrap();
        assert_eq!(
            told,
            ["0 0/0", "1 0/1", "2 0/1", "3 1:3", "3 2:3", "3 2/0", "4 0/0"]
        );
        assert_eq!(count(sql, &table).await, "2");
        told_nothing_of_an_empty_one(sql).await;
        sql.execute_text(&format!("DROP TABLE {table}")).await.unwrap();
    });
}

async fn told_nothing_of_an_empty_one(session: &mut impl SqlSession) {
    let (told, outcome) = told(session, &Pipeline::default()).await;
    assert!(told.is_empty() && outcome.is_ok());
}

/// Of pipelines that fit one piece, and of those that are sent in several.
#[test]
fn what_follows_a_statement_that_fails_is_not_carried_out() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    client::run(async {
        let mut session = server_cases::session(spec).await;
        let sql = session.sql();
        let (table, [insert, _]) = numbered(sql, "fails").await;
        for text in [&[b'x'; 10][..], &[b'x'; 20_000]] {
            let mut pipeline = inserted(insert, &[1, 2, 1, 3, 4, 5, 6, 7, 8], text);
            pipeline.commit();
            let (told, outcome) = told(sql, &pipeline).await;
            let error = outcome.unwrap_err();
            assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
            assert!(
                error.statement.as_ref().unwrap().starts_with("INSERT"),
                "{error:?}"
            );
            assert_eq!(told, ["0 0/0", "1 0/1", "2 0/1"]);
            let error = sql.undo(error).await;
            assert!(!error.connection_lost);
            assert_eq!(count(sql, &table).await, "0");
        }
        sql.execute_text(&format!("DROP TABLE {table}")).await.unwrap();
    });
}

/// Both sides' sockets would be full before either has read.
#[test]
fn a_pipeline_may_be_longer_than_what_sockets_hold() {
    let Some(spec) = bench::postgresql_spec() else {
        return;
    };
    client::run(async {
        let mut session = server_cases::session(spec).await;
        let sql = session.sql();
        let echo = sql
            .prepare(&Ask::read("SELECT 1, repeat($1::text, 10)"))
            .await
            .unwrap();
        let text = vec![b'x'; 20_000];
        let mut pipeline = Pipeline::default();
        (0..400).for_each(|_| pipeline.push(echo, &[Value::Text(&text)]));
        let (told, outcome) = told(sql, &pipeline).await;
        outcome.unwrap();
        assert_eq!(told.len(), 800);
        assert_eq!(told[798..], ["399 1:200000", "399 1/0"]);
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
