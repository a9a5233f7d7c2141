//! Invariants of the data: rows of every table, their ids, the sum of k after a load, and a sample of rows.
use super::Sysbench;
use super::random::{Texts, is_c, is_pad, unpadded};
use crate::account::{Evidence, in_words, rows_after};
use crate::faults::Faults;
use crate::numbers::number;
use crate::prelude::*;
use bakeoff_model::run::sysbench::SysbenchScript;

impl Sysbench {
    pub(super) async fn checks(
        &self,
        session: &mut AnySql,
        done: &[Option<Evidence>],
        spec: &CheckSpec,
    ) -> Result<Vec<Check>, OpError> {
        let mut checks = vec![
            self.check_rows(session, done).await?,
            self.check_ids(session).await?,
        ];
        if self.loaded_rows() > 0 {
            if !spec.after_run {
                checks.push(self.check_sums(session).await?);
            }
            if spec.sample > 0 {
                checks.push(self.check_sample(session, spec).await?);
            }
        }
        Ok(checks)
    }

    /// A row deleted in one transaction may be gone for good: by the script's intent, or because its insert failed.
    fn may_lose_rows(&self) -> bool {
        !self.draws.script.rows_stay && !self.draws.script.transaction
    }

    fn adds_rows(&self) -> bool {
        matches!(
            self.spec.script,
            SysbenchScript::OltpInsert | SysbenchScript::BulkInsert
        )
    }

    async fn check_rows(&self, session: &mut AnySql, done: &[Option<Evidence>]) -> Result<Check, OpError> {
        let (mut total, mut faults) = (0, Faults::default());
        for table in 1..=self.spec.tables {
            let rows = number(session, &format!("SELECT COUNT(*) FROM sbtest{table}"))
                .await?
                .unwrap_or(0) as u64;
            total += rows;
            let (least, most) = match (self.may_lose_rows(), self.adds_rows()) {
                (true, _) => (0, self.loaded_rows()),
                (_, true) => (self.loaded_rows(), u64::MAX),
                _ => (self.loaded_rows(), self.loaded_rows()),
            };
            if !(least..=most).contains(&rows) {
                faults.add(|| format!("sbtest{table}: {rows} rows"));
            }
        }
        let in_tables = rows_after(self.loaded_rows() * u64::from(self.spec.tables), done);
        let least = if self.may_lose_rows() {
            0
        } else {
            *in_tables.start()
        };
        let in_tables = least..=*in_tables.end();
        let mut expected = in_words(&in_tables);
        if !self.may_lose_rows() && !self.adds_rows() {
            expected += &format!(", {} in each table", self.loaded_rows());
        }
        Ok(Check {
            name: "row count".into(),
            ok: in_tables.contains(&total) && faults.count == 0,
            expected,
            actual: format!("{total} rows"),
            evidence: faults.kept,
        })
    }

    /// Where ids are made up by the client, all are possible; where the system makes them, or bulk_insert counts, they
    /// begin at 1; otherwise they are those of the load.
    async fn check_ids(&self, session: &mut AnySql) -> Result<Check, OpError> {
        let (first, last) = match self.spec.script {
            SysbenchScript::OltpInsert if !self.spec.auto_inc => (i64::from(i32::MIN), i64::from(i32::MAX)),
            SysbenchScript::OltpInsert | SysbenchScript::BulkInsert => (1, i64::from(i32::MAX)),
            _ => (1, self.loaded_rows() as i64),
        };
        let mut faults = Faults::default();
        for table in 1..=self.spec.tables {
            for end in ["MIN", "MAX"] {
                let id = number(session, &format!("SELECT {end}(id) FROM sbtest{table}")).await?;
                if id.is_some_and(|id| !(first..=last).contains(&id)) {
                    faults
                        .add(|| format!("sbtest{table}: {} of ids {}", end.to_lowercase(), id.unwrap_or(0)));
                }
            }
        }
        Ok(Check {
            name: "ids in range".into(),
            ok: faults.count == 0,
            expected: format!("{first} to {last}"),
            actual: format!("{} ends of tables beyond", faults.count),
            evidence: faults.kept,
        })
    }

    /// Every loaded row has the k it was given, by the sum.
    async fn check_sums(&self, session: &mut AnySql) -> Result<Check, OpError> {
        let mut faults = Faults::default();
        for table in 1..=self.spec.tables {
            let expected: u64 = (1..=self.loaded_rows()).map(|id| self.row_k(table, id)).sum();
            let sum = number(session, &format!("SELECT SUM(k) FROM sbtest{table}")).await?;
            if sum != Some(expected as i64) {
                faults.add(|| format!("sbtest{table}: {sum:?} instead of {expected}"));
            }
        }
        Ok(Check {
            name: "sum of k".into(),
            ok: faults.count == 0,
            expected: "in every table that of the rows loaded".into(),
            actual: format!("{} tables differ", faults.count),
            evidence: faults.kept,
        })
    }

    async fn check_sample(&self, session: &mut AnySql, spec: &CheckSpec) -> Result<Check, OpError> {
        let size = self.loaded_rows();
        let total = size * u64::from(self.spec.tables);
        let sample = spec.sample.min(total);
        let (mut faults, mut texts, mut gone) = (Faults::default(), Texts::default(), 0);
        for i in 0..sample {
            let place = (u128::from(i) * u128::from(total) / u128::from(sample)) as u64;
            let (table, id) = (1 + (place / size) as u32, 1 + place % size);
            let mut fault = Some("row missing");
            let sql = format!("SELECT k, c, pad FROM sbtest{table} WHERE id={id}");
            let mut each = |row: &RowBuf| {
                fault = match spec.after_run {
                    true => shape_fault(row),
                    false => self.content_fault(row, table, id, &mut texts),
                };
            };
            if session.query_text(&sql, &mut each).await? == 0 && self.may_lose_rows() {
                gone += 1;
            } else if let Some(fault) = fault {
                faults.add(|| format!("sbtest{table} id {id}: {fault}"));
            }
        }
        let rule = match (spec.after_run, self.may_lose_rows()) {
            (false, _) => "present, every value as it was loaded",
            (true, false) => "present, c and pad of the shape they must have",
            (true, true) => "gone, or c and pad of the shape they must have",
        };
        let right = sample - gone - faults.count;
        Ok(Check {
            name: "sample of rows".into(),
            ok: faults.count == 0,
            expected: format!("{sample} rows {rule}"),
            actual: format!("{right} rows right, {gone} gone, {} wrong", faults.count),
            evidence: faults.kept,
        })
    }

    fn content_fault(&self, row: &RowBuf, table: u32, id: u64, texts: &mut Texts) -> Option<&'static str> {
        let (k, c, pad) = self.row(table, id, texts);
        if row.cell(0).and_then(Value::whole_number) != Some(k as i64) {
            Some("k differs")
        } else if unpadded(row.cell(1)) != Some(c) {
            Some("c differs")
        } else if unpadded(row.cell(2)) != Some(pad) {
            Some("pad differs")
        } else {
            None
        }
    }
}

fn shape_fault(row: &RowBuf) -> Option<&'static str> {
    let has = |cell: usize, shape: fn(&[u8]) -> bool| unpadded(row.cell(cell)).is_some_and(shape);
    if row.cell(0).and_then(Value::whole_number).is_none() {
        Some("k is no number")
    } else if !has(1, is_c) {
        Some("c has another shape")
    } else if !has(2, is_pad) {
        Some("pad has another shape")
    } else {
        None
    }
}
