//! One attempt at the operation drawn last. What makes an answer wrong:
//!
//! | operation | wrong when |
//! |---|---|
//! | GET, GET-PART | no document; a value that its version does not give |
//! | PUT, PATCH, DELETE | not exactly one document found |
//! | INSERT | not exactly one document stored |
//! | FIND, FIND-UNINDEXED, CONTAINS | none (the value is that of a stored document), more than the limit, or one that does not have the value |
//! | COUNT | 0 |
//! | RANGE | none, more than the limit, not beginning at the start key |
//! | GET-BATCH | not all of them; as GET for each |
//! | PUT-BATCH | not all of them stored |
//!
//! Where a system does not count documents, an acknowledged write is right.
use super::draw::Thread;
use super::values::{Origin, Scratch, is_right, origin_of, typed, value_of};
use super::{
    Asked, COLLECTION, CONTAINS, COUNT, DELETE, Documents, FIND, FIND_UNINDEXED, GET, GET_BATCH, GET_PART,
    INSERT, PATCH, PUT, PUT_BATCH, RANGE,
};
use crate::faults::Found as Fault;
use crate::prelude::*;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{Condition, DocumentSession, Expect, Found, Is, Keyed, Patch, Select};
use bakeoff_model::json::{Elements, at};
use smallvec::SmallVec;

/// Documents of a batch without allocating.
const INLINE: usize = 32;

const MISSING: &str = "document missing";

impl Documents {
    pub(super) async fn attempt(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        match thread.drawn.kind {
            GET => {
                let found = session.get(COLLECTION, &thread.key, Select::Whole).await?;
                Ok(found.map_or(Answer::Wrong(MISSING), |found| {
                    self.whole(found, thread.drawn.keynum, &mut thread.scratch)
                }))
            }
            GET_PART => {
                let part = Select::Paths(&self.paths.part);
                let found = session.get(COLLECTION, &thread.key, part).await?;
                Ok(found.map_or(Answer::Wrong(MISSING), |found| {
                    self.part(found, thread.drawn.keynum, &mut thread.texts[0])
                }))
            }
            PUT => {
                let stored = session.put(COLLECTION, document(thread), Expect::Present).await?;
                Ok(one(stored, MISSING))
            }
            PATCH => self.patch(thread, session).await,
            INSERT => {
                self.begin(thread, 1);
                let stored = session.put(COLLECTION, document(thread), Expect::Absent).await?;
                Ok(one(stored, "document not stored"))
            }
            DELETE => {
                self.begin(thread, 1);
                Ok(one(session.delete(COLLECTION, &thread.key, None).await?, MISSING))
            }
            FIND => self.find(&self.mix.find, thread, session).await,
            FIND_UNINDEXED => self.find(&self.mix.find_unindexed, thread, session).await,
            CONTAINS => self.find(&self.mix.contains, thread, session).await,
            COUNT => self.count(thread, session).await,
            RANGE => self.range(thread, session).await,
            GET_BATCH => self.get_batch(thread, session).await,
            PUT_BATCH => self.put_batch(thread, session).await,
            _ => Ok(Answer::Wrong("no such operation")),
        }
    }

    /// A document that was read whole.
    pub(super) fn whole(&self, found: &Found, keynum: u64, scratch: &mut Scratch) -> Answer<'static> {
        if !self.spec.verify {
            return match found.json.first() {
                Some(b'{') => Answer::Right,
                _ => Answer::Wrong("no document"),
            };
        }
        self.verified(&found.json, keynum, scratch)
    }

    pub(super) fn verified(&self, json: &[u8], keynum: u64, scratch: &mut Scratch) -> Answer<'static> {
        let Some(origin) = origin_of(json, Origin::first(self.seed, keynum).key) else {
            return Answer::Wrong("version missing");
        };
        match is_right(&self.template, origin, 0, json, scratch) {
            true => Answer::Right,
            false => Answer::Wrong("value differs"),
        }
    }

    fn part(&self, found: &Found, keynum: u64, text: &mut Vec<u8>) -> Answer<'static> {
        let number = |place| match found.cells.cell(place) {
            Some(Value::Int(number)) => u64::try_from(number).ok(),
            _ => None,
        };
        let (Some(version), Some(patched)) = (number(0), number(1)) else {
            return Answer::Wrong("version missing");
        };
        let origin = Origin {
            version,
            patched,
            ..Origin::first(self.seed, keynum)
        };
        for (place, path) in self.paths.part.iter().enumerate().skip(2) {
            let Some(value) = found.cells.cell(place) else {
                return Answer::Wrong("value missing");
            };
            let right = !self.spec.verify
                || self
                    .node(*path)
                    .is_some_and(|node| value == value_of(node, origin, text));
            if !right {
                return Answer::Wrong("value differs");
            }
        }
        Answer::Right
    }

    async fn patch(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        let version = thread.drawn.version();
        let origin = Origin::first(self.seed, thread.drawn.keynum).at_version(version);
        let mut patches: SmallVec<[Patch<'_>; 16]> = SmallVec::new();
        patches.push(Patch {
            path: 1,
            value: Value::Int(version as i64),
        });
        let mut bytes = 0;
        for (path, text) in self.paths.patched.iter().zip(&mut thread.texts) {
            let Some(node) = self.node(*path) else { continue };
            let value = value_of(node, origin, text);
            bytes += value.bytes().map_or(8, <[u8]>::len) as u64;
            patches.push(Patch { path: *path, value });
        }
        thread.drawn.bytes = thread.key.len() as u64 + bytes;
        Ok(one(
            session.patch(COLLECTION, &thread.key, &patches).await?,
            MISSING,
        ))
    }

    /// Of the document drawn: what another of the same value is found by.
    fn condition<'a>(&self, asked: &Asked, keynum: u64, text: &'a mut Vec<u8>) -> Condition<'a> {
        let [(path, is)] = *asked;
        let origin = Origin::first(self.seed, keynum);
        let value = self
            .node(path)
            .map_or(Value::Null, |node| value_of(node, origin, text));
        Condition { path, is, value }
    }

    async fn find(
        &self,
        asked: &Asked,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        let Thread {
            drawn, texts, json, ..
        } = thread;
        let condition = self.condition(asked, drawn.keynum, &mut texts[0]);
        let [collection] = &self.collection;
        let path = &collection.paths[condition.path as usize];
        let (mut wrong, kind) = (
            Fault::default(),
            self.node(condition.path).and_then(super::Node::kind),
        );
        let mut each = |found: &Found| {
            let Some(value) = at(&found.json, &path.steps) else {
                return wrong.check(false, "document without the value");
            };
            let mut is_it = |value: &[u8]| {
                json.clear();
                json.extend_from_slice(value);
                typed(kind, json) == condition.value
            };
            let right = match condition.is {
                Is::Containing => Elements::of(value).any(is_it),
                _ => is_it(value),
            };
            wrong.check(right, "document without the value");
        };
        let limit = self.spec.find_limit;
        let seen = session
            .find(COLLECTION, &[condition], Select::Whole, Some(limit), &mut each)
            .await?;
        wrong.check(seen > 0, "no document found");
        wrong.check(seen <= limit.into(), "more documents than the limit");
        Ok(wrong.into())
    }

    async fn count(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        let condition = self.condition(&self.mix.count, thread.drawn.keynum, &mut thread.texts[0]);
        Ok(match session.count(COLLECTION, &[condition]).await? {
            0 => Answer::Wrong("no document counted"),
            _ => Answer::Right,
        })
    }

    async fn range(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        let (mut wrong, mut first, start) = (Fault::default(), true, &*thread.key);
        let mut each = |found: &Found| {
            if first {
                wrong.check(found.key == start, "not beginning at the start key");
            }
            first = false;
            wrong.check(&*found.key >= start, "document before the start key");
            wrong.check(found.json.first() == Some(&b'{'), "no document");
        };
        let limit = self.spec.range_limit;
        let seen = session
            .range(COLLECTION, start, Some(limit), Select::Whole, &mut each)
            .await?;
        wrong.check(seen > 0, "no document found");
        wrong.check(seen <= limit.into(), "more documents than the limit");
        Ok(wrong.into())
    }

    async fn get_batch(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        let Thread { keys, scratch, .. } = thread;
        let texts: SmallVec<[&[u8]; INLINE]> = keys.iter().map(|(key, _)| &**key).collect();
        let mut wrong = Fault::default();
        let mut each = |found: &Found| {
            let asked = keys.iter().find(|(key, _)| **key == *found.key);
            match asked {
                Some((_, keynum)) => {
                    if let Answer::Wrong(why) = self.whole(found, *keynum, scratch) {
                        wrong.check(false, why);
                    }
                }
                None => wrong.check(false, "another document's key"),
            }
        };
        let seen = session
            .get_batch(COLLECTION, &texts, Select::Whole, &mut each)
            .await?;
        wrong.check(seen == texts.len() as u64, MISSING);
        Ok(wrong.into())
    }

    async fn put_batch(
        &self,
        thread: &mut Thread,
        session: &mut AnyDocuments,
    ) -> Result<Answer<'static>, OpError> {
        self.begin(thread, thread.inserts.len() as u64);
        let keys = thread.keys.iter().enumerate();
        let documents: SmallVec<[Keyed<'_>; INLINE]> = keys
            .map(|(place, (key, _))| Keyed {
                key,
                json: thread.document(place),
            })
            .collect();
        let stored = session.put_batch(COLLECTION, &documents).await?;
        Ok(match stored == documents.len() as u64 {
            true => Answer::Right,
            false => Answer::Wrong("documents not stored"),
        })
    }
}

fn document(thread: &Thread) -> Keyed<'_> {
    Keyed {
        key: &thread.key,
        json: thread.document(0),
    }
}

fn one(found: Option<u64>, none: &'static str) -> Answer<'static> {
    match found {
        Some(1) | None => Answer::Right,
        Some(0) => Answer::Wrong(none),
        Some(_) => Answer::Wrong("more than one document"),
    }
}
