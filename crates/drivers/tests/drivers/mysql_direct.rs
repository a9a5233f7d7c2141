//! Reads below SQL, by HANDLER: what they are, and what they see of others.
use crate::bench::{Bench, MysqlDirect, MysqlWire, open, row, table, texts};
use bakeoff_drivers::mysql::wire::WireSession;
use bakeoff_drivers::mysql::wire::direct::{DirectDriver, DirectSession};
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec, Use};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::transaction::{Access, Transactional};

const T: Table = Table(0);

/// A table with the rows a, b and c.
async fn filled(driver: &DirectDriver, spec: &TableSpec) -> DirectSession {
    let mut session = open(driver).await.unwrap();
    session.attach(std::slice::from_ref(spec)).await.unwrap();
    session.create_table(spec).await.unwrap();
    for key in ["a", "b", "c"] {
        session
            .insert(T, row(key, [b"0", b"1", b"2"]).record())
            .await
            .unwrap();
    }
    session
}

async fn first_field(session: &mut DirectSession, key: &str) -> String {
    let found = session.read(T, key.as_bytes(), Fields::One(0)).await.unwrap();
    String::from_utf8(texts(found.unwrap()).swap_remove(0)).unwrap()
}

async fn set(session: &mut DirectSession, key: &str, value: &[u8]) {
    let value = [FieldValue { field: 0, value }];
    assert_eq!(session.update(T, key.as_bytes(), &value).await.unwrap(), Some(1));
}

/// Reads of this session by HANDLER and by SELECT.
async fn counted(session: &mut WireSession) -> Vec<String> {
    let mut counts = Vec::new();
    let sql = "SHOW SESSION STATUS WHERE Variable_name IN ('Com_ha_read', 'Com_select')";
    let mut each = |row: &RowBuf| counts.push(row.cell(1).unwrap().to_string());
    session.query_text(sql, &mut each).await.unwrap();
    counts
}

#[test]
fn reads_and_scans_go_by_handler_and_none_by_select() {
    let Some(driver) = MysqlDirect::driver() else {
        return;
    };
    let spec = table("handled");
    MysqlDirect::run(async {
        let mut session = filled(&driver, &spec).await;
        session
            .prepare(T, &[Use::Read(Fields::All), Use::Insert])
            .await
            .unwrap();
        let before = counted(session.sql()).await;
        assert_eq!(first_field(&mut session, "b").await, "0");
        let mut keys = Vec::new();
        let mut each = |row: &RowBuf| keys.push(texts(row).concat());
        let seen = session.scan(T, b"b", Some(9), Fields::All, &mut each).await;
        assert_eq!(
            (seen.unwrap(), keys),
            (2, vec![b"b012".to_vec(), b"c012".to_vec()])
        );
        let after = counted(session.sql()).await;
        let number = |text: &String| text.parse::<u64>().unwrap();
        let more: Vec<u64> = after
            .iter()
            .zip(&before)
            .map(|(a, b)| number(a) - number(b))
            .collect();
        assert_eq!(more, [2, 0]);
        session.drop_table(&spec).await.unwrap();
    });
}

/// As InnoDB does it. The servers' manuals promise less.
#[test]
fn of_others_only_what_is_committed_is_seen_and_in_a_transaction_what_its_first_read_saw() {
    let Some(driver) = MysqlDirect::driver() else {
        return;
    };
    let spec = table("seen");
    MysqlDirect::run(async {
        let mut writer = filled(&driver, &spec).await;
        let mut reader = open(&driver).await.unwrap();
        reader.attach(std::slice::from_ref(&spec)).await.unwrap();
        writer.begin(Access::default()).await.unwrap();
        set(&mut writer, "a", b"new").await;
        assert_eq!(first_field(&mut writer, "a").await, "new");
        assert_eq!(first_field(&mut reader, "a").await, "0");
        reader.begin(Access::default()).await.unwrap();
        assert_eq!(first_field(&mut reader, "a").await, "0");
        writer.commit().await.unwrap();
        assert_eq!(first_field(&mut reader, "a").await, "0");
        reader.commit().await.unwrap();
        assert_eq!(first_field(&mut reader, "a").await, "new");
        drop(reader);
        writer.drop_table(&spec).await.unwrap();
    });
}

#[test]
fn a_table_of_other_columns_is_refused_before_its_first_read() {
    let Some(driver) = MysqlDirect::driver() else {
        return;
    };
    MysqlDirect::run(async {
        for (test, columns) in [
            (
                "swapped",
                "FIELD1 TEXT, FIELD0 TEXT, FIELD2 TEXT, PRIMARY KEY (YCSB_KEY)",
            ),
            (
                "more",
                "FIELD0 TEXT, FIELD1 TEXT, FIELD2 TEXT, FIELD3 TEXT, PRIMARY KEY (YCSB_KEY)",
            ),
            ("fewer", "FIELD0 TEXT, FIELD1 TEXT, PRIMARY KEY (YCSB_KEY)"),
            ("keyless", "FIELD0 TEXT, FIELD1 TEXT, FIELD2 TEXT, KEY (YCSB_KEY)"),
            (
                "longer_key",
                "FIELD0 VARCHAR(9), FIELD1 TEXT, FIELD2 TEXT, PRIMARY KEY (YCSB_KEY, FIELD0)",
            ),
        ] {
            let spec = table(test);
            let mut session = open(&driver).await.unwrap();
            session.attach(std::slice::from_ref(&spec)).await.unwrap();
            let create = format!("CREATE TABLE `{}` (YCSB_KEY VARCHAR(100), {columns})", spec.name);
            session.sql().execute_text(&create).await.unwrap();
            let error = session.prepare(T, &[Use::Read(Fields::All)]).await.unwrap_err();
            assert_eq!(
                error.outcome,
                Outcome::Fail(FailClass::Refused),
                "{test}: {error}"
            );
            assert!(error.message.contains("other columns"), "{test}: {error}");
            session.drop_table(&spec).await.unwrap();
        }
    });
}

#[test]
fn a_lost_session_is_lost_and_the_next_one_opens_the_table_again() {
    let Some(driver) = MysqlDirect::driver() else {
        return;
    };
    let spec = table("reopened");
    MysqlDirect::run(async {
        let mut victim = filled(&driver, &spec).await;
        first_field(&mut victim, "a").await;
        let number = victim.sql().connection_id();
        let mut other = open(&MysqlWire::driver().unwrap()).await.unwrap();
        other.sql().execute_text(&format!("KILL {number}")).await.unwrap();
        let error = victim.read(T, b"a", Fields::All).await.unwrap_err();
        assert_eq!(
            (error.outcome, error.connection_lost),
            (Outcome::Unknown, true),
            "{error}"
        );
        let mut next = open(&driver).await.unwrap();
        next.attach(std::slice::from_ref(&spec)).await.unwrap();
        assert_eq!(first_field(&mut next, "c").await, "0");
        next.attach(std::slice::from_ref(&spec)).await.unwrap();
        assert_eq!(first_field(&mut next, "c").await, "0");
        next.drop_table(&spec).await.unwrap();
    });
}
