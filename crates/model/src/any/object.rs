//! The traits that sessions are objects of. In a room of their own: their calls have the names of the sessions' own.
use crate::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch, Select,
};
use crate::outcome::OpError;
use crate::pipeline::{Part, Pipeline};
use crate::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, Use};
use crate::row::RowBuf;
use crate::slot::{Slot, Started};
use crate::sql::{Ask, SqlSession};
use crate::statement::{Done, Statement};
use crate::transaction::{Access, Transactional};
use crate::value::Value;
use std::any::Any;
use std::task::Context;

/// The twin of session traits that can be made an object: the same calls, their futures started in a slot. `'own`: for as long as the
/// session is borrowed, with the row that it gives; `'call`: for as long as the call lasts.
macro_rules! object_form {
    ($object:ident<$own:lifetime, $call:lifetime> of $first:ident + $second:ident { $(fn $method:ident($($name:ident: $type:ty),*) -> $out:ty;)* }) => {
        #[allow(clippy::too_many_arguments)] // those of the call, and where it is started
        pub trait $object: Any {
            $(fn $method<$own: $call, $call>(&$own mut self, slot: &$call mut Slot, cx: &mut Context<'_>, $($name: $type),*) -> Started<$call, Result<$out, OpError>>;)*
            fn asked(&self) -> Option<u32>;
        }
        impl<S: $first + $second + 'static> $object for S {
            $(#[inline]
            fn $method<$own: $call, $call>(&$own mut self, slot: &$call mut Slot, cx: &mut Context<'_>, $($name: $type),*) -> Started<$call, Result<$out, OpError>> {
                slot.start(cx, || S::$method(self, $($name),*))
            })*
            fn asked(&self) -> Option<u32> {
                <S as $first>::asked(self)
            }
        }
    };
}

object_form!(SqlObject<'own, 'call> of SqlSession + Transactional {
    fn prepare(ask: &'call Ask<'call>) -> Statement;
    fn execute(statement: Statement, params: &'call [Value<'call>]) -> Done;
    fn query(statement: Statement, params: &'call [Value<'call>], each: &'call mut (dyn FnMut(&RowBuf) + 'call)) -> u64;
    fn query_one(statement: Statement, params: &'call [Value<'call>]) -> Option<&'own RowBuf>;
    fn execute_text(sql: &'call str) -> Done;
    fn query_text(sql: &'call str, each: &'call mut (dyn FnMut(&RowBuf) + 'call)) -> u64;
    fn bulk_insert(table: &'call str, columns: &'call [&'call str], next: &'call mut (dyn FnMut(&mut RowBuf) -> bool + 'call)) -> u64;
    fn run_batch(batch: &'call Pipeline) -> ();
    fn query_all(reads: &'call Pipeline, each: &'call mut (dyn FnMut(&RowBuf) + 'call)) -> u64;
    fn run_pipeline(pipeline: &'call Pipeline, each: &'call mut (dyn FnMut(usize, Part<'_>) + 'call)) -> ();
    fn begin(access: Access) -> ();
    fn commit() -> ();
    fn rollback() -> ();
});

object_form!(RecordObject<'own, 'call> of RecordSession + Transactional {
    fn attach(tables: &'call [TableSpec]) -> ();
    fn prepare(table: Table, uses: &'call [Use]) -> ();
    fn is_partial() -> bool;
    fn create_table(table: &'call TableSpec) -> ();
    fn drop_table(table: &'call TableSpec) -> ();
    fn table_exists(table: &'call TableSpec) -> bool;
    fn read(table: Table, key: &'call [u8], fields: Fields) -> Option<&'own RowBuf>;
    fn insert(table: Table, record: Record<'call>) -> Option<u64>;
    fn update(table: Table, key: &'call [u8], values: &'call [FieldValue<'call>]) -> Option<u64>;
    fn delete(table: Table, key: &'call [u8]) -> Option<u64>;
    fn scan(table: Table, start: &'call [u8], limit: Option<u32>, fields: Fields, each: &'call mut (dyn FnMut(&RowBuf) + 'call)) -> u64;
    fn insert_batch(table: Table, records: &'call [Record<'call>]) -> u64;
    fn count(table: Table) -> u64;
    fn begin(access: Access) -> ();
    fn commit() -> ();
    fn rollback() -> ();
});

object_form!(DocumentObject<'own, 'call> of DocumentSession + Transactional {
    fn attach(collections: &'call [CollectionSpec]) -> ();
    fn prepare(collection: Collection, uses: &'call [DocumentUse<'call>]) -> ();
    fn create_collection(collection: &'call CollectionSpec) -> ();
    fn drop_collection(collection: &'call CollectionSpec) -> ();
    fn collection_exists(collection: &'call CollectionSpec) -> bool;
    fn get(collection: Collection, key: &'call [u8], select: Select<'call>) -> Option<&'own Found>;
    fn get_batch(collection: Collection, keys: &'call [&'call [u8]], select: Select<'call>, each: &'call mut (dyn FnMut(&Found) + 'call)) -> u64;
    fn put(collection: Collection, document: Keyed<'call>, expect: Expect<'call>) -> Option<u64>;
    fn put_batch(collection: Collection, documents: &'call [Keyed<'call>]) -> u64;
    fn patch(collection: Collection, key: &'call [u8], values: &'call [Patch<'call>]) -> Option<u64>;
    fn delete(collection: Collection, key: &'call [u8], revision: Option<&'call [u8]>) -> Option<u64>;
    fn find(collection: Collection, conditions: &'call [Condition<'call>], select: Select<'call>, limit: Option<u32>, each: &'call mut (dyn FnMut(&Found) + 'call)) -> u64;
    fn count(collection: Collection, conditions: &'call [Condition<'call>]) -> u64;
    fn range(collection: Collection, start: &'call [u8], limit: Option<u32>, select: Select<'call>, each: &'call mut (dyn FnMut(&Found) + 'call)) -> u64;
    fn begin(access: Access) -> ();
    fn commit() -> ();
    fn rollback() -> ();
});
