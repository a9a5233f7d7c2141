//! What every driver must do with documents, case by case: against every system that is at hand, through its own documents, a
//! column of JSON, or its records.
mod by_key;
mod finding;
mod limits;
mod model;
mod together;

use crate::bench::System;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, DocumentUse, Expect, Found, Is, Keyed, Patch,
    PathKind, PathSpec, Select,
};
use bakeoff_model::needs::Offer;
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::transaction::{Access, Transactional};
use bakeoff_model::value::Value;
use by_key::*;
use finding::*;
use limits::*;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use together::*;

const C: Collection = Collection(0);

// Places of the paths of [`collection`].
const NAME: u32 = 0;
const CITY: u32 = 1;
const AGE: u32 = 2;
const SCORE: u32 = 3;
const ACTIVE: u32 = 4;
const TAGS: u32 = 5;
const DEEP: u32 = 6;

/// Of a name that no other test has.
fn collection(system: &System, case: &str) -> CollectionSpec {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let indexes = system.client.offers.has(Offer::PathIndex);
    let path = |steps: &str, kind, indexed| PathSpec {
        steps: steps.split('.').map(str::to_owned).collect(),
        kind,
        indexed: indexed && indexes,
    };
    let name = format!("d{}_{number}_{}_{case}", std::process::id(), system.client.name);
    CollectionSpec {
        name: name.chars().take(40).collect(),
        key_length: 40,
        paths: vec![
            path("name", PathKind::Text(100), true),
            path("address.city", PathKind::Text(50), false),
            path("age", PathKind::Integer, true),
            path("score", PathKind::Float, false),
            path("active", PathKind::Bool, false),
            path("tags", PathKind::Texts(30), false),
            path("a.b.c", PathKind::Integer, false),
        ],
    }
}

/// Opens a session on a fresh, empty collection.
async fn fresh(system: &System, spec: &CollectionSpec) -> AnyDocuments {
    let mut session = other(system, spec).await;
    session.drop_collection(spec).await.unwrap();
    session.create_collection(spec).await.unwrap();
    session
}

async fn other(system: &System, spec: &CollectionSpec) -> AnyDocuments {
    let mut session = system.documents().await;
    session.attach(std::slice::from_ref(spec)).await.unwrap();
    session
}

async fn put(
    session: &mut AnyDocuments,
    key: &str,
    document: &Json,
    expect: Expect<'_>,
) -> Result<Option<u64>, OpError> {
    let json = document.to_string();
    let document = Keyed {
        key: key.as_bytes(),
        json: json.as_bytes(),
    };
    session.put(C, document, expect).await
}

async fn store(session: &mut AnyDocuments, key: &str, document: &Json) {
    let stored = put(session, key, document, Expect::Absent).await.unwrap();
    assert_eq!(stored.unwrap_or(1), 1);
}

async fn get(session: &mut AnyDocuments, key: &str) -> Option<Json> {
    let found = session.get(C, key.as_bytes(), Select::Whole).await.unwrap()?;
    assert_eq!(found.key, key.as_bytes());
    Some(serde_json::from_slice(&found.json).unwrap())
}

async fn revision(session: &mut AnyDocuments, key: &str) -> Vec<u8> {
    let found = session.get(C, key.as_bytes(), Select::Whole).await.unwrap();
    let revision = found.unwrap().revision.clone();
    assert!(!revision.is_empty());
    revision
}

/// The same whatever form the numbers have.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[track_caller]
fn assert_same(found: Option<Json>, wanted: &Json) {
    let found = found.expect("the document is there");
    assert!(same(&found, wanted), "{found} instead of {wanted}");
}

/// What a driver must say of this many documents: nothing where the system does not count.
#[track_caller]
fn assert_counted(system: &System, counted: Option<u64>, documents: u64) {
    if counted.is_some() || system.client.offers.counts() {
        assert_eq!(counted, Some(documents));
    }
}

#[track_caller]
fn assert_fails<T: std::fmt::Debug>(answer: Result<T, OpError>, class: FailClass) {
    let error = answer.expect_err("it must fail");
    assert_eq!(error.outcome, Outcome::Fail(class), "{error}");
    assert!(!error.connection_lost, "{error}");
}

fn cells(found: &Found) -> Vec<Json> {
    let cell = |value| match value {
        Value::Null => Json::Null,
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Float(value) => value.into(),
        Value::Text(text) => String::from_utf8(text.to_vec()).unwrap().into(),
        other => panic!("no document has {other:?}"),
    };
    found.cells.cells().map(cell).collect()
}

/// One test per case, each on a collection of its own for every client, which is dropped at the end. A case that needs an
/// offer names those of which one is enough.
macro_rules! conformance {
    ($($case:ident $(if $($offer:ident)|+)?,)*) => {
        mod every_client {
            use super::*;
            $(
                #[test]
                fn $case() {
                    for system in System::at_hand(&[]) {
                        let able = true $(&& ($(system.client.offers.has(Offer::$offer))||+))?;
                        if !able || !system.client.has_documents() {
                            continue;
                        }
                        let spec = collection(&system, stringify!($case));
                        system.run(async {
                            super::$case(&system, &spec).await;
                            system.documents().await.drop_collection(&spec).await.unwrap();
                        });
                        system.passed("documents", stringify!($case));
                    }
                }
            )*
        }
    };
}

conformance!(
    what_is_stored_comes_back,
    every_key_is_another,
    documents_may_be_large,
    a_missing_document_is_an_answer,
    a_put_keeps_to_what_it_expects,
    a_write_at_a_revision_that_has_passed_is_a_conflict if Revisions,
    a_patch_sets_what_it_names_and_leaves_the_rest if Patch | Revisions,
    a_patch_of_nothing_makes_nothing if Patch | Revisions,
    a_patch_adds_what_a_document_lacks if Patch | Revisions,
    deleted_documents_are_gone,
    a_selection_has_what_it_names_and_null_for_what_is_absent,
    documents_are_found_and_counted_by_what_is_in_them if Find,
    what_is_found_follows_each_change if Find,
    ranges_go_in_key_order_to_their_limit_or_the_end if Scan,
    the_whole_collection_can_be_read,
    batches_are_stored_and_read_whole,
    a_batch_that_fails_stores_nothing if Transactions,
    transactions_commit_or_leave_nothing if Transactions,
    hostile_texts_stay_data,
    what_is_no_json_is_not_stored if Find,
    collections_come_and_go,
    what_is_prepared_need_not_wait,
    a_failing_operation_is_reported_as_failing,
);
