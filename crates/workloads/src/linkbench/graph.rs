//! The nodes that are loaded, and their links.
use crate::rng::Random;
use bakeoff_model::run::linkbench::{LinkCounts, LinkbenchCompat, LinkbenchSpec};
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

// How many links nodes have, by rank: the node with most links is 0.

/// Numbers of links, each with the per cent of nodes that have no more: the original's `nlinks`, at selected points.
const OBSERVED: [(u64, f64); 34] = [
    (0, 45.3316),
    (1, 77.4626),
    (2, 86.9581),
    (3, 91.9931),
    (4, 94.4508),
    (5, 95.8281),
    (6, 96.7225),
    (7, 97.3201),
    (8, 97.7614),
    (9, 98.0777),
    (10, 98.3280),
    (15, 99.0269),
    (20, 99.3270),
    (25, 99.4702),
    (30, 99.5569),
    (50, 99.7216),
    (100, 99.8314),
    (150, 99.8662),
    (200, 99.8851),
    (300, 99.9061),
    (500, 99.9275),
    (1000, 99.9507),
    (2000, 99.9694),
    (5000, 99.9875),
    (6051, 99.99),
    (9946, 99.995),
    (16_865, 99.998),
    (24_000, 99.999),
    (33_136, 99.9995),
    (64_914, 99.9999),
    (86_783, 99.999_95),
    (196_788, 99.999_99),
    (450_999, 99.999_999),
    (961_963, 100.0),
];

/// The points are rounded to their digits.
const ROUNDING: f64 = 1.0 + 1e-9;

/// Ranks with the same number of links, from `first_rank` to the next run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first_rank: u64,
    pub links: u64,
}

/// Ranks in falling order of their links. `top_rank`: the node of rank r stands at r / n of the distribution, as in the
/// original, so that the first has the most links of all whatever n is; else in the middle of its share, (r + 1/2) / n.
pub fn runs(of: &LinkCounts, nodes: u64, top_rank: bool) -> Vec<Run> {
    let points = match of {
        LinkCounts::Constant { links } => {
            return vec![Run {
                first_rank: 0,
                links: *links,
            }];
        }
        LinkCounts::Real { points } if points.is_empty() => &OBSERVED[..],
        LinkCounts::Real { points } => points,
    };
    let curve = Curve::new(points);
    let middle = if top_rank { 0.0 } else { 0.5 };
    let links = |rank: u64| curve.links_at((rank as f64 + middle) / nodes as f64);
    let mut runs: Vec<Run> = Vec::new();
    let mut rank = 0;
    while rank < nodes {
        let own = links(rank);
        runs.push(Run {
            first_rank: rank,
            links: own,
        });
        rank = first_after(rank, nodes, |other| links(other) != own);
    }
    runs
}

/// The first in `start + 1..end` from which on `differs` holds, or `end`.
fn first_after(start: u64, end: u64, differs: impl Fn(u64) -> bool) -> u64 {
    let (mut same, mut step) = (start, 1);
    while same + step < end && !differs(same + step) {
        same += step;
        step *= 2;
    }
    let mut other = end.min(same + step);
    while same + 1 < other {
        let middle = same + (other - same) / 2;
        if differs(middle) {
            other = middle;
        } else {
            same = middle;
        }
    }
    other
}

/// A distribution by points: exact where these are one link apart, a straight line of logarithms between others.
struct Curve(Vec<Point>);

struct Point {
    links: u64,
    /// Share of nodes that have more.
    above: f64,
}

impl Curve {
    fn new(points: &[(u64, f64)]) -> Self {
        let point = |&(links, percent): &(u64, f64)| Point {
            links,
            above: 1.0 - percent / 100.0,
        };
        Self(points.iter().map(point).collect())
    }

    /// The smallest number of links than which at most the share `above` of the nodes have more.
    fn links_at(&self, above: f64) -> u64 {
        let above = above * ROUNDING;
        let next = self.0.partition_point(|point| point.above > above);
        match (
            next.checked_sub(1).and_then(|last| self.0.get(last)),
            self.0.get(next),
        ) {
            (Some(low), Some(high)) => between(low, high, above),
            (Some(only), None) | (None, Some(only)) => only.links,
            (None, None) => 0,
        }
    }
}

fn between(low: &Point, high: &Point, above: f64) -> u64 {
    let way = if high.above > 0.0 {
        (low.above / above).ln() / (low.above / high.above).ln()
    } else {
        1.0 - above / low.above
    };
    let from = (low.links as f64).max(0.5);
    let links = from * (high.links as f64 / from).powf(way);
    // What is computed to lie a little above a whole number is that number.
    ((links - 1e-6).ceil() as u64).clamp(low.links + 1, high.links)
}

// What scatters ranks over ids, and finds the rank of an id again.

/// As many places lie side by side in the original's (`Shuffler`).
const GROUPS: u64 = 1024;

/// A bijection on `0..items` with an inverse: places that leave the same number when divided by 1024 are a ring, and each
/// ring is turned by an offset of its own. About 3 ns. Fewer than 2048 items stay mostly where they are, as in the
/// original.
#[derive(Debug)]
pub struct Shuffle {
    items: u64,
    offsets: Box<[u64]>,
}

impl Shuffle {
    /// items >= 1.
    pub fn new(seed: u64, items: u64) -> Self {
        let mut rng = Random::new(seed);
        let offset = |group| rng.below(ring(items, group).max(1));
        Self {
            items,
            offsets: (0..GROUPS).map(offset).collect(),
        }
    }

    #[inline]
    pub fn place_of(&self, rank: u64) -> u64 {
        let (group, step) = (rank % GROUPS, rank / GROUPS);
        let ring = ring(self.items, group);
        let turned = step + self.offsets[group as usize];
        let turned = if turned >= ring { turned - ring } else { turned };
        turned * GROUPS + group
    }

    #[inline]
    pub fn rank_of(&self, place: u64) -> u64 {
        let (group, step) = (place % GROUPS, place / GROUPS);
        let offset = self.offsets[group as usize];
        let turned = if step < offset {
            step + ring(self.items, group) - offset
        } else {
            step - offset
        };
        turned * GROUPS + group
    }
}

/// How many of the items are in a group.
#[inline]
fn ring(items: u64, group: u64) -> u64 {
    (items + GROUPS - 1 - group) / GROUPS
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

    const REAL: LinkCounts = LinkCounts::Real { points: vec![] };

    fn mean(runs: &[Run], nodes: u64) -> f64 {
        let ends = runs.iter().skip(1).map(|run| run.first_rank).chain([nodes]);
        let links = runs
            .iter()
            .zip(ends)
            .map(|(run, end)| run.links * (end - run.first_rank));
        links.sum::<u64>() as f64 / nodes as f64
    }

    /// Means and largest of specification and original, within what a table of 34 points in place of 20,000 comes to.
    #[test]
    fn graphs_have_as_many_links_as_those_of_the_original() {
        for (nodes, top_rank, expected, top) in [
            (10_000, false, 3.68, 9_946),
            (100_000, false, 4.00, 33_136),
            (1_000_000, false, 4.07, 86_783),
            (1_000, true, 963.6, 961_963),
            (10_000, true, 99.2, 961_963),
            (100_000, true, 13.4, 961_963),
            (1_000_000, true, 4.98, 961_963),
        ] {
            let runs = runs(&REAL, nodes, top_rank);
            let found = mean(&runs, nodes);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{nodes} {top_rank}: {found}"
            );
            assert_eq!(runs[0].links, top, "{nodes} {top_rank}");
        }
    }

    #[test]
    fn each_number_of_links_has_its_share_of_the_nodes() {
        let runs = runs(&REAL, 1_000_000, false);
        for (links, percent) in OBSERVED.into_iter().take(12) {
            let run = runs.iter().find(|run| run.links <= links);
            let found = 100.0 - run.map_or(100.0, |run| run.first_rank as f64 / 10_000.0);
            assert!((found - percent).abs() < 0.001, "{links}: {found} of {percent}");
        }
    }

    #[test]
    fn runs_fall_and_have_every_rank() {
        for nodes in [1, 2, 3, 100, 12_345] {
            let runs = runs(&REAL, nodes, false);
            assert_eq!(runs[0].first_rank, 0);
            assert!(runs.is_sorted_by(|a, b| a.first_rank < b.first_rank && a.links > b.links));
            assert!(runs[runs.len() - 1].first_rank < nodes);
        }
    }

    #[test]
    fn points_of_a_file_go_before_the_table() {
        let points = vec![(1, 50.0), (2, 75.0), (3, 100.0)];
        let runs = runs(&LinkCounts::Real { points }, 8, false);
        let of = |first_rank, links| Run { first_rank, links };
        assert_eq!(runs, [of(0, 3), of(2, 2), of(4, 1)]);
    }

    #[test]
    fn every_place_is_taken_once_and_its_rank_is_found_again() {
        for items in [1, 5, 1023, 1024, 1025, 2049, 50_000] {
            let shuffle = Shuffle::new(7, items);
            let mut places: Vec<u64> = (0..items).map(|rank| shuffle.place_of(rank)).collect();
            assert!((0..items).all(|rank| shuffle.rank_of(shuffle.place_of(rank)) == rank));
            places.sort_unstable();
            assert!(places.into_iter().eq(0..items), "{items}");
        }
    }

    #[test]
    fn the_first_ranks_lie_all_over_the_place() {
        let shuffle = Shuffle::new(7, 1_000_000);
        let mut tenths = [0; 10];
        (0..1000).for_each(|rank| tenths[(shuffle.place_of(rank) / 100_000) as usize] += 1);
        assert!(tenths.iter().all(|count| (50..200).contains(count)), "{tenths:?}");
    }
}
