//! Dependencies between transactions, and their strongly connected components.

/// An edge goes from a transaction to one that must come after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its version of a key was replaced by the other one's.
    Ww,
    /// What it wrote, the other one read.
    Wr,
    /// What it read, the other one replaced.
    Rw,
    /// It came first in its session, or in real time.
    Order,
}

impl Kind {
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// 8 bytes: a history of 10^6 transactions has 10^7 edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge {
    pub to: u32,
    label: u32,
}

impl Edge {
    /// `key` below 2^30.
    pub fn new(kind: Kind, key: u32, to: u32) -> Self {
        Self {
            to,
            label: (key << 2) | kind as u32,
        }
    }

    pub fn kind(self) -> Kind {
        match self.label & 3 {
            0 => Kind::Ww,
            1 => Kind::Wr,
            2 => Kind::Rw,
            _ => Kind::Order,
        }
    }

    pub fn key(self) -> u32 {
        self.label >> 2
    }
}

#[derive(Clone, Debug)]
pub struct Graph {
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl Graph {
    /// `generate` is called twice, to count and to fill, so that edges are in memory once. It must emit the same ones.
    pub fn build(vertices: usize, generate: impl Fn(&mut dyn FnMut(u32, Edge))) -> Self {
        let mut starts = vec![0u32; vertices + 1];
        generate(&mut |from, _| starts[from as usize + 1] += 1);
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let mut edges = vec![Edge::default(); starts[vertices] as usize];
        generate(&mut |from, edge| {
            edges[next[from as usize] as usize] = edge;
            next[from as usize] += 1;
        });
        Self { starts, edges }
    }

    pub fn vertices(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    pub fn edges_from(&self, vertex: u32) -> &[Edge] {
        &self.edges[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, Edge)> {
        (0..self.vertices()).flat_map(|from| self.edges_from(from).iter().map(move |edge| (from, *edge)))
    }
}

/// A graph with edges of some kinds only.
///
/// Where it is `apart`, no rw follows an rw: a state is then a transaction with whether an rw led to it, two to each
/// transaction. Its cycles are those that snapshot isolation forbids (Adya's G-SI; Cerone and Gotsman, PODC 2016).
#[derive(Clone, Copy, Debug)]
pub struct View<'g> {
    pub graph: &'g Graph,
    pub kinds: u8,
    pub apart: bool,
}

impl<'g> View<'g> {
    pub fn states(self) -> u32 {
        self.graph.vertices() << u32::from(self.apart)
    }

    pub fn vertex(self, state: u32) -> u32 {
        state >> u32::from(self.apart)
    }

    pub fn edges_from(self, state: u32) -> &'g [Edge] {
        self.graph.edges_from(self.vertex(state))
    }

    /// The state that an edge leads to.
    #[inline]
    pub fn step(self, state: u32, edge: Edge) -> Option<u32> {
        let kind = edge.kind();
        if self.kinds & kind.bit() == 0 {
            None
        } else if !self.apart {
            Some(edge.to)
        } else if kind != Kind::Rw {
            Some(edge.to << 1)
        } else {
            (state & 1 == 0).then_some((edge.to << 1) | 1)
        }
    }
}

/// Every state's component. A component's number is above those of all that it leads to.
pub struct Components {
    pub of: Vec<u32>,
    sizes: Vec<u32>,
}

impl Components {
    /// Tarjan: "Depth-first search and linear graph algorithms", SIAM J. Comput. 1, 1972, without recursion.
    pub fn of(view: View<'_>) -> Self {
        const NO_COMPONENT: u32 = u32::MAX;
        let states = view.states();
        let mut visit = vec![0u32; states as usize]; // 0: not visited
        let mut lowest = vec![0u32; states as usize];
        let mut of = vec![NO_COMPONENT; states as usize];
        let mut sizes = Vec::new();
        let mut open = Vec::new();
        let mut path: Vec<(u32, usize)> = Vec::new();
        let mut visits = 0;
        for root in 0..states {
            if visit[root as usize] != 0 {
                continue;
            }
            path.push((root, 0));
            while let Some((state, at)) = path.last_mut() {
                let here = *state as usize;
                if *at == 0 && visit[here] == 0 {
                    visits += 1;
                    visit[here] = visits;
                    lowest[here] = visits;
                    open.push(*state);
                }
                if let Some(edge) = view.edges_from(*state).get(*at) {
                    *at += 1;
                    let Some(next) = view.step(*state, *edge) else {
                        continue;
                    };
                    if visit[next as usize] == 0 {
                        path.push((next, 0));
                    } else if of[next as usize] == NO_COMPONENT {
                        lowest[here] = lowest[here].min(visit[next as usize]);
                    }
                    continue;
                }
                let root_of_component = lowest[here] == visit[here];
                path.pop();
                if let Some((before, _)) = path.last() {
                    lowest[*before as usize] = lowest[*before as usize].min(lowest[here]);
                }
                if root_of_component {
                    let mut size = 0;
                    while let Some(member) = open.pop() {
                        of[member as usize] = sizes.len() as u32;
                        size += 1;
                        if member as usize == here {
                            break;
                        }
                    }
                    sizes.push(size);
                }
            }
        }
        Self { of, sizes }
    }

    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    pub fn any_cycle(&self) -> bool {
        self.sizes.iter().any(|size| *size > 1)
    }

    /// Whether there is a cycle through this state. No edge leads from a transaction to itself.
    pub fn in_cycle(&self, state: u32) -> bool {
        self.sizes[self.of[state as usize] as usize] > 1
    }

    pub fn same(&self, one: u32, other: u32) -> bool {
        self.of[one as usize] == self.of[other as usize]
    }

    /// The view's edges that are in cycles.
    pub fn graph_within(&self, view: View<'_>) -> Graph {
        Graph::build(view.graph.vertices() as usize, |emit| {
            for (from, edge) in view.graph.iter() {
                if view.kinds & edge.kind().bit() != 0 && self.same(from, edge.to) {
                    emit(from, edge);
                }
            }
        })
    }

    /// Per component, the length of the longest path that leads to it: a path only leads to higher levels.
    pub fn levels(&self, view: View<'_>) -> Vec<u32> {
        let mut states: Vec<u32> = (0..view.states()).collect();
        states.sort_unstable_by_key(|state| std::cmp::Reverse(self.of[*state as usize]));
        let mut levels = vec![0; self.count()];
        for state in states {
            let component = self.of[state as usize] as usize;
            for edge in view.edges_from(state) {
                if let Some(next) = view.step(state, *edge) {
                    let next = self.of[next as usize] as usize;
                    if next != component {
                        levels[next] = levels[next].max(levels[component] + 1);
                    }
                }
            }
        }
        levels
    }
}
