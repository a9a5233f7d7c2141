//! Requests that write. Those on links are transactions of the link and of its node's count; those on nodes are one
//! statement, and so a transaction of their own.
use super::Linkbench;
use super::payload::Generator;
use super::reads::{id, link_type};
use super::statements::Question;
use super::thread::{Effect, Thread};
use crate::faults::Found;
use crate::prelude::*;
use crate::rng::Random;
use std::time::{SystemTime, UNIX_EPOCH};

/// User bytes of a row, without its payload.
pub const LINK_BYTES: u64 = 3 * 8 + 1 + 8 + 4;
pub const COUNT_BYTES: u64 = 2 * 8 + 4 + 2 * 8;
pub const NODE_BYTES: u64 = 8 + 4 + 8 + 4;

/// What became of a link that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    New,
    /// It was there and visible.
    Visible,
    /// It was there and hidden.
    Hidden,
}

impl Linkbench {
    pub(super) async fn add_link(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        generator: &Generator,
    ) -> Result<Found, OpError> {
        generator.fill(&mut Random::new(thread.request.seed), &mut thread.payload);
        session.begin(Access::default()).await?;
        let added = self.store_link(thread, session).await;
        session.end(added).await
    }

    async fn store_link(&self, thread: &mut Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let time = Value::Int(now_ms());
        let (id, id2, link_type) = (id(thread), id2(thread), link_type(thread));
        let payload = Value::Bytes(&thread.payload);
        let params = [id, id2, link_type, payload, time];
        let done = session.execute(Question::InsertLink.statement(), &params).await?;
        let stored = match (session.dialect().upsert_tells, done.affected) {
            (_, Some(1)) => Stored::New,
            (true, Some(0)) => Stored::Visible,
            (true, Some(2)) => Stored::Hidden,
            (false, Some(0)) => match locked(session, thread).await? {
                Some(true) => Stored::Visible,
                Some(false) => Stored::Hidden,
                None => return Ok(Found::wrong("neither stored nor there")),
            },
            _ => return Ok(Found::wrong("not one row")),
        };
        let mut found = Found::RIGHT;
        thread.effect.bytes += LINK_BYTES + thread.payload.len() as u64;
        if stored != Stored::Visible {
            let params = [id, link_type, time, time];
            session.execute(Question::CountUp.statement(), &params).await?;
            thread.effect.bytes += COUNT_BYTES;
        }
        if stored == Stored::New {
            thread.effect.rows = 1;
        } else {
            let params = [payload, time, id, id2, link_type];
            let done = session.execute(Question::UpdateLink.statement(), &params).await?;
            // None where only changed rows count, and this one was written alike in the same millisecond.
            found.check(done.affected.is_none_or(|rows| rows <= 1), "several links");
        }
        Ok(found)
    }

    pub(super) async fn delete_link(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        session.begin(Access::default()).await?;
        let hidden = self.hide_link(thread, session).await;
        session.end(hidden).await
    }

    async fn hide_link(&self, thread: &mut Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let mut found = Found::RIGHT;
        if locked(session, thread).await? != Some(true) {
            return Ok(found);
        }
        let params = [id(thread), id2(thread), link_type(thread)];
        let done = session.execute(Question::HideLink.statement(), &params).await?;
        found.check(done.affected.is_none_or(|rows| rows == 1), "a link not hidden");
        let time = Value::Int(now_ms());
        let params = [id(thread), link_type(thread), time, time];
        session.execute(Question::CountDown.statement(), &params).await?;
        thread.effect.bytes += 1 + COUNT_BYTES;
        Ok(found)
    }

    pub(super) async fn add_node(&self, thread: &mut Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let generator = &self.generators.node_add;
        generator.fill(&mut Random::new(thread.request.seed), &mut thread.payload);
        let params = [Value::Int(now_s()), Value::Bytes(&thread.payload)];
        let done = session.execute(Question::AddNode.statement(), &params).await?;
        let mut found = Found::RIGHT;
        found.check(done.affected.is_none_or(|rows| rows == 1), "a node not stored");
        thread.effect = Effect {
            rows: done.affected.unwrap_or(1),
            bytes: NODE_BYTES + thread.payload.len() as u64,
        };
        Ok(found)
    }

    pub(super) async fn update_node(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        let generator = &self.generators.node_update;
        generator.fill(&mut Random::new(thread.request.seed), &mut thread.payload);
        let params = [Value::Int(now_s()), Value::Bytes(&thread.payload), id(thread)];
        let done = session.execute(Question::UpdateNode.statement(), &params).await?;
        let mut found = Found::RIGHT;
        // None where it was deleted, or written alike in the same second where only changed rows count.
        found.check(done.affected.is_none_or(|rows| rows <= 1), "several nodes");
        if done.affected != Some(0) {
            thread.effect.bytes = NODE_BYTES + thread.payload.len() as u64;
        }
        Ok(found)
    }

    pub(super) async fn delete_node(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        let done = session
            .execute(Question::DeleteNode.statement(), &[id(thread)])
            .await?;
        let mut found = Found::RIGHT;
        found.check(done.affected.is_none_or(|rows| rows <= 1), "several nodes");
        thread.effect.rows = done.affected.unwrap_or(0);
        Ok(found)
    }
}

/// Whether the link is visible, which nobody else changes until the transaction ends; `None`: it is not there.
async fn locked(session: &mut AnySql, thread: &Thread) -> Result<Option<bool>, OpError> {
    let params = [id(thread), id2(thread), link_type(thread)];
    let row = session
        .query_one(Question::LinkForUpdate.statement(), &params)
        .await?;
    let visibility = row.and_then(|row| row.cell(0)).and_then(Value::whole_number);
    Ok(visibility.map(|visibility| visibility == 1))
}

#[inline]
fn id2(thread: &Thread) -> Value<'static> {
    Value::Int(thread.request.id2 as i64)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

fn now_s() -> i64 {
    now_ms() / 1000
}
