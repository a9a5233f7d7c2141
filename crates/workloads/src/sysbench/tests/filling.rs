//! The scripts that fill tables: oltp_insert and bulk_insert.
use super::super::fake::deadlock;
use super::*;
use std::collections::HashSet;

fn state(user: &User) -> (u64, u64, u64) {
    let state = Workload::evidence(user.sysbench);
    (
        state.inserts_acknowledged,
        state.inserts_failed,
        state.inserts_unknown,
    )
}

fn inserted_id(sql: &str) -> i64 {
    let values = sql.split_once("VALUES (").unwrap().1;
    values.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn inserts_let_the_system_number_rows_or_make_ids_that_never_meet() {
    let mut user = User::new(&spec(SysbenchScript::OltpInsert));
    assert_eq!(inserted_id(&user.event().0[0]), 0);
    let own = SysbenchSpec {
        auto_inc: false,
        ..spec(SysbenchScript::OltpInsert)
    };
    let mut seen = HashSet::new();
    for stream in 0..4 {
        let mut user = User::seeded(&own, 1, stream);
        for _ in 0..2000 {
            let id = inserted_id(&user.event().0[0]);
            assert!(i32::try_from(id).is_ok() && seen.insert(id), "{id}");
        }
    }
    let negative = seen.iter().filter(|id| **id < 0).count();
    assert!(
        (3000..5000).contains(&negative),
        "scattered: {negative} of 8000 below 0"
    );
}

#[test]
fn inserts_are_accounted_by_their_last_attempt() {
    let mut user = User::new(&spec(SysbenchScript::OltpInsert));
    user.event().1.unwrap();
    user.session.failing = vec![("INSERT", deadlock())];
    user.next();
    user.attempt().unwrap_err();
    user.attempt().unwrap();
    user.settle(Outcome::Ok, false);
    assert_eq!(state(&user), (2, 0, 0));
    user.session.failing = vec![("INSERT", deadlock())];
    user.event().1.unwrap_err();
    user.session.failing = vec![("INSERT", OpError::lost("2013", "gone"))];
    user.event().1.unwrap_err();
    assert_eq!(state(&user), (2, 1, 1));
}

#[test]
fn a_row_that_a_retried_attempt_may_have_stored_is_unknown() {
    let mut user = User::new(&spec(SysbenchScript::OltpInsert));
    for last in [Outcome::Ok, Outcome::Fail(FailClass::Conflict)] {
        user.session.failing = vec![("INSERT", OpError::lost("2013", "gone"))];
        user.next();
        assert!(user.attempt().unwrap_err().connection_lost);
        let _ = user.attempt();
        user.settle_retried(last);
    }
    assert_eq!(state(&user), (1, 1, 2));
}

/// Events until a statement is sent; how many rows were added before it.
fn until_sent(user: &mut User) -> (u64, Result<Answer<'static>, OpError>) {
    for added in 0.. {
        let (asked, answer) = user.event();
        if asked.iter().any(|sql| sql.starts_with("INSERT")) {
            return (added, answer);
        }
    }
    unreachable!()
}

#[test]
fn bulk_rows_are_sent_when_the_statement_is_full_and_at_the_end() {
    let mut user = User::seeded(&spec(SysbenchScript::BulkInsert), 1, 2);
    let (asked, _) = user.event();
    assert_eq!(asked, ["SELECT MAX(id) FROM sbtest3"]);
    user.next();
    user.attempt().unwrap();
    user.next();
    user.attempt().unwrap();
    now(Workload::finish(
        user.sysbench,
        &(),
        &mut user.thread,
        user.session.any(),
        &mut user.probe,
    ))
    .unwrap();
    assert_eq!(
        user.session.asked,
        ["INSERT INTO sbtest3 VALUES (1,1),(2,2),(3,3)"]
    );
    assert_eq!(state(&user), (3, 0, 0));
    user.session.asked.clear();
    let (added, answer) = until_sent(&mut user);
    answer.unwrap();
    assert!((30_000..60_000).contains(&added), "{added} rows in 512 KiB");
    assert_eq!(state(&user), (3 + added, 0, 0));
    assert_eq!(user.queries(), (0, 2, 0));
}

#[test]
fn bulk_rows_that_were_never_sent_are_taken_back() {
    let mut user = User::new(&spec(SysbenchScript::BulkInsert));
    let owes = |user: &User| Workload::owes(user.sysbench, &user.thread);
    assert!(!owes(&user));
    (0..3).for_each(|_| assert_eq!(user.event().1.unwrap(), Answer::Right));
    assert!(owes(&user));
    Workload::abandon(user.sysbench, &mut user.thread, &mut user.probe);
    assert_eq!((state(&user), user.probe.revoked), ((0, 0, 0), 3));
    assert!(!owes(&user));
}

#[test]
fn bulk_rows_that_were_not_stored_go_with_the_next_attempt() {
    let mut user = User::new(&spec(SysbenchScript::BulkInsert));
    user.session.failing = vec![("INSERT", deadlock())];
    let (added, answer) = until_sent(&mut user);
    answer.unwrap_err();
    let (_, answer) = until_sent(&mut user);
    answer.unwrap();
    assert_eq!(state(&user), (added, added, 0));
    assert_eq!(user.probe.revoked, 0);
}

#[test]
fn bulk_rows_of_a_lost_session_are_unknown_and_taken_back() {
    let mut user = User::new(&spec(SysbenchScript::BulkInsert));
    user.session.failing = vec![("INSERT", OpError::lost("2013", "gone"))];
    let (added, answer) = until_sent(&mut user);
    answer.unwrap_err();
    assert_eq!((state(&user), user.probe.revoked), ((0, 0, added), added));
    assert_eq!(
        user.event().0,
        ["SELECT MAX(id) FROM sbtest1"],
        "the largest id is read again"
    );
}
