//! TPC-C's transactions as a session sees them: what is asked, in which order, and how it ends.
use bakeoff_model::any::Known;
use bakeoff_model::run::tpcc::{TpccChoice, TpccSpec, TpccVariant};
use bakeoff_workloads::prelude::*;
use bakeoff_workloads::tpcc::{Added, Evidence, Tpcc};

use crate::session::now;
use crate::session::tpcc::Warehouse;

/// Statements, and parts of operations.
#[derive(Default)]
struct Counted(Queries, u64);

impl Probe for Counted {
    fn now_ns(&self) -> u64 {
        1
    }
    fn part(&mut self, _: usize, _: Outcome, _: u64) -> u64 {
        self.1 += 1;
        1
    }
    fn queries(&mut self, queries: Queries) {
        self.0.read += queries.read;
        self.0.write += queries.write;
        self.0.other += queries.other;
    }
    fn revoke(&mut self, _: u64) {}
}

/// Only this transaction; new orders roll back with such a probability.
fn only(transaction: &str, rollback_ratio: f64, variant: TpccVariant) -> TpccSpec {
    let weight = |name: &str| u32::from(name == transaction);
    TpccSpec {
        variant,
        warehouses: 4,
        choice: TpccChoice::Weights,
        new_order_weight: weight("new_order"),
        payment_weight: weight("payment"),
        order_status_weight: weight("order_status"),
        delivery_weight: weight("delivery"),
        stock_level_weight: weight("stock_level"),
        rollback_ratio,
        ..TpccSpec::default()
    }
}

fn made(spec: &TpccSpec) -> Tpcc {
    Tpcc::new(spec, 1, ClientSpec::default(), Some(8)).unwrap()
}

/// Drives one user of `workload` through `attempts` attempts at one operation, and settles it by the last one's outcome.
struct User<'a> {
    workload: &'a Tpcc,
    session: Known<Warehouse>,
    thread: <Tpcc as Workload>::Thread,
    counted: Counted,
}

impl<'a> User<'a> {
    fn new(workload: &'a Tpcc) -> Self {
        let mut session = Known::new(Warehouse::telling());
        now(workload.attach(session.any())).unwrap();
        Self {
            thread: Workload::thread(workload, &(), ThreadId::FIRST),
            session,
            workload,
            counted: Counted::default(),
        }
    }

    fn next(&mut self) -> &'a str {
        let place = Workload::next(self.workload, &(), &mut self.thread);
        &Workload::operations(self.workload)[place].name
    }

    fn attempt(&mut self) -> Result<Answer<'a>, OpError> {
        let (workload, thread) = (self.workload, &mut self.thread);
        now(workload.execute(&(), thread, self.session.any(), &mut self.counted))
    }

    fn settle(&mut self, outcome: Outcome) {
        let (workload, thread) = (self.workload, &mut self.thread);
        let ended = Ended::at_once(outcome, false);
        Workload::settle(workload, &(), thread, ended, &mut self.counted);
    }

    /// After two attempts, the first of which nobody answered.
    fn settle_retried(&mut self, outcome: Outcome) {
        let ended = Ended {
            perhaps_applied: 1,
            ..Ended::at_once(outcome, false)
        };
        let (workload, thread) = (self.workload, &mut self.thread);
        Workload::settle(workload, &(), thread, ended, &mut self.counted);
    }

    /// The statements since the last time it was asked.
    fn asked(&mut self) -> Vec<String> {
        self.session.asked.replace(Vec::new()).unwrap()
    }

    fn evidence(&self) -> Evidence {
        Workload::evidence(self.workload)
    }
}

fn told(acknowledged: u64, unknown: u64) -> Added {
    Added {
        acknowledged,
        unknown,
    }
}

fn verbs(asked: &[String]) -> Vec<&str> {
    asked.iter().map(|line| line.split(':').next().unwrap()).collect()
}

fn deadlock() -> OpError {
    OpError::fail(FailClass::Conflict, "1213", "deadlock")
}

#[test]
fn a_new_order_takes_its_number_and_writes_header_stock_and_lines() {
    let workload = made(&only("new_order", 0.0, TpccVariant::Tpcc));
    let mut user = User::new(&workload);
    assert_eq!(user.next(), "new_order");
    assert_eq!(user.attempt().unwrap(), Answer::Right);
    let asked = user.asked();
    let verbs = verbs(&asked);
    let head = [
        "BEGIN",
        "SELECT w_tax",
        "UPDATE district SET d_next_o_id",
        "INSERT INTO orders",
        "INSERT INTO new_orders",
        "SELECT i_id",
        "SELECT s_i_id",
    ];
    assert_eq!(verbs[..7], head);
    assert_eq!(verbs[verbs.len() - 2..], ["INSERT INTO order_line", "COMMIT"]);
    let updates: Vec<&String> = asked
        .iter()
        .filter(|line| line.starts_with("UPDATE stock"))
        .collect();
    let values: Vec<&str> = asked[asked.len() - 2].split(' ').skip(3).collect();
    assert_eq!(values.len(), 9 * updates.len());
    for (number, line) in (1..).zip(values.chunks(9)) {
        let [order, _, warehouse, place, _, _, quantity, amount, dist] = line else {
            panic!("{line:?}")
        };
        assert_eq!(
            (*order, *warehouse, *dist),
            ("3001", "1", "abcdefghijklmnopqrstuvwx")
        );
        assert_eq!(place.parse(), Ok(number));
        assert_eq!(*amount, format!("{}.00", quantity.parse::<i64>().unwrap() * 10));
    }
    let queries = user.counted.0;
    assert_eq!((queries.read, queries.other), (3, 2));
    assert_eq!(queries.write as usize, 4 + updates.len());
    user.settle(Outcome::Ok);
    assert_eq!(user.evidence().new_orders, told(1, 0));
}

#[test]
fn an_unused_item_rolls_everything_back_and_is_no_error() {
    let workload = made(&only("new_order", 1.0, TpccVariant::Tpcc));
    let mut user = User::new(&workload);
    assert_eq!(user.next(), "new_order_rollback");
    assert_eq!(user.attempt().unwrap(), Answer::Right);
    let asked = user.asked();
    assert!(
        verbs(&asked).contains(&"INSERT INTO new_orders"),
        "there is something to roll back"
    );
    assert_eq!(verbs(&asked).last(), Some(&"ROLLBACK"));
    user.settle(Outcome::Ok);
    assert_eq!(user.evidence(), Evidence::default());
}

#[test]
fn each_attempt_has_the_same_input_and_the_next_operation_another() {
    for (transaction, fails) in [
        ("new_order", "INSERT INTO order_line"),
        ("payment", "INSERT INTO history"),
        ("delivery", "UPDATE customer"),
    ] {
        let workload = made(&only(transaction, 0.0, TpccVariant::Tpcc));
        let mut user = User::new(&workload);
        user.next();
        user.session.failing = Some((fails, deadlock()));
        assert_eq!(
            user.attempt().unwrap_err().outcome,
            Outcome::Fail(FailClass::Conflict)
        );
        let mut first = user.asked();
        assert_eq!(first.pop().unwrap(), "ROLLBACK: ");
        assert_eq!(user.attempt().unwrap(), Answer::Right);
        let second = user.asked();
        // The words of a date and a time of day apart.
        let timeless = |line: &String| {
            let words = line.split(' ').filter(|word| !word.contains(['-', ':']));
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let before: Vec<_> = first.iter().map(timeless).collect();
        let again: Vec<_> = second.iter().take(first.len()).map(timeless).collect();
        assert_eq!(before, again, "{transaction}");
        user.settle(Outcome::Ok);
        user.next();
        user.attempt().unwrap();
        assert_ne!(user.asked(), second);
    }
}

#[test]
fn a_wrong_answer_is_reported_and_the_transaction_ends() {
    for (transaction, absent, words, end) in [
        ("new_order", "SELECT w_tax", "customer missing", "ROLLBACK"),
        (
            "new_order",
            "UPDATE district SET d_next_o_id",
            "district missing",
            "ROLLBACK",
        ),
        ("new_order", "SELECT i_id", "item missing", "ROLLBACK"),
        ("new_order", "SELECT s_i_id", "stock missing", "ROLLBACK"),
        ("new_order", "UPDATE stock", "stock not updated", "COMMIT"),
        ("payment", "UPDATE warehouse", "warehouse missing", "COMMIT"),
        (
            "payment",
            "UPDATE district SET d_ytd",
            "district missing",
            "COMMIT",
        ),
        ("payment", "SELECT w_name", "customer missing", "ROLLBACK"),
        ("payment", "UPDATE customer", "customer not updated", "COMMIT"),
        (
            "order_status",
            "SELECT o_id",
            "customer or order missing",
            "ROLLBACK",
        ),
        (
            "order_status",
            "SELECT ol_i_id",
            "an order has more or fewer lines than it says",
            "COMMIT",
        ),
        (
            "delivery",
            "DELETE FROM new_orders",
            "another delivery has taken the same order",
            "ROLLBACK",
        ),
        ("delivery", "UPDATE orders", "carrier not set", "COMMIT"),
        ("delivery", "UPDATE order_line", "lines not delivered", "COMMIT"),
        (
            "stock_level",
            "SELECT d_next_o_id",
            "district missing",
            "ROLLBACK",
        ),
    ] {
        let workload = made(&only(transaction, 0.0, TpccVariant::Tpcc));
        let mut user = User::new(&workload);
        user.next();
        user.session.absent = Some(absent);
        assert_eq!(user.attempt().unwrap(), Answer::Wrong(words), "{absent}");
        assert_eq!(verbs(&user.asked()).last(), Some(&end), "{absent}");
    }
}

#[test]
fn of_customers_with_one_name_the_one_in_the_middle_is_meant() {
    let workload = made(&only("order_status", 0.0, TpccVariant::Tpcc));
    let mut user = User::new(&workload);
    for (namesakes, expected) in [(1, "10"), (2, "10"), (3, "20"), (4, "20"), (5, "30")] {
        user.session.namesakes_beyond_three = namesakes - 3;
        let by_name = loop {
            user.next();
            user.attempt().unwrap();
            let asked = user.asked();
            if asked.iter().any(|line| line.starts_with("SELECT c_id")) {
                break asked;
            }
        };
        let order = by_name
            .iter()
            .find(|line| line.starts_with("SELECT o_id"))
            .unwrap();
        assert_eq!(order.split(' ').next_back(), Some(expected), "{namesakes}");
    }
}

#[test]
fn what_only_reads_says_so_when_it_begins() {
    for transaction in ["order_status", "stock_level"] {
        let workload = made(&only(transaction, 0.0, TpccVariant::Tpcc));
        let mut user = User::new(&workload);
        user.next();
        assert_eq!(user.attempt().unwrap(), Answer::Right);
        assert_eq!(verbs(&user.asked())[0], "BEGIN READ ONLY");
        assert_eq!(user.counted.0.write, 0);
    }
}

#[test]
fn districts_without_new_orders_are_skipped_and_counted() {
    let workload = made(&only("delivery", 0.0, TpccVariant::Tpcc));
    let mut user = User::new(&workload);
    user.next();
    user.session.absent = Some("SELECT * FROM (SELECT no_d_id");
    assert_eq!(user.attempt().unwrap(), Answer::Right);
    assert_eq!(user.asked().len(), 3);
    user.settle(Outcome::Ok);
    user.session.absent = None;
    user.next();
    user.attempt().unwrap();
    user.settle(Outcome::Ok);
    assert_eq!((user.evidence().deliveries, user.counted.1), (told(10, 0), 10));
}

#[test]
fn what_nobody_answered_is_unknown_and_what_failed_is_not_counted() {
    for (transaction, count) in [("new_order", 1), ("payment", 1), ("delivery", 10)] {
        let workload = made(&only(transaction, 0.0, TpccVariant::Tpcc));
        let mut user = User::new(&workload);
        for outcome in [Outcome::Ok, Outcome::Fail(FailClass::Conflict), Outcome::Unknown] {
            user.next();
            if outcome != Outcome::Ok {
                user.session.failing = Some(("BEGIN", deadlock()));
            }
            let _ = user.attempt();
            user.settle(outcome);
        }
        user.next(); // and never tried
        user.settle(Outcome::Unknown);
        let evidence = user.evidence();
        let counted = [evidence.new_orders, evidence.payments, evidence.deliveries];
        let place = ["new_order", "payment", "delivery"]
            .iter()
            .position(|name| *name == transaction);
        for (at, told) in counted.into_iter().enumerate() {
            let expected = if Some(at) == place {
                self::told(count, count)
            } else {
                self::told(0, 0)
            };
            assert_eq!(told, expected, "{transaction}");
        }
    }
}

#[test]
fn a_commit_that_nobody_answered_leaves_an_unknown_order() {
    let workload = made(&only("new_order", 0.0, TpccVariant::Tpcc));
    let mut user = User::new(&workload);
    user.next();
    user.session.failing = Some(("COMMIT", OpError::lost("2013", "gone")));
    assert_eq!(user.attempt().unwrap_err().outcome, Outcome::Unknown);
    user.settle(Outcome::Unknown);
    assert_eq!(user.evidence().new_orders, told(0, 1));
}

#[test]
fn what_a_retried_attempt_may_have_done_is_unknown_whatever_the_last_one_came_to() {
    for (transaction, count) in [("new_order", 1), ("payment", 1), ("delivery", 10)] {
        for (last, done) in [(Outcome::Ok, count), (Outcome::Fail(FailClass::Conflict), 0)] {
            let workload = made(&only(transaction, 0.0, TpccVariant::Tpcc));
            let mut user = User::new(&workload);
            user.next();
            // It stores, and answers that the connection is gone.
            user.session.failing = Some(("COMMIT", OpError::lost("2013", "gone")));
            assert!(user.attempt().unwrap_err().connection_lost);
            user.session.failing = (last != Outcome::Ok).then(|| ("BEGIN", deadlock()));
            let _ = user.attempt();
            user.settle_retried(last);
            let evidence = user.evidence();
            let told = [evidence.new_orders, evidence.payments, evidence.deliveries];
            let (acknowledged, unknown) = told.iter().fold((0, 0), |sum, told| {
                (sum.0 + told.acknowledged, sum.1 + told.unknown)
            });
            assert_eq!((acknowledged, unknown), (done, count), "{transaction} {last:?}");
        }
    }
}

#[test]
fn tpcc_mysql_tries_a_delivery_again_that_another_was_faster_with() {
    let workload = made(&only("delivery", 0.0, TpccVariant::TpccMysql));
    let mut user = User::new(&workload);
    user.next();
    user.session.absent = Some("DELETE FROM new_orders");
    assert_eq!(
        user.attempt().unwrap_err().outcome,
        Outcome::Fail(FailClass::Conflict)
    );
    assert_eq!(verbs(&user.asked()).last(), Some(&"ROLLBACK"));
}

#[test]
fn variants_leave_out_what_their_tools_do() {
    let statement = |transaction: &str, variant: TpccVariant, beginning: &str| {
        let workload = made(&only(transaction, 0.0, variant));
        let mut user = User::new(&workload);
        user.next();
        assert_eq!(user.attempt().unwrap(), Answer::Right);
        let asked = user.asked();
        asked
            .into_iter()
            .find(|line| line.starts_with(beginning))
            .unwrap()
    };
    let values = |line: &str| line.split(' ').count();
    for (transaction, beginning) in [("new_order", "UPDATE stock"), ("payment", "UPDATE customer")] {
        let whole = values(&statement(transaction, TpccVariant::Tpcc, beginning));
        let left_out = if transaction == "payment" { 1 } else { 2 };
        for variant in [TpccVariant::TpccMysql, TpccVariant::TprocC] {
            assert_eq!(
                values(&statement(transaction, variant, beginning)),
                whole - left_out
            );
        }
    }
    // 10.00 each, less a discount of 10 %, with taxes of 15 %.
    let lines = statement("new_order", TpccVariant::TpccMysql, "INSERT INTO order_line");
    let first: Vec<&str> = lines.split(' ').skip(9).take(2).collect();
    let [quantity, amount] = first[..] else {
        panic!("{lines}")
    };
    assert_eq!(amount, format!("{:.2}", quantity.parse::<f64>().unwrap() * 10.35));
}

#[test]
fn the_latency_probe_only_asks_for_order_statuses() {
    let workload = made(&TpccSpec::default());
    let id = ThreadId {
        latency_probe: true,
        ..ThreadId::FIRST
    };
    let mut thread = Workload::thread(&workload, &(), id);
    let latency_probe = Workload::latency_probe_operation(&workload);
    assert!(latency_probe.is_some());
    for _ in 0..50 {
        assert_eq!(Some(Workload::next(&workload, &(), &mut thread)), latency_probe);
    }
    let without = made(&only("payment", 0.0, TpccVariant::Tpcc));
    assert_eq!(Workload::latency_probe_operation(&without), None);
}

#[test]
fn users_of_the_same_seed_ask_the_same() {
    let hash = |spec: &TpccSpec, stream: u64| {
        let workload = made(spec);
        let mut thread = Workload::thread(
            &workload,
            &(),
            ThreadId {
                stream,
                ..ThreadId::FIRST
            },
        );
        for _ in 0..200 {
            Workload::next(&workload, &(), &mut thread);
        }
        Workload::stream_hash(&workload, &thread)
    };
    let spec = TpccSpec::default();
    assert_eq!(hash(&spec, 0), hash(&spec, 0));
    assert_ne!(hash(&spec, 0), hash(&spec, 1));
    let mini = TpccSpec {
        mini: true,
        ..spec.clone()
    };
    assert_ne!(hash(&spec, 0), hash(&mini, 0));
}
