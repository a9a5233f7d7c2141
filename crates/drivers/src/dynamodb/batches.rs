//! Many documents in one request: batches, which the service may take in parts, and transactions, which it takes whole.
//!
//! Source: Amazon DynamoDB API Reference, BatchGetItem, BatchWriteItem, TransactGetItems, TransactWriteItems.
use super::calls::Action;
use super::expressions::projection;
use super::session::{DynamodbSession, begin, expected, fill, item, open_key};
use crate::server::errors::malformed;
use bakeoff_model::document::{Collection, Expect, Found, Keyed, Select};
use bakeoff_model::json::{self, Elements};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::time::sleep;
use std::time::Duration;

/// Of one request.
const GETS_MAX: usize = 100;
const PUTS_MAX: usize = 25;
const TRANSACTION_MAX: usize = 100;
/// How often the rest of a batch is sent again. The waits double up to the longest: half a minute in all.
const TRIES_MAX: u32 = 20;
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl DynamodbSession {
    /// A key asked for twice counts once.
    pub(super) async fn get_in_batches(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let mut seen = 0;
        for (from, some) in keys.chunks(GETS_MAX).enumerate() {
            let before = from * GETS_MAX;
            let Self {
                calls,
                collections,
                modes,
                ..
            } = &mut *self;
            let attached = &collections[collection.0 as usize];
            let body = calls.begin(Action::BatchGetItem).await?;
            body.extend_from_slice(b"{\"RequestItems\":{");
            body.extend_from_slice(&attached.name);
            body.extend_from_slice(b":{\"Keys\":[");
            let start = body.len();
            for (place, key) in some.iter().enumerate() {
                if keys[..before + place].contains(key) {
                    continue;
                }
                if body.len() > start {
                    body.push(b',');
                }
                open_key(body, key);
                body.push(b'}');
            }
            if body.len() == start {
                continue;
            }
            body.push(b']');
            if modes.consistent {
                body.extend_from_slice(b",\"ConsistentRead\":true");
            }
            projection(body, attached, select);
            body.extend_from_slice(b"}}}");
            calls.send().await?;
            for tries in 0.. {
                let Self {
                    calls,
                    collections,
                    found,
                    text,
                    next,
                    ..
                } = &mut *self;
                let attached = &collections[collection.0 as usize];
                let answer = calls.answer();
                let tables =
                    json::at(answer, ["Responses"]).ok_or_else(|| malformed("it has no responses"))?;
                for (_, items) in json::Members::of(tables) {
                    for item in Elements::of(items) {
                        fill(found, item, select, attached, text)?;
                        each(found);
                        seen += 1;
                    }
                }
                if !rest(answer, "UnprocessedKeys", next) {
                    break;
                }
                self.send_rest(Action::BatchGetItem, tries).await?;
            }
        }
        Ok(seen)
    }

    /// The service has no condition on a document of a batch: one that exists is replaced.
    pub(super) async fn put_in_batches(
        &mut self,
        collection: Collection,
        documents: &[Keyed<'_>],
    ) -> Result<(), OpError> {
        for some in documents.chunks(PUTS_MAX) {
            self.put_some(collection, some).await?;
        }
        Ok(())
    }

    /// Each [`TRANSACTION_MAX`] of them are stored together or, if one exists, none.
    pub(super) async fn put_in_transactions(
        &mut self,
        collection: Collection,
        documents: &[Keyed<'_>],
    ) -> Result<(), OpError> {
        for some in documents.chunks(TRANSACTION_MAX) {
            self.put_together(collection, some).await?;
        }
        Ok(())
    }

    /// The rest of a batch, which the service did not take: sent again, after a wait.
    async fn send_rest(&mut self, action: Action, tries: u32) -> Result<(), OpError> {
        if tries == TRIES_MAX {
            let what = "the service did not take all of a batch in half a minute";
            return Err(OpError::fail(FailClass::Overload, "UNPROCESSED", what).with_statement(action.name()));
        }
        sleep(LONGEST_WAIT.min(Duration::from_millis(10) * 2u32.pow(tries.min(10)))).await;
        let body = self.calls.begin(action).await?;
        body.extend_from_slice(b"{\"RequestItems\":");
        body.extend_from_slice(&self.next);
        body.push(b'}');
        self.calls.send().await.map(|_| ())
    }

    /// At most [`PUTS_MAX`].
    async fn put_some(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<(), OpError> {
        let mut revisions = [[0; 16]; PUTS_MAX];
        revisions.fill_with(|| self.next_revision());
        let Self {
            calls, collections, ..
        } = self;
        let collection = &collections[collection.0 as usize];
        let body = calls.begin(Action::BatchWriteItem).await?;
        body.extend_from_slice(b"{\"RequestItems\":{");
        body.extend_from_slice(&collection.name);
        body.extend_from_slice(b":[");
        for (place, (document, revision)) in documents.iter().zip(&revisions).enumerate() {
            body.extend_from_slice(if place > 0 {
                b",{\"PutRequest\":{\"Item\":"
            } else {
                b"{\"PutRequest\":{\"Item\":"
            });
            item(body, collection, *document, revision)?;
            body.extend_from_slice(b"}}");
        }
        body.extend_from_slice(b"]}}");
        calls.send().await?;
        for tries in 0.. {
            if !rest(self.calls.answer(), "UnprocessedItems", &mut self.next) {
                break;
            }
            self.send_rest(Action::BatchWriteItem, tries).await?;
        }
        Ok(())
    }

    /// New documents in one transaction, at most [`TRANSACTION_MAX`].
    async fn put_together(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<(), OpError> {
        self.begin_together(Action::TransactWriteItems).await?;
        for (place, document) in documents.iter().enumerate() {
            let revision = self.next_revision();
            let collection = &self.collections[collection.0 as usize];
            let body = self.calls.request()?;
            body.extend_from_slice(if place > 0 { b",{\"Put\":" } else { b"{\"Put\":" });
            begin(body, collection, false);
            body.extend_from_slice(b",\"Item\":");
            item(body, collection, *document, &revision)?;
            expected(body, Expect::Absent);
            body.extend_from_slice(b"}}");
        }
        self.calls.request()?.extend_from_slice(b"]}");
        self.calls.send().await.map(|_| ())
    }

    /// Each [`TRANSACTION_MAX`] of them as they are at one moment. A key asked for twice counts once.
    pub(super) async fn get_in_transactions(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let mut seen = 0;
        for (from, some) in keys.chunks(TRANSACTION_MAX).enumerate() {
            let before = from * TRANSACTION_MAX;
            self.begin_together(Action::TransactGetItems).await?;
            let attached = &self.collections[collection.0 as usize];
            let body = self.calls.request()?;
            let start = body.len();
            for (place, key) in some.iter().enumerate() {
                if keys[..before + place].contains(key) {
                    continue;
                }
                body.extend_from_slice(if body.len() > start {
                    b",{\"Get\":"
                } else {
                    b"{\"Get\":"
                });
                begin(body, attached, false);
                body.extend_from_slice(b",\"Key\":");
                open_key(body, key);
                body.push(b'}');
                projection(body, attached, select);
                body.extend_from_slice(b"}}");
            }
            if body.len() == start {
                continue;
            }
            body.extend_from_slice(b"]}");
            let answer = self.calls.send().await?;
            let answers = json::at(answer, ["Responses"]).ok_or_else(|| malformed("it has no responses"))?;
            // Of a missing document the answer is empty.
            for item in Elements::of(answers).filter_map(|one| json::at(one, ["Item"])) {
                fill(&mut self.found, item, select, attached, &mut self.text)?;
                each(&self.found);
                seen += 1;
            }
        }
        Ok(seen)
    }

    async fn begin_together(&mut self, action: Action) -> Result<(), OpError> {
        let body = self.calls.begin(action).await?;
        body.extend_from_slice(b"{\"TransactItems\":[");
        Ok(())
    }
}

/// Whether a part of a batch was not carried out, and which.
#[inline]
fn rest(answer: &[u8], name: &str, next: &mut Vec<u8>) -> bool {
    next.clear();
    let left = json::at(answer, [name]).unwrap_or_default();
    if json::Members::of(left).next().is_none() {
        return false;
    }
    next.extend_from_slice(left);
    true
}
