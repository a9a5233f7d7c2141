//! The consistency conditions (clause 3.3.2), each as a query for the rows that violate it.
//!
//! They have no gaps: what must be there is asked for from the table above it, so that rows which are missing altogether
//! violate, too, as does a value that is null. Sums of money may come as binary fractions (SQLite), so they differ only by
//! half a cent or more.

#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// In clause 3.3.2.
    pub number: u32,
    pub words: &'static str,
    /// What the query answers with.
    pub columns: &'static [&'static str],
    pub sql: &'static str,
}

impl Condition {
    pub fn name(&self) -> String {
        format!("condition {}: {}", self.number, self.words)
    }
}

/// All but the eleventh, which depends on what was delivered.
pub const CONDITIONS: [Condition; 11] = [
    Condition {
        number: 1,
        words: "W_YTD is the sum of its D_YTD",
        columns: &["w_id", "w_ytd", "sum of d_ytd"],
        sql: "SELECT w_id, w_ytd, s FROM warehouse \
              LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS s FROM district GROUP BY d_w_id) d ON d_w_id = w_id \
              WHERE w_ytd IS NULL OR s IS NULL OR ABS(w_ytd - s) >= 0.005",
    },
    Condition {
        number: 2,
        words: "D_NEXT_O_ID - 1 is the highest O_ID and the highest NO_O_ID",
        columns: &["d_w_id", "d_id", "d_next_o_id", "highest o_id", "highest no_o_id"],
        sql: "SELECT d_w_id, d_id, d_next_o_id, o, n FROM district \
              LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o FROM orders GROUP BY o_w_id, o_d_id) a \
              ON o_w_id = d_w_id AND o_d_id = d_id \
              LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS n FROM new_orders GROUP BY no_w_id, no_d_id) b \
              ON no_w_id = d_w_id AND no_d_id = d_id \
              WHERE d_next_o_id IS NULL OR o IS NULL OR d_next_o_id - 1 <> o OR n <> o",
    },
    Condition {
        number: 3,
        words: "a district's NO_O_ID have no gap",
        columns: &["no_w_id", "no_d_id", "lowest no_o_id", "highest no_o_id", "rows"],
        sql: "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_orders \
              GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    },
    Condition {
        number: 4,
        words: "a district has as many lines as its orders say",
        columns: &["d_w_id", "d_id", "sum of o_ol_cnt", "lines"],
        sql: "SELECT d_w_id, d_id, s, n FROM district \
              LEFT JOIN (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS s FROM orders GROUP BY o_w_id, o_d_id) a \
              ON o_w_id = d_w_id AND o_d_id = d_id \
              LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id) b \
              ON ol_w_id = d_w_id AND ol_d_id = d_id \
              WHERE s IS NULL OR n IS NULL OR s <> n",
    },
    Condition {
        number: 5,
        words: "an order has no carrier while it is a new order",
        columns: &["o_w_id", "o_d_id", "o_id", "o_carrier_id", "no_o_id"],
        sql: "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders \
              LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
              WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    },
    Condition {
        number: 6,
        words: "an order has O_OL_CNT lines",
        columns: &["o_w_id", "o_d_id", "o_id", "o_ol_cnt", "lines"],
        sql: "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, n FROM orders \
              LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS n FROM order_line \
              GROUP BY ol_w_id, ol_d_id, ol_o_id) a ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE o_ol_cnt IS NULL OR n IS NULL OR o_ol_cnt <> n",
    },
    Condition {
        number: 7,
        words: "a line has no delivery date while its order has no carrier",
        columns: &[
            "ol_w_id",
            "ol_d_id",
            "ol_o_id",
            "ol_number",
            "ol_delivery_d",
            "o_carrier_id",
        ],
        sql: "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id FROM orders \
              JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    },
    Condition {
        number: 8,
        words: "W_YTD is the sum of its H_AMOUNT",
        columns: &["w_id", "w_ytd", "sum of h_amount"],
        sql: "SELECT w_id, w_ytd, s FROM warehouse \
              LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS s FROM history GROUP BY h_w_id) h ON h_w_id = w_id \
              WHERE w_ytd IS NULL OR s IS NULL OR ABS(w_ytd - s) >= 0.005",
    },
    Condition {
        number: 9,
        words: "D_YTD is the sum of its H_AMOUNT",
        columns: &["d_w_id", "d_id", "d_ytd", "sum of h_amount"],
        sql: "SELECT d_w_id, d_id, d_ytd, s FROM district \
              LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS s FROM history GROUP BY h_w_id, h_d_id) h \
              ON h_w_id = d_w_id AND h_d_id = d_id \
              WHERE d_ytd IS NULL OR s IS NULL OR ABS(d_ytd - s) >= 0.005",
    },
    Condition {
        number: 10,
        words: "C_BALANCE is the sum of the delivered OL_AMOUNT less that of the H_AMOUNT",
        columns: &[
            "c_w_id",
            "c_d_id",
            "c_id",
            "c_balance",
            "sum of ol_amount",
            "sum of h_amount",
        ],
        sql: "SELECT c_w_id, c_d_id, c_id, c_balance, l, h FROM customer \
              LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS l FROM orders \
              JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) a \
              ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
              LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS h FROM history \
              GROUP BY h_c_w_id, h_c_d_id, h_c_id) b ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
              WHERE c_balance IS NULL OR ABS(c_balance - (COALESCE(l, 0) - COALESCE(h, 0))) >= 0.005",
    },
    Condition {
        number: 12,
        words: "C_BALANCE and C_YTD_PAYMENT are the sum of the delivered OL_AMOUNT",
        columns: &[
            "c_w_id",
            "c_d_id",
            "c_id",
            "c_balance",
            "c_ytd_payment",
            "sum of ol_amount",
        ],
        sql: "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, l FROM customer \
              LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS l FROM orders \
              JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) a \
              ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
              WHERE c_balance IS NULL OR c_ytd_payment IS NULL \
              OR ABS(c_balance + c_ytd_payment - COALESCE(l, 0)) >= 0.005",
    },
];

/// The orders of each district that are no longer new: the eleventh condition says how many these are.
pub const DELIVERED: &str = "SELECT d_w_id, d_id, COALESCE(o, 0) - COALESCE(n, 0) FROM district \
     LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS o FROM orders GROUP BY o_w_id, o_d_id) a \
     ON o_w_id = d_w_id AND o_d_id = d_id \
     LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS n FROM new_orders GROUP BY no_w_id, no_d_id) b \
     ON no_w_id = d_w_id AND no_d_id = d_id";
