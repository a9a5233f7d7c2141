//! Documents kept as they are put, in memory taken beforehand.
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Found, Keyed, Patch, Select,
};
use bakeoff_workloads::prelude::*;

const ROOM: usize = 1000;
const BYTES: usize = 4000;

pub struct Drawer {
    /// Keys and documents.
    kept: Vec<(Vec<u8>, Vec<u8>)>,
    free: Vec<(Vec<u8>, Vec<u8>)>,
    found: Found,
}

impl Drawer {
    pub fn new() -> Self {
        let empty = || (Vec::with_capacity(BYTES), Vec::with_capacity(BYTES));
        Self {
            kept: Vec::with_capacity(ROOM),
            free: std::iter::repeat_with(empty).take(ROOM).collect(),
            found: Found {
                json: Vec::with_capacity(BYTES),
                ..Found::default()
            },
        }
    }

    fn place(&self, key: &[u8]) -> Option<usize> {
        self.kept.iter().position(|(kept, _)| kept == key)
    }
}

/// Of what no test here asks.
fn not_kept() -> OpError {
    OpError::fail(FailClass::Refused, "DRAWER", "a drawer does not do that")
}

impl DocumentSession for Drawer {
    async fn attach(&mut self, _: &[CollectionSpec]) -> Result<(), OpError> {
        Ok(())
    }
    async fn create_collection(&mut self, _: &CollectionSpec) -> Result<(), OpError> {
        Ok(())
    }
    async fn drop_collection(&mut self, _: &CollectionSpec) -> Result<(), OpError> {
        Ok(())
    }
    async fn collection_exists(&mut self, _: &CollectionSpec) -> Result<bool, OpError> {
        Ok(true)
    }
    async fn get(&mut self, _: Collection, key: &[u8], _: Select<'_>) -> Result<Option<&Found>, OpError> {
        let Some(place) = self.place(key) else {
            return Ok(None);
        };
        self.found.clear();
        self.found.json.extend_from_slice(&self.kept[place].1);
        Ok(Some(&self.found))
    }
    async fn put(
        &mut self,
        _: Collection,
        document: Keyed<'_>,
        _: Expect<'_>,
    ) -> Result<Option<u64>, OpError> {
        let place = self.place(document.key).unwrap_or_else(|| {
            self.kept.push(self.free.pop().unwrap());
            self.kept.len() - 1
        });
        let (key, json) = &mut self.kept[place];
        key.clear();
        key.extend_from_slice(document.key);
        json.clear();
        json.extend_from_slice(document.json);
        Ok(Some(1))
    }
    async fn put_batch(&mut self, collection: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        for document in documents {
            self.put(collection, *document, Expect::Absent).await?;
        }
        Ok(documents.len() as u64)
    }
    async fn delete(&mut self, _: Collection, key: &[u8], _: Option<&[u8]>) -> Result<Option<u64>, OpError> {
        let Some(place) = self.place(key) else {
            return Ok(Some(0));
        };
        self.free.push(self.kept.swap_remove(place));
        Ok(Some(1))
    }

    async fn get_batch(
        &mut self,
        _: Collection,
        _: &[&[u8]],
        _: Select<'_>,
        _: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        Err(not_kept())
    }
    async fn patch(&mut self, _: Collection, _: &[u8], _: &[Patch<'_>]) -> Result<Option<u64>, OpError> {
        Err(not_kept())
    }
    async fn find(
        &mut self,
        _: Collection,
        _: &[Condition<'_>],
        _: Select<'_>,
        _: Option<u32>,
        _: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        Err(not_kept())
    }
    async fn count(&mut self, _: Collection, _: &[Condition<'_>]) -> Result<u64, OpError> {
        Err(not_kept())
    }
    async fn range(
        &mut self,
        _: Collection,
        _: &[u8],
        _: Option<u32>,
        _: Select<'_>,
        _: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        Err(not_kept())
    }
}

impl Transactional for Drawer {}
