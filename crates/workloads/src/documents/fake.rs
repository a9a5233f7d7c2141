//! Documents in memory, for tests, which look into them and change them behind the session's back.
use crate::prelude::*;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Found, Is, Keyed, Patch, PathSpec, Select,
};
use bakeoff_model::json::{Elements, at, push_cell, write_value};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, Default)]
pub struct FakeStore(Rc<RefCell<State>>);

#[derive(Default)]
pub struct State {
    pub exists: bool,
    pub documents: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Acknowledge writes and store nothing.
    pub loses_writes: bool,
    /// Errors for the next writes, first one first.
    pub errors: Vec<OpError>,
    pub deleted: u64,
}

impl FakeStore {
    pub fn session(&self) -> AnyDocuments {
        AnyDocuments::new(FakeSession {
            store: self.clone(),
            paths: vec![],
            found: Found::default(),
        })
    }

    pub fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.0.borrow_mut())
    }
}

struct FakeSession {
    store: FakeStore,
    paths: Vec<PathSpec>,
    found: Found,
}

fn holds(json: &[u8], paths: &[PathSpec], condition: &Condition<'_>) -> bool {
    let mut wanted = vec![];
    write_value(condition.value, &mut wanted);
    let wanted: Json = serde_json::from_slice(&wanted).unwrap();
    let is = |value: &[u8]| serde_json::from_slice::<Json>(value).unwrap() == wanted;
    at(json, &paths[condition.path as usize].steps).is_some_and(|value| match condition.is {
        Is::Containing => Elements::of(value).any(is),
        _ => is(value),
    })
}

impl FakeSession {
    fn fill(&mut self, key: &[u8], json: &[u8], select: Select<'_>) {
        self.found.clear();
        self.found.key.extend_from_slice(key);
        match select {
            Select::Whole => self.found.json.extend_from_slice(json),
            Select::Paths(paths) => {
                for path in paths {
                    let path = &self.paths[*path as usize];
                    let value = at(json, &path.steps);
                    push_cell(value, path.kind, &mut vec![], &mut self.found.cells);
                }
            }
            Select::Key => {}
        }
    }

    fn each(
        &mut self,
        select: Select<'_>,
        limit: Option<u32>,
        fits: impl Fn(&[u8], &[u8]) -> bool,
        each: &mut dyn FnMut(&Found),
    ) -> u64 {
        let state = self.store.clone();
        let state = state.0.borrow();
        let fitting = state.documents.iter().filter(|(key, json)| fits(key, json));
        let mut seen = 0;
        for (key, json) in fitting.take(limit.unwrap_or(u32::MAX) as usize) {
            self.fill(key, json, select);
            each(&self.found);
            seen += 1;
        }
        seen
    }

    fn write<T>(&self, none: T, write: impl FnOnce(&mut State) -> Result<T, OpError>) -> Result<T, OpError> {
        let mut state = self.store.0.borrow_mut();
        match (state.errors.is_empty(), state.loses_writes) {
            (false, _) => Err(state.errors.remove(0)),
            (true, true) => Ok(none),
            (true, false) => write(&mut state),
        }
    }
}

fn insert(state: &mut State, document: Keyed<'_>) -> Result<(), OpError> {
    match state.documents.insert(document.key.into(), document.json.into()) {
        None => Ok(()),
        Some(_) => Err(OpError::fail(FailClass::Constraint, "DUPLICATE", "")),
    }
}

impl DocumentSession for FakeSession {
    async fn attach(&mut self, collections: &[CollectionSpec]) -> Result<(), OpError> {
        self.paths = collections[0].paths.clone();
        Ok(())
    }
    async fn create_collection(&mut self, _: &CollectionSpec) -> Result<(), OpError> {
        self.store.change(|state| state.exists = true);
        Ok(())
    }
    async fn drop_collection(&mut self, _: &CollectionSpec) -> Result<(), OpError> {
        self.store.change(|state| *state = State::default());
        Ok(())
    }
    async fn collection_exists(&mut self, _: &CollectionSpec) -> Result<bool, OpError> {
        Ok(self.store.change(|state| state.exists))
    }
    async fn get(
        &mut self,
        _: Collection,
        key: &[u8],
        select: Select<'_>,
    ) -> Result<Option<&Found>, OpError> {
        let json = self.store.change(|state| state.documents.get(key).cloned());
        Ok(json.map(|json| {
            self.fill(key, &json, select);
            &self.found
        }))
    }
    async fn get_batch(
        &mut self,
        _: Collection,
        keys: &[&[u8]],
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        Ok(self.each(select, None, |key, _| keys.contains(&key), each))
    }
    async fn put(
        &mut self,
        _: Collection,
        document: Keyed<'_>,
        expect: Expect<'_>,
    ) -> Result<Option<u64>, OpError> {
        self.write(Some(1), |state| match expect {
            Expect::Absent => insert(state, document).map(|()| Some(1)),
            Expect::Present if !state.documents.contains_key(document.key) => Ok(Some(0)),
            _ => {
                state.documents.insert(document.key.into(), document.json.into());
                Ok(Some(1))
            }
        })
    }
    async fn put_batch(&mut self, _: Collection, documents: &[Keyed<'_>]) -> Result<u64, OpError> {
        let count = documents.len() as u64;
        self.write(count, |state| {
            documents
                .iter()
                .try_for_each(|document| insert(state, *document))?;
            Ok(count)
        })
    }
    async fn patch(
        &mut self,
        _: Collection,
        key: &[u8],
        values: &[Patch<'_>],
    ) -> Result<Option<u64>, OpError> {
        self.write(Some(1), |state| {
            let Some(json) = state.documents.get_mut(key) else {
                return Ok(Some(0));
            };
            let mut document: Json = serde_json::from_slice(json).unwrap();
            for patch in values {
                let mut value = vec![];
                write_value(patch.value, &mut value);
                let steps = &self.paths[patch.path as usize].steps;
                let place = steps
                    .iter()
                    .fold(&mut document, |document, step| &mut document[step]);
                *place = serde_json::from_slice(&value).unwrap();
            }
            *json = document.to_string().into_bytes();
            Ok(Some(1))
        })
    }
    async fn delete(&mut self, _: Collection, key: &[u8], _: Option<&[u8]>) -> Result<Option<u64>, OpError> {
        self.write(Some(1), |state| {
            state.deleted += 1;
            Ok(Some(state.documents.remove(key).is_some().into()))
        })
    }
    async fn find(
        &mut self,
        _: Collection,
        conditions: &[Condition<'_>],
        select: Select<'_>,
        limit: Option<u32>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        let paths = self.paths.clone();
        let fits = |_: &[u8], json: &[u8]| conditions.iter().all(|condition| holds(json, &paths, condition));
        Ok(self.each(select, limit, fits, each))
    }
    async fn count(&mut self, collection: Collection, conditions: &[Condition<'_>]) -> Result<u64, OpError> {
        self.find(collection, conditions, Select::Key, None, &mut |_| {})
            .await
    }
    async fn range(
        &mut self,
        _: Collection,
        start: &[u8],
        limit: Option<u32>,
        select: Select<'_>,
        each: &mut dyn FnMut(&Found),
    ) -> Result<u64, OpError> {
        Ok(self.each(select, limit, |key, _| key >= start, each))
    }
}

impl Transactional for FakeSession {}
