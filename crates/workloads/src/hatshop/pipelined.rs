//! With `pipeline`: an event's statements are the same, and sent in one go. None of them depends on an answer.
use super::Hatshop;
use super::known::Known;
use super::requests::{Seen, created, deleted, line_values, order_values};
use super::statements::{Question, insert_lines};
use super::thread::{Effect, Thread};
use crate::found::Found;
use crate::prelude::*;
use crate::prepared::emptied;
use bakeoff_model::pipeline::Part;
use bakeoff_model::statement::Done;

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
            (0, Part::Row(row)) => seen.order(row, known),
            (_, Part::Row(row)) => seen.line(row),
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
