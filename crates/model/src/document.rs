//! The document shape of a database: nested objects and arrays by key, in a collection.
//!
//! A document is JSON text (RFC 8259) whose outermost value is an object. It does not contain its key, nor its revision.
//! A driver that stores another form (BSON, typed attributes) converts on the way. Members may come back in another order.
//!
//! SQL systems get this shape from one adapter over [`crate::sql::SqlSession`] with a column of JSON.
use crate::outcome::OpError;
use crate::row::RowBuf;
use crate::value::Value;

/// A collection as a workload sees it. Fixed before the clock runs, so a driver prepares what names its paths.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionSpec {
    pub name: String,
    /// Longest key, bytes. Keys are ASCII letters, digits, `-` and `_`.
    pub key_length: u32,
    /// What filters, projections and patches name, by its place here.
    pub paths: Vec<PathSpec>,
}

/// A place in every document of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSpec {
    /// Members from the outermost object inwards: `["address", "city"]`. ASCII letters, digits and `_`.
    pub steps: Vec<String>,
    pub kind: PathKind,
    /// The collection is created with an index on it.
    pub indexed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// At most this many characters.
    Text(u32),
    Integer,
    Float,
    Bool,
    /// An array of texts, each of at most this many characters. Only [`Is::Containing`] goes by it.
    Texts(u32),
}

/// Handle of a collection in one session: its place in the list given to `attach`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection(pub u32);

/// Which part of a document comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select<'a> {
    /// The document: [`Found::json`].
    Whole,
    /// These paths, in this order: [`Found::cells`]. None of them is [`PathKind::Texts`].
    Paths(&'a [u32]),
    /// Neither.
    Key,
}

/// What a write expects to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect<'a> {
    /// The document is created or replaced.
    Anything,
    /// No document of this key. Otherwise the write fails with [`crate::outcome::FailClass::Constraint`].
    Absent,
    /// A document of this key. Otherwise nothing is stored and the count is 0.
    Present,
    /// The document at this revision, as it was read. Otherwise the write fails with
    /// [`crate::outcome::FailClass::Conflict`].
    Revision(&'a [u8]),
}

/// A condition on one path. A filter is a list of them, all of which hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition<'a> {
    pub path: u32,
    pub is: Is,
    /// Of the path's kind; of its elements' kind for `Containing`.
    pub value: Value<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    Equal,
    AtLeast,
    Below,
    /// The array has this element.
    Containing,
}

/// A new value of one path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch<'a> {
    pub path: u32,
    pub value: Value<'a>,
}

/// A new document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed<'a> {
    pub key: &'a [u8],
    pub json: &'a [u8],
}

/// What a workload will do with a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentUse<'a> {
    Get(Select<'a>),
    /// The revision's bytes do not matter.
    Put(Expect<'a>),
    /// Of these paths.
    Patch(&'a [u32]),
    /// With a revision or without.
    Delete {
        revision: bool,
    },
    /// Of conditions by path and kind.
    Find {
        conditions: &'a [(u32, Is)],
        select: Select<'a>,
    },
    Count(&'a [(u32, Is)]),
    Range(Select<'a>),
}

/// One document that came back, owned by a session and overwritten by the next.
#[derive(Debug, Default)]
pub struct Found {
    pub key: Vec<u8>,
    /// Of [`Select::Whole`].
    pub json: Vec<u8>,
    /// Of [`Select::Paths`]; null where a document lacks the path.
    pub cells: RowBuf,
    /// Opaque; empty where the driver does not offer [`crate::needs::Offer::Revisions`].
    pub revision: Vec<u8>,
}

impl Found {
    #[inline]
    pub fn clear(&mut self) {
        self.key.clear();
        self.json.clear();
        self.cells.clear();
        self.revision.clear();
    }
}

/// A session on documents. Errors are outcomes (see [`OpError`]); a missing document is not an error but `None` or 0, and
/// whether that is wrong is for the workload to say. Counts are `None` where the system does not count.
pub trait DocumentSession {
    /// As [`crate::endpoint::Asked::asked`].
    fn asked(&self) -> Option<u32> {
        None
    }
    /// Called once after opening, before any operation: learn the collections, which need not exist yet.
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError>;
    /// Called after `attach`, where the collections exist: whatever the first operation of a kind would have to wait for is
    /// done now.
    async fn prepare(&mut self, _collection: Collection, _uses: &[DocumentUse<'_>]) -> Result<(), OpError> {
        Ok(())
    }

    /// With its indexes.
    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError>;
    /// Succeeds when there is none.
    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError>;
    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError>;

    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError>;
    /// Documents of these keys in one request where the system has it, in any order. Returns documents seen.
    async fn get_batch(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError>;
    /// Stores the whole document. Returns how many were stored (1, or 0 where one was expected to be present).
    async fn put(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
        expect: Expect<'_>,
    ) -> Result<Option<u64>, OpError>;
    /// New documents in one request where the system has it. All or none where the system has transactions; otherwise any of
    /// them after an error. Returns documents stored.
    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError>;
    /// Sets some paths and leaves the rest. Returns documents found. A driver without
    /// [`crate::needs::Offer::Patch`] reads the document and writes it back at its revision: a change in between is a conflict.
    async fn patch(
        &mut self,
        collection: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError>;
    /// `revision`: only at this one, or the delete fails with a conflict. Returns documents deleted.
    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError>;

    /// Documents for which every condition holds, in any order, at most `limit`. Returns documents seen.
    async fn find(
        &mut self,
        collection: Collection,
        conditions: &[Condition<'_>],
        select: Select<'_>,
        limit: Option<u32>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError>;
    /// Documents for which every condition holds; of all without conditions. Counted by the system, where it can.
    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError>;
    /// Documents with key >= `start` in key order, at most `limit` (`None`: to the end). Returns documents seen. A system that
    /// does not offer scans is asked for the whole collection alone, in any order.
    async fn range(
        &mut self,
        collection: Collection,
        start: &[u8],
        limit: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError>;
}
