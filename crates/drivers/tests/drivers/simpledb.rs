//! SimpleDB's calls that its emulator has not, against a server that follows a script. The answers are those of the Developer
//! Guide ("API Reference": BatchPutAttributes, DeleteAttributes, PutAttributes, Select; "API Error Codes").
use crate::bench::{TIMEOUT, endpoint, open, row, run_on_reactor, table, texts};
use crate::scripted::http;
use bakeoff_drivers::Secret;
use bakeoff_drivers::simpledb::{SimpledbDriver, SimpledbSession, SimpledbSpec};
use bakeoff_model::outcome::{FailClass, OpError, Outcome};
use bakeoff_model::record::{FieldValue, Fields, RecordSession, Table, TableSpec};
use ring::hmac;

const T: Table = Table(0);
/// Its value is a secret of nobody's.
const SECRET: &str = "PATH";

fn usertable() -> TableSpec {
    let mut spec = table("d");
    spec.name = "d.1".into();
    spec
}

fn said(call: &str, result: &str) -> String {
    let body = format!(
        "<{call}Response xmlns=\"http://sdb.amazonaws.com/doc/2009-04-15/\">{result}<ResponseMetadata>\
         <RequestId>490206ce-8292-456c-a00f-61b335eb202b</RequestId><BoxUsage>0.0000219907</BoxUsage></ResponseMetadata>\
         </{call}Response>"
    );
    http::answer("200 OK\r\nContent-Type: text/xml", &body)
}

fn refused(status: &str, code: &str, words: &str) -> String {
    let body = format!(
        "<?xml version=\"1.0\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{words}</Message>\
         <BoxUsage>0.0000219907</BoxUsage></Error></Errors><RequestID>f2ae9b45</RequestID></Response>"
    );
    http::answer(status, &body)
}

/// The parameters that not all requests have; that the others are there, in order, and signed.
fn asked(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap();
    let (signed, signature) = body.split_once("&Signature=").unwrap();
    let names: Vec<&str> = signed
        .split('&')
        .map(|one| one.split_once('=').unwrap().0)
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, std::env::var(SECRET).unwrap().as_bytes());
    let tag = hmac::sign(&key, format!("POST\n{host}\n/\n{signed}").as_bytes());
    let mut escaped = vec![];
    bakeoff_drivers::http::escape(
        &mut escaped,
        bakeoff_drivers::http::base64(tag.as_ref()).as_bytes(),
    );
    assert_eq!(signature.as_bytes(), escaped);
    let own = signed.strip_prefix("AWSAccessKeyId=A%2B&Action=").unwrap();
    let (own, common) = own
        .split_once("&SignatureMethod=HmacSHA256&SignatureVersion=2&Timestamp=")
        .unwrap();
    assert!(common.ends_with("Z&Version=2009-04-15"), "{common}");
    own.to_owned()
}

fn replays<T>(
    said: Vec<String>,
    consistent: bool,
    work: impl AsyncFnOnce(&mut SimpledbSession) -> T,
) -> (T, Vec<String>) {
    let (address, serving) = http::answers(said);
    let spec = SimpledbSpec {
        endpoints: vec![endpoint(&address)],
        user: "A+".into(),
        password: Some(Secret::Env(SECRET.into())),
        consistent_read: consistent,
        ..SimpledbSpec::default()
    };
    let driver = SimpledbDriver::new(&spec, false, TIMEOUT).unwrap();
    let done = run_on_reactor(async {
        let mut session = open(&driver).await.unwrap();
        session.attach(&[usertable()]).await.unwrap();
        work(&mut session).await
    });
    let heard = serving.join().unwrap();
    (done, heard.iter().map(|request| asked(request)).collect())
}

#[test]
fn a_read_takes_what_it_asks_for_in_the_order_of_the_table() {
    let item = said(
        "GetAttributes",
        "<GetAttributesResult><Attribute><Name>FIELD2</Name><Value>c&amp;&lt;</Value></Attribute><Attribute><Name>#</Name>\
         <Value>1</Value></Attribute><Attribute><Name>FIELD0</Name><Value/></Attribute><Attribute><Name>FIELD1</Name>\
         <Value encoding=\"base64\">YQBi</Value></Attribute></GetAttributesResult>",
    );
    let none = said("GetAttributes", "<GetAttributesResult></GetAttributesResult>");
    let (_, asked) = replays(vec![item, none], true, async |session| {
        let found = texts(session.read(T, b"k 1", Fields::All).await.unwrap().unwrap());
        assert_eq!(found, [&b"k 1"[..], b"", b"a\0b", b"c&<"]);
        assert!(session.read(T, b"no", Fields::One(1)).await.unwrap().is_none());
    });
    assert_eq!(
        asked,
        [
            "GetAttributes&ConsistentRead=true&DomainName=d.1&ItemName=k%201",
            "GetAttributes&AttributeName.1=FIELD1&ConsistentRead=true&DomainName=d.1&ItemName=no",
        ]
    );
}

#[test]
fn writes_are_conditional_so_they_count() {
    let put = || said("PutAttributes", "");
    let unmet = || {
        refused(
            "409 Conflict",
            "ConditionalCheckFailed",
            "Conditional check failed.",
        )
    };
    let none = || {
        refused(
            "404 Not Found",
            "AttributeDoesNotExist",
            "Attribute (#) does not exist",
        )
    };
    let script = vec![
        put(),
        unmet(),
        put(),
        none(),
        said("DeleteAttributes", ""),
        none(),
    ];
    let field = [FieldValue {
        field: 2,
        value: b"x=&",
    }];
    let ((), asked) = replays(script, false, async |session| {
        let one = row("k", [b"a", b"b", b""]);
        assert_eq!(session.insert(T, one.record()).await.unwrap(), Some(1));
        let twice = session.insert(T, one.record()).await.unwrap_err();
        assert_eq!(twice.outcome, Outcome::Fail(FailClass::Constraint));
        assert_eq!(session.update(T, b"k", &field).await.unwrap(), Some(1));
        assert_eq!(session.update(T, b"k", &field).await.unwrap(), Some(0));
        assert_eq!(session.delete(T, b"k").await.unwrap(), Some(1));
        assert_eq!(session.delete(T, b"k").await.unwrap(), Some(0));
    });
    let insert = "PutAttributes&Attribute.1.Name=FIELD0&Attribute.1.Value=a&Attribute.2.Name=FIELD1&Attribute.2.Value=b\
        &Attribute.3.Name=FIELD2&Attribute.3.Value=&Attribute.4.Name=%23&Attribute.4.Value=1&DomainName=d.1\
        &Expected.1.Exists=false&Expected.1.Name=%23&ItemName=k";
    let update = "PutAttributes&Attribute.1.Name=FIELD2&Attribute.1.Replace=true&Attribute.1.Value=x%3D%26&DomainName=d.1\
        &Expected.1.Name=%23&Expected.1.Value=1&ItemName=k";
    let delete = "DeleteAttributes&DomainName=d.1&Expected.1.Name=%23&Expected.1.Value=1&ItemName=k";
    assert_eq!(asked, [insert, insert, update, update, delete, delete]);
}

#[test]
fn batches_are_bounded_by_items_and_by_bytes() {
    let script = vec![said("BatchPutAttributes", ""); 5];
    let (_, asked) = replays(script, false, async |session| {
        let rows: Vec<_> = (0..27)
            .map(|i| row(&format!("k{i}"), [b"a", b"b", b"c"]))
            .collect();
        let records: Vec<_> = rows.iter().map(|row| row.record()).collect();
        assert_eq!(session.insert_batch(T, &records).await.unwrap(), 27);
        let long = [b'x'; 70_000];
        let rows: Vec<_> = (0..3)
            .map(|i| row(&format!("l{i}"), [&long, &long, b"c"]))
            .collect();
        let records: Vec<_> = rows.iter().map(|row| row.record()).collect();
        assert_eq!(session.insert_batch(T, &records).await.unwrap(), 3);
    });
    let items = |request: &String| request.matches(".ItemName=").count();
    assert_eq!(asked.iter().map(items).collect::<Vec<_>>(), [25, 2, 1, 1, 1]);
    assert!(asked[0].starts_with(
        "BatchPutAttributes&DomainName=d.1&Item.1.Attribute.1.Name=FIELD0&Item.1.Attribute.1.Replace=true\
         &Item.1.Attribute.1.Value=a&Item.1.Attribute.2.Name=FIELD1"
    ));
    assert!(asked[0].contains("&Item.1.ItemName=k0&Item.10.Attribute.1.Name=FIELD0"));
    assert!(asked[0].ends_with("&Item.9.ItemName=k8"));
}

fn page(keys: &[&str], next: &str) -> String {
    let item = |key: &&str| {
        format!(
            "<Item><Name>{key}</Name><Attribute><Name>FIELD1</Name><Value>of {key}</Value></Attribute></Item>"
        )
    };
    let items: String = keys.iter().map(item).collect();
    let next = match next {
        "" => String::new(),
        token => format!("<NextToken>{token}</NextToken>"),
    };
    said("Select", &format!("<SelectResult>{items}{next}</SelectResult>"))
}

async fn scanned(
    session: &mut SimpledbSession,
    start: &[u8],
    limit: Option<u32>,
    fields: Fields,
) -> Vec<Vec<Vec<u8>>> {
    let mut found = vec![];
    session
        .scan(T, start, limit, fields, &mut |row| found.push(texts(row)))
        .await
        .unwrap();
    found
}

#[test]
fn a_result_that_goes_on_where_it_did_before_has_no_end_and_is_refused() {
    let same = || page(&[], "rO0ABX==");
    let (error, _) = replays(vec![same(), same()], false, async |session| {
        session
            .scan(T, b"", None, Fields::All, &mut |_| {})
            .await
            .unwrap_err()
    });
    assert!(error.message.contains("goes on where it did before"), "{error}");
}

#[test]
fn only_a_domain_with_the_mark_is_deleted() {
    let item = |attributes: &str| {
        let result = format!("<GetAttributesResult>{attributes}</GetAttributesResult>");
        said("GetAttributes", &result)
    };
    let marked = item("<Attribute><Name>made</Name><Value>1</Value></Attribute>");
    let gone = refused(
        "400 Bad Request",
        "NoSuchDomain",
        "The specified domain does not exist.",
    );
    let script = vec![item(""), gone, marked, said("DeleteDomain", "")];
    let (error, asked) = replays(script, false, async |session| {
        let error = session.drop_table(&usertable()).await.unwrap_err();
        session.drop_table(&usertable()).await.unwrap();
        session.drop_table(&usertable()).await.unwrap();
        error
    });
    assert!(error.message.contains("was not made by bakeoff"), "{error}");
    let looked = "GetAttributes&ConsistentRead=true&DomainName=d.1&ItemName=%23bakeoff";
    assert_eq!(asked, [looked, looked, looked, "DeleteDomain&DomainName=d.1"]);
}

#[test]
fn a_scan_is_a_select_by_the_names_of_items_page_after_page() {
    let script = vec![
        page(&["k'2", "k3"], "rO0ABX=="),
        page(&["k4", "k5"], "more"),
        page(&[], ""),
        refused(
            "503 Service Unavailable",
            "ServiceUnavailable",
            "Service is currently unavailable.",
        ),
    ];
    let (error, asked) = replays(script, true, async |session| {
        let found = scanned(session, b"k'2", Some(3), Fields::One(1)).await;
        assert_eq!(
            found,
            [[b"of k'2".to_vec()], [b"of k3".to_vec()], [b"of k4".to_vec()]]
        );
        assert!(scanned(session, b"", None, Fields::AllByName).await.is_empty());
        session
            .scan(T, b"z", None, Fields::All, &mut |_| {})
            .await
            .unwrap_err()
    });
    let (error, asked): (OpError, Vec<String>) = (error, asked);
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Overload));
    let first = "SelectExpression=select%20%60FIELD1%60%20from%20%60d.1%60%20where%20itemName%28%29%20%3E%3D%20%27k%27%272%27\
        %20order%20by%20itemName%28%29%20limit%203";
    assert_eq!(
        asked[..3],
        [
            format!("Select&ConsistentRead=true&{first}"),
            format!("Select&ConsistentRead=true&NextToken=rO0ABX%3D%3D&{first}"),
            "Select&ConsistentRead=true&SelectExpression=select%20%2A%20from%20%60d.1%60%20where%20itemName%28%29%20%3E%20\
             %27%23bakeoff%27%20order%20by%20itemName%28%29%20limit%202500"
                .to_owned(),
        ]
    );
}

#[test]
fn counts_of_several_pages_are_added() {
    let counted = |count: u32, next: &str| {
        let item = format!(
            "<Item><Name>Domain</Name><Attribute><Name>Count</Name><Value>{count}</Value></Attribute></Item>{next}"
        );
        said("Select", &format!("<SelectResult>{item}</SelectResult>"))
    };
    let script = vec![counted(30, "<NextToken>t</NextToken>"), counted(12, "")];
    let (count, asked) = replays(script, false, async |session| session.count(T).await.unwrap());
    assert_eq!(count, 42);
    let select = "SelectExpression=select%20count%28%2A%29%20from%20%60d.1%60%20where%20itemName%28%29%20%3E%20%27%23bakeoff%27";
    assert_eq!(
        asked,
        [format!("Select&{select}"), format!("Select&NextToken=t&{select}")]
    );
}
