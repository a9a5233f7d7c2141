//! Sessions that share a connection, against a real server.
use crate::bench::{endpoint, redis_driver, redis_spec, row, run_on_reactor, table, texts};
use bakeoff_drivers::redis::{RedisDriver, RedisSession, RedisSpec};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec};
use bakeoff_reactor::join_all;
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

const T: Table = Table(0);

fn shared(pipeline: u32) -> Option<RedisDriver> {
    let spec = RedisSpec {
        pipeline,
        ..redis_spec()?
    };
    Some(redis_driver(spec))
}

/// On one worker, all on the table.
async fn sessions(driver: &RedisDriver, count: usize, spec: &TableSpec) -> Vec<RedisSession> {
    let client = driver.open(0).await.unwrap();
    let mut sessions = vec![];
    for _ in 0..count {
        let mut session = driver.session(&client, 0, Needs::default()).await.unwrap();
        session.attach(std::slice::from_ref(spec)).await.unwrap();
        sessions.push(session);
    }
    sessions
}

async fn connections(sessions: &mut [RedisSession]) -> usize {
    let mut found = HashSet::new();
    for session in sessions {
        found.insert(session.connection_id().await.unwrap());
    }
    found.len()
}

async fn fresh(session: &mut RedisSession, spec: &TableSpec) {
    session.drop_table(spec).await.unwrap();
    session.create_table(spec).await.unwrap();
}

#[test]
fn those_who_share_a_connection_each_get_their_own_answers() {
    let Some(driver) = shared(5) else { return };
    run_on_reactor(async {
        let spec = table("redis_shared");
        let mut all = sessions(&driver, 12, &spec).await;
        fresh(&mut all[0], &spec).await;
        let users = all.into_iter().enumerate().map(|(user, mut session)| async move {
            for turn in 0..200 {
                let key = format!("{user}-{turn}");
                let value = format!("{key} {}", "x".repeat(user * turn % 3000));
                let new = row(&key, [value.as_bytes(), b"b", b""]);
                session.insert(T, new.record()).await.unwrap();
                let twice = session.insert(T, new.record()).await.unwrap_err();
                assert_eq!(twice.outcome, Outcome::Fail(FailClass::Constraint));
                let read = session
                    .read(T, key.as_bytes(), Fields::All)
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!(texts(read), [key.as_bytes(), value.as_bytes(), b"b", b""]);
                assert!(
                    session
                        .read(T, b"no such", Fields::One(0))
                        .await
                        .unwrap()
                        .is_none()
                );
                let change = [FieldValue {
                    field: 1,
                    value: key.as_bytes(),
                }];
                assert_eq!(session.update(T, key.as_bytes(), &change).await.unwrap(), Some(1));
                let absent = format!("absent {user}");
                assert_eq!(
                    session.update(T, absent.as_bytes(), &change).await.unwrap(),
                    Some(0)
                );
                if turn % 20 == 0 {
                    let mut own = vec![];
                    let start = format!("{user}-");
                    let mut each = |row: &_| own.push(texts(row).swap_remove(0));
                    session
                        .scan(T, start.as_bytes(), Some(3), Fields::All, &mut each)
                        .await
                        .unwrap();
                    assert!(own[0].starts_with(start.as_bytes()), "{own:?}");
                }
            }
            session
        });
        let boxed = |user| -> Pin<Box<dyn Future<Output = RedisSession>>> { Box::pin(user) };
        let mut all = join_all(users.map(boxed).collect()).await;
        assert_eq!(all[0].count(T).await.unwrap(), 12 * 200);
        all[0].drop_table(&spec).await.unwrap();
    });
}

#[test]
fn as_many_share_a_connection_as_the_option_says() {
    for (pipeline, wanted) in [(1, 12), (5, 3), (100, 1)] {
        let Some(driver) = shared(pipeline) else { return };
        run_on_reactor(async {
            let mut all = sessions(&driver, 12, &table("redis_counted")).await;
            assert_eq!(connections(&mut all).await, wanted);
        });
    }
}

#[test]
fn sessions_that_open_at_once_wait_for_one_connection() {
    let Some(driver) = shared(8) else { return };
    let driver = Rc::new(driver);
    run_on_reactor(async move {
        let client = Rc::new(driver.open(0).await.unwrap());
        let open = |_| {
            let (driver, client) = (driver.clone(), client.clone());
            async move { driver.session(&client, 0, Needs::default()).await.unwrap() }
        };
        let mut all = join_all((0..8).map(open).collect()).await;
        assert_eq!(connections(&mut all).await, 1);
    });
}

#[test]
fn who_gives_up_ends_the_connection_for_those_who_share_it_and_the_next_get_another() {
    let Some(driver) = shared(3) else { return };
    run_on_reactor(async {
        let spec = table("redis_given_up");
        let client = driver.open(0).await.unwrap();
        let mut all = vec![];
        for _ in 0..3 {
            let mut session = driver.session(&client, 0, Needs::default()).await.unwrap();
            session.attach(std::slice::from_ref(&spec)).await.unwrap();
            all.push(session);
        }
        fresh(&mut all[0], &spec).await;
        let [first, second, third] = &mut all[..] else {
            unreachable!()
        };
        let new = row("k", [b"a", b"b", b"c"]);
        {
            let mut given_up = pin!(first.read(T, b"k", Fields::All));
            let mut kept = pin!(second.insert(T, new.record()));
            poll_fn(|cx| {
                assert!(given_up.as_mut().poll(cx).is_pending());
                assert!(kept.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        let lost = third.read(T, b"k", Fields::All).await.unwrap_err();
        assert!(lost.connection_lost);
        assert_eq!(lost.outcome, Outcome::Unknown);
        drop(all);
        let mut again = driver.session(&client, 0, Needs::default()).await.unwrap();
        again.attach(std::slice::from_ref(&spec)).await.unwrap();
        again.count(T).await.unwrap();
        again.drop_table(&spec).await.unwrap();
    });
}

/// A server that takes everything, but has lost its scripts as soon as it is asked to run one, and has one replica. How many
/// have connected.
fn forgetful() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, connected) = (
        listener.local_addr().unwrap().port(),
        Arc::new(AtomicUsize::new(0)),
    );
    let counted = connected.clone();
    let number = |from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        Some(line[1..].trim().parse::<usize>().unwrap())
    };
    let serve = move |stream: TcpStream| {
        let mut from = BufReader::new(stream.try_clone().unwrap());
        while let Some(count) = number(&mut from) {
            let mut word = || {
                let mut word = vec![0; number(&mut from).unwrap() + 2];
                from.read_exact(&mut word).unwrap();
                word
            };
            let words: Vec<_> = (0..count).map(|_| word()).collect();
            let answer = match &words[0][..] {
                b"SCRIPT\r\n" => format!("$40\r\n{}\r\n", "5".repeat(40)),
                b"EVALSHA\r\n" => "-NOSCRIPT No matching script.\r\n".into(),
                b"WAIT\r\n" => ":1\r\n".into(),
                _ => "+OK\r\n".into(),
            };
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || serve(stream));
        }
    });
    (port, connected)
}

#[test]
fn a_connection_without_its_scripts_is_replaced() {
    let (port, connected) = forgetful();
    let spec = RedisSpec {
        endpoints: vec![endpoint(&format!("127.0.0.1:{port}"))],
        pipeline: 2,
        ..RedisSpec::default()
    };
    let driver = redis_driver(spec);
    run_on_reactor(async {
        let mut all = sessions(&driver, 2, &table("redis_forgotten")).await;
        let client = driver.open(0).await.unwrap();
        let mut first = driver.session(&client, 0, Needs::default()).await.unwrap();
        let _second = driver.session(&client, 0, Needs::default()).await.unwrap();
        assert_eq!(connected.load(Ordering::SeqCst), 2, "one for each worker");
        let spec = table("x");
        let error = first.create_table(&spec).await.unwrap_err();
        assert_eq!((&*error.code, error.connection_lost), ("NOSCRIPT", true));
        drop(first);
        let _again = driver.session(&client, 0, Needs::default()).await.unwrap();
        assert_eq!(connected.load(Ordering::SeqCst), 3);
        assert!(
            all[0].table_exists(&spec).await.is_ok(),
            "another worker's is as it was"
        );
    });
}

#[test]
fn a_write_that_too_few_replicas_have_applied_has_an_unknown_outcome() {
    let (port, _) = forgetful();
    let waiting = |wait_replicas| {
        redis_driver(RedisSpec {
            endpoints: vec![endpoint(&format!("127.0.0.1:{port}"))],
            wait_replicas,
            ..RedisSpec::default()
        })
    };
    let change = [FieldValue {
        field: 0,
        value: b"x",
    }];
    run_on_reactor(async {
        let spec = table("redis_waiting");
        let mut one = sessions(&waiting(1), 1, &spec).await;
        let mut two = sessions(&waiting(2), 1, &spec).await;
        for _ in 0..2 {
            assert_eq!(one[0].update(T, b"k", &change).await.unwrap(), Some(1));
            let error = two[0].update(T, b"k", &change).await.unwrap_err();
            assert_eq!((&*error.code, error.outcome), ("WAIT", Outcome::Unknown));
            assert_eq!(error.message, "1 of 2 replicas have applied it");
            assert!(!error.connection_lost);
        }
        let error = two[0].delete(T, b"k").await.unwrap_err();
        assert_eq!(&*error.code, "NOSCRIPT", "the write's own error comes first");
    });
}

/// Of the cluster that the environment names: `BAKEOFF_TEST_REDIS_CLUSTER=host:port,host:port,...`.
fn cluster(pipeline: u32) -> Option<RedisDriver> {
    let Ok(addresses) = std::env::var("BAKEOFF_TEST_REDIS_CLUSTER") else {
        println!("skipped: no redis-cluster server to test against (BAKEOFF_TEST_REDIS_CLUSTER is not set)");
        return None;
    };
    let spec = RedisSpec {
        endpoints: addresses.split(',').map(endpoint).collect(),
        cluster: true,
        pipeline,
        ..RedisSpec::default()
    };
    Some(redis_driver(spec))
}

/// A slot that moves concerns all tests.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn records_in_a_cluster_are_at_the_nodes_that_have_their_slots() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for pipeline in [1, 4] {
        let Some(driver) = cluster(pipeline) else { return };
        run_on_reactor(async {
            let spec = table("redis_cluster");
            let mut all = sessions(&driver, 4, &spec).await;
            let mut nodes = HashSet::new();
            fresh(&mut all[0], &spec).await;
            assert!(all[1].create_table(&spec).await.is_err());
            let rows: Vec<_> = (0..300)
                .map(|n| row(&format!("user{n}"), [b"a", b"b", format!("{n}").as_bytes()]))
                .collect();
            let records: Vec<_> = rows.iter().map(|row| row.record()).collect();
            assert_eq!(all[0].insert_batch(T, &records).await.unwrap(), 300);
            for n in 0..300 {
                let (key, session) = (format!("user{n}"), &mut all[n % 4]);
                let read = session
                    .read(T, key.as_bytes(), Fields::One(2))
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!(texts(read), [format!("{n}").as_bytes()]);
                nodes.insert(session.asked().unwrap());
            }
            assert_eq!(nodes.len(), 3);
            let twice = all[2].insert(T, records[7]).await.unwrap_err();
            assert_eq!(twice.outcome, Outcome::Fail(FailClass::Constraint));
            let change = [FieldValue {
                field: 0,
                value: b"x",
            }];
            assert_eq!(all[3].update(T, b"user7", &change).await.unwrap(), Some(1));
            assert_eq!(all[3].update(T, b"absent", &change).await.unwrap(), Some(0));
            assert_eq!(all[2].delete(T, b"user8").await.unwrap(), Some(1));
            assert_eq!(all[2].delete(T, b"user8").await.unwrap(), Some(0));
            assert_eq!(all[1].count(T).await.unwrap(), 299);
            let mut seen = HashSet::new();
            let mut each = |row: &_| assert!(seen.insert(texts(row)));
            assert_eq!(
                all[0].scan(T, b"", None, Fields::All, &mut each).await.unwrap(),
                299
            );
            assert_eq!(seen.len(), 299);
            assert!(seen.contains(&["user7", "x", "b", "7"].map(|cell| cell.as_bytes().to_vec())[..]));
            all[0].drop_table(&spec).await.unwrap();
            assert!(!all[3].table_exists(&spec).await.unwrap());
            let refused = all[1].read(T, b"user7", Fields::All).await.unwrap_err();
            assert_eq!(refused.outcome, Outcome::Fail(FailClass::Refused));
        });
    }
}

/// What a server answers to a command, as it is sent: a short answer.
fn said(address: &str, command: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut answer = vec![0; 4096];
    let bytes = stream.read(&mut answer).unwrap();
    let answer = String::from_utf8(answer[..bytes].to_vec()).unwrap();
    assert!(!answer.starts_with('-'), "{command}: {answer}");
    answer.trim_start_matches(['+', ':']).trim().to_owned()
}

fn text(address: &str, command: &str) -> String {
    let answer = said(address, command);
    answer.lines().last().unwrap().to_owned()
}

#[test]
fn a_slot_that_moves_is_followed() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(driver) = cluster(1) else { return };
    let addresses = std::env::var("BAKEOFF_TEST_REDIS_CLUSTER").unwrap();
    let nodes: Vec<&str> = addresses.split(',').collect();
    run_on_reactor(async {
        let spec = table("redis_moving");
        let mut all = sessions(&driver, 2, &spec).await;
        fresh(&mut all[0], &spec).await;
        all[0]
            .insert(T, row("moves", [b"a", b"b", b"c"]).record())
            .await
            .unwrap();
        let from = all[0].asked().unwrap() as usize;
        let to = (from + 1) % nodes.len();
        let key = text(nodes[from], &format!("KEYS {}*:moves", spec.name));
        let part = key.strip_suffix(":moves").unwrap();
        let slot = said(nodes[from], &format!("CLUSTER KEYSLOT {key}"));
        let ids = [from, to].map(|node| text(nodes[node], "CLUSTER MYID"));
        let set = |node: usize, state: String| said(nodes[node], &format!("CLUSTER SETSLOT {slot} {state}"));
        set(to, format!("IMPORTING {}", ids[0]));
        set(from, format!("MIGRATING {}", ids[1]));
        let port = nodes[to].rsplit(':').next().unwrap();
        let migrate = |key: &str| said(nodes[from], &format!("MIGRATE 127.0.0.1 {port} {key} 0 5000"));
        migrate(&key);
        for session in &mut all {
            let read = session
                .read(T, b"moves", Fields::AllByName)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(texts(read), [b"a", b"b", b"c"], "by ASK");
            assert_eq!(session.asked(), Some(to as u32));
        }
        // The table's own keys are still where they were, so a script finds only some of them.
        let record = row("moves", [b"1", b"2", b"3"]);
        migrate(part);
        let torn = all[0].insert(T, record.record()).await.unwrap_err();
        assert_eq!(
            (&*torn.code, torn.outcome),
            ("TRYAGAIN", Outcome::Fail(FailClass::Conflict))
        );
        for key in said(nodes[from], &format!("KEYS {part}*"))
            .lines()
            .filter(|line| line.contains(part))
        {
            migrate(key);
        }
        for node in [to, from] {
            set(node, format!("NODE {}", ids[1]));
        }
        let change = [FieldValue {
            field: 1,
            value: b"x",
        }];
        assert_eq!(
            all[0].update(T, b"moves", &change).await.unwrap(),
            Some(1),
            "by MOVED"
        );
        assert_eq!(all[0].asked(), Some(to as u32));
        let twice = all[1].insert(T, record.record()).await.unwrap_err();
        assert_eq!(twice.outcome, Outcome::Fail(FailClass::Constraint));
        assert_eq!(all[1].count(T).await.unwrap(), 1);
        all[1].drop_table(&spec).await.unwrap();
    });
}
