//! What every driver must do with documents, case by case: against every system that is at hand, through its own documents, a
//! column of JSON, or its records.
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
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

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

async fn what_is_stored_comes_back(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let printable: String = (' '..='~').collect();
    let control: String = ('\u{1}'..='\u{1f}').collect();
    let documents = [
        json!({}),
        json!({ "name": printable, "control": control, "del": "\u{7f}" }),
        json!({ "umlaut": "Grüße", "snowman": "☃", "astral": "😀𝒳", "zwj": "👩‍👩‍👧", "bom": "\u{feff}x", "end": "\u{2028}" }),
        json!({ "escapes": "\\u0041 \\n \\\\ \" / \\/", "looks": "{\"a\":[1,2]}", "empty": "" }),
        json!({ "int": 42, "negative": -7, "zero": 0, "large": 9_007_199_254_740_991_i64, "small": -9_007_199_254_740_991_i64 }),
        json!({ "half": 0.5, "tiny": 1.5e-7, "huge": 1.25e20, "third": 0.333_333_333_333_333_3, "negative": -2.75 }),
        json!({ "true": true, "false": false, "null": null }),
        json!({ "a": { "b": { "c": { "d": { "e": { "f": [ { "g": [ [ [] ] ] } ] } } } } } }),
        json!({ "array": [1, "two", 3.5, true, null, { "four": 4 }, [5, [6]]], "none": [], "nothing": {} }),
    ];
    for (number, document) in documents.iter().enumerate() {
        store(&mut session, &format!("k{number}"), document).await;
    }
    let mut other = other(system, spec).await;
    for (number, document) in documents.iter().enumerate() {
        assert_same(get(&mut other, &format!("k{number}")).await, document);
    }
}

async fn every_key_is_another(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let longest = "x".repeat(40);
    let keys = [
        "a", "A", "user1", "user10", "USER1", "-", "_", "0", "00", "a-b_C9", &longest,
    ];
    for (number, key) in keys.iter().enumerate() {
        store(&mut session, key, &json!({ "n": number })).await;
    }
    for (number, key) in keys.iter().enumerate() {
        assert_same(get(&mut session, key).await, &json!({ "n": number }));
    }
    assert_eq!(session.count(C, &[]).await.unwrap(), keys.len() as u64);
}

async fn documents_may_be_large(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let text = |length: usize| -> String { ('a'..='z').cycle().take(length).collect() };
    for (key, length) in [("k64", 64_000), ("k300", 300_000)] {
        let document = json!({ "name": key, "text": text(length) });
        store(&mut session, key, &document).await;
        assert_same(get(&mut session, key).await, &document);
    }
    let megabyte = json!({ "name": "m", "text": text(1_000_000), "array": vec![7; 1000] });
    match put(&mut session, "m", &megabyte, Expect::Absent).await {
        Ok(_) => assert_same(get(&mut session, "m").await, &megabyte),
        Err(error) => {
            assert!(matches!(error.outcome, Outcome::Fail(_)), "{error}");
            assert_eq!(get(&mut session, "m").await, None);
        }
    }
}

async fn a_missing_document_is_an_answer(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    store(&mut session, "there", &json!({ "name": "a" })).await;
    for select in [Select::Whole, Select::Key, Select::Paths(&[NAME])] {
        assert!(session.get(C, b"gone", select).await.unwrap().is_none());
    }
    assert_counted(system, session.delete(C, b"gone", None).await.unwrap(), 0);
    let replaced = put(&mut session, "gone", &json!({}), Expect::Present).await;
    assert_counted(system, replaced.unwrap(), 0);
    assert_eq!(get(&mut session, "gone").await, None);
    assert_eq!(session.count(C, &[]).await.unwrap(), 1);
}

async fn a_put_keeps_to_what_it_expects(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let [first, second, third] = [1, 2, 3].map(|n| json!({ "name": "x", "n": n, format!("only{n}"): true }));
    let counts = |stored: Result<Option<u64>, OpError>| assert_counted(system, stored.unwrap(), 1);
    counts(put(&mut session, "new", &first, Expect::Anything).await);
    assert_same(get(&mut session, "new").await, &first);
    counts(put(&mut session, "new", &second, Expect::Anything).await);
    assert_same(get(&mut session, "new").await, &second);
    counts(put(&mut session, "new", &second, Expect::Anything).await);
    counts(put(&mut session, "new", &third, Expect::Present).await);
    counts(put(&mut session, "new", &third, Expect::Present).await);
    assert_same(get(&mut session, "new").await, &third);
    counts(put(&mut session, "other", &first, Expect::Absent).await);
    assert_fails(
        put(&mut session, "other", &second, Expect::Absent).await,
        FailClass::Constraint,
    );
    assert_same(get(&mut session, "other").await, &first);
    assert_eq!(session.count(C, &[]).await.unwrap(), 2);
}

async fn a_write_at_a_revision_that_has_passed_is_a_conflict(system: &System, spec: &CollectionSpec) {
    let (mut session, mut rival) = (fresh(system, spec).await, other(system, spec).await);
    store(&mut session, "k", &json!({ "n": 1 })).await;
    let first = revision(&mut session, "k").await;
    assert_eq!(revision(&mut rival, "k").await, first, "reading changes nothing");
    let stored = put(&mut session, "k", &json!({ "n": 2 }), Expect::Revision(&first)).await;
    assert_counted(system, stored.unwrap(), 1);
    let second = revision(&mut rival, "k").await;
    assert_ne!(first, second);
    let late = put(&mut rival, "k", &json!({ "n": 3 }), Expect::Revision(&first)).await;
    assert_fails(late, FailClass::Conflict);
    assert_fails(rival.delete(C, b"k", Some(&first)).await, FailClass::Conflict);
    assert_same(get(&mut rival, "k").await, &json!({ "n": 2 }));
    put(&mut session, "k", &json!({ "n": 4 }), Expect::Present)
        .await
        .unwrap();
    let late = put(&mut rival, "k", &json!({ "n": 5 }), Expect::Revision(&second)).await;
    assert_fails(late, FailClass::Conflict);
    let third = revision(&mut session, "k").await;
    assert_counted(system, rival.delete(C, b"k", Some(&third)).await.unwrap(), 1);
    assert_eq!(get(&mut session, "k").await, None);
    let gone = put(&mut session, "k", &json!({}), Expect::Revision(&third)).await;
    assert_fails(gone, FailClass::Conflict);
    store(&mut session, "k", &json!({ "n": 6 })).await;
    let stale = put(&mut rival, "k", &json!({ "n": 7 }), Expect::Revision(&first)).await;
    assert_fails(stale, FailClass::Conflict);
    assert_same(get(&mut session, "k").await, &json!({ "n": 6 }));
}

async fn a_patch_sets_what_it_names_and_leaves_the_rest(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let before = json!({
        "name": "a", "address": { "city": "Ulm", "street": "x" }, "age": 1, "score": 0.5, "active": false,
        "tags": ["p", "q"], "a": { "b": { "c": 1, "d": [1] } }, "rest": { "null": null },
    });
    for key in ["k", "untouched"] {
        store(&mut session, key, &before).await;
    }
    let set = |path, value| Patch { path, value };
    let hostile = "\"'; DROP TABLE x; -- \\ ☃😀\n";
    let patches: [&[Patch<'_>]; 4] = [
        &[set(NAME, Value::Text(hostile.as_bytes()))],
        &[set(CITY, Value::Text(b"Bonn")), set(AGE, Value::Int(-5))],
        &[
            set(SCORE, Value::Float(2.25)),
            set(ACTIVE, Value::Bool(true)),
            set(DEEP, Value::Int(77)),
        ],
        &[set(NAME, Value::Text(b"42"))],
    ];
    let mut after = before.clone();
    after["name"] = hostile.into();
    for (number, patch) in patches.iter().enumerate() {
        match number {
            1 => (after["address"]["city"], after["age"]) = ("Bonn".into(), (-5).into()),
            2 => {
                (after["score"], after["active"], after["a"]["b"]["c"]) =
                    (2.25.into(), true.into(), 77.into())
            }
            3 => after["name"] = "42".into(),
            _ => {}
        }
        assert_counted(system, session.patch(C, b"k", patch).await.unwrap(), 1);
        assert_same(get(&mut session, "k").await, &after);
    }
    assert_same(get(&mut session, "untouched").await, &before);
}

async fn a_patch_of_nothing_makes_nothing(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let age = [Patch {
        path: AGE,
        value: Value::Int(1),
    }];
    assert_counted(system, session.patch(C, b"gone", &age).await.unwrap(), 0);
    assert_eq!(session.count(C, &[]).await.unwrap(), 0);
    // To what it is already, it counts.
    store(&mut session, "k", &json!({ "age": 1 })).await;
    assert_counted(system, session.patch(C, b"k", &age).await.unwrap(), 1);
}

async fn a_patch_adds_what_a_document_lacks(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    store(&mut session, "k", &json!({ "address": {} })).await;
    let set = |path, value| Patch { path, value };
    let patch = [set(AGE, Value::Int(3)), set(CITY, Value::Text(b"Ulm"))];
    session.patch(C, b"k", &patch).await.unwrap();
    assert_same(
        get(&mut session, "k").await,
        &json!({ "address": { "city": "Ulm" }, "age": 3 }),
    );
}

async fn deleted_documents_are_gone(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    for key in ["a", "b"] {
        store(&mut session, key, &json!({ "name": key })).await;
    }
    assert_counted(system, session.delete(C, b"a", None).await.unwrap(), 1);
    assert_eq!(get(&mut session, "a").await, None);
    assert_eq!(session.count(C, &[]).await.unwrap(), 1);
    store(&mut session, "a", &json!({ "name": "again" })).await;
    assert_same(get(&mut session, "a").await, &json!({ "name": "again" }));
}

async fn a_selection_has_what_it_names_and_null_for_what_is_absent(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let whole = json!({
        "name": "\"ä\"\n😀", "address": { "city": "Ulm" }, "age": -3, "score": 2.5, "active": true, "a": { "b": { "c": 9 } },
    });
    store(&mut session, "whole", &whole).await;
    store(&mut session, "none", &json!({ "address": {}, "other": 1 })).await;
    store(
        &mut session,
        "nulls",
        &json!({ "name": null, "address": { "city": null }, "age": null, "active": null }),
    )
    .await;
    store(
        &mut session,
        "floor",
        &json!({ "score": 3, "active": false, "age": 0, "name": "" }),
    )
    .await;
    let all = [NAME, CITY, AGE, SCORE, ACTIVE, DEEP];
    let nothing = vec![Json::Null; 6];
    let floor = json!(["", null, 0, 3.0, false, null]).as_array().unwrap().clone();
    let wanted = json!(["\"ä\"\n😀", "Ulm", -3, 2.5, true, 9])
        .as_array()
        .unwrap()
        .clone();
    for (key, wanted) in [
        ("whole", &wanted),
        ("none", &nothing),
        ("nulls", &nothing),
        ("floor", &floor),
    ] {
        let found = session
            .get(C, key.as_bytes(), Select::Paths(&all))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&cells(found), wanted, "{key}");
    }
    let two = session
        .get(C, b"whole", Select::Paths(&[AGE, NAME]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(cells(two), [json!(-3), json!("\"ä\"\n😀")]);
    let key = session.get(C, b"whole", Select::Key).await.unwrap().unwrap();
    assert_eq!(key.key, b"whole");
    let mut seen = vec![];
    let mut each = |found: &Found| seen.push((String::from_utf8(found.key.clone()).unwrap(), cells(found)));
    session
        .get_batch(C, &[b"whole", b"none"], Select::Paths(&[CITY]), &mut each)
        .await
        .unwrap();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        seen,
        [
            ("none".into(), vec![Json::Null]),
            ("whole".into(), vec![json!("Ulm")])
        ]
    );
}

/// A table of documents in memory, and what is asked of both.
struct Model(BTreeMap<String, Json>);

const CITIES: [&str; 5] = ["Ulm", "ulm", "Bonn", "Bonn ", "Köln'; DROP TABLE x; --"];
const TAG_WORDS: [&str; 6] = ["red", "green", "blue", "re", "\"quoted\"", "☃"];

impl Model {
    fn document(n: u32) -> Json {
        let tags: Vec<&str> = (0..n % 4)
            .map(|i| TAG_WORDS[((n + i * 5) % 6) as usize])
            .collect();
        let mut document = json!({
            "name": format!("name{:02}", n * 7 % 20), "address": { "city": CITIES[(n % 5) as usize], "zip": n },
            "age": i64::from(n * 13 % 30) - 5, "score": f64::from(n % 8) / 4.0 - 0.5, "active": n.is_multiple_of(3), "tags": tags,
            "a": { "b": { "c": n } }, "filler": "x".repeat((n % 50) as usize),
        });
        match n % 11 {
            5 => drop(document.as_object_mut().unwrap().remove("age")),
            6 => document["age"] = Json::Null,
            7 => drop(document.as_object_mut().unwrap().remove("tags")),
            8 => document["address"] = json!({}),
            _ => {}
        }
        document
    }

    fn filled() -> Self {
        Self((0..90).map(|n| (format!("user{n}"), Self::document(n))).collect())
    }

    async fn store(&self, session: &mut AnyDocuments) {
        let texts: Vec<(&String, String)> =
            self.0.iter().map(|(key, json)| (key, json.to_string())).collect();
        let documents: Vec<Keyed<'_>> = texts
            .iter()
            .map(|(key, json)| Keyed {
                key: key.as_bytes(),
                json: json.as_bytes(),
            })
            .collect();
        let mut stored = 0;
        for some in documents.chunks(37) {
            stored += session.put_batch(C, some).await.unwrap();
        }
        assert_eq!(stored, self.0.len() as u64);
    }

    fn keys(&self, conditions: &[Condition<'_>]) -> Vec<String> {
        let fits = |document: &Json| conditions.iter().all(|condition| holds(document, condition));
        let found = self.0.iter().filter(|(_, document)| fits(document));
        found.map(|(key, _)| key.clone()).collect()
    }
}

fn holds(document: &Json, condition: &Condition<'_>) -> bool {
    let pointer = match condition.path {
        NAME => "/name",
        CITY => "/address/city",
        AGE => "/age",
        SCORE => "/score",
        ACTIVE => "/active",
        TAGS => "/tags",
        _ => "/a/b/c",
    };
    let Some(value) = document.pointer(pointer).filter(|value| !value.is_null()) else {
        return false;
    };
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match condition.value {
        Value::Text(text) if condition.is == Is::Containing => {
            let words = value.as_array().unwrap();
            return words.iter().any(|word| word.as_str().unwrap().as_bytes() == text);
        }
        Value::Text(text) => value.as_str().unwrap().as_bytes().cmp(text),
        Value::Int(number) => value.as_i64().unwrap().cmp(&number),
        Value::Float(number) => value.as_f64().unwrap().total_cmp(&number),
        Value::Bool(truth) => value.as_bool().unwrap().cmp(&truth),
        other => panic!("not asked: {other:?}"),
    };
    match condition.is {
        Is::Equal => order == Equal,
        Is::AtLeast => order != Less,
        Is::Below => order == Less,
        Is::Containing => order == Greater,
    }
}

async fn found_keys(
    session: &mut AnyDocuments,
    conditions: &[Condition<'_>],
    limit: Option<u32>,
) -> Vec<String> {
    let mut keys = vec![];
    let mut each = |found: &Found| {
        let json: Json = serde_json::from_slice(&found.json).unwrap();
        assert!(
            conditions.iter().all(|condition| holds(&json, condition)),
            "{json}"
        );
        keys.push(String::from_utf8(found.key.clone()).unwrap());
    };
    let seen = session
        .find(C, conditions, Select::Whole, limit, &mut each)
        .await
        .unwrap();
    assert_eq!(seen, keys.len() as u64);
    keys.sort();
    keys
}

async fn documents_are_found_and_counted_by_what_is_in_them(system: &System, spec: &CollectionSpec) {
    let (mut session, model) = (fresh(system, spec).await, Model::filled());
    model.store(&mut session).await;
    let is = |path, is, value| Condition { path, is, value };
    let text = |text: &'static str| Value::Text(text.as_bytes());
    let questions: Vec<Vec<Condition<'_>>> = vec![
        vec![],
        vec![is(NAME, Is::Equal, text("name07"))],
        vec![is(NAME, Is::Equal, text("NAME07"))],
        vec![
            is(NAME, Is::AtLeast, text("name05")),
            is(NAME, Is::Below, text("name11")),
        ],
        vec![is(CITY, Is::Equal, text("Ulm"))],
        vec![is(CITY, Is::Equal, text("Bonn"))],
        vec![is(CITY, Is::Equal, text("Bonn "))],
        vec![is(CITY, Is::Equal, text(CITIES[4]))],
        vec![is(CITY, Is::Equal, text("' OR 1=1 --"))],
        vec![is(AGE, Is::Equal, Value::Int(7))],
        vec![
            is(AGE, Is::AtLeast, Value::Int(-2)),
            is(AGE, Is::Below, Value::Int(12)),
        ],
        vec![is(AGE, Is::AtLeast, Value::Int(9))],
        vec![is(AGE, Is::Below, Value::Int(-100))],
        vec![
            is(SCORE, Is::AtLeast, Value::Float(0.25)),
            is(SCORE, Is::Below, Value::Float(1.0)),
        ],
        vec![is(SCORE, Is::Equal, Value::Float(0.0))],
        vec![is(ACTIVE, Is::Equal, Value::Bool(true))],
        vec![
            is(ACTIVE, Is::Equal, Value::Bool(false)),
            is(AGE, Is::AtLeast, Value::Int(5)),
        ],
        vec![is(TAGS, Is::Containing, text("red"))],
        vec![is(TAGS, Is::Containing, text("\"quoted\""))],
        vec![
            is(TAGS, Is::Containing, text("☃")),
            is(CITY, Is::Equal, text("Ulm")),
        ],
        vec![is(TAGS, Is::Containing, text("r"))],
        vec![is(DEEP, Is::Equal, Value::Int(44))],
        vec![
            is(DEEP, Is::Below, Value::Int(20)),
            is(NAME, Is::AtLeast, text("name1")),
        ],
    ];
    for conditions in &questions {
        let wanted = model.keys(conditions);
        let counted = session.count(C, conditions).await;
        assert_eq!(counted.unwrap(), wanted.len() as u64, "{conditions:?}");
        let mut found = found_keys(&mut session, conditions, None).await;
        assert_eq!(found, wanted, "{conditions:?}");
        found = found_keys(&mut session, conditions, Some(3)).await;
        assert_eq!(found.len(), wanted.len().min(3), "{conditions:?}");
    }
    let mut seen = vec![];
    let mut each = |found: &Found| {
        seen.push((String::from_utf8(found.key.clone()).unwrap(), cells(found)));
    };
    let city = [is(CITY, Is::Equal, text("ulm"))];
    session
        .find(C, &city, Select::Paths(&[DEEP]), None, &mut each)
        .await
        .unwrap();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    let wanted = model.keys(&city).into_iter().map(|key| {
        let deep = model.0[&key]["a"]["b"]["c"].clone();
        (key, vec![deep])
    });
    assert!(seen.into_iter().eq(wanted));
}

async fn what_is_found_follows_each_change(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    for key in ["a", "b", "c"] {
        store(
            &mut session,
            key,
            &json!({ "name": "old", "age": 1, "address": { "city": "Ulm" } }),
        )
        .await;
    }
    let named = |name: &'static str| {
        [Condition {
            path: NAME,
            is: Is::Equal,
            value: Value::Text(name.as_bytes()),
        }]
    };
    put(
        &mut session,
        "a",
        &json!({ "name": "new", "age": 2 }),
        Expect::Anything,
    )
    .await
    .unwrap();
    let patch = [Patch {
        path: NAME,
        value: Value::Text(b"new"),
    }];
    session.patch(C, b"b", &patch).await.unwrap();
    assert_eq!(found_keys(&mut session, &named("new"), None).await, ["a", "b"]);
    assert_eq!(found_keys(&mut session, &named("old"), None).await, ["c"]);
    session.delete(C, b"a", None).await.unwrap();
    assert_eq!(session.count(C, &named("new")).await.unwrap(), 1);
}

async fn ranges_go_in_key_order_to_their_limit_or_the_end(system: &System, spec: &CollectionSpec) {
    let (mut session, model) = (fresh(system, spec).await, Model::filled());
    model.store(&mut session).await;
    for (start, limit) in [
        ("", None),
        ("user3", Some(7)),
        ("user42x", Some(4)),
        ("user88", Some(50)),
        ("v", None),
    ] {
        let from = model
            .0
            .range(start.to_owned()..)
            .take(limit.unwrap_or(u32::MAX) as usize);
        let mut seen = vec![];
        let mut each = |found: &Found| {
            let json: Json = serde_json::from_slice(&found.json).unwrap();
            seen.push((String::from_utf8(found.key.clone()).unwrap(), json));
        };
        let rows = session
            .range(C, start.as_bytes(), limit, Select::Whole, &mut each)
            .await
            .unwrap();
        assert_eq!(rows, seen.len() as u64);
        let wanted: Vec<_> = from.collect();
        assert_eq!(seen.len(), wanted.len(), "{start}");
        for ((key, json), (wanted_key, wanted)) in seen.iter().zip(wanted) {
            assert_eq!(key, wanted_key);
            assert!(same(json, wanted), "{json} instead of {wanted}");
        }
    }
    let mut ages = vec![];
    let mut each = |found: &Found| ages.push(cells(found)[0].clone());
    session
        .range(C, b"user1", Some(2), Select::Paths(&[DEEP]), &mut each)
        .await
        .unwrap();
    assert_eq!(ages, [json!(1), json!(10)]);
}

async fn the_whole_collection_can_be_read(system: &System, spec: &CollectionSpec) {
    let (mut session, model) = (fresh(system, spec).await, Model::filled());
    model.store(&mut session).await;
    let mut keys = vec![];
    let mut each = |found: &Found| keys.push(String::from_utf8(found.key.clone()).unwrap());
    session.range(C, b"", None, Select::Key, &mut each).await.unwrap();
    keys.sort();
    assert!(keys.iter().eq(model.0.keys()));
    assert_eq!(session.count(C, &[]).await.unwrap(), model.0.len() as u64);
}

async fn batches_are_stored_and_read_whole(system: &System, spec: &CollectionSpec) {
    let (mut session, model) = (fresh(system, spec).await, Model::filled());
    model.store(&mut session).await;
    let keys: Vec<&[u8]> = model.0.keys().map(String::as_bytes).collect();
    for asked in [
        &keys[..1],
        &keys[3..20],
        &[b"gone".as_slice(), keys[5], b"user"],
        &[b"gone"],
        &[],
    ] {
        let mut seen = BTreeMap::new();
        let mut each = |found: &Found| {
            let json: Json = serde_json::from_slice(&found.json).unwrap();
            seen.insert(String::from_utf8(found.key.clone()).unwrap(), json);
        };
        let rows = match asked {
            [] => 0,
            asked => session
                .get_batch(C, asked, Select::Whole, &mut each)
                .await
                .unwrap(),
        };
        assert_eq!(rows, seen.len() as u64);
        let wanted = model.0.iter().filter(|(key, _)| asked.contains(&key.as_bytes()));
        assert_eq!(seen.len(), wanted.clone().count());
        for ((key, json), (wanted_key, wanted)) in seen.iter().zip(wanted) {
            assert_eq!(key, wanted_key);
            assert!(same(json, wanted), "{json} instead of {wanted}");
        }
    }
    assert_eq!(session.put_batch(C, &[]).await.unwrap(), 0);
}

async fn a_batch_that_fails_stores_nothing(system: &System, spec: &CollectionSpec) {
    let (mut session, model) = (fresh(system, spec).await, Model::filled());
    store(&mut session, "user50", &json!({ "first": true })).await;
    let texts: Vec<(&String, String)> = model
        .0
        .iter()
        .map(|(key, json)| (key, json.to_string()))
        .collect();
    let documents: Vec<Keyed<'_>> = texts
        .iter()
        .map(|(key, json)| Keyed {
            key: key.as_bytes(),
            json: json.as_bytes(),
        })
        .collect();
    assert_fails(session.put_batch(C, &documents).await, FailClass::Constraint);
    assert_eq!(session.count(C, &[]).await.unwrap(), 1);
    // The session is not left inside a transaction.
    store(&mut session, "after", &json!({})).await;
    assert_eq!(other(system, spec).await.count(C, &[]).await.unwrap(), 2);
}

async fn transactions_commit_or_leave_nothing(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    store(&mut session, "kept", &json!({ "age": 1 })).await;
    session.begin(Access::default()).await.unwrap();
    store(&mut session, "new", &json!({ "age": 2 })).await;
    put(&mut session, "kept", &json!({ "age": 3 }), Expect::Present)
        .await
        .unwrap();
    session.rollback().await.unwrap();
    assert_eq!(get(&mut session, "new").await, None);
    assert_same(get(&mut session, "kept").await, &json!({ "age": 1 }));
    session.begin(Access::default()).await.unwrap();
    session.delete(C, b"kept", None).await.unwrap();
    store(&mut session, "stays", &json!({ "age": 4 })).await;
    session.commit().await.unwrap();
    let mut other = other(system, spec).await;
    assert_eq!(get(&mut other, "kept").await, None);
    assert_same(get(&mut other, "stays").await, &json!({ "age": 4 }));
}

async fn hostile_texts_stay_data(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let texts = [
        r#"'; DROP TABLE x; -- "`\ %_?$1 '' \' \\"#,
        r#"","age":99,"x":""#,
        r#"$.name"#,
        r#"{"$ne":null}"#,
        r#"{"$gt":""}"#,
        "$where",
        "%' OR '1'='1",
        "\u{202e}abc\u{7}",
    ];
    for (number, text) in texts.iter().enumerate() {
        let document = json!({ "name": text, "age": number, "$set": { "age": 5 }, "a.b": 1, "": 2, text.replace('.', "_"): 3 });
        let key = format!("k{number}");
        // Some systems refuse some names of members: they may, but not store another document.
        match put(&mut session, &key, &document, Expect::Absent).await {
            Ok(_) => assert_same(get(&mut session, &key).await, &document),
            Err(error) => {
                assert!(matches!(error.outcome, Outcome::Fail(_)), "{error}");
                assert_eq!(get(&mut session, &key).await, None);
                store(&mut session, &key, &json!({ "name": text, "age": number })).await;
            }
        }
        let found = session
            .get(C, key.as_bytes(), Select::Paths(&[NAME, AGE]))
            .await
            .unwrap();
        assert_eq!(cells(found.unwrap()), [json!(text), json!(number)]);
        if system.client.offers.has(Offer::Find) {
            let name = [Condition {
                path: NAME,
                is: Is::Equal,
                value: Value::Text(text.as_bytes()),
            }];
            assert_eq!(session.count(C, &name).await.unwrap(), 1, "{text}");
        }
    }
    assert_eq!(session.count(C, &[]).await.unwrap(), texts.len() as u64);
}

async fn what_is_no_json_is_not_stored(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let broken = Keyed {
        key: b"k",
        json: br#"{"name": "#,
    };
    let error = session.put(C, broken, Expect::Absent).await.unwrap_err();
    assert!(matches!(error.outcome, Outcome::Fail(_)), "{error}");
    assert_eq!(session.count(C, &[]).await.unwrap(), 0);
}

async fn collections_come_and_go(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    assert!(session.collection_exists(spec).await.unwrap());
    assert!(
        session.create_collection(spec).await.is_err(),
        "creating it twice is an error"
    );
    session.drop_collection(spec).await.unwrap();
    assert!(!session.collection_exists(spec).await.unwrap());
    session.drop_collection(spec).await.unwrap();
    session.create_collection(spec).await.unwrap();
    assert_eq!(session.count(C, &[]).await.unwrap(), 0);
}

async fn what_is_prepared_need_not_wait(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let offers = system.client.offers;
    let mut uses = vec![
        DocumentUse::Get(Select::Whole),
        DocumentUse::Get(Select::Paths(&[AGE, CITY])),
        DocumentUse::Put(Expect::Anything),
        DocumentUse::Put(Expect::Absent),
        DocumentUse::Put(Expect::Present),
        DocumentUse::Delete { revision: false },
        DocumentUse::Count(&[]),
    ];
    if offers.has(Offer::Scan) {
        uses.push(DocumentUse::Range(Select::Whole));
    }
    if offers.has(Offer::Patch) {
        uses.push(DocumentUse::Patch(&[AGE, NAME]));
    }
    if offers.has(Offer::Revisions) {
        uses.push(DocumentUse::Put(Expect::Revision(b"")));
        uses.push(DocumentUse::Delete { revision: true });
    }
    if offers.has(Offer::Find) {
        uses.push(DocumentUse::Find {
            conditions: &[(AGE, Is::AtLeast), (TAGS, Is::Containing)],
            select: Select::Whole,
        });
        uses.push(DocumentUse::Count(&[(SCORE, Is::Below)]));
    }
    session.prepare(C, &uses).await.unwrap();
    store(
        &mut session,
        "k",
        &json!({ "age": 1, "address": { "city": "Ulm" } }),
    )
    .await;
    let found = session
        .get(C, b"k", Select::Paths(&[AGE, CITY]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(cells(found), [json!(1), json!("Ulm")]);
}

async fn a_failing_operation_is_reported_as_failing(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    store(&mut session, "k", &json!({ "age": 1 })).await;
    get(&mut session, "k").await;
    system.documents().await.drop_collection(spec).await.unwrap();

    // Both where the request is prepared already and where it is not.
    let document = Keyed {
        key: b"new",
        json: b"{}",
    };
    let offers = system.client.offers;
    let select = Select::Whole;
    assert_fails(
        session.get(C, b"k", select).await.map(|found| found.is_some()),
        FailClass::Refused,
    );
    assert_fails(
        session.get(C, b"k", Select::Paths(&[AGE])).await.map(|_| ()),
        FailClass::Refused,
    );
    assert_fails(
        session.get_batch(C, &[b"k"], select, &mut |_| {}).await,
        FailClass::Refused,
    );
    for expect in [Expect::Absent, Expect::Anything, Expect::Present] {
        assert_fails(session.put(C, document, expect).await, FailClass::Refused);
    }
    assert_fails(session.put_batch(C, &[document]).await, FailClass::Refused);
    assert_fails(session.delete(C, b"k", None).await, FailClass::Refused);
    assert_fails(session.count(C, &[]).await, FailClass::Refused);
    assert_fails(
        session.range(C, b"", None, select, &mut |_| {}).await,
        FailClass::Refused,
    );
    let age = Condition {
        path: AGE,
        is: Is::Equal,
        value: Value::Int(1),
    };
    let patch = [Patch {
        path: AGE,
        value: Value::Int(1),
    }];
    assert_fails(session.patch(C, b"k", &patch).await, FailClass::Refused);
    assert_fails(
        session.find(C, &[age], select, None, &mut |_| {}).await,
        FailClass::Refused,
    );
    assert_fails(session.count(C, &[age]).await, FailClass::Refused);
    if offers.has(Offer::Scan) {
        assert_fails(
            session.range(C, b"k", Some(3), select, &mut |_| {}).await,
            FailClass::Refused,
        );
    }
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
