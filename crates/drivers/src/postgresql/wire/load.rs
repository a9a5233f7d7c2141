//! Bulk loads by COPY, in pieces that are written while the server is at work on the last.
use super::link::Link;
use super::{WireSession, answer, read, request};
use crate::postgresql::copy::{self, Rows, Table};
use crate::postgresql::errors::server_error;
use crate::server::errors::malformed;
use crate::server::statement::start;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;

impl WireSession {
    /// Rows stored; the caller commits, or rolls back after an error.
    pub(super) async fn load(
        &mut self,
        table: &Table,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<u64, OpError> {
        let (mut rows, mut stored) = (Rows::new(table), 0);
        while !rows.ended() {
            let statement = table.statement(rows.format());
            let sent = self.send_rows(&statement, &mut rows, next).await;
            let (sent, end) = sent.map_err(|error| error.with_statement(&*statement))?;
            stored += copy::verify(sent, end.affected, &statement)?;
        }
        Ok(stored)
    }

    /// The table's columns and what they hold; asked once.
    pub(super) async fn table(&mut self, name: &str, columns: &[&str]) -> Result<Table, OpError> {
        let mut table = Table::new(name, columns);
        if let Some(known) = self.tables.iter().find(|known| known.is(&table)) {
            return Ok(known.clone());
        }
        let probe = table.probe();
        let described = self.describe("", &probe).await;
        table.kinds = described.map_err(|error| error.with_statement(start(&probe)))?.1;
        self.tables.push(table.clone());
        Ok(table)
    }

    /// Rows sent, and what the server said at the end.
    async fn send_rows(
        &mut self,
        statement: &str,
        rows: &mut Rows<'_>,
        next: &mut dyn FnMut(&mut RowBuf) -> bool,
    ) -> Result<(u64, answer::End), OpError> {
        request::query(self.link.request(), statement);
        self.link.ask().await?;
        match self.link.next().await? {
            (b'G', _) => {}
            (b'E', content) => {
                let error = server_error(read::error(content));
                return Err(after_error(&mut self.link, error).await);
            }
            _ => return Err(malformed("it does not ask for the rows to load")),
        }
        let (mut sent, mut begun, mut more) = (0, false, true);
        while more {
            let row = &mut self.row;
            let request = self.link.request();
            request::copy_data(request, |out| {
                if !std::mem::replace(&mut begun, true) {
                    rows.begin(out);
                }
                more = rows.fill(out, row, next, &mut sent);
            });
            if !more {
                request::copy_done(request);
            }
            self.link.tell().await?;
        }
        // A row that is left for the next statement is in the buffer.
        let end = answer::end(&mut self.link, &mut RowBuf::default()).await?;
        Ok((sent, end))
    }
}

/// The error, once the server is ready for the next request.
async fn after_error(link: &mut Link, error: OpError) -> OpError {
    if error.connection_lost {
        return error;
    }
    match answer::ready(link).await {
        Ok(_) => error,
        Err(lost) => lost,
    }
}
