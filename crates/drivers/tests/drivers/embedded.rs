//! What is the embedded key-value stores' own: one open store for all sessions, files that outlive a killed process, keys.
use crate::bench::{self, System, row, run, sqlite_file, table};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec};
use bakeoff_model::run::Isolation;
use bakeoff_model::transaction::{Access, Transactional};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const KINDS: [&str; 4] = ["redb", "lmdb", "fjall", "rocksdb"];
const T: Table = Table(0);
/// Of the process that is to be killed: `kind level path`.
const WRITER: &str = "BAKEOFF_TEST_WRITER";
/// Acknowledged inserts before it is.
const BEFORE: usize = 200;

fn spec() -> TableSpec {
    TableSpec {
        name: "killed".into(),
        ..table("killed")
    }
}

fn key(number: usize) -> String {
    format!("user{number:06}")
}

async fn attached(system: &System) -> AnyRecords {
    let mut session = system.records().await;
    session.attach(&[spec()]).await.unwrap();
    session
}

/// Inserts until it is killed, and says each key that was acknowledged.
#[test]
fn a_writer_that_is_to_be_killed() {
    let Ok(asked) = std::env::var(WRITER) else { return };
    let [kind, level, path] = asked.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let system = System::at(kind, level, path.as_ref()).unwrap();
    run(async {
        let mut session = attached(&system).await;
        session.create_table(&spec()).await.unwrap();
        for number in 0.. {
            let inserted = row(&key(number), [b"a", b"b", b"c"]);
            assert_eq!(session.insert(T, inserted.record()).await.unwrap(), Some(1));
            println!("stored {number}");
        }
    });
}

/// How many inserts were acknowledged before a process was killed, and which of them are there afterwards.
fn stored_and_left(kind: &str, level: &str) -> Option<(usize, usize)> {
    let path = sqlite_file();
    let system = System::at(kind, level, &path)?;
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args([
            "embedded::a_writer_that_is_to_be_killed",
            "--exact",
            "--nocapture",
        ])
        .env(WRITER, format!("{kind} {level} {}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let stored = lines
        .by_ref()
        .filter(|line| line.as_ref().unwrap().starts_with("stored "));
    assert_eq!(
        stored.take(BEFORE).count(),
        BEFORE,
        "{kind} {level}: it ended by itself"
    );
    writer.kill().unwrap();
    writer.wait().unwrap();
    // It went on until it was killed.
    let later = lines.filter(|line| line.as_ref().is_ok_and(|line| line.starts_with("stored ")));
    let acknowledged = BEFORE + later.count();
    let left = run(async {
        let mut session = attached(&system).await;
        let mut left = 0;
        for number in 0..acknowledged {
            let found = session.read(T, key(number).as_bytes(), Fields::All).await;
            // A table that was never written is lost, too.
            left += usize::from(found.is_ok_and(|found| found.is_some()));
        }
        left
    });
    Some((acknowledged, left))
}

#[test]
fn a_killed_process_loses_what_its_level_says() {
    for kind in KINDS {
        if let Some((acknowledged, left)) = stored_and_left(kind, "full") {
            assert_eq!(left, acknowledged, "{kind}");
        }
    }
    for kind in ["lmdb", "fjall", "rocksdb"] {
        if let Some((acknowledged, left)) = stored_and_left(kind, "relaxed") {
            assert_eq!(left, acknowledged, "{kind}");
        }
    }
    let (acknowledged, left) = stored_and_left("lmdb", "none").unwrap();
    assert_eq!(left, acknowledged, "LMDB's commits are in the kernel");
    for kind in ["redb", "fjall", "rocksdb"] {
        if let Some((acknowledged, left)) = stored_and_left(kind, "none") {
            assert!(left < acknowledged, "{kind}: none is lost of {acknowledged}");
        }
    }
}

#[test]
fn sessions_of_many_threads_share_a_store_and_lose_no_update() {
    const THREADS: usize = 4;
    const EACH: usize = 50;
    for kind in KINDS {
        let path = sqlite_file();
        let Some(system) = System::at(kind, "none", &path) else {
            continue;
        };
        let mut first = run(async {
            let mut first = attached(&system).await;
            first.create_table(&spec()).await.unwrap();
            first.insert(T, row("k", [b"", b"", b""]).record()).await.unwrap();
            first
        });
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || {
                    let system = System::at(kind, "none", &path).unwrap();
                    run(async {
                        let mut session = attached(&system).await;
                        for _ in 0..EACH {
                            lengthen(&mut session).await;
                        }
                    });
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        run(async {
            let row = first.read(T, b"k", Fields::One(0)).await.unwrap().unwrap();
            assert_eq!(bench::texts(row)[0].len(), THREADS * EACH, "{kind}");
        });
    }
}

/// A byte more. RocksDB's transaction locks a row that it writes, so it writes before it reads.
async fn lengthen(session: &mut AnyRecords) {
    let set = |field, value| FieldValue { field, value };
    session.begin(Access::default()).await.unwrap();
    session.update(T, b"k", &[set(1, b"locked")]).await.unwrap();
    let row = session.read(T, b"k", Fields::One(0)).await.unwrap().unwrap();
    let mut longer = bench::texts(row).swap_remove(0);
    longer.push(b'x');
    session.update(T, b"k", &[set(0, &longer)]).await.unwrap();
    session.commit().await.unwrap();
}

#[test]
fn a_transaction_that_reads_sees_one_snapshot_and_writes_nothing() {
    for kind in KINDS {
        let Some(system) = System::at(kind, "none", &sqlite_file()) else {
            continue;
        };
        run(async {
            let mut reader = attached(&system).await;
            reader.create_table(&spec()).await.unwrap();
            let mut writer = attached(&system).await;
            let access = Access {
                read_only: true,
                isolation: None,
            };
            reader.begin(access).await.unwrap();
            assert!(reader.read(T, b"k", Fields::All).await.unwrap().is_none());
            writer
                .insert(T, row("k", [b"", b"", b""]).record())
                .await
                .unwrap();
            assert!(
                reader.read(T, b"k", Fields::All).await.unwrap().is_none(),
                "{kind}"
            );
            assert_eq!(reader.count(T).await.unwrap(), 0, "{kind}");
            let error = reader.delete(T, b"k").await.unwrap_err();
            assert_eq!(
                error.outcome,
                Outcome::Fail(FailClass::Refused),
                "{kind}: {error}"
            );
            reader.commit().await.unwrap();
            assert_eq!(reader.count(T).await.unwrap(), 1, "{kind}");
        });
    }
}

#[test]
fn other_isolation_is_refused() {
    for kind in KINDS {
        let Some(system) = System::at(kind, "none", &sqlite_file()) else {
            continue;
        };
        run(async {
            let mut session = system.records().await;
            let access = Access {
                read_only: false,
                isolation: Some(Isolation::ReadUncommitted),
            };
            let error = session.begin(access).await.unwrap_err();
            assert_eq!(
                error.outcome,
                Outcome::Fail(FailClass::Refused),
                "{kind}: {error}"
            );
        });
    }
}

#[test]
fn tables_lie_apart_and_a_dropped_one_leaves_nothing_for_the_next() {
    for kind in KINDS {
        let Some(system) = System::at(kind, "none", &sqlite_file()) else {
            continue;
        };
        run(async {
            let (one, two) = (table("one"), table("two"));
            let mut session = system.records().await;
            session.create_table(&one).await.unwrap();
            session.create_table(&two).await.unwrap();
            session.attach(&[one.clone(), two]).await.unwrap();
            let rows: Vec<_> = (0..2500)
                .map(|number| row(&key(number), [b"", b"", b""]))
                .collect();
            let records: Vec<_> = rows.iter().map(|row| row.record()).collect();
            session.insert_batch(Table(0), &records).await.unwrap();
            session.insert_batch(Table(1), &records[..3]).await.unwrap();
            let all = session
                .scan(Table(0), b"", None, Fields::All, &mut |_| {})
                .await
                .unwrap();
            assert_eq!(all, 2500, "{kind}");
            session.drop_table(&one).await.unwrap();
            session.create_table(&one).await.unwrap();
            assert_eq!(session.count(Table(0)).await.unwrap(), 0, "{kind}");
            assert_eq!(session.count(Table(1)).await.unwrap(), 3, "{kind}");
        });
    }
}

#[test]
fn a_key_that_lmdb_does_not_take_breaks_a_constraint_and_a_full_map_is_overload() {
    let system = System::with("lmdb", &[("map_bytes", (1 << 20).into())]).unwrap();
    run(async {
        let mut session = attached(&system).await;
        session.create_table(&spec()).await.unwrap();
        let long = row(&"k".repeat(600), [b"", b"", b""]);
        let error = session.insert(T, long.record()).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint), "{error}");
        let value = vec![b'x'; 2 << 20];
        let large = row("k", [&value, b"", b""]);
        let error = session.insert(T, large.record()).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Overload), "{error}");
        session
            .insert(T, row("k", [b"", b"", b""]).record())
            .await
            .unwrap();
    });
}
