//! Bulk loads: one prepared INSERT, a row at a time. (Rows that SQLite takes together are bound one by one all the same.)
use super::DIALECT;
use super::errors::op_error;
use super::values::Bound;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bakeoff_model::value::Value;
use rusqlite::Connection;

/// Rows stored, in the transaction that is open.
pub fn insert(
    connection: &Connection,
    table: &str,
    columns: &[&str],
    row: &mut RowBuf,
    next: &mut dyn FnMut(&mut RowBuf) -> bool,
) -> Result<u64, OpError> {
    let sql = statement(table, columns);
    let failed = |error: rusqlite::Error| op_error(&error).with_statement(&*sql);
    let byte_columns = byte_columns(connection, table, columns).map_err(failed)?;
    let mut insert = connection.prepare(&sql).map_err(failed)?;
    let mut rows = 0;
    loop {
        row.clear();
        if !next(row) {
            return Ok(rows);
        }
        for (i, cell) in row.cells().enumerate() {
            let is_bytes = byte_columns.get(i).copied().unwrap_or(false);
            let value = match cell.bytes() {
                Some(bytes) if is_bytes => Value::Bytes(bytes),
                Some(bytes) => Value::Text(bytes),
                None => cell,
            };
            insert.raw_bind_parameter(i + 1, Bound(value)).map_err(failed)?;
        }
        rows += insert.raw_execute().map_err(failed)? as u64;
    }
}

fn statement(table: &str, columns: &[&str]) -> String {
    let names: Vec<String> = columns.iter().map(|name| DIALECT.quoted(name)).collect();
    let marks = vec!["?"; columns.len()].join(",");
    format!(
        "INSERT INTO {} ({}) VALUES ({marks})",
        DIALECT.quoted(table),
        names.join(",")
    )
}

/// Which columns hold bytes rather than text, by their declared types: SQLite keeps what it is given, and text does not
/// compare equal to the same bytes as a BLOB.
fn byte_columns(connection: &Connection, table: &str, columns: &[&str]) -> rusqlite::Result<Vec<bool>> {
    let mut types =
        connection.prepare("SELECT type FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE")?;
    let holds_bytes = |column: &&str| {
        let mut found = types.query([table, column])?;
        match found.next()? {
            Some(row) => Ok(row.get::<_, String>(0)?.to_ascii_uppercase().contains("BLOB")),
            None => Ok(false),
        }
    };
    columns.iter().map(holds_bytes).collect()
}
