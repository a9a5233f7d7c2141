//! Cycles of dependencies, by class: G0 of ww; G1c of ww and wr; G-single with one rw; those with more of which no
//! two follow one another, in the graph of [`View::apart`]; G2-item otherwise.
//!
//! A component is reported once, under the worst class of its cycles; only G-single counts each rw that closes one.

use super::dependencies::explain;
use super::versions::Versions;
use crate::findings::Findings;
use crate::graph::{Components, Graph, Kind, View};
use crate::history::History;
use crate::level::{Anomaly, Class, Order};
use crate::search::{Search, Step};

const WW: u8 = Kind::Ww.bit();
const WR: u8 = Kind::Wr.bit();
const RW: u8 = Kind::Rw.bit();
const ORDER: u8 = Kind::Order.bit();

/// Cycles that are tried in a component to find a short one.
const TRIES_MAX: u32 = 200;

/// Edges that the search for G-single may follow: some seconds. Levels keep it far below in usual histories.
const FOLLOWED_MAX: u64 = 500_000_000;

/// Whether it ended by itself: if not, G-single may be missing.
pub fn search(
    history: &History,
    versions: &Versions<'_>,
    graph: &Graph,
    order: Order,
    findings: &mut Findings<'_, Anomaly>,
) -> bool {
    let vertices = graph.vertices() as usize;
    let all = View {
        graph,
        kinds: WW | WR | RW | ORDER,
        apart: false,
    };
    if order != Order::None && !Components::of(all).any_cycle() {
        return true;
    }
    let mut hunt = Hunt {
        history,
        versions,
        graph,
        findings,
        search: Search::new(2 * vertices),
        explained: vec![false; vertices],
    };
    let mut finished = hunt.run(Order::None);
    if order != Order::None {
        finished &= hunt.run(order);
    }
    finished
}

struct Hunt<'c, 'h> {
    history: &'c History,
    versions: &'c Versions<'c>,
    graph: &'c Graph,
    findings: &'c mut Findings<'h, Anomaly>,
    search: Search,
    /// Transactions in cycles of a class that was reported.
    explained: Vec<bool>,
}

impl Hunt<'_, '_> {
    /// With an order: cycles that need one of its edges.
    fn run(&mut self, order: Order) -> bool {
        let extra = if order == Order::None { 0 } else { ORDER };
        let all = View {
            graph: self.graph,
            kinds: WW | WR | RW | extra,
            apart: false,
        };
        let components = Components::of(all);
        if !components.any_cycle() {
            return true;
        }
        // Without edges of an order, which may be most of them, each search below is shorter.
        let smaller = (order == Order::None).then(|| components.graph_within(all));
        let view = |kinds: u8| View {
            graph: smaller.as_ref().unwrap_or(self.graph),
            kinds: kinds | extra,
            apart: false,
        };
        let (ww, wr, all) = (view(WW), view(WW | WR), view(WW | WR | RW));
        let apart = View { apart: true, ..all };
        let anomaly = |class| Anomaly { class, order };
        self.components(anomaly(Class::G0), ww, Kind::Ww, &Components::of(ww));
        self.components(anomaly(Class::G1c), wr, Kind::Wr, &Components::of(wr));
        let finished = self.single(anomaly(Class::GSingle), wr, all, &components);
        self.components(
            anomaly(Class::GNonadjacent),
            apart,
            Kind::Rw,
            &Components::of(apart),
        );
        self.components(anomaly(Class::G2Item), all, Kind::Rw, &components);
        finished
    }

    /// Components that have a cycle through an edge of the `first` kind: each edge within one is in a cycle.
    fn components(&mut self, anomaly: Anomaly, view: View<'_>, first: Kind, components: &Components) {
        if !components.any_cycle() {
            return;
        }
        // A cycle of wr is G1c whatever else its component has; others are only what no worse class explains.
        let unless_explained = anomaly.class != Class::G1c || anomaly.order != Order::None;
        let mut explained = vec![false; components.count()];
        for state in (0..view.states()).filter(|state| self.explained[view.vertex(*state) as usize]) {
            explained[components.of[state as usize] as usize] = unless_explained;
        }
        let mut tries = vec![0; components.count()];
        let (mut count, mut longest, mut shortest) = (0, usize::MAX, Vec::new());
        for state in (0..view.states()).filter(|state| components.in_cycle(*state)) {
            let component = components.of[state as usize] as usize;
            if explained[component] {
                continue;
            }
            for edge in view.edges_from(state).iter().filter(|edge| edge.kind() == first) {
                let Some(next) = view
                    .step(state, *edge)
                    .filter(|next| components.same(state, *next))
                else {
                    continue;
                };
                count += u64::from(tries[component] == 0);
                tries[component] += 1;
                if longest == 0 || tries[component] > TRIES_MAX {
                    break;
                }
                let within = |other| components.same(state, other);
                if let Some(path) = self.search.path(view, (next, state), longest, within) {
                    longest = path.len() - 1;
                    shortest = cycle(view.vertex(state), *edge, path);
                }
            }
        }
        if count > 0 {
            self.add(anomaly, count, shortest);
        }
        for state in 0..view.states() {
            self.explained[view.vertex(state) as usize] |= tries[components.of[state as usize] as usize] > 0;
        }
    }

    /// Each rw from whose end ww and wr lead back to its start. A path leads to higher levels only, and rw connects
    /// what ran at the same time, so the search stays near.
    fn single(&mut self, anomaly: Anomaly, back: View<'_>, all: View<'_>, components: &Components) -> bool {
        let inner = Components::of(back);
        let levels = inner.levels(back);
        let level = |state: u32| levels[inner.of[state as usize] as usize];
        let (mut count, mut shortest) = (0, Vec::new());
        let mut finished = true;
        for start in (0..all.states()).filter(|state| components.in_cycle(*state)) {
            let near = |other| inner.same(start, other) || level(other) < level(start);
            let edges = all
                .graph
                .edges_from(start)
                .iter()
                .filter(|edge| edge.kind() == Kind::Rw);
            for edge in edges.filter(|edge| components.same(start, edge.to) && near(edge.to)) {
                if self.search.followed > FOLLOWED_MAX {
                    finished = false;
                    break;
                }
                let Some(path) = self.search.path(back, (edge.to, start), usize::MAX, near) else {
                    continue;
                };
                let of_order = path.iter().any(|step| step.edge.kind() == Kind::Order);
                if of_order != (anomaly.order != Order::None) {
                    continue; // Found before, without the order.
                }
                count += 1;
                self.explained[start as usize] = true;
                self.explained[edge.to as usize] = true;
                if shortest.is_empty() || path.len() + 1 < shortest.len() {
                    shortest = cycle(start, *edge, path);
                }
            }
        }
        if count > 0 {
            self.add(anomaly, count, shortest);
        }
        finished
    }

    fn add(&mut self, anomaly: Anomaly, count: u64, mut cycle: Vec<Step>) {
        let (history, versions) = (self.history, self.versions);
        let earliest = (0..cycle.len()).min_by_key(|at| history.transaction(cycle[*at].from).call_ns);
        cycle.rotate_left(earliest.unwrap_or_default());
        let mut transactions: Vec<u32> = Vec::new();
        for step in &cycle {
            if !transactions.contains(&step.from) {
                transactions.push(step.from);
            }
        }
        let name = |id| {
            format!(
                "T{}",
                transactions
                    .iter()
                    .position(|other| *other == id)
                    .map_or(0, |at| at + 1)
            )
        };
        self.findings.add(anomaly, count, &transactions, || {
            let reason = |step: &Step| {
                let (from, to) = (name(step.from), name(step.edge.to));
                explain(
                    history,
                    versions,
                    anomaly.order,
                    *step,
                    (from.as_str(), to.as_str()),
                )
            };
            cycle.iter().map(reason).collect()
        });
    }
}

fn cycle(from: u32, edge: crate::graph::Edge, path: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![Step { from, edge }];
    steps.extend(path);
    steps
}
