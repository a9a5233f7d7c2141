//! The SQL session: every statement finds what it asks for.
use bakeoff_model::pipeline::{Asked, Part};
use bakeoff_workloads::prelude::*;

pub static DIALECT: Dialect = Dialect {
    name: "yes",
    max_params: 1000,
    ..Dialect::STANDARD
};

/// Rows of every shape that a script asks for, by what the statement selects.
#[derive(Default)]
pub struct YesSql {
    prepared: Vec<Shape>,
    text: RowBuf,
    number: RowBuf,
    whole: RowBuf,
}

#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Whole,
}

fn done(rows: u64) -> Done {
    Done {
        affected: Some(rows),
        insert_id: None,
    }
}

fn shape(sql: &str) -> Shape {
    if sql.starts_with("SELECT c") && !sql.starts_with("SELECT count") || sql.starts_with("SELECT DISTINCT") {
        Shape::Text
    } else if sql.starts_with("SELECT id") {
        Shape::Whole
    } else {
        Shape::Number
    }
}

impl YesSql {
    pub fn new() -> Self {
        let mut yes = Self::default();
        let c = ["01234567890"; 10].join("-");
        yes.text.push(Value::Text(c.as_bytes()));
        yes.number.push(Value::Int(1));
        yes.whole.push(Value::Int(1));
        yes.whole.push(Value::Int(1));
        yes.whole.push(Value::Text(c.as_bytes()));
        yes.whole.push(Value::Text(&c.as_bytes()[..59]));
        yes
    }

    #[inline]
    fn answer(&self, shape: Shape, params: &[Value<'_>], each: &mut dyn FnMut(&RowBuf)) -> u64 {
        let (row, rows) = match (shape, params) {
            (Shape::Text, [Value::Int(first), Value::Int(last)]) => (&self.text, (last - first + 1) as u64),
            (Shape::Text, _) => (&self.text, 1),
            (Shape::Number, _) => (&self.number, 1),
            (Shape::Whole, _) => (&self.whole, 1),
        };
        (0..rows).for_each(|_| each(row));
        rows
    }
}

impl SqlSession for YesSql {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }
    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        self.prepared.push(shape(ask.sql));
        Ok(Statement(self.prepared.len() as u32 - 1))
    }
    #[inline]
    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Done, OpError> {
        Ok(done(1))
    }
    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        Ok(self.answer(self.prepared[statement.0 as usize], params, each))
    }
    async fn query_one(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Option<&RowBuf>, OpError> {
        Ok(Some(&self.text))
    }
    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        // One row, or as many as a bulk insert has.
        Ok(done(
            1 + sql.as_bytes().windows(3).filter(|bytes| bytes == b"),(").count() as u64,
        ))
    }
    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let mut numbers = sql.split_once("id BETWEEN ").into_iter().flat_map(|(_, range)| {
            range
                .split(' ')
                .filter_map(|word| word.parse().ok())
                .map(Value::Int)
        });
        match (numbers.next(), numbers.next()) {
            (Some(first), Some(last)) => Ok(self.answer(shape(sql), &[first, last], each)),
            _ => Ok(self.answer(shape(sql), &[], each)),
        }
    }
    async fn bulk_insert(
        &mut self,
        _: &str,
        _: &[&str],
        _: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        Ok(0)
    }
    async fn run_pipeline(
        &mut self,
        pipeline: &Pipeline,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        for place in 0..pipeline.len() {
            let mut rows = 0;
            if let Some(Asked::Statement(statement)) = pipeline.asked(place) {
                let mut values = pipeline.values(place);
                let range = [values.next(), values.next()].map(|value| value.unwrap_or(Value::Null));
                let row = &mut |row: &RowBuf| each(place, Part::Row(row));
                rows = self.answer(self.prepared[statement.0 as usize], &range, row);
            }
            each(place, Part::End(rows, done(1)));
        }
        Ok(())
    }
}

impl Transactional for YesSql {
    async fn begin(&mut self, _: Access) -> Result<(), OpError> {
        Ok(())
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        Ok(())
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        Ok(())
    }
}
