//! oltp_insert: one new row. Its id comes from the system, or is a number that no other user of the run makes.
use super::Sysbench;
use super::script::Kind;
use super::steps::Steps;
use super::thread::{Buffers, Thread, Written};
use super::values::ROW_BYTES;
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
