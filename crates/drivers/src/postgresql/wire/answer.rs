//! Answers, read where they arrived: all messages that are whole in one go, without a wait between them.
use super::link::{Link, is_aside, message, size};
use super::read;
use crate::postgresql::errors::server_error;
use crate::postgresql::kind::Kind;
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;

/// How a transaction stands, as the server says it at the end of each answer.
pub const IDLE: u8 = b'I';

/// What the server has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct End {
    /// Rows that came.
    pub seen: u64,
    /// Rows that were written, found ones among them that stayed what they were.
    pub affected: u64,
    /// The last command was ended by ROLLBACK.
    pub rolled_back: bool,
    /// Of the transaction; see [`IDLE`].
    pub status: u8,
}

/// Reads a whole answer. `kinds`: of a prepared statement's columns; `None`: a statement in text, whose values are text.
/// Of several statements the written rows are added up.
#[inline]
pub async fn read(
    link: &mut Link,
    kinds: Option<&[Kind]>,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> Result<End, OpError> {
    let mut reading = Reading::default();
    loop {
        let (taken, ended) = reading.take_in(link.input(), kinds, row, each)?;
        link.consume(taken);
        if ended {
            link.note(reading.notices);
            return match reading.error {
                None => Ok(reading.end),
                Some(error) => Err(error),
            };
        }
        link.more().await?;
    }
}

#[derive(Default)]
struct Reading {
    stage: Stage,
    end: End,
    notices: u64,
    /// The server goes on after an error, to the end of its answer.
    error: Option<OpError>,
}

/// How far an answer has come: what is not followed to its end is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Asked,
    /// Rows may come, and must be followed by the command's end.
    Rows,
    /// A command is done; of a statement in text more may follow.
    Done,
    Failed,
}

impl Reading {
    /// The messages that are whole: their bytes, and whether the answer is.
    #[inline]
    fn take_in(
        &mut self,
        input: &[u8],
        kinds: Option<&[Kind]>,
        row: &mut RowBuf,
        each: &mut dyn FnMut(&RowBuf),
    ) -> Result<(usize, bool), OpError> {
        let mut taken = 0;
        while let Some((tag, content)) = message(&input[taken..])? {
            taken += size(content);
            match (tag, self.stage) {
                (b'D', Stage::Rows) => {
                    read::row(content, kinds, row)?;
                    self.end.seen += 1;
                    each(row);
                }
                (b'C', Stage::Rows) => self.command(content),
                (b'Z', Stage::Done | Stage::Failed) => {
                    self.end.status = read::status(content)?;
                    return Ok((taken, true));
                }
                (b'2', Stage::Asked) if kinds.is_some() => self.stage = Stage::Rows, // bound
                _ => self.seldom(tag, content, kinds.is_none())?,
            }
        }
        Ok((taken, false))
    }

    #[inline]
    fn command(&mut self, tag: &[u8]) {
        self.end.affected = self.end.affected.saturating_add(read::affected(tag));
        self.end.rolled_back = read::rolls_back(tag);
        self.stage = Stage::Done;
    }

    #[cold]
    fn seldom(&mut self, tag: u8, content: &[u8], in_text: bool) -> Result<(), OpError> {
        match (tag, self.stage) {
            (b'E', _) => {
                let error = server_error(read::error(content));
                if error.connection_lost {
                    return Err(error);
                }
                // Of several the first is the cause.
                self.error.get_or_insert(error);
                self.stage = Stage::Failed;
            }
            (b'N', _) => self.notices += 1,
            _ if is_aside(tag) => {}
            // Of text: rows are described; a command that has none.
            (b'T', Stage::Asked | Stage::Done) if in_text => self.stage = Stage::Rows,
            (b'C', Stage::Asked | Stage::Done) if in_text => self.command(content),
            // There was no command in it.
            (b'I', Stage::Rows) => self.stage = Stage::Done,
            (b'I', Stage::Asked) if in_text => self.stage = Stage::Done,
            (b'G' | b'H' | b'W', _) => return Err(malformed("it wants to copy rows that nobody offered")),
            _ => return Err(malformed("a message of another dialogue")),
        }
        Ok(())
    }
}

/// Waits for the end of an answer in which nothing more is of interest but an error. For what is not measured.
pub async fn end(link: &mut Link, row: &mut RowBuf) -> Result<End, OpError> {
    link.consume(0); // what `next` has handed out
    read(link, None, row, &mut |_| {}).await
}

/// Waits until the server says that it is ready, and nothing else; the state of the transaction. For what is not measured.
pub async fn ready(link: &mut Link) -> Result<u8, OpError> {
    match link.next().await? {
        (b'Z', content) => read::status(content),
        _ => Err(malformed("a message of another dialogue")),
    }
}
