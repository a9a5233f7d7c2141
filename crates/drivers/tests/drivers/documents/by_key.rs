//! Cases of single documents by their keys.
use super::*;

pub async fn what_is_stored_comes_back(system: &System, spec: &CollectionSpec) {
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

pub async fn every_key_is_another(system: &System, spec: &CollectionSpec) {
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

pub async fn documents_may_be_large(system: &System, spec: &CollectionSpec) {
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

pub async fn a_missing_document_is_an_answer(system: &System, spec: &CollectionSpec) {
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

pub async fn a_put_keeps_to_what_it_expects(system: &System, spec: &CollectionSpec) {
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

pub async fn a_write_at_a_revision_that_has_passed_is_a_conflict(system: &System, spec: &CollectionSpec) {
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

pub async fn a_patch_sets_what_it_names_and_leaves_the_rest(system: &System, spec: &CollectionSpec) {
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

pub async fn a_patch_of_nothing_makes_nothing(system: &System, spec: &CollectionSpec) {
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

pub async fn a_patch_adds_what_a_document_lacks(system: &System, spec: &CollectionSpec) {
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

pub async fn deleted_documents_are_gone(system: &System, spec: &CollectionSpec) {
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

pub async fn a_selection_has_what_it_names_and_null_for_what_is_absent(
    system: &System,
    spec: &CollectionSpec,
) {
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
