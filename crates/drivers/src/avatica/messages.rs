//! Requests as they are written, and answers as they are read. Each travels in a message that names its type.
//!
//! Source: Calcite Avatica, requests.proto, responses.proto, common.proto (`WireMessage`).
use super::errors::{gone, refused, server_error};
use super::protobuf::{close, next, number, open, text};
use super::values::{self, Column};
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;

/// Rows of one answer; the others are fetched, as many at a time.
pub const FRAME_ROWS: u64 = 1000;
/// "Without a limit", in numbers that are signed.
const ALL: u64 = u64::MAX;

macro_rules! requests {
    ($($name:ident),*) => {
        /// Types of requests.
        #[derive(Clone, Copy)]
        pub enum Request { $($name),* }

        impl Request {
            fn name(self) -> &'static [u8] {
                match self {
                    $(Self::$name => concat!("org.apache.calcite.avatica.proto.Requests$", stringify!($name), "Request").as_bytes()),*
                }
            }
        }
    };
}
requests!(
    OpenConnection,
    CloseConnection,
    ConnectionSync,
    CreateStatement,
    Prepare,
    PrepareAndExecute,
    Execute,
    ExecuteBatch,
    Fetch,
    Commit,
    Rollback
);

/// A message of this type; `fill` writes it.
#[inline]
pub fn wrap(out: &mut Vec<u8>, request: Request, fill: impl FnOnce(&mut Vec<u8>)) {
    text(out, 1, request.name());
    let begin = open(out, 2);
    fill(out);
    close(out, begin);
}

/// One that says nothing but the connection.
pub fn of_connection(out: &mut Vec<u8>, request: Request, connection: &[u8]) {
    wrap(out, request, |out| text(out, 1, connection));
}

pub fn open_connection(out: &mut Vec<u8>, connection: &[u8], info: &[(&str, &str)]) {
    wrap(out, Request::OpenConnection, |out| {
        text(out, 1, connection);
        for (name, value) in info {
            let begin = open(out, 2);
            text(out, 1, name.as_bytes());
            text(out, 2, value.as_bytes());
            close(out, begin);
        }
    });
}

/// What is asked of a connection, as JDBC counts levels of isolation.
#[derive(Clone, Copy, Default)]
pub struct Properties {
    pub commits_itself: Option<bool>,
    pub isolation: Option<u64>,
}

pub fn sync(out: &mut Vec<u8>, connection: &[u8], properties: Properties) {
    wrap(out, Request::ConnectionSync, |out| {
        text(out, 1, connection);
        let begin = open(out, 2);
        if let Some(commits) = properties.commits_itself {
            number(out, 2, commits.into());
            number(out, 7, 1);
        }
        if let Some(level) = properties.isolation {
            number(out, 4, level);
        }
        close(out, begin);
    });
}

pub fn prepare(out: &mut Vec<u8>, connection: &[u8], sql: &str) {
    wrap(out, Request::Prepare, |out| {
        text(out, 1, connection);
        text(out, 2, sql.as_bytes());
        number(out, 4, ALL);
    });
}

pub fn prepare_and_execute(out: &mut Vec<u8>, connection: &[u8], statement: u64, sql: &str) {
    wrap(out, Request::PrepareAndExecute, |out| {
        text(out, 1, connection);
        text(out, 2, sql.as_bytes());
        number(out, 4, statement);
        number(out, 5, ALL);
        number(out, 6, FRAME_ROWS);
    });
}

/// `handle`: as [`handle`] wrote it.
#[inline]
pub fn execute(out: &mut Vec<u8>, handle: &[u8], kinds: &[Param], params: &[Value<'_>]) {
    wrap(out, Request::Execute, |out| {
        out.extend_from_slice(handle);
        for (param, kind) in params.iter().zip(kinds) {
            values::write(out, 2, kind.take(*param));
        }
        number(out, 4, 1); // parameters are said, if only that there are none
        number(out, 5, FRAME_ROWS);
    });
}

/// How a request to execute names its statement. The server wants a signature, of which it reads nothing.
pub fn handle(connection: &[u8], statement: u64) -> Box<[u8]> {
    let mut out = vec![];
    let begin = open(&mut out, 1);
    text(&mut out, 1, connection);
    number(&mut out, 2, statement);
    text(&mut out, 3, b"");
    close(&mut out, begin);
    out.into()
}

/// `rows`: each as [`batch_row`] wrote it.
pub fn execute_batch(out: &mut Vec<u8>, connection: &[u8], statement: u64, rows: &[u8]) {
    wrap(out, Request::ExecuteBatch, |out| {
        text(out, 1, connection);
        number(out, 2, statement);
        out.extend_from_slice(rows);
    });
}

pub fn batch_row(out: &mut Vec<u8>, kinds: &[Param], row: &RowBuf) {
    let begin = open(out, 3);
    for (cell, kind) in row.cells().zip(kinds) {
        values::write(out, 1, kind.take(cell));
    }
    close(out, begin);
}

pub fn fetch(out: &mut Vec<u8>, connection: &[u8], statement: u64, offset: u64) {
    wrap(out, Request::Fetch, |out| {
        text(out, 1, connection);
        number(out, 2, statement);
        number(out, 3, offset);
        number(out, 5, FRAME_ROWS);
    });
}

/// What a parameter takes: whether a value's bytes are text is for the column to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    Bytes,
    Other,
}

impl Param {
    /// By its number in java.sql.Types: BLOB, BINARY, VARBINARY and LONGVARBINARY are bytes.
    fn of(kind: u64) -> Self {
        match kind as i32 {
            2004 | -4..=-2 => Self::Bytes,
            _ => Self::Other,
        }
    }

    #[inline]
    fn take(self, value: Value<'_>) -> Value<'_> {
        match (self, value) {
            (Self::Bytes, Value::Text(bytes)) => Value::Bytes(bytes),
            (Self::Other, Value::Bytes(bytes)) => Value::Text(bytes),
            (_, value) => value,
        }
    }
}

/// The message in an answer.
#[inline]
pub fn unwrap(status: u16, mut body: &[u8]) -> Result<&[u8], OpError> {
    let whole = body;
    let (mut name, mut message) = (&b""[..], None);
    loop {
        match next(&mut body) {
            Ok(Some((1, value))) => name = value.bytes()?,
            Ok(Some((2, value))) => message = Some(value.bytes()?),
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(_) if status != 200 => return Err(refused(status, whole)),
            Err(error) => return Err(error),
        }
    }
    let Some(name) = name.strip_prefix(b"org.apache.calcite.avatica.proto.Responses$") else {
        return Err(refused_or_malformed(status, whole));
    };
    match (status, name, message) {
        (_, b"ErrorResponse", message) => Err(server_error(message.unwrap_or_default())),
        (200, _, message) => Ok(message.unwrap_or_default()),
        _ => Err(refused(status, whole)),
    }
}

#[cold]
fn refused_or_malformed(status: u16, body: &[u8]) -> OpError {
    match status {
        200 => malformed("it is no message of Avatica's"),
        _ => refused(status, body),
    }
}

/// What an execution or a fetch answers besides its rows.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Executed {
    /// Where rows remain to be fetched.
    pub statement: u64,
    pub rows: u64,
    /// All rows have come.
    pub done: bool,
    /// Of a statement without rows.
    pub affected: Option<u64>,
}

/// Of an `ExecuteResponse`; its rows go to `each`. Columns that are not known from before are taken from it.
#[inline]
pub fn executed(
    mut message: &[u8],
    columns: Columns<'_>,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> Result<Executed, OpError> {
    let (mut result, mut missing) = (None, false);
    while let Some((field, value)) = next(&mut message)? {
        match field {
            1 if result.is_none() => result = Some(value.bytes()?),
            2 => missing = value.number()? != 0,
            _ => {}
        }
    }
    if missing {
        return Err(gone("the server does not know the statement any more"));
    }
    let Some(mut result) = result else {
        return Err(malformed("an execution without a result"));
    };
    let mut executed = Executed {
        done: true,
        ..Executed::default()
    };
    let (mut count, mut signature, mut frame) = (0, &b""[..], None);
    while let Some((field, value)) = next(&mut result)? {
        match field {
            2 => executed.statement = value.number()?,
            4 => signature = value.bytes()?,
            5 => frame = Some(value.bytes()?),
            6 => count = value.number()?,
            _ => {}
        }
    }
    let columns = match columns {
        Columns::Known(columns) => columns,
        Columns::Said(columns) => {
            *columns = described(signature)?.0;
            columns
        }
    };
    match frame {
        Some(frame) => (executed.rows, executed.done) = rows(frame, columns, row, each)?,
        // -1: what has rows.
        None => executed.affected = Some(if count == u64::MAX { 0 } else { count }),
    }
    Ok(executed)
}

/// Those of an answer.
pub enum Columns<'a> {
    /// As the statement was described when it was prepared.
    Known(&'a [Column]),
    Said(&'a mut Vec<Column>),
}

/// Of a `Signature`: columns, and parameters.
fn described(mut signature: &[u8]) -> Result<(Vec<Column>, Vec<Param>), OpError> {
    let (mut columns, mut params) = (vec![], vec![]);
    while let Some((field, value)) = next(&mut signature)? {
        match field {
            1 => {
                let kind = message_in(value.bytes()?, 20)?.unwrap_or_default();
                columns.push(Column::of(number_in(kind, 1)?));
            }
            3 => params.push(Param::of(number_in(value.bytes()?, 4)?)),
            _ => {}
        }
    }
    Ok((columns, params))
}

/// Of a `FetchResponse`: rows, and whether they were the last.
pub fn fetched(
    mut message: &[u8],
    columns: &[Column],
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> Result<(u64, bool), OpError> {
    let (mut frame, mut missing) = (None, false);
    while let Some((field, value)) = next(&mut message)? {
        match field {
            1 => frame = Some(value.bytes()?),
            2 | 3 => missing |= value.number()? != 0,
            _ => {}
        }
    }
    match frame {
        Some(frame) if !missing => rows(frame, columns, row, each),
        _ => Err(gone("the server does not know the rows any more")),
    }
}

/// Of a frame.
#[inline]
fn rows(
    mut frame: &[u8],
    columns: &[Column],
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> Result<(u64, bool), OpError> {
    let (mut seen, mut done) = (0, false);
    while let Some((field, value)) = next(&mut frame)? {
        match field {
            2 => done = value.number()? != 0,
            3 => {
                row.clear();
                let mut cells = value.bytes()?;
                while let Some((field, cell)) = next(&mut cells)? {
                    if field == 1 {
                        let column = columns.get(row.len()).copied().unwrap_or(Column::Other);
                        read_cell(cell.bytes()?, column, row)?;
                    }
                }
                each(row);
                seen += 1;
            }
            _ => {}
        }
    }
    if !done && seen == 0 {
        return Err(malformed("no rows, and others after them"));
    }
    Ok((seen, done))
}

/// A cell says its value twice, for older clients.
#[inline]
fn read_cell(mut cell: &[u8], column: Column, row: &mut RowBuf) -> Result<(), OpError> {
    let mut said = None;
    while let Some((field, value)) = next(&mut cell)? {
        match field {
            1 | 4 => said = Some(value.bytes()?),
            2 | 3 => return Err(malformed("an array, which has no place in a row")),
            _ => {}
        }
    }
    match said {
        Some(value) => values::read(value, column, row),
        None => Err(malformed("a cell without a value")),
    }
}

/// Of a `PrepareResponse`: the statement's number, and what was said of it.
pub fn prepared(message: &[u8]) -> Result<(u64, Vec<Column>, Vec<Param>), OpError> {
    let handle = message_in(message, 1)?.ok_or_else(|| malformed("a statement without a handle"))?;
    let (columns, params) = described(message_in(handle, 3)?.unwrap_or_default())?;
    Ok((number_in(handle, 2)?, columns, params))
}

/// Of a `CreateStatementResponse`.
pub fn created(message: &[u8]) -> Result<u64, OpError> {
    number_in(message, 2)
}

/// Of a `ConnectionSyncResponse`.
pub fn synced(message: &[u8]) -> Result<Properties, OpError> {
    let mut said = message_in(message, 1)?.unwrap_or_default();
    let (mut commits, mut properties) = (false, Properties::default());
    while let Some((field, value)) = next(&mut said)? {
        match field {
            2 => commits = value.number()? != 0,
            4 => properties.isolation = Some(value.number()?),
            _ => {}
        }
    }
    properties.commits_itself = Some(commits);
    Ok(properties)
}

/// Of an `ExecuteBatchResponse`: rows stored.
pub fn batched(mut message: &[u8]) -> Result<u64, OpError> {
    let mut rows = 0;
    while let Some((field, value)) = next(&mut message)? {
        match (field, value) {
            (3, super::protobuf::Field::Bytes(mut counts)) => {
                while !counts.is_empty() {
                    rows += super::protobuf::take_varint(&mut counts)?.min(1);
                }
            }
            (3, count) => rows += count.number()?.min(1),
            (4, missing) if missing.number()? != 0 => {
                return Err(gone("the server does not know the statement any more"));
            }
            _ => {}
        }
    }
    Ok(rows)
}

fn message_in(mut message: &[u8], wanted: u64) -> Result<Option<&[u8]>, OpError> {
    let mut found = None;
    while let Some((field, value)) = next(&mut message)? {
        if field == wanted {
            found = Some(value.bytes()?);
        }
    }
    Ok(found)
}

/// 0 where it is not said, as the encoding has it.
fn number_in(mut message: &[u8], wanted: u64) -> Result<u64, OpError> {
    let mut found = 0;
    while let Some((field, value)) = next(&mut message)? {
        if field == wanted {
            found = value.number()?;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bakeoff_model::value::Value;

    /// An answer of two rows, each a number and a text, in its message.
    fn answer() -> Vec<u8> {
        let mut out = vec![];
        text(
            &mut out,
            1,
            b"org.apache.calcite.avatica.proto.Responses$ExecuteResponse",
        );
        let message = open(&mut out, 2);
        let result = open(&mut out, 1);
        number(&mut out, 2, 7);
        let signature = open(&mut out, 4);
        for kind in [4, 12] {
            let column = open(&mut out, 1);
            let of = open(&mut out, 20);
            number(&mut out, 1, kind);
            close(&mut out, of);
            close(&mut out, column);
        }
        close(&mut out, signature);
        let frame = open(&mut out, 5);
        number(&mut out, 2, 1);
        for n in 0..2 {
            let row = open(&mut out, 3);
            for value in [Value::Int(n), Value::Text(b"text")] {
                let cell = open(&mut out, 1);
                values::write(&mut out, 1, value);
                values::write(&mut out, 4, value);
                close(&mut out, cell);
            }
            close(&mut out, row);
        }
        close(&mut out, frame);
        number(&mut out, 6, u64::MAX);
        close(&mut out, result);
        close(&mut out, message);
        out
    }

    fn read(body: &[u8]) -> Result<(Executed, Vec<String>), OpError> {
        let (mut columns, mut row, mut told) = (vec![], RowBuf::default(), vec![]);
        let mut each = |row: &RowBuf| {
            told.push(row.cells().map(|cell| format!("{cell} ")).collect());
        };
        let executed = executed(
            unwrap(200, body)?,
            Columns::Said(&mut columns),
            &mut row,
            &mut each,
        )?;
        Ok((executed, told))
    }

    #[test]
    fn an_answer_is_read() {
        let (executed, told) = read(&answer()).unwrap();
        assert_eq!(told, ["0 text ", "1 text "]);
        assert_eq!((executed.statement, executed.rows, executed.done), (7, 2, true));
        assert_eq!(executed.affected, None);
    }

    #[test]
    fn a_mutated_answer_is_read_or_refused() {
        let whole = answer();
        for at in 0..whole.len() {
            assert!(read(&whole[..at]).is_err(), "cut at {at}");
            for byte in 0..=255 {
                let mut mutated = whole.clone();
                mutated[at] = byte;
                if let Err(error) = read(&mutated) {
                    assert!(error.connection_lost, "{error}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_message_is_refused_by_its_status() {
        assert_eq!(unwrap(503, b"<html>").unwrap_err().code, "HTTP 503");
        assert_eq!(unwrap(200, b"<html>").unwrap_err().code, "PROTOCOL");
        assert_eq!(unwrap(404, b"").unwrap_err().code, "HTTP 404");
    }
}
