//! What CouchDB has and its peer has not, against a server that follows a script. The answers are those of CouchDB's
//! documentation ("API Reference": `HEAD /{db}/{docid}`, `PUT /{db}/{docid}`, `POST /{db}/_find`, `/{db}/_bulk_docs`).
use crate::bench::{TIMEOUT, endpoint, open, run_on_reactor};
use crate::scripted::http;
use bakeoff_drivers::couchdb::{CouchdbDriver, CouchdbSession, CouchdbSpec};
use bakeoff_model::document::{
    Collection, CollectionSpec, DocumentSession, Expect, Found, Keyed, Patch, PathKind, PathSpec, Select,
};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::value::Value;
use std::thread::JoinHandle;

const C: Collection = Collection(0);
const WELCOME: &str =
    r#"{"couchdb":"Welcome","version":"3.3.3","vendor":{"name":"The Apache Software Foundation"}}"#;

/// Status and fields, and the body.
type Said = (&'static str, &'static str);

const FOUND: Said = ("200 OK\r\nETag: \"2-abc\"", "");
const STORED: Said = ("201 Created", r#"{"ok":true,"id":"k","rev":"3-def"}"#);
const MISSING: Said = (
    "404 Object Not Found",
    r#"{"error":"not_found","reason":"missing"}"#,
);

/// Greets, then says these; what was asked: each request's first line and body.
fn serve(script: Vec<Said>) -> (String, JoinHandle<Vec<String>>) {
    let said = std::iter::once(("200 OK", WELCOME)).chain(script);
    http::answers(said.map(|(head, body)| http::answer(head, body)).collect())
}

fn in_short(request: &str) -> String {
    assert!(request.contains("\r\nAccept: application/json\r\n"), "{request}");
    let line = request.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
    format!("{line} {}", request.split_once("\r\n\r\n").unwrap().1)
}

fn collection() -> CollectionSpec {
    CollectionSpec {
        name: "t".into(),
        key_length: 10,
        paths: vec![PathSpec {
            steps: vec!["a".into(), "b".into()],
            kind: PathKind::Integer,
            indexed: false,
        }],
    }
}

/// What a session does, and what it asks for it.
fn asks<T>(
    script: Vec<Said>,
    change: impl FnOnce(&mut CouchdbSpec),
    work: impl AsyncFnOnce(&mut CouchdbSession) -> T,
) -> (T, Vec<String>) {
    let (address, serving) = serve(script);
    let mut spec = CouchdbSpec {
        endpoints: vec![endpoint(&address)],
        prefix: "x/".into(),
        ..CouchdbSpec::default()
    };
    change(&mut spec);
    let driver = CouchdbDriver::new(spec, TIMEOUT).unwrap();
    let done = run_on_reactor(async {
        let mut session = open(&driver).await.unwrap();
        session.attach(&[collection()]).await.unwrap();
        work(&mut session).await
    });
    let asked = serving.join().unwrap();
    (done, asked[1..].iter().map(|request| in_short(request)).collect())
}

fn document() -> Keyed<'static> {
    Keyed {
        key: b"_k",
        json: b"{}",
    }
}

#[test]
fn a_write_over_a_document_learns_its_revision_first() {
    let (stored, asked) = asks(
        vec![FOUND, STORED],
        |_| {},
        async |session| session.put(C, document(), Expect::Anything).await.unwrap(),
    );
    assert_eq!(stored, Some(1));
    assert_eq!(asked, ["HEAD /x%2Ft/%5Ek ", "PUT /x%2Ft/%5Ek?rev=2-abc {}"]);
    let (stored, asked) = asks(
        vec![("404 Not Found", ""), MISSING, STORED],
        |_| {},
        async |session| session.put(C, document(), Expect::Anything).await.unwrap(),
    );
    assert_eq!(stored, Some(1));
    assert_eq!(
        asked,
        ["HEAD /x%2Ft/%5Ek ", "GET /x%2Ft/%5Ek ", "PUT /x%2Ft/%5Ek {}"]
    );
}

#[test]
fn a_patch_is_a_read_and_a_write_at_its_revision() {
    let read = ("200 OK", r#"{"_id":"k","_rev":"2-abc","a":{"c":1},"d":2}"#);
    let conflict = (
        "409 Conflict",
        r#"{"error":"conflict","reason":"Document update conflict."}"#,
    );
    let set = [Patch {
        path: 0,
        value: Value::Int(5),
    }];
    let (failed, asked) = asks(
        vec![read, conflict],
        |_| {},
        async |session| session.patch(C, b"k", &set).await.unwrap_err(),
    );
    assert_eq!(failed.outcome, Outcome::Fail(FailClass::Conflict));
    assert_eq!(
        asked,
        [
            "GET /x%2Ft/k ",
            r#"PUT /x%2Ft/k?rev=2-abc {"a":{"c":1,"b":5},"d":2}"#
        ]
    );
}

#[test]
fn quorums_are_asked_for_and_missing_one_is_unknown() {
    let quorums = |spec: &mut CouchdbSpec| (spec.read_quorum, spec.write_quorum) = (Some(1), Some(3));
    let accepted = ("202 Accepted", r#"{"ok":true,"id":"k","rev":"3-def"}"#);
    let (failed, asked) = asks(vec![FOUND, accepted], quorums, async |session| {
        session.put(C, document(), Expect::Present).await.unwrap_err()
    });
    assert_eq!((failed.outcome, &*failed.code), (Outcome::Unknown, "202"));
    assert_eq!(
        asked,
        ["HEAD /x%2Ft/%5Ek?r=1 ", "PUT /x%2Ft/%5Ek?rev=2-abc&w=3 {}"]
    );
}

#[test]
fn a_node_that_will_not_serve_is_left_and_its_writes_are_unknown_and_its_reads_not() {
    let down = (
        "503 Service Unavailable",
        r#"{"error":"nodedown","reason":"progress not possible"}"#,
    );
    let (failed, _) = asks(
        vec![down],
        |_| {},
        async |session| session.put(C, document(), Expect::Absent).await.unwrap_err(),
    );
    assert_eq!(
        (failed.outcome, failed.leave_node, &*failed.code),
        (Outcome::Unknown, true, "nodedown")
    );
    let (read, _): (OpError, _) = asks(
        vec![down],
        |_| {},
        async |session| session.get(C, b"k", Select::Whole).await.map(drop).unwrap_err(),
    );
    let (write, asked): (OpError, _) = asks(
        vec![(down.0, "")],
        |_| {},
        async |session| session.put(C, document(), Expect::Present).await.unwrap_err(),
    );
    assert_eq!(asked, ["HEAD /x%2Ft/%5Ek "], "nothing was written");
    for failed in [read, write] {
        assert_eq!(failed.outcome, Outcome::Fail(FailClass::Other));
    }
    let none = (
        "404 Object Not Found",
        r#"{"error":"not_found","reason":"Database does not exist."}"#,
    );
    let (failed, _): (OpError, _) = asks(
        vec![none],
        |_| {},
        async |session| session.get(C, b"k", Select::Whole).await.map(|_| ()).unwrap_err(),
    );
    assert_eq!(failed.outcome, Outcome::Fail(FailClass::Refused));
}

#[test]
fn of_a_batch_each_document_has_its_own_answer() {
    let answers = (
        "201 Created",
        r#"[{"ok":true,"id":"a","rev":"1-x"},{"id":"b","error":"conflict","reason":"Document update conflict."}]"#,
    );
    let documents = [b"a", b"b"].map(|key| Keyed {
        key,
        json: br#"{"n":1}"#,
    });
    let (failed, asked) = asks(
        vec![answers],
        |_| {},
        async |session| session.put_batch(C, &documents).await.unwrap_err(),
    );
    assert_eq!(failed.outcome, Outcome::Fail(FailClass::Constraint));
    assert_eq!(
        asked,
        [r#"POST /x%2Ft/_bulk_docs {"docs":[{"_id":"a","n":1},{"_id":"b","n":1}]}"#]
    );
}

#[test]
fn a_result_goes_on_at_its_bookmark() {
    let pages = vec![
        (
            "200 OK",
            r#"{"docs":[{"_id":"a","_rev":"1-x","n":1}],"bookmark":"g1AAA"}"#,
        ),
        ("200 OK", r#"{"docs":[],"bookmark":"nil"}"#),
    ];
    let one = |spec: &mut CouchdbSpec| spec.page_size = 1;
    let (keys, asked) = asks(pages, one, async |session| {
        let mut keys = vec![];
        let mut each = |found: &Found| keys.push((found.key.clone(), found.revision.clone()));
        session
            .find(C, &[], Select::Paths(&[0]), None, &mut each)
            .await
            .unwrap();
        keys
    });
    assert_eq!(keys, [(b"a".to_vec(), b"1-x".to_vec())]);
    let request =
        r#"POST /x%2Ft/_find {"selector":{"_id":{"$gt":null}},"fields":["_id","_rev","a.b"],"limit":1"#;
    assert_eq!(
        asked,
        [
            format!("{request}}}"),
            format!(r#"{request},"bookmark":"g1AAA"}}"#)
        ]
    );
}

#[test]
fn who_is_no_server_of_this_protocol_is_named() {
    let (address, serving) = http::answers(vec![http::answer("200 OK", "hi")]);
    let spec = CouchdbSpec {
        endpoints: vec![endpoint(&address)],
        ..CouchdbSpec::default()
    };
    let driver = CouchdbDriver::new(spec, TIMEOUT).unwrap();
    let error = run_on_reactor(async { open(&driver).await.err().unwrap() });
    assert!(
        error.message.contains("is this the address of a CouchDB server"),
        "{error}"
    );
    serving.join().unwrap();
}
