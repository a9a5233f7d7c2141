//! Documents as requests: an operation is one of them, but for a write that has to learn a revision first, and for results of
//! several pages.
use super::errors::{exists, failed, gone, no_object};
use super::json::{push_id, push_with_id};
use super::session::{Attached, CouchdbSession, is_of_document, list, push_number, written};
use crate::server::errors::malformed;
use crate::server::http::escape;
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch, Select,
};
use bakeoff_model::json::{Elements, at, write_text};
use bakeoff_model::json_patches::{Patches, push_patched};
use bakeoff_model::outcome::OpError;
use std::hash::{BuildHasher, Hasher, RandomState};

/// By which the control plane knows databases that this driver has made. Nothing lists or counts such a document.
const MARK: &str = "_local/bakeoff";

impl CouchdbSession {
    async fn ask_well(
        &mut self,
        method: &str,
        path: &str,
        body: &[u8],
        what: &'static str,
    ) -> Result<(), OpError> {
        match self.ask(method, path, Some(body)).await? {
            200..=202 => Ok(()),
            status => Err(failed(status, self.http.answer(), what)),
        }
    }

    /// At the revision that was read.
    async fn write_again(&mut self, collection: Collection, document: Keyed<'_>) -> Result<(), OpError> {
        let revision = std::mem::take(&mut self.revision);
        let done = self
            .write(collection, document.key, document.json, Some(&revision))
            .await;
        self.revision = revision;
        done
    }

    async fn remove_at(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: &[u8],
    ) -> Result<Option<u64>, OpError> {
        let status = self.remove(collection, key, revision).await?;
        let answer = self.http.answer();
        match status {
            404 if is_of_document(answer) => Err(gone("DELETE document")),
            _ => written(status, answer, "DELETE document").map(|()| Some(1)),
        }
    }

    /// One page of the documents in key order, and how many rows were asked for. `self.next`: the first key, as JSON.
    async fn ask_rows(
        &mut self,
        collection: Collection,
        rows: u32,
        skipped: bool,
        select: Select<'_>,
    ) -> Result<(), OpError> {
        let Self {
            http,
            collections,
            next,
            ..
        } = self;
        let template = &collections[collection.0 as usize].rows;
        let request = http.begin(template).await?;
        request.extend_from_slice(b"limit=");
        push_number(rows.into(), request);
        if !next.is_empty() {
            request.extend_from_slice(b"&startkey=");
            escape(request, next);
        }
        if skipped {
            request.extend_from_slice(b"&skip=1");
        }
        if select != Select::Key {
            request.extend_from_slice(b"&include_docs=true");
        }
        http.fields(template)?;
        match http.exchange_of_read().await? {
            200 => Ok(()),
            status => Err(failed(status, http.answer(), "GET _all_docs").of_read()),
        }
    }

    /// One page of what a selector finds, behind `seen` documents. `self.next`: where the server says that it goes on.
    async fn ask_find(
        &mut self,
        collection: Collection,
        conditions: &[Condition<'_>],
        select: Select<'_>,
        limit: u32,
        seen: u64,
    ) -> Result<(), OpError> {
        let Self {
            http,
            collections,
            next,
            ..
        } = self;
        let attached = &collections[collection.0 as usize];
        let request = http.begin_body(&attached.find).await?;
        attached.push_selector(conditions, request);
        attached.push_fields(select, limit, request);
        if !next.is_empty() {
            request.extend_from_slice(b",\"bookmark\":");
            request.extend_from_slice(next);
        } else if seen > 0 {
            request.extend_from_slice(b",\"skip\":");
            push_number(seen, request);
        }
        request.push(b'}');
        match http.exchange_of_read().await? {
            200 => Ok(()),
            status => Err(failed(status, http.answer(), "POST _find").of_read()),
        }
    }
}

/// What the server says of one document of a batch.
#[cold]
fn failed_within(answer: &[u8]) -> OpError {
    let code = at(answer, ["error"]).unwrap_or_default();
    let status = match code {
        b"\"conflict\"" => 409,
        b"\"unauthorized\"" => 401,
        b"\"forbidden\"" => 403,
        b"\"doc_validation\"" | b"\"illegal_docid\"" => 400,
        _ => 500,
    };
    exists(failed(status, answer, "POST _bulk_docs"))
}

/// One that no other database has.
fn new_mark() -> String {
    let [one, other] = [RandomState::new(), RandomState::new()].map(|state| state.build_hasher().finish());
    format!("{{\"made\":\"{one:016x}{other:016x}\"}}")
}

impl DocumentSession for CouchdbSession {
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        let attached: Result<Vec<Attached>, OpError> =
            collections.iter().map(|spec| self.attached(spec)).collect();
        self.collections = attached?;
        Ok(())
    }

    /// A server builds an index when it is first asked by it.
    async fn prepare(&mut self, collection: Collection, uses: &[DocumentUse<'_>]) -> Result<(), OpError> {
        self.count(collection, &[]).await?;
        let finds = |used: &DocumentUse<'_>| matches!(used, DocumentUse::Find { .. } | DocumentUse::Count(_));
        if !uses.iter().any(finds) {
            return Ok(());
        }
        let attached = &self.collections[collection.0 as usize];
        let all: Vec<Condition<'_>> = attached.indexed.iter().map(|path| attached.any(*path)).collect();
        for any in all {
            self.next.clear();
            self.ask_find(collection, &[any], Select::Key, 1, 0).await?;
        }
        Ok(())
    }

    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let database = self.database(collection)?;
        let path = match &*self.create_query {
            "" => database.clone(),
            query => format!("{database}?{query}"),
        };
        self.ask_well("PUT", &path, b"", "PUT database").await?;
        let marked = format!("{database}/{MARK}");
        self.ask_well("PUT", &marked, new_mark().as_bytes(), "PUT mark")
            .await?;
        for path in collection.paths.iter().filter(|path| path.indexed) {
            let mut index = b"{\"type\":\"json\",\"ddoc\":\"bakeoff\",\"name\":".to_vec();
            write_text(path.steps.join(".").as_bytes(), &mut index);
            index.extend_from_slice(b",\"index\":{\"fields\":[");
            write_text(path.steps.join(".").as_bytes(), &mut index);
            index.extend_from_slice(b"]}}");
            self.ask_well("POST", &format!("{database}/_index"), &index, "POST _index")
                .await?;
        }
        Ok(())
    }

    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let database = self.database(collection)?;
        match self.ask("DELETE", &database, None).await? {
            200 | 202 | 404 => Ok(()),
            status => Err(failed(status, self.http.answer(), "DELETE database")),
        }
    }

    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError> {
        let database = self.database(collection)?;
        match self.ask("GET", &database, None).await? {
            200 => Ok(true),
            404 => Ok(false),
            status => Err(failed(status, self.http.answer(), "GET database")),
        }
    }

    #[inline]
    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        if !self.read(collection, key).await? {
            return Ok(None);
        }
        let attached = &self.collections[collection.0 as usize];
        attached.fill(&mut self.found, &mut self.text, self.http.answer(), select);
        Ok(Some(&self.found))
    }

    async fn get_batch(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let Self {
            http,
            collections,
            found,
            text,
            ..
        } = self;
        let attached = &collections[collection.0 as usize];
        let template = match select {
            Select::Key => &attached.keys,
            _ => &attached.rows_of_keys,
        };
        let request = http.begin_body(template).await?;
        request.extend_from_slice(b"{\"keys\":[");
        for (number, key) in keys.iter().enumerate() {
            if number > 0 {
                request.push(b',');
            }
            push_id(key, request);
        }
        request.extend_from_slice(b"]}");
        let status = http.exchange_of_read().await?;
        if status != 200 {
            return Err(failed(status, http.answer(), "POST _all_docs").of_read());
        }
        let mut seen = 0;
        for row in list(http.answer(), "rows")? {
            if attached.fill_row(found, text, row, select) {
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
        let Keyed { key, json } = document;
        match expect {
            Expect::Absent => self.write(collection, key, json, None).await.map_err(exists)?,
            Expect::Revision(revision) => self.write(collection, key, json, Some(revision)).await?,
            Expect::Anything | Expect::Present => match self.read_revision(collection, key).await? {
                true => self.write_again(collection, document).await?,
                false if expect == Expect::Present => return Ok(Some(0)),
                false => self.write(collection, key, json, None).await?,
            },
        }
        Ok(Some(1))
    }

    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        if documents.is_empty() {
            return Ok(0);
        }
        let Self {
            http,
            collections,
            write_query,
            ..
        } = self;
        let template = &collections[collection.0 as usize].bulk;
        push_query(http.begin(template).await?, write_query);
        http.fields(template)?;
        let request = http.body()?;
        request.extend_from_slice(b"{\"docs\":[");
        for (number, document) in documents.iter().enumerate() {
            if number > 0 {
                request.push(b',');
            }
            if !push_with_id(document.key, document.json, request) {
                return Err(no_object());
            }
        }
        request.extend_from_slice(b"]}");
        let status = http.exchange().await?;
        let answer = http.answer();
        written(status, answer, "POST _bulk_docs")?;
        let mut stored = 0;
        for one in Elements::of(answer) {
            if at(one, ["error"]).is_some() {
                return Err(failed_within(one));
            }
            stored += 1;
        }
        match stored == documents.len() as u64 {
            true => Ok(stored),
            false => Err(malformed("a batch with another number of documents")),
        }
    }

    #[inline]
    async fn patch(
        &mut self,
        collection: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        if !self.read(collection, key).await? {
            return Ok(Some(0));
        }
        self.keep_revision()?;
        let mut json = std::mem::take(&mut self.document);
        json.clear();
        let steps = &self.collections[collection.0 as usize].steps;
        let patches = Patches {
            values,
            steps,
            stays: |name| !name.starts_with(b"_"), // what does is the server's
        };
        push_patched(self.http.answer(), patches, &mut json);
        let done = self.write_again(collection, Keyed { key, json: &json }).await;
        self.document = json;
        done.map(|()| Some(1))
    }

    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError> {
        if let Some(revision) = revision {
            return self.remove_at(collection, key, revision).await;
        }
        if !self.read_revision(collection, key).await? {
            return Ok(Some(0));
        }
        let revision = std::mem::take(&mut self.revision);
        let done = self.remove_at(collection, key, &revision).await;
        self.revision = revision;
        done
    }

    async fn find(
        &mut self,
        collection: Collection,
        conditions: &[Condition<'_>],
        select: Select<'_>,
        limit: Option<u32>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let limit = limit.map_or(u64::MAX, u64::from);
        let mut seen = 0;
        self.next.clear();
        while seen < limit {
            let page = (limit - seen).min(self.page_size.into());
            self.ask_find(collection, conditions, select, page as u32, seen)
                .await?;
            let Self {
                http,
                collections,
                found,
                text,
                next,
                ..
            } = self;
            let attached = &collections[collection.0 as usize];
            let before = seen;
            for document in list(http.answer(), "docs")? {
                attached.fill(found, text, document, select);
                each(found);
                seen += 1;
            }
            next.clear();
            next.extend_from_slice(at(http.answer(), ["bookmark"]).unwrap_or_default());
            if seen - before < page || next == b"\"nil\"" {
                break;
            }
        }
        Ok(seen)
    }

    /// By the number of all that is in the database, without the server's own. By conditions every key is counted here: the
    /// server has no count for a selector.
    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        if !conditions.is_empty() {
            return self
                .find(collection, conditions, Select::Key, None, &mut |_| {})
                .await;
        }
        let Self {
            http, collections, ..
        } = self;
        let template = &collections[collection.0 as usize].rows;
        let request = http.begin(template).await?;
        request.extend_from_slice(b"startkey=%22_design%2F%22&endkey=%22_design0%22");
        http.fields(template)?;
        let status = http.exchange_of_read().await?;
        let answer = http.answer();
        if status != 200 {
            return Err(failed(status, answer, "GET _all_docs").of_read());
        }
        let total =
            at(answer, ["total_rows"]).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let total: u64 = total.ok_or_else(|| malformed("no number of rows"))?;
        Ok(total.saturating_sub(list(answer, "rows")?.count() as u64))
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
        let (mut seen, mut skipped) = (0, false);
        self.next.clear();
        if !start.is_empty() {
            push_id(start, &mut self.next);
        }
        while seen < limit {
            // Indexes are in a document that may lie in between.
            let own = u64::from(!self.collections[collection.0 as usize].indexed.is_empty());
            let rows = (limit - seen).min(self.page_size.into()) + own;
            self.ask_rows(collection, rows as u32, skipped, select).await?;
            let Self {
                http,
                collections,
                found,
                text,
                next,
                ..
            } = self;
            let attached = &collections[collection.0 as usize];
            let (mut came, mut last) = (0, None);
            for row in list(http.answer(), "rows")? {
                came += 1;
                last = Some(row);
                if seen < limit && attached.fill_row(found, text, row, select) {
                    each(found);
                    seen += 1;
                }
            }
            let last = last.and_then(|row| at(row, ["id"]));
            let Some(last) = last.filter(|_| came == rows) else {
                break;
            };
            next.clear();
            next.extend_from_slice(last);
            skipped = true;
        }
        Ok(seen)
    }
}

fn push_query(request: &mut Vec<u8>, query: &[u8]) {
    if !query.is_empty() {
        request.push(b'?');
        request.extend_from_slice(query);
    }
}
