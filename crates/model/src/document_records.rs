//! Records over documents: the adapter that gives any [`DocumentSession`] the record shape. A record is a flat document of
//! texts, a member for each field.
use crate::document::{
    Collection, CollectionSpec, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch, PathKind,
    PathSpec, Select,
};
use crate::json::{Members, unescape, write_text};
use crate::outcome::OpError;
use crate::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, Use, ValueType};
use crate::row::RowBuf;
use crate::transaction::{Access, Transactional};
use crate::value::Value;
use smallvec::SmallVec;

pub struct DocumentRecords<S> {
    session: S,
    tables: Vec<Attached>,
    row: RowBuf,
    /// Of the documents to be written, one behind the other.
    json: Vec<u8>,
    text: Vec<u8>,
}

struct Attached {
    spec: TableSpec,
    /// Of all fields, in their order.
    paths: Vec<u32>,
}

impl<S: DocumentSession> DocumentRecords<S> {
    pub fn new(session: S) -> Self {
        Self {
            session,
            tables: Vec::new(),
            row: RowBuf::default(),
            json: Vec::new(),
            text: Vec::new(),
        }
    }
}

fn collection(spec: &TableSpec) -> CollectionSpec {
    let length = match spec.value_type {
        ValueType::Text => u32::MAX,
        ValueType::Varchar(length) => length,
    };
    let path = |name: &String| PathSpec {
        steps: vec![name.clone()],
        kind: PathKind::Text(length),
        indexed: false,
    };
    CollectionSpec {
        name: spec.name.clone(),
        key_length: spec.key_length,
        paths: spec.field_names.iter().map(path).collect(),
    }
}

/// Whole records are whole documents.
fn selected<'a>(fields: Fields, paths: &'a [u32]) -> Select<'a> {
    match fields {
        Fields::All | Fields::AllByName => Select::Whole,
        Fields::One(field) => Select::Paths(std::slice::from_ref(&paths[field as usize])),
    }
}

/// A row of the record in a document. A field that it lacks is null.
fn fill(row: &mut RowBuf, text: &mut Vec<u8>, found: &Found, spec: &TableSpec, fields: Fields) {
    row.clear();
    if let Fields::One(_) = fields {
        return row.push(found.cells.cell(0).unwrap_or(Value::Null));
    }
    if fields == Fields::All {
        row.push(Value::Text(&found.key));
    }
    let mut members = Members::of(&found.json);
    for name in &spec.field_names {
        // Most systems keep their order.
        let next = members.next().filter(|(known, _)| *known == name.as_bytes());
        let member = next.or_else(|| Members::of(&found.json).find(|(known, _)| *known == name.as_bytes()));
        text.clear();
        match member {
            Some((_, value)) if unescape(value, text) => row.push(Value::Text(text)),
            _ => row.push(Value::Null),
        }
    }
}

fn write<'a>(json: &mut Vec<u8>, spec: &TableSpec, values: impl Iterator<Item = &'a [u8]>) {
    json.push(b'{');
    for (at, (name, value)) in spec.field_names.iter().zip(values).enumerate() {
        if at > 0 {
            json.push(b',');
        }
        write_text(name.as_bytes(), json);
        json.push(b':');
        write_text(value, json);
    }
    json.push(b'}');
}

impl<S: DocumentSession + Transactional> RecordSession for DocumentRecords<S> {
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }

    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        let attached = |spec: &TableSpec| Attached {
            paths: (0..spec.field_names.len() as u32).collect(),
            spec: spec.clone(),
        };
        self.tables = tables.iter().map(attached).collect();
        let collections: Vec<CollectionSpec> = tables.iter().map(collection).collect();
        self.session.attach(&collections).await
    }

    async fn prepare(&mut self, table: Table, uses: &[Use]) -> Result<(), OpError> {
        let paths = &self.tables[table.0 as usize].paths;
        let used = uses.iter().map(|used| match *used {
            Use::Read(fields) => DocumentUse::Get(selected(fields, paths)),
            Use::Scan(fields) => DocumentUse::Range(selected(fields, paths)),
            Use::Insert => DocumentUse::Put(Expect::Absent),
            Use::UpdateAll => DocumentUse::Put(Expect::Present),
            Use::UpdateOne(field) => DocumentUse::Patch(std::slice::from_ref(&paths[field as usize])),
        });
        let used: Vec<DocumentUse<'_>> = used.collect();
        self.session.prepare(Collection(table.0), &used).await
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        self.session.create_collection(&collection(table)).await
    }

    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        self.session.drop_collection(&collection(table)).await
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        self.session.collection_exists(&collection(table)).await
    }

    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let Attached { spec, paths } = &self.tables[table.0 as usize];
        let found = self
            .session
            .get(Collection(table.0), key, selected(fields, paths))
            .await?;
        let Some(found) = found else {
            return Ok(None);
        };
        fill(&mut self.row, &mut self.text, found, spec, fields);
        Ok(Some(&self.row))
    }

    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        let spec = &self.tables[table.0 as usize].spec;
        self.json.clear();
        write(&mut self.json, spec, record.values());
        let document = Keyed {
            key: record.key,
            json: &self.json,
        };
        self.session
            .put(Collection(table.0), document, Expect::Absent)
            .await
    }

    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        let spec = &self.tables[table.0 as usize].spec;
        let fields = values.iter().map(|value| value.field);
        if values.len() == spec.field_names.len() && fields.eq(0..values.len() as u32) {
            self.json.clear();
            write(&mut self.json, spec, values.iter().map(|value| value.value));
            let document = Keyed {
                key,
                json: &self.json,
            };
            return self
                .session
                .put(Collection(table.0), document, Expect::Present)
                .await;
        }
        let patches: SmallVec<[Patch<'_>; 12]> = values
            .iter()
            .map(|value| Patch {
                path: value.field,
                value: Value::Text(value.value),
            })
            .collect();
        self.session.patch(Collection(table.0), key, &patches).await
    }

    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        self.session.delete(Collection(table.0), key, None).await
    }

    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let Self {
            session,
            tables,
            row,
            text,
            ..
        } = self;
        let Attached { spec, paths } = &tables[table.0 as usize];
        let mut take = |found: &Found| {
            fill(row, text, found, spec, fields);
            each(row);
        };
        session
            .range(
                Collection(table.0),
                start,
                limit,
                selected(fields, paths),
                &mut take,
            )
            .await
    }

    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let spec = &self.tables[table.0 as usize].spec;
        self.json.clear();
        let ends: Vec<usize> = records
            .iter()
            .map(|record| {
                write(&mut self.json, spec, record.values());
                self.json.len()
            })
            .collect();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let documents: Vec<Keyed<'_>> = records
            .iter()
            .zip(starts.zip(&ends))
            .map(|(record, (start, end))| Keyed {
                key: record.key,
                json: &self.json[start..*end],
            })
            .collect();
        self.session.put_batch(Collection(table.0), &documents).await
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        self.session.count(Collection(table.0), &[]).await
    }
}

impl<S: DocumentSession + Transactional> Transactional for DocumentRecords<S> {
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
