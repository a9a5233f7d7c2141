//! The statements' texts and numbers.
//!
//! The specification says what is read and written, not in how many statements. Row by row (tpcc-mysql) measures round
//! trips, a stored procedure (HammerDB) measures a language that differs between servers; these are few statements (13 in
//! the mean of the deck, begin and commit included, where row by row it would be 29).
//!
//! A list of keys always has room for the longest order, and a shorter one repeats its last key: with a statement for each
//! length, some 270 sessions would have prepared all that a server allows.
use super::rules::{DISTRICTS, LINES_MAX, LINES_MIN, Rules};
use super::schema::TableNames;
use crate::prelude::*;
use crate::prepared;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    OrderHeader,
    TakeOrderId,
    InsertOrder,
    InsertNewOrder,
    Items,
    Stock,
    UpdateStock,
    PayWarehouse,
    PayDistrict,
    CustomersByName,
    Payer,
    PayerData,
    PayCustomer,
    PayBadCredit,
    InsertHistory,
    NewestOrder,
    OrderLines,
    OldestNewOrders,
    DeleteNewOrders,
    DeliveredOrders,
    SetCarrier,
    LineSums,
    SetDelivered,
    CreditCustomer,
    NextOrderId,
    LowStock,
    /// That inserts the fewest lines; those of one, two, ... more follow.
    InsertLines,
}

impl Kind {
    #[inline]
    pub fn statement(self) -> Statement {
        Statement(self as u32)
    }
}

/// The statement that inserts this many lines.
#[inline]
pub fn insert_lines(lines: usize) -> Statement {
    Statement(Kind::InsertLines as u32 + (lines - LINES_MIN as usize) as u32)
}

/// Prepares them all.
pub async fn prepare(rules: &Rules, names: &TableNames, session: &mut AnySql) -> Result<(), OpError> {
    let dialect = session.dialect();
    let lock = dialect.for_update;
    let texts = texts(rules, dialect).into_iter().map(|(_, text)| {
        let locks = !lock.is_empty() && text.contains(lock);
        let reads = text.starts_with("SELECT") && !locks;
        (names.sql(&text, dialect), reads)
    });
    prepared::prepare(session, texts).await
}

/// In the order of their numbers.
fn texts(rules: &Rules, dialect: &Dialect) -> Vec<(Kind, String)> {
    let mut texts = new_order(rules, dialect);
    texts.extend(payment(rules, dialect));
    texts.extend(order_status());
    texts.extend(delivery(rules, dialect));
    texts.extend(stock_level());
    texts.extend((LINES_MIN..=LINES_MAX).map(lines));
    texts
}

const TERMINAL: &str = "w_id=? AND d_w_id=? AND d_id=?";
const CUSTOMER: &str = "c_w_id=? AND c_d_id=? AND c_id=?";

fn new_order(rules: &Rules, dialect: &Dialect) -> Vec<(Kind, String)> {
    let keys = vec!["?"; LINES_MAX as usize].join(", ");
    let lock = if rules.locks_stock { dialect.for_update } else { "" };
    let dist: String = (1..=DISTRICTS)
        .map(|district| format!(" WHEN {district} THEN s_dist_{district:02}"))
        .collect();
    let counts = match rules.counts_stock {
        true => "s_ytd=s_ytd+?, s_order_cnt=s_order_cnt+1, s_remote_cnt=s_remote_cnt+?, ",
        false => "",
    };
    vec![
        (
            Kind::OrderHeader,
            format!(
                "SELECT w_tax, d_tax, c_discount, c_last, c_credit FROM warehouse, district, customer \
                 WHERE {TERMINAL} AND {CUSTOMER}"
            ),
        ),
        (
            Kind::TakeOrderId,
            dialect.take_number("district", "d_next_o_id", "d_w_id=? AND d_id=?"),
        ),
        (
            Kind::InsertOrder,
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
             VALUES (?, ?, ?, ?, ?, NULL, ?, ?)"
                .into(),
        ),
        (
            Kind::InsertNewOrder,
            "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)".into(),
        ),
        (
            Kind::Items,
            format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({keys})"),
        ),
        (
            Kind::Stock,
            format!(
                "SELECT s_i_id, s_quantity, CASE ?+0{dist} END, s_data FROM stock WHERE s_w_id=? AND s_i_id IN ({keys}) \
                 ORDER BY s_i_id{lock}"
            ),
        ),
        (
            Kind::UpdateStock,
            format!("UPDATE stock SET {counts}s_quantity=? WHERE s_w_id=? AND s_i_id=?"),
        ),
    ]
}

fn payment(rules: &Rules, dialect: &Dialect) -> Vec<(Kind, String)> {
    let lock = dialect.for_update;
    let sign = if rules.adds_payments { '+' } else { '-' };
    let counts = match rules.counts_payments {
        true => "c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1, ",
        false => "",
    };
    vec![
        (
            Kind::PayWarehouse,
            "UPDATE warehouse SET w_ytd=w_ytd+? WHERE w_id=?".into(),
        ),
        (
            Kind::PayDistrict,
            "UPDATE district SET d_ytd=d_ytd+? WHERE d_w_id=? AND d_id=?".into(),
        ),
        (
            Kind::CustomersByName,
            "SELECT c_id FROM customer WHERE c_w_id=? AND c_d_id=? AND c_last=? ORDER BY c_first".into(),
        ),
        (
            Kind::Payer,
            format!(
                "SELECT w_name, d_name, c_credit, c_balance, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, \
                 d_street_2, d_city, d_state, d_zip, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
                 c_zip, c_phone, c_since, c_credit_lim, c_discount FROM warehouse, district, customer \
                 WHERE {TERMINAL} AND {CUSTOMER}{lock}"
            ),
        ),
        (
            Kind::PayerData,
            format!("SELECT c_data FROM customer WHERE {CUSTOMER}"),
        ),
        (
            Kind::PayCustomer,
            format!("UPDATE customer SET {counts}c_balance=c_balance{sign}? WHERE {CUSTOMER}"),
        ),
        (
            Kind::PayBadCredit,
            format!("UPDATE customer SET {counts}c_balance=c_balance{sign}?, c_data=? WHERE {CUSTOMER}"),
        ),
        (
            Kind::InsertHistory,
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                .into(),
        ),
    ]
}

fn order_status() -> Vec<(Kind, String)> {
    vec![
        (
            Kind::NewestOrder,
            format!(
                "SELECT o_id, o_ol_cnt, o_entry_d, o_carrier_id, c_balance, c_first, c_middle, c_last \
                 FROM customer, orders WHERE {CUSTOMER} AND o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY o_id DESC LIMIT 1"
            ),
        ),
        (
            Kind::OrderLines,
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?"
                .into(),
        ),
    ]
}

fn delivery(rules: &Rules, dialect: &Dialect) -> Vec<(Kind, String)> {
    let lock = if rules.locks_new_orders {
        dialect.for_update
    } else {
        ""
    };
    let oldest = |district: u64| {
        format!(
            "SELECT * FROM (SELECT no_d_id, no_o_id FROM new_orders WHERE no_w_id=? AND no_d_id={district} \
             ORDER BY no_o_id LIMIT 1{lock}) AS d{district}"
        )
    };
    let oldest: Vec<String> = (1..=DISTRICTS).map(oldest).collect();
    // One order of each district. With the warehouse in each condition SQLite finds them by their keys, too.
    let orders = |prefix: &str, order: &str| {
        let each = format!("({prefix}_w_id=? AND {prefix}_d_id=? AND {order}=?)");
        vec![each; DISTRICTS as usize].join(" OR ")
    };
    let counts = match rules.counts_deliveries {
        true => ", c_delivery_cnt=c_delivery_cnt+1",
        false => "",
    };
    vec![
        (Kind::OldestNewOrders, oldest.join(" UNION ALL ")),
        (
            Kind::DeleteNewOrders,
            format!("DELETE FROM new_orders WHERE {}", orders("no", "no_o_id")),
        ),
        (
            Kind::DeliveredOrders,
            format!("SELECT o_d_id, o_c_id FROM orders WHERE {}", orders("o", "o_id")),
        ),
        (
            Kind::SetCarrier,
            format!("UPDATE orders SET o_carrier_id=? WHERE {}", orders("o", "o_id")),
        ),
        (
            Kind::LineSums,
            format!(
                "SELECT ol_d_id, SUM(ol_amount), COUNT(*) FROM order_line WHERE {} GROUP BY ol_d_id",
                orders("ol", "ol_o_id")
            ),
        ),
        (
            Kind::SetDelivered,
            format!(
                "UPDATE order_line SET ol_delivery_d=? WHERE {}",
                orders("ol", "ol_o_id")
            ),
        ),
        (
            Kind::CreditCustomer,
            format!("UPDATE customer SET c_balance=c_balance+?{counts} WHERE {CUSTOMER}"),
        ),
    ]
}

fn stock_level() -> Vec<(Kind, String)> {
    vec![
        (
            Kind::NextOrderId,
            "SELECT d_next_o_id FROM district WHERE d_w_id=? AND d_id=?".into(),
        ),
        (
            Kind::LowStock,
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id>=? \
             AND ol_o_id<? AND s_w_id=? AND s_i_id=ol_i_id AND s_quantity<?"
                .into(),
        ),
    ]
}

fn lines(count: u64) -> (Kind, String) {
    let rows = vec!["(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)"; count as usize];
    let text = format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
         ol_quantity, ol_amount, ol_dist_info) VALUES {}",
        rows.join(", ")
    );
    (Kind::InsertLines, text)
}
