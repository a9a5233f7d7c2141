//! Questions whose answer is one number, outside of what is measured.
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::{Cell, RowBuf};
use bakeoff_model::sql::SqlSession;

/// The first cell of the only row; `None`: null, or no whole number.
pub async fn number<S: SqlSession>(session: &mut S, sql: &str) -> Result<Option<i64>, OpError> {
    let mut found = None;
    let mut each = |row: &RowBuf| found = row.cell(0).and_then(whole_number);
    session.query_text(sql, &mut each).await?;
    Ok(found)
}

/// As systems give it: as such, or as text.
pub fn whole_number(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(value),
        Cell::Bytes(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        Cell::Null | Cell::Float(_) => None,
    }
}
