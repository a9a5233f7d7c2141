//! Sessions that share a connection, against a real server.
use crate::bench::{TIMEOUT, redis_driver, redis_spec, row, run_on_reactor, table, texts};
use bakeoff_drivers::redis::{RedisDriver, RedisSession, RedisSpec};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{FailClass, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec};
use bakeoff_model::time::{now_ns, sleep};
use bakeoff_reactor::join_all;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

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

async fn connections(driver: &RedisDriver) -> usize {
    let client = driver.open(0).await.unwrap();
    let mut session = driver.session(&client, 0, Needs::default()).await.unwrap();
    session.connected_clients().await.unwrap()
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
                let read = session.read(T, key.as_bytes(), Fields::All).await.unwrap().unwrap();
                assert_eq!(texts(read), [key.as_bytes(), value.as_bytes(), b"b", b""]);
                assert!(session.read(T, b"no such", Fields::One(0)).await.unwrap().is_none());
                let change = [FieldValue {
                    field: 1,
                    value: key.as_bytes(),
                }];
                assert_eq!(session.update(T, key.as_bytes(), &change).await.unwrap(), Some(1));
                assert_eq!(session.update(T, b"no such", &change).await.unwrap(), Some(0));
                if turn % 20 == 0 {
                    let mut own = vec![];
                    let start = format!("{user}-");
                    let mut each = |row: &_| own.push(texts(row).swap_remove(0));
                    session.scan(T, start.as_bytes(), Some(3), Fields::All, &mut each).await.unwrap();
                    assert!(own[0].starts_with(start.as_bytes()), "{own:?}");
                }
            }
            session
        });
        let mut all = join_all(users.map(|user| -> std::pin::Pin<Box<dyn Future<Output = RedisSession>>> { Box::pin(user) }).collect()).await;
        assert_eq!(all[0].count(T).await.unwrap(), 12 * 200);
        all[0].drop_table(&spec).await.unwrap();
    });
}

#[test]
fn as_many_share_a_connection_as_the_option_says() {
    let (Some(one), Some(five)) = (shared(1), shared(5)) else { return };
    run_on_reactor(async {
        let spec = table("redis_counted");
        let before = connections(&one).await;
        let _shared = sessions(&five, 12, &spec).await;
        assert_eq!(connections(&one).await, before + 3);
        let _alone = sessions(&one, 4, &spec).await;
        assert_eq!(connections(&one).await, before + 7);
    });
}

#[test]
fn sessions_that_open_at_once_wait_for_one_connection() {
    let Some(driver) = shared(8) else { return };
    let driver = Rc::new(driver);
    run_on_reactor(async move {
        let client = Rc::new(driver.open(0).await.unwrap());
        let before = connections(&driver).await;
        let open = |_| {
            let (driver, client) = (driver.clone(), client.clone());
            async move { driver.session(&client, 0, Needs::default()).await.unwrap() }
        };
        let _all = join_all((0..8).map(open).collect()).await;
        assert_eq!(connections(&driver).await, before + 1);
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
        let [first, second, third] = &mut all[..] else { unreachable!() };
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

#[test]
fn a_server_that_has_forgotten_the_scripts_costs_an_operation_and_not_the_run() {
    for pipeline in [1, 2] {
        let Some(driver) = shared(pipeline) else { return };
        run_on_reactor(async {
            let spec = table(&format!("redis_forgotten_{pipeline}"));
            let client = driver.open(0).await.unwrap();
            let mut session = driver.session(&client, 0, Needs::default()).await.unwrap();
            session.attach(std::slice::from_ref(&spec)).await.unwrap();
            fresh(&mut session, &spec).await;
            session.forget_scripts().await.unwrap();
            let new = row("k", [b"a", b"b", b"c"]);
            let error = session.insert(T, new.record()).await.unwrap_err();
            assert_eq!((&*error.code, error.connection_lost), ("NOSCRIPT", true));
            drop(session);
            let mut again = driver.session(&client, 0, Needs::default()).await.unwrap();
            again.attach(std::slice::from_ref(&spec)).await.unwrap();
            assert_eq!(again.insert(T, new.record()).await.unwrap(), Some(1));
            again.drop_table(&spec).await.unwrap();
        });
    }
}

#[test]
fn nobody_waits_for_others_to_ask() {
    let Some(driver) = shared(100) else { return };
    run_on_reactor(async {
        let spec = table("redis_alone");
        let mut all = sessions(&driver, 2, &spec).await;
        fresh(&mut all[0], &spec).await;
        let begin_ns = now_ns();
        sleep(Duration::from_millis(1)).await;
        for _ in 0..100 {
            assert!(all[0].read(T, b"k", Fields::All).await.unwrap().is_none());
        }
        assert!(now_ns() - begin_ns < TIMEOUT.as_nanos() as u64);
        all[0].drop_table(&spec).await.unwrap();
    });
}
