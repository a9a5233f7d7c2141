//! The load phase: nodes, links and counts, the same whoever loads them and in whatever order.
//!
//! A unit is a node with its count and its links, as long as these are not many: what a node has beyond four for each id of a
//! chunk follows in units of four, after all nodes, so that no chunk is much larger than others.
use super::Linkbench;
use super::graph::Graph;
use super::payload::{LINK_BYTES_MOST, mean_bytes};
use super::schema::{COUNTS, LINKS, NODE_TYPE, NODES};
use super::thread::Thread;
use super::writes::{COUNT_BYTES, LINK_BYTES, NODE_BYTES};
use crate::prelude::*;
use crate::rng::{Random, mix};
use bakeoff_model::run::linkbench::LinkbenchSpec;
use std::ops::Range;

/// Links of a unit of those that have more than a chunk should hold.
const LINKS_OF_UNIT: u64 = 4;
/// 2026-01-01 00:00 UTC. Loaded links are of the 50 days before it, so that data do not depend on when they are loaded.
const LOADED_S: u64 = 1_767_225_600;
const LINK_TIMES_MS: u64 = 1 << 32;
/// Tells the random numbers of nodes from those of links.
const OF_NODES: u64 = 0x6E6F_6465;

const LINK_COLUMNS: [&str; 7] = ["id1", "id2", "link_type", "visibility", "data", "time", "version"];
const COUNT_COLUMNS: [&str; 5] = ["id", "link_type", "count", "time", "version"];
const NODE_COLUMNS: [&str; 5] = ["id", "type", "version", "time", "data"];

/// Nodes of which a part of the links is loaded after all others.
#[derive(Debug)]
pub struct Heavy {
    /// Links that a node has at most before.
    most: u64,
    /// Most links first; nodes with as many links are one entry.
    runs: Vec<HeavyRun>,
    /// All units, those of nodes included.
    units: u64,
}

#[derive(Debug)]
struct HeavyRun {
    first_unit: u64,
    /// Of each of its nodes.
    units: u64,
    /// Of each of its nodes.
    links: u64,
    first_rank: u64,
}

impl Heavy {
    pub fn new(graph: &Graph, chunk_units: u64) -> Self {
        let most = chunk_units * LINKS_OF_UNIT;
        let (mut runs, mut first_unit) = (Vec::new(), graph.nodes());
        for (ranks, links) in graph.ranks_with_more_than(most) {
            let units = (links - most).div_ceil(LINKS_OF_UNIT);
            runs.push(HeavyRun {
                first_unit,
                units,
                links,
                first_rank: ranks.start,
            });
            first_unit += units * (ranks.end - ranks.start);
        }
        let units = first_unit;
        Self { most, runs, units }
    }

    pub fn units(&self) -> u64 {
        self.units
    }

    /// What lies in these units: ids of nodes, then parts of further nodes' links.
    fn pieces(&self, graph: &Graph, units: Range<u64>) -> (Range<u64>, Vec<Piece>) {
        let (ids, nodes) = (graph.ids(), graph.nodes());
        let of = |unit: u64| ids.start + unit.min(nodes);
        let (mut unit, end) = (units.start.max(nodes), units.end.min(self.units));
        let mut pieces = Vec::new();
        while unit < end {
            let next = self.runs.partition_point(|run| run.first_unit <= unit);
            let Some(run) = next.checked_sub(1).map(|last| &self.runs[last]) else {
                break; // cannot be: the first run begins where nodes end
            };
            let node = (unit - run.first_unit) / run.units;
            let first = run.first_unit + node * run.units;
            let upto = end.min(first + run.units);
            let link = |unit: u64| self.most + (unit - first) * LINKS_OF_UNIT;
            pieces.push(Piece {
                id: graph.id_of(run.first_rank + node),
                links: link(unit)..link(upto).min(run.links),
            });
            unit = upto;
        }
        (of(units.start)..of(units.end), pieces)
    }
}

/// Some of a node's links, counted through all types.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    id: u64,
    links: Range<u64>,
}

impl Linkbench {
    /// First unit of this client's share, and how many it has.
    pub(super) fn load_share(&self) -> (u64, u64) {
        let total = u128::from(self.heavy.units());
        let share = |index: u32| (total * u128::from(index) / u128::from(self.client.count)) as u64;
        let first = share(self.client.index);
        (first, share(self.client.index + 1) - first)
    }

    pub(super) async fn load(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        session.begin(Access::default()).await?;
        thread.effect.bytes = 0;
        let stored = self.load_units(thread, session, first, count).await;
        let stored = session.end(stored).await?;
        thread.account.bytes_written.add(thread.effect.bytes);
        Ok(stored)
    }

    async fn load_units(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        first: u64,
        count: u64,
    ) -> Result<u64, OpError> {
        let graph = &self.draws.graph;
        let first = self.load_share().0 + first;
        let (ids, mut pieces) = self.heavy.pieces(graph, first..first + count);
        let mut stored = 0;
        if self.spec.generate_nodes {
            let mut each = ids.clone();
            let mut next = |row: &mut RowBuf| {
                let next = each.next().map(|id| self.fill_node(id, thread, row));
                next.is_some()
            };
            stored += session.bulk_insert(NODES, &NODE_COLUMNS, &mut next).await?;
        }
        let types = 0..graph.types();
        let mut counts = ids
            .clone()
            .flat_map(|id| types.clone().map(move |index| (id, index)));
        let mut next = |row: &mut RowBuf| {
            let next = counts.find(|(id, index)| self.fill_count(*id, *index, row));
            next.is_some()
        };
        let counted = session.bulk_insert(COUNTS, &COUNT_COLUMNS, &mut next).await?;
        thread.effect.bytes += counted * COUNT_BYTES;
        pieces.extend(ids.map(|id| Piece {
            id,
            links: 0..self.heavy.most,
        }));
        // In the order of the primary key.
        pieces.sort_unstable_by_key(|piece| piece.id);
        let mut links =
            types.flat_map(|index| pieces.iter().flat_map(move |piece| piece.of_type(graph, index)));
        let mut next = |row: &mut RowBuf| {
            let next = links.next().map(|link| self.fill_link(link, thread, row));
            next.is_some()
        };
        let linked = session.bulk_insert(LINKS, &LINK_COLUMNS, &mut next).await?;
        Ok(stored + counted + linked)
    }

    fn fill_node(&self, id: u64, thread: &mut Thread, row: &mut RowBuf) {
        let payload = &mut thread.payload;
        self.loaded_node(id, payload);
        thread.effect.bytes += NODE_BYTES + payload.len() as u64;
        row.push(Value::Int(id as i64));
        row.push(Value::Int(NODE_TYPE));
        row.push(Value::Int(1));
        row.push(Value::Int(LOADED_S as i64));
        row.push(Value::Bytes(payload));
    }

    /// false: there are no such links, and so no row.
    fn fill_count(&self, id: u64, index: u64, row: &mut RowBuf) -> bool {
        let count = self.draws.graph.links(id, index);
        if count > 0 {
            row.push(Value::Int(id as i64));
            row.push(Value::Int(Graph::link_type(index) as i64));
            row.push(Value::Int(count as i64));
            row.push(Value::Int(LOADED_S as i64 * 1000));
            row.push(Value::Int(0));
        }
        count > 0
    }

    fn fill_link(&self, link: Link, thread: &mut Thread, row: &mut RowBuf) {
        let payload = &mut thread.payload;
        let time_ms = self.loaded_link(link, payload);
        thread.effect.bytes += LINK_BYTES + payload.len() as u64;
        row.push(Value::Int(link.id as i64));
        row.push(Value::Int((link.id + link.number) as i64));
        row.push(Value::Int(Graph::link_type(link.index) as i64));
        row.push(Value::Int(1));
        row.push(Value::Bytes(payload));
        row.push(Value::Int(time_ms));
        row.push(Value::Int(0));
    }

    /// The payload of a loaded node.
    pub(super) fn loaded_node(&self, id: u64, payload: &mut Vec<u8>) {
        let mut rng = Random::new(mix(mix(self.seed, OF_NODES), id));
        self.generators.node_add.fill(&mut rng, payload);
    }

    /// The payload of a loaded link, and its time.
    pub(super) fn loaded_link(&self, link: Link, payload: &mut Vec<u8>) -> i64 {
        let mut rng = Random::new(mix(mix(self.seed, link.id), mix(link.index, link.number)));
        let time_ms = LOADED_S * 1000 - rng.below(LINK_TIMES_MS);
        self.generators.link_add.fill(&mut rng, payload);
        time_ms as i64
    }
}

/// The `number`-th link of a type, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub id: u64,
    pub index: u64,
    pub number: u64,
}

impl Piece {
    /// Those of its links that are of type `index`.
    fn of_type(&self, graph: &Graph, index: u64) -> impl Iterator<Item = Link> + use<> {
        let before: u64 = (0..index).map(|other| graph.links(self.id, other)).sum();
        let own = graph.links(self.id, index);
        let in_type = |link: u64| link.saturating_sub(before).min(own);
        let id = self.id;
        (in_type(self.links.start)..in_type(self.links.end)).map(move |number| Link { id, index, number })
    }
}

/// Rows of all tables, and user bytes in them.
pub fn loaded(spec: &LinkbenchSpec) -> (u64, u64) {
    let graph = Graph::new(spec);
    let totals = graph.totals();
    let nodes = if spec.generate_nodes { graph.nodes() } else { 0 };
    let of_link = LINK_BYTES as f64 + mean_bytes(spec.link_datasize).min(LINK_BYTES_MOST as f64);
    let of_node = NODE_BYTES as f64 + mean_bytes(spec.node_datasize);
    let bytes = totals.links as f64 * of_link + nodes as f64 * of_node + (totals.counts * COUNT_BYTES) as f64;
    (nodes + totals.links + totals.counts, bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::linkbench::{LinkCounts, LinkbenchCompat};

    fn spec(nodes: u64, compat: LinkbenchCompat) -> LinkbenchSpec {
        LinkbenchSpec {
            maxid1: nodes + 1,
            compat,
            ..LinkbenchSpec::default()
        }
    }

    #[test]
    fn chunks_have_every_node_and_every_link_once() {
        for compat in [LinkbenchCompat::None, LinkbenchCompat::Original] {
            for chunk_units in [1, 7, 64] {
                let graph = Graph::new(&spec(3_000, compat));
                let heavy = Heavy::new(&graph, chunk_units);
                let (mut next_id, mut links) = (1, vec![0; 3_001]);
                for first in (0..heavy.units()).step_by(chunk_units as usize) {
                    let (ids, pieces) = heavy.pieces(&graph, first..first + chunk_units);
                    assert_eq!(ids.start, next_id.min(3_001));
                    next_id = ids.end;
                    for id in ids {
                        links[id as usize] += graph.all_links(id).min(heavy.most);
                    }
                    for Piece { id, links: own } in pieces {
                        assert_eq!(links[id as usize], own.start, "in their order, none twice");
                        links[id as usize] = own.end;
                    }
                }
                assert_eq!(next_id, 3_001);
                assert!((1..3_001).all(|id| links[id as usize] == graph.all_links(id)));
            }
        }
    }

    /// A dry run asks for a graph of any size, and must not go through its nodes.
    #[test]
    fn what_is_held_of_a_graph_does_not_grow_with_its_nodes() {
        for compat in [LinkbenchCompat::None, LinkbenchCompat::Original] {
            let graph = Graph::new(&spec(1_000_000_000_000, compat));
            let heavy = Heavy::new(&graph, 1);
            assert!(graph.kinds_of_nodes() < 1_000_000);
            assert!(heavy.runs.len() <= graph.kinds_of_nodes());
            assert!(heavy.units() > graph.nodes());
        }
        let all_alike = LinkbenchSpec {
            nlinks_func: LinkCounts::Constant { links: 5 },
            ..spec(1_000_000_000_000, LinkbenchCompat::None)
        };
        assert_eq!(Heavy::new(&Graph::new(&all_alike), 1).runs.len(), 1);
    }
}
