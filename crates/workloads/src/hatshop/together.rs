//! What Cassandra does otherwise. There are no transactions: what belongs together is sent as one batch. Nothing joins lines
//! to their order either: where lines lie by their own id (`line_items`), an order keeps the ids of its lines in a list.
use super::Hatshop;
use super::known::Known;
use super::requests::{ORDER_MISSING, Seen, line_values, order_values};
use super::shop::{Id, Line, Order};
use super::statements::{ORDER_COLUMNS, Question, insert_lines};
use super::thread::{Effect, Thread};
use crate::found::Found;
use bakeoff_model::outcome::OpError;
use bakeoff_model::pipeline::Pipeline;
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::sql::{Dialect, SqlSession};
use bakeoff_model::value::Value;
use bakeoff_model::workload::Queries;

/// A column of orders.
pub const LINE_IDS: &str = "line_item_ids";

/// Orders keep the ids of their lines.
pub fn keeps_line_ids(spec: &HatshopSpec, dialect: &Dialect) -> bool {
    !dialect.transactions && spec.layout == HatshopLayout::LineItems
}

/// What a user sends together, and the list of line ids that it writes or has read. Empty before it is used.
#[derive(Debug, Default)]
pub struct Together {
    requests: Pipeline,
    line_ids: Vec<u8>,
}

impl Together {
    fn clear(&mut self) {
        self.requests.clear();
        self.line_ids.clear();
    }

    /// One of these for each line of the list that was read.
    fn ask_each(&mut self, question: Question) {
        for id in ids(&self.line_ids) {
            self.requests.push(question.statement(), &[Value::Text(id)]);
        }
    }
}

/// A list as Cassandra has it in its answers, and takes it: the number of its elements, then each with its length before
/// it (CQL binary protocol v4, section 6.11).
pub fn write_ids(lines: &[Line], list: &mut Vec<u8>) {
    list.clear();
    list.extend_from_slice(&(lines.len() as u32).to_be_bytes());
    for line in lines {
        list.extend_from_slice(&(line.id.0.len() as u32).to_be_bytes());
        list.extend_from_slice(&line.id.0);
    }
}

/// Those of our length: others are no ids of lines.
fn ids(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    const LENGTH: usize = size_of::<Id>();
    let elements = list.get(4..).unwrap_or_default().chunks_exact(4 + LENGTH);
    elements.map(|element| &element[4..])
}

/// An order's cells with the list, for the columns that orders have.
pub fn with_line_ids<'a>(
    cells: [Value<'a>; ORDER_COLUMNS.len()],
    list: &'a [u8],
) -> [Value<'a>; ORDER_COLUMNS.len() + 1] {
    std::array::from_fn(|column| cells.get(column).copied().unwrap_or(Value::Bytes(list)))
}

impl Hatshop {
    /// Looks for an order and its lines. Where lines lie by their own id, those that the order names are asked for at once.
    pub(super) async fn look<S: SqlSession>(
        &self,
        order: &Order,
        known: Known,
        session: &mut S,
        together: &mut Together,
        queries: &mut Queries,
    ) -> Result<Seen, OpError> {
        let mut seen = Seen::default();
        let key = [Value::Text(&order.id.0)];
        if !keeps_line_ids(&self.spec, session.dialect()) {
            let mut each = |row: &RowBuf| seen.order(row, known);
            session
                .query(Question::Order.statement(), &key, &mut each)
                .await?;
            let mut each = |row: &RowBuf| seen.line(row);
            session
                .query(Question::Lines.statement(), &key, &mut each)
                .await?;
            queries.read += 2;
            return Ok(seen);
        }
        read_order(order, known, session, together, &mut seen).await?;
        together.ask_each(Question::Lines);
        queries.read += 1 + together.requests.len() as u32;
        if !together.requests.is_empty() {
            let mut each = |row: &RowBuf| seen.line(row);
            session.query_all(&together.requests, &mut each).await?;
        }
        Ok(seen)
    }

    /// A batch of the order and its lines.
    pub(super) async fn create_together<S: SqlSession>(
        &self,
        thread: &mut Thread,
        session: &mut S,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { event, together, .. } = thread;
        let order = &event.order;
        together.clear();
        write_ids(&order.lines, &mut together.line_ids);
        let cells = order_values(&self.shop, order, event.date_ms());
        let cells = with_line_ids(cells, &together.line_ids);
        let columns = ORDER_COLUMNS.len() + usize::from(keeps_line_ids(&self.spec, session.dialect()));
        let requests = &mut together.requests;
        requests.push(Question::InsertOrder.statement(), &cells[..columns]);
        for line in &order.lines {
            requests.push(insert_lines(1), &line_values(&self.shop, order, line));
        }
        session.run_batch(requests).await?;
        queries.write += requests.len() as u32;
        thread.effect = Effect::created(&self.shop, &thread.event.order);
        Ok(Found::RIGHT)
    }

    /// A batch of the order's lines and the order. Nothing tells what it found.
    pub(super) async fn delete_together<S: SqlSession>(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut S,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { event, together, .. } = thread;
        let order = &event.order;
        let mut found = Found::RIGHT;
        if keeps_line_ids(&self.spec, session.dialect()) {
            let mut seen = Seen::default();
            read_order(order, known, session, together, &mut seen).await?;
            queries.read += 1;
            found.check(known.allows(seen.orders, 1), ORDER_MISSING);
            together.ask_each(Question::DeleteLines);
        } else {
            together.clear();
            let key = [Value::Text(&order.id.0)];
            together.requests.push(Question::DeleteLines.statement(), &key);
        }
        let key = [Value::Text(&order.id.0)];
        together.requests.push(Question::DeleteOrder.statement(), &key);
        session.run_batch(&together.requests).await?;
        queries.write += together.requests.len() as u32;
        thread.effect.orders = known.there.orders();
        Ok(found)
    }
}

/// The order's row, whose list of line ids is kept.
async fn read_order<S: SqlSession>(
    order: &Order,
    known: Known,
    session: &mut S,
    together: &mut Together,
    seen: &mut Seen,
) -> Result<(), OpError> {
    together.clear();
    let line_ids = &mut together.line_ids;
    let mut each = |row: &RowBuf| {
        seen.order(row, known);
        let list = row.cell(ORDER_COLUMNS.len()).and_then(Value::bytes);
        line_ids.extend_from_slice(list.unwrap_or_default());
    };
    let key = [Value::Text(&order.id.0)];
    session
        .query(Question::Order.statement(), &key, &mut each)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_lines_are_read_as_they_were_written() {
        let line = |digit: u8| Line {
            id: Id([digit; 36]),
            ..Line::default()
        };
        for lines in [vec![], vec![line(b'1')], vec![line(b'1'), line(b'2')]] {
            let mut list = vec![7];
            write_ids(&lines, &mut list);
            assert_eq!(list.len(), 4 + 40 * lines.len());
            let expected: Vec<&[u8]> = lines.iter().map(|line| &line.id.0[..]).collect();
            assert_eq!(ids(&list).collect::<Vec<_>>(), expected);
        }
        assert_eq!(ids(&[]).count(), 0, "of an order that is not there");
    }
}
