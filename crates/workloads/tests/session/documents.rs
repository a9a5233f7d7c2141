//! Documents that are made when they are asked for: by keys in the order of their numbers.
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Found, Keyed, Patch, PathSpec, Select,
};
use bakeoff_model::json::{at, push_cell};
use bakeoff_workloads::documents::Documents;
use bakeoff_workloads::prelude::*;

/// Has every document of this workload, as it is loaded; every write finds one.
pub struct YesDocuments {
    of: Documents,
    paths: Vec<PathSpec>,
    json: Vec<u8>,
    text: Vec<u8>,
    found: Found,
}

impl YesDocuments {
    pub fn new(of: Documents) -> Self {
        Self {
            of,
            paths: vec![],
            json: vec![],
            text: vec![],
            found: Found::default(),
        }
    }

    fn find(&mut self, key: &[u8], select: Select<'_>) {
        let digits = key.iter().filter(|byte| byte.is_ascii_digit());
        let keynum = digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        self.json.clear();
        self.of.first_document(keynum, &mut self.json);
        self.found.clear();
        self.found.key.extend_from_slice(key);
        match select {
            Select::Whole => self.found.json.extend_from_slice(&self.json),
            Select::Paths(paths) => {
                for path in paths {
                    let path = &self.paths[*path as usize];
                    let value = at(&self.json, &path.steps);
                    push_cell(value, path.kind, &mut self.text, &mut self.found.cells);
                }
            }
            Select::Key => {}
        }
    }
}

impl DocumentSession for YesDocuments {
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        self.paths = collections[0].paths.clone();
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
    async fn get(
        &mut self,
        _: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        self.find(key, select);
        Ok(Some(&self.found))
    }
    async fn get_batch(
        &mut self,
        _: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        for key in keys {
            self.find(key, select);
            each(&self.found);
        }
        Ok(keys.len() as u64)
    }
    async fn put(&mut self, _: Collection, _: Keyed<'_>, _: Expect<'_>) -> Result<Option<u64>, OpError> {
        Ok(Some(1))
    }
    async fn put_batch(&mut self, _: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        Ok(documents.len() as u64)
    }
    async fn patch(&mut self, _: Collection, _: &[u8], _: &[Patch<'_>]) -> Result<Option<u64>, OpError> {
        Ok(Some(1))
    }
    async fn delete(&mut self, _: Collection, _: &[u8], _: Option<&[u8]>) -> Result<Option<u64>, OpError> {
        Ok(Some(1))
    }
    /// Every document has the value: the templates of tests have but one.
    async fn find(
        &mut self,
        _: Collection,
        _: &[Condition<'_>],
        select: Select<'_>,
        _: Option<u32>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        self.find(b"user1", select);
        each(&self.found);
        Ok(1)
    }
    async fn count(&mut self, _: Collection, _: &[Condition<'_>]) -> Result<u64, OpError> {
        Ok(1)
    }
    async fn range(
        &mut self,
        _: Collection,
        start: &[u8],
        _: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        self.find(start, select);
        each(&self.found);
        Ok(1)
    }
}

impl Transactional for YesDocuments {}
