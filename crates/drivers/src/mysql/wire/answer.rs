//! Answers, read as they arrive: rows go through one buffer, and nothing is built that nobody reads.
use super::link::Link;
use super::login::Terms;
use super::read::{self, Described, Kind, OkPacket};
use crate::server::errors::malformed;
use bakeoff_model::outcome::OpError;
use bakeoff_model::row::RowBuf;

/// Status flag: another result follows (a procedure's).
const MORE_RESULTS: u16 = 8;
/// A longer packet beginning with 0xFE is a row whose first value is that long.
const END_BYTES_MAX: usize = 0xFF_FFFF;
const OLD_END_BYTES_MAX: usize = 8;

/// How the rows of an answer are written.
pub enum Rows<'a> {
    Text,
    /// The columns as the server last described them.
    Binary(&'a mut Box<[Kind]>),
}

/// Reads a whole answer, all its results. Rows seen, and what the last end of a result said; of several results the
/// affected rows are added up.
#[inline]
pub async fn read(
    link: &mut Link,
    terms: Terms,
    mut rows: Rows<'_>,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
) -> Result<(u64, OkPacket), OpError> {
    let (mut seen, mut affected_rows) = (0, 0);
    loop {
        let packet = link.packet().await?;
        let end = match packet.split_first() {
            Some((0x00, rest)) => read::ok_packet(rest)?,
            Some((0xFF, rest)) => return Err(read::refusal(rest)),
            Some((0xFB, _)) => return Err(malformed("it asks for a file that nobody offered")),
            None => return Err(malformed("an empty packet")),
            Some(_) => {
                let mut rest = packet;
                let columns = read::column_count(&mut rest)?;
                let described = !terms.cached_columns || read::u8(&mut rest)? != 0;
                if described {
                    describe_again(link, terms, columns, &mut rows).await?;
                } else if let Rows::Binary(known) = &rows
                    && known.len() != columns
                {
                    return Err(malformed("rows of columns that it has not described"));
                }
                fetch(link, terms, &rows, columns, row, each, &mut seen).await?
            }
        };
        affected_rows = end.affected_rows.saturating_add(affected_rows);
        if end.status & MORE_RESULTS == 0 {
            return Ok((seen, OkPacket { affected_rows, ..end }));
        }
    }
}

/// The rows of one result, to its end.
#[inline]
async fn fetch(
    link: &mut Link,
    terms: Terms,
    rows: &Rows<'_>,
    columns: usize,
    row: &mut RowBuf,
    each: &mut dyn FnMut(&RowBuf),
    seen: &mut u64,
) -> Result<OkPacket, OpError> {
    loop {
        let packet = link.packet().await?;
        match (packet.split_first(), rows) {
            (Some((0xFE, rest)), _) if packet.len() <= END_BYTES_MAX && terms.no_eof => {
                return read::ok_packet(rest);
            }
            (Some((0xFE, rest)), _) if packet.len() <= OLD_END_BYTES_MAX => return read::old_end(rest),
            (Some((0xFF, rest)), _) => return Err(read::refusal(rest)),
            (Some((0x00, rest)), Rows::Binary(kinds)) => read::binary_row(rest, kinds, row)?,
            (_, Rows::Text) => read::text_row(packet, columns, row)?,
            _ => return Err(malformed("neither a row nor the end of rows")),
        }
        *seen += 1;
        each(row);
    }
}

/// MySQL sends the descriptions with every answer: they are read over the old ones.
#[inline]
async fn describe_again(
    link: &mut Link,
    terms: Terms,
    count: usize,
    rows: &mut Rows<'_>,
) -> Result<(), OpError> {
    for index in 0..count {
        let column = read::described(link.packet().await?)?;
        if let Rows::Binary(known) = rows {
            if known.len() != count {
                **known = vec![Kind::Bytes; count].into();
            }
            known[index] = Kind::of(column);
        }
    }
    end_of_descriptions(link, terms, count).await
}

/// The descriptions of `count` columns or parameters, and the mark after them where there is one.
pub async fn describe<T>(
    link: &mut Link,
    terms: Terms,
    count: usize,
    of: impl Fn(Described) -> T,
) -> Result<Box<[T]>, OpError> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(of(read::described(link.packet().await?)?));
    }
    end_of_descriptions(link, terms, count).await?;
    Ok(all.into())
}

#[inline]
async fn end_of_descriptions(link: &mut Link, terms: Terms, count: usize) -> Result<(), OpError> {
    if count > 0 && !terms.no_eof {
        link.packet().await?;
    }
    Ok(())
}
