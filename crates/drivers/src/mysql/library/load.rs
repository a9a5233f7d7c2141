//! Bulk loads through the client library: LOAD DATA LOCAL from memory, or INSERTs of many rows where the server
//! refuses that. A few hundred KiB of text exist at a time, whatever the number of rows.
use super::errors::op_error;
use crate::mysql::DIALECT;
use crate::mysql::bulk::{self, Column, Inserts, Notice, PIECE_BYTES, Reading, Target};
use crate::server::statement::start;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bytes::Bytes;
use futures_core::Stream;
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, InfileData};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// The number of the character set `binary`.
const BINARY: u16 = 63;

/// What a session has learnt of the tables that it loads.
#[derive(Default)]
pub struct Loader {
    targets: Vec<Target>,
    /// The server will not LOAD DATA LOCAL; it is not asked again.
    refused: bool,
}

/// What a bulk statement did, before it is known to be right.
struct Done {
    stored: u64,
    warnings: u16,
}

impl Loader {
    /// Rows stored; the caller commits, or rolls back after an error.
    pub async fn load(
        &mut self,
        conn: &mut Conn,
        target: &Target,
        row: &mut RowBuf,
        next: &mut impl FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        if !self.refused {
            match load_data(conn, target, row, next).await {
                Err(error) if bulk::is_refused(&error.code) && !error.connection_lost => self.refused = true,
                outcome => return outcome,
            }
        }
        insert(conn, target, row, next).await
    }

    /// The table's columns and what they hold; asked once.
    pub async fn target(
        &mut self,
        conn: &mut Conn,
        table: &str,
        columns: &[&str],
    ) -> Result<Target, OpError> {
        let charsets = bulk::charsets_statement(table, columns);
        let table = DIALECT.quoted(table);
        let names: Vec<String> = columns.iter().map(|name| DIALECT.quoted(name)).collect();
        let same = |known: &&Target| known.table == table && known.columns.iter().map(|c| &c.name).eq(&names);
        if let Some(known) = self.targets.iter().find(same) {
            return Ok(known.clone());
        }
        let probe = bulk::probe_statement(&table, &names);
        let failed = |error| op_error(&error).with_statement(&*probe);
        let result = conn.query_iter(&*probe).await.map_err(failed)?;
        let kinds: Vec<bool> = result.columns_ref().iter().map(holds_bytes).collect();
        result.drop_result().await.map_err(failed)?;
        let plain: Option<usize> = conn.query_first(&*charsets).await.map_err(failed)?;
        let names_count = names.len();
        let columns = names
            .into_iter()
            .zip(kinds)
            .map(|(name, bytes)| Column { name, bytes });
        let target = Target {
            table,
            columns: columns.collect(),
            plain_ascii: plain == Some(names_count),
        };
        self.targets.push(target.clone());
        Ok(target)
    }
}

pub fn holds_bytes(column: &mysql_async::Column) -> bool {
    use ColumnType::*;
    let strings = [
        MYSQL_TYPE_STRING,
        MYSQL_TYPE_VAR_STRING,
        MYSQL_TYPE_VARCHAR,
        MYSQL_TYPE_TINY_BLOB,
        MYSQL_TYPE_BLOB,
        MYSQL_TYPE_MEDIUM_BLOB,
        MYSQL_TYPE_LONG_BLOB,
    ];
    column.character_set() == BINARY && strings.contains(&column.column_type())
}

/// Text on its way from the rows to the client library, which asks for it in the middle of its own query: the library
/// takes a piece, we are polled, and make the next one before we poll the library again.
#[derive(Default)]
struct Feed {
    piece: Option<Bytes>,
    wanted: bool,
    ended: bool,
}

#[derive(Clone, Default)]
struct Pieces(Arc<Mutex<Feed>>);

impl Pieces {
    fn with<T>(&self, change: impl FnOnce(&mut Feed) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Stream for Pieces {
    type Item = std::io::Result<Bytes>;

    /// Wakes nobody: whoever polls the query looks at `wanted` afterwards.
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.with(|feed| match feed.piece.take() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None if feed.ended => Poll::Ready(None),
            None => {
                feed.wanted = true;
                Poll::Pending
            }
        })
    }
}

/// Of one load, the part that one statement takes.
struct Part {
    stored: u64,
    /// A row is in the buffer that has to be read in another way.
    left: bool,
}

async fn load_data(
    conn: &mut Conn,
    target: &Target,
    row: &mut RowBuf,
    next: &mut impl FnMut(&mut RowBuf) -> bool,
) -> Result<u64, OpError> {
    let first = load_part(conn, target, target.reading(), false, row, next).await?;
    if !first.left {
        return Ok(first.stored);
    }
    let rest = load_part(conn, target, Reading::Utf8, true, row, next).await?;
    Ok(first.stored + rest.stored)
}

/// Loads rows up to the end, or up to the first that does not suit the reading. `filled`: the buffer has the first one.
async fn load_part(
    conn: &mut Conn,
    target: &Target,
    reading: Reading,
    filled: bool,
    row: &mut RowBuf,
    next: &mut impl FnMut(&mut RowBuf) -> bool,
) -> Result<Part, OpError> {
    let sql = bulk::load_statement(target, reading);
    let pieces = Pieces::default();
    let stream = pieces.clone();
    conn.set_infile_handler(async move { Ok(Box::pin(stream) as InfileData) });
    let mut text = Vec::with_capacity(PIECE_BYTES);
    let (mut sent, mut more, mut filled, mut left) = (0, true, filled, false);
    let mut make_piece = |feed: &mut Feed| {
        while more && text.len() < PIECE_BYTES {
            if !std::mem::take(&mut filled) {
                row.clear();
                more = next(row);
            }
            if more && target.suits(reading, row) {
                bulk::push_line(row, &mut text);
                sent += 1;
            } else {
                (left, more) = (more, false);
            }
        }
        // A row longer than a piece goes in several.
        let piece = text.len().min(PIECE_BYTES);
        feed.wanted = false;
        feed.ended = piece == 0;
        feed.piece = (piece > 0).then(|| Bytes::copy_from_slice(&text[..piece]));
        text.drain(..piece);
    };
    let outcome = {
        let mut query = pin!(run(conn, &sql));
        poll_fn(|context| {
            loop {
                match query.as_mut().poll(context) {
                    Poll::Pending if pieces.with(|feed| feed.wanted) => pieces.with(&mut make_piece),
                    outcome => return outcome,
                }
            }
        })
        .await
    };
    let done = outcome.map_err(|error| op_error(&error).with_statement(start(&sql)))?;
    let stored = check(conn, &sql, sent, &done).await?;
    Ok(Part { stored, left })
}

async fn insert(
    conn: &mut Conn,
    target: &Target,
    row: &mut RowBuf,
    next: &mut impl FnMut(&mut RowBuf) -> bool,
) -> Result<u64, OpError> {
    let mut inserts = Inserts::new(target);
    let head = String::from_utf8_lossy(inserts.text()).into_owned();
    let head = start(&head);
    let (mut stored, mut more) = (0, true);
    while more {
        let (mut rows, mut full) = (0, false);
        while more && !full {
            row.clear();
            more = next(row);
            if more {
                full = inserts.push(row);
                rows += 1;
            }
        }
        if rows > 0 {
            let done = run(conn, inserts.text())
                .await
                .map_err(|error| op_error(&error).with_statement(head))?;
            stored += check(conn, head, rows, &done).await?;
            inserts.clear();
        }
    }
    Ok(stored)
}

async fn run(conn: &mut Conn, sql: impl mysql_async::prelude::AsQuery) -> mysql_async::Result<Done> {
    let result = conn.query_iter(sql).await?;
    let done = Done {
        stored: result.affected_rows(),
        warnings: result.warnings(),
    };
    result.drop_result().await?;
    Ok(done)
}

/// Rows stored, which are all that were sent.
async fn check(conn: &mut Conn, sql: &str, sent: u64, done: &Done) -> Result<u64, OpError> {
    let notices = if done.warnings == 0 {
        Vec::new()
    } else {
        conn.query_map("SHOW WARNINGS", |(_, code, message): (String, u32, String)| {
            Notice {
                code: code.to_string(),
                message,
            }
        })
        .await
        .map_err(|error| op_error(&error))?
    };
    bulk::lost_rows(sent, done.stored, done.warnings.into(), &notices)
        .map_err(|error| error.with_statement(start(sql)))?;
    Ok(done.stored)
}
