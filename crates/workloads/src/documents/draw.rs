//! `next`: draws an operation and lays its bytes ready. Everything follows from one seed of the user's stream.
use super::paths::Paths;
use super::values::{Origin, Scratch, VERSION_BITS, write_document};
use super::{Asked, DELETE, Documents, GET, GET_BATCH, INSERT, NAMES, PATCH, PUT, PUT_BATCH, weights};
use crate::account::{Account, Tally};
use crate::rng::{Random, Stream, StreamHash, mix};
use crate::ycsb::{Key, KeyCursor};
use bakeoff_model::document::Is;
use bakeoff_model::run::documents::DocumentsSpec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Chooses the kind of operation, and has what finds name.
#[derive(Debug)]
pub struct Mix {
    upto: [f64; NAMES.len()],
    /// The last kind with a weight, which takes what rounding leaves.
    last: usize,
    /// Of inserts, the share that is deleted again.
    short_lived: f64,
    pub find: Asked,
    pub find_unindexed: Asked,
    pub contains: Asked,
    pub count: Asked,
}

impl Mix {
    pub fn new(spec: &DocumentsSpec, paths: &Paths) -> Self {
        let weights = weights(spec);
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let upto = weights.map(|weight| {
            sum += weight / total;
            sum
        });
        Self {
            upto,
            last: weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(GET),
            short_lived: if spec.insert > 0.0 {
                spec.delete / spec.insert
            } else {
                0.0
            },
            find: [(paths.find, Is::Equal)],
            find_unindexed: [(paths.find_unindexed, Is::Equal)],
            contains: [(paths.contains, Is::Containing)],
            count: [(paths.count, Is::Equal)],
        }
    }

    #[inline]
    fn pick(&self, u: f64) -> usize {
        let passed: usize = self.upto.iter().map(|&end| usize::from(u >= end)).sum();
        passed.min(self.last)
    }
}

/// An operation as it was drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn {
    pub kind: usize,
    pub seed: u64,
    pub keynum: u64,
    /// Of an insert, or of the document that is deleted: its place in the insert sequence.
    pub insert: u64,
    /// It will be deleted, and until then nobody reads it.
    pub short_lived: bool,
    /// User bytes it writes.
    pub bytes: u64,
    /// It was sent at least once.
    pub begun: bool,
}

impl Drawn {
    /// Of a put or a patch.
    pub fn version(&self) -> u64 {
        // 0 is that of documents as they are inserted.
        mix(self.seed, 1) >> (64 - VERSION_BITS) | 1
    }
}

/// Documents that a user keeps for its deletes; beyond, what it inserts for them stays.
const KEPT: usize = 4096;

#[derive(Debug, Default)]
pub struct UserAccount {
    pub own: Account,
    pub deleted: Tally,
}

/// One user.
#[derive(Debug)]
pub struct Thread {
    pub(super) stream: Stream,
    pub(super) latency_probe: bool,
    pub(super) drawn: Drawn,
    pub(super) key: Key,
    /// Of a batch, with their numbers; of new documents their places in the insert sequence.
    pub(super) keys: Vec<(Key, u64)>,
    pub(super) inserts: Vec<u64>,
    /// Documents to write, one behind the other, and where each ends.
    pub(super) json: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// Values of a patch, or of a condition.
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) scratch: Scratch,
    /// Places in the insert sequence of documents to delete, oldest first.
    pub(super) kept: VecDeque<u64>,
    pub(super) account: Arc<UserAccount>,
    pub(super) hash: StreamHash,
}

impl Thread {
    /// Reserves what the largest operation needs, so that none allocates.
    pub(super) fn new(of: &Documents, stream: Stream, latency_probe: bool) -> Self {
        let spec = &of.spec;
        let (longest, key) = (of.longest(), of.key_text.key());
        let batch = match spec.get_batch + spec.put_batch > 0.0 {
            true => spec.batch as usize,
            false => 1,
        };
        let documents = if spec.put_batch > 0.0 { batch } else { 1 };
        let value = || Vec::with_capacity(longest);
        Self {
            stream,
            latency_probe,
            drawn: Drawn::default(),
            keys: vec![(key.clone(), 0); batch],
            key,
            inserts: Vec::with_capacity(batch),
            json: Vec::with_capacity(longest * documents),
            ends: Vec::with_capacity(documents),
            texts: (0..of.paths.patched.len().max(1)).map(|_| value()).collect(),
            scratch: Scratch::for_values_of(longest),
            kept: VecDeque::with_capacity(if spec.delete > 0.0 { KEPT } else { 0 }),
            account: of.accounts.open(),
            hash: StreamHash::default(),
        }
    }

    /// Where the document at a place of the batch lies in `json`.
    pub(super) fn document(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.json[start..self.ends[place]]
    }
}

impl Documents {
    pub(super) fn draw(&self, cursor: &KeyCursor, thread: &mut Thread) -> usize {
        let seed = thread.stream.next_seed();
        let mut random = Random::new(seed);
        let kind = self.mix.pick(random.unit());
        let deletes = random.unit() < self.mix.short_lived;
        let mut drawn = Drawn {
            kind: if thread.latency_probe { GET } else { kind },
            seed,
            ..Drawn::default()
        };
        if drawn.kind == DELETE {
            match thread.kept.pop_front() {
                Some(insert) => drawn.insert = insert,
                // Nothing is there yet to be deleted.
                None => (drawn.kind, drawn.short_lived) = (INSERT, true),
            }
        } else if drawn.kind == INSERT {
            drawn.short_lived = deletes && thread.kept.len() < KEPT;
        }
        match drawn.kind {
            INSERT => {
                drawn.insert = self.space.take_insert(cursor);
                drawn.keynum = self.inserted(drawn.insert);
            }
            DELETE => drawn.keynum = self.inserted(drawn.insert),
            PUT_BATCH => {}
            _ => drawn.keynum = self.space.draw(cursor, &mut random),
        }
        thread.drawn = drawn;
        if thread.hash.is_open() {
            let keynum = if self.space.is_fixed() { drawn.keynum } else { 0 };
            thread.hash.add([kind as u64, keynum, seed]);
        }
        self.key_text.write(drawn.keynum, &mut thread.key);
        self.lay_out(cursor, thread);
        drawn.kind
    }

    fn inserted(&self, insert: u64) -> u64 {
        self.space.inserts().map_or(0, |inserts| inserts.keynum(insert))
    }

    fn lay_out(&self, cursor: &KeyCursor, thread: &mut Thread) {
        let Drawn { kind, keynum, .. } = thread.drawn;
        thread.json.clear();
        thread.ends.clear();
        match kind {
            INSERT | PUT => {
                let first = Origin::first(self.seed, keynum);
                let origin = match kind {
                    PUT => first.at_version(thread.drawn.version()),
                    _ => first,
                };
                write_document(&self.template, origin, &mut thread.json);
                thread.ends.push(thread.json.len());
                thread.drawn.bytes = (thread.key.len() + thread.json.len()) as u64;
            }
            PUT_BATCH => {
                thread.inserts.clear();
                let (mut keys, mut bytes) = (std::mem::take(&mut thread.keys), 0);
                for (key, number) in &mut keys {
                    let insert = self.space.take_insert(cursor);
                    thread.inserts.push(insert);
                    *number = self.inserted(insert);
                    self.key_text.write(*number, key);
                    write_document(
                        &self.template,
                        Origin::first(self.seed, *number),
                        &mut thread.json,
                    );
                    thread.ends.push(thread.json.len());
                    bytes += key.len();
                }
                thread.keys = keys;
                thread.drawn.bytes = (bytes + thread.json.len()) as u64;
            }
            GET_BATCH => {
                // Different keys, of which the first is the one drawn.
                let records = self.space.base();
                for (place, (key, number)) in (0..).zip(&mut thread.keys) {
                    *number = (keynum % records + place) % records;
                    self.key_text.write(*number, key);
                }
            }
            PATCH => thread.drawn.bytes = thread.key.len() as u64,
            _ => {}
        }
    }
}
