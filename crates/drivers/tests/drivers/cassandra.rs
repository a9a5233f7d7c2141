//! What is Cassandra's own: pages, batches, conditional writes, its types, and how it says no. On the node that the
//! environment names.
use crate::bench::{self, TIMEOUT, cassandra_spec, endpoint, open};
use bakeoff_drivers::TlsSpec;
use bakeoff_drivers::cassandra::{CassandraBatch, CassandraSpec};
use bakeoff_drivers::cassandra::{CassandraDriver, CassandraSession};
use bakeoff_model::driver::Driver;
use bakeoff_model::endpoint::Routing;
use bakeoff_model::outcome::{FailClass, OpError, Outcome, TroubleKind};
use bakeoff_model::pipeline::Pipeline;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, Done, SqlSession};
use bakeoff_model::value::{Decimal, Timestamp, Value};

const REFUSED: Outcome = Outcome::Fail(FailClass::Refused);

fn driver(spec: &CassandraSpec) -> CassandraDriver {
    CassandraDriver::new(spec, &Routing::Any, TIMEOUT).unwrap()
}

/// Asks in a session, where there is a node.
fn with_session(test: impl AsyncFnOnce(&mut CassandraSession)) {
    let Some(spec) = cassandra_spec() else { return };
    bench::run(async {
        let mut session = open(&driver(&spec)).await.unwrap();
        test(session.sql()).await;
    });
}

/// A table of this name and these columns, new and empty.
async fn table(session: &mut CassandraSession, name: &str, columns: &str) -> String {
    let name = format!("t{}_{name}", std::process::id());
    let made = session
        .execute_text(&format!("CREATE TABLE {name} ({columns})"))
        .await;
    made.unwrap();
    name
}

async fn write(session: &mut CassandraSession, cql: &str, params: &[Value<'_>]) -> Result<Done, OpError> {
    let statement = session.prepare(&Ask::write(cql)).await?;
    session.execute(statement, params).await
}

async fn rows(session: &mut CassandraSession, cql: &str) -> u64 {
    let statement = session.prepare(&Ask::read(cql)).await.unwrap();
    session.query(statement, &[], &mut |_| {}).await.unwrap()
}

#[test]
fn a_conditional_write_tells_whether_it_was_applied_and_no_other_counts() {
    with_session(async |session| {
        let t = table(session, "lwt", "k int PRIMARY KEY, v int").await;
        let insert = format!("INSERT INTO {t} (k, v) VALUES (?, ?)");
        let new = format!("{insert} IF NOT EXISTS");
        let one = [Value::Int(1), Value::Int(10)];
        assert_eq!(write(session, &insert, &one).await.unwrap().affected, None);
        assert_eq!(write(session, &new, &one).await.unwrap().affected, Some(0));
        let two = [Value::Int(2), Value::Int(10)];
        assert_eq!(write(session, &new, &two).await.unwrap().affected, Some(1));
        let change = format!("UPDATE {t} SET v = ? WHERE k = ? IF v = ?");
        let params = |from| [Value::Int(11), Value::Int(1), Value::Int(from)];
        assert_eq!(
            write(session, &change, &params(10)).await.unwrap().affected,
            Some(1)
        );
        assert_eq!(
            write(session, &change, &params(10)).await.unwrap().affected,
            Some(0)
        );
        session.execute_text(&format!("DROP TABLE {t}")).await.unwrap();
    });
}

#[test]
fn an_update_of_a_row_that_must_exist_makes_none_and_any_other_does() {
    with_session(async |session| {
        let t = table(session, "exists", "k int PRIMARY KEY, v int").await;
        let update = format!("UPDATE {t} SET v = ? WHERE k = ?");
        let if_there = format!("{update} IF EXISTS");
        let params = [Value::Int(10), Value::Int(1)];
        let all = format!("SELECT k FROM {t}");
        assert_eq!(
            write(session, &if_there, &params).await.unwrap().affected,
            Some(0)
        );
        assert_eq!(rows(session, &all).await, 0);
        assert_eq!(write(session, &update, &params).await.unwrap().affected, None);
        assert_eq!(rows(session, &all).await, 1);
        assert_eq!(
            write(session, &if_there, &params).await.unwrap().affected,
            Some(1)
        );
        session.execute_text(&format!("DROP TABLE {t}")).await.unwrap();
    });
}

#[test]
fn questions_that_are_asked_together_are_all_answered_and_one_that_fails_fails_all() {
    with_session(async |session| {
        let t = table(session, "together", "k int PRIMARY KEY, v int").await;
        let insert = format!("INSERT INTO {t} (k, v) VALUES (?, ?)");
        for k in 0..20 {
            let row = [Value::Int(k), Value::Int(100 + k)];
            write(session, &insert, &row).await.unwrap();
        }
        let ask = format!("SELECT v FROM {t} WHERE k = ?");
        let ask = session.prepare(&Ask::read(&ask)).await.unwrap();
        let mut reads = Pipeline::default();
        // Beyond the last there are no rows, which is an answer too.
        (0..25).for_each(|k| reads.push(ask, &[Value::Int(k)]));
        let mut seen = Vec::new();
        let mut each = |row: &RowBuf| seen.push(row.cell(0).and_then(Value::whole_number).unwrap());
        let found = session.query_all(&reads, &mut each).await.unwrap();
        seen.sort_unstable();
        assert_eq!((found, seen), (20, (100..120).collect::<Vec<i64>>()));
        reads.push(ask, &[]);
        let refused = session.query_all(&reads, &mut |_| {}).await.unwrap_err();
        assert_eq!((refused.outcome, refused.connection_lost), (REFUSED, false));
        assert_eq!(rows(session, &format!("SELECT k FROM {t}")).await, 20);
        session.execute_text(&format!("DROP TABLE {t}")).await.unwrap();
    });
}

#[test]
fn an_answer_longer_than_a_page_comes_whole_and_in_order() {
    with_session(async |session| {
        let t = table(session, "pages", "p int, c int, PRIMARY KEY (p, c)").await;
        let mut next = 0..250;
        let mut fill = |row: &mut RowBuf| {
            let number = next.next();
            number
                .into_iter()
                .for_each(|number| [1, number].iter().for_each(|cell| row.push(Value::Int(*cell))));
            number.is_some()
        };
        assert_eq!(
            session.bulk_insert(&t, &["p", "c"], &mut fill).await.unwrap(),
            250
        );
        let ask = format!("SELECT c FROM {t} WHERE p = ?");
        let statement = session.prepare(&Ask::read(&ask)).await.unwrap();
        let mut seen = Vec::new();
        let mut each = |row: &RowBuf| seen.push(row.cell(0).and_then(Value::whole_number).unwrap());
        session
            .query(statement, &[Value::Int(1)], &mut each)
            .await
            .unwrap();
        assert_eq!(seen, (0..250).collect::<Vec<i64>>());
        assert!(
            session.query_one(statement, &[Value::Int(1)]).await.is_err(),
            "not one row"
        );
        assert!(
            session
                .query_one(statement, &[Value::Int(2)])
                .await
                .unwrap()
                .is_none()
        );
        session.execute_text(&format!("DROP TABLE {t}")).await.unwrap();
    });
}

#[test]
fn a_batch_is_stored_whole_with_its_log_and_without() {
    let Some(spec) = cassandra_spec() else { return };
    for batch in [CassandraBatch::Logged, CassandraBatch::Unlogged] {
        let spec = CassandraSpec {
            batch,
            ..spec.clone()
        };
        bench::run(async {
            let mut session = open(&driver(&spec)).await.unwrap();
            let session = session.sql();
            let t = table(session, &format!("batch_{batch:?}"), "k int PRIMARY KEY, v text").await;
            let cql = format!("INSERT INTO {t} (k, v) VALUES (?, ?)");
            let insert = session.prepare(&Ask::write(&cql)).await.unwrap();
            let mut writes = Pipeline::default();
            for k in 0..5 {
                writes.push(insert, &[Value::Int(k), Value::Text(b"v")]);
            }
            session.run_batch(&writes).await.unwrap();
            assert_eq!(rows(session, &format!("SELECT k FROM {t}")).await, 5);
            writes.push(insert, &[Value::Int(6)]);
            assert_eq!(session.run_batch(&writes).await.unwrap_err().outcome, REFUSED);
            writes.begin();
            assert_eq!(session.run_batch(&writes).await.unwrap_err().code, "BATCH");
            session.execute_text(&format!("DROP TABLE {t}")).await.unwrap();
        });
    }
}

#[test]
fn values_of_every_type_come_back_and_what_would_be_stored_otherwise_is_refused() {
    with_session(async |session| {
        let columns = "k int PRIMARY KEY, i bigint, f double, d decimal, t text, b blob, at timestamp, u uuid, y boolean";
        let t = table(session, "types", columns).await;
        let cells = [
            Value::Int(1),
            Value::Int(i64::MIN),
            Value::Float(-1.5e300),
            Value::Decimal(Decimal {
                units: -1_234_567,
                scale: 4,
            }),
            Value::Text("Grün".as_bytes()),
            Value::Bytes(&[0, 0xff]),
            Value::Timestamp(Timestamp {
                us: 1_795_248_062_003_000,
            }),
            Value::Uuid([7; 16]),
            Value::Bool(true),
        ];
        let insert =
            format!("INSERT INTO {t} (k, i, f, d, t, b, at, u, y) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
        write(session, &insert, &cells).await.unwrap();
        let ask = format!("SELECT k, i, f, d, t, b, at, u, y FROM {t} WHERE k = ?");
        let statement = session.prepare(&Ask::read(&ask)).await.unwrap();
        let read = session
            .query_one(statement, &[Value::Int(1)])
            .await
            .unwrap()
            .unwrap();
        assert!(read.cells().eq(cells), "{:?}", read.cells().collect::<Vec<_>>());
        let set = format!("UPDATE {t} SET at = ? WHERE k = 1");
        let microsecond = Value::Timestamp(Timestamp { us: 1 });
        let refused = write(session, &set, &[microsecond]).await.unwrap_err();
        assert_eq!((refused.outcome, refused.connection_lost), (REFUSED, false));
        assert!(refused.message.contains("at"), "{}", refused.message);
        assert_eq!(write(session, &set, &[]).await.unwrap_err().outcome, REFUSED);
        session.execute_text(&format!("DROP TABLE {t}")).await.unwrap();
    });
}

#[test]
fn what_the_server_does_not_understand_is_refused_and_the_session_goes_on() {
    with_session(async |session| {
        let told = session.execute_text("SELEC").await.unwrap_err();
        assert_eq!((told.outcome, &*told.code), (REFUSED, "SyntaxError"));
        let told = session
            .prepare(&Ask::read("SELECT x FROM nosuch"))
            .await
            .unwrap_err();
        assert_eq!((told.outcome, &*told.code), (REFUSED, "Invalid"));
        assert_eq!(rows(session, "SELECT key FROM system.local").await, 1);
        assert_eq!(session.asked(), Some(0));
    });
}

#[test]
fn tls_trusts_the_named_authority_and_the_hosts_name_alone() {
    let Some(spec) = cassandra_spec() else { return };
    let Some(TlsSpec { ca_file, .. }) = spec.tls.clone() else {
        println!("skipped: no cassandra server to test against with TLS");
        return;
    };
    let opened = |host: &str, tls: Option<(Option<String>, bool)>| {
        let spec = CassandraSpec {
            endpoints: vec![endpoint(&spec.endpoints[0].address.replace("127.0.0.1", host))],
            tls: tls.map(|(ca_file, verify)| TlsSpec { ca_file, verify }),
            ..spec.clone()
        };
        bench::run(async { driver(&spec).open(0).await.err() })
    };
    // A name of 127.0.0.1 that is not in its certificate.
    let elsewhere = "0x7f000001";
    for taken in [
        opened("127.0.0.1", Some((ca_file.clone(), true))),
        opened(elsewhere, Some((None, false))),
    ] {
        assert!(taken.is_none(), "{taken:?}");
    }
    for refused in [
        opened("127.0.0.1", Some((None, true))),
        opened(elsewhere, Some((ca_file, true))),
    ] {
        let refused = refused.unwrap();
        assert!(refused.what.contains("certificate"), "{}", refused.what);
        assert!(refused.what.contains("`tls.ca_file`"), "{}", refused.what);
    }
    let unencrypted = opened("127.0.0.1", None).unwrap();
    assert!(unencrypted.what.contains("`tls`"), "{}", unencrypted.what);
}

#[test]
fn a_missing_server_and_a_missing_keyspace_are_reported() {
    let Some(spec) = cassandra_spec() else { return };
    let trouble = |spec: CassandraSpec| {
        bench::run(async { driver(&spec).open(0).await.err() }).expect("it cannot be opened")
    };
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = trouble(CassandraSpec {
        endpoints: vec![endpoint(&closed.to_string())],
        ..spec.clone()
    });
    assert_eq!(nobody.kind, TroubleKind::Server);
    assert!(nobody.what.contains("could not connect to n1"), "{}", nobody.what);
    let absent = trouble(CassandraSpec {
        keyspace: "no_such".into(),
        replication_factor: None,
        ..spec
    });
    assert!(
        absent.what.contains("the keyspace `no_such` is not there"),
        "{}",
        absent.what
    );
}
