//! Documents as commands: each operation is one request and its answer, but for results of several batches.
use super::bson::{self, Bson, close, open_array, open_document};
use super::commands::{Does, State};
use super::errors::{DUPLICATE_KEY, NAMESPACE_NOT_FOUND, changed};
use super::json;
use super::message::{end_sequence, sequence, written};
use super::session::{Attached, Batch, MongodbSession, dotted, fill, filter, project};
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch, Select,
};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::transaction::Transactional;

/// Of a message, for what is not its documents.
const HEAD_BYTES_MAX: usize = 16 << 10;

fn named(command: &'static str) -> impl FnOnce(OpError) -> OpError {
    move |error| error.with_statement(command)
}

impl MongodbSession {
    /// Sends a command of a write, and how many documents it found or inserted.
    #[inline]
    async fn write(&mut self, command: &'static str) -> Result<u64, OpError> {
        match self.wire.ask().await {
            Ok(()) => written(self.wire.answer()),
            Err(error) => Err(error),
        }
        .map_err(named(command))
    }

    /// The same of one that changes existing documents. Of none, whether that is because there is no collection.
    #[inline]
    async fn change(&mut self, command: &'static str, collection: Collection) -> Result<u64, OpError> {
        let count = self.write(command).await?;
        if count == 0 {
            self.refuse_without(collection).await?;
        }
        Ok(count)
    }

    /// Nothing is asked of a collection that is known to be gone: MongoDB makes it again by a write, and some servers by less.
    #[inline]
    async fn refuse_missing(&mut self, collection: Collection) -> Result<(), OpError> {
        match self.collections[collection.0 as usize].is_missing {
            true => self.refuse_without(collection).await,
            false => Ok(()),
        }
    }

    /// Begins the only update of a command: documents of this key, and at this revision.
    #[inline]
    fn update(&mut self, collection: Collection, key: &[u8], revision: Option<i64>) -> Update {
        let (_, body) = self.command(b"update\0", collection);
        self.conclude(body, Does::Writes);
        let request = self.wire.request();
        let sequence = sequence(request, b"updates\0");
        let statement = bson::open(request);
        select_by(request, key, revision);
        Update { sequence, statement }
    }

    /// Sends a command whose result has batches, and hands over what is in them. Documents seen.
    async fn read(
        &mut self,
        command: &'static str,
        collection: Collection,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        self.wire.ask().await.map_err(named(command))?;
        let mut seen = 0;
        loop {
            let Self {
                wire,
                collections,
                found,
                ..
            } = self;
            let paths = &collections[collection.0 as usize].paths;
            let batch = Batch::read(wire.answer()).map_err(named(command))?;
            let mut all = bson::elements(batch.documents)?;
            while let Some((_, one)) = all.next()? {
                if let Bson::Document(document) = one {
                    fill(found, document, select, paths)?;
                    each(found);
                    seen += 1;
                }
            }
            let cursor = batch.cursor;
            if cursor == 0 {
                return Ok(seen);
            }
            self.get_more(cursor, collection);
            self.wire.ask().await.map_err(named("getMore"))?;
        }
    }

    fn get_more(&mut self, cursor: i64, collection: Collection) {
        let Self {
            wire,
            collections,
            batch_size,
            ..
        } = self;
        let (request, body) = wire.begin();
        bson::int64(request, b"getMore\0", cursor);
        bson::text(request, b"collection\0", &collections[collection.0 as usize].name);
        bson::int32(request, b"batchSize\0", *batch_size as i32);
        self.conclude(body, Does::Neither);
    }

    /// Ends a `find` of which several documents may come.
    #[inline]
    fn conclude_find(&mut self, body: super::message::Body, limit: Option<u32>) {
        let batch_size = self.batch_size.min(limit.unwrap_or(u32::MAX));
        let request = self.wire.request();
        if let Some(limit) = limit {
            bson::int64(request, b"limit\0", limit.into());
        }
        bson::int32(request, b"batchSize\0", batch_size as i32);
        self.conclude(body, Does::Reads);
    }

    /// In one request, as far as the server takes them.
    async fn insert(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        let mut left = documents;
        let mut stored = 0;
        while !left.is_empty() {
            let (_, body) = self.command(b"insert\0", collection);
            self.conclude(body, Does::Writes);
            let start = sequence(self.wire.request(), b"documents\0");
            let most = left.len().min(self.limits.batch_documents);
            let bytes_max = self.limits.message_bytes - HEAD_BYTES_MAX;
            let mut taken = 0;
            for document in &left[..most] {
                let revision = self.next_revision();
                let request = self.wire.request();
                let before = request.len();
                let inner = bson::open(request);
                bson::text(request, b"_id\0", document.key);
                bson::int64(request, b"#rev\0", revision);
                json::append(request, document.json)?;
                close(request, inner);
                if request.len() > bytes_max && taken > 0 {
                    request.truncate(before);
                    break;
                }
                taken += 1;
            }
            end_sequence(self.wire.request(), start);
            stored += self.write("insert").await?;
            left = &left[taken..];
        }
        Ok(stored)
    }
}

/// An update that is being written.
struct Update {
    sequence: usize,
    statement: usize,
}

impl Update {
    #[inline]
    fn end(self, request: &mut Vec<u8>) {
        close(request, self.statement);
        end_sequence(request, self.sequence);
    }
}

/// `q`, of an update and of a delete.
#[inline]
fn select_by(request: &mut Vec<u8>, key: &[u8], revision: Option<i64>) {
    let query = open_document(request, b"q\0");
    bson::text(request, b"_id\0", key);
    if let Some(revision) = revision {
        bson::int64(request, b"#rev\0", revision);
    }
    close(request, query);
}

/// As it was read. Errors: it is none of this driver's.
#[inline]
fn number(revision: &[u8]) -> Result<i64, OpError> {
    match <[u8; 8]>::try_from(revision) {
        Ok(bytes) => Ok(i64::from_le_bytes(bytes)),
        Err(_) => Err(changed()),
    }
}

impl DocumentSession for MongodbSession {
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        self.collections = collections.iter().map(Attached::new).collect();
        Ok(())
    }

    /// There is nothing to prepare but to know that it is there.
    async fn prepare(&mut self, collection: Collection, _uses: &[DocumentUse<'_>]) -> Result<(), OpError> {
        self.refuse_without(collection).await
    }

    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let (request, body) = self.wire.begin();
        bson::text(request, b"create\0", collection.name.as_bytes());
        self.conclude(body, Does::Writes);
        self.wire.carry_out().await.map_err(named("create"))?;
        let indexed: Vec<_> = collection.paths.iter().filter(|path| path.indexed).collect();
        if indexed.is_empty() {
            return Ok(());
        }
        let (request, body) = self.wire.begin();
        bson::text(request, b"createIndexes\0", collection.name.as_bytes());
        let list = open_array(request, b"indexes\0");
        for (place, path) in indexed.into_iter().enumerate() {
            let path = dotted(&path.steps);
            request.push(bson::DOCUMENT);
            json::number_name(request, place);
            let index = bson::open(request);
            let key = open_document(request, b"key\0");
            bson::int32(request, &path, 1);
            close(request, key);
            bson::text(request, b"name\0", &path[..path.len() - 1]);
            close(request, index);
        }
        close(request, list);
        self.conclude(body, Does::Writes);
        self.wire.carry_out().await.map_err(named("createIndexes"))
    }

    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let (request, body) = self.wire.begin();
        bson::text(request, b"drop\0", collection.name.as_bytes());
        self.conclude(body, Does::Writes);
        match self.wire.carry_out().await {
            // Of the second there is no code, from some servers.
            Err(error) if error.code == NAMESPACE_NOT_FOUND || error.message == "ns not found" => Ok(()),
            dropped => dropped.map_err(named("drop")),
        }
    }

    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError> {
        self.has(collection.name.as_bytes()).await
    }

    #[inline]
    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        self.refuse_missing(collection).await?;
        let Self {
            wire,
            context,
            collections,
            ..
        } = self;
        let attached = &collections[collection.0 as usize];
        let (request, body) = wire.begin();
        bson::text(request, b"find\0", &attached.name);
        let by_key = open_document(request, b"filter\0");
        bson::text(request, b"_id\0", key);
        close(request, by_key);
        project(request, select, &attached.paths);
        bson::int32(request, b"limit\0", 1);
        bson::bool(request, b"singleBatch\0", true);
        context.conclude(request, Does::Reads);
        super::message::end(request, body);
        self.wire.ask().await.map_err(named("find"))?;
        let Self {
            wire,
            collections,
            found,
            ..
        } = self;
        let batch = Batch::read(wire.answer()).map_err(named("find"))?;
        let Some((_, Bson::Document(document))) = bson::elements(batch.documents)?.next()? else {
            self.refuse_without(collection).await?;
            return Ok(None);
        };
        fill(found, document, select, &collections[collection.0 as usize].paths)?;
        Ok(Some(&self.found))
    }

    async fn get_batch(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        if keys.is_empty() {
            return Ok(0);
        }
        self.refuse_missing(collection).await?;
        let (request, body) = self.command(b"find\0", collection);
        let by_key = open_document(request, b"filter\0");
        let among = open_document(request, b"_id\0");
        let list = open_array(request, b"$in\0");
        for (place, key) in keys.iter().enumerate() {
            request.push(bson::A_TEXT);
            json::number_name(request, place);
            bson::bare_text(request, key);
        }
        close(request, list);
        close(request, among);
        close(request, by_key);
        self.project(collection, select);
        self.conclude_find(body, None);
        let seen = self.read("find", collection, select, each).await?;
        if seen == 0 {
            self.refuse_without(collection).await?;
        }
        Ok(seen)
    }

    #[inline]
    async fn put(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
        expect: Expect<'_>,
    ) -> Result<Option<u64>, OpError> {
        self.refuse_missing(collection).await?;
        let (at, upsert) = match expect {
            Expect::Absent => return self.insert(collection, &[document]).await.map(Some),
            Expect::Anything => (None, true),
            Expect::Present => (None, false),
            Expect::Revision(revision) => (Some(number(revision)?), false),
        };
        let revision = self.next_revision();
        let update = self.update(collection, document.key, at);
        let request = self.wire.request();
        let whole = open_document(request, b"u\0");
        bson::int64(request, b"#rev\0", revision);
        json::append(request, document.json)?;
        close(request, whole);
        if upsert {
            bson::bool(request, b"upsert\0", true);
        }
        update.end(request);
        let stored = match self.change("update", collection).await {
            // Somebody inserted it in between.
            Err(mut error) if upsert && error.code == DUPLICATE_KEY => {
                error.outcome = Outcome::Fail(FailClass::Conflict);
                Err(error)
            }
            stored => stored,
        }?;
        match (stored, at) {
            (0, Some(_)) => Err(changed().with_statement("update")),
            _ => Ok(Some(stored)),
        }
    }

    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        self.refuse_missing(collection).await?;
        if !self.transactions || self.context.state != State::Outside {
            return self.insert(collection, documents).await;
        }
        self.begin(Default::default()).await?;
        let stored = self.insert(collection, documents).await;
        self.end(stored).await
    }

    #[inline]
    async fn patch(
        &mut self,
        collection: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        self.refuse_missing(collection).await?;
        let revision = self.next_revision();
        let update = self.update(collection, key, None);
        let Self {
            wire, collections, ..
        } = self;
        let paths = &collections[collection.0 as usize].paths;
        let request = wire.request();
        let operators = open_document(request, b"u\0");
        let set = open_document(request, b"$set\0");
        bson::int64(request, b"#rev\0", revision);
        for patch in values {
            bson::value(request, &paths[patch.path as usize].dotted, patch.value)?;
        }
        close(request, set);
        close(request, operators);
        update.end(request);
        self.change("update", collection).await.map(Some)
    }

    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError> {
        let at = revision.map(number).transpose()?;
        self.refuse_missing(collection).await?;
        let (_, body) = self.command(b"delete\0", collection);
        self.conclude(body, Does::Writes);
        let request = self.wire.request();
        let start = sequence(request, b"deletes\0");
        let statement = bson::open(request);
        select_by(request, key, at);
        bson::int32(request, b"limit\0", 1);
        close(request, statement);
        end_sequence(request, start);
        match (self.change("delete", collection).await?, at) {
            (0, Some(_)) => Err(changed().with_statement("delete")),
            (deleted, _) => Ok(Some(deleted)),
        }
    }

    async fn find(
        &mut self,
        collection: Collection,
        conditions: &[Condition<'_>],
        select: Select<'_>,
        limit: Option<u32>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        if limit == Some(0) {
            return Ok(0); // which the server takes for no limit
        }
        self.refuse_missing(collection).await?;
        let (_, body) = self.command(b"find\0", collection);
        let Self {
            wire, collections, ..
        } = self;
        let paths = &collections[collection.0 as usize].paths;
        filter(wire.request(), b"filter\0", conditions, paths)?;
        self.project(collection, select);
        self.conclude_find(body, limit);
        let seen = self.read("find", collection, select, each).await?;
        if seen == 0 {
            self.refuse_without(collection).await?;
        }
        Ok(seen)
    }

    /// Each is counted: the server's own sum may be wrong after a crash, and on shards.
    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        self.refuse_missing(collection).await?;
        let (_, body) = self.command(b"aggregate\0", collection);
        let Self {
            wire, collections, ..
        } = self;
        let paths = &collections[collection.0 as usize].paths;
        let request = wire.request();
        let pipeline = open_array(request, b"pipeline\0");
        let stage = open_document(request, b"0\0");
        filter(request, b"$match\0", conditions, paths)?;
        close(request, stage);
        let stage = open_document(request, b"1\0");
        let group = open_document(request, b"$group\0");
        bson::int32(request, b"_id\0", 1);
        let sum = open_document(request, b"n\0");
        bson::int32(request, b"$sum\0", 1);
        close(request, sum);
        close(request, group);
        close(request, stage);
        close(request, pipeline);
        let cursor = open_document(request, b"cursor\0");
        close(request, cursor);
        self.conclude(body, Does::Reads);
        self.wire.ask().await.map_err(named("aggregate"))?;
        let batch = Batch::read(self.wire.answer()).map_err(named("aggregate"))?;
        if let Some((_, Bson::Document(group))) = bson::elements(batch.documents)?.next()? {
            let count = bson::member(group, b"n")?.and_then(Bson::whole_number);
            return Ok(count.unwrap_or_default() as u64);
        }
        self.refuse_without(collection).await?;
        Ok(0)
    }

    async fn range(
        &mut self,
        collection: Collection,
        start: &[u8],
        limit: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        if limit == Some(0) {
            return Ok(0);
        }
        self.refuse_missing(collection).await?;
        let (request, body) = self.command(b"find\0", collection);
        let by_key = open_document(request, b"filter\0");
        let from = open_document(request, b"_id\0");
        bson::text(request, b"$gte\0", start);
        close(request, from);
        close(request, by_key);
        let order = open_document(request, b"sort\0");
        bson::int32(request, b"_id\0", 1);
        close(request, order);
        self.project(collection, select);
        self.conclude_find(body, limit);
        let seen = self.read("find", collection, select, each).await?;
        if seen == 0 {
            self.refuse_without(collection).await?;
        }
        Ok(seen)
    }
}

impl MongodbSession {
    #[inline]
    fn project(&mut self, collection: Collection, select: Select<'_>) {
        let Self {
            wire, collections, ..
        } = self;
        project(wire.request(), select, &collections[collection.0 as usize].paths);
    }
}
