use super::fake::FakeStore;
use super::presets::Preset;
use super::template::Node;
use super::values::{Origin, Scratch, is_right, write_document};
use super::*;
use serde_json::{Value as Json, json};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

struct NoProbe;

impl Probe for NoProbe {
    fn now_ns(&self) -> u64 {
        0
    }
    fn part(&mut self, _: usize, _: Outcome, _: u64) -> u64 {
        0
    }
    fn queries(&mut self, _: Queries) {}
    fn revoke(&mut self, _: u64) {}
}

/// A mix of everything, on few documents.
fn all() -> DocumentsSpec {
    DocumentsSpec {
        records: 200,
        get_part: 1.0,
        put: 1.0,
        patch: 1.0,
        insert: 2.0,
        delete: 1.0,
        find: 1.0,
        find_unindexed: 1.0,
        contains: 1.0,
        count: 1.0,
        range: 1.0,
        get_batch: 1.0,
        put_batch: 0.2,
        batch: 7,
        ..DocumentsSpec::default()
    }
}

struct Loaded {
    documents: Documents,
    store: FakeStore,
    session: AnyDocuments,
    thread: Thread,
    worker: Worker,
}

impl Loaded {
    fn new(spec: &DocumentsSpec) -> Self {
        let documents = Documents::new(spec, 7, ClientSpec::default()).unwrap();
        let store = FakeStore::default();
        let mut session = store.session();
        let worker = documents.worker(0);
        let mut thread = documents.thread(&worker, ThreadId::FIRST);
        now(documents.create(&mut session, false)).unwrap();
        now(documents.attach(&mut session)).unwrap();
        let stored = now(documents.load_chunk(&worker, &mut thread, &mut session, 0, spec.records));
        assert_eq!(stored.unwrap(), spec.records);
        // A run begins with accounts of its own.
        let documents = Documents::new(spec, 7, ClientSpec::default()).unwrap();
        let thread = documents.thread(&worker, ThreadId::FIRST);
        Self {
            documents,
            store,
            session,
            thread,
            worker,
        }
    }

    /// Kind and answer of the next operation.
    fn step(&mut self) -> (usize, Result<Answer<'static>, OpError>) {
        let kind = self.documents.next(&self.worker, &mut self.thread);
        let answer = now(self.documents.attempt(&mut self.thread, &mut self.session));
        let outcome = match &answer {
            Ok(Answer::Right) => Outcome::Ok,
            Ok(Answer::Wrong(_)) => Outcome::Wrong,
            Err(error) => error.outcome,
        };
        let ended = Ended::at_once(outcome, false);
        self.documents
            .settle(&self.worker, &mut self.thread, ended, &mut NoProbe);
        (kind, answer)
    }

    fn checks(&mut self, after_run: bool) -> Vec<Check> {
        let spec = CheckSpec {
            sample: 50,
            acknowledged: 1000,
            after_run,
            ..CheckSpec::default()
        };
        let done = match after_run {
            true => vec![Some(self.documents.evidence())],
            false => vec![],
        };
        now(self.documents.check(&mut self.session, &done, &spec)).unwrap()
    }

    fn violated(&mut self, after_run: bool) -> Vec<String> {
        let checks = self.checks(after_run).into_iter();
        checks.filter(|check| !check.ok).map(|check| check.name).collect()
    }
}

#[test]
fn every_operation_is_right_and_the_checks_hold_afterwards() {
    let mut loaded = Loaded::new(&all());
    assert_eq!(loaded.violated(false), [""; 0]);
    let mut drawn = [0; NAMES.len()];
    for _ in 0..5000 {
        let (kind, answer) = loaded.step();
        drawn[kind] += 1;
        assert!(matches!(answer, Ok(Answer::Right)), "{}: {answer:?}", NAMES[kind]);
    }
    assert!(drawn.iter().all(|&times| times > 20), "{drawn:?}");
    assert!(loaded.store.change(|state| state.deleted) > 100);
    assert_eq!(loaded.violated(true), [""; 0]);
    let names: Vec<String> = loaded.checks(true).into_iter().map(|check| check.name).collect();
    assert_eq!(
        names,
        [
            "number of documents",
            "acknowledged documents",
            "sample of documents"
        ]
    );
}

#[test]
fn counts_by_what_is_in_documents_are_checked_where_nobody_adds_any() {
    let spec = DocumentsSpec {
        insert: 0.0,
        delete: 0.0,
        put_batch: 0.0,
        ..all()
    };
    let mut loaded = Loaded::new(&spec);
    (0..500).for_each(|_| drop(loaded.step()));
    let names: Vec<String> = loaded.checks(true).into_iter().map(|check| check.name).collect();
    let found = ["account", "address.zip", "tags", "address.city"].map(|path| format!("documents by {path}"));
    assert_eq!(names[2..], found);
    assert_eq!(loaded.violated(true), [""; 0]);
    let changed = |state: &mut super::fake::State| {
        for json in state.documents.values_mut() {
            let mut document: Json = serde_json::from_slice(json).unwrap();
            document["tags"] = json!([]);
            *json = document.to_string().into_bytes();
        }
    };
    loaded.store.change(changed);
    assert!(loaded.violated(true).contains(&found[2]));
}

#[test]
fn what_a_system_loses_or_changes_is_found() {
    let only = |operation: &str| {
        let mut spec = serde_json::to_value(DocumentsSpec {
            get: 0.0,
            records: 50,
            ..DocumentsSpec::default()
        })
        .unwrap();
        spec[operation] = json!(1.0);
        Loaded::new(&serde_json::from_value(spec).unwrap())
    };
    // Lost writes are acknowledged, and only the checks see them.
    for operation in ["insert", "put_batch"] {
        let mut loaded = only(operation);
        loaded.store.change(|state| state.loses_writes = true);
        (0..20).for_each(|_| assert!(matches!(loaded.step().1, Ok(Answer::Right))));
        assert_eq!(
            loaded.violated(true),
            ["number of documents", "acknowledged documents"]
        );
    }
    let mut loaded = only("get");
    loaded.store.change(|state| state.documents.clear());
    assert!(matches!(loaded.step().1, Ok(Answer::Wrong("document missing"))));
    assert_eq!(
        loaded.violated(true),
        ["number of documents", "sample of documents"]
    );
    for operation in ["put", "patch", "get_part"] {
        let mut loaded = only(operation);
        loaded.store.change(|state| state.documents.clear());
        assert!(
            matches!(loaded.step().1, Ok(Answer::Wrong("document missing"))),
            "{operation}"
        );
    }
    // One value of each document is another.
    for operation in ["get", "get_part", "get_batch"] {
        let mut loaded = only(operation);
        loaded.store.change(|state| {
            for json in state.documents.values_mut() {
                let mut document: Json = serde_json::from_slice(json).unwrap();
                document["name"] = json!("someone else");
                *json = document.to_string().into_bytes();
            }
        });
        assert!(
            matches!(loaded.step().1, Ok(Answer::Wrong("value differs"))),
            "{operation}"
        );
        assert_eq!(loaded.violated(false), ["sample of documents"]);
    }
    for operation in ["find", "contains", "count", "range"] {
        let mut loaded = only(operation);
        loaded.store.change(|state| state.documents.clear());
        assert!(matches!(loaded.step().1, Ok(Answer::Wrong(_))), "{operation}");
    }
}

#[test]
fn a_write_that_fails_or_whose_end_nobody_knows_is_booked_as_such() {
    let spec = DocumentsSpec {
        get: 0.0,
        insert: 1.0,
        records: 10,
        ..DocumentsSpec::default()
    };
    let mut loaded = Loaded::new(&spec);
    let errors = vec![OpError::fail(FailClass::Conflict, "", ""), OpError::lost("", "")];
    loaded.store.change(|state| state.errors = errors);
    assert!(loaded.step().1.is_err() && loaded.step().1.is_err());
    (0..5).for_each(|_| drop(loaded.step()));
    let did = loaded.documents.evidence();
    assert_eq!(
        (
            did.counts.inserts_acknowledged,
            did.counts.inserts_failed,
            did.counts.inserts_unknown
        ),
        (5, 1, 1)
    );
    assert_eq!(loaded.checks(true)[0].expected, "15 to 16 documents");
    assert_eq!(loaded.violated(true), [""; 0]);
}

#[test]
fn the_same_options_and_seed_give_the_same_documents_and_operations() {
    let hash = |seed| {
        let documents = Documents::new(&all(), seed, ClientSpec::default()).unwrap();
        let worker = documents.worker(0);
        let mut thread = documents.thread(&worker, ThreadId::FIRST);
        for _ in 0..100 {
            documents.next(&worker, &mut thread);
        }
        documents.stream_hash(&thread)
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
    let documents = Documents::new(&DocumentsSpec::default(), 1, ClientSpec::default()).unwrap();
    let mut first = vec![];
    write_document(&documents.template, Origin::first(1, 0), &mut first);
    // A document of before this text changed is another: raise GENERATOR_VERSION.
    assert_eq!(
        first
            .iter()
            .fold(0, |hash, byte| crate::rng::mix(hash, u64::from(*byte))),
        FIRST_DOCUMENT,
        "{}",
        String::from_utf8_lossy(&first)
    );
}

const FIRST_DOCUMENT: u64 = 18_122_862_326_432_533_970;

#[test]
fn documents_have_the_size_that_is_estimated() {
    let documents = Documents::new(&DocumentsSpec::default(), 1, ClientSpec::default()).unwrap();
    let mut all = vec![];
    (0..1000).for_each(|keynum| write_document(&documents.template, Origin::first(1, keynum), &mut all));
    let (mean, usual) = (all.len() as f64 / 1000.0, documents.template.usual());
    assert!(
        (0.85..1.2).contains(&(mean / usual)),
        "{mean} bytes, estimated {usual}"
    );
    assert!((900.0..1300.0).contains(&mean), "{mean}");
}

#[test]
fn every_generator_gives_json_of_its_kind_within_its_bounds() {
    let template = json!({
        "s": "string:3..9", "t": "text:5..40", "i": "int:-5..5", "big": "int", "f": "float:-2..3.5", "fs": "float:1.1,2",
        "b": "bool", "d": "date", "dt": "datetime", "u": "uuid", "e": "enum:a \"b\",ü☃", "n": null, "c": 42,
        "list": ["int:1..1", ["string:1"], { "x": "bool" }], "each": { "each": { "y": ["int:0..9"] }, "count": "0..3" },
    });
    let spec = DocumentsSpec {
        template: template.as_object().unwrap().clone(),
        ..DocumentsSpec::default()
    };
    let documents = Documents::new(&spec, 3, ClientSpec::default()).unwrap();
    let (mut json, mut scratch) = (vec![], Scratch::default());
    for keynum in 0..500 {
        json.clear();
        let origin = Origin::first(3, keynum).at_version(keynum * 77);
        write_document(&documents.template, origin, &mut json);
        assert!(json.len() <= documents.longest());
        let found: Json = serde_json::from_slice(&json).unwrap();
        let length = |name: &str| found[name].as_str().unwrap().chars().count();
        assert!((3..=9).contains(&length("s")) && (5..=40).contains(&length("t")));
        assert!(!found["t"].as_str().unwrap().ends_with(' '));
        assert!((-5..=5).contains(&found["i"].as_i64().unwrap()));
        assert!((-2.0..=3.5).contains(&found["f"].as_f64().unwrap()));
        assert!([1.1, 2.0].contains(&found["fs"].as_f64().unwrap()));
        assert!(["a \"b\"", "ü☃"].contains(&found["e"].as_str().unwrap()));
        assert_eq!((length("d"), length("dt"), length("u")), (10, 20, 36));
        assert_eq!(
            (&found["n"], &found["c"], &found["list"][0]),
            (&Json::Null, &json!(42), &json!(1))
        );
        assert!(found["each"].as_array().unwrap().len() <= 3);
        // In whatever order and form a system gives it back.
        let mut other = found.clone();
        other.sort_all_objects();
        let other = serde_json::to_string_pretty(&other).unwrap();
        assert!(is_right(
            &documents.template,
            origin,
            0,
            other.as_bytes(),
            &mut scratch
        ));
        for (name, value) in found.as_object().unwrap() {
            if ["version", "patched", "each"].contains(&name.as_str()) {
                continue;
            }
            let mut wrong = found.clone();
            wrong[name] = json!("another");
            let wrong = wrong.to_string();
            assert!(
                !is_right(&documents.template, origin, 0, wrong.as_bytes(), &mut scratch),
                "{name} {value}"
            );
        }
    }
}

#[test]
fn what_cannot_be_run_is_refused_by_its_option() {
    let refused = |change: &dyn Fn(&mut DocumentsSpec)| {
        let mut spec = DocumentsSpec::default();
        change(&mut spec);
        let refused = Documents::new(&spec, 1, ClientSpec::default());
        let trouble = refused.map(|_| ()).unwrap_err();
        assert!(!trouble.hint.is_empty());
        trouble.place
    };
    assert_eq!(refused(&|spec| spec.get = 0.0), "workload.get");
    assert_eq!(refused(&|spec| spec.delete = 1.0), "workload.delete");
    assert_eq!(
        refused(&|spec| (spec.batch, spec.records, spec.get_batch) = (9, 5, 1.0)),
        "workload.batch"
    );
    assert_eq!(
        refused(&|spec| (spec.find, spec.find_path) = (1.0, "x".into())),
        "workload.find_path"
    );
    assert_eq!(
        refused(&|spec| (spec.find, spec.find_path) = (1.0, "address".into())),
        "workload.find_path"
    );
    assert_eq!(
        refused(&|spec| (spec.contains, spec.contains_path) = (1.0, "name".into())),
        "workload.contains_path"
    );
    assert_eq!(
        refused(&|spec| spec.index = vec!["orders".into()]),
        "workload.index"
    );
    assert_eq!(
        refused(&|spec| (spec.patch, spec.patched) = (1.0, vec!["account".into()])),
        "workload.patched"
    );
    assert_eq!(refused(&|spec| spec.records = 0), "workload.records");
}

#[test]
fn presets_and_the_template_are_what_the_plan_starts_from() {
    let resolved =
        |options: Json| crate::kinds::resolve(&crate::resolve::asked("documents", &options)).unwrap();
    let (query, needs) = resolved(json!({ "preset": "query", "records": 500 }));
    assert_eq!(query.label, "documents query (records 500)");
    assert_eq!(
        query.operations,
        ["GET", "FIND", "FIND-UNINDEXED", "CONTAINS", "COUNT"]
    );
    assert!(needs.offers.has(Offer::Find) && needs.offers.has(Offer::PathIndex) && !needs.patches);
    assert!(!query.writes);
    let (mixed, needs) = resolved(json!({ "preset": "mixed" }));
    assert!(needs.patches && mixed.writes && !needs.offers.has(Offer::Find));
    assert_eq!(mixed.continues_by.unwrap()["inserted_before"], 100_000_000_000);
    let (own, _) = resolved(json!({ "template": { "a": "string:5" } }));
    assert_ne!(own.dataset, mixed.dataset);
    let (read, _) = resolved(json!({ "preset": "read" }));
    assert_eq!(read.dataset, mixed.dataset, "the mix changes no data");
    assert_ne!(query.dataset, read.dataset);
    let WorkloadSpec::Documents(spec) = own.spec else {
        panic!("another workload");
    };
    assert_eq!(spec.template.len(), 1);
    for preset in [
        Preset::Crud,
        Preset::Read,
        Preset::Mixed,
        Preset::Query,
        Preset::Batch,
    ] {
        let documents = Documents::new(&preset.spec(), 1, ClientSpec::default()).unwrap();
        assert!(matches!(documents.template, Node::Object(_)));
        let preview =
            super::resolve::preview(&WorkloadSpec::Documents(Box::new(preset.spec())), 1, 20).unwrap();
        assert_eq!(preview.len(), 20);
        assert!(
            preview
                .iter()
                .all(|previewed| previewed.lines[0].starts_with("user"))
        );
    }
}
