//! Pipelines: several commands are sent before the first is answered. A server answers each by itself and, other than
//! PostgreSQL, goes on after one that has failed. So nothing is sent that would stay done after an error before it:
//!
//! - A transaction begins with `SET autocommit = 0`. A deadlock's victim loses its transaction in the middle; what follows
//!   then begins another, which is rolled back with the rest, where after START TRANSACTION it would be committed.
//! - COMMIT, and outside of such a transaction what writes, wait for the answers to everything before them.
use super::answer::{self, Rows};
use super::{WireSession, request};
use crate::mysql::errors::at_commit;
use crate::server::errors::wrong_count;
use bakeoff_model::outcome::{OpError, Outcome};
use bakeoff_model::pipeline::{Asked, Part, Pipeline};
use bakeoff_model::sql::Statement;
use bakeoff_model::value::Value;

/// Of requests that are sent before an answer is read. A socket takes in more than that from a side that does not read:
/// were both to wait until the other one reads, neither would.
const PIECE_BYTES: usize = 32 * 1024;
/// Of a command, and of each of its values: more than what is written besides their bytes.
const COMMAND_BYTES: usize = 64;
const VALUE_BYTES: usize = 24;

const BEGIN: &str = "SET autocommit = 0";
const COMMIT: &str = "COMMIT";
const END: &str = "SET autocommit = 1";

impl WireSession {
    pub(super) async fn pipelined(
        &mut self,
        pipeline: &Pipeline,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        self.check(pipeline)?;
        let mut place = 0;
        while place < pipeline.len() {
            let end = self.write_piece(pipeline, place);
            self.link.ask_all().await?;
            let mut failed = None;
            for place in place..end {
                let told = self.answered(pipeline, place, failed.is_none(), each).await;
                match told {
                    Err(error) if error.connection_lost => return Err(error),
                    Err(error) => drop(failed.get_or_insert(error)),
                    Ok(()) => {}
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            place = end;
        }
        Ok(())
    }

    /// Before anything is sent: half a pipeline is none.
    fn check(&self, pipeline: &Pipeline) -> Result<(), OpError> {
        for place in 0..pipeline.len() {
            if let Some(Asked::Statement(Statement(number))) = pipeline.asked(place) {
                let prepared = &self.statements[number as usize];
                let (wanted, given) = (prepared.types.len(), pipeline.values(place).len());
                if wanted != given {
                    return Err(wrong_count(wanted, given, &prepared.sql));
                }
            }
        }
        Ok(())
    }

    /// Commands from a place on, as many as may be sent together; the place of the first that has to wait.
    fn write_piece(&mut self, pipeline: &Pipeline, from: usize) -> usize {
        let mut undone = self.autocommit_off;
        let mut place = from;
        self.link.begin_commands();
        while let Some(asked) = pipeline.asked(place) {
            let waits = match asked {
                Asked::Begin => false,
                Asked::Commit => true,
                Asked::Statement(Statement(number)) => !undone && !self.statements[number as usize].reads,
            };
            let fits = self.link.commands_bytes() + size_of_command(pipeline, place) <= PIECE_BYTES;
            if place > from && (waits || !fits) {
                break;
            }
            match asked {
                Asked::Begin => {
                    self.link.command(|request| request::query(request, BEGIN));
                    undone = true;
                }
                Asked::Commit => {
                    self.link.command(|request| request::query(request, COMMIT));
                    self.link.command(|request| request::query(request, END));
                    undone = false;
                }
                Asked::Statement(Statement(number)) => {
                    let prepared = &mut self.statements[number as usize];
                    let (id, types) = (prepared.id, &mut prepared.types);
                    self.link
                        .command(|request| request::execute(request, id, types, || pipeline.values(place)));
                }
            }
            place += 1;
        }
        place
    }

    /// Takes the answer to what is asked at a place. `counts`: nothing before it has failed.
    async fn answered(
        &mut self,
        pipeline: &Pipeline,
        place: usize,
        counts: bool,
        each: &mut dyn FnMut(usize, Part<'_>),
    ) -> Result<(), OpError> {
        let rows = match pipeline.asked(place) {
            Some(Asked::Statement(Statement(number))) => {
                let Self {
                    link,
                    terms,
                    statements,
                    row,
                    done,
                    ..
                } = self;
                let prepared = &mut statements[number as usize];
                let mut each_row = |row: &_| {
                    if counts {
                        each(place, Part::Row(row));
                    }
                };
                link.next_answer();
                let rows = Rows::Binary(&mut prepared.columns);
                let answer = answer::read(link, *terms, rows, row, &mut each_row).await;
                let (seen, end) = answer.map_err(|error| error.with_statement(&*prepared.sql))?;
                *done = end;
                seen
            }
            Some(Asked::Commit) => {
                let committed = self.answer_to(COMMIT).await.map_err(at_commit);
                if committed.as_ref().is_err_and(|error| error.connection_lost) {
                    return committed;
                }
                self.answer_to(END).await.map_err(astray)?;
                self.autocommit_off = false;
                committed?;
                0
            }
            _ => {
                self.answer_to(BEGIN).await.map_err(astray)?;
                self.autocommit_off = true;
                0
            }
        };
        if counts {
            each(place, Part::End(rows, self.done()));
        }
        Ok(())
    }

    /// Back to what a session has, once the transaction has ended.
    #[cold]
    pub(super) async fn end_pipelined(&mut self) -> Result<(), OpError> {
        self.run_text(END, &mut |_| {}).await?;
        self.autocommit_off = false;
        Ok(())
    }

    async fn answer_to(&mut self, sql: &str) -> Result<(), OpError> {
        self.link.next_answer();
        let answer = answer::read(&mut self.link, self.terms, Rows::Text, &mut self.row, &mut |_| {}).await;
        self.done = answer.map_err(|error| error.with_statement(sql))?.1;
        Ok(())
    }
}

/// The session is in a state that nobody asked for, with statements behind this one on their way.
#[cold]
fn astray(mut error: OpError) -> OpError {
    (error.outcome, error.connection_lost) = (Outcome::Unknown, true);
    error
}

fn size_of_command(pipeline: &Pipeline, place: usize) -> usize {
    let bytes = |value: Value<'_>| VALUE_BYTES + value.bytes().map_or(0, <[u8]>::len);
    COMMAND_BYTES + pipeline.values(place).map(bytes).sum::<usize>()
}
