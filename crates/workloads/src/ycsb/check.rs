//! Invariants of the data: the number of rows, and a sample of loaded records read back one by one.
use super::integrity::RowRule;
use super::{TABLE, Ycsb};
use crate::account::{Evidence, in_words, rows_after};
use bakeoff_model::event::Check;
use bakeoff_model::outcome::OpError;
use bakeoff_model::record::{Fields, RecordSession};
use bakeoff_model::row::RowBuf;
use bakeoff_model::run::CheckSpec;
use bakeoff_model::value::Value;
use bakeoff_model::workload::Answer;

const MOST_EVIDENCE: usize = 10;

impl Ycsb {
    pub(super) async fn check_rows<S: RecordSession>(
        &self,
        session: &mut S,
        done: &[Option<Evidence>],
    ) -> Result<Check, OpError> {
        let count = session.count(TABLE).await?;
        let rows = rows_after(self.space.base(), done);
        Ok(Check {
            name: "row count".into(),
            ok: rows.contains(&count),
            expected: in_words(&rows),
            actual: format!("{count} rows"),
            evidence: Vec::new(),
        })
    }

    pub(super) async fn check_sample<S: RecordSession>(
        &self,
        session: &mut S,
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
                None => Answer::Wrong("row missing"),
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
