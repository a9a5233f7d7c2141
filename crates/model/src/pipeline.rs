//! Statements that are sent together, and answered in their order.
//!
//! A list and one call, not calls to send and calls to receive: with those a workload could mix its answers up or leave
//! some unread.
use crate::row::RowBuf;
use crate::statement::{Done, Statement};
use crate::value::Value;

/// What is sent in one go. Cleared and filled again it takes no new memory.
#[derive(Debug, Default)]
pub struct Pipeline {
    steps: Vec<Step>,
    /// Of all statements, one after the other.
    values: RowBuf,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    asked: Asked,
    /// In `values`: where those of the next statement begin.
    end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Of a transaction as the session has them.
    Begin,
    Statement(Statement),
    Commit,
}

/// What arrives of one statement: its rows, then its end.
#[derive(Debug)]
pub enum Part<'a> {
    Row(&'a RowBuf),
    /// It is done; the number of rows received.
    End(u64, Done),
}

impl Pipeline {
    #[inline]
    pub fn clear(&mut self) {
        self.steps.clear();
        self.values.clear();
    }

    pub fn begin(&mut self) {
        self.add(Asked::Begin);
    }

    pub fn commit(&mut self) {
        self.add(Asked::Commit);
    }

    /// A prepared statement; its values are copied.
    #[inline]
    pub fn push(&mut self, statement: Statement, values: &[Value<'_>]) {
        values.iter().for_each(|value| self.values.push(*value));
        self.add(Asked::Statement(statement));
    }

    #[inline]
    fn add(&mut self, asked: Asked) {
        let end = self.values.len() as u32;
        self.steps.push(Step { asked, end });
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// What is asked at a place, from 0; `None` past the end.
    #[inline]
    pub fn asked(&self, place: usize) -> Option<Asked> {
        self.steps.get(place).map(|step| step.asked)
    }

    /// The values of the statement at a place; none past the end.
    #[inline]
    pub fn values(&self, place: usize) -> impl ExactSizeIterator<Item = Value<'_>> {
        let end = |place: usize| self.steps.get(place).map_or(0, |step| step.end as usize);
        let start = place.checked_sub(1).map_or(0, end);
        (start..end(place).max(start)).map(|index| self.values.cell(index).unwrap_or(Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_keeps_its_own_values() {
        let mut pipeline = Pipeline::default();
        for round in 0..2 {
            pipeline.clear();
            pipeline.begin();
            pipeline.push(Statement(7), &[Value::Int(round), Value::Text(b"a")]);
            pipeline.push(Statement(8), &[]);
            pipeline.push(Statement(7), &[Value::Null]);
            pipeline.commit();
            let asked: Vec<_> = (0..=pipeline.len())
                .map(|place| (pipeline.asked(place), pipeline.values(place).collect::<Vec<_>>()))
                .collect();
            let statement = |number| Some(Asked::Statement(Statement(number)));
            assert_eq!(
                asked,
                [
                    (Some(Asked::Begin), vec![]),
                    (statement(7), vec![Value::Int(round), Value::Text(b"a")]),
                    (statement(8), vec![]),
                    (statement(7), vec![Value::Null]),
                    (Some(Asked::Commit), vec![]),
                    (None, vec![]),
                ]
            );
        }
    }
}
