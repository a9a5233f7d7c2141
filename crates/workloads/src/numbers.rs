//! Questions whose answer is one number, outside of what is measured.
use crate::prelude::*;

/// The first cell of the only row; `None`: null, or no whole number.
pub async fn number(session: &mut AnySql, sql: &str) -> Result<Option<i64>, OpError> {
    let mut found = None;
    let mut each = |row: &RowBuf| found = row.cell(0).and_then(Value::whole_number);
    session.query_text(sql, &mut each).await?;
    Ok(found)
}
