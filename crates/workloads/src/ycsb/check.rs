//! Invariants of the data: the number of rows, and a sample of loaded records read back one by one.
use super::insert_sequence::{Did, acknowledged};
use super::integrity::RowRule;
use super::{TABLE, Ycsb};
use crate::account::{in_words, rows_after};
use crate::prelude::*;
use bakeoff_model::record::Fields;

const MISSING: &str = "row missing";
const MOST_EVIDENCE: usize = 10;
/// Keys without an acknowledgement that are looked up.
const MOST_OPEN: usize = 1000;

impl Ycsb {
    pub(super) async fn check_rows(
        &self,
        session: &mut AnyRecords,
        done: &[Option<Did>],
    ) -> Result<Check, OpError> {
        if session.is_partial().await? {
            let (rows, base) = (self.rows_by_key(session).await?, self.space.base());
            return Ok(Check {
                name: "loaded rows".into(),
                ok: rows == base,
                expected: format!("{base} rows, each read by its key: the system counts none"),
                actual: format!("{rows} rows"),
                evidence: Vec::new(),
            });
        }
        let count = session.count(TABLE).await?;
        let counts: Vec<_> = done
            .iter()
            .map(|run| run.as_ref().map(|did| did.counts))
            .collect();
        let rows = rows_after(self.space.base(), &counts);
        Ok(Check {
            name: "row count".into(),
            ok: rows.contains(&count),
            expected: in_words(&rows),
            actual: format!("{count} rows"),
            evidence: Vec::new(),
        })
    }

    /// How many of the loaded records are there: each is read.
    pub(super) async fn rows_by_key(&self, session: &mut AnyRecords) -> Result<u64, OpError> {
        let (mut rows, mut key) = (0, self.key_text.key());
        for number in 0..self.space.base() {
            self.key_text.write(self.space.keynum(number), &mut key);
            rows += u64::from(session.read(TABLE, &key, Fields::All).await?.is_some());
        }
        Ok(rows)
    }

    /// Reads rows whose insert was acknowledged by their keys: all, or a sample. `None` where no run kept keys.
    pub(super) async fn check_acknowledged(
        &self,
        session: &mut AnyRecords,
        done: &[Option<Did>],
        most: u64,
    ) -> Result<Option<Check>, OpError> {
        let runs = || done.iter().flatten();
        let ledgers: Vec<_> = runs().filter_map(|did| did.ledger.as_ref()).collect();
        let keynums = acknowledged(&ledgers, most);
        if keynums.is_empty() {
            return Ok(None);
        }
        let (mut missing, mut wrong, mut evidence) = (0u64, 0u64, Vec::new());
        let mut key = self.key_text.key();
        for &keynum in &keynums {
            self.key_text.write(keynum, &mut key);
            let answer = match session.read(TABLE, &key, Fields::All).await? {
                None => Answer::Wrong(MISSING),
                Some(row) => self.check_row(row, keynum, &key, true),
            };
            let Answer::Wrong(why) = answer else { continue };
            match why == MISSING {
                true => missing += 1,
                false => wrong += 1,
            }
            if evidence.len() < MOST_EVIDENCE {
                evidence.push(format!("{}: {why}", String::from_utf8_lossy(&key)));
            }
        }
        let unknown: u64 = runs().map(|did| did.counts.inserts_unknown).sum();
        let (mut stored, mut in_doubt) = (0u64, String::new());
        if unknown > 0 {
            for keynum in ledgers
                .iter()
                .flat_map(|ledger| ledger.open_keynums())
                .take(MOST_OPEN)
            {
                self.key_text.write(keynum, &mut key);
                if session.read(TABLE, &key, Fields::All).await?.is_some() {
                    stored += 1;
                    if evidence.len() < MOST_EVIDENCE {
                        evidence.push(format!(
                            "{}: stored without an acknowledgement",
                            String::from_utf8_lossy(&key)
                        ));
                    }
                }
            }
            in_doubt = format!("; of {unknown} without an answer {stored} present");
        }
        let total: u64 = runs().map(|did| did.counts.inserts_acknowledged).sum();
        Ok(Some(Check {
            name: "acknowledged rows".into(),
            ok: missing + wrong == 0,
            expected: format!(
                "{} of {total} acknowledged rows present, read by key",
                keynums.len()
            ),
            actual: format!(
                "{} present, {missing} missing, {wrong} wrong{in_doubt}",
                keynums.len() as u64 - missing - wrong
            ),
            evidence,
        }))
    }

    pub(super) async fn check_sample(
        &self,
        session: &mut AnyRecords,
        spec: &CheckSpec,
    ) -> Result<Check, OpError> {
        let total = self.space.base();
        let sample = spec.sample.min(total);
        let (mut wrong, mut evidence) = (0u64, Vec::new());
        let mut key = self.key_text.key();
        for i in 0..sample {
            let number = (u128::from(i) * u128::from(total) / u128::from(sample)) as u64;
            let keynum = self.space.keynum(number);
            self.key_text.write(keynum, &mut key);
            let answer = match session.read(TABLE, &key, Fields::All).await? {
                None => Answer::Wrong(MISSING),
                Some(row) => self.check_row(row, keynum, &key, spec.after_run),
            };
            if let Answer::Wrong(why) = answer {
                wrong += 1;
                if evidence.len() < MOST_EVIDENCE {
                    evidence.push(format!("{}: {why}", String::from_utf8_lossy(&key)));
                }
            }
        }
        let rule = if self.fields.integrity().is_some() || !spec.after_run {
            "present, every value verified"
        } else {
            "present, every field there and of a length it can have"
        };
        Ok(Check {
            name: "sample of rows".into(),
            ok: wrong == 0,
            expected: format!("{sample} rows {rule}"),
            actual: format!("{} rows right, {wrong} wrong", sample - wrong),
            evidence,
        })
    }

    fn check_row(&self, row: &RowBuf, keynum: u64, key: &[u8], after_run: bool) -> Answer<'static> {
        let field_count = self.fields.field_count();
        let integrity = self.fields.integrity();
        let mut scratch = Vec::new();
        let answer = RowRule {
            fields: Fields::All,
            field_count,
            integrity,
        }
        .check(row, Some(key), &mut scratch);
        if answer != Answer::Right || integrity.is_some() {
            return answer;
        }
        let (shortest, longest) = self.fields.length_bounds();
        for field in 0..field_count {
            let Some(value) = row.cell(field as usize + 1).and_then(Value::bytes) else {
                return Answer::Wrong("field is not text");
            };
            if !(shortest..=longest).contains(&value.len()) {
                return Answer::Wrong("field length differs");
            }
            scratch.clear();
            self.fields.loaded(keynum, key, field, &mut scratch);
            if !after_run && value != scratch {
                return Answer::Wrong("field value differs");
            }
        }
        Answer::Right
    }
}
