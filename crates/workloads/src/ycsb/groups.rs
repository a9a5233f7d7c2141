//! Operations that share a transaction (`ops_per_transaction` other than 1).
//!
//! Each operation is counted when it has been answered, as everywhere. The operation that completes a group also
//! commits it, within its own time; the commit is recorded as a part of its own. If the transaction does not commit,
//! the operations of it that were counted `ok` are revoked, and what they inserted never becomes readable.
use super::thread::Thread;
use super::{COMMIT, Ycsb};
use crate::account::Account;
use crate::prelude::*;

impl Ycsb {
    /// Before an operation of a group.
    pub(super) async fn open_group(
        &self,
        thread: &mut Thread,
        session: &mut AnyRecords,
    ) -> Result<(), OpError> {
        if !thread.transaction.open {
            session.begin(Access::default()).await?;
            thread.transaction.open = true;
        }
        Ok(())
    }

    /// After an operation of a group: rolls it back if the operation failed, commits it if that was the last one.
    pub(super) async fn close_group(
        &self,
        answer: Result<Answer<'static>, OpError>,
        thread: &mut Thread,
        session: &mut AnyRecords,
        probe: &mut dyn Probe,
    ) -> Result<Answer<'static>, OpError> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let error = session.undo(error).await;
                self.roll_back(thread, probe);
                return Err(error);
            }
        };
        let group = self.spec.ops_per_transaction;
        if group > 0 && thread.transaction.operations + 1 >= group {
            self.commit(thread, session, probe).await?;
        }
        Ok(answer)
    }

    pub(super) async fn commit(
        &self,
        thread: &mut Thread,
        session: &mut AnyRecords,
        probe: &mut dyn Probe,
    ) -> Result<(), OpError> {
        thread.transaction.committing = true;
        let start_ns = probe.now_ns();
        let result = session.commit().await;
        let outcome = result
            .as_ref()
            .map_or_else(|error| error.outcome, |()| Outcome::Ok);
        probe.part(COMMIT, outcome, start_ns);
        match result {
            Ok(()) => {
                self.confirm(thread);
                Ok(())
            }
            Err(error) => {
                thread.transaction.committing = error.outcome == Outcome::Unknown;
                let error = session.undo(error).await;
                self.roll_back(thread, probe);
                Err(error)
            }
        }
    }

    /// The transaction has committed: what waited for it now counts.
    fn confirm(&self, thread: &mut Thread) {
        let (transaction, account) = (&mut thread.transaction, &thread.account);
        account.writes_acknowledged.add(transaction.writes);
        account.bytes_written.add(transaction.bytes);
        account.inserts_acknowledged.add(transaction.inserts.len() as u64);
        for &index in &transaction.inserts {
            self.settle_insert(index, true);
        }
        transaction.clear();
    }

    /// The transaction has not committed, or perhaps: nothing in it may be counted.
    pub(super) fn roll_back(&self, thread: &mut Thread, probe: &mut dyn Probe) {
        let (transaction, account) = (&mut thread.transaction, &thread.account);
        if transaction.ok > 0 {
            probe.revoke(transaction.ok);
        }
        // After a commit nobody answered, the inserts are neither acknowledged nor failed: unknown.
        if !transaction.committing {
            account.inserts_failed.add(transaction.inserts.len() as u64);
        }
        for &index in &transaction.inserts {
            self.settle_insert(index, false);
        }
        transaction.clear();
    }

    /// Books the end of the operation drawn last: at once, or when its transaction ends.
    #[inline(always)] // a read outside of transactions leaves nothing to book
    pub(super) fn book(&self, thread: &mut Thread, ended: Ended, probe: &mut dyn Probe) {
        if thread.transaction.open || thread.drawn.kind != super::READ {
            self.book_any(thread, ended, probe);
        }
    }

    fn book_any(&self, thread: &mut Thread, ended: Ended, probe: &mut dyn Probe) {
        let Ended {
            outcome,
            session_lost,
            perhaps_applied,
        } = ended;
        let drawn = *thread.drawn;
        let inserts = drawn.kind == super::INSERT;
        if inserts && perhaps_applied > 0 {
            thread.account.inserts_begun.add(perhaps_applied.into());
        }
        if thread.transaction.open && !thread.latency_probe {
            let transaction = &mut thread.transaction;
            transaction.operations += 1;
            if outcome == Outcome::Ok {
                transaction.ok += 1;
                if drawn.bytes > 0 {
                    transaction.writes += 1;
                    transaction.bytes += drawn.bytes;
                }
                if inserts {
                    transaction.inserts.push(drawn.insert);
                }
            } else if inserts {
                self.book_insert(&thread.account, drawn.insert, drawn.begun, outcome);
            }
            if session_lost {
                self.roll_back(thread, probe);
            }
            return;
        }
        if outcome == Outcome::Ok && drawn.bytes > 0 {
            thread.account.writes_acknowledged.add(1);
            thread.account.bytes_written.add(drawn.bytes);
        }
        if inserts {
            self.book_insert(&thread.account, drawn.insert, drawn.begun, outcome);
        }
    }

    fn book_insert(&self, account: &Account, index: u64, begun: bool, outcome: Outcome) {
        match outcome {
            Outcome::Ok => account.inserts_acknowledged.add(1),
            Outcome::Fail(_) if begun => account.inserts_failed.add(1),
            _ => {}
        }
        self.settle_insert(index, outcome == Outcome::Ok);
    }

    fn settle_insert(&self, index: u64, stored: bool) {
        if let Some(inserts) = self.space.inserts() {
            inserts.settle(index, stored);
        }
    }
}
