//! Statements that every session prepares when it is attached: the same ones in the same order, so that their numbers are the
//! same in all of them.
use crate::prelude::*;

/// Prepares the texts, which have `?` for every value; each with whether it only reads. They are numbered from 0.
pub async fn prepare(
    session: &mut AnySql,
    texts: impl IntoIterator<Item = (String, bool)>,
) -> Result<(), OpError> {
    for (number, (text, reads)) in (0..).zip(texts) {
        let sql = placed(&text, session.dialect());
        let ask = if reads { Ask::read(&sql) } else { Ask::write(&sql) };
        if session.prepare(&ask).await? != Statement(number) {
            let message = "statements were prepared in this session before the workload attached to it";
            return Err(OpError::fail(FailClass::Other, "ATTACH", message).with_statement(sql));
        }
    }
    Ok(())
}

/// With the dialect's placeholders.
fn placed(text: &str, dialect: &Dialect) -> String {
    let mut pieces = text.split('?');
    let mut sql = pieces.next().unwrap_or_default().to_owned();
    for (number, piece) in (1..).zip(pieces) {
        sql.push_str(&dialect.placeholder(number));
        sql.push_str(piece);
    }
    sql
}

/// No values, and the room that they had: collecting in place keeps it. So a list of values, which are borrowed for one
/// statement, is made once.
pub fn emptied(mut params: Vec<Value<'_>>) -> Vec<Value<'static>> {
    params.clear();
    params.into_iter().map(|_| Value::Null).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_for_values_is_kept() {
        let mut kept = Vec::with_capacity(90);
        for _ in 0..3 {
            let text = String::from("text");
            let mut params: Vec<Value<'_>> = kept;
            assert!(params.is_empty() && params.capacity() >= 90);
            params.push(Value::Text(text.as_bytes()));
            kept = emptied(params);
        }
    }
}
