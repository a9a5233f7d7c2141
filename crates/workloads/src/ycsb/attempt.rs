//! One attempt at the operation drawn last. What makes an answer wrong:
//!
//! | operation | wrong when |
//! |---|---|
//! | READ | no row; a field missing or null; another key; with `data_integrity` any byte of a value |
//! | UPDATE | not exactly one row found |
//! | INSERT | not exactly one row stored |
//! | SCAN | no row (its start key exists), more rows than the limit, not beginning at the start key; as READ per row |
//! | READ-MODIFY-WRITE | either half is |
//!
//! Where a system does not count rows, an acknowledged write is right.
use super::ahead::Drawn;
use super::integrity::{RowRule, key_of};
use super::thread::Thread;
use super::{INSERT, READ, READ_MODIFY_WRITE_READ, READ_MODIFY_WRITE_UPDATE, SCAN, TABLE, UPDATE, Ycsb};
use crate::prelude::*;
use bakeoff_model::record::{FieldValue, Fields, Record};
use smallvec::SmallVec;

/// Fields that an update can name without allocating.
const INLINE_FIELDS: usize = 16;

impl Ycsb {
    #[inline]
    pub(super) async fn attempt(
        &self,
        thread: &mut Thread,
        session: &mut AnyRecords,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        match thread.drawn.kind {
            UPDATE => self.update(thread, session).await,
            INSERT => self.insert(thread, session).await,
            SCAN => self.scan(thread, session).await,
            kind => {
                let rule = self.rule(&thread.drawn);
                let begin_ns = if kind == READ { 0 } else { probe.now_ns() };
                // Here and not in a function to wait for: reads are what a run has most of.
                let key = thread.drawn.key();
                let read = match session.read(TABLE, key, rule.fields).await {
                    Ok(Some(row)) => Ok(rule.check(row, Some(key), &mut thread.scratch)),
                    Ok(None) => Ok(Answer::Wrong("row missing")),
                    Err(error) => Err(error),
                };
                if kind == READ {
                    return read;
                }
                self.modify_and_write(read, begin_ns, thread, session, probe)
                    .await
            }
        }
    }

    #[inline]
    fn rule(&self, drawn: &Drawn) -> RowRule<'_> {
        let fields = match (self.spec.read_all_fields, self.spec.read_all_fields_by_name) {
            (true, false) => Fields::All,
            (true, true) => Fields::AllByName,
            (false, _) => Fields::One(drawn.field(self.fields.field_count())),
        };
        RowRule {
            fields,
            field_count: self.fields.field_count(),
            integrity: self.fields.integrity(),
        }
    }

    async fn update(
        &self,
        thread: &mut Thread,
        session: &mut AnyRecords,
    ) -> Result<Answer<'static>, OpError> {
        let mut start = 0;
        let values: SmallVec<[FieldValue<'_>; INLINE_FIELDS]> = self
            .written_fields(&thread.drawn)
            .zip(&thread.ends)
            .map(|(field, &end)| {
                let value = &thread.values[start as usize..end as usize];
                start = end;
                FieldValue { field, value }
            })
            .collect();
        Ok(match session.update(TABLE, thread.drawn.key(), &values).await? {
            Some(1) | None => Answer::Right,
            Some(0) => Answer::Wrong("row missing"),
            Some(_) => Answer::Wrong("more than one row updated"),
        })
    }

    async fn insert(
        &self,
        thread: &mut Thread,
        session: &mut AnyRecords,
    ) -> Result<Answer<'static>, OpError> {
        if !thread.drawn.begun {
            thread.drawn.begun = true;
            thread.account.inserts_begun.add(1);
        }
        let record = Record {
            key: thread.drawn.key(),
            bytes: &thread.values,
            ends: &thread.ends,
        };
        Ok(match session.insert(TABLE, record).await? {
            Some(1) | None => Answer::Right,
            Some(_) => Answer::Wrong("row not stored"),
        })
    }

    async fn scan(&self, thread: &mut Thread, session: &mut AnyRecords) -> Result<Answer<'static>, OpError> {
        let (rule, limit) = (self.rule(&thread.drawn), thread.drawn.limit);
        let (start, scratch) = (thread.drawn.key(), &mut thread.scratch);
        let mut found = Answer::Right;
        let mut rows = 0u64;
        let mut each = |row: &RowBuf| {
            // The start key is that of a stored record, so the scan begins with exactly this one.
            let key = if rows == 0 { Some(start) } else { None };
            rows += 1;
            if found == Answer::Right {
                found = match rule.check(row, key, scratch) {
                    Answer::Right
                        if key_of(row).is_some_and(|key| rule.fields == Fields::All && key < start) =>
                    {
                        Answer::Wrong("row before the start key")
                    }
                    answer => answer,
                };
            }
        };
        session.scan(TABLE, start, limit, rule.fields, &mut each).await?;
        if rows < thread.drawn.rows_min {
            return Ok(Answer::Wrong("rows missing"));
        }
        if limit.is_some_and(|limit| rows > u64::from(limit)) {
            return Ok(Answer::Wrong("more rows than the limit"));
        }
        Ok(found)
    }

    /// The rest of a READ-MODIFY-WRITE whose read began at `start_ns` and ended just now.
    async fn modify_and_write(
        &self,
        read: Result<Answer<'static>, OpError>,
        start_ns: u64,
        thread: &mut Thread,
        session: &mut AnyRecords,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        let middle_ns = probe.part(READ_MODIFY_WRITE_READ, outcome_of(&read, true), start_ns);
        let read = read?;
        let update = self.update(thread, session).await;
        probe.part(READ_MODIFY_WRITE_UPDATE, outcome_of(&update, false), middle_ns);
        let update = update?;
        Ok(if read == Answer::Right { update } else { read })
    }
}

fn outcome_of(result: &Result<Answer<'static>, OpError>, reads: bool) -> Outcome {
    match result {
        Ok(Answer::Right) => Outcome::Ok,
        Ok(Answer::Wrong(_)) => Outcome::Wrong,
        Err(error) => error.outcome_of(reads),
    }
}
