//! Which transaction must come before which.

use super::versions::Versions;
use crate::graph::{Edge, Kind};
use crate::history::{History, TransactionId};
use crate::level::Order;
use crate::search::Step;

/// What lists tell: ww between writers of successive elements, wr from the writer of the last element that was read,
/// rw to the writer of the next one. Edges that follow from these are left out.
pub fn each(history: &History, versions: &Versions<'_>, emit: &mut dyn FnMut(u32, Edge)) {
    for key in 0..history.keys.len() as u32 {
        let mut before = None;
        for writer in versions
            .order(key)
            .iter()
            .filter_map(|list| versions.writer(*list))
        {
            if let Some(before) = before.filter(|before| *before != writer) {
                emit(before, Edge::new(Kind::Ww, key, writer));
            }
            before = Some(writer);
        }
    }
    for (id, _) in history.iter().filter(|(_, transaction)| transaction.is_ok()) {
        for (key, list) in history.ops(id).iter().filter_map(|op| versions.read(op)) {
            let Some(place) = versions.place(list) else {
                continue;
            };
            let (read, unread) = versions.order(key).split_at(place);
            let last = read.last().and_then(|list| versions.writer(*list));
            if last == Some(id) {
                continue; // What came before its own append and after it is ordered by ww.
            }
            if let Some(last) = last {
                emit(last, Edge::new(Kind::Wr, key, id));
            }
            // More of the last writer's own is an intermediate read, not a conflict.
            let mut next = unread
                .iter()
                .filter_map(|list| versions.writer(*list))
                .skip_while(|next| Some(*next) == last);
            if let Some(next) = next.next().filter(|next| *next != id) {
                emit(id, Edge::new(Kind::Rw, key, next));
            }
        }
    }
}

pub fn each_of_order(
    history: &History,
    versions: &Versions<'_>,
    order: Order,
    emit: &mut dyn FnMut(u32, Edge),
) {
    match order {
        Order::None => {}
        Order::Session => each_of_sessions(history, versions, emit),
        Order::RealTime => each_of_time(history, versions, emit),
    }
}

fn each_of_sessions(history: &History, versions: &Versions<'_>, emit: &mut dyn FnMut(u32, Edge)) {
    let mut before: Option<TransactionId> = None;
    for id in history
        .by_session()
        .into_iter()
        .filter(|id| versions.is_committed(*id))
    {
        let session = history.transaction(id).session;
        if let Some(before) = before.filter(|before| history.transaction(*before).session == session) {
            emit(before, Edge::new(Kind::Order, 0, id));
        }
        if history.transaction(id).is_ok() {
            before = Some(id); // One that is unknown may take effect after later ones.
        }
    }
}

/// From each transaction of the frontier to one that begins: the frontier are those that ended, without those that
/// another one of them came after. It has at most as many as there are sessions.
fn each_of_time(history: &History, versions: &Versions<'_>, emit: &mut dyn FnMut(u32, Edge)) {
    let mut calls: Vec<TransactionId> = history
        .iter()
        .map(|(id, _)| id)
        .filter(|id| versions.is_committed(*id))
        .collect();
    let mut returns: Vec<TransactionId> = calls
        .iter()
        .copied()
        .filter(|id| history.transaction(*id).is_ok())
        .collect();
    calls.sort_by_key(|id| history.transaction(*id).call_ns);
    returns.sort_by_key(|id| history.transaction(*id).return_ns);
    let mut returns = returns.into_iter().peekable();
    let mut frontier: Vec<TransactionId> = Vec::new();
    for id in calls {
        let call_ns = history.transaction(id).call_ns;
        while let Some(ended) = returns.next_if(|ended| history.transaction(*ended).return_ns < call_ns) {
            let began_ns = history.transaction(ended).call_ns;
            frontier.retain(|other| history.transaction(*other).return_ns >= began_ns);
            frontier.push(ended);
        }
        frontier
            .iter()
            .for_each(|ended| emit(*ended, Edge::new(Kind::Order, 0, id)));
    }
}

/// The edge in words; `names` are those of its ends.
pub fn explain(
    history: &History,
    versions: &Versions<'_>,
    order: Order,
    step: Step,
    (from, to): (&str, &str),
) -> String {
    let Step { from: first, edge } = step;
    let key = edge.key();
    let elements: Vec<(Option<TransactionId>, i64)> = versions
        .order(key)
        .iter()
        .map(|list| (versions.writer(*list), history.lists.get(*list).value))
        .collect();
    let by = |id: TransactionId| move |element: &&(Option<TransactionId>, i64)| element.0 == Some(id);
    let value = |found: Option<&(Option<TransactionId>, i64)>| found.map_or(0, |element| element.1);
    let places = |reader| {
        let reads = history
            .ops(reader)
            .iter()
            .filter_map(|op| versions.read(op))
            .filter(|(read, _)| *read == key);
        reads.filter_map(|(_, list)| versions.place(list))
    };
    let name = history.keys.get(key as usize).copied().unwrap_or_default();
    match (edge.kind(), order) {
        (Kind::Ww, _) => {
            let (earlier, later) = (
                elements.iter().find(by(first)),
                elements.iter().rfind(by(edge.to)),
            );
            format!(
                "{from} -> {to}  ww: key {name} got {} of {from} before {} of {to}",
                value(earlier),
                value(later)
            )
        }
        (Kind::Wr, _) => {
            let read = places(edge.to).find_map(|place| elements[..place].iter().rfind(by(first)));
            format!(
                "{from} -> {to}  wr: {to} read {} of key {name}, which {from} appended",
                value(read)
            )
        }
        (Kind::Rw, _) => {
            let unread = places(first).find_map(|place| elements[place..].iter().find(by(edge.to)));
            format!(
                "{from} -> {to}  rw: {from} read key {name} without {}, which {to} appended",
                value(unread)
            )
        }
        (Kind::Order, Order::Session) => format!("{from} -> {to}  session: {from} came before {to}"),
        (Kind::Order, _) => format!("{from} -> {to}  time: {from} ended before {to} began"),
    }
}
