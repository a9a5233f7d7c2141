//! One user: the random stream, the request drawn last, and what it needs.
use super::evidence::Account;
use super::graph::Graph;
use super::history::History;
use super::request::{Kind, Request};
use crate::rng::Stream;
use crate::stream_hash::StreamHash;
use bakeoff_model::value::Value;
use std::sync::Arc;

#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    /// Among all users of all clients.
    pub(super) number: u64,
    pub(super) witness: bool,
    pub(super) request: Request,
    /// Attempts at it so far.
    pub(super) attempts: u32,
    /// What the last attempt changed.
    pub(super) effect: Effect,
    /// Of a `getlink`: the node, the type and the links asked for.
    pub(super) asked: Vec<Value<'static>>,
    pub(super) payload: Vec<u8>,
    pub(super) history: History,
    /// Place of the list in it that is to go on.
    pub(super) tail: usize,
    pub(super) account: Arc<Account>,
    pub(super) hash: StreamHash,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Rows that there are more, or for a deletion fewer.
    pub rows: u64,
    pub bytes: u64,
}

impl Thread {
    /// The request drawn last, for people: "id1 17, link_type 123456790, id2 18".
    pub(super) fn request_in_words(&self) -> Option<String> {
        let Request { kind, id, id2, .. } = self.request;
        let links = || format!("id1 {id}, link_type {}", Graph::link_type(self.request.of_type));
        match kind {
            Kind::AddNode => None,
            Kind::GetNode | Kind::UpdateNode | Kind::DeleteNode => Some(format!("id {id}")),
            Kind::CountLink | Kind::GetLinkList => Some(links()),
            Kind::AddLink | Kind::DeleteLink | Kind::UpdateLink => Some(format!("{}, id2 {id2}", links())),
            Kind::GetLinkListHistory => Some(format!("{}, until {id2} ms", links())),
            Kind::GetLink => {
                let id2s = self.asked[2..].iter().map(Value::to_string);
                Some(format!(
                    "{}, id2 {}",
                    links(),
                    id2s.collect::<Vec<_>>().join(", ")
                ))
            }
        }
    }
}
