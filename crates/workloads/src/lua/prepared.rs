//! Statements that a script's threads prepare.
use crate::prelude::*;
use crate::statement_kind::Kind;
use std::collections::HashMap;

/// Statements that every session prepares when it is opened, in this order, so that their numbers are known.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    pub all: Vec<(String, Kind)>,
    by_text: HashMap<String, usize>,
}

impl Prepared {
    pub fn add(&mut self, sql: &str) -> usize {
        if let Some(place) = self.by_text.get(sql) {
            return *place;
        }
        self.all.push((sql.to_owned(), Kind::of(sql)));
        self.by_text.insert(sql.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    pub fn place(&self, sql: &str) -> Option<usize> {
        self.by_text.get(sql).copied()
    }

    pub async fn prepare(&self, session: &mut AnySql) -> Result<(), OpError> {
        for (number, (sql, kind)) in self.all.iter().enumerate() {
            let text = placeholders(sql, session.dialect());
            let ask = match kind {
                Kind::Read => Ask::read(&text),
                Kind::Write | Kind::Other => Ask::write(&text),
                // Sent as what they are. A number is kept for each, so that theirs are those of the list.
                Kind::Begin | Kind::Commit | Kind::Rollback => Ask::read("SELECT 1"),
            };
            let handle = session.prepare(&ask).await;
            if handle.map_err(|error| error.with_statement(sql))? != Statement(number as u32) {
                let message = "statements were prepared in this session before the workload attached to it";
                return Err(OpError::fail(FailClass::Other, "ATTACH", message).with_statement(sql));
            }
        }
        Ok(())
    }
}

/// With the placeholders of a dialect in place of question marks outside of quotes.
fn placeholders(sql: &str, dialect: &Dialect) -> String {
    let (mut text, mut quote, mut count) = (String::new(), None, 0);
    for c in sql.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None if c == '?' => {
                count += 1;
                text.push_str(&dialect.placeholder(count));
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_prepared_once() {
        let mut prepared = Prepared::default();
        assert_eq!(
            [prepared.add("a"), prepared.add("b"), prepared.add("a")],
            [0, 1, 0]
        );
        assert_eq!((prepared.place("b"), prepared.place("c")), (Some(1), None));
    }
}
