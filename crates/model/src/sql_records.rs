//! Records over SQL: the one adapter that gives any [`SqlSession`] the record shape.
//!
//! It owns the statements. Those of a workload's operations are prepared when it says so, right after a session was opened;
//! others when they are first needed. From then on they are found by index: no text, no allocation, no look-up in a steady
//! state.
mod form;

use crate::outcome::{FailClass, OpError};
use crate::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, Use};
use crate::row::RowBuf;
use crate::sql::{Ask, SqlSession, Statement, TokenRanges};
use crate::transaction::{Access, Transactional};
use crate::value::Value;
use form::{Form, UpdateOf};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::num::NonZeroU16;
use std::rc::Rc;

/// Enough for the key and ten fields; longer lists of parameters are allocated.
type Params<'a> = SmallVec<[Value<'a>; 12]>;

/// Bytes of values in one INSERT of many rows: well below the smallest packet limit in the field (1 MiB).
pub(crate) const INSERT_BYTES_MAX: usize = 512 * 1024;

pub struct SqlRecords<S> {
    session: S,
    tables: Vec<Attached>,
    in_transaction: bool,
}

struct Attached {
    spec: Rc<TableSpec>,
    /// By [`Form::slot`].
    statements: Box<[Option<Place>]>,
    /// Updates of several fields but not all, by the fields they set.
    partial_updates: Vec<(Vec<u32>, Statement)>,
    /// Inserts of several rows, by their number: the dialect's, and powers of two below it.
    many_inserts: Vec<(usize, Statement)>,
}

/// A statement in two bytes; one beyond their range, which no table comes near, is prepared each time.
#[derive(Clone, Copy)]
struct Place(NonZeroU16);

impl Place {
    fn of(statement: Statement) -> Option<Self> {
        u16::try_from(statement.0 + 1)
            .ok()
            .and_then(NonZeroU16::new)
            .map(Self)
    }

    #[inline]
    fn statement(self) -> Statement {
        Statement(u32::from(self.0.get()) - 1)
    }
}

thread_local! {
    /// The tables of this thread's sessions, once each: thousands of sessions attach the same ones.
    static SPECS: RefCell<Vec<Rc<TableSpec>>> = const { RefCell::new(Vec::new()) };
}

fn shared(spec: &TableSpec) -> Rc<TableSpec> {
    SPECS.with_borrow_mut(|specs| {
        if let Some(known) = specs.iter().find(|known| ***known == *spec) {
            return known.clone();
        }
        specs.push(Rc::new(spec.clone()));
        specs[specs.len() - 1].clone()
    })
}

impl<S: SqlSession> SqlRecords<S> {
    pub fn new(session: S) -> Self {
        Self {
            session,
            tables: Vec::new(),
            in_transaction: false,
        }
    }

    /// The session beneath.
    pub fn sql(&mut self) -> &mut S {
        &mut self.session
    }

    #[inline]
    async fn statement(&mut self, table: Table, form: Form) -> Result<Statement, OpError> {
        let attached = &self.tables[table.0 as usize];
        match attached.statements[form.slot(&attached.spec)] {
            Some(place) => Ok(place.statement()),
            None => self.prepare_form(table, form).await,
        }
    }

    #[cold]
    async fn prepare_form(&mut self, table: Table, form: Form) -> Result<Statement, OpError> {
        let attached = &mut self.tables[table.0 as usize];
        let sql = form.sql(&attached.spec, self.session.dialect());
        let statement = self.session.prepare(&form.ask(&sql)).await?;
        attached.statements[form.slot(&attached.spec)] = Place::of(statement);
        Ok(statement)
    }

    /// The statement that sets these fields.
    async fn update_statement(
        &mut self,
        table: Table,
        values: &[FieldValue<'_>],
    ) -> Result<Statement, OpError> {
        let attached = &self.tables[table.0 as usize];
        if let [one] = values {
            return self
                .statement(table, Form::Update(UpdateOf::One(one.field)))
                .await;
        }
        let names_all = values.len() == attached.spec.field_names.len()
            && values
                .iter()
                .enumerate()
                .all(|(i, value)| value.field as usize == i);
        if names_all {
            return self.statement(table, Form::Update(UpdateOf::All)).await;
        }
        let same = |fields: &[u32]| fields.iter().copied().eq(values.iter().map(|value| value.field));
        match attached.partial_updates.iter().find(|(fields, _)| same(fields)) {
            Some((_, statement)) => Ok(*statement),
            None => self.prepare_partial_update(table, values).await,
        }
    }

    #[cold]
    async fn prepare_partial_update(
        &mut self,
        table: Table,
        values: &[FieldValue<'_>],
    ) -> Result<Statement, OpError> {
        let attached = &mut self.tables[table.0 as usize];
        let fields: Vec<u32> = values.iter().map(|value| value.field).collect();
        let sql = form::update(&attached.spec, self.session.dialect(), &fields);
        let statement = self.session.prepare(&Ask::write(&sql).idempotent()).await?;
        attached.partial_updates.push((fields, statement));
        Ok(statement)
    }

    /// Inserts in as few statements as suit the client library, within the transaction that is open.
    async fn insert_all(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let fields = self.tables[table.0 as usize].spec.field_names.len();
        let dialect = self.session.dialect();
        let rows_max = dialect
            .rows_per_insert
            .min(dialect.max_params / (fields + 1))
            .max(1);
        let mut rows = 0;
        let mut rest = records;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(insert_rows(rest, rows_max));
            let statement = self.insert_statement(table, now.len()).await?;
            let params: Params<'_> = now.iter().flat_map(|record| record_params(*record)).collect();
            let done = self.session.execute(statement, &params).await?;
            // Acknowledged, and not counted: stored.
            rows += done.affected.unwrap_or(now.len() as u64);
            rest = later;
        }
        Ok(rows)
    }

    /// Without transactions nothing keeps the records together: the fastest way is as good as any.
    async fn insert_as_load(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        let spec = self.tables[table.0 as usize].spec.clone();
        let names = std::iter::once(&spec.key_column).chain(&spec.field_names);
        let columns: Vec<&str> = names.map(String::as_str).collect();
        let mut rest = records.iter();
        let mut next = |row: &mut RowBuf| {
            let record = rest.next();
            record
                .into_iter()
                .flat_map(|record| record_params(*record))
                .for_each(|value| row.push(value));
            record.is_some()
        };
        self.session.bulk_insert(&spec.name, &columns, &mut next).await
    }

    /// A statement of a whole table, piece by piece; returns rows seen.
    async fn read_in_pieces(
        &mut self,
        table: Table,
        form: Form,
        ranges: TokenRanges,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let statement = self.statement(table, form).await?;
        let mut rows = 0;
        for piece in ranges.all() {
            rows += self.session.query(statement, &piece, each).await?;
        }
        Ok(rows)
    }

    async fn insert_statement(&mut self, table: Table, rows: usize) -> Result<Statement, OpError> {
        if rows == 1 {
            return self.statement(table, Form::Insert).await;
        }
        let attached = &mut self.tables[table.0 as usize];
        if let Some((_, statement)) = attached.many_inserts.iter().find(|(of, _)| *of == rows) {
            return Ok(*statement);
        }
        let sql = form::insert(&attached.spec, self.session.dialect(), rows);
        let statement = self.session.prepare(&Ask::write(&sql)).await?;
        attached.many_inserts.push((rows, statement));
        Ok(statement)
    }
}

/// Of a row of `SELECT COUNT(*)`.
pub(crate) fn counted(row: &RowBuf) -> Result<u64, OpError> {
    let found = row.cell(0);
    let count = found.and_then(Value::whole_number).ok_or_else(|| {
        let what = format!("SELECT COUNT(*) answered {found:?} instead of a number");
        OpError::fail(FailClass::Other, "COUNT", what)
    })?;
    Ok(count as u64)
}

/// How many of these records the next INSERT takes: `rows_max`, or a power of two where fewer are left or their bytes
/// would be too many (so that few different statements are ever prepared).
fn insert_rows(records: &[Record<'_>], rows_max: usize) -> usize {
    let mut rows = if records.len() >= rows_max {
        rows_max
    } else {
        power_of_two_within(records.len())
    };
    while rows > 1 && records[..rows].iter().map(size_bytes).sum::<usize>() > INSERT_BYTES_MAX {
        rows = power_of_two_within(rows - 1);
    }
    rows
}

/// The largest power of two that is at most `n`; `n` is at least 1.
fn power_of_two_within(n: usize) -> usize {
    1 << n.ilog2()
}

fn size_bytes(record: &Record<'_>) -> usize {
    record.key.len() + record.bytes.len()
}

fn record_params<'a>(record: Record<'a>) -> impl Iterator<Item = Value<'a>> {
    std::iter::once(record.key)
        .chain(record.values())
        .map(Value::Text)
}

impl<S> SqlRecords<S> {
    /// The session beneath.
    pub fn into_session(self) -> S {
        self.session
    }
}

impl<S: SqlSession + Transactional> RecordSession for SqlRecords<S> {
    #[inline]
    fn asked(&self) -> Option<u32> {
        self.session.asked()
    }

    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        self.tables = tables
            .iter()
            .map(|spec| Attached {
                statements: vec![None; Form::slots(spec)].into(),
                spec: shared(spec),
                partial_updates: Vec::new(),
                many_inserts: Vec::new(),
            })
            .collect();
        Ok(())
    }

    async fn prepare(&mut self, table: Table, uses: &[Use]) -> Result<(), OpError> {
        for used in uses {
            let form = match *used {
                Use::Read(fields) => Form::Read(fields),
                Use::Scan(fields) => Form::Scan(fields),
                Use::Insert => Form::Insert,
                Use::UpdateAll => Form::Update(UpdateOf::All),
                Use::UpdateOne(field) => Form::Update(UpdateOf::One(field)),
            };
            self.statement(table, form).await?;
        }
        Ok(())
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        let sql = form::create_table(table, self.session.dialect());
        self.session.execute_text(&sql).await.map(drop)
    }

    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        let sql = form::drop_table(table, self.session.dialect());
        self.session.execute_text(&sql).await.map(drop)
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        let look = Ask::read(self.session.dialect().table_exists);
        let statement = self.session.prepare(&look).await?;
        let found = self
            .session
            .query_one(statement, &[Value::Text(table.name.as_bytes())])
            .await?;
        Ok(found.is_some())
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let statement = self.statement(table, Form::Read(fields)).await?;
        self.session.query_one(statement, &[Value::Text(key)]).await
    }

    #[inline]
    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        let statement = self.statement(table, Form::Insert).await?;
        let params: Params<'_> = record_params(record).collect();
        Ok(self.session.execute(statement, &params).await?.affected)
    }

    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        let statement = self.update_statement(table, values).await?;
        let mut params: Params<'_> = values.iter().map(|value| Value::Text(value.value)).collect();
        params.push(Value::Text(key));
        Ok(self.session.execute(statement, &params).await?.affected)
    }

    #[inline]
    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        let statement = self.statement(table, Form::Delete).await?;
        Ok(self
            .session
            .execute(statement, &[Value::Text(key)])
            .await?
            .affected)
    }

    #[inline]
    async fn scan(
        &mut self,
        table: Table,
        start: &[u8],
        limit: Option<u32>,
        fields: Fields,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let start = Value::Text(start);
        match (limit, self.session.dialect().token_ranges) {
            (Some(limit), _) => {
                let statement = self.statement(table, Form::Scan(fields)).await?;
                self.session
                    .query(statement, &[start, Value::Int(limit.into())], each)
                    .await
            }
            (None, Some(ranges)) => {
                let form = Form::ScanToEnd(fields);
                self.read_in_pieces(table, form, ranges, each).await
            }
            (None, None) => {
                let statement = self.statement(table, Form::ScanToEnd(fields)).await?;
                self.session.query(statement, &[start], each).await
            }
        }
    }

    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        if !self.session.dialect().transactions {
            return self.insert_as_load(table, records).await;
        }
        if self.in_transaction {
            return self.insert_all(table, records).await;
        }
        self.begin(Access::default()).await?;
        let rows = self.insert_all(table, records).await;
        self.end(rows).await
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        let (mut total, mut failed) = (0, None);
        let mut add = |row: &RowBuf| match counted(row) {
            Ok(count) => total += count,
            Err(error) => failed = Some(error),
        };
        if let Some(ranges) = self.session.dialect().token_ranges {
            self.read_in_pieces(table, Form::Count, ranges, &mut add).await?;
        } else {
            let statement = self.statement(table, Form::Count).await?;
            self.session.query(statement, &[], &mut add).await?;
        }
        failed.map_or(Ok(total), Err)
    }
}

impl<S: SqlSession + Transactional> Transactional for SqlRecords<S> {
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
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_cut_into_few_different_statements() {
        let row = Record {
            key: b"k",
            bytes: b"value",
            ends: &[5],
        };
        let cut = |records: usize, rows_max: usize| {
            let (mut rest, mut cuts) = (&vec![row; records][..], Vec::new());
            while !rest.is_empty() {
                cuts.push(insert_rows(rest, rows_max));
                rest = &rest[cuts[cuts.len() - 1]..];
            }
            cuts
        };
        assert_eq!(cut(250, 100), [100, 100, 32, 16, 2]);
        assert_eq!(cut(3, 1), [1, 1, 1]);
    }

    #[test]
    fn rows_too_large_for_one_packet_go_one_by_one() {
        let bytes = vec![b'x'; INSERT_BYTES_MAX];
        let row = Record {
            key: b"k",
            bytes: &bytes,
            ends: &[INSERT_BYTES_MAX as u32],
        };
        assert_eq!(insert_rows(&[row; 10], 100), 1);
        let half = Record {
            bytes: &bytes[..INSERT_BYTES_MAX / 3],
            ..row
        };
        assert_eq!(insert_rows(&[half; 10], 100), 2);
    }
}
