//! Requests that read, each a statement on its own.
use super::Linkbench;
use super::graph::Graph;
use super::history::Tail;
use super::judge::{self, Links};
use super::schema::NODE_TYPE;
use super::statements::{Question, links_by_ids};
use super::thread::Thread;
use crate::found::Found;
use crate::prelude::*;

impl Linkbench {
    pub(super) async fn count_links(&self, thread: &Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let params = [id(thread), link_type(thread)];
        let row = session
            .query_one(Question::CountLinks.statement(), &params)
            .await?;
        Ok(judge::count(row))
    }

    pub(super) async fn get_links(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        let asked = &mut thread.asked;
        let drawn = asked.len();
        let (statement, size) = links_by_ids(drawn - 2);
        let last = asked[drawn - 1];
        asked.resize(2 + size, last);
        let mut links = Links::new(&thread.request);
        let answered = session
            .query(statement, asked, &mut |row| links.among(row, &asked[2..]))
            .await;
        asked.truncate(drawn);
        answered?;
        Ok(links.ended(drawn as u64 - 2))
    }

    /// The newest links. A list that is cut off is kept: more may be asked of it.
    pub(super) async fn get_link_list(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        let statement = Question::LinkList.statement();
        let params = [id(thread), link_type(thread), Value::Int(0), Value::Int(i64::MAX)];
        let mut links = Links::new(&thread.request);
        session
            .query(statement, &params, &mut |row| links.listed(row))
            .await?;
        if links.rows >= self.range_limit() {
            thread.history.keep(Tail {
                id: thread.request.id,
                of_type: thread.request.of_type,
                time_ms: links.time_ms,
            });
        }
        Ok(links.ended(self.range_limit()))
    }

    /// Older links than those that were seen last.
    pub(super) async fn get_link_list_history(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
    ) -> Result<Found, OpError> {
        let statement = Question::LinkListTail.statement();
        let until = thread.request.id2 as i64;
        let params = [id(thread), link_type(thread), Value::Int(0), Value::Int(until)];
        let mut links = Links::new(&thread.request);
        links.time_ms = until;
        session
            .query(statement, &params, &mut |row| links.listed(row))
            .await?;
        let cut_off = links.rows >= self.range_limit();
        thread
            .history
            .went_on(thread.tail, cut_off.then_some(links.time_ms));
        Ok(links.ended(self.range_limit()))
    }

    pub(super) async fn get_node(&self, thread: &Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let row = session
            .query_one(Question::GetNode.statement(), &[id(thread)])
            .await?;
        Ok(match row {
            Some(row) => judge::node(row, thread.request.id, NODE_TYPE),
            None if self.may_lack_nodes() => Found::RIGHT,
            None => Found::wrong("node missing"),
        })
    }

    fn range_limit(&self) -> u64 {
        u64::from(self.spec.range_limit)
    }
}

#[inline]
pub fn id(thread: &Thread) -> Value<'static> {
    Value::Int(thread.request.id as i64)
}

#[inline]
pub fn link_type(thread: &Thread) -> Value<'static> {
    Value::Int(Graph::link_type(thread.request.of_type) as i64)
}
