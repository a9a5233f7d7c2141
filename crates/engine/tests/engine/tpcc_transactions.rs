//! What each transaction of TPC-C does to the data, row by row: everything that must change by what the specification says,
//! and nothing else. On a small population in SQLite.
use bakeoff_drivers::sqlite::SqliteDriver;
use bakeoff_drivers::sqlite::SqliteSpec;
use bakeoff_model::any::AnySql;
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::Outcome;
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::ClientSpec;
use bakeoff_model::run::tpcc::{TpccChoice, TpccSpec};
use bakeoff_model::sql::SqlSession;
use bakeoff_model::workload::{Answer, Probe, Queries, ThreadId, Workload};
use bakeoff_workloads::tpcc::Tpcc;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const TABLES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_orders",
    "orders",
    "order_line",
    "stock",
    "item",
];

struct Silent;

impl Probe for Silent {
    fn now_ns(&self) -> u64 {
        1
    }
    fn part(&mut self, _: usize, _: Outcome, _: u64) -> u64 {
        1
    }
    fn queries(&mut self, _: Queries) {}
    fn revoke(&mut self, _: u64) {}
}

/// SQLite answers at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("this session does not wait"),
    }
}

/// Two small warehouses as loaded, and for each table a copy from before the current transaction.
struct Data {
    path: String,
    session: AnySql,
}

fn open(path: &str) -> AnySql {
    let spec = SqliteSpec {
        path: path.into(),
        pragmas: [("synchronous".into(), "OFF".into())].into(),
        ..SqliteSpec::default()
    };
    let driver = SqliteDriver::new(spec, None, Duration::from_secs(10)).unwrap();
    AnySql::beneath(now(driver.session(&(), 0, Needs::default())).unwrap())
}

fn user(workload: &Tpcc, stream: u64) -> <Tpcc as Workload>::Thread {
    let id = ThreadId {
        thread: 0,
        stream,
        latency_probe: false,
    };
    Workload::thread(workload, &(), id)
}

impl Data {
    fn new(test: &str) -> Self {
        let file = format!("tpcc-{test}-{}.db", std::process::id());
        let path = format!("{}/{file}", env!("CARGO_TARGET_TMPDIR"));
        let _ = std::fs::remove_file(&path);
        let (workload, mut session) = (workload("new_order", 0.0), open(&path));
        let mut thread = user(&workload, 0);
        now(workload.create(&mut session, false)).unwrap();
        let units = Workload::load_units(&workload);
        let chunk = Workload::load_chunk_units(&workload);
        for first in (0..units).step_by(chunk as usize) {
            let count = chunk.min(units - first);
            now(workload.load_chunk(&(), &mut thread, &mut session, first, count)).unwrap();
        }
        for step in 0..Workload::after_load_steps(&workload) {
            now(workload.after_load(&mut session, step)).unwrap();
        }
        let mut data = Self { path, session };
        for table in TABLES {
            data.execute(&format!("CREATE TABLE b_{table} AS SELECT * FROM {table}"));
        }
        data
    }

    fn execute(&mut self, sql: &str) {
        now(self.session.execute_text(sql)).unwrap();
    }

    fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut each = |row: &RowBuf| rows.push(row.cells().map(|cell| cell.to_string()).collect());
        now(self.session.query_text(sql, &mut each)).unwrap();
        rows
    }

    /// The numbers of the only row.
    fn numbers<const N: usize>(&mut self, sql: &str) -> [i64; N] {
        let rows = self.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
        std::array::from_fn(|place| rows[0][place].parse().unwrap())
    }

    fn assert_none(&mut self, sql: &str) {
        let rows = self.rows(sql);
        assert!(rows.is_empty(), "{sql}: {} rows, {:?}", rows.len(), rows.first());
    }

    /// Both hold the same rows; `columns` may say what is expected of the table now.
    fn assert_same(&mut self, table: &str, columns_now: &str, columns_before: &str) {
        for (a, b) in [
            ((columns_now, ""), (columns_before, "b_")),
            ((columns_before, "b_"), (columns_now, "")),
        ] {
            self.assert_none(&format!(
                "SELECT {} FROM {}{table} EXCEPT SELECT {} FROM {}{table}",
                a.0, a.1, b.0, b.1
            ));
        }
    }

    /// `users` users carry out a transaction each, and each is checked. Only the tables in `changed` change.
    fn carry_out(&mut self, workload: &Tpcc, users: u64, changed: &[&str], mut look: impl FnMut(&mut Self)) {
        let mut session = open(&self.path);
        now(workload.attach(&mut session)).unwrap();
        for stream in 0..users {
            let mut thread = user(workload, stream);
            Workload::next(workload, &(), &mut thread);
            let answer = now(workload.execute(&(), &mut thread, &mut session, &mut Silent));
            assert_eq!(answer.unwrap(), Answer::Right);
            look(self);
            // What the next one is compared with.
            for table in changed {
                self.execute(&format!("DELETE FROM b_{table}"));
                self.execute(&format!("INSERT INTO b_{table} SELECT * FROM {table}"));
            }
        }
        for table in TABLES.iter().filter(|table| !changed.contains(table)) {
            self.assert_same(table, "*", "*");
            let counts = format!("SELECT (SELECT COUNT(*) FROM {table}), (SELECT COUNT(*) FROM b_{table})");
            let [now, before] = self.numbers(&counts);
            assert_eq!(now, before, "{table}");
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Only this transaction.
fn workload(transaction: &str, rollback_ratio: f64) -> Tpcc {
    let weight = |name: &str| u32::from(name == transaction);
    let spec = TpccSpec {
        warehouses: 2,
        mini: true,
        choice: TpccChoice::Weights,
        new_order_weight: weight("new_order"),
        payment_weight: weight("payment"),
        order_status_weight: weight("order_status"),
        delivery_weight: weight("delivery"),
        stock_level_weight: weight("stock_level"),
        rollback_ratio,
        ..TpccSpec::default()
    };
    Tpcc::new(&spec, 3, ClientSpec::default(), Some(8)).unwrap()
}

#[test]
fn a_new_order_changes_its_district_and_stock_and_adds_its_rows() {
    let mut data = Data::new("new-order");
    let mut remote = 0;
    let changed = ["district", "orders", "new_orders", "order_line", "stock"];
    data.carry_out(&workload("new_order", 0.0), 16, &changed, |data| {
        let [w, d, o, lines, local, carriers] = data.numbers(
            "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, o_all_local, COUNT(o_carrier_id) FROM \
             (SELECT * FROM orders EXCEPT SELECT * FROM b_orders)",
        );
        assert_eq!(carriers, 0);
        let of_order = format!("ol_w_id={w} AND ol_d_id={d} AND ol_o_id={o}");
        data.assert_same(
            "district",
            &format!("d_w_id, d_id, d_ytd, d_next_o_id-(d_w_id={w} AND d_id={d})"),
            "d_w_id, d_id, d_ytd, d_next_o_id",
        );
        assert_eq!(data.numbers(&format!("SELECT d_next_o_id FROM b_district WHERE d_w_id={w} AND d_id={d}")), [o]);
        let added = data.numbers("SELECT no_w_id, no_d_id, no_o_id FROM (SELECT * FROM new_orders EXCEPT SELECT * FROM b_new_orders)");
        assert_eq!(added, [w, d, o]);
        let [stored, first, last] =
            data.numbers(&format!("SELECT COUNT(*), MIN(ol_number), MAX(ol_number) FROM order_line WHERE {of_order}"));
        assert_eq!([stored, first, last], [lines, 1, lines]);
        let [changed] = data.numbers(
            "SELECT COUNT(*) FROM (SELECT * FROM order_line EXCEPT SELECT * FROM b_order_line)",
        );
        assert_eq!(changed, lines);
        data.assert_none(&format!(
            "SELECT * FROM order_line JOIN item ON i_id=ol_i_id JOIN b_stock ON s_w_id=ol_supply_w_id AND s_i_id=ol_i_id \
             WHERE {of_order} AND (ABS(ol_amount-ol_quantity*i_price)>0.001 OR ol_delivery_d IS NOT NULL \
             OR ol_dist_info<>s_dist_{d:02})"
        ));
        data.assert_none(&format!(
            "SELECT s.s_w_id, s.s_i_id, b.s_quantity, q, n, s.s_quantity FROM stock s JOIN b_stock b USING (s_w_id, s_i_id) \
             LEFT JOIN (SELECT ol_supply_w_id w, ol_i_id i, SUM(ol_quantity) q, COUNT(*) n FROM order_line \
             WHERE {of_order} GROUP BY 1, 2) ON w=s_w_id AND i=s_i_id \
             WHERE s.s_ytd<>b.s_ytd+COALESCE(q, 0) OR s.s_order_cnt<>b.s_order_cnt+COALESCE(n, 0) \
             OR s.s_remote_cnt<>b.s_remote_cnt+COALESCE(n, 0)*(s_w_id<>{w}) OR s.s_data<>b.s_data \
             OR n IS NULL AND s.s_quantity<>b.s_quantity \
             OR n=1 AND s.s_quantity<>CASE WHEN b.s_quantity>=q+10 THEN b.s_quantity-q ELSE b.s_quantity-q+91 END"
        ));
        let elsewhere = data.rows(&format!("SELECT 1 FROM order_line WHERE {of_order} AND ol_supply_w_id<>{w}")).len();
        assert_eq!(local == 1, elsewhere == 0);
        remote += elsewhere;
    });
    assert!(remote > 0, "other warehouses supply a line, too");
}

#[test]
fn a_new_order_with_an_unused_item_leaves_nothing() {
    let mut data = Data::new("rollback");
    data.carry_out(&workload("new_order", 1.0), 3, &[], |_| {});
}

#[test]
fn a_payment_changes_warehouse_district_and_customer_and_writes_history() {
    let mut data = Data::new("payment");
    let mut bad_credits = 0;
    let changed = ["warehouse", "district", "customer", "history"];
    data.carry_out(&workload("payment", 0.0), 24, &changed, |data| {
        let newest = "(SELECT * FROM history ORDER BY rowid DESC LIMIT 1)";
        let [w, d, home_w, home_d, c, cents] = data.numbers(&format!(
            "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, CAST(ROUND(h_amount*100) AS INTEGER) FROM {newest}"
        ));
        let [added] = data.numbers("SELECT (SELECT COUNT(*) FROM history)-(SELECT COUNT(*) FROM b_history)");
        assert_eq!(added, 1);
        let cents_of = |column: &str| format!("CAST(ROUND({column}*100) AS INTEGER)");
        data.assert_same(
            "warehouse",
            &format!("w_id, {}-{cents}*(w_id={w})", cents_of("w_ytd")),
            &format!("w_id, {}", cents_of("w_ytd")),
        );
        data.assert_same(
            "district",
            &format!("d_w_id, d_id, d_next_o_id, {}-{cents}*(d_w_id={w} AND d_id={d})", cents_of("d_ytd")),
            &format!("d_w_id, d_id, d_next_o_id, {}", cents_of("d_ytd")),
        );
        let payer = format!("(c_w_id={home_w} AND c_d_id={home_d} AND c_id={c})");
        let (balance, year) = (cents_of("c_balance"), cents_of("c_ytd_payment"));
        data.assert_same(
            "customer",
            &format!(
                "c_w_id, c_d_id, c_id, {balance}+{cents}*{payer}, {year}-{cents}*{payer}, c_payment_cnt-{payer}, \
                 c_delivery_cnt, IIF({payer}, '', c_data)"
            ),
            &format!(
                "c_w_id, c_d_id, c_id, {balance}, {year}, c_payment_cnt, c_delivery_cnt, IIF({payer}, '', c_data)"
            ),
        );
        let entry = format!("{c} {home_d} {home_w} {d} {w} {}.{:02} ", cents / 100, cents % 100);
        let old = format!("(SELECT c_data FROM b_customer WHERE {payer})");
        data.assert_none(&format!(
            "SELECT c_credit, c_data FROM customer WHERE {payer} AND c_data<>CASE c_credit WHEN 'BC' \
             THEN SUBSTR('{entry}'||{old}, 1, 500) ELSE {old} END"
        ));
        data.assert_none(&format!(
            "SELECT h_data FROM {newest} WHERE h_data<>(SELECT w_name FROM warehouse WHERE w_id={w})||'    '|| \
             (SELECT d_name FROM district WHERE d_w_id={w} AND d_id={d})"
        ));
        bad_credits += data.rows(&format!("SELECT 1 FROM customer WHERE {payer} AND c_credit='BC'")).len();
    });
    assert!(bad_credits > 0);
}

#[test]
fn a_delivery_takes_the_oldest_new_order_of_each_district() {
    let mut data = Data::new("delivery");
    let changed = ["new_orders", "orders", "order_line", "customer"];
    data.carry_out(&workload("delivery", 0.0), 3, &changed, |data| {
        data.assert_none("SELECT * FROM new_orders EXCEPT SELECT * FROM b_new_orders");
        let gone = "(SELECT no_w_id w, no_d_id d, no_o_id o FROM (SELECT * FROM b_new_orders EXCEPT SELECT * FROM new_orders))";
        let [districts, warehouses] = data.numbers(&format!("SELECT COUNT(DISTINCT d), COUNT(DISTINCT w) FROM {gone}"));
        assert_eq!([districts, warehouses], [10, 1]);
        data.assert_none(&format!(
            "SELECT * FROM {gone} WHERE o<>(SELECT MIN(no_o_id) FROM b_new_orders WHERE no_w_id=w AND no_d_id=d)"
        ));
        let is_delivered = |prefix: &str, order: &str| format!("(({prefix}_w_id, {prefix}_d_id, {order}) IN {gone})");
        let delivered = is_delivered("o", "o_id");
        data.assert_none(&format!(
            "SELECT n.* FROM orders n JOIN b_orders b USING (o_w_id, o_d_id, o_id) WHERE {delivered}<>(n.o_carrier_id IS NOT \
             b.o_carrier_id) OR {delivered} AND n.o_carrier_id NOT BETWEEN 1 AND 10 OR n.o_c_id<>b.o_c_id"
        ));
        let [carriers] = data.numbers(&format!("SELECT COUNT(DISTINCT o_carrier_id) FROM orders WHERE {delivered}"));
        assert_eq!(carriers, 1);
        let delivered_line = is_delivered("ol", "ol_o_id");
        data.assert_none(&format!(
            "SELECT n.* FROM order_line n JOIN b_order_line b USING (ol_w_id, ol_d_id, ol_o_id, ol_number) \
             WHERE {delivered_line}<>(n.ol_delivery_d IS NOT b.ol_delivery_d) OR n.ol_amount<>b.ol_amount"
        ));
        data.assert_none(&format!(
            "SELECT n.c_w_id, n.c_d_id, n.c_id, b.c_balance, n.c_balance FROM customer n \
             JOIN b_customer b USING (c_w_id, c_d_id, c_id) LEFT JOIN (SELECT o_w_id w, o_d_id d, o_c_id c, \
             SUM(ol_amount) s FROM orders JOIN order_line ON ol_w_id=o_w_id AND ol_d_id=o_d_id AND ol_o_id=o_id \
             WHERE {delivered} GROUP BY 1, 2, 3) ON w=c_w_id AND d=c_d_id AND c=c_id \
             WHERE ABS(n.c_balance-b.c_balance-COALESCE(s, 0))>0.001 OR n.c_delivery_cnt-b.c_delivery_cnt<>(s IS NOT NULL) \
             OR n.c_payment_cnt<>b.c_payment_cnt OR n.c_data<>b.c_data"
        ));
    });
}

#[test]
fn what_reads_changes_nothing() {
    let mut data = Data::new("reads");
    for transaction in ["order_status", "stock_level"] {
        data.carry_out(&workload(transaction, 0.0), 5, &[], |_| {});
    }
}
