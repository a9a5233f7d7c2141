//! How operations ended, for the checks that follow: counts, and the keys of acknowledged inserts.
use super::draw::{Drawn, Thread};
use super::{DELETE, Documents, INSERT, PUT_BATCH, reads_only};
use crate::account::{Changed, Evidence};
use crate::prelude::*;
use crate::ycsb::Ledger;
use serde::{Deserialize, Serialize};

/// What one client's run did.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Did {
    #[serde(flatten)]
    pub counts: Evidence,
    #[serde(default)]
    pub deleted: Changed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
}

impl Documents {
    /// Before an attempt that adds or removes this number of documents.
    pub(super) fn begin(&self, thread: &mut Thread, documents: u64) {
        if thread.drawn.begun {
            return;
        }
        thread.drawn.begun = true;
        match thread.drawn.kind {
            DELETE => thread.account.deleted.begun.add(documents),
            _ => thread.account.own.inserts_begun.add(documents),
        }
    }

    pub(super) fn book(&self, thread: &mut Thread, ended: Ended) {
        let Drawn { kind, begun, .. } = thread.drawn;
        if reads_only(kind) {
            return;
        }
        let Ended {
            outcome,
            perhaps_applied,
            ..
        } = ended;
        if outcome == Outcome::Ok {
            thread.account.own.writes_acknowledged.add(1);
            thread.account.own.bytes_written.add(thread.drawn.bytes);
        }
        let perhaps = u64::from(perhaps_applied);
        let failed = matches!(outcome, Outcome::Fail(_)) && begun;
        match kind {
            INSERT => {
                thread.account.own.inserts_begun.add(perhaps);
                match outcome {
                    Outcome::Ok => thread.account.own.inserts_acknowledged.add(1),
                    _ if failed => thread.account.own.inserts_failed.add(1),
                    _ => {}
                }
                let stored = outcome == Outcome::Ok;
                if stored && thread.drawn.short_lived {
                    thread.kept.push_back(thread.drawn.insert);
                }
                self.settle_insert(thread.drawn.insert, stored && !thread.drawn.short_lived);
            }
            PUT_BATCH => {
                let documents = thread.inserts.len() as u64;
                thread.account.own.inserts_begun.add(perhaps * documents);
                // After an error any of them may be there: neither acknowledged nor failed.
                if outcome == Outcome::Ok {
                    thread.account.own.inserts_acknowledged.add(documents);
                }
                for &insert in &thread.inserts {
                    self.settle_insert(insert, outcome == Outcome::Ok);
                }
            }
            DELETE => {
                let deleted = &thread.account.deleted;
                deleted.begun.add(perhaps);
                deleted.rows.add((outcome == Outcome::Ok).into());
                deleted.ended.add((outcome == Outcome::Ok || failed).into());
            }
            _ => {}
        }
    }

    fn settle_insert(&self, insert: u64, readable: bool) {
        if let Some(inserts) = self.space.inserts() {
            inserts.settle(insert, readable);
        }
    }

    pub(super) fn did(&self) -> Did {
        let mut did = Did {
            ledger: self.space.inserts().map(Ledger::of),
            ..Did::default()
        };
        self.accounts.each(|account| {
            did.counts.add(&account.own);
            did.deleted.add(&account.deleted);
        });
        did
    }
}
