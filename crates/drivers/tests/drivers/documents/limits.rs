//! Cases of hostile texts, of collections, and of what fails.
use super::*;

pub async fn hostile_texts_stay_data(system: &System, spec: &CollectionSpec) {
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

pub async fn what_is_no_json_is_not_stored(system: &System, spec: &CollectionSpec) {
    let mut session = fresh(system, spec).await;
    let broken = Keyed {
        key: b"k",
        json: br#"{"name": "#,
    };
    let error = session.put(C, broken, Expect::Absent).await.unwrap_err();
    assert!(matches!(error.outcome, Outcome::Fail(_)), "{error}");
    assert_eq!(session.count(C, &[]).await.unwrap(), 0);
}

pub async fn collections_come_and_go(system: &System, spec: &CollectionSpec) {
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

pub async fn what_is_prepared_need_not_wait(system: &System, spec: &CollectionSpec) {
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

pub async fn a_failing_operation_is_reported_as_failing(system: &System, spec: &CollectionSpec) {
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
