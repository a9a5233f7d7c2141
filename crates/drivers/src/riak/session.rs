//! Documents as objects. Per operation nothing is allocated: requests are written into the connection's buffer, and answers are
//! read where they were received.
use super::siblings::latest;
use super::{RiakSpec, Siblings};
use crate::server::digits::digits;
use crate::server::errors::malformed;
use crate::server::http::{Http, Route, Template, escape};
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Found, Keyed, Patch, PathKind, Select,
};
use bakeoff_model::json::{Elements, at, push_cell, unescape};
use bakeoff_model::json_patches::{Patches, push_patched};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::transaction::Transactional;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

/// As the control plane has it. Keys are letters, digits, `-` and `_`, all of which come before it.
const MARK: &str = "~bakeoff";
/// The least key there can be, and one that is above all.
const FIRST: &[u8] = b"-";
const ABOVE: &str = "~";
/// Keys that a scan asks for at a time.
const SCAN_KEYS_MAX: u32 = 500;
const CLOCK: &str = "x-riak-vclock";

pub struct RiakSession {
    http: Http,
    route: Arc<Route>,
    authorization: Option<String>,
    /// `/types/T/buckets/PREFIX`
    base: String,
    of_reads: Vec<u8>,
    of_writes: Vec<u8>,
    fails: bool,
    indexes: bool,
    collections: Vec<Attached>,
    found: Found,
    text: Vec<u8>,
    /// The version of the object that was read.
    clock: Vec<u8>,
    document: Vec<u8>,
    /// That were listed, laid end to end.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// Where a list of keys goes on.
    next: Vec<u8>,
}

struct Attached {
    steps: Vec<Vec<Vec<u8>>>,
    kinds: Vec<PathKind>,
    get: Template,
    head: Template,
    put: Template,
    delete: Template,
    keys: Template,
    index: Template,
}

impl Attached {
    fn fill(&self, found: &mut Found, text: &mut Vec<u8>, key: &[u8], document: &[u8], select: Select<'_>) {
        found.clear();
        found.key.extend_from_slice(key);
        match select {
            Select::Whole => found.json.extend_from_slice(document),
            Select::Paths(selected) => {
                for path in selected {
                    let path = *path as usize;
                    let value = at(document, &self.steps[path]);
                    push_cell(value, self.kinds[path], text, &mut found.cells);
                }
            }
            Select::Key => {}
        }
    }
}

/// An answer that is no success. A write of which too few copies told may have been taken by others.
#[cold]
fn failed(status: u16, answer: &[u8], what: &'static str) -> OpError {
    let outcome = match status {
        412 => Outcome::Fail(FailClass::Conflict),
        413 => Outcome::Fail(FailClass::Constraint),
        429 => Outcome::Fail(FailClass::Overload),
        300..=499 => Outcome::Fail(FailClass::Refused),
        _ => Outcome::Unknown,
    };
    let words = String::from_utf8_lossy(&answer[..answer.len().min(300)]);
    OpError::new(outcome, false, format!("HTTP {status}"), words.trim()).with_statement(what)
}

#[cold]
fn client(what: &str) -> OpError {
    OpError::fail(FailClass::Refused, "CLIENT", what)
}

#[cold]
fn has_siblings(what: &'static str) -> OpError {
    let message = "the object has several values (siblings)";
    OpError::fail(FailClass::Conflict, "HTTP 300", message).with_statement(what)
}

/// Of an object, not of a bucket type.
fn is_of_object(answer: &[u8]) -> bool {
    answer.is_empty() || answer.starts_with(b"not found")
}

fn is_mark(key: &[u8]) -> bool {
    key == MARK.as_bytes()
}

#[inline]
fn push_object(request: &mut Vec<u8>, key: &[u8], query: &[u8]) {
    escape(request, key);
    request.extend_from_slice(query);
}

impl RiakSession {
    /// Finds out whether it is a Riak server. Errors: it is none, or refuses this account.
    pub(super) async fn greet(http: Http, route: &Arc<Route>, spec: &RiakSpec) -> Result<Self, OpError> {
        let of_type = spec.bucket_type.as_ref().map(|name| format!("/types/{name}"));
        let mut session = Self {
            http,
            route: route.clone(),
            authorization: route.basic(),
            base: format!("{}/buckets/{}", of_type.unwrap_or_default(), spec.prefix),
            of_reads: spec.of_reads().into_bytes(),
            of_writes: spec.of_writes().into_bytes(),
            fails: spec.siblings == Siblings::Fail,
            indexes: spec.secondary_indexes,
            collections: vec![],
            found: Found::default(),
            text: vec![],
            clock: vec![],
            document: vec![],
            keys: vec![],
            ends: vec![],
            next: vec![],
        };
        match session.ask("GET", "/ping", "", None).await? {
            200 if session.http.answer() == b"OK" => Ok(session),
            200 => Err(malformed("no Riak greets like this")),
            status => Err(failed(status, session.http.answer(), "GET /ping")),
        }
    }

    fn template(&self, method: &str, path: &str) -> Template {
        // All values of an object that has several come in one answer.
        let mut fields = vec![("Accept", "application/json, multipart/mixed, */*;q=0.5")];
        if method == "PUT" {
            fields.push(("Content-Type", "application/json"));
        }
        if let Some(authorization) = &self.authorization {
            fields.push(("Authorization", authorization));
        }
        Template::new(method, path, &self.route, &fields)
    }

    /// A request that is made now and then. `field`: another line of its head, or nothing.
    #[cold]
    async fn ask(
        &mut self,
        method: &str,
        path: &str,
        field: &str,
        body: Option<&[u8]>,
    ) -> Result<u16, OpError> {
        let template = self.template(method, path);
        self.http.begin(&template).await?;
        self.http.fields(&template)?.extend_from_slice(field.as_bytes());
        if let Some(body) = body {
            self.http.body()?.extend_from_slice(body);
        }
        self.http.exchange().await
    }

    fn bucket(&self, collection: &CollectionSpec) -> Result<String, OpError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        match collection.name.bytes().all(fits) {
            true => Ok(format!("{}{}", self.base, collection.name)),
            false => Err(client(
                "a bucket's name here has letters, digits, `_`, `-` and `.`",
            )),
        }
    }

    fn attached(&self, spec: &CollectionSpec) -> Result<Attached, OpError> {
        let bucket = self.bucket(spec)?;
        let of_object = |method| self.template(method, &format!("{bucket}/keys/"));
        let steps = |steps: &Vec<String>| steps.iter().map(|step| step.as_bytes().to_vec()).collect();
        Ok(Attached {
            steps: spec.paths.iter().map(|path| steps(&path.steps)).collect(),
            kinds: spec.paths.iter().map(|path| path.kind).collect(),
            get: of_object("GET"),
            head: of_object("HEAD"),
            put: of_object("PUT"),
            delete: of_object("DELETE"),
            keys: self.template("GET", &format!("{bucket}/keys?keys=true")),
            index: self.template("GET", &format!("{bucket}/index/$key/")),
        })
    }

    /// Where in the answer an object's value is, the one that counts; `None`: there is no such object.
    #[inline]
    async fn read(&mut self, collection: Collection, key: &[u8]) -> Result<Option<Range<usize>>, OpError> {
        const WHAT: &str = "GET object";
        let Self {
            http,
            collections,
            of_reads,
            ..
        } = self;
        let get = &collections[collection.0 as usize].get;
        push_object(http.begin(get).await?, key, of_reads);
        http.fields(get)?;
        match http.exchange().await? {
            200 => Ok(Some(0..http.answer().len())),
            404 if is_of_object(http.answer()) => Ok(None),
            300 if self.fails => Err(has_siblings(WHAT)),
            300 => {
                let content_type = http.field("content-type").unwrap_or_default();
                latest(http.answer(), content_type).ok_or_else(|| malformed("siblings without their values"))
            }
            status => Err(failed(status, http.answer(), WHAT)),
        }
    }

    /// Keeps the version of the object that was read last.
    fn keep_clock(&mut self) -> Result<(), OpError> {
        self.clock.clear();
        let clock = self.http.field(CLOCK).filter(|clock| !clock.is_empty());
        let clock = clock.ok_or_else(|| malformed("an object without a version"))?;
        self.clock.extend_from_slice(clock);
        Ok(())
    }

    /// Reads an object's version alone. False: there is no such object.
    #[inline]
    async fn read_clock(&mut self, collection: Collection, key: &[u8]) -> Result<bool, OpError> {
        const WHAT: &str = "HEAD object";
        let Self {
            http,
            collections,
            of_reads,
            ..
        } = self;
        let head = &collections[collection.0 as usize].head;
        push_object(http.begin(head).await?, key, of_reads);
        http.fields(head)?;
        match http.exchange().await? {
            300 if self.fails => return Err(has_siblings(WHAT)),
            200 | 300 => self.keep_clock()?,
            404 => self.clock.clear(),
            status => return Err(failed(status, b"", WHAT)),
        }
        Ok(!self.clock.is_empty())
    }

    /// `field` and `value`: a line of its head, or nothing.
    #[inline]
    async fn write(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
        field: &[u8],
        value: &[u8],
    ) -> Result<(), OpError> {
        let Self {
            http,
            collections,
            of_writes,
            ..
        } = self;
        let put = &collections[collection.0 as usize].put;
        push_object(http.begin(put).await?, document.key, of_writes);
        let head = http.fields(put)?;
        if !field.is_empty() {
            head.extend_from_slice(field);
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        http.body()?.extend_from_slice(document.json);
        match http.exchange().await? {
            200 | 201 | 204 => Ok(()),
            status => Err(failed(status, http.answer(), "PUT object")),
        }
    }

    /// Over the version that was read; over none where there is none.
    #[inline]
    async fn write_over(&mut self, collection: Collection, document: Keyed<'_>) -> Result<(), OpError> {
        let clock = std::mem::take(&mut self.clock);
        let field: &[u8] = if clock.is_empty() { b"" } else { b"X-Riak-Vclock: " };
        let done = self.write(collection, document, field, &clock).await;
        self.clock = clock;
        done
    }

    /// Takes the keys of an answer.
    fn keep_keys(&mut self) -> Result<(), OpError> {
        self.keys.clear();
        self.ends.clear();
        let listed = at(self.http.answer(), ["keys"]).ok_or_else(|| malformed("a list without keys"))?;
        for key in Elements::of(listed) {
            let start = self.keys.len();
            if !unescape(key, &mut self.keys) {
                return Err(malformed("a key that is no text"));
            }
            match is_mark(&self.keys[start..]) {
                true => self.keys.truncate(start),
                false => self.ends.push(self.keys.len()),
            }
        }
        Ok(())
    }

    /// All keys of a bucket, in no order.
    async fn list(&mut self, collection: Collection) -> Result<(), OpError> {
        let Self {
            http, collections, ..
        } = self;
        let keys = &collections[collection.0 as usize].keys;
        http.begin(keys).await?;
        http.fields(keys)?;
        match http.exchange().await? {
            200 => self.keep_keys(),
            status => Err(failed(status, http.answer(), "GET keys")),
        }
    }

    /// Some keys in their order, from `start` on. `self.next`: where the list goes on, and will.
    async fn list_from(&mut self, collection: Collection, start: &[u8], most: u32) -> Result<(), OpError> {
        let Self {
            http,
            collections,
            next,
            ..
        } = self;
        let index = &collections[collection.0 as usize].index;
        let request = http.begin(index).await?;
        escape(request, if start.is_empty() { FIRST } else { start });
        request.push(b'/');
        request.extend_from_slice(ABOVE.as_bytes());
        request.extend_from_slice(b"?max_results=");
        digits(most as usize, |digits| request.extend_from_slice(digits));
        if !next.is_empty() {
            request.extend_from_slice(b"&continuation=");
            escape(request, next);
        }
        http.fields(index)?;
        match http.exchange().await? {
            200 => {}
            status => return Err(failed(status, http.answer(), "GET index")),
        }
        next.clear();
        let goes_on = at(http.answer(), ["continuation"]);
        if goes_on.is_some_and(|token| !unescape(token, next)) {
            return Err(malformed("a continuation that is no text"));
        }
        self.keep_keys()
    }

    /// Hands over the documents of the keys that were listed, at most `limit`. How many there still are.
    async fn read_listed(
        &mut self,
        collection: Collection,
        limit: u64,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let keys = std::mem::take(&mut self.keys);
        let (mut seen, mut start) = (0, 0);
        for place in 0..self.ends.len() {
            if seen == limit {
                break;
            }
            let key = &keys[start..self.ends[place]];
            start = self.ends[place];
            if let Some(found) = self.get(collection, key, select).await? {
                each(found);
                seen += 1;
            }
        }
        self.keys = keys;
        Ok(seen)
    }
}

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
        let keys = String::from_utf8_lossy(&self.keys).into_owned();
        let ends = std::mem::take(&mut self.ends);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let listed = starts.zip(&ends).filter_map(|(start, end)| keys.get(start..*end));
        for key in listed.chain([MARK]) {
            let mut path = format!("{bucket}/keys/").into_bytes();
            escape(&mut path, key.as_bytes());
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
