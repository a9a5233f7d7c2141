//! What is wrong with lists without a cycle. Each is exact: no order between transactions is assumed but, for lost
//! writes, that a later append comes after one that was acknowledged before it began.

use super::versions::Versions;
use crate::findings::Findings;
use crate::history::{History, Key, Op, TransactionId};
use crate::level::{Anomaly, Class};
use crate::lists::{ListId, NONE};
use crate::proof::shown;
use crate::record::Phase;

pub fn check(history: &History, versions: &Versions<'_>, findings: &mut Findings<'_, Anomaly>) {
    let mut check = Check {
        history,
        versions,
        findings,
    };
    check.elements();
    check.reads();
    check.order_within_transactions();
    check.lost_writes();
}

struct Check<'c, 'h> {
    history: &'c History,
    versions: &'c Versions<'c>,
    findings: &'c mut Findings<'h, Anomaly>,
}

impl Check<'_, '_> {
    fn name(&self, key: Key) -> u64 {
        self.history.keys[key as usize]
    }

    fn add(&mut self, class: Class, transactions: &[TransactionId], reason: impl FnOnce() -> String) {
        self.findings
            .add(Anomaly::plain(class), 1, transactions, || vec![reason()]);
    }

    /// Phantoms, aborted reads and duplicates, once per list that ends in one.
    fn elements(&mut self) {
        for (id, list) in self.history.lists.iter().filter(|(_, list)| list.shorter != NONE) {
            let Some(reader) = self.versions.reader(id) else {
                continue;
            };
            let (key, value) = (self.name(list.key), list.value);
            match self.versions.writer(id) {
                None => self.add(Class::Phantom, &[reader], || {
                    format!("T1 read {value} of key {key}, which no transaction appended")
                }),
                Some(writer) if !self.versions.is_committed(writer) => {
                    self.add(Class::G1a, &[reader, writer], || {
                        format!("T1 read {value} of key {key}, which T2 appended and did not commit")
                    });
                }
                Some(_) => {}
            }
        }
        let versions = self.versions;
        for duplicate in &versions.duplicates {
            let list = self.history.lists.get(*duplicate);
            let (key, value) = (self.name(list.key), list.value);
            if let Some(reader) = versions.reader(*duplicate) {
                self.add(Class::Duplicate, &[reader], || {
                    format!("T1 read {value} of key {key} twice in one list")
                });
            }
        }
    }

    fn reads(&mut self) {
        let history = self.history;
        for (id, _) in history.iter().filter(|(_, transaction)| transaction.is_ok()) {
            for (at, op) in history.ops(id).iter().enumerate() {
                if let Some((key, list)) = self.versions.read(op) {
                    self.incompatible(id, key, list);
                    self.intermediate(id, key, list);
                    self.internal(id, at, key, list);
                }
            }
        }
    }

    fn incompatible(&mut self, id: TransactionId, key: Key, list: ListId) {
        let (None, Some(longest)) = (
            self.versions.place(list),
            self.versions.order(key).last().copied(),
        ) else {
            return;
        };
        let other = self.versions.reader(longest).unwrap_or(id);
        let both = if other == id { vec![id] } else { vec![id, other] };
        let (history, name, last) = (self.history, self.name(key), both.len());
        self.add(Class::IncompatibleOrder, &both, || {
            let values = |list| shown(&history.lists.values(list));
            format!(
                "of key {name}, T1 read {} and T{last} read {}",
                values(list),
                values(longest)
            )
        });
    }

    /// The read ends in an element after which its writer appended more to this key.
    fn intermediate(&mut self, id: TransactionId, key: Key, list: ListId) {
        let last = self
            .history
            .lists
            .backwards(list)
            .find(|(list, _)| self.versions.writer(*list) != Some(id));
        let Some((last, element)) = last else { return };
        let Some(writer) = self
            .versions
            .writer(last)
            .filter(|writer| self.versions.is_committed(*writer))
        else {
            return;
        };
        let later = appends(self.history, writer, key)
            .skip_while(|value| *value != element.value)
            .nth(1);
        if let Some(later) = later {
            let (name, value) = (self.name(key), element.value);
            self.add(Class::G1b, &[id, writer], || {
                format!("T1 read key {name} up to {value} of T2, which appended {later} to it later")
            });
        }
    }

    fn internal(&mut self, id: TransactionId, at: usize, key: Key, list: ListId) {
        let history = self.history;
        let own = |ops: &[Op]| -> Vec<i64> { ops.iter().filter_map(|op| appended(op, key)).collect() };
        let (before, after) = history.ops(id).split_at(at);
        // From its end, the list must have its own appends in their order.
        let mut elements = history.lists.backwards(list);
        let missing = own(before)
            .into_iter()
            .rev()
            .find(|value| !elements.any(|(_, list)| list.value == *value));
        let early = own(after)
            .into_iter()
            .find(|value| history.lists.contains(list, *value));
        let name = self.name(key);
        if let Some(value) = missing {
            self.add(Class::Internal, &[id], || {
                format!(
                    "T1 appended {value} to key {name} and then did not read it, or read it in another order"
                )
            });
        } else if let Some(value) = early {
            self.add(Class::Internal, &[id], || {
                format!("T1 read {value} of key {name} before it appended it")
            });
        }
    }

    /// A transaction's appends to a key are in its order as they were made. (With one of others between: G0.)
    fn order_within_transactions(&mut self) {
        for key in 0..self.history.keys.len() as u32 {
            let versions = self.versions;
            for pair in versions.order(key).windows(2) {
                let (Some(writer), Some(reader)) = (versions.writer(pair[1]), versions.reader(pair[1]))
                else {
                    continue;
                };
                if versions.writer(pair[0]) != Some(writer) {
                    continue;
                }
                let [first, second] = [pair[0], pair[1]].map(|list| self.history.lists.get(list).value);
                let made_first =
                    appends(self.history, writer, key).find(|value| [first, second].contains(value));
                if made_first == Some(second) && first != second {
                    let name = self.name(key);
                    self.add(Class::Internal, &[writer, reader], || {
                        format!("T1 appended {second} to key {name} before {first}, and T2 read them in the other order")
                    });
                }
            }
        }
    }

    /// Acknowledged and in no list, although a list has what was appended after the acknowledgement, or was read when
    /// everything had been applied. A list that was only read later may be an old one, which many systems allow.
    fn lost_writes(&mut self) {
        let history = self.history;
        let latest = self.latest_evidence();
        for (id, transaction) in history.iter().filter(|(_, transaction)| transaction.is_ok()) {
            for (at, op) in history.ops(id).iter().enumerate() {
                let Op::Append { key, value } = *op else { continue };
                if self.versions.is_seen(key, value) {
                    continue;
                }
                let mut later_own = history.ops(id)[at..].iter().filter_map(|op| appended(op, key));
                let (evidence_ns, reader) = latest[key as usize];
                let later_own_is_seen = later_own.any(|value| self.versions.is_seen(key, value));
                if reader != NONE && (evidence_ns > transaction.return_ns || later_own_is_seen) {
                    let (name, both) = (
                        self.name(key),
                        if reader == id { vec![id] } else { vec![id, reader] },
                    );
                    let last = both.len();
                    self.add(Class::LostWrite, &both, || {
                        format!("T1 appended {value} to key {name} and was acknowledged; T{last} read later appends without it")
                    });
                }
            }
        }
    }

    /// Per key, since when what is missing is lost, and who read that.
    fn latest_evidence(&self) -> Vec<(i64, TransactionId)> {
        let (history, versions) = (self.history, self.versions);
        let mut latest = vec![(i64::MIN, NONE); history.keys.len()];
        for (key, found) in (0u32..).zip(&mut latest) {
            let Some(reader) = versions.order(key).last().and_then(|list| versions.reader(*list)) else {
                continue;
            };
            let writers = versions
                .order(key)
                .iter()
                .filter_map(|list| versions.writer(*list));
            let newest_ns = writers.map(|writer| history.transaction(writer).call_ns).max();
            *found = (newest_ns.unwrap_or(i64::MIN), reader);
        }
        for (id, transaction) in history
            .iter()
            .filter(|(_, one)| one.is_ok() && one.phase == Phase::Final)
        {
            for (key, _) in history.ops(id).iter().filter_map(|op| versions.read(op)) {
                let found = &mut latest[key as usize];
                if transaction.call_ns > found.0 {
                    *found = (transaction.call_ns, id);
                }
            }
        }
        latest
    }
}

fn appended(op: &Op, of_key: Key) -> Option<i64> {
    match *op {
        Op::Append { key, value } if key == of_key => Some(value),
        _ => None,
    }
}

fn appends(history: &History, id: TransactionId, key: Key) -> impl Iterator<Item = i64> {
    history.ops(id).iter().filter_map(move |op| appended(op, key))
}
