//! One connection, what it knows of its collections, and the requests that operations are made of.
use super::CouchdbSpec;
use super::errors::{failed, no_name, short_of_quorum};
use super::json::{push_key, push_own, stored};
use crate::server::errors::malformed;
use crate::server::http::{Http, Route, Template, escape};
use bakeoff_model::document::{Collection, CollectionSpec, Condition, Found, Is, PathKind, Select};
use bakeoff_model::json::{Elements, Members, at, push_cell, write_text, write_value};
use bakeoff_model::outcome::OpError;
use bakeoff_model::transaction::Transactional;
use bakeoff_model::value::Value;
use std::sync::Arc;

/// Below every number.
const LOWEST: f64 = f64::MIN;

pub struct CouchdbSession {
    pub(super) http: Http,
    pub(super) route: Arc<Route>,
    authorization: Option<String>,
    /// `HEAD` tells a document's revision. The peer's does not.
    tells_revisions: bool,
    prefix: String,
    pub(super) page_size: u32,
    /// `r=2`, `w=2`, `q=8&n=3`; empty: nothing is asked.
    read_query: Vec<u8>,
    pub(super) write_query: Vec<u8>,
    pub(super) create_query: String,
    pub(super) collections: Vec<Attached>,
    pub(super) found: Found,
    /// Rooms that are used again and again: of a text, a revision, a document, and where a result goes on.
    pub(super) text: Vec<u8>,
    pub(super) revision: Vec<u8>,
    pub(super) document: Vec<u8>,
    pub(super) next: Vec<u8>,
}

pub(super) struct Attached {
    /// `address.city`, as selectors have it.
    pub dotted: Vec<Vec<u8>>,
    pub steps: Vec<Vec<Vec<u8>>>,
    pub kinds: Vec<PathKind>,
    pub indexed: Vec<u32>,
    get: Template,
    head: Template,
    put: Template,
    delete: Template,
    pub rows: Template,
    pub rows_of_keys: Template,
    pub keys: Template,
    pub bulk: Template,
    pub find: Template,
}

/// `"1-abc"` without its quotes.
#[inline]
fn unquoted(text: &[u8]) -> &[u8] {
    let inside = text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inside.unwrap_or_default()
}

/// Only of one of these two is a document's absence said; other words are of a missing database.
#[inline]
pub(super) fn is_of_document(answer: &[u8]) -> bool {
    matches!(
        at(answer, ["reason"]).map(unquoted),
        Some(b"missing" | b"deleted")
    )
}

/// A write of one document.
#[inline]
pub(super) fn written(status: u16, answer: &[u8], what: &'static str) -> Result<(), OpError> {
    match status {
        200 | 201 => Ok(()),
        202 => Err(short_of_quorum(what)),
        _ => Err(failed(status, answer, what)),
    }
}

#[inline]
pub(super) fn push_number(number: u64, out: &mut Vec<u8>) {
    write_value(Value::Int(number as i64), out);
}

/// Behind the path of a database: a document, its revision, and what else is asked.
#[inline]
fn push_document(request: &mut Vec<u8>, key: &[u8], revision: Option<&[u8]>, query: &[u8]) {
    let (sign, rest) = stored(key);
    escape(request, sign);
    escape(request, rest);
    if let Some(revision) = revision {
        request.extend_from_slice(b"?rev=");
        escape(request, revision);
    }
    if !query.is_empty() {
        request.push(if revision.is_some() { b'&' } else { b'?' });
        request.extend_from_slice(query);
    }
}

impl CouchdbSession {
    /// Asks who is there. Errors: nobody of this protocol, or the account is not let in.
    pub(super) async fn greet(http: Http, route: &Arc<Route>, spec: &CouchdbSpec) -> Result<Self, OpError> {
        let query = |name: &str, value: Option<u32>| value.map(|value| format!("{name}={value}"));
        let one = |name, value| query(name, value).unwrap_or_default().into_bytes();
        let creation: Vec<String> = [query("q", spec.shards), query("n", spec.copies)]
            .into_iter()
            .flatten()
            .collect();
        let mut session = Self {
            http,
            route: route.clone(),
            authorization: route.basic(),
            tells_revisions: false,
            prefix: spec.prefix.clone(),
            page_size: spec.page_size,
            read_query: one("r", spec.read_quorum),
            write_query: one("w", spec.write_quorum),
            create_query: creation.join("&"),
            collections: Vec::new(),
            found: Found::default(),
            text: Vec::new(),
            revision: Vec::new(),
            document: Vec::new(),
            next: Vec::new(),
        };
        let status = session.ask("GET", "/", None).await?;
        let answer = session.http.answer();
        if status != 200 {
            return Err(failed(status, answer, "GET /"));
        }
        session.tells_revisions = at(answer, ["couchdb"]).is_some();
        match at(answer, ["vendor"]).or(at(answer, ["couchdb"])) {
            Some(_) => Ok(session),
            None => Err(malformed("no server of CouchDB's protocol greets like this")),
        }
    }

    /// A request that is made now and then.
    #[cold]
    pub(super) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<u16, OpError> {
        let template = self.template(method, path);
        self.http.begin(&template).await?;
        self.http.fields(&template)?;
        if let Some(body) = body {
            self.http.body()?.extend_from_slice(body);
        }
        self.http.exchange().await
    }

    fn template(&self, method: &str, path: &str) -> Template {
        let mut fields = vec![("Accept", "application/json")];
        if matches!(method, "POST" | "PUT") {
            fields.push(("Content-Type", "application/json"));
        }
        if let Some(authorization) = &self.authorization {
            fields.push(("Authorization", authorization));
        }
        Template::new(method, path, &self.route, &fields)
    }

    /// The path of a collection's database. Errors: no database has such a name.
    pub(super) fn database(&self, collection: &CollectionSpec) -> Result<String, OpError> {
        let name = format!("{}{}", self.prefix, collection.name);
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'$' | b'(' | b')' | b'+' | b'-' | b'/');
        if !name.starts_with(|sign: char| sign.is_ascii_lowercase()) || !name.bytes().all(fits) {
            return Err(no_name(&name));
        }
        let mut path = vec![b'/'];
        escape(&mut path, name.as_bytes());
        Ok(String::from_utf8_lossy(&path).into_owned())
    }

    pub(super) fn attached(&self, spec: &CollectionSpec) -> Result<Attached, OpError> {
        let database = self.database(spec)?;
        let indexed = (0..).zip(&spec.paths).filter(|(_, path)| path.indexed);
        let at = |method, rest: &str| self.template(method, &format!("{database}/{rest}"));
        let steps = |steps: &Vec<String>| steps.iter().map(|step| step.as_bytes().to_vec()).collect();
        Ok(Attached {
            dotted: spec
                .paths
                .iter()
                .map(|path| path.steps.join(".").into_bytes())
                .collect(),
            steps: spec.paths.iter().map(|path| steps(&path.steps)).collect(),
            kinds: spec.paths.iter().map(|path| path.kind).collect(),
            indexed: indexed.map(|(place, _)| place).collect(),
            get: at("GET", ""),
            head: at("HEAD", ""),
            put: at("PUT", ""),
            delete: at("DELETE", ""),
            rows: at("GET", "_all_docs?"),
            rows_of_keys: at("POST", "_all_docs?include_docs=true"),
            keys: at("POST", "_all_docs"),
            bulk: at("POST", "_bulk_docs"),
            find: at("POST", "_find"),
        })
    }

    /// Whether there is a document: then it is the answer.
    #[inline]
    pub(super) async fn read(&mut self, collection: Collection, key: &[u8]) -> Result<bool, OpError> {
        let Self {
            http,
            collections,
            read_query,
            ..
        } = self;
        let get = &collections[collection.0 as usize].get;
        push_document(http.begin(get).await?, key, None, read_query);
        http.fields(get)?;
        let status = http.exchange_of_read().await?;
        match status {
            200 => Ok(true),
            404 if is_of_document(http.answer()) => Ok(false),
            _ => Err(failed(status, http.answer(), "GET document").of_read()),
        }
    }

    /// Keeps the revision of a document. False: there is none.
    #[inline]
    pub(super) async fn read_revision(
        &mut self,
        collection: Collection,
        key: &[u8],
    ) -> Result<bool, OpError> {
        if self.tells_revisions {
            let Self {
                http,
                collections,
                read_query,
                revision,
                ..
            } = self;
            let head = &collections[collection.0 as usize].head;
            push_document(http.begin(head).await?, key, None, read_query);
            http.fields(head)?;
            let status = http.exchange_of_read().await?;
            match (status, http.field("etag").map(unquoted)) {
                (200, Some(tag)) if !tag.is_empty() => {
                    revision.clear();
                    revision.extend_from_slice(tag);
                    return Ok(true);
                }
                (200 | 404, _) => {} // of which the database may be missing
                _ => return Err(failed(status, b"", "HEAD document").of_read()),
            }
        }
        let found = self.read(collection, key).await?;
        if found {
            self.keep_revision()?;
        }
        Ok(found)
    }

    /// Of the document that was read.
    #[inline]
    pub(super) fn keep_revision(&mut self) -> Result<(), OpError> {
        let Self { http, revision, .. } = self;
        let told = at(http.answer(), ["_rev"]).map(unquoted);
        let told = told.ok_or_else(|| malformed("a document without a revision"))?;
        revision.clear();
        revision.extend_from_slice(told);
        Ok(())
    }

    /// Stores a document; `revision`: in place of the one that has it.
    #[inline]
    pub(super) async fn write(
        &mut self,
        collection: Collection,
        key: &[u8],
        json: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<(), OpError> {
        let Self {
            http,
            collections,
            write_query,
            ..
        } = self;
        let put = &collections[collection.0 as usize].put;
        push_document(http.begin(put).await?, key, revision, write_query);
        http.fields(put)?;
        http.body()?.extend_from_slice(json);
        let status = http.exchange().await?;
        written(status, http.answer(), "PUT document")
    }

    /// The status of a deletion at this revision.
    #[inline]
    pub(super) async fn remove(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: &[u8],
    ) -> Result<u16, OpError> {
        let Self {
            http,
            collections,
            write_query,
            ..
        } = self;
        let delete = &collections[collection.0 as usize].delete;
        push_document(http.begin(delete).await?, key, Some(revision), write_query);
        http.fields(delete)?;
        http.exchange().await
    }
}

impl Attached {
    /// A document as it was received, into what a workload sees of it.
    #[inline]
    pub fn fill(&self, found: &mut Found, text: &mut Vec<u8>, document: &[u8], select: Select<'_>) {
        found.clear();
        for (name, value) in Members::of(document) {
            match name {
                b"_id" => push_key(value, &mut found.key),
                b"_rev" => found.revision.extend_from_slice(unquoted(value)),
                _ => {}
            }
        }
        match select {
            Select::Whole => push_own(document, &mut found.json),
            Select::Paths(selected) => {
                for path in selected {
                    let path = *path as usize;
                    push_cell(
                        at(document, &self.steps[path]),
                        self.kinds[path],
                        text,
                        &mut found.cells,
                    );
                }
            }
            Select::Key => {}
        }
    }

    /// The same of a row of `_all_docs`. False: it is no document of a workload's.
    #[inline]
    pub fn fill_row(&self, found: &mut Found, text: &mut Vec<u8>, row: &[u8], select: Select<'_>) -> bool {
        let (mut id, mut value, mut document): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        for (name, member) in Members::of(row) {
            match name {
                b"id" => id = member,
                b"value" => value = member,
                b"doc" => document = member,
                _ => {}
            }
        }
        // One of the server's own, one that is not there, or one that was deleted.
        if id.starts_with(b"\"_") || id.is_empty() || at(value, ["deleted"]).is_some() {
            return false;
        }
        if select != Select::Key {
            self.fill(found, text, document, select);
            return true;
        }
        found.clear();
        push_key(id, &mut found.key);
        found
            .revision
            .extend_from_slice(at(value, ["rev"]).map(unquoted).unwrap_or_default());
        true
    }

    /// `{"selector":...`: documents for which all conditions hold. The object is not ended.
    pub fn push_selector(&self, conditions: &[Condition<'_>], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"selector\":");
        match conditions {
            [] => out.extend_from_slice(br#"{"_id":{"$gt":null}}"#),
            [one] => self.push_condition(one, out),
            many => {
                // An object may not have the same member twice, and two conditions may be on one path.
                out.extend_from_slice(b"{\"$and\":[");
                for (number, one) in many.iter().enumerate() {
                    if number > 0 {
                        out.push(b',');
                    }
                    self.push_condition(one, out);
                }
                out.extend_from_slice(b"]}");
            }
        }
    }

    fn push_condition(&self, condition: &Condition<'_>, out: &mut Vec<u8>) {
        out.push(b'{');
        write_text(&self.dotted[condition.path as usize], out);
        let (before, after): (&[u8], &[u8]) = match condition.is {
            Is::Equal => (br#":{"$eq":"#, b"}}"),
            Is::AtLeast => (br#":{"$gte":"#, b"}}"),
            // Null is below everything, and no value.
            Is::Below => (br#":{"$lt":"#, br#","$gte":"#),
            Is::Containing => (br#":{"$elemMatch":{"$eq":"#, b"}}}"),
        };
        out.extend_from_slice(before);
        write_value(condition.value, out);
        out.extend_from_slice(after);
        if condition.is == Is::Below {
            write_value(lowest(condition.value), out);
            out.extend_from_slice(b"}}");
        }
    }

    /// Ends a request of `_find`'s but for where it goes on.
    pub fn push_fields(&self, select: Select<'_>, limit: u32, out: &mut Vec<u8>) {
        let selected = match select {
            Select::Whole => None,
            Select::Paths(selected) => Some(selected),
            Select::Key => Some(&[][..]),
        };
        if let Some(selected) = selected {
            out.extend_from_slice(br#","fields":["_id","_rev""#);
            for path in selected {
                out.push(b',');
                write_text(&self.dotted[*path as usize], out);
            }
            out.push(b']');
        }
        out.extend_from_slice(b",\"limit\":");
        push_number(limit.into(), out);
    }

    /// A condition that every document with this path meets, by its index.
    pub fn any(&self, path: u32) -> Condition<'static> {
        let value = match self.kinds[path as usize] {
            PathKind::Text(_) | PathKind::Texts(_) => Value::Text(b""),
            PathKind::Integer | PathKind::Float => Value::Float(LOWEST),
            PathKind::Bool => Value::Bool(false),
        };
        Condition {
            path,
            is: Is::AtLeast,
            value,
        }
    }
}

/// Of values of the same type.
fn lowest(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Bool(_) => Value::Bool(false),
        Value::Int(_) | Value::Float(_) | Value::Decimal(_) => Value::Float(LOWEST),
        _ => Value::Text(b""),
    }
}

/// The elements of a member of an answer. Errors: it has none such.
#[inline]
pub(super) fn list<'a>(answer: &'a [u8], name: &str) -> Result<Elements<'a>, OpError> {
    match at(answer, [name]) {
        Some(list) => Ok(Elements::of(list)),
        None => Err(malformed("a result without its rows")),
    }
}

/// There are none.
impl Transactional for CouchdbSession {}
