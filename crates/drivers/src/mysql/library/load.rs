//! Bulk loads through the client library: LOAD DATA LOCAL from memory, or INSERTs of many rows where the server
//! refuses that. A few hundred KiB of text exist at a time, whatever the number of rows.
use super::LibrarySession;
use super::errors::op_error;
use crate::mysql::bulk::{self, Inserts, Lines, Notice, PIECE_BYTES};
use crate::mysql::table::{Table, charsets_statement};
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

/// What a bulk statement did, before it is known to be right.
struct Done {
    stored: u64,
    warnings: u16,
}

impl LibrarySession {
    /// Rows stored; the caller commits, or rolls back after an error.
    pub(super) async fn load(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        self.busy = true;
        let stored = self.load_somehow(table, next).await;
        self.busy = false;
        stored
    }

    async fn load_somehow(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        if !self.tables.load_data_refused {
            match load_data(&mut self.conn, table, &mut self.row, next).await {
                Err(error) if bulk::is_refused(&error.code) && !error.connection_lost => {
                    self.tables.load_data_refused = true;
                }
                outcome => return outcome,
            }
        }
        insert(&mut self.conn, table, &mut self.row, next).await
    }

    /// The table's columns and what they hold; asked once.
    pub(super) async fn table(&mut self, name: &str, columns: &[&str]) -> Result<Table, OpError> {
        let mut table = Table::new(name, columns);
        if let Some(known) = self.tables.find(&table) {
            return Ok(known);
        }
        let probe = table.probe();
        let failed = |error| op_error(&error).with_statement(&*probe);
        let result = self.conn.query_iter(&*probe).await.map_err(failed)?;
        let bytes: Vec<bool> = result.columns_ref().iter().map(holds_bytes).collect();
        result.drop_result().await.map_err(failed)?;
        let charsets = charsets_statement(name, columns);
        let plain = self.conn.query_first(&*charsets).await.map_err(failed)?;
        table.learn(bytes, plain);
        self.tables.keep(&table);
        Ok(table)
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

async fn load_data(
    conn: &mut Conn,
    table: &Table,
    row: &mut RowBuf,
    next: &mut dyn FnMut(&mut RowBuf) -> bool,
) -> Result<u64, OpError> {
    let (mut lines, mut stored) = (Lines::new(table), 0);
    while let Some(sql) = lines.statement() {
        let done = send_lines(conn, &sql, &mut lines, row, next).await;
        let done = done.map_err(|error| op_error(&error).with_statement(start(&sql)))?;
        stored += check(conn, &sql, lines.rows(), &done).await?;
    }
    Ok(stored)
}

async fn send_lines(
    conn: &mut Conn,
    sql: &str,
    lines: &mut Lines<'_>,
    row: &mut RowBuf,
    next: &mut dyn FnMut(&mut RowBuf) -> bool,
) -> mysql_async::Result<Done> {
    let pieces = Pieces::default();
    let stream = pieces.clone();
    conn.set_infile_handler(async move { Ok(Box::pin(stream) as InfileData) });
    let mut text = Vec::with_capacity(PIECE_BYTES);
    let mut make_piece = |feed: &mut Feed| {
        lines.fill(&mut text, row, next);
        // A row longer than a piece goes in several.
        let piece = text.len().min(PIECE_BYTES);
        feed.wanted = false;
        feed.ended = piece == 0;
        feed.piece = (piece > 0).then(|| Bytes::copy_from_slice(&text[..piece]));
        text.drain(..piece);
    };
    let mut query = pin!(run(conn, sql));
    poll_fn(|context| {
        loop {
            match query.as_mut().poll(context) {
                Poll::Pending if pieces.with(|feed| feed.wanted) => pieces.with(&mut make_piece),
                outcome => return outcome,
            }
        }
    })
    .await
}

async fn insert(
    conn: &mut Conn,
    table: &Table,
    row: &mut RowBuf,
    next: &mut dyn FnMut(&mut RowBuf) -> bool,
) -> Result<u64, OpError> {
    let mut inserts = Inserts::new(table);
    let head = inserts.head();
    let mut stored = 0;
    loop {
        let rows = inserts.fill(row, next);
        if rows == 0 {
            return Ok(stored);
        }
        let done = run(conn, inserts.text()).await;
        let done = done.map_err(|error| op_error(&error).with_statement(start(&head)))?;
        stored += check(conn, &head, rows, &done).await?;
    }
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
