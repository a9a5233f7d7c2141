//! Payload of links and nodes: sizes that are log-normal, and bytes that repeat.
use crate::rng::{Random, mix};
use bakeoff_model::run::linkbench::{Datagen, LinkbenchCompat, LinkbenchSpec};
use std::f64::consts::TAU;

pub const LINK_BYTES_MOST: usize = 254;
pub const NODE_BYTES_MOST: usize = (1 << 20) - 1;
/// Of the logarithms of sizes, for links and nodes alike.
const SIGMA: f64 = 1.0;
/// Bytes of a chunk, which is either new or a copy.
const CHUNK: usize = 128;
/// Of the original's buffer, whatever its settings say: it looks among values for a key.
const ORIGINAL_MOTIF: u32 = 512;
/// Room that is made in advance, in standard deviations: three in a million are larger.
const FORESEEN: f64 = 4.5;

/// What makes the payload of one kind of row. The buffer that it copies from depends on the plan's seed alone, so rows
/// are the same whoever makes them.
#[derive(Debug)]
pub struct Generator {
    start: u8,
    /// Of different bytes.
    range: u64,
    uniqueness: f64,
    motif: Box<[u8]>,
    median_bytes: f64,
    most_bytes: usize,
}

/// Of every kind of row.
#[derive(Debug)]
pub struct Generators {
    pub link_add: Generator,
    pub link_update: Generator,
    pub node_add: Generator,
    pub node_update: Generator,
}

impl Generators {
    pub fn new(spec: &LinkbenchSpec, seed: u64) -> Self {
        let generator = |number: u64, datagen: &Datagen, median_bytes: f64, most_bytes: usize| {
            let motif_length = match spec.compat {
                LinkbenchCompat::None => datagen.motif_length,
                LinkbenchCompat::Original => ORIGINAL_MOTIF,
            };
            let mut made = Generator {
                start: datagen.startbyte,
                range: u64::from(datagen.endbyte - datagen.startbyte) + 1,
                uniqueness: datagen.uniqueness,
                motif: vec![0; motif_length as usize].into_boxed_slice(),
                median_bytes,
                most_bytes,
            };
            let mut motif = Vec::with_capacity(made.motif.len());
            made.push_new(&mut Random::new(mix(seed, number)), made.motif.len(), &mut motif);
            made.motif = motif.into_boxed_slice();
            made
        };
        let (link, node) = (spec.link_datasize, spec.node_datasize);
        Self {
            link_add: generator(1, &spec.link_add_datagen, link, LINK_BYTES_MOST),
            link_update: generator(2, &spec.link_up_datagen, link, LINK_BYTES_MOST),
            node_add: generator(3, &spec.node_add_datagen, node, NODE_BYTES_MOST),
            node_update: generator(4, &spec.node_up_datagen, node, NODE_BYTES_MOST),
        }
    }

    /// Room for what any of them makes, but for three in a million.
    pub fn room(&self) -> usize {
        let node = &self.node_update;
        let foreseen = node.median_bytes * (FORESEEN * SIGMA).exp();
        (foreseen as usize).min(node.most_bytes).max(LINK_BYTES_MOST)
    }
}

impl Generator {
    /// Another payload in the place of `out`. About 80 ns and 1 ns a byte.
    pub fn fill(&self, rng: &mut Random, out: &mut Vec<u8>) {
        out.clear();
        let size = self.draw_size(rng);
        let most = CHUNK.min(self.motif.len());
        while out.len() < size {
            let chunk = most.min(size - out.len());
            if rng.unit() < self.uniqueness {
                self.push_new(rng, chunk, out);
            } else {
                let from = rng.below((self.motif.len() - chunk + 1) as u64) as usize;
                out.extend_from_slice(&self.motif[from..from + chunk]);
            }
        }
    }

    fn draw_size(&self, rng: &mut Random) -> usize {
        // Box and Muller (1958); 1 - u, because u may be 0.
        let normal = (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (TAU * rng.unit()).cos();
        let size = (self.median_bytes * (SIGMA * normal).exp()).round();
        (size as usize).min(self.most_bytes)
    }

    /// Four bytes from 64 bits: within a thousandth of uniform.
    fn push_new(&self, rng: &mut Random, count: usize, out: &mut Vec<u8>) {
        let end = out.len() + count;
        while out.len() < end {
            let bits = rng.bits();
            for part in 0..(end - out.len()).min(4) {
                let part = (bits >> (16 * part)) & 0xFFFF;
                out.push(self.start + ((part * self.range) >> 16) as u8);
            }
        }
    }

    /// Whether stored payload may be of its making.
    pub fn may_make(&self, payload: &[u8]) -> bool {
        let made = self.start..=self.start + (self.range - 1) as u8;
        payload.len() <= self.most_bytes && payload.iter().all(|byte| made.contains(byte))
    }
}

/// Expected bytes of a payload.
pub fn mean_bytes(median_bytes: f64) -> f64 {
    median_bytes * (SIGMA * SIGMA / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_model::run::linkbench::LinkbenchSpec;

    fn drawn(generator: &Generator, count: usize) -> Vec<Vec<u8>> {
        let (mut rng, mut out) = (Random::new(5), Vec::new());
        let mut draw = || {
            generator.fill(&mut rng, &mut out);
            out.clone()
        };
        (0..count).map(|_| draw()).collect()
    }

    #[test]
    fn sizes_are_log_normal() {
        let generators = Generators::new(&LinkbenchSpec::default(), 1);
        for (generator, median, mean) in [
            (&generators.link_add, 8.0, 13.2),
            (&generators.node_update, 128.0, 211.0),
        ] {
            let mut sizes: Vec<usize> = drawn(generator, 40_000).iter().map(Vec::len).collect();
            sizes.sort_unstable();
            let found = sizes.iter().sum::<usize>() as f64 / 40_000.0;
            assert!((found / mean - 1.0).abs() < 0.03, "{found} of {mean}");
            let middle = sizes[20_000] as f64;
            assert!((middle / median - 1.0).abs() < 0.03, "{middle} of {median}");
        }
        assert!((mean_bytes(8.0) - 13.19).abs() < 0.01);
    }

    #[test]
    fn bytes_are_of_the_range_and_mostly_copies() {
        let generators = Generators::new(&LinkbenchSpec::default(), 1);
        let generator = &generators.node_add;
        let payloads = drawn(generator, 2_000);
        assert!(payloads.iter().all(|payload| generator.may_make(payload)));
        let bytes = || payloads.iter().flatten();
        assert_eq!((bytes().min(), bytes().max()), (Some(&50), Some(&220)));
        let motif = &generator.motif;
        let copied = |chunk: &&[u8]| motif.windows(chunk.len()).any(|part| part == *chunk);
        let chunks: Vec<&[u8]> = payloads
            .iter()
            .flat_map(|payload| payload.chunks_exact(CHUNK))
            .collect();
        let share = chunks.iter().filter(|chunk| copied(chunk)).count() as f64 / chunks.len() as f64;
        assert!((share - (1.0 - 0.63)).abs() < 0.04, "{share}");
    }

    #[test]
    fn the_buffer_is_as_long_as_is_said_and_the_original_s_512() {
        let length = |compat| {
            let spec = LinkbenchSpec {
                compat,
                ..LinkbenchSpec::default()
            };
            Generators::new(&spec, 1).link_add.motif.len()
        };
        assert_eq!(length(LinkbenchCompat::None), 128);
        assert_eq!(length(LinkbenchCompat::Original), 512);
    }
}
