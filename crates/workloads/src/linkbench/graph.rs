//! The nodes that are loaded, and their links.
use super::degrees::{Run, runs};
use super::shuffle::Shuffle;
use bakeoff_model::run::linkbench::{LinkbenchCompat, LinkbenchSpec};
use std::ops::Range;

/// Of the permutation by which links are dealt out, the original's.
const SEED: u64 = 20_343_988_438_726_021;
/// Numbers of the original's types of links, which follow each other.
const FIRST_LINK_TYPE: u64 = 123_456_789;

/// About 40 ns for the links of one node, whatever their number.
#[derive(Debug)]
pub struct Graph {
    ids: Range<u64>,
    types: u64,
    /// More links than nominal, as the original deals them out.
    generous: bool,
    order: Shuffle,
    runs: Vec<Run>,
}

/// What all nodes have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub links: u64,
    /// Pairs of a node and a type with a link at least.
    pub counts: u64,
    /// Of the node that has most.
    pub links_most: u64,
}

impl Graph {
    pub fn new(spec: &LinkbenchSpec) -> Self {
        let nodes = spec.maxid1 - spec.startid1;
        let original = spec.compat == LinkbenchCompat::Original;
        Self {
            ids: spec.startid1..spec.maxid1,
            types: u64::from(spec.link_type_count),
            generous: original,
            order: Shuffle::new(SEED, nodes),
            runs: runs(&spec.nlinks_func, nodes, original),
        }
    }

    pub fn ids(&self) -> Range<u64> {
        self.ids.clone()
    }

    pub fn nodes(&self) -> u64 {
        self.ids.end - self.ids.start
    }

    pub fn types(&self) -> u64 {
        self.types
    }

    /// How many different numbers of links nodes have.
    #[cfg(test)]
    pub fn kinds_of_nodes(&self) -> usize {
        self.runs.len()
    }

    /// The number that stands for type `index`, from 0.
    #[inline]
    pub fn link_type(index: u64) -> u64 {
        FIRST_LINK_TYPE + index
    }

    /// The id of the node with rank `rank` by its links.
    #[inline]
    pub fn id_of(&self, rank: u64) -> u64 {
        self.ids.start + self.order.place_of(rank)
    }

    /// Of type `index`; they lead to `id`, `id + 1`, ...
    #[inline]
    pub fn links(&self, id: u64, index: u64) -> u64 {
        let rank = self.order.rank_of(id - self.ids.start);
        let next = self.runs.partition_point(|run| run.first_rank <= rank);
        let dealt = self.runs[next.saturating_sub(1)].links;
        self.of_type(dealt, index)
    }

    /// Nearly even parts. The original gives one more to the first types as long as there are more links than a part.
    #[inline]
    fn of_type(&self, dealt: u64, index: u64) -> u64 {
        let part = dealt / self.types;
        let ones = if self.generous {
            dealt - part
        } else {
            dealt % self.types
        };
        part + u64::from(index < ones)
    }

    /// Of all types.
    #[cfg(test)]
    pub fn all_links(&self, id: u64) -> u64 {
        (0..self.types).map(|index| self.links(id, index)).sum()
    }

    /// Ranks of nodes that have more links than this, each with the links of one of them, most links first. As many as
    /// there are different numbers of links, whatever the number of nodes.
    pub fn ranks_with_more_than(&self, links: u64) -> impl Iterator<Item = (Range<u64>, u64)> {
        let all = self
            .ranks()
            .map(|(ranks, dealt)| (ranks, self.parts(dealt).sum()));
        all.take_while(move |(_, all_links)| *all_links > links)
    }

    /// Ranks with the same number of links, and that number as it is dealt.
    fn ranks(&self) -> impl Iterator<Item = (Range<u64>, u64)> {
        let ends = self.runs.iter().skip(1).map(|run| run.first_rank);
        let runs = self.runs.iter().zip(ends.chain([self.nodes()]));
        runs.map(|(run, end)| (run.first_rank..end, run.links))
    }

    fn parts(&self, dealt: u64) -> impl Iterator<Item = u64> + Clone {
        (0..self.types).map(move |index| self.of_type(dealt, index))
    }

    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for (ranks, dealt) in self.ranks() {
            let (nodes, parts) = (ranks.end - ranks.start, self.parts(dealt));
            let links: u64 = parts.clone().sum();
            totals.links += nodes * links;
            totals.counts += nodes * parts.filter(|part| *part > 0).count() as u64;
            totals.links_most = totals.links_most.max(links);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::linkbench::LinkCounts;

    fn graph(links: u64, compat: LinkbenchCompat) -> Graph {
        Graph::new(&LinkbenchSpec {
            maxid1: 11,
            nlinks_func: LinkCounts::Constant { links },
            compat,
            ..LinkbenchSpec::default()
        })
    }

    #[test]
    fn links_are_dealt_out_in_halves_the_original_s_rounded_up() {
        for (links, ours, originals) in [
            (0, [0, 0], [0, 0]),
            (1, [1, 0], [1, 0]),
            (2, [1, 1], [2, 1]),
            (3, [2, 1], [2, 2]),
            (4, [2, 2], [3, 3]),
            (5, [3, 2], [3, 3]),
        ] {
            for (compat, expected) in [
                (LinkbenchCompat::None, ours),
                (LinkbenchCompat::Original, originals),
            ] {
                let graph = graph(links, compat);
                assert_eq!([0, 1].map(|index| graph.links(5, index)), expected, "{links}");
            }
        }
    }

    #[test]
    fn totals_are_the_sum_over_the_nodes() {
        for compat in [LinkbenchCompat::None, LinkbenchCompat::Original] {
            let graph = Graph::new(&LinkbenchSpec {
                startid1: 100,
                maxid1: 3_100,
                link_type_count: 3,
                compat,
                ..LinkbenchSpec::default()
            });
            let mut sum = Totals::default();
            for id in graph.ids() {
                let of_types: Vec<u64> = (0..3).map(|index| graph.links(id, index)).collect();
                let links = of_types.iter().sum();
                sum.links += links;
                sum.counts += of_types.iter().filter(|links| **links > 0).count() as u64;
                sum.links_most = sum.links_most.max(links);
            }
            assert_eq!(graph.totals(), sum);
            assert_eq!(graph.all_links(graph.id_of(0)), sum.links_most);
            let heavy = graph
                .ranks_with_more_than(100)
                .flat_map(|(ranks, links)| ranks.map(move |rank| (rank, links)));
            let mut found = 0;
            for (rank, links) in heavy {
                assert_eq!(graph.all_links(graph.id_of(rank)), links);
                found += 1;
            }
            let of_all = graph.ids().filter(|id| graph.all_links(*id) > 100).count();
            assert_eq!(found, of_all);
        }
    }
}
