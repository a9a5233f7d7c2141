//! Requests that read, each a statement on its own.
use super::Linkbench;
use super::graph::Graph;
use super::request::Request;
use super::schema::NODE_TYPE;
use super::statements::{Question, links_by_ids};
use super::thread::{Tail, Thread};
use crate::faults::Found;
use crate::prelude::*;

impl Linkbench {
    pub(super) async fn count_links(&self, thread: &Thread, session: &mut AnySql) -> Result<Found, OpError> {
        let params = [id(thread), link_type(thread)];
        let row = session
            .query_one(Question::CountLinks.statement(), &params)
            .await?;
        Ok(count(row))
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
            Some(row) => node(row, thread.request.id, NODE_TYPE),
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

// Whether answers are what they can be. What a link says depends on other users; whose it is, and in which order links
// come, does not.

#[inline]
fn number(row: &RowBuf, cell: usize) -> Option<i64> {
    row.cell(cell).and_then(Value::whole_number)
}

/// Links as they come, of one node and one type.
pub struct Links {
    id: i64,
    link_type: i64,
    pub found: Found,
    pub rows: u64,
    /// Of the last one.
    pub time_ms: i64,
}

impl Links {
    pub fn new(request: &Request) -> Self {
        Self {
            id: request.id as i64,
            link_type: Graph::link_type(request.of_type) as i64,
            found: Found::RIGHT,
            rows: 0,
            time_ms: i64::MAX,
        }
    }

    /// A row of a list, whose links come with the newest first. `self.time_ms` is at first the latest that there may be.
    #[inline]
    pub fn listed(&mut self, row: &RowBuf) {
        self.any(row);
        self.found.check(number(row, 3) == Some(1), "a hidden link");
        match number(row, 5) {
            Some(time_ms) if time_ms <= self.time_ms => self.time_ms = time_ms,
            Some(_) => self.found.check(false, "not the newest first"),
            None => self.found.check(false, "a time that is none"),
        }
    }

    /// A row of an answer to ids, hidden links included.
    #[inline]
    pub fn among(&mut self, row: &RowBuf, id2s: &[Value<'_>]) {
        self.any(row);
        let asked = row.cell(1).is_some_and(|id2| id2s.contains(&id2));
        self.found.check(asked, "a link not asked for");
    }

    #[inline]
    fn any(&mut self, row: &RowBuf) {
        self.rows += 1;
        let own = number(row, 0) == Some(self.id) && number(row, 2) == Some(self.link_type);
        self.found.check(own, "a link of another node or type");
        self.found
            .check(row.cell(4).is_some_and(is_bytes), "a link without payload");
    }

    pub fn ended(mut self, most: u64) -> Found {
        self.found.check(self.rows <= most, "more links than asked for");
        self.found
    }
}

#[inline]
fn is_bytes(cell: Value<'_>) -> bool {
    cell.bytes().is_some()
}

/// `id`: of the node asked for; `node_type`: that of every node.
#[inline]
pub fn node(row: &RowBuf, id: u64, node_type: i64) -> Found {
    let mut found = Found::RIGHT;
    found.check(number(row, 0) == Some(id as i64), "another node");
    found.check(number(row, 1) == Some(node_type), "a node of another type");
    found.check(row.cell(4).is_some_and(is_bytes), "a node without payload");
    found
}

/// Of a node and a type there is one count or none, which stands for 0.
#[inline]
pub fn count(row: Option<&RowBuf>) -> Found {
    match row {
        Some(row) if number(row, 0).is_none_or(|count| count < 0) => Found::wrong("a count that is none"),
        _ => Found::RIGHT,
    }
}
