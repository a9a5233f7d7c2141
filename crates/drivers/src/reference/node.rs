//! A node of the reference store: how far it has the log, and when it is crashed or cut off.
use super::options::{ReferenceFaultKind as Kind, ReferenceSpec};
use std::ops::Range;

pub struct Node {
    /// It has the log up to this commit.
    applied: u64,
    /// When it will have it up to which.
    coming: Vec<(u64, u64)>,
    /// In their order.
    faults: Vec<(Kind, Range<u64>)>,
}

impl Node {
    /// number: from 0. Times of faults count from `now_ns`.
    pub fn new(spec: &ReferenceSpec, number: usize, now_ns: u64) -> Self {
        let ns = |seconds: f64| now_ns + (seconds * 1e9) as u64;
        let own = spec
            .faults
            .iter()
            .filter(|fault| fault.node as usize == number + 1);
        let mut faults: Vec<_> = own
            .map(|fault| (fault.kind, ns(fault.at_s)..ns(fault.at_s + fault.for_s)))
            .collect();
        faults.sort_by_key(|(_, span)| span.start);
        Self {
            applied: 0,
            coming: vec![],
            faults,
        }
    }

    pub fn is_reachable(&self, now_ns: u64) -> bool {
        !self.faults.iter().any(|(_, span)| span.contains(&now_ns))
    }

    /// When the node takes connections, if somebody tries from now on.
    pub fn up_ns(&self, now_ns: u64) -> u64 {
        after(self.spans(|kind| kind == Kind::Crash), now_ns)
    }

    /// The first crash in this time.
    pub fn crashed_ns(&self, after_ns: u64, until_ns: u64) -> Option<u64> {
        let mut starts = self.spans(|kind| kind == Kind::Crash).map(|span| span.start);
        starts.find(|at_ns| (after_ns + 1..=until_ns).contains(at_ns))
    }

    /// It will have the log up to this commit, once it can be reached.
    pub fn send(&mut self, due_ns: u64, commit: u64) {
        let due_ns = after(self.spans(|_| true), due_ns);
        self.coming.push((due_ns, commit));
    }

    pub fn apply(&mut self, commit: u64) {
        self.applied = self.applied.max(commit);
    }

    /// Up to which commit it has the log.
    pub fn applied(&mut self, now_ns: u64) -> u64 {
        let due = self.coming.iter().filter(|(due_ns, _)| *due_ns <= now_ns);
        let applied = due.map(|(_, commit)| *commit).fold(self.applied, u64::max);
        self.coming.retain(|(_, commit)| *commit > applied);
        self.applied = applied;
        applied
    }

    /// The same when somebody last asked.
    pub fn known(&self) -> u64 {
        self.applied
    }

    fn spans(&self, fits: impl Fn(Kind) -> bool) -> impl Iterator<Item = &Range<u64>> {
        self.faults
            .iter()
            .filter(move |(kind, _)| fits(*kind))
            .map(|(_, span)| span)
    }
}

/// This time, or the end of the spans that it is in.
fn after<'a>(spans: impl Iterator<Item = &'a Range<u64>>, time_ns: u64) -> u64 {
    spans.fold(time_ns, |time_ns, span| {
        if span.contains(&time_ns) {
            span.end
        } else {
            time_ns
        }
    })
}
