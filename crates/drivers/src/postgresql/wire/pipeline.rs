//! Pipelines: each statement as Bind and Execute, and one Sync after the last, at which the server says that it is ready.
//! After an error it passes over everything up to there.
use super::link::{Link, is_aside, message, size};
use super::request::{FLUSH, Prepared, SYNC};
use super::{WireSession, answer, read};
use crate::postgresql::errors::{at_commit, rolled_back, server_error};
use crate::server::errors::{malformed, wrong_count};
use bakeoff_model::outcome::OpError;
use bakeoff_model::pipeline::{Asked, Part, Pipeline};
use bakeoff_model::row::RowBuf;
use bakeoff_model::sql::Done;
use std::rc::Rc;

/// Of requests that are sent before an answer is read. A socket takes in more than that from a side that does not read:
/// were both to wait until the other one reads, neither would.
const PIECE_BYTES: usize = 32 * 1024;
/// Name and text of what stands around a transaction, prepared before a session's first pipeline.
const BRACKETS: [(&str, &str); 2] = [("begin", "BEGIN"), ("commit", "COMMIT")];

impl WireSession {
    pub(super) async fn pipelined(
        &mut self,
        pipeline: &Pipeline,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        while let Some((name, sql)) = BRACKETS.get(self.brackets.len()) {
            let prepared = self.prepare_as(name, sql).await?;
            self.brackets.push(prepared);
        }
        let Self {
            link,
            statements,
            brackets,
            row,
            end,
            ..
        } = self;
        let asking = Asking {
            pipeline,
            statements,
            brackets,
        };
        asking.check()?;
        let mut reading = Reading::default();
        let outcome = asking.run(link, row, &mut reading, each).await;
        link.note(reading.notices);
        end.status = reading.status;
        match outcome {
            Err(error) if error.statement.is_none() && reading.place < pipeline.len() => {
                Err(error.with_statement(&*asking.prepared(reading.place).sql))
            }
            other => other,
        }
    }
}

/// A pipeline, and the statements that it names.
struct Asking<'a> {
    pipeline: &'a Pipeline,
    statements: &'a [Rc<Prepared>],
    brackets: &'a [Rc<Prepared>],
}

impl Asking<'_> {
    #[inline]
    fn prepared(&self, place: usize) -> &Prepared {
        match self.pipeline.asked(place) {
            Some(Asked::Statement(statement)) => &self.statements[statement.0 as usize],
            Some(Asked::Commit) => &self.brackets[1],
            _ => &self.brackets[0],
        }
    }

    /// Before anything is sent: half a pipeline is none.
    fn check(&self) -> Result<(), OpError> {
        for place in 0..self.pipeline.len() {
            let (prepared, given) = (self.prepared(place), self.pipeline.values(place).len());
            if prepared.params.len() != given {
                return Err(wrong_count(prepared.params.len(), given, &prepared.sql));
            }
        }
        Ok(())
    }

    async fn run(
        &self,
        link: &mut Link,
        row: &mut RowBuf,
        reading: &mut Reading,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        while reading.place < self.pipeline.len() {
            reading.piece_end = self.write_piece(link.request(), reading.place);
            link.ask().await?;
            loop {
                let (taken, ended) = reading.take_in(link.input(), self, row, each)?;
                link.consume(taken);
                if ended {
                    break;
                }
                link.more().await?;
            }
            if reading.skips && reading.piece_end < self.pipeline.len() {
                link.request().extend_from_slice(&SYNC);
                link.ask().await?;
                reading.status = answer::ready(link).await?;
            }
            if let Some(error) = reading.error.take() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Statements from a place on; the place of the first that has to wait.
    fn write_piece(&self, request: &mut Vec<u8>, from: usize) -> usize {
        let mut place = from;
        while place < self.pipeline.len() && request.len() < PIECE_BYTES {
            let values = self.pipeline.values(place);
            self.prepared(place).execute_among(request, values);
            place += 1;
        }
        let last = place == self.pipeline.len();
        request.extend_from_slice(if last { &SYNC } else { &FLUSH });
        place
    }
}

/// The answers to a piece, as far as they have come.
#[derive(Default)]
struct Reading {
    /// Of the statement whose answer comes next, or is coming.
    place: usize,
    piece_end: usize,
    /// Its values were taken: rows and its end may follow.
    bound: bool,
    /// Its rows so far.
    rows: u64,
    /// The server passes over what follows.
    skips: bool,
    error: Option<OpError>,
    /// Of the transaction, once all is answered.
    status: u8,
    notices: u64,
}

impl Reading {
    /// The messages that are whole: their bytes, and whether the piece is answered.
    fn take_in(
        &mut self,
        input: &[u8],
        asking: &Asking<'_>,
        row: &mut RowBuf,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(usize, bool), OpError> {
        let last = self.piece_end == asking.pipeline.len();
        let mut taken = 0;
        loop {
            let answered = self.skips || self.place == self.piece_end;
            if answered && !last {
                return Ok((taken, true));
            }
            let Some((tag, content)) = message(&input[taken..])? else {
                return Ok((taken, false));
            };
            taken += size(content);
            match tag {
                b'2' if !answered && !self.bound => self.bound = true,
                b'D' if self.bound => {
                    read::row(content, Some(&asking.prepared(self.place).columns), row)?;
                    self.rows += 1;
                    each(self.place, Part::Row(row));
                }
                b'C' | b'I' if self.bound => self.done(content, asking.pipeline, each),
                b'Z' if answered => {
                    self.status = read::status(content)?;
                    return Ok((taken, true));
                }
                b'E' if !self.skips => self.failed(content, asking)?,
                b'N' => self.notices += 1,
                _ if is_aside(tag) => {}
                _ => return Err(malformed("a message of another dialogue")),
            }
        }
    }

    #[inline]
    fn done(&mut self, tag: &[u8], pipeline: &Pipeline, each: &mut dyn FnMut(usize, Part<'_>)) {
        if pipeline.asked(self.place) == Some(Asked::Commit) && read::rolls_back(tag) {
            self.error.get_or_insert_with(rolled_back);
        }
        let done = Done {
            affected: Some(read::affected(tag)),
            insert_id: None,
        };
        each(self.place, Part::End(std::mem::take(&mut self.rows), done));
        self.place += 1;
        self.bound = false;
    }

    #[cold]
    fn failed(&mut self, content: &[u8], asking: &Asking<'_>) -> Result<(), OpError> {
        let mut error = server_error(read::error(content));
        if asking.pipeline.asked(self.place) == Some(Asked::Commit) {
            error = at_commit(error);
        }
        if error.connection_lost {
            return Err(error);
        }
        if self.place < asking.pipeline.len() {
            error = error.with_statement(&*asking.prepared(self.place).sql);
        }
        self.error.get_or_insert(error);
        (self.skips, self.bound) = (true, false);
        Ok(())
    }
}
