//! Records read below SQL: by HANDLER, which hands a key to the storage engine's own interface, without an optimizer or a
//! plan. What writes or counts goes by SQL, through the same session.
//!
//! A session opens a table once. MariaDB takes HANDLER ... READ as a prepared statement; MySQL takes no parameters in it
//! (error 6413; 1295 before 8.0), so there it is sent as text, its key as a literal.
//!
//! Source: MySQL 8.4 Reference Manual, 15.2.5; MariaDB documentation, "HANDLER Commands".
use super::answer::{self, Rows};
use super::{WireDriver, WireSession, request};
use crate::mysql::DIALECT;
use crate::server::errors::not_one;
use crate::server::statement::{shared_start, start};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::{Needs, Offers};
use bakeoff_model::outcome::{FailClass, OpError, Outcome, Trouble};
use bakeoff_model::record::{FieldValue, Fields, Record, RecordSession, Table, TableSpec, Use};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::RunnerKind;
use bakeoff_model::sql::{Ask, SqlSession, Statement};
use bakeoff_model::sql_records::SqlRecords;
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use std::io::Write;
use std::rc::Rc;

pub struct DirectDriver(WireDriver);

impl DirectDriver {
    pub fn new(driver: WireDriver) -> Self {
        Self(driver)
    }
}

impl Driver for DirectDriver {
    const RUNNERS: &'static [RunnerKind] = WireDriver::RUNNERS;
    type Client = ();
    type Session = DirectSession;

    fn offers(&self) -> Offers {
        self.0.offers()
    }
    fn client(&self) -> &'static str {
        self.0.client()
    }
    async fn open(&self, worker: usize) -> Result<(), Trouble> {
        self.0.open(worker).await
    }
    async fn session(&self, client: &(), endpoint: usize, needs: Needs) -> Result<DirectSession, OpError> {
        let records = self.0.session(client, endpoint, needs).await?;
        Ok(DirectSession {
            records,
            tables: Vec::new(),
            kept: RowBuf::default(),
        })
    }
}

pub struct DirectSession {
    records: SqlRecords<WireSession>,
    tables: Vec<Handled>,
    /// The cells that are asked for, of a row that comes whole.
    kept: RowBuf,
}

struct Handled {
    spec: TableSpec,
    /// Once it is open.
    ways: Option<Ways>,
}

struct Ways {
    read: Way,
    scan: Way,
}

enum Way {
    Prepared(Statement),
    /// Its text up to the key, and from behind it up to the limit.
    Text(Rc<str>),
}

impl Way {
    async fn prepare(session: &mut WireSession, head: &str, tail: &str) -> Result<Self, OpError> {
        match session.prepare(&Ask::read(&format!("{head}?{tail}"))).await {
            Ok(statement) => Ok(Self::Prepared(statement)),
            Err(error) if error.outcome == Outcome::Fail(FailClass::Refused) => {
                Ok(Self::Text(shared_start(head)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Handled {
    #[inline]
    async fn ways(&mut self, session: &mut WireSession) -> Result<&Ways, OpError> {
        let ways = match self.ways.take() {
            Some(ways) => ways,
            None => self.open(session).await?,
        };
        Ok(self.ways.insert(ways))
    }

    /// Rows come with all columns as the table has them, and are found by its primary key: those have to be ours.
    #[cold]
    async fn open(&self, session: &mut WireSession) -> Result<Ways, OpError> {
        let table = DIALECT.quoted(&self.spec.name);
        let mut expected = std::iter::once(&self.spec.key_column).chain(&self.spec.field_names);
        let (mut same, mut is_key) = (true, true);
        let mut compare = |column: &RowBuf| {
            let text = |index| column.cell(index).and_then(Value::bytes).unwrap_or_default();
            let named = |name: &String| name.as_bytes().eq_ignore_ascii_case(text(0));
            same &= expected.next().is_some_and(named) && is_key == (text(3) == b"PRI");
            is_key = false;
        };
        session
            .query_text(&format!("SHOW COLUMNS FROM {table}"), &mut compare)
            .await?;
        if !same || expected.next().is_some() {
            let what = format!(
                "{table} has other columns than the workload's, or another primary key: \
                 access = \"direct\" needs its key first, then its fields in their order"
            );
            return Err(OpError::fail(FailClass::Refused, "CLIENT", what));
        }
        session.execute_text(&format!("HANDLER {table} OPEN")).await?;
        let by_key = |how: &str| format!("HANDLER {table} READ `PRIMARY` {how} (");
        Ok(Ways {
            read: Way::prepare(session, &by_key("="), ")").await?,
            scan: Way::prepare(session, &by_key(">="), ") LIMIT ?").await?,
        })
    }
}

impl WireSession {
    /// HANDLER ... READ with this key. Rows seen; the last is in the session's buffer.
    async fn handler_read(
        &mut self,
        way: &Way,
        key: &[u8],
        limit: Option<u32>,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let head = match way {
            Way::Prepared(statement) => {
                let params = [Value::Text(key), Value::Int(limit.unwrap_or(1).into())];
                let count = 1 + usize::from(limit.is_some());
                return self.run(*statement, &params[..count], each).await;
            }
            Way::Text(head) => head,
        };
        write_read(self.link.request(), head, key, limit);
        let answer = match self.link.ask().await {
            Ok(()) => answer::read(&mut self.link, self.terms, Rows::Text, &mut self.row, each).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok((seen, done)) => {
                self.done = done;
                Ok(seen)
            }
            Err(error) => Err(error.with_statement(&**head)),
        }
    }
}

/// In hexadecimal a key is the same bytes whatever `sql_mode` makes of quotes and backslashes.
fn write_read(request: &mut Vec<u8>, head: &str, key: &[u8], limit: Option<u32>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    request::query(request, head);
    request.extend_from_slice(b"X'");
    for byte in key {
        request.push(DIGITS[usize::from(byte >> 4)]);
        request.push(DIGITS[usize::from(byte & 15)]);
    }
    request.extend_from_slice(b"')");
    if let Some(limit) = limit {
        let _ = write!(request, " LIMIT {limit}"); // to memory, so it does not fail
    }
}

/// Puts those of a whole row's cells that are asked for into `kept`.
fn keep(row: &RowBuf, fields: Fields, kept: &mut RowBuf) {
    let (skipped, taken) = match fields {
        Fields::All => (0, usize::MAX),
        Fields::AllByName => (1, usize::MAX),
        Fields::One(field) => (1 + field as usize, 1),
    };
    kept.clear();
    row.cells()
        .skip(skipped)
        .take(taken)
        .for_each(|value| kept.push(value));
}

impl DirectSession {
    /// The session beneath.
    pub fn sql(&mut self) -> &mut WireSession {
        self.records.sql()
    }
}

impl RecordSession for DirectSession {
    async fn attach(&mut self, tables: &[TableSpec]) -> Result<(), OpError> {
        for handled in self.tables.drain(..).filter(|handled| handled.ways.is_some()) {
            let close = format!("HANDLER {} CLOSE", DIALECT.quoted(&handled.spec.name));
            self.records.sql().execute_text(&close).await?;
        }
        let handled = |spec: &TableSpec| Handled {
            spec: spec.clone(),
            ways: None,
        };
        self.tables = tables.iter().map(handled).collect();
        self.records.attach(tables).await
    }

    async fn prepare(&mut self, table: Table, uses: &[Use]) -> Result<(), OpError> {
        for used in uses {
            match used {
                Use::Read(_) | Use::Scan(_) => {
                    let handled = &mut self.tables[table.0 as usize];
                    handled.ways(self.records.sql()).await?;
                }
                Use::Insert | Use::UpdateAll | Use::UpdateOne(_) => {
                    self.records.prepare(table, std::slice::from_ref(used)).await?;
                }
            }
        }
        Ok(())
    }

    async fn create_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        self.records.create_table(table).await
    }

    /// The server closes what this session has open of it.
    async fn drop_table(&mut self, table: &TableSpec) -> Result<(), OpError> {
        for handled in self
            .tables
            .iter_mut()
            .filter(|handled| handled.spec.name == table.name)
        {
            handled.ways = None;
        }
        self.records.drop_table(table).await
    }

    async fn table_exists(&mut self, table: &TableSpec) -> Result<bool, OpError> {
        self.records.table_exists(table).await
    }

    #[inline]
    async fn read(&mut self, table: Table, key: &[u8], fields: Fields) -> Result<Option<&RowBuf>, OpError> {
        let session = self.records.sql();
        let ways = self.tables[table.0 as usize].ways(session).await?;
        match session.handler_read(&ways.read, key, None, &mut |_| {}).await? {
            0 => return Ok(None),
            1 => {}
            rows => return Err(not_one(rows, start("HANDLER"))),
        }
        if fields == Fields::All {
            return Ok(Some(&session.row));
        }
        keep(&session.row, fields, &mut self.kept);
        Ok(Some(&self.kept))
    }

    #[inline]
    async fn insert(&mut self, table: Table, record: Record<'_>) -> Result<Option<u64>, OpError> {
        self.records.insert(table, record).await
    }

    #[inline]
    async fn update(
        &mut self,
        table: Table,
        key: &[u8],
        values: &[FieldValue<'_>],
    ) -> Result<Option<u64>, OpError> {
        self.records.update(table, key, values).await
    }

    #[inline]
    async fn delete(&mut self, table: Table, key: &[u8]) -> Result<Option<u64>, OpError> {
        self.records.delete(table, key).await
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
        let limit = Some(limit.unwrap_or(u32::MAX)); // without one it reads a single row
        let session = self.records.sql();
        let Ways { scan, .. } = self.tables[table.0 as usize].ways(session).await?;
        if fields == Fields::All {
            return session.handler_read(scan, start, limit, each).await;
        }
        let kept = &mut self.kept;
        let mut part = |row: &RowBuf| {
            keep(row, fields, kept);
            each(kept);
        };
        session.handler_read(scan, start, limit, &mut part).await
    }

    async fn insert_batch(&mut self, table: Table, records: &[Record<'_>]) -> Result<u64, OpError> {
        self.records.insert_batch(table, records).await
    }

    async fn count(&mut self, table: Table) -> Result<u64, OpError> {
        self.records.count(table).await
    }
}

impl Transactional for DirectSession {
    async fn begin(&mut self, access: Access) -> Result<(), OpError> {
        self.records.begin(access).await
    }
    async fn commit(&mut self) -> Result<(), OpError> {
        self.records.commit().await
    }
    async fn rollback(&mut self) -> Result<(), OpError> {
        self.records.rollback().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_so_that_no_mode_of_the_server_changes_it() {
        let mut request = Vec::new();
        write_read(
            &mut request,
            "HANDLER t READ `PRIMARY` >= (",
            b"a'\\\xC3",
            Some(7),
        );
        assert_eq!(request, b"\x03HANDLER t READ `PRIMARY` >= (X'61275CC3') LIMIT 7");
    }

    #[test]
    fn of_a_whole_row_what_is_asked_for_is_kept() {
        let mut row = RowBuf::default();
        [b"key", b"one", b"two"]
            .iter()
            .for_each(|text| row.push(Value::Text(*text)));
        let mut kept = RowBuf::default();
        let mut of = |fields| {
            keep(&row, fields, &mut kept);
            kept.cells().map(|cell| cell.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of(Fields::All), ["key", "one", "two"]);
        assert_eq!(of(Fields::AllByName), ["one", "two"]);
        assert_eq!(of(Fields::One(1)), ["two"]);
    }
}
