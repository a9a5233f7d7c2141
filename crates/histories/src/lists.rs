//! The lists that were read, each stored once: a list is its last element and the list before it. 10^6 transactions
//! read 10^8 elements of lists that grow, and leave 2.5 * 10^6 lists of 32 bytes.

/// Position of a list in [`Lists`].
pub type ListId = u32;

/// No list, no transaction.
pub const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct List {
    /// The last element; 0 in an empty list.
    pub value: i64,
    pub key: u32,
    pub length: u32,
    /// The list without its last element; `NONE` before an empty one.
    pub shorter: ListId,
    first_longer: ListId,
    /// Another list that differs in its last element only.
    alternative: ListId,
}

/// A list's number is always above that of [`List::shorter`].
#[derive(Clone, Debug, Default)]
pub struct Lists(Vec<List>);

impl Lists {
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, list: ListId) -> &List {
        &self.0[list as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (ListId, &List)> {
        (0u32..).zip(&self.0)
    }

    /// Adds the empty list of a key. `None`: there are 2^32 lists.
    pub(crate) fn add_empty(&mut self, key: u32) -> Option<ListId> {
        self.add(NONE, key, 0, 0)
    }

    /// The list of these values, given the empty list of its key.
    pub(crate) fn add_list(&mut self, empty: ListId, values: &[i64]) -> Option<ListId> {
        values
            .iter()
            .try_fold(empty, |list, value| self.add_longer(list, *value))
    }

    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    fn add_longer(&mut self, list: ListId, value: i64) -> Option<ListId> {
        let List {
            key,
            length,
            first_longer,
            ..
        } = *self.get(list);
        let mut longer = first_longer;
        while longer != NONE {
            let candidate = self.get(longer);
            if candidate.value == value {
                return Some(longer);
            }
            longer = candidate.alternative;
        }
        let added = self.add(list, key, length + 1, value)?;
        self.0[added as usize].alternative = first_longer;
        self.0[list as usize].first_longer = added;
        Some(added)
    }

    fn add(&mut self, shorter: ListId, key: u32, length: u32, value: i64) -> Option<ListId> {
        let added = u32::try_from(self.0.len())
            .ok()
            .filter(|number| *number != NONE)?;
        self.0.push(List {
            value,
            key,
            length,
            shorter,
            first_longer: NONE,
            alternative: NONE,
        });
        Some(added)
    }

    /// The lists that have one element more.
    pub fn longer(&self, list: ListId) -> impl Iterator<Item = ListId> {
        let some = |list: ListId| Some(list).filter(|list| *list != NONE);
        std::iter::successors(some(self.get(list).first_longer), move |list| {
            some(self.get(*list).alternative)
        })
    }

    /// From the last element to the first, with the list that ends in each.
    pub fn backwards(&self, list: ListId) -> impl Iterator<Item = (ListId, &List)> {
        let mut at = list;
        std::iter::from_fn(move || {
            let (number, found) = (at, self.get(at));
            if found.shorter == NONE {
                return None;
            }
            at = found.shorter;
            Some((number, found))
        })
    }

    pub fn values(&self, list: ListId) -> Vec<i64> {
        let mut values: Vec<i64> = self.backwards(list).map(|(_, list)| list.value).collect();
        values.reverse();
        values
    }

    pub fn contains(&self, list: ListId, value: i64) -> bool {
        self.backwards(list).any(|(_, list)| list.value == value)
    }
}
