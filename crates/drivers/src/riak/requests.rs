//! What a session asks: objects by key, their versions, and lists of keys. Per operation nothing is allocated: requests are written
//! into the connection's buffer, and answers are read where they were received.
use super::siblings::latest;
use super::{RiakSpec, Siblings};
use crate::server::digits::digits;
use crate::server::errors::malformed;
use crate::server::http::{Http, Route, Template, escape};
use bakeoff_model::document::{Collection, CollectionSpec, DocumentSession, Found, Keyed, PathKind, Select};
use bakeoff_model::json::{Elements, at, push_cell, unescape};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use std::ops::Range;
use std::sync::Arc;

/// As the control plane has it. Keys are letters, digits, `-` and `_`, all of which come before it.
pub const MARK: &str = "~bakeoff";
/// The least key there can be, and one that is above all.
const FIRST: &[u8] = b"-";
const ABOVE: &str = "~";
/// Keys that a scan asks for at a time.
pub const SCAN_KEYS_MAX: u32 = 500;
const CLOCK: &str = "x-riak-vclock";

pub struct RiakSession {
    pub(super) http: Http,
    pub(super) route: Arc<Route>,
    pub(super) authorization: Option<String>,
    /// `/types/T/buckets/PREFIX`
    pub(super) base: String,
    pub(super) of_reads: Vec<u8>,
    pub(super) of_writes: Vec<u8>,
    pub(super) fails: bool,
    pub(super) indexes: bool,
    pub(super) collections: Vec<Attached>,
    pub(super) found: Found,
    pub(super) text: Vec<u8>,
    /// The version of the object that was read.
    pub(super) clock: Vec<u8>,
    pub(super) document: Vec<u8>,
    /// That were listed, laid end to end.
    pub(super) keys: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// Where a list of keys goes on.
    pub(super) next: Vec<u8>,
}

pub struct Attached {
    pub(super) steps: Vec<Vec<Vec<u8>>>,
    pub(super) kinds: Vec<PathKind>,
    pub(super) get: Template,
    pub(super) head: Template,
    pub(super) put: Template,
    pub(super) delete: Template,
    pub(super) keys: Template,
    pub(super) index: Template,
}

impl Attached {
    pub(super) fn fill(
        &self,
        found: &mut Found,
        text: &mut Vec<u8>,
        key: &[u8],
        document: &[u8],
        select: Select<'_>,
    ) {
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

/// An answer that is no success. A write that too few copies have answered may have been taken by others.
#[cold]
pub fn failed(status: u16, answer: &[u8], what: &'static str) -> OpError {
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
pub fn client(what: &str) -> OpError {
    OpError::fail(FailClass::Refused, "CLIENT", what)
}

#[cold]
fn has_siblings(what: &'static str) -> OpError {
    let message = "the object has several values (siblings)";
    OpError::fail(FailClass::Conflict, "HTTP 300", message).with_statement(what)
}

/// Of an object, not of a bucket type.
pub fn is_of_object(answer: &[u8]) -> bool {
    answer.is_empty() || answer.starts_with(b"not found")
}

fn is_mark(key: &[u8]) -> bool {
    key == MARK.as_bytes()
}

#[inline]
pub fn push_object(request: &mut Vec<u8>, key: &[u8], query: &[u8]) {
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
    pub(super) async fn ask(
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

    pub(super) fn bucket(&self, collection: &CollectionSpec) -> Result<String, OpError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        match collection.name.bytes().all(fits) {
            true => Ok(format!("{}{}", self.base, collection.name)),
            false => Err(client(
                "a bucket's name here has letters, digits, `_`, `-` and `.`",
            )),
        }
    }

    pub(super) fn attached(&self, spec: &CollectionSpec) -> Result<Attached, OpError> {
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
    pub(super) async fn read(
        &mut self,
        collection: Collection,
        key: &[u8],
    ) -> Result<Option<Range<usize>>, OpError> {
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
        match http.exchange_of_read().await? {
            200 => Ok(Some(0..http.answer().len())),
            404 if is_of_object(http.answer()) => Ok(None),
            300 if self.fails => Err(has_siblings(WHAT)),
            300 => {
                let content_type = http.field("content-type").unwrap_or_default();
                latest(http.answer(), content_type)
                    .ok_or_else(|| malformed("siblings without their values").of_read())
            }
            status => Err(failed(status, http.answer(), WHAT).of_read()),
        }
    }

    /// Keeps the version of the object that was read last.
    pub(super) fn keep_clock(&mut self) -> Result<(), OpError> {
        self.clock.clear();
        let clock = self.http.field(CLOCK).filter(|clock| !clock.is_empty());
        let clock = clock.ok_or_else(|| malformed("an object without a version").of_read())?;
        self.clock.extend_from_slice(clock);
        Ok(())
    }

    /// Reads an object's version alone. False: there is no such object.
    #[inline]
    pub(super) async fn read_clock(&mut self, collection: Collection, key: &[u8]) -> Result<bool, OpError> {
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
        match http.exchange_of_read().await? {
            300 if self.fails => return Err(has_siblings(WHAT)),
            200 | 300 => self.keep_clock()?,
            404 => self.clock.clear(),
            status => return Err(failed(status, b"", WHAT).of_read()),
        }
        Ok(!self.clock.is_empty())
    }

    /// `field` and `value`: a line of its head, or nothing.
    #[inline]
    pub(super) async fn write(
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
    pub(super) async fn write_over(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
    ) -> Result<(), OpError> {
        let clock = std::mem::take(&mut self.clock);
        let field: &[u8] = if clock.is_empty() { b"" } else { b"X-Riak-Vclock: " };
        let done = self.write(collection, document, field, &clock).await;
        self.clock = clock;
        done
    }

    /// Takes the keys of an answer.
    pub(super) fn keep_keys(&mut self) -> Result<(), OpError> {
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
    pub(super) async fn list(&mut self, collection: Collection) -> Result<(), OpError> {
        let Self {
            http, collections, ..
        } = self;
        let keys = &collections[collection.0 as usize].keys;
        http.begin(keys).await?;
        http.fields(keys)?;
        match http.exchange_of_read().await? {
            200 => self.keep_keys(),
            status => Err(failed(status, http.answer(), "GET keys").of_read()),
        }
    }

    /// Some keys in their order, from `start` on. `self.next`: where the list goes on, and will.
    pub(super) async fn list_from(
        &mut self,
        collection: Collection,
        start: &[u8],
        most: u32,
    ) -> Result<(), OpError> {
        let Self {
            http,
            collections,
            next,
            text,
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
        match http.exchange_of_read().await? {
            200 => {}
            status => return Err(failed(status, http.answer(), "GET index").of_read()),
        }
        text.clear();
        let goes_on = at(http.answer(), ["continuation"]);
        if goes_on.is_some_and(|token| !unescape(token, text)) {
            return Err(malformed("a continuation that is no text"));
        }
        if goes_on.is_some() && text == next {
            return Err(malformed("a list that goes on where it did before"));
        }
        std::mem::swap(next, text);
        self.keep_keys()
    }

    /// Hands over the documents of the keys that were listed, at most `limit`. How many there still are.
    pub(super) async fn read_listed(
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
