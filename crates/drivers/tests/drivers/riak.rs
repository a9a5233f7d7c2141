//! Riak's driver against exchanges that are written down: no server was at hand. Answers are those of Riak's documentation
//! ("HTTP API Reference": fetch, store and delete object, list keys, secondary indexes), and requests are compared whole.
use crate::bench::{TIMEOUT, endpoint, open, run_on_reactor};
use crate::scripted::http;
use bakeoff_drivers::riak::{Copies, RiakDriver, RiakSession, RiakSpec, Siblings};
use bakeoff_model::document::{
    Collection, CollectionSpec, DocumentSession, Expect, Found, Keyed, Patch, PathKind, PathSpec, Select,
};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::value::Value;

const C: Collection = Collection(0);
const CLOCK: &str = "a85hYGBgzGDKBVIsbLvm1WYwJTLmsTLcjeE5ypcFAA==";
const CLOCK_OF_ALL: &str = "a85hYGDgyGDKBVIszMk55zKYEhnzWBlKIniO8kGF2TyvHYIKf0cIszUnMTBzHYVKbIhEUl+VK4spDFTPxhHzFyqhEoVQz7wkSAGLMGuz6FSocFIUijE3pt5HlsgCAA==";

/// A request and its answer.
struct Exchange {
    asked: (&'static str, String),
    body: &'static str,
    said: String,
}

/// `asked`: method, path, and fields that not all requests have.
fn exchange(asked: &'static str, fields: &str, body: &'static str, head: &str, answer: &str) -> Exchange {
    Exchange {
        asked: (asked, fields.to_owned()),
        body,
        said: http::answer(head, answer),
    }
}

impl Exchange {
    fn request(&self, address: &str) -> String {
        let (line, fields) = &self.asked;
        let mut request = format!("{line} HTTP/1.1\r\nHost: {address}\r\n");
        request += "Accept: application/json, multipart/mixed, */*;q=0.5\r\n";
        if !line.starts_with("PUT") {
            return request + fields + "\r\n";
        }
        request += "Content-Type: application/json\r\n";
        request + fields + &format!("Content-Length: {}\r\n\r\n{}", self.body.len(), self.body)
    }
}

/// `fetch`: an object as the documentation shows one.
fn object(asked: &'static str) -> Exchange {
    let head = format!(
        "200 OK\r\nX-Riak-Vclock: {CLOCK}\r\nVary: Accept-Encoding\r\n\
         Server: MochiWeb/1.1 WebMachine/1.9.0 (participate in the frantic)\r\nLink: </buckets/test>; rel=\"up\"\r\n\
         Last-Modified: Wed, 10 Mar 2010 18:11:41 GMT\r\nETag: 6dQBm9oYA1mxRSH0e96l5W\r\n\
         Date: Fri, 30 Sep 2011 15:24:35 GMT\r\nContent-Type: application/json"
    );
    let body = if asked.starts_with("HEAD") {
        ""
    } else {
        r#"{"foo":"bar"}"#
    };
    exchange(asked, "", "", &head, body)
}

/// The four values of one object that the documentation shows.
fn siblings(asked: &'static str) -> Exchange {
    let part = |kind: &str, etag: &str, time: &str, value: &str| {
        format!(
            "\r\n--YinLMzyUR9feB17okMytgKsylvh\r\nContent-Type: {kind}\r\nLink: </buckets/test>; rel=\"up\"\r\n\
             Etag: {etag}\r\nLast-Modified: Wed, 10 Mar 2010 {time} GMT\r\n\r\n{value}"
        )
    };
    const JSON: &str = "application/json";
    const FORM: &str = "application/x-www-form-urlencoded";
    let parts = [
        part(JSON, "6zRSZFUJlHXZ15o9CG0BYl", "17:55:03", r#"{"foo":"bar"}"#),
        part(FORM, "16vic4eU9ny46o4KPiDz1f", "18:01:06", r#"{"bar":"baz"}"#),
        part(JSON, "4v5xOg4bVwUYZdMkqf0d6I", "18:00:04", r#"{"bar":"old"}"#),
        part(JSON, "6nr5tDTmhxnwuAFJDd2s6G", "17:58:08", r#"{"bar":"older"}"#),
    ];
    let head = format!(
        "300 Multiple Choices\r\nX-Riak-Vclock: {CLOCK_OF_ALL}\r\nVary: Accept, Accept-Encoding\r\n\
         Server: MochiWeb/1.1 WebMachine/1.9.0 (participate in the frantic)\r\n\
         Date: Fri, 30 Sep 2011 15:24:35 GMT\r\nContent-Type: multipart/mixed; boundary=YinLMzyUR9feB17okMytgKsylvh"
    );
    exchange(
        asked,
        "",
        "",
        &head,
        &(parts.concat() + "\r\n--YinLMzyUR9feB17okMytgKsylvh--\r\n"),
    )
}

fn missing(asked: &'static str) -> Exchange {
    let body = if asked.starts_with("HEAD") {
        ""
    } else {
        "not found\n"
    };
    exchange(
        asked,
        "",
        "",
        "404 Object Not Found\r\nContent-Type: text/plain",
        body,
    )
}

fn stored(asked: &'static str, fields: &str, body: &'static str) -> Exchange {
    exchange(
        asked,
        fields,
        body,
        "204 No Content\r\nContent-Type: application/json",
        "",
    )
}

fn over(clock: &str) -> String {
    format!("X-Riak-Vclock: {clock}\r\n")
}

/// What a session does while the other side goes through the exchanges, after those of a greeting.
fn replays<T>(spec: RiakSpec, script: Vec<Exchange>, work: impl AsyncFnOnce(&mut RiakSession) -> T) -> T {
    let mut script = script;
    script.insert(
        0,
        exchange("GET /ping", "", "", "200 OK\r\nContent-Type: text/html", "OK"),
    );
    let (address, serving) = http::answers(script.iter().map(|one| one.said.clone()).collect());
    let spec = RiakSpec {
        endpoints: vec![endpoint(&address)],
        ..spec
    };
    let driver = RiakDriver::new(spec, TIMEOUT).unwrap();
    let collection = CollectionSpec {
        name: "test".into(),
        key_length: 10,
        paths: vec![PathSpec {
            steps: vec!["a".into(), "b".into()],
            kind: PathKind::Integer,
            indexed: false,
        }],
    };
    let done = run_on_reactor(async {
        let mut session = open(&driver).await.unwrap();
        session.attach(&[collection]).await.unwrap();
        work(&mut session).await
    });
    let wanted: Vec<String> = script.iter().map(|one| one.request(&address)).collect();
    assert_eq!(serving.join().unwrap(), wanted);
    done
}

fn collection() -> CollectionSpec {
    CollectionSpec {
        name: "test".into(),
        key_length: 10,
        paths: vec![],
    }
}

async fn json(session: &mut RiakSession, key: &[u8]) -> Option<String> {
    let found = session.get(C, key, Select::Whole).await.unwrap()?;
    Some(String::from_utf8(found.json.clone()).unwrap())
}

const DOCUMENT: Keyed<'static> = Keyed {
    key: b"doc",
    json: b"{}",
};

#[test]
fn an_object_is_fetched_with_what_is_asked_of_copies() {
    let asks = RiakSpec {
        bucket_type: Some("fast".into()),
        prefix: "x_".into(),
        r: Some(Copies::Quorum),
        pr: Some(Copies::One),
        ..RiakSpec::default()
    };
    let script = vec![
        object("GET /types/fast/buckets/x_test/keys/doc2?r=quorum&pr=1"),
        missing("GET /types/fast/buckets/x_test/keys/doc?r=quorum&pr=1"),
    ];
    replays(asks, script, async |session| {
        assert_eq!(json(session, b"doc2").await.as_deref(), Some(r#"{"foo":"bar"}"#));
        assert_eq!(json(session, b"doc").await, None);
    });
}

#[test]
fn of_siblings_the_latest_counts_or_none() {
    replays(
        RiakSpec::default(),
        vec![siblings("GET /buckets/test/keys/doc")],
        async |session| {
            assert_eq!(json(session, b"doc").await.as_deref(), Some(r#"{"bar":"baz"}"#));
        },
    );
    let fails = RiakSpec {
        siblings: Siblings::Fail,
        ..RiakSpec::default()
    };
    let error: OpError = replays(
        fails,
        vec![siblings("GET /buckets/test/keys/doc")],
        async |session| {
            session
                .get(C, b"doc", Select::Whole)
                .await
                .map(|_| ())
                .unwrap_err()
        },
    );
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict));
}

#[test]
fn a_patch_replaces_all_siblings_by_what_it_made_of_the_latest() {
    let script = vec![
        siblings("GET /buckets/test/keys/doc"),
        stored(
            "PUT /buckets/test/keys/doc?w=all&dw=2&pw=quorum",
            &over(CLOCK_OF_ALL),
            r#"{"bar":"baz","a":{"b":7}}"#,
        ),
    ];
    let asks = RiakSpec {
        w: Some(Copies::All),
        dw: Some(Copies::Two),
        pw: Some(Copies::Quorum),
        ..RiakSpec::default()
    };
    let set = [Patch {
        path: 0,
        value: Value::Int(7),
    }];
    replays(asks, script, async |session| {
        assert_eq!(session.patch(C, b"doc", &set).await.unwrap(), Some(1));
    });
    replays(
        RiakSpec::default(),
        vec![missing("GET /buckets/test/keys/doc")],
        async |session| {
            assert_eq!(session.patch(C, b"doc", &set).await.unwrap(), Some(0));
        },
    );
}

#[test]
fn a_write_names_the_version_that_it_writes_over() {
    let script = vec![
        stored("PUT /buckets/test/keys/doc", "If-None-Match: *\r\n", "{}"),
        object("HEAD /buckets/test/keys/doc"),
        stored("PUT /buckets/test/keys/doc", &over(CLOCK), "{}"),
        missing("HEAD /buckets/test/keys/doc"),
        missing("HEAD /buckets/test/keys/doc"),
        stored("PUT /buckets/test/keys/doc", "", "{}"),
        exchange(
            "PUT /buckets/test/keys/doc",
            "If-None-Match: *\r\n",
            "{}",
            "412 Precondition Failed",
            "",
        ),
    ];
    replays(RiakSpec::default(), script, async |session| {
        let mut put = async |expect| session.put(C, DOCUMENT, expect).await;
        assert_eq!(put(Expect::Absent).await.unwrap(), Some(1));
        assert_eq!(put(Expect::Present).await.unwrap(), Some(1));
        assert_eq!(put(Expect::Present).await.unwrap(), Some(0));
        assert_eq!(put(Expect::Anything).await.unwrap(), Some(1));
        let error = put(Expect::Absent).await.unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Constraint));
        assert_eq!(put(Expect::Revision(b"1")).await.unwrap_err().code, "CLIENT");
    });
}

#[test]
fn a_read_that_fails_is_never_perhaps_done_nor_is_the_write_that_it_was_for() {
    let failing = |asked| {
        let words = if asked == "HEAD" {
            ""
        } else {
            "request timed out\n"
        };
        let line = if asked == "HEAD" {
            "HEAD /buckets/test/keys/doc"
        } else {
            "GET /buckets/test/keys/doc"
        };
        vec![exchange(
            line,
            "",
            "",
            "503 Service Unavailable\r\nContent-Type: text/plain",
            words,
        )]
    };
    let read = replays(RiakSpec::default(), failing("GET"), async |session| {
        session.get(C, b"doc", Select::Whole).await.map(drop).unwrap_err()
    });
    let write = replays(RiakSpec::default(), failing("HEAD"), async |session| {
        session.put(C, DOCUMENT, Expect::Anything).await.unwrap_err()
    });
    for error in [read, write] {
        assert_eq!(
            (error.outcome, &*error.code),
            (Outcome::Fail(FailClass::Other), "HTTP 503")
        );
    }
}

#[test]
fn what_too_few_copies_took_is_unknown_and_what_is_refused_was_not_done() {
    let failing = |status: &str, words: &str| {
        let head = format!("{status}\r\nContent-Type: text/plain");
        exchange(
            "PUT /buckets/test/keys/doc",
            "If-None-Match: *\r\n",
            "{}",
            &head,
            words,
        )
    };
    for (status, words, outcome) in [
        (
            "503 Service Unavailable",
            "PW-value unsatisfied: 1/2\n",
            Outcome::Unknown,
        ),
        ("503 Service Unavailable", "request timed out\n", Outcome::Unknown),
        ("500 Internal Server Error", "Error: overload\n", Outcome::Unknown),
        (
            "400 Bad Request",
            "Specified w/dw/pw values invalid for bucket n value of 3\n",
            Outcome::Fail(FailClass::Refused),
        ),
        (
            "404 Object Not Found",
            "Unknown bucket type: no",
            Outcome::Fail(FailClass::Refused),
        ),
    ] {
        let error = replays(
            RiakSpec::default(),
            vec![failing(status, words)],
            async |session| session.put(C, DOCUMENT, Expect::Absent).await.unwrap_err(),
        );
        assert_eq!((error.outcome, &*error.message), (outcome, words.trim()));
        assert_eq!(error.code, format!("HTTP {}", &status[..3]));
    }
}

#[test]
fn an_object_is_deleted_and_one_that_is_not_there_counts_none() {
    let script = vec![
        exchange("DELETE /buckets/test/keys/doc?w=1", "", "", "204 No Content", ""),
        missing("DELETE /buckets/test/keys/doc?w=1"),
    ];
    let asks = RiakSpec {
        w: Some(Copies::One),
        ..RiakSpec::default()
    };
    replays(asks, script, async |session| {
        assert_eq!(session.delete(C, b"doc", None).await.unwrap(), Some(1));
        assert_eq!(session.delete(C, b"doc", None).await.unwrap(), Some(0));
    });
}

fn keys(asked: &'static str, listed: &str) -> Exchange {
    exchange(asked, "", "", "200 OK\r\nContent-Type: application/json", listed)
}

async fn ranged(session: &mut RiakSession, start: &[u8], limit: Option<u32>) -> Result<Vec<String>, OpError> {
    let mut found = vec![];
    let mut each = |one: &Found| found.push(String::from_utf8(one.key.clone()).unwrap());
    session.range(C, start, limit, Select::Whole, &mut each).await?;
    Ok(found)
}

#[test]
fn without_indexes_the_whole_bucket_is_listed_and_there_is_no_order() {
    const LISTED: &str = r#"{"keys":["b","~bakeoff","a"]}"#;
    let script = vec![
        keys("GET /buckets/test/keys?keys=true", LISTED),
        keys("GET /buckets/test/keys?keys=true", LISTED),
        object("GET /buckets/test/keys/b"),
        missing("GET /buckets/test/keys/a"),
    ];
    replays(RiakSpec::default(), script, async |session| {
        assert_eq!(session.count(C, &[]).await.unwrap(), 2);
        assert_eq!(ranged(session, b"", None).await.unwrap(), ["b"]);
        assert_eq!(ranged(session, b"a", None).await.unwrap_err().code, "CLIENT");
    });
}

#[test]
fn the_index_of_keys_is_asked_page_after_page() {
    let script = vec![
        keys(
            "GET /buckets/test/index/$key/a/~?max_results=3",
            r#"{"keys":["a","b","c"],"continuation":"g20AAAAEYw=="}"#,
        ),
        object("GET /buckets/test/keys/a"),
        missing("GET /buckets/test/keys/b"),
        object("GET /buckets/test/keys/c"),
        keys(
            "GET /buckets/test/index/$key/a/~?max_results=1&continuation=g20AAAAEYw%3D%3D",
            r#"{"keys":["d"],"continuation":"g20AAAAEZA=="}"#,
        ),
        object("GET /buckets/test/keys/d"),
        keys(
            "GET /buckets/test/index/$key/-/~?max_results=500",
            r#"{"keys":[]}"#,
        ),
    ];
    let indexed = RiakSpec {
        secondary_indexes: true,
        ..RiakSpec::default()
    };
    replays(indexed, script, async |session| {
        assert_eq!(ranged(session, b"a", Some(3)).await.unwrap(), ["a", "c", "d"]);
        assert_eq!(ranged(session, b"", None).await.unwrap(), [""; 0]);
    });
}

#[test]
fn a_list_that_goes_on_where_it_did_before_has_no_end_and_is_refused() {
    const SAME: &str = r#"{"keys":[],"continuation":"g20AAAAEYw=="}"#;
    let script = vec![
        keys("GET /buckets/test/index/$key/-/~?max_results=500", SAME),
        keys(
            "GET /buckets/test/index/$key/-/~?max_results=500&continuation=g20AAAAEYw%3D%3D",
            SAME,
        ),
    ];
    let indexed = RiakSpec {
        secondary_indexes: true,
        ..RiakSpec::default()
    };
    replays(indexed, script, async |session| {
        let error = ranged(session, b"", None).await.unwrap_err();
        assert!(error.message.contains("goes on where it did before"), "{error}");
    });
}

#[test]
fn only_a_bucket_with_the_mark_is_emptied() {
    let script = vec![
        missing("GET /buckets/test/keys/~bakeoff"),
        object("GET /buckets/test/keys/~bakeoff"),
        keys(
            "GET /buckets/test/keys?keys=true",
            r#"{"keys":["a","~bakeoff","b c"]}"#,
        ),
        exchange("DELETE /buckets/test/keys/a", "", "", "204 No Content", ""),
        missing("DELETE /buckets/test/keys/b%20c"),
        exchange("DELETE /buckets/test/keys/~bakeoff", "", "", "204 No Content", ""),
    ];
    replays(RiakSpec::default(), script, async |session| {
        session.drop_collection(&collection()).await.unwrap();
        session.drop_collection(&collection()).await.unwrap();
    });
}

#[test]
fn who_is_no_riak_is_named() {
    let (address, serving) = http::answers(vec![http::answer("200 OK", "hi")]);
    let spec = RiakSpec {
        endpoints: vec![endpoint(&address)],
        ..RiakSpec::default()
    };
    let driver = RiakDriver::new(spec, TIMEOUT).unwrap();
    let error = run_on_reactor(async { open(&driver).await.err().unwrap() });
    assert!(
        error.message.contains("is this the address of a Riak server"),
        "{error}"
    );
    serving.join().unwrap();
}
