//! Bulk loads: an INSERT executed with arrays of parameters where the server has that (MariaDB), else LOAD DATA LOCAL
//! from memory, or INSERTs of many rows where the server refuses that. A few hundred KiB of rows exist at a time, in the
//! connection's own buffer.
use super::WireSession;
use super::answer;
use super::array::Array;
use super::link::Link;
use super::read::{self, Kind, OkPacket};
use super::request;
use crate::mysql::DIALECT;
use crate::mysql::bulk::{self, Inserts, Notice, PIECE_BYTES, Reading, Target};
use crate::server::errors::malformed;
use crate::server::statement::start;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::SqlSession;
use bakeoff_model::value::Value;

/// Warnings read of a statement; of so many it is enough to know that there are more.
const NOTICES_MAX: usize = 1024;

/// What a session has learnt of the tables that it loads.
#[derive(Default)]
pub struct Loader {
    targets: Vec<Target>,
    /// The server will not LOAD DATA LOCAL; it is not asked again.
    refused: bool,
}

/// Of one load, the part that one statement takes.
struct Part {
    stored: u64,
    /// A row is in the buffer that has to be read in another way.
    left: bool,
}

/// Rows sent, whether one is left, and what the server said at the end.
struct Sent {
    rows: u64,
    left: bool,
    done: OkPacket,
}

impl WireSession {
    /// Rows stored; the caller commits, or rolls back after an error.
    pub(super) async fn load(
        &mut self,
        target: &Target,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        if self.terms.arrays {
            return self.insert_arrays(target, next).await;
        }
        if !self.loader.refused {
            match self.load_data(target, next).await {
                Err(error) if bulk::is_refused(&error.code) && !error.connection_lost => {
                    self.loader.refused = true;
                }
                outcome => return outcome,
            }
        }
        self.insert(target, next).await
    }

    /// The table's columns and what they hold; asked once.
    pub(super) async fn target(&mut self, table: &str, columns: &[&str]) -> Result<Target, OpError> {
        let charsets = bulk::charsets_statement(table, columns);
        let table = DIALECT.quoted(table);
        let names: Vec<String> = columns.iter().map(|name| DIALECT.quoted(name)).collect();
        let same = |known: &&Target| known.table == table && known.columns.iter().map(|c| &c.name).eq(&names);
        if let Some(known) = self.loader.targets.iter().find(same) {
            return Ok(known.clone());
        }
        let probe = bulk::probe_statement(&table, &names);
        let kinds = self.columns_of(&probe).await;
        let kinds = kinds.map_err(|error| error.with_statement(start(&probe)))?;
        let all = names.len() as i64;
        let mut plain_ascii = false;
        let mut count = |row: &RowBuf| {
            plain_ascii = row.cell(0).and_then(Value::whole_number) == Some(all);
        };
        self.query_text(&charsets, &mut count).await?;
        let columns = names
            .into_iter()
            .zip(kinds)
            .map(|(name, bytes)| bulk::Column { name, bytes });
        let target = Target {
            table,
            columns: columns.collect(),
            plain_ascii,
        };
        self.loader.targets.push(target.clone());
        Ok(target)
    }

    /// Whether each column of a query's answer holds bytes, of a query that finds no rows.
    async fn columns_of(&mut self, sql: &str) -> Result<Box<[bool]>, OpError> {
        request::query(self.link.request(), sql);
        self.link.ask().await?;
        let packet = self.link.packet().await?;
        if let Some((0xFF, error)) = packet.split_first() {
            return Err(answer::refusal(error));
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
        target: &Target,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let sql = bulk::insert_statement(target);
        let prepared = self.describe_statement(&sql).await;
        let id = prepared.map_err(|error| error.with_statement(start(&sql)))?.id;
        let stored = self.send_arrays(Array::new(target, id), &sql, next).await;
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
        next: &mut impl FnMut(&mut RowBuf) -> bool,
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
        target: &Target,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let first = self.load_part(target, target.reading(), false, next).await?;
        if !first.left {
            return Ok(first.stored);
        }
        let rest = self.load_part(target, Reading::Utf8, true, next).await?;
        Ok(first.stored + rest.stored)
    }

    /// Loads rows up to the end, or up to the first that does not suit the reading. `filled`: the buffer has the first.
    async fn load_part(
        &mut self,
        target: &Target,
        reading: Reading,
        filled: bool,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<Part, OpError> {
        let sql = bulk::load_statement(target, reading);
        request::query(self.link.request(), &sql);
        let loaded = self.send_rows(target, reading, filled, next).await;
        let sent = loaded.map_err(|error| error.with_statement(start(&sql)))?;
        let stored = self.verify(&sql, sent.rows, sent.done).await?;
        Ok(Part {
            stored,
            left: sent.left,
        })
    }

    async fn send_rows(
        &mut self,
        target: &Target,
        reading: Reading,
        mut filled: bool,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<Sent, OpError> {
        self.link.ask().await?;
        match self.link.packet().await?.split_first() {
            Some((0xFB, _)) => {}
            Some((0xFF, error)) => return Err(answer::refusal(error)),
            _ => return Err(malformed("it does not ask for the rows to load")),
        }
        let (mut rows, mut more, mut left) = (0, true, false);
        while more {
            let text = self.link.request();
            let empty = text.len();
            while more && text.len() < PIECE_BYTES {
                if !std::mem::take(&mut filled) {
                    self.row.clear();
                    more = next(&mut self.row);
                }
                if more && target.suits(reading, &self.row) {
                    bulk::push_line(&self.row, text);
                    rows += 1;
                } else {
                    (left, more) = (more, false);
                }
            }
            if text.len() > empty {
                self.link.send().await?;
            }
        }
        self.link.request();
        self.link.send().await?;
        let done = end(&mut self.link).await?;
        Ok(Sent { rows, left, done })
    }

    async fn insert(
        &mut self,
        target: &Target,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let mut inserts = Inserts::new(target);
        let head = String::from_utf8_lossy(inserts.text()).into_owned();
        let (mut stored, mut more) = (0, true);
        while more {
            let (mut rows, mut full) = (0, false);
            while more && !full {
                self.row.clear();
                more = next(&mut self.row);
                if more {
                    full = inserts.push(&self.row);
                    rows += 1;
                }
            }
            if rows > 0 {
                request::query_bytes(self.link.request(), inserts.text());
                let outcome = match self.link.ask().await {
                    Ok(()) => end(&mut self.link).await,
                    Err(error) => Err(error),
                };
                let done = outcome.map_err(|error| error.with_statement(start(&head)))?;
                stored += self.verify(&head, rows, done).await?;
                inserts.clear();
            }
        }
        Ok(stored)
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
        Some((0xFF, error)) => Err(answer::refusal(error)),
        _ => Err(malformed("neither done nor failed")),
    }
}
