//! Documents over records: the adapter that gives a driver with records of its own the document shape. A document is one
//! field of JSON, so it is got and stored whole; what a read selects is taken out of it here. Nothing finds documents by
//! what is in them, sets part of one, or knows a revision: a workload that needs it is refused before anything starts.
use crate::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch,
    PathSpec, Select,
};
use crate::json::{at, push_cell};
use crate::outcome::{FailClass, OpError, Outcome};
use crate::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, Use, ValueType};
use crate::row::RowBuf;
use crate::transaction::{Access, Transactional};
use crate::value::Value;

pub struct RecordDocuments<S> {
    session: S,
    collections: Vec<CollectionSpec>,
    found: Found,
    text: Vec<u8>,
}

impl<S: RecordSession> RecordDocuments<S> {
    pub fn new(session: S) -> Self {
        Self {
            session,
            collections: Vec::new(),
            found: Found::default(),
            text: Vec::new(),
        }
    }
}

fn table(collection: &CollectionSpec) -> TableSpec {
    TableSpec {
        name: collection.name.clone(),
        key_column: "id".into(),
        key_length: collection.key_length,
        field_names: vec!["doc".into()],
        value_type: ValueType::Text,
    }
}

/// `ends`: where the document does.
fn record<'a>(document: Keyed<'a>, ends: &'a [u32]) -> Record<'a> {
    Record {
        key: document.key,
        bytes: document.json,
        ends,
    }
}

fn fill(
    found: &mut Found,
    text: &mut Vec<u8>,
    key: &[u8],
    json: Option<Value<'_>>,
    select: Select<'_>,
    paths: &[PathSpec],
) {
    let json = json.and_then(Value::bytes).unwrap_or_default();
    found.clear();
    found.key.extend_from_slice(key);
    match select {
        Select::Whole => found.json.extend_from_slice(json),
        Select::Paths(selected) => {
            for path in selected {
                let path = &paths[*path as usize];
                push_cell(at(json, &path.steps), path.kind, text, &mut found.cells);
            }
        }
        Select::Key => {}
    }
}

#[cold]
fn none_of(what: &str) -> OpError {
    let what = format!("this system keeps documents as they are, and {what}");
    OpError::fail(FailClass::Refused, "DOCUMENT", what)
}

impl<S: RecordSession + Transactional> DocumentSession for RecordDocuments<S> {
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }

    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        self.collections = collections.to_vec();
        let tables: Vec<TableSpec> = collections.iter().map(table).collect();
        self.session.attach(&tables).await
    }

    async fn prepare(&mut self, collection: Collection, uses: &[DocumentUse<'_>]) -> Result<(), OpError> {
        let used = uses.iter().filter_map(|used| match used {
            DocumentUse::Get(_) => Some(Use::Read(Fields::AllByName)),
            DocumentUse::Put(Expect::Present) => Some(Use::UpdateAll),
            DocumentUse::Put(_) => Some(Use::Insert),
            DocumentUse::Range(_) => Some(Use::Scan(Fields::All)),
            _ => None,
        });
        let used: Vec<Use> = used.collect();
        self.session.prepare(Table(collection.0), &used).await
    }

    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        self.session.create_table(&table(collection)).await
    }

    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        self.session.drop_table(&table(collection)).await
    }

    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError> {
        self.session.table_exists(&table(collection)).await
    }

    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        let read = self
            .session
            .read(Table(collection.0), key, Fields::AllByName)
            .await?;
        let Some(row) = read else {
            return Ok(None);
        };
        let paths = &self.collections[collection.0 as usize].paths;
        fill(&mut self.found, &mut self.text, key, row.cell(0), select, paths);
        Ok(Some(&self.found))
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

    async fn put(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
        expect: Expect<'_>,
    ) -> Result<Option<u64>, OpError> {
        let (table, ends) = (Table(collection.0), [document.json.len() as u32]);
        let all = [FieldValue {
            field: 0,
            value: document.json,
        }];
        match expect {
            Expect::Absent => self.session.insert(table, record(document, &ends)).await,
            Expect::Present => self.session.update(table, document.key, &all).await,
            Expect::Anything => {
                let updated = self.session.update(table, document.key, &all).await?;
                if updated != Some(0) {
                    return Ok(updated);
                }
                match self.session.insert(table, record(document, &ends)).await {
                    // Somebody stored it in between.
                    Err(error) if error.outcome == Outcome::Fail(FailClass::Constraint) => {
                        self.session.update(table, document.key, &all).await
                    }
                    inserted => inserted,
                }
            }
            Expect::Revision(_) => Err(none_of("without revisions")),
        }
    }

    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        let ends: Vec<[u32; 1]> = documents
            .iter()
            .map(|document| [document.json.len() as u32])
            .collect();
        let records: Vec<Record<'_>> = documents
            .iter()
            .zip(&ends)
            .map(|(document, ends)| record(*document, ends))
            .collect();
        self.session.insert_batch(Table(collection.0), &records).await
    }

    async fn patch(
        &mut self,
        _collection: Collection,
        _key: &[u8],
        _values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        Err(none_of("sets no part of one"))
    }

    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError> {
        match revision {
            None => self.session.delete(Table(collection.0), key).await,
            Some(_) => Err(none_of("without revisions")),
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
        Err(none_of("finds none by what is in it"))
    }

    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        match conditions {
            [] => self.session.count(Table(collection.0)).await,
            _ => Err(none_of("finds none by what is in it")),
        }
    }

    async fn range(
        &mut self,
        collection: Collection,
        start: &[u8],
        limit: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let Self {
            session,
            collections,
            found,
            text,
        } = self;
        let paths = &collections[collection.0 as usize].paths;
        let mut take = |row: &RowBuf| {
            let key = row.cell(0).and_then(Value::bytes).unwrap_or_default();
            fill(found, text, key, row.cell(1), select, paths);
            each(found);
        };
        session
            .scan(Table(collection.0), start, limit, Fields::All, &mut take)
            .await
    }
}

impl<S: RecordSession + Transactional> Transactional for RecordDocuments<S> {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        self.session.begin(access).await
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.session.commit().await
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.session.rollback().await
    }
}
