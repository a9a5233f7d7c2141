//! Documents as items: each operation is one request, but for results of several pages and batches that the service takes in
//! parts.
use super::calls::{Action, Calls};
use super::errors::{CONDITION, NO_TABLE, client, of_class};
use super::expressions::{
    Attached, by_index, index_entry, index_type, looked_for, number, projection, update,
};
use super::signature::hex;
use super::typed;
use crate::server::errors::malformed;
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Found, Keyed, Patch, Select,
};
use bakeoff_model::json::{self, Elements};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::time::sleep;
use bakeoff_model::transaction::Transactional;
use std::time::Duration;

/// How often a table is asked what has become of it.
const LOOKS_MAX: u32 = 3000;
const LOOKED_EVERY: Duration = Duration::from_millis(200);

/// How a session's requests are made.
#[derive(Clone, Copy)]
pub struct Modes {
    pub consistent: bool,
    /// Of batches.
    pub transactional: bool,
}

pub struct DynamodbSession {
    pub(super) calls: Calls,
    pub(super) modes: Modes,
    pub(super) collections: Vec<Attached>,
    pub(super) found: Found,
    pub(super) text: Vec<u8>,
    /// What the service wants to be asked next: a page's key, or the rest of a batch.
    pub(super) next: Vec<u8>,
    pub(super) revision: u64,
}

impl DynamodbSession {
    pub fn new(calls: Calls, modes: Modes, revision: u64) -> Self {
        Self {
            calls,
            modes,
            collections: Vec::new(),
            found: Found::default(),
            text: Vec::new(),
            next: Vec::new(),
            revision,
        }
    }

    /// One that no other write has: sessions count on from numbers at random.
    #[inline]
    pub(super) fn next_revision(&mut self) -> [u8; 16] {
        self.revision = self.revision.wrapping_add(1);
        let mut text = [0; 16];
        text.copy_from_slice(&hex(&self.revision.to_be_bytes())[..16]);
        text
    }

    /// None: there is no such table.
    async fn describe(&mut self, name: &str) -> Result<Option<&[u8]>, OpError> {
        table_name(self.calls.begin(Action::DescribeTable).await?, name);
        match self.calls.send().await {
            Ok(_) => Ok(json::at(self.calls.answer(), ["Table", "TableStatus"])),
            Err(error) if error.code == NO_TABLE => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until a table has this status, or there is none.
    async fn settled(&mut self, name: &str, status: Option<&str>) -> Result<(), OpError> {
        for _ in 0..LOOKS_MAX {
            if self.describe(name).await? == status.map(str::as_bytes) {
                return Ok(());
            }
            sleep(LOOKED_EVERY).await;
        }
        let what = format!("the table {name} was not ready within ten minutes");
        Err(OpError::fail(FailClass::Other, "CLIENT", what))
    }

    /// Sends a Query or a Scan of documents, page after page, and hands over what is in them. Documents seen.
    async fn look(
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
            let left = limit - seen;
            self.ask_page(collection, conditions, Some(select), left).await?;
            let Self {
                calls,
                collections,
                found,
                text,
                next,
                ..
            } = self;
            let collection = &collections[collection.0 as usize];
            let answer = calls.answer();
            let items = json::at(answer, ["Items"]).ok_or_else(|| malformed("it has no items"))?;
            for item in Elements::of(items).take(usize::try_from(left).unwrap_or(usize::MAX)) {
                fill(found, item, select, collection, text)?;
                each(found);
                seen += 1;
            }
            if !next_page(answer, next) {
                break;
            }
        }
        Ok(seen)
    }

    /// `select`: none, for a count. With a filter the service's own limit would be one of what is looked at.
    async fn ask_page(
        &mut self,
        collection: Collection,
        conditions: &[Condition<'_>],
        select: Option<Select<'_>>,
        limit: u64,
    ) -> Result<(), OpError> {
        let collection = &self.collections[collection.0 as usize];
        // Indexes follow their tables after a while, and have no consistent reads.
        let by = by_index(conditions, collection).filter(|_| !self.modes.consistent);
        let action = by.map_or(Action::Scan, |_| Action::Query);
        let body = self.calls.begin(action).await?;
        begin(body, collection, self.modes.consistent);
        looked_for(body, collection, conditions, by, select);
        if select.is_none() {
            body.extend_from_slice(b",\"Select\":\"COUNT\"");
        }
        let filters = conditions.len() - usize::from(by.is_some());
        if filters == 0 && limit <= i32::MAX as u64 {
            body.extend_from_slice(b",\"Limit\":");
            number(body, limit as usize);
        }
        if !self.next.is_empty() {
            body.extend_from_slice(b",\"ExclusiveStartKey\":");
            body.extend_from_slice(&self.next);
        }
        body.push(b'}');
        self.calls.send().await.map(|_| ())
    }
}

fn table_name(body: &mut Vec<u8>, name: &str) {
    body.extend_from_slice(format!("{{\"TableName\":\"{name}\"}}").as_bytes());
}

/// `{"TableName":"c"`, of a read with what it says of consistency.
#[inline]
pub(super) fn begin(body: &mut Vec<u8>, collection: &Attached, consistent: bool) {
    body.extend_from_slice(b"{\"TableName\":");
    body.extend_from_slice(&collection.name);
    if consistent {
        body.extend_from_slice(b",\"ConsistentRead\":true");
    }
}

/// `{"#key":{"S":"k"}`
#[inline]
pub(super) fn open_key(body: &mut Vec<u8>, key: &[u8]) {
    body.extend_from_slice(b"{\"#key\":");
    typed::text(body, key);
}

#[inline]
pub(super) fn item(
    body: &mut Vec<u8>,
    collection: &Attached,
    document: Keyed<'_>,
    revision: &[u8],
) -> Result<(), OpError> {
    open_key(body, document.key);
    body.extend_from_slice(b",\"#rev\":");
    typed::text(body, revision);
    typed::append(body, document.json)?;
    for (path, index) in collection.indexes() {
        index_entry(body, path, index, json::at(document.json, &path.steps));
    }
    body.push(b'}');
    Ok(())
}

#[inline]
pub(super) fn fill(
    found: &mut Found,
    item: &[u8],
    select: Select<'_>,
    collection: &Attached,
    text: &mut Vec<u8>,
) -> Result<(), OpError> {
    found.clear();
    let own = |name: &str| json::at(item, [name]).and_then(typed::plain);
    let has_key = own("#key").is_some_and(|key| json::unescape(key, &mut found.key));
    let has_revision = own("#rev").is_some_and(|revision| json::unescape(revision, &mut found.revision));
    if !has_key || !has_revision {
        return Err(malformed(
            "an item without key or revision, which this driver did not write",
        ));
    }
    match select {
        Select::Whole => typed::write(&mut found.json, item)?,
        Select::Paths(paths) => {
            for place in paths {
                let path = &collection.paths[*place as usize];
                let plain = typed::at(item, &path.steps).and_then(typed::plain);
                json::push_cell(plain, path.kind, text, &mut found.cells);
            }
        }
        Select::Key => {}
    }
    Ok(())
}

/// Whether there is another page, and its beginning.
#[inline]
fn next_page(answer: &[u8], next: &mut Vec<u8>) -> bool {
    next.clear();
    match json::at(answer, ["LastEvaluatedKey"]) {
        Some(key @ [b'{', ..]) => next.extend_from_slice(key),
        _ => return false,
    }
    true
}

impl Transactional for DynamodbSession {}

impl DocumentSession for DynamodbSession {
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        self.collections = collections.iter().map(Attached::new).collect();
        Ok(())
    }

    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let attached = Attached::new(collection);
        let mut attributes = "{\"AttributeName\":\"#key\",\"AttributeType\":\"S\"}".to_owned();
        let mut indexes = String::new();
        for (path, index) in attached.indexes() {
            let attribute = String::from_utf8_lossy(&index.attribute);
            let kind = index_type(path)?;
            attributes += &format!(",{{\"AttributeName\":\"{attribute}\",\"AttributeType\":\"{kind}\"}}");
            let comma = if indexes.is_empty() { "" } else { "," };
            indexes += &format!(
                "{comma}{{\"IndexName\":{},\"KeySchema\":[{{\"AttributeName\":\"{attribute}\",\"KeyType\":\"HASH\"}}],\
                 \"Projection\":{{\"ProjectionType\":\"ALL\"}}}}",
                String::from_utf8_lossy(&index.name)
            );
        }
        let indexes = match indexes.is_empty() {
            true => String::new(),
            false => format!(",\"GlobalSecondaryIndexes\":[{indexes}]"),
        };
        let body = self.calls.begin(Action::CreateTable).await?;
        body.extend_from_slice(
            format!(
                "{{\"TableName\":\"{}\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":[{attributes}],\
                 \"KeySchema\":[{{\"AttributeName\":\"#key\",\"KeyType\":\"HASH\"}}]{indexes}}}",
                collection.name
            )
            .as_bytes(),
        );
        self.calls.send().await?;
        self.settled(&collection.name, Some("\"ACTIVE\"")).await
    }

    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        table_name(self.calls.begin(Action::DeleteTable).await?, &collection.name);
        match self.calls.send().await {
            Ok(_) => self.settled(&collection.name, None).await,
            Err(error) if error.code == NO_TABLE => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError> {
        Ok(self.describe(&collection.name).await?.is_some())
    }

    #[inline]
    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        let Self {
            calls,
            collections,
            found,
            text,
            modes,
            ..
        } = self;
        let collection = &collections[collection.0 as usize];
        let body = calls.begin(Action::GetItem).await?;
        begin(body, collection, modes.consistent);
        body.extend_from_slice(b",\"Key\":");
        open_key(body, key);
        body.push(b'}');
        projection(body, collection, select);
        body.push(b'}');
        match json::at(calls.send().await?, ["Item"]) {
            Some(item) => fill(found, item, select, collection, text)?,
            None => return Ok(None),
        }
        Ok(Some(found))
    }

    async fn get_batch(
        &mut self,
        collection: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        match self.modes.transactional {
            true => self.get_in_transactions(collection, keys, select, each).await,
            false => self.get_in_batches(collection, keys, select, each).await,
        }
    }

    #[inline]
    async fn put(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
        expect: Expect<'_>,
    ) -> Result<Option<u64>, OpError> {
        let revision = self.next_revision();
        let Self {
            calls, collections, ..
        } = self;
        let collection = &collections[collection.0 as usize];
        let body = calls.begin(Action::PutItem).await?;
        begin(body, collection, false);
        body.extend_from_slice(b",\"Item\":");
        item(body, collection, document, &revision)?;
        expected(body, expect);
        body.push(b'}');
        match (calls.send().await, expect) {
            (Ok(_), _) => Ok(Some(1)),
            (Err(error), Expect::Present) if error.code == CONDITION => Ok(Some(0)),
            (Err(error), Expect::Absent) if error.code == CONDITION => {
                Err(of_class(error, FailClass::Constraint))
            }
            (Err(error), _) => Err(error),
        }
    }

    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        match self.modes.transactional {
            true => self.put_in_transactions(collection, documents).await,
            false => self.put_in_batches(collection, documents).await,
        }?;
        Ok(documents.len() as u64)
    }

    async fn patch(
        &mut self,
        collection: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        let revision = self.next_revision();
        let Self {
            calls, collections, ..
        } = self;
        let collection = &collections[collection.0 as usize];
        let body = calls.begin(Action::UpdateItem).await?;
        begin(body, collection, false);
        body.extend_from_slice(b",\"Key\":");
        open_key(body, key);
        body.push(b'}');
        update(body, collection, values, &revision);
        body.push(b'}');
        counted(calls.send().await)
    }

    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError> {
        let Self {
            calls, collections, ..
        } = self;
        let collection = &collections[collection.0 as usize];
        let body = calls.begin(Action::DeleteItem).await?;
        begin(body, collection, false);
        body.extend_from_slice(b",\"Key\":");
        open_key(body, key);
        body.push(b'}');
        expected(body, revision.map_or(Expect::Present, Expect::Revision));
        body.push(b'}');
        match (calls.send().await, revision) {
            (Err(error), Some(_)) => Err(error),
            (deleted, _) => counted(deleted),
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
        self.look(collection, conditions, select, limit, each).await
    }

    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        let mut count = 0;
        self.next.clear();
        loop {
            self.ask_page(collection, conditions, None, u64::MAX).await?;
            let answer = self.calls.answer();
            let said = json::at(answer, ["Count"]).and_then(|digits| std::str::from_utf8(digits).ok());
            let said = said.and_then(|digits| digits.parse::<u64>().ok());
            count += said.ok_or_else(|| malformed("it has no count"))?;
            if !next_page(answer, &mut self.next) {
                return Ok(count);
            }
        }
    }

    /// Items are spread by a hash of their keys, and have no order.
    async fn range(
        &mut self,
        collection: Collection,
        start: &[u8],
        limit: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        if !start.is_empty() {
            return Err(client("DynamoDB has no order of keys to begin within"));
        }
        self.look(collection, &[], select, limit, each).await
    }
}

/// What a write expects, as a condition.
#[inline]
pub(super) fn expected(body: &mut Vec<u8>, expect: Expect<'_>) {
    match expect {
        Expect::Anything => {}
        Expect::Absent => body.extend_from_slice(
            br##","ConditionExpression":"attribute_not_exists(#k)","ExpressionAttributeNames":{"#k":"#key"}"##,
        ),
        Expect::Present => body.extend_from_slice(
            br##","ConditionExpression":"attribute_exists(#k)","ExpressionAttributeNames":{"#k":"#key"}"##,
        ),
        Expect::Revision(revision) => {
            body.extend_from_slice(
                br##","ConditionExpression":"#v = :r","ExpressionAttributeNames":{"#v":"#rev"},"ExpressionAttributeValues":{":r":"##,
            );
            typed::text(body, revision);
            body.push(b'}');
        }
    }
}

/// Of a write that expects its document to be there.
#[inline]
fn counted(written: Result<&[u8], OpError>) -> Result<Option<u64>, OpError> {
    match written {
        Ok(_) => Ok(Some(1)),
        Err(error) if error.code == CONDITION => Ok(Some(0)),
        Err(error) => Err(error),
    }
}
