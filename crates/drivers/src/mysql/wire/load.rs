//! Bulk loads: an INSERT executed with arrays of parameters where the server has that (MariaDB), else LOAD DATA LOCAL
//! from memory, or INSERTs of many rows where the server refuses that. A few hundred KiB of rows exist at a time, in the
//! connection's own buffer.
use super::WireSession;
use super::answer;
use super::array::Array;
use super::link::Link;
use super::read::{self, Kind, OkPacket};
use super::request;
use crate::mysql::bulk::{self, Inserts, Lines, Notice};
use crate::mysql::table::{Table, charsets_statement};
use crate::server::errors::malformed;
use crate::server::statement::start;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::value::Value;

/// Warnings read per statement; beyond these it is enough to know that there are more.
const NOTICES_MAX: usize = 1024;

impl WireSession {
    /// Rows stored; the caller commits, or rolls back after an error.
    pub(super) async fn load(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        if self.terms.arrays {
            return self.insert_arrays(table, next).await;
        }
        if !self.tables.load_data_refused {
            match self.load_data(table, next).await {
                Err(error) if bulk::is_refused(&error.code) && !error.connection_lost => {
                    self.tables.load_data_refused = true;
                }
                outcome => return outcome,
            }
        }
        self.insert(table, next).await
    }

    /// The table's columns and what they hold; asked once.
    pub(super) async fn table(&mut self, name: &str, columns: &[&str]) -> Result<Table, OpError> {
        let mut table = Table::new(name, columns);
        if let Some(known) = self.tables.find(&table) {
            return Ok(known);
        }
        let probe = table.probe();
        let bytes = self.columns_of(&probe).await;
        let bytes = bytes.map_err(|error| error.with_statement(start(&probe)))?;
        let mut plain = None;
        let mut count = |row: &RowBuf| plain = row.cell(0).and_then(Value::whole_number);
        self.query_text(&charsets_statement(name, columns), &mut count)
            .await?;
        table.learn(bytes, plain);
        self.tables.keep(&table);
        Ok(table)
    }

    /// Whether each column of a query's answer holds bytes, of a query that finds no rows.
    async fn columns_of(&mut self, sql: &str) -> Result<Box<[bool]>, OpError> {
        request::query(self.link.request(), sql);
        self.link.ask().await?;
        let packet = self.link.packet().await?;
        if let Some((0xFF, error)) = packet.split_first() {
            return Err(read::refusal(error));
        }
        let mut rest = packet;
        let count = read::column_count(&mut rest)?;
        let kinds = answer::describe(&mut self.link, self.terms, count, |column| {
            Kind::of(column) == Kind::Bytes
        })
        .await?;
        match self.link.packet().await?.first() {
            Some(0xFE) => Ok(kinds),
            _ => Err(malformed("rows where none were asked for")),
        }
    }

    /// The statement is closed again, because a server has room for some thousands of them in all.
    async fn insert_arrays(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let sql = bulk::insert_statement(table);
        let prepared = self.describe_statement(&Ask::write(&sql)).await;
        let id = prepared.map_err(|error| error.with_statement(start(&sql)))?.id;
        let stored = self.send_arrays(Array::new(table, id), &sql, next).await;
        if stored.as_ref().is_err_and(|error| error.connection_lost) {
            return stored;
        }
        request::close(self.link.request(), id);
        self.link.tell().await.and(stored)
    }

    /// The next request is written while the server is at work on the last one, but sent only after its answer: an error
    /// may have ended the transaction, and what follows would be stored for good.
    async fn send_arrays(
        &mut self,
        mut array: Array<'_>,
        sql: &str,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let (mut stored, mut request) = (0, Vec::new());
        let mut rows = array.fill(&mut request, &mut self.row, next);
        while rows > 0 {
            self.link.request().extend_from_slice(&request);
            let failed = |error: OpError| error.with_statement(start(sql));
            self.link.tell().await.map_err(failed)?;
            let following = array.fill(&mut request, &mut self.row, next);
            let done = end(&mut self.link).await.map_err(failed)?;
            stored += self.verify(sql, rows, done).await?;
            rows = following;
        }
        Ok(stored)
    }

    async fn load_data(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let (mut lines, mut stored) = (Lines::new(table), 0);
        while let Some(sql) = lines.statement() {
            request::query(self.link.request(), &sql);
            let done = self.send_lines(&mut lines, next).await;
            let done = done.map_err(|error| error.with_statement(start(&sql)))?;
            stored += self.verify(&sql, lines.rows(), done).await?;
        }
        Ok(stored)
    }

    async fn send_lines(
        &mut self,
        lines: &mut Lines<'_>,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<OkPacket, OpError> {
        self.link.ask().await?;
        match self.link.packet().await?.split_first() {
            Some((0xFB, _)) => {}
            Some((0xFF, error)) => return Err(read::refusal(error)),
            _ => return Err(malformed("it does not ask for the rows to load")),
        }
        while !lines.are_over() {
            let text = self.link.request();
            let empty = text.len();
            lines.fill(text, &mut self.row, next);
            if text.len() > empty {
                self.link.send().await?;
            }
        }
        self.link.request();
        self.link.send().await?;
        end(&mut self.link).await
    }

    async fn insert(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let mut inserts = Inserts::new(table);
        let head = inserts.head();
        let mut stored = 0;
        loop {
            let rows = inserts.fill(&mut self.row, next);
            if rows == 0 {
                return Ok(stored);
            }
            request::query_bytes(self.link.request(), inserts.text());
            let outcome = match self.link.ask().await {
                Ok(()) => end(&mut self.link).await,
                Err(error) => Err(error),
            };
            let done = outcome.map_err(|error| error.with_statement(start(&head)))?;
            stored += self.verify(&head, rows, done).await?;
        }
    }

    /// Rows stored, which are all that were sent.
    async fn verify(&mut self, sql: &str, sent: u64, done: OkPacket) -> Result<u64, OpError> {
        let mut notices = Vec::new();
        if done.warnings > 0 {
            let word = |cell: Option<Value<'_>>| cell.map(|word| word.to_string()).unwrap_or_default();
            let mut note = |row: &RowBuf| {
                if notices.len() < NOTICES_MAX {
                    notices.push(Notice {
                        code: word(row.cell(1)),
                        message: word(row.cell(2)),
                    });
                }
            };
            // A row that is left for the next statement is in the buffer.
            let row = std::mem::take(&mut self.row);
            self.query_text("SHOW WARNINGS", &mut note).await?;
            self.row = row;
        }
        bulk::lost_rows(sent, done.affected_rows, done.warnings.into(), &notices)
            .map_err(|error| error.with_statement(start(sql)))?;
        Ok(done.affected_rows)
    }
}

/// The answer to a statement without rows.
async fn end(link: &mut Link) -> Result<OkPacket, OpError> {
    match link.packet().await?.split_first() {
        Some((0x00, rest)) => read::ok_packet(rest),
        Some((0xFF, error)) => Err(read::refusal(error)),
        _ => Err(malformed("neither done nor failed")),
    }
}
