//! The statement that a user of bulk_insert fills with rows (n, n), n = 1, 2, ...

/// The original's buffer.
const STATEMENT_BYTES: usize = 512 * 1024;

#[derive(Debug)]
pub struct Bulk {
    pub(super) table: u64,
    /// The row added last; not known before the table has been asked.
    pub(super) last: Option<u64>,
    /// Rows in the statement.
    pub(super) rows: u64,
    /// The statement is on its way.
    pub(super) sent: bool,
    pub(super) sql: String,
}

impl Bulk {
    /// `user` from 0.
    pub fn new(user: u64) -> Self {
        Self {
            table: user + 1,
            last: None,
            rows: 0,
            sent: false,
            sql: String::with_capacity(STATEMENT_BYTES),
        }
    }

    pub fn add(&mut self, number: u64) {
        let mut digits = itoa::Buffer::new();
        if self.rows == 0 {
            self.sql.clear();
            self.sql.push_str("INSERT INTO sbtest");
            self.sql.push_str(digits.format(self.table));
            self.sql.push_str(" VALUES ");
        } else {
            self.sql.push(',');
        }
        for before in ['(', ','] {
            self.sql.push(before);
            self.sql.push_str(digits.format(number));
        }
        self.sql.push(')');
        self.rows += 1;
        self.last = Some(number);
    }

    /// No room for another row, whose number may have 20 digits.
    pub fn is_full(&self) -> bool {
        self.sql.len() + 2 * 20 + 4 > STATEMENT_BYTES
    }

    pub fn has_rows(&self) -> bool {
        self.rows > 0
    }

    /// Whether its rows are stored is not known: they are asked for, and not sent again.
    pub fn forget(&mut self) -> u64 {
        (self.last, self.sent) = (None, false);
        std::mem::take(&mut self.rows)
    }
}
