//! Sessions as objects, one type for each shape: a workload is compiled once, against these, and a driver once, against its
//! own session. The future of a call is in a slot next to the session, so nothing is allocated for it.
mod object;

use crate::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch, Select,
};
use crate::document_records::DocumentRecords;
use crate::endpoint::Asked;
use crate::outcome::OpError;
use crate::pipeline::{Part, Pipeline};
use crate::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, Use};
use crate::record_documents::RecordDocuments;
use crate::row::RowBuf;
use crate::slot::{Slot, started};
use crate::sql::{Ask, Dialect, SqlSession};
use crate::sql_documents::SqlDocuments;
use crate::sql_records::SqlRecords;
use crate::statement::{Done, Statement};
use crate::transaction::{Access, Transactional};
use crate::value::Value;
use std::any::Any;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Any session that speaks SQL.
pub struct AnySql {
    session: Box<dyn object::SqlObject>,
    slot: Slot,
    dialect: &'static Dialect,
}

impl AnySql {
    pub fn new(session: impl SqlSession + Transactional + 'static) -> Self {
        Self {
            dialect: session.dialect(),
            session: Box::new(session),
            slot: Slot::default(),
        }
    }

    /// The session beneath records that are made of SQL.
    pub fn beneath(records: SqlRecords<impl SqlSession + Transactional + 'static>) -> Self {
        Self::new(records.into_session())
    }
}

/// An object of which a test knows what session it is.
pub struct Known<S> {
    any: AnySql,
    of: PhantomData<S>,
}

impl<S: SqlSession + Transactional + 'static> Known<S> {
    pub fn new(session: S) -> Self {
        Self {
            any: AnySql::new(session),
            of: PhantomData,
        }
    }

    pub fn any(&mut self) -> &mut AnySql {
        &mut self.any
    }
}

impl<S: 'static> Deref for Known<S> {
    type Target = S;
    fn deref(&self) -> &S {
        let session: &dyn Any = &*self.any.session;
        session
            .downcast_ref()
            .unwrap_or_else(|| unreachable!("it was made of one"))
    }
}

impl<S: 'static> DerefMut for Known<S> {
    fn deref_mut(&mut self) -> &mut S {
        let session: &mut dyn Any = &mut *self.any.session;
        session
            .downcast_mut()
            .unwrap_or_else(|| unreachable!("it was made of one"))
    }
}

/// Any session that has records: its own, or made of SQL.
pub enum AnyRecords {
    Own(OwnRecords),
    Sql(SqlRecords<AnySql>),
}

/// Any session that has records of its own.
pub struct OwnRecords {
    session: Box<dyn object::RecordObject>,
    slot: Slot,
}

impl AnyRecords {
    pub fn new(session: impl RecordSession + Transactional + 'static) -> Self {
        Self::Own(OwnRecords {
            session: Box::new(session),
            slot: Slot::default(),
        })
    }

    pub fn of_sql(session: AnySql) -> Self {
        Self::Sql(SqlRecords::new(session))
    }

    /// An object, too: what others await does not grow by it.
    pub fn of_documents(session: AnyDocuments) -> Self {
        Self::new(DocumentRecords::new(session))
    }
}

/// Any session that has documents: its own, or made of SQL or of records.
pub struct AnyDocuments {
    session: Box<dyn object::DocumentObject>,
    slot: Slot,
}

impl AnyDocuments {
    pub fn new(session: impl DocumentSession + Transactional + 'static) -> Self {
        Self {
            session: Box::new(session),
            slot: Slot::default(),
        }
    }

    pub fn of_sql(session: AnySql) -> Self {
        Self::new(SqlDocuments::new(session))
    }

    pub fn of_records(session: AnyRecords) -> Self {
        Self::new(RecordDocuments::new(session))
    }
}

impl Asked for AnySql {
    #[inline]
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }
}

impl Asked for AnyDocuments {
    #[inline]
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }
}

impl Asked for AnyRecords {
    #[inline]
    fn asked(&self) -> Option<u32> {
        match self {
            Self::Own(own) => own.session.asked(),
            Self::Sql(sql) => sql.asked(),
        }
    }
}

/// A session trait for [`AnySql`] or [`AnyDocuments`]: each call is the object's.
macro_rules! through_the_slot {
    ($(fn $method:ident($($name:ident: $type:ty),*) -> $out:ty;)*) => {
        $(#[inline]
        async fn $method(&mut self, $($name: $type),*) -> Result<$out, OpError> {
            started(|cx| self.session.$method(&mut self.slot, cx, $($name),*)).await
        })*
    };
}

impl SqlSession for AnySql {
    #[inline]
    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }

    through_the_slot! {
        fn prepare(ask: &Ask<'_>) -> Statement;
        fn execute(statement: Statement, params: &[Value<'_>]) -> Done;
        fn query(statement: Statement, params: &[Value<'_>], each: &mut dyn FnMut(&RowBuf)) -> u64;
        fn query_one(statement: Statement, params: &[Value<'_>]) -> Option<&RowBuf>;
        fn execute_text(sql: &str) -> Done;
        fn query_text(sql: &str, each: &mut dyn FnMut(&RowBuf)) -> u64;
        fn bulk_insert(table: &str, columns: &[&str], next: &mut dyn FnMut(&mut RowBuf) -> bool) -> u64;
        fn run_batch(batch: &Pipeline) -> ();
        fn query_all(reads: &Pipeline, each: &mut dyn FnMut(&RowBuf)) -> u64;
        fn run_pipeline(pipeline: &Pipeline, each: &mut dyn FnMut(usize, Part<'_>)) -> ();
    }
}

impl Transactional for AnySql {
    through_the_slot! {
        fn begin(access: Access) -> ();
        fn commit() -> ();
        fn rollback() -> ();
    }
}

impl DocumentSession for AnyDocuments {
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }

    through_the_slot! {
        fn attach(collections: &[CollectionSpec]) -> ();
        fn prepare(collection: Collection, uses: &[DocumentUse<'_>]) -> ();
        fn create_collection(collection: &CollectionSpec) -> ();
        fn drop_collection(collection: &CollectionSpec) -> ();
        fn collection_exists(collection: &CollectionSpec) -> bool;
        fn get(collection: Collection, key: &[u8], select: Select<'_>) -> Option<&Found>;
        fn get_batch(collection: Collection, keys: &[&[u8]], select: Select<'_>, each: &mut dyn FnMut(&Found)) -> u64;
        fn put(collection: Collection, document: Keyed<'_>, expect: Expect<'_>) -> Option<u64>;
        fn put_batch(collection: Collection, documents: &[Keyed<'_>]) -> u64;
        fn patch(collection: Collection, key: &[u8], values: &[Patch<'_>]) -> Option<u64>;
        fn delete(collection: Collection, key: &[u8], revision: Option<&[u8]>) -> Option<u64>;
        fn find(collection: Collection, conditions: &[Condition<'_>], select: Select<'_>, limit: Option<u32>, each: &mut dyn FnMut(&Found)) -> u64;
        fn count(collection: Collection, conditions: &[Condition<'_>]) -> u64;
        fn range(collection: Collection, start: &[u8], limit: Option<u32>, select: Select<'_>, each: &mut dyn FnMut(&Found)) -> u64;
    }
}

impl Transactional for AnyDocuments {
    through_the_slot! {
        fn begin(access: Access) -> ();
        fn commit() -> ();
        fn rollback() -> ();
    }
}

/// A session trait for [`AnyRecords`]: each call is the object's, or the adapter's.
macro_rules! by_either {
    ($(fn $method:ident($($name:ident: $type:ty),*) -> $out:ty;)*) => {
        $(#[inline]
        async fn $method(&mut self, $($name: $type),*) -> Result<$out, OpError> {
            match self {
                Self::Own(own) => started(|cx| own.session.$method(&mut own.slot, cx, $($name),*)).await,
                Self::Sql(sql) => sql.$method($($name),*).await,
            }
        })*
    };
}

impl RecordSession for AnyRecords {
    by_either! {
        fn attach(tables: &[TableSpec]) -> ();
        fn prepare(table: Table, uses: &[Use]) -> ();
        fn is_partial() -> bool;
        fn create_table(table: &TableSpec) -> ();
        fn drop_table(table: &TableSpec) -> ();
        fn table_exists(table: &TableSpec) -> bool;
        fn read(table: Table, key: &[u8], fields: Fields) -> Option<&RowBuf>;
        fn insert(table: Table, record: Record<'_>) -> Option<u64>;
        fn update(table: Table, key: &[u8], values: &[FieldValue<'_>]) -> Option<u64>;
        fn delete(table: Table, key: &[u8]) -> Option<u64>;
        fn scan(table: Table, start: &[u8], limit: Option<u32>, fields: Fields, each: &mut dyn FnMut(&RowBuf)) -> u64;
        fn insert_batch(table: Table, records: &[Record<'_>]) -> u64;
        fn count(table: Table) -> u64;
    }
}

impl Transactional for AnyRecords {
    by_either! {
        fn begin(access: Access) -> ();
        fn commit() -> ();
        fn rollback() -> ();
    }
}
