//! One connection, what it knows of its collections, and its transaction.
use super::bson::{self, Bson, Name, close, open_array, open_document};
use super::commands::{Context, Does, State};
use super::errors::{NAMESPACE_NOT_FOUND, NO_SUCH_TRANSACTION, at_commit, server_error};
use super::json::{self, KEY, REVISION};
use super::login::{Limits, greet, log_in, random};
use super::message::{Wire, end};
use super::{MongodbDriver, Route};
use crate::server::channel::Channel;
use crate::server::errors::malformed;
use bakeoff_model::document::{Collection, CollectionSpec, Condition, Found, Is, PathKind, Select};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::time::now_ns;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;

/// An answer without a document may come from a collection that is not there. That is looked up, but not again within this
/// time, so that a workload that often finds nothing measures what it asks.
const LOOKED_UP_EVERY_NS: u64 = 1_000_000_000;

pub struct MongodbSession {
    pub(super) wire: Wire,
    pub(super) context: Context,
    pub(super) limits: Limits,
    pub(super) collections: Vec<Attached>,
    pub(super) found: Found,
    pub(super) transactions: bool,
    pub(super) batch_size: u32,
    /// Of the write before.
    revision: u64,
}

pub(super) struct Attached {
    pub name: Vec<u8>,
    pub paths: Vec<Path>,
    /// It was not there when it was last looked up.
    pub is_missing: bool,
    looked_up_ns: Option<u64>,
}

/// `address.city`, with the zero that ends a name, and its steps.
pub(super) struct Path {
    pub dotted: Vec<u8>,
    pub steps: Vec<Vec<u8>>,
    pub kind: PathKind,
}

impl Attached {
    pub fn new(spec: &CollectionSpec) -> Self {
        let path = |path: &bakeoff_model::document::PathSpec| Path {
            dotted: dotted(&path.steps),
            steps: path.steps.iter().map(|step| step.as_bytes().to_vec()).collect(),
            kind: path.kind,
        };
        Self {
            name: spec.name.as_bytes().to_vec(),
            paths: spec.paths.iter().map(path).collect(),
            is_missing: false,
            looked_up_ns: None,
        }
    }
}

pub(super) fn dotted(steps: &[String]) -> Vec<u8> {
    let mut dotted = steps.join(".").into_bytes();
    dotted.push(0);
    dotted
}

impl MongodbSession {
    pub(super) async fn connect(driver: &MongodbDriver, route: &Route) -> Result<Self, OpError> {
        let spec = &driver.spec;
        let (stream, _) = route.whereabouts.connect(driver.connect_timeout).await?;
        let mut channel = Channel::new(stream);
        if let Some(encryption) = &route.encryption {
            channel.encrypt(encryption).await?;
        }
        let mut wire = Wire::new(channel);
        let limits = greet(&mut wire, spec).await?;
        if let Some(password) = &driver.password {
            log_in(&mut wire, &spec.auth_source, &route.target.user, password).await?;
        }
        Ok(Self {
            wire,
            context: Context::new(spec)?,
            limits,
            collections: Vec::new(),
            found: Found::default(),
            transactions: spec.transactions,
            batch_size: spec.batch_size,
            revision: u64::from_le_bytes(random()?),
        })
    }

    /// One that no other write has: sessions count on from numbers at random.
    #[inline]
    pub(super) fn next_revision(&mut self) -> i64 {
        self.revision = self.revision.wrapping_add(1);
        self.revision as i64
    }

    /// Begins a command on a collection: `{ NAME: COLLECTION`.
    #[inline]
    pub(super) fn command(
        &mut self,
        name: Name<'_>,
        collection: Collection,
    ) -> (&mut Vec<u8>, super::message::Body) {
        let Self {
            wire, collections, ..
        } = self;
        let (request, body) = wire.begin();
        bson::text(request, name, &collections[collection.0 as usize].name);
        (request, body)
    }

    /// Ends it.
    #[inline]
    pub(super) fn conclude(&mut self, body: super::message::Body, does: Does) {
        let Self { wire, context, .. } = self;
        let request = wire.request();
        context.conclude(request, does);
        end(request, body);
    }

    /// Whether the database has a collection of this name.
    pub(super) async fn has(&mut self, name: &[u8]) -> Result<bool, OpError> {
        let (request, body) = self.wire.begin();
        bson::int32(request, b"listCollections\0", 1);
        let filter = open_document(request, b"filter\0");
        bson::text(request, b"name\0", name);
        close(request, filter);
        bson::bool(request, b"nameOnly\0", true);
        let cursor = open_document(request, b"cursor\0");
        close(request, cursor);
        self.conclude(body, Does::Lists);
        self.wire
            .ask()
            .await
            .map_err(|error| error.with_statement("listCollections"))?;
        let batch = Batch::read(self.wire.answer())?; // of one name; some servers list all, and in one
        let mut all = bson::elements(batch.documents)?;
        while let Some((_, one)) = all.next()? {
            if let Bson::Document(one) = one
                && bson::member(one, b"name")? == Some(Bson::Text(name))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Nothing was found, or is to be made: is that because there is no collection? In a transaction nobody may ask.
    #[cold]
    pub(super) async fn refuse_without(&mut self, collection: Collection) -> Result<(), OpError> {
        if self.context.state != State::Outside {
            return Ok(());
        }
        let now_ns = now_ns();
        let attached = &mut self.collections[collection.0 as usize];
        let is_recent = |looked_up: u64| now_ns - looked_up < LOOKED_UP_EVERY_NS;
        if !attached.is_missing && attached.looked_up_ns.is_some_and(is_recent) {
            return Ok(());
        }
        let name = std::mem::take(&mut attached.name);
        let found = self.has(&name).await;
        let attached = &mut self.collections[collection.0 as usize];
        attached.name = name;
        attached.looked_up_ns = Some(now_ns);
        attached.is_missing = !found?;
        match attached.is_missing {
            true => Err(no_collection(&attached.name)),
            false => Ok(()),
        }
    }
}

#[cold]
fn no_collection(name: &[u8]) -> OpError {
    let what = format!("there is no collection {}", String::from_utf8_lossy(name));
    OpError::fail(FailClass::Refused, NAMESPACE_NOT_FOUND, what)
}

/// Part of a result.
pub(super) struct Batch<'a> {
    /// 0: it is the last.
    pub cursor: i64,
    /// An array.
    pub documents: &'a [u8],
}

const NO_DOCUMENTS: &[u8] = &[5, 0, 0, 0, 0];

impl<'a> Batch<'a> {
    #[inline]
    pub fn read(answer: &'a [u8]) -> Result<Self, OpError> {
        let (mut is_ok, mut cursor) = (false, None);
        let mut all = bson::elements(answer)?;
        while let Some((name, value)) = all.next()? {
            match (name, value) {
                (b"ok", value) => is_ok = value.is_true(),
                (b"cursor", Bson::Document(document)) => cursor = Some(document),
                _ => {}
            }
        }
        if !is_ok {
            return Err(server_error(answer));
        }
        let cursor = cursor.ok_or_else(|| malformed("a result without a cursor"))?;
        let mut batch = Self {
            cursor: 0,
            documents: NO_DOCUMENTS,
        };
        let mut all = bson::elements(cursor)?;
        while let Some((name, value)) = all.next()? {
            match (name, value) {
                (b"id", Bson::Int(number)) => batch.cursor = number,
                (b"firstBatch" | b"nextBatch", Bson::Array(documents)) => batch.documents = documents,
                _ => {}
            }
        }
        Ok(batch)
    }
}

/// What is to come back of a document.
#[inline]
pub(super) fn project(request: &mut Vec<u8>, select: Select<'_>, paths: &[Path]) {
    let selected = match select {
        Select::Whole => return,
        Select::Paths(selected) => selected,
        Select::Key => &[],
    };
    let projection = open_document(request, b"projection\0");
    bson::int32(request, b"#rev\0", 1);
    for (place, path) in selected.iter().enumerate() {
        if !selected[..place].contains(path) {
            bson::int32(request, &paths[*path as usize].dotted, 1);
        }
    }
    close(request, projection);
}

/// A document as it was received, into what a workload sees of it.
#[inline]
pub(super) fn fill(
    found: &mut Found,
    document: &[u8],
    select: Select<'_>,
    paths: &[Path],
) -> Result<(), OpError> {
    found.clear();
    let mut all = bson::elements(document)?;
    while let Some((name, value)) = all.next()? {
        match (name, value) {
            (KEY, Bson::Text(key)) => found.key.extend_from_slice(key),
            (REVISION, Bson::Int(number)) => found.revision.extend_from_slice(&number.to_le_bytes()),
            _ => {}
        }
    }
    match select {
        Select::Whole => json::write(&mut found.json, document),
        Select::Paths(selected) => {
            for path in selected {
                let path = &paths[*path as usize];
                let cell = cell(path.kind, bson::at(document, &path.steps)?);
                found.cells.push(cell);
            }
            Ok(())
        }
        Select::Key => Ok(()),
    }
}

/// Of the path's kind; null where there is none, or another.
#[inline]
fn cell(kind: PathKind, found: Option<Bson<'_>>) -> Value<'_> {
    match (kind, found) {
        (PathKind::Text(_), Some(Bson::Text(text))) => Value::Text(text),
        (PathKind::Integer, Some(value)) => value.whole_number().map_or(Value::Null, Value::Int),
        (PathKind::Float, Some(Bson::Double(number))) => Value::Float(number),
        (PathKind::Float, Some(Bson::Int(number))) => Value::Float(number as f64),
        (PathKind::Bool, Some(Bson::Bool(value))) => Value::Bool(value),
        _ => Value::Null,
    }
}

/// Documents for which all conditions hold.
#[inline]
pub(super) fn filter(
    request: &mut Vec<u8>,
    name: Name<'_>,
    conditions: &[Condition<'_>],
    paths: &[Path],
) -> Result<(), OpError> {
    let filter = open_document(request, name);
    match conditions {
        [] => {}
        [one] => condition(request, one, paths)?,
        many => {
            // A document may not have the same member twice, and two conditions may be on one path.
            let list = open_array(request, b"$and\0");
            for (number, one) in many.iter().enumerate() {
                request.push(bson::DOCUMENT);
                json::number_name(request, number);
                let inner = bson::open(request);
                condition(request, one, paths)?;
                close(request, inner);
            }
            close(request, list);
        }
    }
    close(request, filter);
    Ok(())
}

#[inline]
fn condition(request: &mut Vec<u8>, condition: &Condition<'_>, paths: &[Path]) -> Result<(), OpError> {
    let path = &paths[condition.path as usize].dotted;
    let operator: Name<'_> = match condition.is {
        // Of an array the server compares each element.
        Is::Equal | Is::Containing => return bson::value(request, path, condition.value),
        Is::AtLeast => b"$gte\0",
        Is::Below => b"$lt\0",
    };
    let inner = open_document(request, path);
    bson::value(request, operator, condition.value)?;
    close(request, inner);
    Ok(())
}

#[cold]
fn no_transactions() -> OpError {
    let what = "transactions = true is not among the driver's options";
    OpError::fail(FailClass::Refused, "TRANSACTION", what)
}

impl Transactional for MongodbSession {
    /// The first command tells the server.
    async fn begin(&mut self, _access: Access) -> Result<(), OpError> {
        if !self.transactions {
            return Err(no_transactions());
        }
        self.context.begin();
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        self.end_by(b"commitTransaction\0")
            .await
            .map_err(|error| at_commit(error).with_statement("commitTransaction"))
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        match self.end_by(b"abortTransaction\0").await {
            Err(error) if error.code == NO_SUCH_TRANSACTION => Ok(()), // an error has ended it
            ended => ended.map_err(|error| error.with_statement("abortTransaction")),
        }
    }
}

impl MongodbSession {
    async fn end_by(&mut self, command: Name<'_>) -> Result<(), OpError> {
        if std::mem::replace(&mut self.context.state, State::Outside) != State::Open {
            return Ok(()); // the server has not heard of it
        }
        self.write_end(command);
        self.wire.carry_out().await
    }

    fn write_end(&mut self, command: Name<'_>) {
        let Self { wire, context, .. } = self;
        let (request, body) = wire.begin();
        bson::int32(request, command, 1);
        context.conclude_end(request);
        end(request, body);
    }
}

/// A transaction does not end with its connection, and would hold its documents for a minute more.
impl Drop for MongodbSession {
    fn drop(&mut self) {
        if self.context.state == State::Open && !self.wire.is_in_flight() {
            self.write_end(b"abortTransaction\0");
            self.wire.say_last();
        }
    }
}
