//! Documents over SQL: the one adapter that gives a [`SqlSession`] whose dialect has [`Json`] the document shape.
//!
//! A collection is a table: key, revision, a column of JSON. A statement is prepared once for each form of question, and
//! found again by comparing a few numbers: no text, no allocation in a steady state.
//!
//! A revision counts the writes of a document. A new document begins at the clock, not at 1: one that was deleted and
//! stored again is another than it was.
mod form;

use crate::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Keyed, Patch,
    PathKind, PathSpec, Select,
};
use crate::outcome::{FailClass, OpError};
use crate::row::RowBuf;
use crate::sql::{Ask, Json, SqlSession, Statement};
use crate::sql_records::{INSERT_BYTES_MAX, counted};
use crate::time::now_ns;
use crate::transaction::{Access, Transactional};
use crate::value::{Decimal, Value};
use form::{Form, Known, Named, Table, Verb};
use smallvec::SmallVec;
use std::rc::Rc;

/// Enough for most questions; longer lists of parameters are allocated.
type Params<'a> = SmallVec<[Value<'a>; 12]>;

pub struct SqlDocuments<S> {
    session: S,
    collections: Vec<Attached>,
    found: Found,
    in_transaction: bool,
}

struct Attached {
    spec: Rc<CollectionSpec>,
    statements: Vec<(Known, Statement)>,
}

impl<S: SqlSession> SqlDocuments<S> {
    pub fn new(session: S) -> Self {
        Self {
            session,
            collections: Vec::new(),
            found: Found::default(),
            in_transaction: false,
        }
    }

    #[inline]
    async fn statement(&mut self, collection: Collection, form: Form<'_>) -> Result<Statement, OpError> {
        let attached = &self.collections[collection.0 as usize];
        match attached.statements.iter().find(|(known, _)| known.is(&form)) {
            Some((_, statement)) => Ok(*statement),
            None => self.prepare_form(collection, form).await,
        }
    }

    #[cold]
    async fn prepare_form(&mut self, collection: Collection, form: Form<'_>) -> Result<Statement, OpError> {
        let attached = &mut self.collections[collection.0 as usize];
        let sql = form.sql(&table(&attached.spec, &self.session)?);
        let statement = self.session.prepare(&form.ask(&sql)).await?;
        attached.statements.push((form.keep(), statement));
        Ok(statement)
    }

    async fn execute(
        &mut self,
        collection: Collection,
        form: Form<'_>,
        params: &[Value<'_>],
    ) -> Result<Option<u64>, OpError> {
        let statement = self.statement(collection, form).await?;
        Ok(self.session.execute(statement, params).await?.affected)
    }

    /// Each row has a key.
    async fn query(
        &mut self,
        collection: Collection,
        form: Form<'_>,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let statement = self.statement(collection, form).await?;
        let Self {
            session,
            collections,
            found,
            ..
        } = self;
        let paths = &collections[collection.0 as usize].spec.paths;
        let mut take = |row: &RowBuf| {
            found.clear();
            let key = row.cell(0).and_then(Value::bytes).unwrap_or_default();
            found.key.extend_from_slice(key);
            fill(found, row, 1, form.select, paths);
            each(found);
        };
        session.query(statement, params, &mut take).await
    }

    async fn insert_all(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        let dialect = self.session.dialect();
        let rows_max = dialect.rows_per_insert.min(dialect.max_params / 3).max(1);
        let (mut stored, mut rest) = (0, documents);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(insert_rows(rest, rows_max));
            let form = Form::plain(Verb::Insert { rows: now.len() });
            let statement = self.statement(collection, form).await?;
            let params: Params<'_> = now.iter().flat_map(new_row).collect();
            let done = self.session.execute(statement, &params).await?;
            stored += done.affected.unwrap_or(now.len() as u64);
            rest = later;
        }
        Ok(stored)
    }
}

fn table<'a>(spec: &'a CollectionSpec, session: &impl SqlSession) -> Result<Table<'a>, OpError> {
    let dialect = session.dialect();
    let json: &'static Json = dialect.json.ok_or_else(|| {
        let what = format!("{} has no columns of JSON", dialect.name);
        OpError::fail(FailClass::Refused, "JSON", what)
    })?;
    let plain = |step: &String| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !step.is_empty() && step.bytes().all(known)
    };
    let odd = |path: &&PathSpec| path.steps.is_empty() || !path.steps.iter().all(plain);
    if let Some(path) = spec.paths.iter().find(odd) {
        let what = format!(
            "the path {:?} has a member of other characters than letters, digits and `_`",
            path.steps
        );
        return Err(OpError::fail(FailClass::Refused, "PATH", what));
    }
    Ok(Table { spec, dialect, json })
}

/// How many of these documents the next INSERT takes: as many as a batch has, so that one statement serves all batches of
/// a size, and a power of two where their bytes would be too many.
fn insert_rows(documents: &[Keyed<'_>], rows_max: usize) -> usize {
    let size = |document: &Keyed<'_>| document.key.len() + document.json.len();
    let mut rows = documents.len().min(rows_max);
    while rows > 1 && documents[..rows].iter().map(size).sum::<usize>() > INSERT_BYTES_MAX {
        rows = 1 << (rows - 1).ilog2();
    }
    rows
}

fn new_row<'a>(document: &Keyed<'a>) -> [Value<'a>; 3] {
    let first = Value::Int((now_ns() / 1000) as i64);
    [Value::Text(document.key), first, Value::Text(document.json)]
}

/// From a row that has the revision at `at`, and what was selected behind it.
fn fill(found: &mut Found, row: &RowBuf, at: usize, select: Select<'_>, paths: &[PathSpec]) {
    let revision = row.cell(at).and_then(Value::whole_number).unwrap_or_default();
    found.revision.extend_from_slice(&revision.to_be_bytes());
    match select {
        Select::Key => {}
        Select::Whole => {
            let json = row.cell(at + 1).and_then(Value::bytes).unwrap_or_default();
            found.json.extend_from_slice(json);
        }
        Select::Paths(selected) => {
            for (cell, path) in (at + 1..).zip(selected) {
                let value = row.cell(cell).unwrap_or(Value::Null);
                found.cells.push(of_kind(value, paths[*path as usize].kind));
            }
        }
    }
}

/// A value as a document has it: some systems answer with another type of SQL.
fn of_kind(value: Value<'_>, kind: PathKind) -> Value<'_> {
    match (kind, value) {
        (PathKind::Text(_), Value::Bytes(text)) => Value::Text(text),
        (PathKind::Integer, Value::Decimal(_)) => value.whole_number().map_or(value, Value::Int),
        (PathKind::Float, Value::Int(whole)) => Value::Float(whole as f64),
        (PathKind::Float, Value::Decimal(Decimal { units, scale })) => {
            Value::Float(units as f64 / 10f64.powi(scale.into()))
        }
        (PathKind::Bool, Value::Int(number)) => Value::Bool(number != 0),
        _ => value,
    }
}

/// Of what a revision stands for; other bytes than ours stand for none.
fn numbered(revision: &[u8]) -> Result<Value<'static>, OpError> {
    let bytes = revision.try_into().map_err(|_| changed())?;
    Ok(Value::Int(i64::from_be_bytes(bytes)))
}

#[cold]
fn changed() -> OpError {
    OpError::fail(
        FailClass::Conflict,
        "REVISION",
        "the document is not there at this revision",
    )
}

/// Where the system counts, a write at a revision has found its document.
fn at_revision(affected: Option<u64>) -> Result<Option<u64>, OpError> {
    match affected {
        Some(0) => Err(changed()),
        affected => Ok(affected),
    }
}

impl<S: SqlSession + Transactional> DocumentSession for SqlDocuments<S> {
    #[inline]
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }

    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        for spec in collections {
            table(spec, &self.session)?;
        }
        let attached = |spec: &CollectionSpec| Attached {
            spec: Rc::new(spec.clone()),
            statements: Vec::new(),
        };
        self.collections = collections.iter().map(attached).collect();
        Ok(())
    }

    async fn prepare(&mut self, collection: Collection, uses: &[DocumentUse<'_>]) -> Result<(), OpError> {
        for used in uses {
            let named = |verb, select, named| Form { verb, select, named };
            let form = match *used {
                DocumentUse::Get(select) => named(Verb::Get, select, Named::None),
                DocumentUse::Put(Expect::Anything) => Form::plain(Verb::Store),
                DocumentUse::Put(Expect::Absent) => Form::plain(Verb::Insert { rows: 1 }),
                DocumentUse::Put(Expect::Present) => Form::plain(Verb::Replace),
                DocumentUse::Put(Expect::Revision(_)) => Form::plain(Verb::ReplaceAt),
                DocumentUse::Patch(paths) => named(Verb::Patch, Select::Key, Named::Paths(paths)),
                DocumentUse::Delete { revision: false } => Form::plain(Verb::Delete),
                DocumentUse::Delete { revision: true } => Form::plain(Verb::DeleteAt),
                DocumentUse::Find { conditions, select } => {
                    named(Verb::Find { limited: true }, select, Named::Uses(conditions))
                }
                DocumentUse::Count(conditions) => named(Verb::Count, Select::Key, Named::Uses(conditions)),
                DocumentUse::Range(select) => named(Verb::Range { limited: true }, select, Named::None),
            };
            self.statement(collection, form).await?;
        }
        Ok(())
    }

    async fn create_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let statements = table(collection, &self.session)?.create()?;
        for sql in statements {
            self.session.execute_text(&sql).await?;
        }
        Ok(())
    }

    async fn drop_collection(&mut self, collection: &CollectionSpec) -> Result<(), OpError> {
        let sql = table(collection, &self.session)?.drop();
        self.session.execute_text(&sql).await.map(drop)
    }

    async fn collection_exists(&mut self, collection: &CollectionSpec) -> Result<bool, OpError> {
        let look = Ask::read(self.session.dialect().table_exists);
        let statement = self.session.prepare(&look).await?;
        let name = [Value::Text(collection.name.as_bytes())];
        Ok(self.session.query_one(statement, &name).await?.is_some())
    }

    #[inline]
    async fn get(
        &mut self,
        collection: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        let form = Form {
            select,
            ..Form::plain(Verb::Get)
        };
        let statement = self.statement(collection, form).await?;
        let Some(row) = self.session.query_one(statement, &[Value::Text(key)]).await? else {
            return Ok(None);
        };
        self.found.clear();
        self.found.key.extend_from_slice(key);
        let paths = &self.collections[collection.0 as usize].spec.paths;
        fill(&mut self.found, row, 0, select, paths);
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
        for keys in keys.chunks(self.session.dialect().max_params) {
            let form = Form {
                select,
                ..Form::plain(Verb::GetBatch { keys: keys.len() })
            };
            let params: Params<'_> = keys.iter().map(|key| Value::Text(key)).collect();
            seen += self.query(collection, form, &params, each).await?;
        }
        Ok(seen)
    }

    async fn put(
        &mut self,
        collection: Collection,
        document: Keyed<'_>,
        expect: Expect<'_>,
    ) -> Result<Option<u64>, OpError> {
        let (key, json) = (Value::Text(document.key), Value::Text(document.json));
        match expect {
            Expect::Anything => {
                let stored = self
                    .execute(collection, Form::plain(Verb::Store), &new_row(&document))
                    .await?;
                // Some systems count a replaced row twice.
                Ok(stored.map(|rows| rows.min(1)))
            }
            Expect::Absent => {
                let form = Form::plain(Verb::Insert { rows: 1 });
                self.execute(collection, form, &new_row(&document)).await
            }
            Expect::Present => {
                let form = Form::plain(Verb::Replace);
                self.execute(collection, form, &[json, key]).await
            }
            Expect::Revision(revision) => {
                let params = [json, key, numbered(revision)?];
                let form = Form::plain(Verb::ReplaceAt);
                at_revision(self.execute(collection, form, &params).await?)
            }
        }
    }

    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        if self.in_transaction {
            return self.insert_all(collection, documents).await;
        }
        self.begin(Access::default()).await?;
        let stored = self.insert_all(collection, documents).await;
        self.end(stored).await
    }

    async fn patch(
        &mut self,
        collection: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        let form = Form {
            named: Named::Patches(values),
            ..Form::plain(Verb::Patch)
        };
        let mut params: Params<'_> = values.iter().map(|patch| patch.value).collect();
        params.push(Value::Text(key));
        self.execute(collection, form, &params).await
    }

    async fn delete(
        &mut self,
        collection: Collection,
        key: &[u8],
        revision: Option<&[u8]>,
    ) -> Result<Option<u64>, OpError> {
        let key = Value::Text(key);
        match revision {
            None => self.execute(collection, Form::plain(Verb::Delete), &[key]).await,
            Some(revision) => {
                let params = [key, numbered(revision)?];
                at_revision(
                    self.execute(collection, Form::plain(Verb::DeleteAt), &params)
                        .await?,
                )
            }
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
        let form = Form {
            verb: Verb::Find {
                limited: limit.is_some(),
            },
            select,
            named: Named::Conditions(conditions),
        };
        let values = conditions.iter().map(|condition| condition.value);
        let params: Params<'_> = values
            .chain(limit.map(|limit| Value::Int(limit.into())))
            .collect();
        self.query(collection, form, &params, each).await
    }

    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        let form = Form {
            named: Named::Conditions(conditions),
            ..Form::plain(Verb::Count)
        };
        let statement = self.statement(collection, form).await?;
        let params: Params<'_> = conditions.iter().map(|condition| condition.value).collect();
        match self.session.query_one(statement, &params).await? {
            Some(row) => counted(row),
            None => counted(&RowBuf::default()),
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
        let form = Form {
            select,
            ..Form::plain(Verb::Range {
                limited: limit.is_some(),
            })
        };
        let limit = limit.map(|limit| Value::Int(limit.into()));
        let params: Params<'_> = std::iter::once(Value::Text(start)).chain(limit).collect();
        self.query(collection, form, &params, each).await
    }
}

impl<S: SqlSession + Transactional> Transactional for SqlDocuments<S> {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        self.session.begin(access).await?;
        self.in_transaction = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), OpError> {
        self.session.commit().await?;
        self.in_transaction = false;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), OpError> {
        self.in_transaction = false;
        self.session.rollback().await
    }
}

#[cfg(test)]
mod tests;
