//! Shortest paths by breadth-first search, one after another with the same memory.

use crate::graph::{Edge, View};

/// An edge, and the transaction that it leaves.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub from: u32,
    pub edge: Edge,
}

pub struct Search {
    /// Which search reached a state last.
    reached: Vec<u32>,
    came_by: Vec<(u32, Edge)>,
    queue: Vec<u32>,
    searches: u32,
    /// Edges that all searches followed.
    pub followed: u64,
}

impl Search {
    pub fn new(states: usize) -> Self {
        Self {
            reached: vec![0; states],
            came_by: vec![(0, Edge::default()); states],
            queue: Vec::new(),
            searches: 0,
            followed: 0,
        }
    }

    /// At most `longest` edges from `start` to `goal`, which differ, through states that are `allowed`.
    pub fn path(
        &mut self,
        view: View<'_>,
        (start, goal): (u32, u32),
        longest: usize,
        allowed: impl Fn(u32) -> bool,
    ) -> Option<Vec<Step>> {
        self.searches += 1;
        self.queue.clear();
        self.queue.push(start);
        self.reached[start as usize] = self.searches;
        let (mut at, mut length) = (0, 0);
        while at < self.queue.len() && length < longest {
            length += 1;
            let end = self.queue.len();
            while at < end {
                let state = self.queue[at];
                at += 1;
                for edge in view.edges_from(state) {
                    self.followed += 1;
                    let Some(next) = view.step(state, *edge) else {
                        continue;
                    };
                    if self.reached[next as usize] == self.searches || !allowed(next) {
                        continue;
                    }
                    self.reached[next as usize] = self.searches;
                    self.came_by[next as usize] = (state, *edge);
                    if next == goal {
                        return Some(self.back(view, start, goal));
                    }
                    self.queue.push(next);
                }
            }
        }
        None
    }

    fn back(&self, view: View<'_>, start: u32, goal: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut state = goal;
        while state != start {
            let (before, edge) = self.came_by[state as usize];
            steps.push(Step {
                from: view.vertex(before),
                edge,
            });
            state = before;
        }
        steps.reverse();
        steps
    }
}
