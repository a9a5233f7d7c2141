//! Who wrote the elements of all lists, and the order of each key's elements.

use std::collections::HashMap;

use crate::error::Error;
use crate::history::{History, Key, Op, TransactionId};
use crate::lists::{List, ListId, NONE};
use crate::record::Outcome;

pub struct Versions<'h> {
    history: &'h History,
    elements: HashMap<(Key, i64), Element>,
    /// Per list, who wrote its last element.
    writers: Vec<TransactionId>,
    /// Per list, an acknowledged transaction that read it, or a longer one that begins with it.
    readers: Vec<TransactionId>,
    /// Per list, how many of its elements were not written by aborted transactions.
    lengths: Vec<u32>,
    /// Per list, whether its elements are the first ones of the key's order.
    fits: Vec<bool>,
    committed: Vec<bool>,
    /// Key after key, the lists that end in each element of its order.
    orders: Vec<ListId>,
    order_starts: Vec<u32>,
    /// Lists whose last element is in them before.
    pub duplicates: Vec<ListId>,
}

struct Element {
    writer: TransactionId,
    /// The first list that was read and ends in it.
    list: ListId,
}

impl<'h> Versions<'h> {
    pub fn of(history: &'h History) -> Result<Self, Error> {
        let elements = elements(history)?;
        let readers = readers(history);
        let mut versions = Self {
            history,
            elements,
            writers: vec![NONE; history.lists.count()],
            readers,
            lengths: vec![0; history.lists.count()],
            fits: vec![true; history.lists.count()],
            committed: history
                .transactions
                .iter()
                .map(|transaction| transaction.is_ok())
                .collect(),
            orders: Vec::new(),
            order_starts: vec![0],
            duplicates: Vec::new(),
        };
        versions.find_writers();
        versions.find_contradicted();
        let longest = versions.measure();
        for list in longest {
            let kept = history
                .lists
                .backwards(list)
                .map(|(list, _)| list)
                .filter(|list| !versions.is_aborted(*list));
            let order: Vec<ListId> = kept.collect();
            versions.orders.extend(order.iter().rev());
            versions.order_starts.push(versions.orders.len() as u32);
        }
        versions.fit();
        Ok(versions)
    }

    fn find_writers(&mut self) {
        let lists = &self.history.lists;
        for (id, list) in lists.iter().filter(|(_, list)| list.shorter != NONE) {
            let seen = self.readers[id as usize] != NONE;
            let key = (list.key, list.value);
            let element = if seen {
                self.elements.entry(key).or_insert(Element {
                    writer: NONE,
                    list: NONE,
                })
            } else if let Some(element) = self.elements.get_mut(&key) {
                element
            } else {
                continue;
            };
            self.writers[id as usize] = element.writer;
            if !seen {
                continue;
            }
            if element.list == NONE {
                element.list = id;
            } else if lists.contains(list.shorter, list.value) {
                self.duplicates.push(id);
            }
            if element.writer != NONE && self.history.transaction(element.writer).outcome == Outcome::Unknown
            {
                self.committed[element.writer as usize] = true;
            }
        }
    }

    /// A value of unknown outcome was read, but lists that grew longer do not have it: it was read before it was aborted.
    fn find_contradicted(&mut self) {
        let lists = &self.history.lists;
        let seen = |list: &ListId| self.readers[*list as usize] != NONE;
        // Per list, the longest one that was read and begins with it.
        let mut longest: Vec<ListId> = (0..lists.count() as u32).collect();
        let length = |list: ListId| lists.get(list).length;
        for list in (0..lists.count() as u32).rev().filter(seen) {
            let List { shorter, .. } = *lists.get(list);
            if shorter != NONE && length(longest[list as usize]) > length(longest[shorter as usize]) {
                longest[shorter as usize] = longest[list as usize];
            }
        }
        for (id, list) in lists.iter().filter(|(id, list)| list.shorter != NONE && seen(id)) {
            let writer = self.writers[id as usize];
            let others = || {
                lists
                    .longer(list.shorter)
                    .filter(|other| *other != id)
                    .filter(seen)
            };
            if writer != NONE
                && !self.history.transaction(writer).is_ok()
                && others().map(|other| longest[other as usize]).any(|other| {
                    length(other) >= length(longest[id as usize]) && !lists.contains(other, list.value)
                })
            {
                self.committed[writer as usize] = false;
            }
        }
    }

    /// Whether the writer of a list's last element did not commit.
    fn is_aborted(&self, list: ListId) -> bool {
        self.writer(list).is_some_and(|writer| !self.is_committed(writer))
    }

    /// Lengths without aborted elements, and each key's longest list that was read.
    fn measure(&mut self) -> Vec<ListId> {
        let mut longest: Vec<ListId> = (0..self.history.keys.len() as u32)
            .map(|key| self.history.empty_list(key))
            .collect();
        for (id, list) in self.history.lists.iter().filter(|(_, list)| list.shorter != NONE) {
            let counts = !self.is_aborted(id);
            self.lengths[id as usize] = self.lengths[list.shorter as usize] + u32::from(counts);
            let best = &mut longest[list.key as usize];
            if self.readers[id as usize] != NONE && self.lengths[id as usize] > self.lengths[*best as usize] {
                *best = id;
            }
        }
        longest
    }

    fn fit(&mut self) {
        for (id, list) in self.history.lists.iter().filter(|(_, list)| list.shorter != NONE) {
            let place = self.lengths[list.shorter as usize] as usize;
            let as_ordered = || {
                self.order(list.key)
                    .get(place)
                    .map(|list| self.history.lists.get(*list).value)
            };
            self.fits[id as usize] = self.fits[list.shorter as usize]
                && (self.lengths[id as usize] as usize == place || as_ordered() == Some(list.value));
        }
    }

    /// The lists that end in each element of the key's order.
    pub fn order(&self, key: Key) -> &[ListId] {
        &self.orders[self.order_starts[key as usize] as usize..self.order_starts[key as usize + 1] as usize]
    }

    /// Which elements of the key's order a list has: all before this place. `None`: its order is another one.
    pub fn place(&self, list: ListId) -> Option<usize> {
        self.fits[list as usize].then_some(self.lengths[list as usize] as usize)
    }

    /// Who wrote a list's last element.
    pub fn writer(&self, list: ListId) -> Option<TransactionId> {
        Some(self.writers[list as usize]).filter(|writer| *writer != NONE)
    }

    pub fn reader(&self, list: ListId) -> Option<TransactionId> {
        Some(self.readers[list as usize]).filter(|reader| *reader != NONE)
    }

    pub fn is_seen(&self, key: Key, value: i64) -> bool {
        self.elements
            .get(&(key, value))
            .is_some_and(|element| element.list != NONE)
    }

    pub fn is_committed(&self, id: TransactionId) -> bool {
        self.committed[id as usize]
    }

    /// The list that an operation read.
    pub fn read(&self, op: &Op) -> Option<(Key, ListId)> {
        match *op {
            Op::ReadList { key, list } => Some((key, list)),
            Op::Read { key, value: None } => Some((key, self.history.empty_list(key))),
            _ => None,
        }
    }
}

fn elements(history: &History) -> Result<HashMap<(Key, i64), Element>, Error> {
    let appends = |id| {
        history.ops(id).iter().filter_map(|op| {
            if let Op::Append { key, value } = *op {
                Some((key, value))
            } else {
                None
            }
        })
    };
    let count = history.iter().map(|(id, _)| appends(id).count()).sum();
    let mut elements = HashMap::with_capacity(count);
    for (id, _) in history.iter() {
        for (key, value) in appends(id) {
            if elements
                .insert(
                    (key, value),
                    Element {
                        writer: id,
                        list: NONE,
                    },
                )
                .is_some()
            {
                return Err(Error::NotUnique {
                    key: history.keys[key as usize],
                    value,
                });
            }
        }
    }
    Ok(elements)
}

fn readers(history: &History) -> Vec<TransactionId> {
    let mut readers = vec![NONE; history.lists.count()];
    for (id, _) in history.iter().filter(|(_, transaction)| transaction.is_ok()) {
        for op in history.ops(id) {
            if let Op::ReadList { list, .. } = *op {
                readers[list as usize] = id;
            }
        }
    }
    for list in (0..readers.len()).rev() {
        let shorter = history.lists.get(list as u32).shorter;
        if readers[list] != NONE && shorter != NONE && readers[shorter as usize] == NONE {
            readers[shorter as usize] = readers[list];
        }
    }
    readers
}
