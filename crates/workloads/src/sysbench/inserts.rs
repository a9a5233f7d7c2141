//! oltp_insert: one new row. Its id comes from the system, or is a number that no other user of the run makes.
use super::Sysbench;
use super::steps::{Kind, Steps};
use super::thread::{Buffers, ROW_BYTES, Thread, Written};
use crate::numbers::number;
use crate::prelude::*;
use crate::rng::{Random, mix};

impl Sysbench {
    pub(super) async fn insert(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        if thread.attempts == 0 {
            thread.account.inserts_begun.add(1);
        }
        thread.written = Written::default();
        let mut steps = Steps::new(thread.attempt_seed());
        let Some(step) = steps.next(&self.draws) else {
            return Ok(Answer::Right); // cannot be: the script has one statement
        };
        let id = match self.spec.auto_inc {
            false => Some(self.new_id(thread)),
            true => session.dialect().auto_value,
        };
        let Buffers { text, texts, .. } = &mut thread.buffers;
        let (c, pad) = texts.draw(&mut Random::new(step.seed));
        let row = [
            id.map_or(Value::Null, Value::Int),
            Value::Int(step.other as i64),
            Value::Text(c),
            Value::Text(pad),
        ];
        let (kind, row) = match id {
            Some(_) => (Kind::Insert, &row[..]),
            None => (Kind::InsertWithoutId, &row[1..]),
        };
        let asked = (kind, step.table);
        let done = self.statements.execute(session, text, asked, row).await?;
        probe.queries(Queries {
            write: 1,
            ..Queries::default()
        });
        thread.written = Written {
            statements: 1,
            bytes: ROW_BYTES,
        };
        Ok(match done.affected {
            Some(1) | None => Answer::Right,
            Some(_) => Answer::Wrong("row not stored"),
        })
    }

    /// Over the whole range of the column, scattered, and never the same twice in a run of up to 2^32 rows. Runs of
    /// other seeds begin elsewhere in the same sequence.
    fn new_id(&self, thread: &mut Thread) -> i64 {
        let place = thread.ids * self.users + thread.number % self.users;
        thread.ids += 1;
        let scattered = self
            .ids
            .of(mix(self.seed, 0).wrapping_add(place) & u64::from(u32::MAX));
        scattered as i64 - (1 << 31)
    }
}

// bulk_insert: every user fills a table of its own with (n, n), n = 1, 2, ... An event is one row added to a
// statement, which is sent when it is full: most events wait for nothing, and one in tens of thousands for all.

/// User bytes of one row.
const BULK_ROW_BYTES: u64 = 8;

impl Sysbench {
    pub(super) async fn add_row(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        let Some(bulk) = &thread.bulk else {
            return Ok(Answer::Right); // cannot be: every user of this script has one
        };
        let full = bulk.rows > 0 && bulk.is_full();
        if full {
            let answer = self.send_rows(thread, session, probe).await?;
            if answer != Answer::Right {
                return Ok(answer);
            }
        }
        if let Some(bulk) = &mut thread.bulk {
            let last = match bulk.last {
                Some(last) => last,
                None => last_row(session, bulk.table).await?,
            };
            bulk.add(last + 1);
        }
        Ok(Answer::Right)
    }

    /// What was definitely not stored stays, and goes with the next attempt.
    pub(super) async fn send_rows(
        &self,
        thread: &mut Thread,
        session: &mut AnySql,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        let Some(bulk) = thread.bulk.as_mut().filter(|bulk| bulk.rows > 0) else {
            return Ok(Answer::Right);
        };
        let account = &thread.account;
        account.inserts_begun.add(bulk.rows);
        bulk.sent = true;
        let stored = match session.execute_text(&bulk.sql).await {
            // Acknowledged, and not counted: stored.
            Ok(done) => done.affected.unwrap_or(bulk.rows),
            Err(error) if matches!(error.outcome, Outcome::Fail(_)) && !error.connection_lost => {
                account.inserts_failed.add(bulk.rows);
                bulk.sent = false;
                return Err(error);
            }
            Err(error) => {
                probe.revoke(bulk.forget());
                return Err(error);
            }
        };
        probe.queries(Queries {
            write: 1,
            ..Queries::default()
        });
        bulk.sent = false;
        let rows = std::mem::take(&mut bulk.rows);
        account.inserts_acknowledged.add(stored);
        account.writes_acknowledged.add(1);
        account.bytes_written.add(stored * BULK_ROW_BYTES);
        probe.revoke(rows.saturating_sub(stored));
        Ok(if stored == rows {
            Answer::Right
        } else {
            Answer::Wrong("rows not stored")
        })
    }

    /// An attempt was given up while the statement was on its way.
    pub(super) fn abandon_rows(&self, thread: &mut Thread, probe: &mut dyn Probe) {
        if let Some(bulk) = thread.bulk.as_mut().filter(|bulk| bulk.sent) {
            probe.revoke(bulk.forget());
        }
    }
}

/// 0 where the table is empty. A second run goes on where the first ended.
async fn last_row(session: &mut AnySql, table: u64) -> Result<u64, OpError> {
    let last = number(session, &format!("SELECT MAX(id) FROM sbtest{table}")).await?;
    Ok(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0))
}
