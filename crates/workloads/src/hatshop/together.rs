//! Where there are batches in place of transactions: what belongs together is sent as one.
use super::Hatshop;
use super::known::Known;
use super::requests::{ORDER_MISSING, Seen, created, deleted, line_values, order_values, with_line_ids};
use super::schema::{ORDER_COLUMNS, keeps_line_ids, read_ids, write_ids};
use super::shop::Order;
use super::statements::{Question, insert_lines};
use super::thread::{Effect, Thread, Together};
use crate::faults::Found;
use crate::prelude::*;
use crate::prepared::emptied;
use bakeoff_model::pipeline::Part;
use bakeoff_model::sql::Lists;
use bakeoff_model::statement::Done;

impl Hatshop {
    /// Looks for an order and its lines. Where lines lie by their own id, those that the order names are asked for at once.
    pub(super) async fn look(
        &self,
        order: &Order,
        known: Known,
        session: &mut AnySql,
        together: &mut Together,
        queries: &mut Queries,
    ) -> Result<Seen, OpError> {
        let mut seen = Seen::default();
        let key = [Value::Text(&order.id.0)];
        let Some(lists) = keeps_line_ids(&self.spec, session.dialect()) else {
            let mut each = |row: &RowBuf| seen.order(|place| row.cell(place), known);
            session
                .query(Question::Order.statement(), &key, &mut each)
                .await?;
            let mut each = |row: &RowBuf| seen.line(|place| row.cell(place));
            session
                .query(Question::Lines.statement(), &key, &mut each)
                .await?;
            queries.read += 2;
            return Ok(seen);
        };
        read_order(order, known, session, lists, together, &mut seen).await?;
        together.ask_each(Question::Lines);
        queries.read += 1 + together.requests.len() as u32;
        if !together.requests.is_empty() {
            let mut each = |row: &RowBuf| seen.line(|place| row.cell(place));
            session.query_all(&together.requests, &mut each).await?;
        }
        Ok(seen)
    }

    /// A batch of the order and its lines.
    pub(super) async fn create_together(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { event, together, .. } = thread;
        let order = &event.order;
        together.clear();
        let lists = keeps_line_ids(&self.spec, session.dialect());
        write_ids(lists, &order.lines, &mut together.line_ids);
        let cells = order_values(&self.shop, order, event.date_ms());
        let cells = with_line_ids(cells, &together.line_ids);
        let columns = ORDER_COLUMNS.len() + usize::from(lists.is_some());
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
    pub(super) async fn delete_together(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let Thread { event, together, .. } = thread;
        let order = &event.order;
        let mut found = Found::RIGHT;
        if let Some(lists) = keeps_line_ids(&self.spec, session.dialect()) {
            let mut seen = Seen::default();
            read_order(order, known, session, lists, together, &mut seen).await?;
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

/// The order's row, whose line ids are kept.
async fn read_order(
    order: &Order,
    known: Known,
    session: &mut AnySql,
    lists: &Lists,
    together: &mut Together,
    seen: &mut Seen,
) -> Result<(), OpError> {
    together.clear();
    let line_ids = &mut together.line_ids;
    let mut each = |row: &RowBuf| {
        seen.order(|place| row.cell(place), known);
        let list = row.cell(ORDER_COLUMNS.len()).and_then(Value::bytes);
        read_ids(lists, list.unwrap_or_default(), line_ids);
    };
    let key = [Value::Text(&order.id.0)];
    session
        .query(Question::Order.statement(), &key, &mut each)
        .await
        .map(drop)
}

// With `pipeline`: an event's statements are the same, and sent in one go. None of them depends on an answer.

impl Hatshop {
    pub(super) async fn create_pipelined(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let order = &thread.event.order;
        let mut params: Vec<Value<'_>> = std::mem::take(&mut thread.params);
        for line in &order.lines {
            params.extend(line_values(&self.shop, order, line));
        }
        let requests = &mut thread.together.requests;
        requests.clear();
        requests.begin();
        let values = order_values(&self.shop, order, thread.event.date_ms());
        requests.push(Question::InsertOrder.statement(), &values);
        requests.push(insert_lines(order.lines.len()), &params);
        requests.commit();
        thread.params = emptied(params);
        let done = transaction(requests, session, queries).await?;
        thread.effect = Effect::created(&self.shop, order);
        Ok(created(done, order, queries))
    }

    pub(super) async fn read_pipelined(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let order = &thread.event.order;
        let requests = &mut thread.together.requests;
        let key = [Value::Text(&order.id.0)];
        requests.clear();
        requests.push(Question::Order.statement(), &key);
        requests.push(Question::Lines.statement(), &key);
        let mut seen = Seen::default();
        let mut each = |place: usize, part: Part<'_>| match (place, part) {
            (0, Part::Row(row)) => seen.order(|place| row.cell(place), known),
            (_, Part::Row(row)) => seen.line(|place| row.cell(place)),
            (_, Part::End(..)) => {}
        };
        session.run_pipeline(requests, &mut each).await?;
        queries.read += 2;
        Ok(seen.judged(order, known))
    }

    pub(super) async fn delete_pipelined(
        &self,
        thread: &mut Thread,
        known: Known,
        session: &mut AnySql,
        queries: &mut Queries,
    ) -> Result<Found, OpError> {
        let requests = &mut thread.together.requests;
        let key = [Value::Text(&thread.event.order.id.0)];
        requests.clear();
        requests.begin();
        requests.push(Question::DeleteLines.statement(), &key);
        requests.push(Question::DeleteOrder.statement(), &key);
        requests.commit();
        let done = transaction(requests, session, queries).await?;
        Ok(deleted(done, thread, known, queries))
    }
}

/// What the two statements between begin and commit did. Where one fails all is undone.
async fn transaction(
    requests: &Pipeline,
    session: &mut AnySql,
    queries: &mut Queries,
) -> Result<[Done; 2], OpError> {
    let mut done = [Done::default(); 2];
    let mut each = |place: usize, part: Part<'_>| {
        let own = place.checked_sub(1).and_then(|place| done.get_mut(place));
        if let (Some(own), Part::End(_, end)) = (own, part) {
            *own = end;
        }
    };
    queries.other += 2;
    match session.run_pipeline(requests, &mut each).await {
        Ok(()) => Ok(done),
        Err(error) => Err(session.undo(error).await),
    }
}
