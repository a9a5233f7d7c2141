//! How many links nodes have, by rank: the node with most links is 0.
use bakeoff_model::run::linkbench::LinkCounts;

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

/// Points are given in so many digits.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
