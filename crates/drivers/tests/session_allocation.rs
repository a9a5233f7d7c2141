//! In a steady state the drivers that need not allocate do not: what is measured is the system, not the allocator.
#![allow(clippy::unwrap_used, clippy::expect_used)] // test code throughout
mod bench;
mod scripted;

use bakeoff_drivers::Secret;
use bakeoff_drivers::null::NullDriver;
use bakeoff_drivers::null::NullSpec;
use bakeoff_drivers::redis::RedisSpec;
use bakeoff_drivers::riak::{RiakDriver, RiakSpec};
use bakeoff_drivers::simpledb::{SimpledbDriver, SimpledbSpec};
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Is, Keyed, Patch, PathKind, PathSpec,
    Select,
};
use bakeoff_model::driver::Driver;
use bakeoff_model::pipeline::Pipeline;
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table};
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::value::{Decimal, Timestamp, Value};
use bench::{
    AvaticaWire, Bench, CouchdbWire, MongodbWire, MysqlDirect, MysqlWire, PostgresqlWire, RedisWire, Sqlite,
    TIMEOUT, endpoint, open, row, run, run_on_reactor, table,
};
use scripted::http;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

const T: Table = Table(0);

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

async fn every_operation<S: RecordSession>(session: &mut S, key: &str) {
    let value = [FieldValue {
        field: 1,
        value: b"value",
    }];
    session.read(T, b"k", Fields::All).await.unwrap().unwrap();
    session.read(T, b"k", Fields::One(1)).await.unwrap().unwrap();
    session.update(T, b"k", &value).await.unwrap();
    session
        .scan(T, b"k", Some(5), Fields::All, &mut |_| {})
        .await
        .unwrap();
    session.delete(T, key.as_bytes()).await.unwrap();
}

async fn allocations_of_the_second_thousand<D: Driver<Session: RecordSession>>(driver: &D) -> u64 {
    allocations_in_the_second_thousand(&mut open(driver).await.unwrap()).await
}

async fn allocations_in_the_second_thousand(session: &mut impl RecordSession) -> u64 {
    let spec = table("allocation");
    session.attach(std::slice::from_ref(&spec)).await.unwrap();
    session.create_table(&spec).await.unwrap();
    let rows: Vec<_> = (0..2000)
        .map(|i| row(&format!("x{i:04}"), [b"a", b"b", b"c"]))
        .collect();
    session
        .insert(T, row("k", [b"a", b"b", b"c"]).record())
        .await
        .unwrap();
    let mut before = 0;
    for (i, row) in rows.iter().enumerate() {
        if i == 1000 {
            before = ALLOCATIONS.with(Cell::get);
        }
        session.insert(T, row.record()).await.unwrap();
        every_operation(session, "no such").await;
    }
    let made = ALLOCATIONS.with(Cell::get) - before;
    session.drop_table(&spec).await.unwrap();
    made
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.with(Cell::get);
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 1);
}

#[test]
fn null_allocates_nothing_in_a_steady_state() {
    let driver = NullDriver::new(
        NullSpec {
            error_ratio: 1e-12,
            ..NullSpec::default()
        },
        1,
    );
    assert_eq!(run(allocations_of_the_second_thousand(&driver)), 0);
}

#[test]
fn records_over_sqlite_allocate_nothing_in_a_steady_state() {
    // SQLite's own memory is C's and not counted; the point is the adapter and the driver.
    assert_eq!(
        run(allocations_of_the_second_thousand(&Sqlite::driver().unwrap())),
        0
    );
}

#[test]
fn records_over_the_wire_client_allocate_nothing_in_a_steady_state() {
    let Some(driver) = MysqlWire::driver() else { return };
    assert_eq!(MysqlWire::run(allocations_of_the_second_thousand(&driver)), 0);
}

#[test]
fn records_below_sql_allocate_nothing_in_a_steady_state() {
    let Some(driver) = MysqlDirect::driver() else {
        return;
    };
    assert_eq!(MysqlDirect::run(allocations_of_the_second_thousand(&driver)), 0);
}

#[test]
fn records_over_postgresqls_wire_client_allocate_nothing_in_a_steady_state() {
    let Some(driver) = PostgresqlWire::driver() else {
        return;
    };
    assert_eq!(
        PostgresqlWire::run(allocations_of_the_second_thousand(&driver)),
        0
    );
}

#[test]
fn records_over_redis_allocate_nothing_in_a_steady_state() {
    let Some(driver) = RedisWire::driver() else { return };
    assert_eq!(RedisWire::run(allocations_of_the_second_thousand(&driver)), 0);
}

#[test]
fn documents_of_mongodb_allocate_nothing_in_a_steady_state() {
    let Some(driver) = MongodbWire::driver() else {
        return;
    };
    MongodbWire::run(async {
        let path = |steps: &[&str], kind| PathSpec {
            steps: steps.iter().map(|step| step.to_string()).collect(),
            kind,
            indexed: false,
        };
        let spec = CollectionSpec {
            name: format!("allocation{}", std::process::id()),
            key_length: 20,
            paths: vec![
                path(&["name"], PathKind::Text(10)),
                path(&["in", "age"], PathKind::Integer),
            ],
        };
        let mut session = open(&driver).await.unwrap();
        session.attach(std::slice::from_ref(&spec)).await.unwrap();
        session.create_collection(&spec).await.unwrap();
        let keys: Vec<String> = (0..400).map(|number| format!("k{number:04}")).collect();
        let mut before = 0;
        for (number, key) in keys.iter().enumerate() {
            if number == 200 {
                before = ALLOCATIONS.with(Cell::get);
            }
            every_operation_on_documents(&mut session, key.as_bytes()).await;
        }
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
        session.drop_collection(&spec).await.unwrap();
    });
}

async fn every_operation_on_documents(session: &mut impl DocumentSession, key: &[u8]) {
    const C: Collection = Collection(0);
    let document = Keyed {
        key,
        json: b"{\"name\":\"x\",\"in\":{\"age\":1,\"list\":[1.5,true,null]}}",
    };
    let age = [Condition {
        path: 1,
        is: Is::AtLeast,
        value: Value::Int(5),
    }];
    let patch = [Patch {
        path: 1,
        value: Value::Int(4),
    }];
    session.put(C, document, Expect::Absent).await.unwrap();
    session.put(C, document, Expect::Anything).await.unwrap();
    let found = session.get(C, key, Select::Whole).await.unwrap().unwrap();
    let revision: [u8; 8] = found.revision.as_slice().try_into().unwrap();
    session
        .put(C, document, Expect::Revision(&revision))
        .await
        .unwrap();
    session.patch(C, key, &patch).await.unwrap();
    session
        .get(C, key, Select::Paths(&[0, 1]))
        .await
        .unwrap()
        .unwrap();
    session
        .get_batch(C, &[key, b"none"], Select::Whole, &mut |_| {})
        .await
        .unwrap();
    assert_eq!(
        session
            .find(C, &age, Select::Whole, Some(5), &mut |_| {})
            .await
            .unwrap(),
        0
    );
    session
        .range(C, key, Some(5), Select::Whole, &mut |_| {})
        .await
        .unwrap();
    session.count(C, &age).await.unwrap();
    session.delete(C, b"none", None).await.unwrap();
}

async fn allocations_of_pipelines<S: SqlSession>(session: &mut S, sql: &str) -> u64 {
    let select = session.prepare(&Ask::read(sql)).await.unwrap();
    let mut pipeline = Pipeline::default();
    let mut before = 0;
    for i in 0..200 {
        if i == 100 {
            before = ALLOCATIONS.with(Cell::get);
        }
        pipeline.clear();
        pipeline.begin();
        for _ in 0..20 {
            pipeline.push(select, &[Value::Text(b"text"), Value::Int(i)]);
        }
        pipeline.commit();
        session.run_pipeline(&pipeline, &mut |_, _| {}).await.unwrap();
    }
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn records_in_lmdb_and_rocksdb_allocate_nothing_in_a_steady_state() {
    // What their C and C++ allocate is not counted. redb and fjall allocate as they do.
    for system in ["lmdb", "rocksdb"].into_iter().filter_map(bench::System::of_kind) {
        let made =
            system.run(async { allocations_in_the_second_thousand(&mut system.records().await).await });
        assert_eq!(made, 0, "{}", system.client.name);
    }
}

#[test]
fn documents_in_dynamodb_allocate_nothing_in_a_steady_state() {
    let Some(system) = bench::System::of_kind("dynamodb") else {
        return;
    };
    const C: Collection = Collection(0);
    let spec = CollectionSpec {
        name: format!("allocation_{}", std::process::id()),
        key_length: 10,
        paths: vec![PathSpec {
            steps: vec!["a".into(), "b".into()],
            kind: PathKind::Text(20),
            indexed: true,
        }],
    };
    system.run(async {
        let mut session = system.documents().await;
        session.attach(std::slice::from_ref(&spec)).await.unwrap();
        session.create_collection(&spec).await.unwrap();
        let keys: Vec<String> = (0..400).map(|number| format!("k{number:04}")).collect();
        let json = br#"{"a":{"b":"text"},"list":[1,2.5,null,true]}"#;
        let patch = [Patch {
            path: 0,
            value: Value::Text(b"other"),
        }];
        let mut before = 0;
        for (number, key) in keys.iter().enumerate() {
            if number == 200 {
                before = ALLOCATIONS.with(Cell::get);
            }
            let key = key.as_bytes();
            for expect in [Expect::Absent, Expect::Present, Expect::Anything] {
                session.put(C, Keyed { key, json }, expect).await.unwrap();
            }
            session.get(C, key, Select::Whole).await.unwrap().unwrap();
            assert_eq!(session.patch(C, key, &patch).await.unwrap(), Some(1));
            let found = session.get(C, key, Select::Paths(&[0])).await.unwrap().unwrap();
            assert_eq!(found.cells.cell(0), Some(Value::Text(b"other")));
            session.delete(C, key, None).await.unwrap();
        }
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
        session.drop_collection(&spec).await.unwrap();
    });
}

#[test]
fn a_session_that_may_share_its_connection_allocates_nothing_either() {
    let Some(spec) = bench::redis_spec() else { return };
    let driver = bench::redis_driver(RedisSpec { pipeline: 16, ..spec });
    assert_eq!(RedisWire::run(allocations_of_the_second_thousand(&driver)), 0);
}

#[test]
fn records_over_avatica_allocate_nothing_in_a_steady_state() {
    let Some(driver) = AvaticaWire::driver() else {
        return;
    };
    assert_eq!(AvaticaWire::run(allocations_of_the_second_thousand(&driver)), 0);
}

#[test]
fn pipelines_allocate_nothing_in_a_steady_state() {
    if let Some(driver) = PostgresqlWire::driver() {
        let sql = "SELECT $1::text, $2::int";
        let made = async { allocations_of_pipelines(open(&driver).await.unwrap().sql(), sql).await };
        assert_eq!(PostgresqlWire::run(made), 0);
    }
    if let Some(driver) = MysqlWire::driver() {
        let made =
            async { allocations_of_pipelines(open(&driver).await.unwrap().sql(), "SELECT ?, ?").await };
        assert_eq!(MysqlWire::run(made), 0);
    }
}

/// Sums of money, dates and many values, as TPC-C has them.
async fn allocations_of_money_and_dates<S: SqlSession>(session: &mut S, sql: &str) -> u64 {
    let select = session.prepare(&Ask::read(sql)).await.unwrap();
    let mut before = 0;
    for cents in 0..400 {
        if cents == 200 {
            before = ALLOCATIONS.with(Cell::get);
        }
        let money = Value::Decimal(Decimal {
            units: -123_400 - cents,
            scale: 2,
        });
        let moment = Value::Timestamp(Timestamp {
            us: 1_795_248_062_000_003,
        });
        let mut params = [Value::Text(b"abcdefghijklmnopqrstuvwx"); 20];
        (params[0], params[1]) = (money, moment);
        let row = session.query_one(select, &params).await.unwrap().unwrap();
        assert_eq!((row.cell(0), row.cell(1)), (Some(money), Some(moment)));
    }
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn money_and_dates_allocate_nothing_in_a_steady_state() {
    if let Some(driver) = MysqlWire::driver() {
        let texts = ["?"; 18].join(", ");
        let sql = format!("SELECT CAST(? AS DECIMAL(12, 2)), CAST(? AS DATETIME(6)), {texts}");
        MysqlWire::run(async {
            let mut session = open(&driver).await.unwrap();
            assert_eq!(allocations_of_money_and_dates(session.sql(), &sql).await, 0);
        });
    }
    if let Some(driver) = PostgresqlWire::driver() {
        let texts: Vec<String> = (3..=20).map(|place| format!("${place}::text")).collect();
        let sql = format!("SELECT $1::decimal(12, 2), $2::timestamp, {}", texts.join(", "));
        PostgresqlWire::run(async {
            let mut session = open(&driver).await.unwrap();
            assert_eq!(allocations_of_money_and_dates(session.sql(), &sql).await, 0);
        });
    }
}

#[test]
fn documents_of_couchdb_allocate_nothing_in_a_steady_state() {
    let Some(driver) = CouchdbWire::driver() else {
        return;
    };
    CouchdbWire::run(async {
        let path = |steps: &[&str], kind| PathSpec {
            steps: steps.iter().map(|step| step.to_string()).collect(),
            kind,
            indexed: false,
        };
        let spec = CollectionSpec {
            name: format!("allocation{}", std::process::id()),
            key_length: 20,
            paths: vec![
                path(&["name"], PathKind::Text(10)),
                path(&["in", "age"], PathKind::Integer),
            ],
        };
        let mut session = open(&driver).await.unwrap();
        session.attach(std::slice::from_ref(&spec)).await.unwrap();
        session.create_collection(&spec).await.unwrap();
        let keys: Vec<String> = (0..100).map(|number| format!("k{number:04}")).collect();
        let mut before = 0;
        for (number, key) in keys.iter().enumerate() {
            if number == 50 {
                before = ALLOCATIONS.with(Cell::get);
            }
            every_operation_on_couchdb(&mut session, key.as_bytes()).await;
        }
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
        session.drop_collection(&spec).await.unwrap();
    });
}

/// One document is there afterwards, whatever was before, so that all rounds are alike.
async fn every_operation_on_couchdb(session: &mut impl DocumentSession, key: &[u8]) {
    const C: Collection = Collection(0);
    let json = br#"{"name":"a","in":{"age":1,"other":[true]}}"#;
    let document = Keyed { key, json };
    session.put(C, document, Expect::Absent).await.unwrap();
    session.put(C, document, Expect::Anything).await.unwrap();
    let paths = session.get(C, key, Select::Paths(&[0, 1])).await.unwrap();
    assert_eq!(paths.unwrap().cells.cell(1), Some(Value::Int(1)));
    session.get(C, key, Select::Whole).await.unwrap().unwrap();
    session
        .get_batch(C, &[key], Select::Whole, &mut |_| {})
        .await
        .unwrap();
    let age = Patch {
        path: 1,
        value: Value::Int(2),
    };
    session.patch(C, key, &[age]).await.unwrap();
    let is = Condition {
        path: 1,
        is: Is::Below,
        value: Value::Int(3),
    };
    assert_eq!(
        session
            .find(C, &[is], Select::Whole, Some(5), &mut |_| {})
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        session
            .range(C, b"", Some(5), Select::Whole, &mut |_| {})
            .await
            .unwrap(),
        1
    );
    assert_eq!(session.count(C, &[]).await.unwrap(), 1);
    session.delete(C, key, None).await.unwrap();
    let batch = [document];
    session.put_batch(C, &batch).await.unwrap();
    session.delete(C, key, None).await.unwrap();
}

/// Rounds of which the second half is counted.
const ROUNDS: usize = 100;

/// A server that says the same in each round.
fn in_rounds(greeting: &[String], round: &[String]) -> String {
    let rounds = (0..ROUNDS).flat_map(|_| round.iter().cloned());
    http::answers(greeting.iter().cloned().chain(rounds).collect()).0
}

#[test]
fn records_of_simpledb_allocate_nothing_in_a_steady_state() {
    let said = |call: &str, result: &str| {
        let body = format!("<{call}Response>{result}</{call}Response>");
        http::answer("200 OK\r\nContent-Type: text/xml", &body)
    };
    let attribute = "<Attribute><Name>FIELD1</Name><Value>a&amp;b</Value></Attribute>";
    let item = format!("<Item><Name>k1</Name>{attribute}</Item>");
    let round = [
        said("PutAttributes", ""),
        said("GetAttributes", attribute),
        said("PutAttributes", ""),
        said("Select", &item),
        said("BatchPutAttributes", ""),
        said("DeleteAttributes", ""),
    ];
    let spec = SimpledbSpec {
        endpoints: vec![endpoint(&in_rounds(&[], &round))],
        user: "A".into(),
        password: Some(Secret::Env("PATH".into())),
        ..SimpledbSpec::default()
    };
    let driver = SimpledbDriver::new(&spec, false, TIMEOUT).unwrap();
    let made = run_on_reactor(async {
        let mut session = open(&driver).await.unwrap();
        session.attach(&[table("allocation")]).await.unwrap();
        let record = row("k1", [b"a", b"b", b"c"]);
        let field = [FieldValue {
            field: 1,
            value: b"a&b",
        }];
        let batch = [record.record()];
        let mut before = 0;
        for round in 0..ROUNDS {
            if round == ROUNDS / 2 {
                before = ALLOCATIONS.with(Cell::get);
            }
            assert_eq!(session.insert(T, record.record()).await.unwrap(), Some(1));
            session.read(T, b"k1", Fields::All).await.unwrap().unwrap();
            assert_eq!(session.update(T, b"k1", &field).await.unwrap(), Some(1));
            let seen = session.scan(T, b"k", Some(5), Fields::All, &mut |_| {}).await;
            assert_eq!(seen.unwrap(), 1);
            session.insert_batch(T, &batch).await.unwrap();
            assert_eq!(session.delete(T, b"k1").await.unwrap(), Some(1));
        }
        ALLOCATIONS.with(Cell::get) - before
    });
    assert_eq!(made, 0);
}

#[test]
fn documents_of_riak_allocate_nothing_in_a_steady_state() {
    let object = |body| {
        let head = "200 OK\r\nX-Riak-Vclock: a85hYGBgzGDKBVIs\r\nContent-Type: application/json";
        http::answer(head, body)
    };
    const JSON: &str = r#"{"name":"a","n":1}"#;
    let stored = || http::answer("204 No Content", "");
    let round = [
        stored(),
        object(JSON),
        object(""),
        stored(),
        object(JSON),
        stored(),
        http::answer("200 OK\r\nContent-Type: application/json", r#"{"keys":["k1"]}"#),
        object(JSON),
        stored(),
        stored(),
    ];
    let spec = RiakSpec {
        endpoints: vec![endpoint(&in_rounds(&[http::answer("200 OK", "OK")], &round))],
        secondary_indexes: true,
        ..RiakSpec::default()
    };
    let driver = RiakDriver::new(spec, TIMEOUT).unwrap();
    let collection = CollectionSpec {
        name: "allocation".into(),
        key_length: 10,
        paths: vec![PathSpec {
            steps: vec!["n".into()],
            kind: PathKind::Integer,
            indexed: false,
        }],
    };
    const C: Collection = Collection(0);
    let made = run_on_reactor(async {
        let mut session = open(&driver).await.unwrap();
        session.attach(&[collection]).await.unwrap();
        let document = Keyed {
            key: b"k1",
            json: JSON.as_bytes(),
        };
        let patch = [Patch {
            path: 0,
            value: Value::Int(2),
        }];
        let mut before = 0;
        for round in 0..ROUNDS {
            if round == ROUNDS / 2 {
                before = ALLOCATIONS.with(Cell::get);
            }
            session.put(C, document, Expect::Absent).await.unwrap();
            session.get(C, b"k1", Select::Paths(&[0])).await.unwrap().unwrap();
            session.put(C, document, Expect::Anything).await.unwrap();
            assert_eq!(session.patch(C, b"k1", &patch).await.unwrap(), Some(1));
            let seen = session.range(C, b"k", Some(5), Select::Whole, &mut |_| {}).await;
            assert_eq!(seen.unwrap(), 1);
            session.put_batch(C, &[document]).await.unwrap();
            assert_eq!(session.delete(C, b"k1", None).await.unwrap(), Some(1));
        }
        ALLOCATIONS.with(Cell::get) - before
    });
    assert_eq!(made, 0);
}
