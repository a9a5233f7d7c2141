//! Documents as objects.
use super::requests::{
    Attached, MARK, RiakSession, SCAN_KEYS_MAX, client, failed, is_of_object, push_object,
};
use crate::server::http::escape;
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Found, Keyed, Patch, Select,
};
use bakeoff_model::json_patches::{Patches, push_patched};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::transaction::Transactional;
use std::hash::{BuildHasher, Hasher, RandomState};

impl Transactional for RiakSession {}

impl DocumentSession for RiakSession {
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        let attached: Result<Vec<Attached>, OpError> =
            collections.iter().map(|spec| self.attached(spec)).collect();
        self.collections = attached?;
        Ok(())
    }

    /// A bucket is there once something is in it.
    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let [one, other] =
            [RandomState::new(), RandomState::new()].map(|state| state.build_hasher().finish());
        let mark = format!("{{\"made\":\"{one:016x}{other:016x}\"}}");
        let path = format!("{}/keys/{MARK}", self.bucket(collection)?);
        let field = "If-None-Match: *\r\n";
        match self.ask("PUT", &path, field, Some(mark.as_bytes())).await? {
            200 | 201 | 204 => Ok(()),
            412 => Err(client("bakeoff has begun such a bucket before")),
            status => Err(failed(status, self.http.answer(), "PUT mark")),
        }
    }

    /// A bucket has no end but that of its objects. One without the mark is not ours.
    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        if !self.collection_exists(collection).await? {
            return Ok(());
        }
        let bucket = self.bucket(collection)?;
        match self
            .ask("GET", &format!("{bucket}/keys?keys=true"), "", None)
            .await?
        {
            200 => self.keep_keys()?,
            status => return Err(failed(status, self.http.answer(), "GET keys")),
        }
        let (keys, ends) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.ends));
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let listed = starts.zip(&ends).filter_map(|(start, end)| keys.get(start..*end));
        for key in listed.chain([MARK.as_bytes()]) {
            let mut path = format!("{bucket}/keys/").into_bytes();
            escape(&mut path, key);
            let path = String::from_utf8_lossy(&path).into_owned();
            match self.ask("DELETE", &path, "", None).await? {
                200..=204 | 404 => {}
                status => return Err(failed(status, self.http.answer(), "DELETE object")),
            }
        }
        Ok(())
    }

    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError> {
        let path = format!("{}/keys/{MARK}", self.bucket(collection)?);
        match self.ask("GET", &path, "", None).await? {
            200 | 300 => Ok(true),
            404 if is_of_object(self.http.answer()) => Ok(false),
            status => Err(failed(status, self.http.answer(), "GET mark")),
        }
    }

    #[inline]
    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        let Some(value) = self.read(collection, key).await? else {
            return Ok(None);
        };
        let Self {
            http,
            collections,
            found,
            text,
            ..
        } = self;
        let collection = &collections[collection.0 as usize];
        collection.fill(found, text, key, &http.answer()[value], select);
        Ok(Some(found))
    }

    async fn get_batch(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let mut seen = 0;
        for key in keys {
            if let Some(found) = self.get(collection, key, select).await? {
                each(found);
                seen += 1;
            }
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
        match expect {
            Expect::Absent => {
                let written = self.write(collection, document, b"If-None-Match: *", b"").await;
                written.map_err(|mut error| {
                    if error.outcome == Outcome::Fail(FailClass::Conflict) {
                        error.outcome = Outcome::Fail(FailClass::Constraint);
                    }
                    error
                })?;
            }
            Expect::Anything | Expect::Present => {
                let is_there = self.read_clock(collection, document.key).await?;
                if !is_there && expect == Expect::Present {
                    return Ok(Some(0));
                }
                self.write_over(collection, document).await?;
            }
            Expect::Revision(_) => return Err(client("Riak refuses no write because of a revision")),
        }
        Ok(Some(1))
    }

    /// One after the other, without reading versions first: they are new.
    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        for document in documents {
            self.write(collection, *document, b"", b"").await?;
        }
        Ok(documents.len() as u64)
    }

    async fn patch(
        &mut self,
        collection: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        let Some(value) = self.read(collection, key).await? else {
            return Ok(Some(0));
        };
        self.keep_clock()?;
        let mut json = std::mem::take(&mut self.document);
        json.clear();
        let patches = Patches {
            values,
            steps: &self.collections[collection.0 as usize].steps,
            stays: |_| true,
        };
        push_patched(&self.http.answer()[value], patches, &mut json);
        let done = self.write_over(collection, Keyed { key, json: &json }).await;
        self.document = json;
        done.map(|()| Some(1))
    }

    /// The server itself looks which version there is.
    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError> {
        if revision.is_some() {
            return Err(client("Riak refuses no delete because of a revision"));
        }
        let Self {
            http,
            collections,
            of_writes,
            ..
        } = self;
        let delete = &collections[collection.0 as usize].delete;
        push_object(http.begin(delete).await?, key, of_writes);
        http.fields(delete)?;
        match http.exchange().await? {
            200..=204 => Ok(Some(1)),
            404 if is_of_object(http.answer()) => Ok(Some(0)),
            status => Err(failed(status, http.answer(), "DELETE object")),
        }
    }

    async fn find(
        &mut self,
        _collection: Collection,
        _conditions: &[Condition<'_>],
        _select: Select<'_>,
        _limit: Option<u32>,
        _each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        Err(client("Riak finds no document by what is in it"))
    }

    /// Of keys that are listed: those of objects that were deleted a moment ago may be among them.
    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        if !conditions.is_empty() {
            return Err(client("Riak finds no document by what is in it"));
        }
        self.list(collection).await?;
        Ok(self.ends.len() as u64)
    }

    async fn range(
        &mut self,
        collection: Collection,
        start: &[u8],
        limit: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let limit = limit.map_or(u64::MAX, u64::from);
        if !self.indexes {
            if !start.is_empty() {
                return Err(client("without `secondary_indexes` keys have no order"));
            }
            self.list(collection).await?;
            return self.read_listed(collection, limit, select, each).await;
        }
        let mut seen = 0;
        self.next.clear();
        while seen < limit {
            let most = (limit - seen).min(SCAN_KEYS_MAX.into()) as u32;
            self.list_from(collection, start, most).await?;
            seen += self.read_listed(collection, limit - seen, select, each).await?;
            if self.next.is_empty() {
                break;
            }
        }
        Ok(seen)
    }
}
