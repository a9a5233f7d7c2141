//! The ACID tests of TPC-C (specification 5.11, clauses 3.2 and 3.4.2), as far as two sessions can carry them out: what two
//! transactions do to each other at each isolation level that a plan may name. Its tables, but only a few columns of them.
//!
//! Whether one waits for the other is seen without a clock: who may not wait is refused.
use crate::bench::System;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::Isolation;
use bakeoff_model::sql::{Ask, NumberTaken, SqlSession};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two sessions, and tables that no other test has: one district, customer and item, and the customer's first order.
struct Pair<'a, S> {
    first: &'a mut S,
    second: &'a mut S,
    level: Isolation,
    tables: String,
}

impl<'a, S: SqlSession + Transactional> Pair<'a, S> {
    async fn new((first, second): (&'a mut S, &'a mut S), level: Isolation) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tables = format!("acid{}_{number}_", std::process::id());
        let no_waiting = match first.dialect().name {
            // MySQL makes a second of it.
            "mysql" => "SET SESSION innodb_lock_wait_timeout=0",
            "postgresql" => "SET lock_timeout='1ms'",
            _ => "PRAGMA busy_timeout=0",
        };
        second.execute_text(no_waiting).await.unwrap();
        let mut pair = Self {
            first,
            second,
            level,
            tables,
        };
        pair.drop_tables().await;
        for (table, columns, row) in TABLES {
            let name = format!("{}{table}", pair.tables);
            for sql in [
                format!("CREATE TABLE {name} ({columns})"),
                format!("INSERT INTO {name} VALUES ({row})"),
            ] {
                pair.first.execute_text(&sql).await.unwrap();
            }
        }
        pair
    }

    async fn drop_tables(&mut self) {
        for (table, ..) in TABLES {
            let sql = format!("DROP TABLE IF EXISTS {}{table}", self.tables);
            self.first.execute_text(&sql).await.unwrap();
        }
    }

    /// With the tables' own names.
    fn named(&self, sql: &str) -> String {
        sql.replace('@', &self.tables)
    }

    fn access(&self, read_only: bool) -> Access {
        Access {
            read_only,
            isolation: Some(self.level),
        }
    }

    async fn begin(&mut self) {
        self.first.begin(self.access(false)).await.unwrap();
    }

    async fn write(&mut self, sql: &str) {
        self.first.execute_text(&self.named(sql)).await.unwrap();
    }

    async fn ask(&mut self, sql: &str) -> i64 {
        number(self.first, &self.named(sql)).await.unwrap()
    }

    /// The first session's transaction ends.
    async fn end(&mut self, commits: bool) {
        match commits {
            true => self.first.commit().await.unwrap(),
            false => self.first.rollback().await.unwrap(),
        }
    }

    /// A transaction of the second session; `false`: it would have to wait.
    async fn tries(&mut self, sql: &str) -> bool {
        let (access, sql) = (self.access(false), self.named(sql));
        let done = async {
            self.second.begin(access).await?;
            let done = self.second.execute_text(&sql).await.map(drop);
            self.second.end(done).await
        };
        went_on(done.await)
    }

    /// A number that the second session reads in a transaction of its own; `None`: it would have to wait.
    async fn tries_to_read(&mut self, sql: &str) -> Option<i64> {
        let (access, sql) = (self.access(true), self.named(sql));
        let mut found = 0;
        let done = async {
            self.second.begin(access).await?;
            let done = number(self.second, &sql).await.map(|number| found = number);
            self.second.end(done).await
        };
        went_on(done.await).then_some(found)
    }
}

/// Columns of each, and its row.
const TABLES: [(&str, &str, &str); 5] = [
    (
        "district",
        "d_id INTEGER PRIMARY KEY, d_next_o_id INTEGER, d_ytd INTEGER",
        "1, 2, 0",
    ),
    ("customer", "c_id INTEGER PRIMARY KEY, c_balance INTEGER", "1, 0"),
    ("item", "i_id INTEGER PRIMARY KEY, i_price INTEGER", "1, 100"),
    ("orders", "o_id INTEGER PRIMARY KEY, o_c_id INTEGER", "1, 1"),
    ("new_orders", "no_o_id INTEGER PRIMARY KEY", "1"),
];

/// Whether it did, or was refused because another is at work.
fn went_on(done: Result<(), OpError>) -> bool {
    match done {
        Ok(()) => true,
        Err(error) if error.outcome == Outcome::Fail(FailClass::Conflict) => false,
        Err(error) => panic!("{error}"),
    }
}

async fn number<S: SqlSession>(session: &mut S, sql: &str) -> Result<i64, OpError> {
    let mut found = None;
    let mut each = |row: &RowBuf| found = row.cell(0).and_then(Value::whole_number);
    session.query_text(sql, &mut each).await?;
    Ok(found.expect("one number"))
}

const NEWEST_ORDER: &str = "SELECT MAX(o_id) FROM @orders WHERE o_c_id=1";
const BALANCE: &str = "SELECT c_balance FROM @customer";
const NEXT_ORDER: &str = "SELECT d_next_o_id FROM @district";

/// Clause 3.2.2: a payment changes all of its rows, or none.
async fn a_transaction_is_done_as_a_whole_or_not_at_all<S: SqlSession + Transactional>(
    pair: &mut Pair<'_, S>,
) {
    for commits in [true, false] {
        pair.begin().await;
        pair.write("UPDATE @district SET d_ytd=d_ytd+7").await;
        pair.write("UPDATE @customer SET c_balance=c_balance+7").await;
        pair.write("INSERT INTO @orders SELECT MAX(o_id)+1, 7 FROM @orders")
            .await;
        pair.end(commits).await;
        assert_eq!(pair.ask("SELECT d_ytd FROM @district").await, 7);
        assert_eq!(pair.ask(BALANCE).await, 7);
        assert_eq!(pair.ask("SELECT COUNT(*) FROM @orders").await, 2);
    }
}

/// Tests 1 and 2: an order that is not committed is not seen, and neither is one that never will be.
async fn an_order_status_sees_committed_orders_alone<S: SqlSession + Transactional>(pair: &mut Pair<'_, S>) {
    for commits in [false, true] {
        pair.begin().await;
        pair.write("INSERT INTO @orders VALUES (2, 1)").await;
        let seen = pair.tries_to_read(NEWEST_ORDER).await;
        assert!(seen.is_none_or(|newest| newest == 1), "{seen:?}");
        pair.end(commits).await;
        let newest = if commits { 2 } else { 1 };
        assert_eq!(pair.tries_to_read(NEWEST_ORDER).await, Some(newest));
    }
}

/// Tests 3 and 4: a district's numbers are given out one by one, and none is lost.
async fn new_orders_of_a_district_follow_each_other<S: SqlSession + Transactional>(pair: &mut Pair<'_, S>) {
    let take = pair.named("@district");
    let take = pair.first.dialect().take_number(&take, "d_next_o_id", "d_id=1");
    let take = pair.first.prepare(&Ask::write(&take)).await.unwrap();
    let next = "UPDATE @district SET d_next_o_id=d_next_o_id+1";
    for (commits, next_then) in [(true, 4), (false, 5)] {
        let before = pair.ask(NEXT_ORDER).await;
        pair.begin().await;
        let taken = match pair.first.dialect().number_taken {
            NumberTaken::InsertId => pair
                .first
                .execute(take, &[])
                .await
                .unwrap()
                .insert_id
                .map(|id| id as i64),
            NumberTaken::Row => {
                let row = pair.first.query_one(take, &[]).await.unwrap().unwrap();
                row.cell(0).and_then(Value::whole_number)
            }
        };
        assert_eq!(taken, Some(before));
        assert!(!pair.tries(next).await, "it waits for who came first");
        pair.end(commits).await;
        assert!(pair.tries(next).await);
        assert_eq!(pair.ask(NEXT_ORDER).await, next_then);
    }
}

/// Tests 5 and 6: neither a payment nor a delivery is lost.
async fn a_payment_and_a_delivery_to_one_customer_both_count<S: SqlSession + Transactional>(
    pair: &mut Pair<'_, S>,
) {
    let payment = "UPDATE @customer SET c_balance=c_balance-10";
    for (commits, balance) in [(true, 90), (false, 80)] {
        pair.begin().await;
        pair.write("UPDATE @customer SET c_balance=c_balance+100").await;
        assert!(!pair.tries(payment).await, "it waits for the delivery");
        pair.end(commits).await;
        assert!(pair.tries(payment).await);
        assert_eq!(pair.ask(BALANCE).await, balance);
    }
}

/// Test 7: a price that is read twice is the same.
async fn a_price_stays_for_who_has_read_it<S: SqlSession + Transactional>(pair: &mut Pair<'_, S>) {
    read_twice(
        pair,
        "SELECT i_price FROM @item",
        100,
        "UPDATE @item SET i_price=110",
        110,
    )
    .await;
}

/// Test 8: a delivery that has found no new order finds none until it ends.
async fn no_new_order_appears_to_a_delivery<S: SqlSession + Transactional>(pair: &mut Pair<'_, S>) {
    pair.write("DELETE FROM @new_orders").await;
    let left = format!(
        "SELECT COUNT(*) FROM (SELECT no_o_id FROM @new_orders ORDER BY no_o_id LIMIT 1{}) AS oldest",
        pair.first.dialect().for_update
    );
    read_twice(pair, &left, 0, "INSERT INTO @new_orders VALUES (2)", 1).await;
}

/// Test 9: who has seen a customer's newest order sees no newer one until he ends.
async fn no_order_appears_to_an_order_status<S: SqlSession + Transactional>(pair: &mut Pair<'_, S>) {
    read_twice(pair, NEWEST_ORDER, 1, "INSERT INTO @orders VALUES (2, 1)", 2).await;
}

/// What another transaction changes meanwhile, unless it waits, is not seen before the end.
async fn read_twice<S: SqlSession + Transactional>(
    pair: &mut Pair<'_, S>,
    read: &str,
    before: i64,
    change: &str,
    after: i64,
) {
    pair.begin().await;
    assert_eq!(pair.ask(read).await, before);
    let changed = pair.tries(change).await;
    assert_eq!(pair.ask(read).await, before);
    pair.end(true).await;
    assert!(changed || pair.tries(change).await);
    assert_eq!(pair.ask(read).await, after);
}

const ANY: &[Isolation] = &[
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];
/// Where what was read stays.
const REPEATABLE: &[Isolation] = &[Isolation::RepeatableRead, Isolation::Serializable];

/// A test of each of the cases, at each of the levels that a system has.
macro_rules! on_every_client {
    ($($levels:ident: [$($case:ident),* $(,)?])*) => {
        mod every_client {
            use super::*;
            $($(
                #[test]
                fn $case() {
                    for system in System::of_sql() {
                        system.run(async {
                            let (mut first, mut second) = (system.sql().await, system.sql().await);
                            if first.dialect().name == "hsqldb" {
                                println!("skipped: HSQLDB does not limit how long a statement waits for a lock");
                                return;
                            }
                            for level in $levels.iter().filter(|level| system.levels.contains(level)) {
                                let mut pair = Pair::new((&mut first, &mut second), *level).await;
                                super::$case(&mut pair).await;
                                pair.drop_tables().await;
                            }
                        });
                    }
                }
            )*)*
        }
    };
}

on_every_client!(
    ANY: [
        a_transaction_is_done_as_a_whole_or_not_at_all,
        an_order_status_sees_committed_orders_alone,
        new_orders_of_a_district_follow_each_other,
        a_payment_and_a_delivery_to_one_customer_both_count,
    ]
    REPEATABLE: [
        a_price_stays_for_who_has_read_it,
        no_new_order_appears_to_a_delivery,
        no_order_appears_to_an_order_status,
    ]
);
