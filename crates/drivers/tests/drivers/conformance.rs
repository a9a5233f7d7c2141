//! What every driver must do with records, case by case: every client library of the build, against every system that is at
//! hand.
use crate::bench::{System, row, table, texts};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::needs::Offer;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec};
use bakeoff_model::transaction::{Access, Transactional};

const T: Table = Table(0);

/// Opens a session on a fresh, empty table.
async fn fresh(system: &System, spec: &TableSpec) -> AnyRecords {
    let mut session = system.records().await;
    session.attach(std::slice::from_ref(spec)).await.unwrap();
    session.drop_table(spec).await.unwrap();
    session.create_table(spec).await.unwrap();
    session
}

async fn keys_from(session: &mut impl RecordSession, start: &str, limit: Option<u32>) -> Vec<String> {
    let mut keys = Vec::new();
    let mut each = |row: &_| keys.push(String::from_utf8(texts(row).swap_remove(0)).unwrap());
    let rows = session
        .scan(T, start.as_bytes(), limit, Fields::All, &mut each)
        .await
        .unwrap();
    assert_eq!(rows, keys.len() as u64);
    keys
}

async fn load(session: &mut impl RecordSession, keys: &[&str]) {
    for key in keys {
        let stored = session.insert(T, row(key, [b"a", b"b", b"c"]).record()).await;
        assert_eq!(stored.unwrap().unwrap_or(1), 1);
    }
}

/// The count that a driver returns for `rows` rows: none where the system does not count.
fn counted(system: &System, rows: u64) -> Option<u64> {
    system.client.offers.counts().then_some(rows)
}

async fn every_byte_survives(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    let printable: Vec<u8> = (0x20..=0x7e).collect();
    let quotes = br#"'; DROP TABLE x; -- "`\ %_?$1 '' \' \\"#;
    let written = row("user1", [&printable, quotes, b""]);
    assert_eq!(
        session.insert(T, written.record()).await.unwrap(),
        counted(system, 1)
    );

    let all = texts(session.read(T, b"user1", Fields::All).await.unwrap().unwrap());
    assert_eq!(all, [&b"user1"[..], &printable, quotes, b""]);
    let by_name = texts(
        session
            .read(T, b"user1", Fields::AllByName)
            .await
            .unwrap()
            .unwrap(),
    );
    assert_eq!(by_name, [&printable[..], quotes, b""]);
    let one = texts(session.read(T, b"user1", Fields::One(1)).await.unwrap().unwrap());
    assert_eq!(one, [quotes]);
}

async fn long_values_survive(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    let long: Vec<u8> = (0..65_000u32).map(|i| b'a' + (i % 26) as u8).collect();
    session
        .insert(T, row("k", [&long, b"", &long]).record())
        .await
        .unwrap();
    assert_eq!(
        texts(session.read(T, b"k", Fields::AllByName).await.unwrap().unwrap()),
        [&long[..], b"", &long]
    );
}

async fn a_missing_row_is_an_answer(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["there"]).await;
    assert!(session.read(T, b"gone", Fields::All).await.unwrap().is_none());
    assert_eq!(
        session
            .update(
                T,
                b"gone",
                &[FieldValue {
                    field: 0,
                    value: b"x"
                }]
            )
            .await
            .unwrap(),
        counted(system, 0)
    );
    if session.is_partial().await.unwrap() {
        return;
    }
    assert_eq!(session.delete(T, b"gone").await.unwrap(), counted(system, 0));
    assert_eq!(session.count(T).await.unwrap(), 1);
}

async fn updates_set_what_they_name(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["k", "other"]).await;
    let set = |field, value| FieldValue { field, value };
    assert_eq!(
        session.update(T, b"k", &[set(1, b"one")]).await.unwrap(),
        counted(system, 1)
    );
    assert_eq!(
        texts(session.read(T, b"k", Fields::AllByName).await.unwrap().unwrap()),
        [&b"a"[..], b"one", b"c"]
    );
    assert_eq!(
        session
            .update(T, b"k", &[set(2, b"2"), set(0, b"0")])
            .await
            .unwrap(),
        counted(system, 1)
    );
    assert_eq!(
        texts(session.read(T, b"k", Fields::AllByName).await.unwrap().unwrap()),
        [&b"0"[..], b"one", b"2"]
    );
    let all = [set(0, b"x"), set(1, b"y"), set(2, b"z")];
    assert_eq!(session.update(T, b"k", &all).await.unwrap(), counted(system, 1));
    assert_eq!(
        texts(session.read(T, b"k", Fields::AllByName).await.unwrap().unwrap()),
        [b"x", b"y", b"z"]
    );
    assert_eq!(
        texts(
            session
                .read(T, b"other", Fields::AllByName)
                .await
                .unwrap()
                .unwrap()
        ),
        [b"a", b"b", b"c"]
    );
}

async fn an_update_to_an_equal_value_counts_its_row(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["k"]).await;
    assert_eq!(
        session
            .update(
                T,
                b"k",
                &[FieldValue {
                    field: 0,
                    value: b"a"
                }]
            )
            .await
            .unwrap(),
        counted(system, 1)
    );
}

async fn a_duplicate_key_is_a_constraint(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["k"]).await;
    let error = session
        .insert(T, row("k", [b"1", b"2", b"3"]).record())
        .await
        .unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
    assert!(!error.connection_lost);
    assert_eq!(
        texts(session.read(T, b"k", Fields::AllByName).await.unwrap().unwrap()),
        [b"a", b"b", b"c"]
    );
}

async fn scans_go_in_key_order_to_their_limit_or_the_end(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["user5", "user10", "user2", "user31", "user4"]).await;
    assert_eq!(
        keys_from(&mut session, "user2", Some(3)).await,
        ["user2", "user31", "user4"]
    );
    assert_eq!(
        keys_from(&mut session, "user3", Some(100)).await,
        ["user31", "user4", "user5"]
    );
    assert_eq!(keys_from(&mut session, "user10", None).await.len(), 5);
    assert_eq!(keys_from(&mut session, "user6", None).await, [""; 0]);
    let mut cells = Vec::new();
    let mut each = |row: &_| cells.push(texts(row));
    session
        .scan(T, b"user5", None, Fields::One(2), &mut each)
        .await
        .unwrap();
    assert_eq!(cells, [[b"c".to_vec()]]);
}

async fn deleted_rows_are_gone(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["a", "b"]).await;
    assert_eq!(session.delete(T, b"a").await.unwrap(), counted(system, 1));
    assert!(session.read(T, b"a", Fields::All).await.unwrap().is_none());
    assert_eq!(session.count(T).await.unwrap(), 1);
}

async fn batches_are_stored_whole(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    let rows: Vec<_> = (0..237)
        .map(|i| row(&format!("k{i:04}"), [b"a", format!("v{i}").as_bytes(), b""]))
        .collect();
    let records: Vec<_> = rows.iter().map(|row| row.record()).collect();
    assert_eq!(session.insert_batch(T, &records).await.unwrap(), 237);
    if !session.is_partial().await.unwrap() {
        assert_eq!(session.count(T).await.unwrap(), 237);
    }
    for i in [0, 99, 100, 199, 200, 236] {
        let read = session
            .read(T, format!("k{i:04}").as_bytes(), Fields::One(1))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(texts(read), [format!("v{i}").into_bytes()]);
    }
    assert_eq!(session.insert_batch(T, &[]).await.unwrap(), 0);
}

async fn a_batch_that_fails_stores_nothing(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["k0150"]).await;
    let rows: Vec<_> = (0..200)
        .map(|i| row(&format!("k{i:04}"), [b"a", b"b", b"c"]))
        .collect();
    let records: Vec<_> = rows.iter().map(|row| row.record()).collect();
    let error = session.insert_batch(T, &records).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
    assert_eq!(session.count(T).await.unwrap(), 1);
    // The session is not left inside a transaction.
    load(&mut session, &["after"]).await;
    let mut other = system.records().await;
    other.attach(std::slice::from_ref(spec)).await.unwrap();
    assert_eq!(other.count(T).await.unwrap(), 2);
}

async fn transactions_commit_or_leave_nothing(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["kept"]).await;
    session.begin(Access::default()).await.unwrap();
    load(&mut session, &["new"]).await;
    session
        .update(
            T,
            b"kept",
            &[FieldValue {
                field: 0,
                value: b"changed",
            }],
        )
        .await
        .unwrap();
    let more = row("batch", [b"", b"", b""]);
    session.insert_batch(T, &[more.record()]).await.unwrap();
    session.rollback().await.unwrap();
    assert_eq!(keys_from(&mut session, "", None).await, ["kept"]);
    assert_eq!(
        texts(session.read(T, b"kept", Fields::One(0)).await.unwrap().unwrap()),
        [b"a"]
    );

    session.begin(Access::default()).await.unwrap();
    session.delete(T, b"kept").await.unwrap();
    load(&mut session, &["stays"]).await;
    session.commit().await.unwrap();
    let mut other = system.records().await;
    other.attach(std::slice::from_ref(spec)).await.unwrap();
    assert_eq!(keys_from(&mut other, "", None).await, ["stays"]);
}

async fn a_session_that_goes_away_takes_its_transaction_along(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    session.begin(Access::default()).await.unwrap();
    load(&mut session, &["lost"]).await;
    drop(session);
    // A server notices when it next reads the socket.
    for _ in 0..100 {
        let mut other = system.records().await;
        other.attach(std::slice::from_ref(spec)).await.unwrap();
        if other
            .insert(T, row("lost", [b"1", b"2", b"3"]).record())
            .await
            .is_ok()
        {
            return;
        }
        bakeoff_model::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the row of a transaction that never committed is there");
}

async fn tables_come_and_go(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    assert!(session.table_exists(spec).await.unwrap());
    assert!(
        session.create_table(spec).await.is_err(),
        "creating it twice is an error"
    );
    session.drop_table(spec).await.unwrap();
    assert!(!session.table_exists(spec).await.unwrap());
    session.drop_table(spec).await.unwrap();
}

async fn a_failing_operation_is_reported_as_failing(system: &System, spec: &TableSpec) {
    let mut session = fresh(system, spec).await;
    load(&mut session, &["k"]).await;
    session.read(T, b"k", Fields::All).await.unwrap();
    let mut other = system.records().await;
    let dropping = if system.direct { &mut session } else { &mut other };
    dropping.drop_table(spec).await.unwrap();

    // Both where the statement is prepared already and where it is not.
    let refused = Outcome::Fail(FailClass::Refused);
    let record = row("new", [b"a", b"b", b"c"]);
    let field = [FieldValue {
        field: 0,
        value: b"x",
    }];
    assert_eq!(
        session.read(T, b"k", Fields::All).await.unwrap_err().outcome,
        refused
    );
    assert_eq!(
        session.read(T, b"k", Fields::One(0)).await.unwrap_err().outcome,
        refused
    );
    assert_eq!(
        session.insert(T, record.record()).await.unwrap_err().outcome,
        refused
    );
    assert_eq!(
        session
            .insert_batch(T, &[record.record()])
            .await
            .unwrap_err()
            .outcome,
        refused
    );
    assert_eq!(
        session.update(T, b"k", &field).await.unwrap_err().outcome,
        refused
    );
    if session.is_partial().await.unwrap() {
        return;
    }
    assert_eq!(session.delete(T, b"k").await.unwrap_err().outcome, refused);
    assert_eq!(
        session
            .scan(T, b"", None, Fields::All, &mut |_| {})
            .await
            .unwrap_err()
            .outcome,
        refused
    );
    assert_eq!(session.count(T).await.unwrap_err().outcome, refused);
}

/// Whether a system has not what a case is about, and says so by other means than an offer.
async fn lacks(system: &System, case: &str) -> bool {
    match case {
        "long_values_survive" => system.client.make.value_bytes_max().is_some(),
        "deleted_rows_are_gone" => system.records().await.is_partial().await.unwrap(),
        _ => false,
    }
}

/// One test per case, each on a table of its own for every client, which is dropped at the end.
macro_rules! conformance {
    ($($case:ident $(if $offer:ident)?,)*) => {
        mod every_client {
            use super::*;
            $(
                #[test]
                fn $case() {
                    let offers = [$(Offer::$offer)?];
                    let as_documents = System::with_records_as_documents(&offers);
                    for system in System::at_hand(&offers).into_iter().chain(as_documents) {
                        let name = format!("{}_{}", system.client.name, stringify!($case));
                        let spec = table(&name.chars().take(50).collect::<String>());
                        let carried_out = system.run(async {
                            if lacks(&system, stringify!($case)).await {
                                return false;
                            }
                            super::$case(&system, &spec).await;
                            system.records().await.drop_table(&spec).await.unwrap();
                            true
                        });
                        if carried_out {
                            system.passed("records", stringify!($case));
                        }
                    }
                }
            )*
        }
    };
}

// Without transactions an INSERT may replace an existing row.
conformance!(
    every_byte_survives,
    long_values_survive,
    a_missing_row_is_an_answer,
    updates_set_what_they_name,
    an_update_to_an_equal_value_counts_its_row,
    a_duplicate_key_is_a_constraint if Transactions,
    scans_go_in_key_order_to_their_limit_or_the_end if Scan,
    deleted_rows_are_gone,
    batches_are_stored_whole,
    a_batch_that_fails_stores_nothing if Transactions,
    transactions_commit_or_leave_nothing if Transactions,
    a_session_that_goes_away_takes_its_transaction_along if Transactions,
    tables_come_and_go,
    a_failing_operation_is_reported_as_failing,
);
