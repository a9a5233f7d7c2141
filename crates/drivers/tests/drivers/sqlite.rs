//! What is SQLite's own: pragmas, locks, files.
use crate::bench::{TIMEOUT, open, row, run, sqlite_driver, sqlite_file, table};
use bakeoff_drivers::sqlite::SqliteDriver;
use bakeoff_drivers::sqlite::{SqliteBegin, SqliteSpec};
use bakeoff_model::outcome::{FailClass, Outcome, TroubleKind};
use bakeoff_model::record::{RecordSession, Table};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::time::{now_ns, set_deadline_ns};
use bakeoff_model::transaction::{Access, Transactional};
use std::time::Duration;

const T: Table = Table(0);

#[test]
fn pragmas_take_effect_on_every_session() {
    let pragmas = [
        ("page_size", "8192"),
        ("journal_mode", "WAL"),
        ("synchronous", "FULL"),
        ("cache_size", "-4000"),
    ];
    let driver = sqlite_driver(&sqlite_file(), &pragmas, TIMEOUT);
    run(async {
        let spec = table("pragmas");
        let mut first = open(&driver).await.unwrap();
        first.create_table(&spec).await.unwrap();
        // The second session finds what the first one made of the file.
        open(&driver).await.unwrap();
    });
}

#[test]
fn a_pragma_that_cannot_take_effect_any_more_is_named() {
    let file = sqlite_file();
    run(async {
        let mut first = open(&sqlite_driver(&file, &[("journal_mode", "WAL")], TIMEOUT))
            .await
            .unwrap();
        first.create_table(&table("late")).await.unwrap();
        let error = open(&sqlite_driver(&file, &[("page_size", "8192")], TIMEOUT))
            .await
            .err()
            .unwrap();
        assert!(
            error.message.contains("page_size") && error.message.contains("8192"),
            "{error}"
        );
    });
}

#[test]
fn a_statement_that_computes_past_the_deadline_is_ended_and_undone_and_its_session_goes_on() {
    let driver = sqlite_driver(&sqlite_file(), &[("journal_mode", "WAL")], TIMEOUT);
    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    run(async {
        let mut session = open(&driver).await.unwrap();
        session
            .sql()
            .execute_text("CREATE TABLE t (i INTEGER)")
            .await
            .unwrap();
        for endless in ["SELECT MAX(i) FROM n", "INSERT INTO t SELECT i FROM n"] {
            set_deadline_ns(now_ns() + 50_000_000);
            let ended = session
                .sql()
                .query_text(&format!("{ENDLESS} {endless}"), &mut |_| {})
                .await;
            set_deadline_ns(u64::MAX);
            let error = ended.unwrap_err();
            assert_eq!(
                (error.outcome, error.connection_lost, &*error.code),
                (Outcome::Fail(FailClass::Other), false, "SQLITE_INTERRUPT")
            );
        }
        let mut found = Vec::new();
        let mut each = |row: &RowBuf| found.push(row.cell(0).unwrap().to_string());
        session
            .sql()
            .query_text("SELECT COUNT(*) FROM t", &mut each)
            .await
            .unwrap();
        assert_eq!(found, ["0"]);
    });
}

#[test]
fn many_sessions_can_ask_for_wal_at_once() {
    let driver = std::sync::Arc::new(sqlite_driver(&sqlite_file(), &[("journal_mode", "WAL")], TIMEOUT));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let driver = driver.clone();
            std::thread::spawn(move || run(async { open(&*driver).await.map(drop) }))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn a_lock_that_is_not_released_is_a_conflict_after_the_timeout() {
    let driver = sqlite_driver(
        &sqlite_file(),
        &[("journal_mode", "WAL")],
        Duration::from_millis(50),
    );
    run(async {
        let spec = table("busy");
        let mut holder = open(&driver).await.unwrap();
        holder.create_table(&spec).await.unwrap();
        let mut other = open(&driver).await.unwrap();
        other.attach(&[spec]).await.unwrap();
        holder.begin(Access::default()).await.unwrap();
        let error = other
            .insert(T, row("k", [b"", b"", b""]).record())
            .await
            .unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        assert_eq!(error.code, "SQLITE_BUSY");
        let error = other.begin(Access::default()).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict), "{error}");
        holder.rollback().await.unwrap();
        other.insert(T, row("k", [b"", b"", b""]).record()).await.unwrap();
    });
}

#[test]
fn a_transaction_takes_the_write_lock_when_it_is_told_to() {
    for (begin, locks) in [
        (SqliteBegin::Immediate, true),
        (SqliteBegin::Deferred, false),
        (SqliteBegin::Exclusive, true),
    ] {
        let spec = SqliteSpec {
            path: sqlite_file().display().to_string(),
            begin,
            ..SqliteSpec::default()
        };
        let driver = SqliteDriver::new(spec, None, Duration::ZERO).unwrap();
        run(async {
            let mut first = open(&driver).await.unwrap();
            first.create_table(&table("begin")).await.unwrap();
            let mut second = open(&driver).await.unwrap();
            first.begin(Access::default()).await.unwrap();
            let refused = second.begin(Access::default()).await.is_err();
            assert_eq!(refused, locks, "{begin:?}");
        });
    }
}

#[test]
fn a_full_database_is_overload() {
    run(async {
        let spec = table("full");
        let driver = sqlite_driver(&sqlite_file(), &[("max_page_count", "8")], TIMEOUT);
        let mut session = open(&driver).await.unwrap();
        session.create_table(&spec).await.unwrap();
        session.attach(&[spec]).await.unwrap();
        let value = vec![b'x'; 60_000];
        let error = session
            .insert(T, row("k", [&value, b"", b""]).record())
            .await
            .unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Overload), "{error}");
    });
}

fn refused(path: &str, isolation: Option<Isolation>) -> bakeoff_model::outcome::Trouble {
    let spec = SqliteSpec {
        path: path.into(),
        ..SqliteSpec::default()
    };
    SqliteDriver::new(spec, isolation, TIMEOUT).err().unwrap()
}

#[test]
fn other_isolation_and_missing_folders_are_refused_before_anything_opens() {
    let trouble = refused("x.db", Some(Isolation::ReadCommitted));
    assert!(trouble.hint.contains("serializable"), "{trouble}");
    let trouble = refused("/no/such/folder/x.db", None);
    assert_eq!(trouble.kind, TroubleKind::Environment);
    assert!(trouble.place.contains("/no/such/folder/x.db"), "{trouble}");
}

#[test]
fn a_file_that_is_no_database_is_refused_by_name() {
    let file = sqlite_file();
    std::fs::write(&file, vec![b'x'; 4096]).unwrap();
    run(async {
        let error = open(&sqlite_driver(&file, &[("journal_mode", "WAL")], TIMEOUT))
            .await
            .err()
            .unwrap();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Refused), "{error}");
        assert!(error.message.contains(file.to_str().unwrap()), "{error}");
    });
}
