//! bulk_insert: every user fills a table of its own with (n, n), n = 1, 2, ... An event is one row added to a
//! statement, which is sent when it is full: most events wait for nothing, and one in tens of thousands for all.
use super::Sysbench;
use super::thread::Thread;
use crate::numbers::number;
use crate::prelude::*;

/// User bytes of one row.
const ROW_BYTES: u64 = 8;

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
        account.bytes_written.add(stored * ROW_BYTES);
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
