//! Bulk loads through the client library: COPY from memory, a piece at a time.
use super::LibrarySession;
use super::errors::op_error;
use crate::postgresql::copy::{self, Rows, Table};
use crate::postgresql::kind::Kind;
use crate::server::statement::start;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;
use bytes::Bytes;
use futures_util::SinkExt;
use std::pin::pin;
use tokio_postgres::Error;

impl LibrarySession {
    pub(super) async fn table(&mut self, name: &str, columns: &[&str]) -> Result<Table, OpError> {
        let mut table = Table::new(name, columns);
        if let Some(known) = self.tables.iter().find(|known| known.is(&table)) {
            return Ok(known.clone());
        }
        let probe = table.probe();
        let described = self.client.prepare(&probe).await;
        let described = described.map_err(|error| op_error(&error).with_statement(start(&probe)))?;
        table.kinds = described
            .columns()
            .iter()
            .map(|column| Kind::of(column.type_().oid()))
            .collect();
        self.tables.push(table.clone());
        Ok(table)
    }

    /// Rows stored; the caller commits, or rolls back after an error.
    pub(super) async fn load(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let (mut rows, mut stored) = (Rows::new(table), 0);
        while !rows.ended() {
            let statement = table.statement(rows.format());
            let failed = |error: Error| op_error(&error).with_statement(&*statement);
            let mut sink = pin!(
                self.client
                    .copy_in::<_, Bytes>(&statement)
                    .await
                    .map_err(failed)?
            );
            let (mut sent, mut more) = (0, true);
            let mut piece = Vec::new();
            rows.begin(&mut piece);
            while more {
                more = rows.fill(&mut piece, &mut self.row, next, &mut sent);
                sink.send(std::mem::take(&mut piece).into())
                    .await
                    .map_err(failed)?;
            }
            let count = sink.finish().await.map_err(failed)?;
            stored += copy::verify(sent, count, &statement)?;
        }
        Ok(stored)
    }
}
