//! Which of the loaded nodes requests are about.
use super::graph::{Graph, Shuffle};
use crate::keys::Zipfian;
use crate::rng::Random;
use bakeoff_model::run::linkbench::{Access, LinkbenchCompat, LinkbenchSpec};

/// Of the permutations of ids that have nothing to do with the number of links, the original's.
const UNRELATED_SEED: u64 = 53_238_253_823_453;
const NODES_SEED: u64 = 4_766_565_305_853_767_165;

/// Draws ids. About 25 ns.
#[derive(Debug)]
pub struct Choice {
    unrelated: Shuffle,
    of_nodes: Shuffle,
    first_id: u64,
    link_reads: Blend,
    link_writes: Blend,
    node_reads: Ranks,
    node_updates: Ranks,
    node_deletes: Ranks,
}

impl Choice {
    pub fn new(spec: &LinkbenchSpec) -> Self {
        let nodes = spec.maxid1 - spec.startid1;
        let ranks = |access| Ranks::new(access, nodes);
        let blend = |related, unrelated, unrelated_percent: f64| Blend {
            related: ranks(related),
            unrelated: ranks(unrelated),
            unrelated_share: unrelated_percent / 100.0,
        };
        // The original looks for `write_uncorr_` under the name `read_uncorr_`.
        let (write_unrelated, write_percent) = match spec.compat {
            LinkbenchCompat::None => (&spec.write_uncorr_function, spec.write_uncorr_blend),
            LinkbenchCompat::Original => (&spec.read_uncorr_function, spec.read_uncorr_blend),
        };
        Self {
            unrelated: Shuffle::new(UNRELATED_SEED, nodes),
            of_nodes: Shuffle::new(NODES_SEED, nodes),
            first_id: spec.startid1,
            link_reads: blend(
                &spec.read_function,
                &spec.read_uncorr_function,
                spec.read_uncorr_blend,
            ),
            link_writes: blend(&spec.write_function, write_unrelated, write_percent),
            node_reads: ranks(&spec.node_read_function),
            node_updates: ranks(&spec.node_update_function),
            node_deletes: ranks(&spec.node_delete_function),
        }
    }

    #[inline]
    pub fn to_read_links(&self, graph: &Graph, rng: &mut Random) -> u64 {
        self.by_links(&self.link_reads, graph, rng)
    }

    #[inline]
    pub fn to_write_links(&self, graph: &Graph, rng: &mut Random) -> u64 {
        self.by_links(&self.link_writes, graph, rng)
    }

    #[inline]
    pub fn to_read(&self, rng: &mut Random) -> u64 {
        self.node(&self.node_reads, rng)
    }

    #[inline]
    pub fn to_update(&self, rng: &mut Random) -> u64 {
        self.node(&self.node_updates, rng)
    }

    #[inline]
    pub fn to_delete(&self, rng: &mut Random) -> u64 {
        self.node(&self.node_deletes, rng)
    }

    #[inline]
    fn by_links(&self, blend: &Blend, graph: &Graph, rng: &mut Random) -> u64 {
        if rng.unit() < blend.unrelated_share {
            self.first_id + self.unrelated.place_of(blend.unrelated.draw(rng))
        } else {
            graph.id_of(blend.related.draw(rng))
        }
    }

    #[inline]
    fn node(&self, ranks: &Ranks, rng: &mut Random) -> u64 {
        self.first_id + self.of_nodes.place_of(ranks.draw(rng))
    }
}

#[derive(Debug)]
struct Blend {
    related: Ranks,
    unrelated: Ranks,
    unrelated_share: f64,
}

#[derive(Debug)]
enum Ranks {
    Zipf(Zipfian),
    Uniform(u64),
}

impl Ranks {
    fn new(access: &Access, items: u64) -> Self {
        match access {
            Access::Zipf { shape } => Self::Zipf(Zipfian::new(items, *shape)),
            Access::Uniform => Self::Uniform(items),
        }
    }

    #[inline]
    fn draw(&self, rng: &mut Random) -> u64 {
        match self {
            Self::Zipf(zipfian) => zipfian.draw(rng),
            Self::Uniform(items) => rng.below(*items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::zeta;

    const DRAWS: u64 = 200_000;

    /// Share of draws that the node of rank 0 gets, where `id_of` says which it is.
    fn share_of(id: u64, mut draw: impl FnMut(&mut Random) -> u64) -> f64 {
        let mut rng = Random::new(3);
        let hits = (0..DRAWS).filter(|_| draw(&mut rng) == id).count();
        hits as f64 / DRAWS as f64
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 4.0 * (expected / DRAWS as f64).sqrt() + 1e-4,
            "{found} of {expected}"
        );
    }

    #[test]
    fn the_hottest_ids_have_their_shares() {
        let first = |shape: f64| 1.0 / zeta(10_000, shape);
        for (compat, blend, shape) in [
            (LinkbenchCompat::None, 0.95, 0.741),
            (LinkbenchCompat::Original, 0.995, 0.8),
        ] {
            let spec = LinkbenchSpec {
                compat,
                ..LinkbenchSpec::default()
            };
            let (graph, choice) = (Graph::new(&spec), Choice::new(&spec));
            let unrelated = 1 + choice.unrelated.place_of(0);
            let related = graph.id_of(0);
            assert_near(
                share_of(unrelated, |rng| choice.to_read_links(&graph, rng)),
                0.995 * first(0.8),
            );
            assert_near(
                share_of(unrelated, |rng| choice.to_write_links(&graph, rng)),
                blend * first(shape),
            );
            // Whatever rank it has elsewhere adds a little.
            let written = share_of(related, |rng| choice.to_write_links(&graph, rng));
            assert!(written >= (1.0 - blend) * first(0.741) * 0.8, "{written}");
            let node = 1 + choice.of_nodes.place_of(0);
            assert_near(share_of(node, |rng| choice.to_read(rng)), first(0.625));
            assert_near(share_of(node, |rng| choice.to_update(rng)), first(0.606));
            assert_near(share_of(node, |rng| choice.to_delete(rng)), 1e-4);
        }
    }

    #[test]
    fn every_id_is_of_the_loaded_range() {
        let spec = LinkbenchSpec {
            startid1: 500,
            maxid1: 510,
            ..LinkbenchSpec::default()
        };
        let (graph, choice) = (Graph::new(&spec), Choice::new(&spec));
        let mut rng = Random::new(1);
        for _ in 0..2_000 {
            let ids = [
                choice.to_read_links(&graph, &mut rng),
                choice.to_write_links(&graph, &mut rng),
                choice.to_read(&mut rng),
                choice.to_update(&mut rng),
                choice.to_delete(&mut rng),
            ];
            assert!(ids.iter().all(|id| (500..510).contains(id)), "{ids:?}");
        }
    }
}
