//! Cases of batches and transactions.
use super::model::*;
use super::*;

pub async fn batches_are_stored_and_read_whole(system: &System, spec: &CollectionSpec) {
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

pub async fn a_batch_that_fails_stores_nothing(system: &System, spec: &CollectionSpec) {
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

pub async fn transactions_commit_or_leave_nothing(system: &System, spec: &CollectionSpec) {
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
