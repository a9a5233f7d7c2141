//! One of a plan's sessions: prepared statements, and one request on its way at a time, but for lookups that are asked for together.
use super::choice::Choice;
use super::cluster::Cluster;
use super::errors::{execution, in_batch, unreadable};
use super::values::{Given, read};
use crate::server::errors::{not_one, wrong_count};
use crate::server::statement::{shared_start, start};
use bakeoff_model::outcome::{FailClass, OpError};
use bakeoff_model::pipeline::{Asked, Pipeline};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::{Ask, Dialect, Done, SqlSession, Statement};
use bakeoff_model::transaction::Transactional;
use bakeoff_model::value::Value;
use futures_util::future::join_all;
use scylla::deserialize::row::ColumnIterator;
use scylla::response::query_result::QueryResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::prepared::PreparedStatement;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

pub struct CassandraSession {
    pub(super) cluster: Rc<Cluster>,
    pub(super) choice: Arc<Choice>,
    statements: Vec<Prepared>,
    row: RowBuf,
}

struct Prepared {
    library: PreparedStatement,
    params: usize,
    reads: bool,
    text: Rc<str>,
}

impl CassandraSession {
    /// `endpoint`: what counts as asked before anything is.
    pub(super) fn new(cluster: Rc<Cluster>, endpoint: usize) -> Self {
        Self {
            choice: cluster.choice(endpoint),
            cluster,
            statements: Vec::new(),
            row: RowBuf::default(),
        }
    }

    /// Place of the endpoint that the last request went to.
    /// Errors: no node does.
    pub(super) async fn answers(&mut self) -> Result<(), OpError> {
        self.query_text("SELECT key FROM system.local", &mut |_| {})
            .await
            .map(drop)
    }

    /// Sends a statement and reads its answer, page by page.
    #[inline]
    async fn ask(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let Self {
            cluster,
            statements,
            row,
            ..
        } = self;
        let prepared = &statements[statement.0 as usize];
        if prepared.params != params.len() {
            return Err(wrong_count(prepared.params, params.len(), &prepared.text));
        }
        let first = page(cluster, prepared, params, PagingState::start()).await?;
        read_pages(cluster, prepared, params, first, row, each).await
    }

    /// Sends all of them, and reads their answers when the last has come: none is on its way any more.
    async fn ask_all(
        &self,
        reads: &Pipeline,
        row: &mut RowBuf,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let mut asked = Vec::with_capacity(reads.len());
        for place in 0..reads.len() {
            asked.push((
                self.sent_together(reads, place)?,
                reads.values(place).collect::<Vec<_>>(),
            ));
        }
        let sent = asked
            .iter()
            .map(|(prepared, values)| page(&self.cluster, prepared, values, PagingState::start()));
        let (answers, mut count) = (join_all(sent).await, 0);
        for ((prepared, values), first) in asked.iter().zip(answers) {
            count += read_pages(&self.cluster, prepared, values, first?, row, each).await?;
        }
        Ok(count)
    }

    /// The statement at a place of what is sent together.
    fn sent_together(&self, together: &Pipeline, place: usize) -> Result<&Prepared, OpError> {
        match together.asked(place) {
            Some(Asked::Statement(statement)) => Ok(&self.statements[statement.0 as usize]),
            _ => {
                let words = "a batch holds statements alone: there are no transactions";
                Err(OpError::fail(FailClass::Refused, "BATCH", words))
            }
        }
    }

    /// The same of a text that is not prepared.
    async fn ask_text(
        &mut self,
        cql: &str,
        reads: bool,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        let statement = self.cluster.unprepared(cql, &self.choice);
        let (mut state, mut count) = (PagingState::start(), 0);
        loop {
            let sent = self
                .cluster
                .library
                .query_single_page(statement.clone(), (), state);
            let (result, next) = sent
                .await
                .map_err(|error| execution(&error, reads).with_statement(start(cql)))?;
            count += read_rows(result, &mut self.row, each)?;
            match next_page(next) {
                Some(next) => state = next,
                None => return Ok(count),
            }
        }
    }
}

type Page = (QueryResult, PagingStateResponse);

#[inline]
async fn page(
    cluster: &Cluster,
    prepared: &Prepared,
    params: &[Value<'_>],
    state: PagingState,
) -> Result<Page, OpError> {
    let sent = cluster
        .library
        .execute_single_page(&prepared.library, Given(params), state);
    sent.await
        .map_err(|error| execution(&error, prepared.reads).with_statement(&*prepared.text))
}

/// Rows of the first page, and of those that follow it.
#[inline]
async fn read_pages(
    cluster: &Cluster,
    prepared: &Prepared,
    params: &[Value<'_>],
    first: Page,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> Result<u64, OpError> {
    let ((mut result, mut next), mut count) = (first, 0);
    loop {
        count += read_rows(result, row, each)?;
        let Some(state) = next_page(next) else {
            return Ok(count);
        };
        (result, next) = page(cluster, prepared, params, state).await?;
    }
}

/// Rows of one page, one after the other in `row`.
#[inline]
fn read_rows(result: QueryResult, row: &mut RowBuf, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
    if !result.is_rows() {
        return Ok(0);
    }
    let result = result.into_rows_result().map_err(unreadable)?;
    let rows = result.rows::<ColumnIterator<'_, '_>>().map_err(unreadable)?;
    let mut count = 0;
    for columns in rows {
        row.clear();
        for column in columns.map_err(unreadable)? {
            let column = column.map_err(unreadable)?;
            read(column.spec.typ(), column.slice.map(|slice| slice.as_slice()), row)?;
        }
        each(row);
        count += 1;
    }
    Ok(count)
}

fn next_page(state: PagingStateResponse) -> Option<PagingState> {
    match state.into_paging_control_flow() {
        ControlFlow::Continue(state) => Some(state),
        ControlFlow::Break(()) => None,
    }
}

impl SqlSession for CassandraSession {
    fn dialect(&self) -> &'static Dialect {
        self.cluster.dialect
    }

    fn asked(&self) -> Option<u32> {
        Some(self.choice.asked())
    }

    async fn prepare(&mut self, ask: &Ask<'_>) -> Result<Statement, OpError> {
        let library = self.cluster.prepare(ask, &self.choice).await?;
        self.statements.push(Prepared {
            params: library.get_variable_col_specs().len(),
            library,
            reads: ask.reads,
            text: shared_start(ask.sql),
        });
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    #[inline]
    async fn execute(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<Done, OpError> {
        // The rows of a write are what a conditional one answers: first whether it was applied.
        let counts = !self.statements[statement.0 as usize].reads;
        let mut applied = None;
        let mut each = |row: &RowBuf| {
            if let (true, Some(Value::Bool(yes))) = (counts, row.cell(0)) {
                applied = Some(yes.into());
            }
        };
        self.ask(statement, params, &mut each).await?;
        Ok(Done {
            affected: applied,
            insert_id: None,
        })
    }

    #[inline]
    async fn query(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<u64, OpError> {
        self.ask(statement, params, each).await
    }

    #[inline]
    async fn query_one(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
    ) -> Result<Option<&RowBuf>, OpError> {
        match self.ask(statement, params, &mut |_| {}).await? {
            0 => Ok(None),
            1 => Ok(Some(&self.row)),
            rows => Err(not_one(rows, &self.statements[statement.0 as usize].text)),
        }
    }

    async fn execute_text(&mut self, sql: &str) -> Result<Done, OpError> {
        self.ask_text(sql, false, &mut |_| {}).await?;
        Ok(Done::default())
    }

    async fn query_text(&mut self, sql: &str, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        self.ask_text(sql, true, each).await
    }

    async fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        self.load(table, columns, next).await
    }

    async fn run_batch(&mut self, batch: &Pipeline) -> Result<(), OpError> {
        let mut library = self.cluster.batch(&self.choice);
        let mut values = Vec::with_capacity(batch.len());
        for place in 0..batch.len() {
            library.append_statement(self.sent_together(batch, place)?.library.clone());
            values.push(batch.values(place).collect::<Vec<_>>());
        }
        let given: Vec<Given<'_>> = values.iter().map(|values| Given(values)).collect();
        let sent = self.cluster.library.batch(&library, given).await;
        sent.map(drop).map_err(|error| in_batch(execution(&error, false)))
    }

    async fn query_all(&mut self, reads: &Pipeline, each: &mut dyn FnMut(&RowBuf)) -> Result<u64, OpError> {
        let mut row = std::mem::take(&mut self.row);
        let count = self.ask_all(reads, &mut row, each).await;
        self.row = row;
        count
    }
}

impl Transactional for CassandraSession {}
