//! Cases of many documents: found by what is in them, and in the order of their keys.
use super::model::*;
use super::*;

pub async fn documents_are_found_and_counted_by_what_is_in_them(system: &System, spec: &CollectionSpec) {
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

pub async fn what_is_found_follows_each_change(system: &System, spec: &CollectionSpec) {
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

pub async fn ranges_go_in_key_order_to_their_limit_or_the_end(system: &System, spec: &CollectionSpec) {
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

pub async fn the_whole_collection_can_be_read(system: &System, spec: &CollectionSpec) {
    let (mut session, model) = (fresh(system, spec).await, Model::filled());
    model.store(&mut session).await;
    let mut keys = vec![];
    let mut each = |found: &Found| keys.push(String::from_utf8(found.key.clone()).unwrap());
    session.range(C, b"", None, Select::Key, &mut each).await.unwrap();
    keys.sort();
    assert!(keys.iter().eq(model.0.keys()));
    assert_eq!(session.count(C, &[]).await.unwrap(), model.0.len() as u64);
}
