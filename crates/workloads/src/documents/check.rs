//! Invariants of the data: the number of documents, documents read back one by one, and counts by what is in them.
use super::book::Did;
use super::values::{Origin, Scratch, value_of};
use super::{COLLECTION, Documents};
use crate::account::{Changed, after_changes};
use crate::faults::Faults;
use crate::prelude::*;
use crate::ycsb::acknowledged;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{Condition, DocumentSession, Select};
use std::ops::RangeInclusive;

/// Documents whose values are computed again for one check.
const MOST_COUNTED: u64 = 10_000_000;

fn in_words(documents: &RangeInclusive<u64>) -> String {
    crate::account::in_words(documents).replace("rows", "documents")
}

impl Documents {
    pub(super) async fn check_number(
        &self,
        session: &mut AnyDocuments,
        done: &[Option<Did>],
    ) -> Result<Check, OpError> {
        let count = session.count(COLLECTION, &[]).await?;
        let changed = |did: &Did| {
            let added = Changed {
                rows: did.counts.inserts_acknowledged,
                unknown: did.counts.inserts_unknown,
            };
            (added, did.deleted)
        };
        let runs = done.iter().map(|run| run.as_ref().map(changed));
        let documents = after_changes(self.space.base(), runs);
        Ok(Check {
            name: "number of documents".into(),
            ok: documents.contains(&count),
            expected: in_words(&documents),
            actual: format!("{count} documents"),
            evidence: Vec::new(),
        })
    }

    /// Reads documents whose insert was acknowledged and that nobody was to delete: all, or a sample. `None` where no run
    /// kept keys.
    pub(super) async fn check_acknowledged(
        &self,
        session: &mut AnyDocuments,
        done: &[Option<Did>],
        most: u64,
    ) -> Result<Option<Check>, OpError> {
        let runs = || done.iter().flatten();
        let ledgers: Vec<_> = runs().filter_map(|did| did.ledger.as_ref()).collect();
        let keynums = acknowledged(&ledgers, most);
        if keynums.is_empty() {
            return Ok(None);
        }
        let faults = self.read_back(session, &keynums, false).await?;
        let total: u64 = runs().map(|did| did.counts.inserts_acknowledged).sum();
        Ok(Some(Check {
            name: "acknowledged documents".into(),
            ok: faults.count == 0,
            expected: format!(
                "{} of {total} acknowledged documents present, every value verified",
                keynums.len()
            ),
            actual: format!(
                "{} right, {} wrong",
                keynums.len() as u64 - faults.count,
                faults.count
            ),
            evidence: faults.kept,
        }))
    }

    pub(super) async fn check_sample(
        &self,
        session: &mut AnyDocuments,
        spec: &CheckSpec,
    ) -> Result<Check, OpError> {
        let total = self.space.base();
        let sample = spec.sample.min(total);
        let place = |number| (u128::from(number) * u128::from(total) / u128::from(sample)) as u64;
        let keynums: Vec<u64> = (0..sample).map(place).collect();
        let faults = self.read_back(session, &keynums, !spec.after_run).await?;
        Ok(Check {
            name: "sample of documents".into(),
            ok: faults.count == 0,
            expected: format!("{sample} documents present, every value verified"),
            actual: format!(
                "{} documents right, {} wrong",
                sample - faults.count,
                faults.count
            ),
            evidence: faults.kept,
        })
    }

    /// `as_loaded`: nobody has changed them.
    async fn read_back(
        &self,
        session: &mut AnyDocuments,
        keynums: &[u64],
        as_loaded: bool,
    ) -> Result<Faults, OpError> {
        let (mut key, mut faults, mut scratch) = (self.key_text.key(), Faults::default(), Scratch::default());
        for &keynum in keynums {
            self.key_text.write(keynum, &mut key);
            let answer = match session.get(COLLECTION, &key, Select::Whole).await? {
                None => Answer::Wrong("document missing"),
                Some(found) if as_loaded && !self.is_as_loaded(&found.json, keynum) => {
                    Answer::Wrong("not the version that was loaded")
                }
                Some(found) => self.verified(&found.json, keynum, &mut scratch),
            };
            if let Answer::Wrong(why) = answer {
                faults.add(|| format!("{}: {why}", String::from_utf8_lossy(&key)));
            }
        }
        Ok(faults)
    }

    fn is_as_loaded(&self, json: &[u8], keynum: u64) -> bool {
        let first = Origin::first(self.seed, keynum);
        super::values::origin_of(json, first.key) == Some(first)
    }

    /// What is found by stays as it was loaded: documents with one document's value are counted by the system and here. Only
    /// where no run has added any.
    pub(super) async fn check_found(
        &self,
        session: &mut AnyDocuments,
        done: &[Option<Did>],
    ) -> Result<Vec<Check>, OpError> {
        let added = |run: &Option<Did>| {
            run.as_ref()
                .is_none_or(|did| did.counts != Default::default() && did.ledger.is_some())
        };
        let documents = self.space.base();
        if done.iter().any(added) || documents > MOST_COUNTED {
            return Ok(vec![]);
        }
        let asked = [
            (self.spec.find, &self.mix.find),
            (self.spec.find_unindexed, &self.mix.find_unindexed),
            (self.spec.contains, &self.mix.contains),
            (self.spec.count, &self.mix.count),
        ];
        let mut checks = vec![];
        for (weight, [(path, is)]) in asked {
            let (true, Some(node)) = (weight > 0.0, self.node(*path)) else {
                continue;
            };
            let (mut wanted, mut text) = (vec![], vec![]);
            let first = |keynum| Origin::first(self.seed, keynum);
            let value = value_of(node, first(documents / 2), &mut wanted);
            let here = (0..documents)
                .filter(|keynum| super::values::has(node, first(*keynum), value, &mut text))
                .count() as u64;
            let condition = Condition {
                path: *path,
                is: *is,
                value,
            };
            let there = session.count(COLLECTION, &[condition]).await?;
            let [collection] = &self.collection;
            let name = collection.paths[*path as usize].steps.join(".");
            checks.push(Check {
                name: format!("documents by {name}"),
                ok: here == there,
                expected: format!("{here} documents with {name} {value}"),
                actual: format!("{there} documents"),
                evidence: vec![],
            });
        }
        Ok(checks)
    }
}
