//! What the wire clients make of servers that say anything at all: whole conversations, mutated at some place, and plain
//! noise. They end each with an answer or an error: they never panic, never wait once the other side has closed, take no
//! more memory than what they were sent accounts for, and use no session again that could not be understood. More cases: PROPTEST_CASES=100000 (CONTRIBUTING.md).
#![allow(clippy::unwrap_used, clippy::expect_used)] // test code throughout
mod bench;
mod scripted;

use bakeoff_drivers::mongodb::MongodbDriver;
use bakeoff_model::document::{
    Collection, CollectionSpec, Condition, DocumentSession, Expect, Is, Keyed, Patch, PathKind, PathSpec,
    Select,
};
use bakeoff_model::driver::Driver;
use bakeoff_model::needs::Offer;
use bakeoff_model::outcome::OpError;
use bakeoff_model::pipeline::Pipeline;
use bakeoff_model::sql::{Ask, SqlSession};
use bakeoff_model::sql_records::SqlRecords;
use bakeoff_model::transaction::Transactional;
use bakeoff_model::value::Value;
use bench::{TIMEOUT, open, postgresql_wire_driver, run_on_reactor, wire_driver};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use scripted::postgresql::{QUERY_STEP, ROW, TWO_SEEN, messages};
use scripted::{Conversation, Protocol, spec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Far above what an honest conversation of these takes, far below what a length in a packet can claim.
const ALLOCATED_BYTES_MAX: usize = 64 << 20;

/// Counts the bytes that each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATED_BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED_BYTES.with(|bytes| bytes.set(bytes.get().saturating_add(layout.size())));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Of `converse`, when all went well.
const ALL_STEPS: usize = 6;

/// All that a session is used for; how far it came, in steps.
async fn converse<S: SqlSession + Transactional>(driver: &impl Driver<Session = SqlRecords<S>>) -> usize {
    let Ok(mut session) = open(driver).await else {
        return 0;
    };
    let session = session.sql();
    let heard = |done: Result<(), OpError>| match done {
        Ok(()) => true,
        Err(error) => {
            assert!(error.code != "PROTOCOL" || error.connection_lost, "{error:?}");
            false
        }
    };
    let Ok(statement) = session
        .prepare(&Ask::read("SELECT a, b, c FROM t WHERE k = ?"))
        .await
    else {
        return 1;
    };
    let rows = session.query(statement, &[Value::Int(1)], &mut |_| {}).await;
    if !heard(rows.map(drop)) {
        return 2;
    }
    let rows = session.query_text("SELECT 'x', NULL", &mut |_| {}).await;
    if !heard(rows.map(drop)) {
        return 3;
    }
    if driver.offers().has(Offer::Pipeline) {
        let mut pipeline = Pipeline::default();
        pipeline.begin();
        pipeline.push(statement, &[Value::Int(1)]);
        pipeline.commit();
        if !heard(session.run_pipeline(&pipeline, &mut |_, _| {}).await) {
            return 4;
        }
    }
    let mut left = 3;
    let mut next = |row: &mut bakeoff_model::row::RowBuf| {
        left -= 1;
        row.push(Value::Int(left));
        row.push(Value::Text(b"text"));
        left > 0
    };
    match heard(session.bulk_insert("t", &["a", "b"], &mut next).await.map(drop)) {
        false => 5,
        true => ALL_STEPS,
    }
}

/// The same of documents.
async fn converse_in_documents(driver: &MongodbDriver) -> usize {
    let Ok(mut session) = open(driver).await else {
        return 0;
    };
    let heard = |done: Result<(), OpError>| match done {
        Ok(()) => true,
        Err(error) => {
            assert!(error.code != "PROTOCOL" || error.connection_lost, "{error:?}");
            false
        }
    };
    const C: Collection = Collection(0);
    let path = |steps: &[&str], kind| PathSpec {
        steps: steps.iter().map(|step| step.to_string()).collect(),
        kind,
        indexed: false,
    };
    let spec = CollectionSpec {
        name: "c".into(),
        key_length: 10,
        paths: vec![
            path(&["a"], PathKind::Text(10)),
            path(&["n", "b"], PathKind::Integer),
        ],
    };
    session.attach(&[spec]).await.unwrap();
    let found = session.get(C, b"k1", Select::Whole).await;
    if !heard(found.map(|found| assert!(found.is_none_or(|found| found.json.starts_with(b"{"))))) {
        return 1;
    }
    let condition = [Condition {
        path: 0,
        is: Is::Equal,
        value: Value::Text(b"text"),
    }];
    let found = session
        .find(C, &condition, Select::Paths(&[0, 1]), None, &mut |_| {})
        .await;
    if !heard(found.map(drop)) {
        return 2;
    }
    let document = Keyed {
        key: b"k1",
        json: b"{\"a\":1}",
    };
    if !heard(session.put(C, document, Expect::Present).await.map(drop)) {
        return 3;
    }
    session.begin(Default::default()).await.unwrap();
    let patch = [Patch {
        path: 1,
        value: Value::Int(1),
    }];
    let patched = session.patch(C, b"k1", &patch).await;
    if !heard(session.end(patched).await.map(drop)) {
        return 4;
    }
    match heard(session.count(C, &[]).await.map(drop)) {
        false => 5,
        true => ALL_STEPS,
    }
}

fn steps(conversation: Conversation) -> usize {
    let (tuned, protocol) = (conversation.tuned, conversation.protocol);
    let before = ALLOCATED_BYTES.get();
    let steps = scripted::serve(conversation, |address| match protocol {
        Protocol::Mysql => run_on_reactor(converse(&wire_driver(spec(address, tuned), None))),
        Protocol::Postgresql => {
            let spec = scripted::postgresql::spec(address);
            run_on_reactor(converse(&postgresql_wire_driver(spec, None)))
        }
        Protocol::Mongodb => {
            let driver = MongodbDriver::new(scripted::mongodb::spec(address), TIMEOUT).unwrap();
            run_on_reactor(converse_in_documents(&driver))
        }
    });
    let allocated = ALLOCATED_BYTES.get() - before;
    assert!(
        allocated < ALLOCATED_BYTES_MAX,
        "{allocated} bytes were allocated"
    );
    steps
}

#[test]
fn conversations_that_nobody_has_touched_go_to_their_end() {
    for conversation in Conversation::known() {
        assert_eq!(steps(conversation), ALL_STEPS);
    }
}

#[test]
fn how_a_servers_words_are_cut_into_packets_means_nothing() {
    for mut conversation in Conversation::known() {
        conversation.piece_bytes = 1;
        assert_eq!(steps(conversation), ALL_STEPS);
    }
}

/// Wherever a server hangs up: what it has not said to the end is no answer.
#[test]
fn an_answer_that_is_cut_short_is_none() {
    for known in Conversation::known() {
        for step in 0..known.said.len() {
            for end in 0..known.said[step].len() {
                let mut cut = known.clone();
                cut.change(step, false, |said| said.truncate(end));
                let last = known.said.len() - 1;
                cut.said.truncate(step + 1);
                assert!(steps(cut) < ALL_STEPS, "step {step} of {last}, cut at {end}");
            }
        }
    }
}

/// One change to what a server says.
#[derive(Clone, Debug)]
enum Change {
    Byte(usize, u8),
    /// A length, or a count, at its limits.
    Long(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
}

impl Change {
    fn apply(&self, said: &mut Vec<u8>) {
        let length = said.len().max(1);
        match self {
            Change::Byte(at, byte) => said.iter_mut().skip(at % length).take(1).for_each(|b| *b = *byte),
            Change::Long(at, kind) => {
                let long = [*kind, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
                said.splice(at % length..(at % length + 9).min(said.len()), long);
            }
            Change::Cut(at) => said.truncate(at % length),
            Change::Insert(at, bytes) => {
                said.splice(at % length..at % length, bytes.iter().copied());
            }
            Change::Repeat(at, count) => {
                let tail = said[at % length..].to_vec();
                (0..*count).for_each(|_| said.extend_from_slice(&tail));
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let at = 0..4096usize;
    prop_oneof![
        4 => (at.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        2 => (at.clone(), 0xFBu8..).prop_map(|(at, kind)| Change::Long(at, kind)),
        1 => at.clone().prop_map(Change::Cut),
        1 => (at.clone(), prop::collection::vec(any::<u8>(), 1..32)).prop_map(|(at, more)| Change::Insert(at, more)),
        1 => (at, 1..4usize).prop_map(|(at, count)| Change::Repeat(at, count)),
    ]
}

/// The same cases each time, so that a change that fails is to blame, unless a seed is asked for.
fn config() -> ProptestConfig {
    let default = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_RNG_SEED").is_some() {
        return default;
    }
    ProptestConfig {
        rng_seed: RngSeed::Fixed(20261121),
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_mutated_conversation_ends(which: usize, step: usize, changes in prop::collection::vec(change(), 1..4)) {
        let known = Conversation::known();
        let mut conversation = known[which % known.len()].clone();
        let step = step % conversation.said.len();
        // What a length announces is seen apart from what a packet holds: half of the changes keep the lengths right.
        let keeps_lengths = which % 2 == 0;
        conversation.change(step, keeps_lengths, |said| changes.iter().for_each(|change| change.apply(said)));
        steps(conversation);
    }

    #[test]
    fn noise_at_any_stage_ends(which: usize, step: usize, noise in prop::collection::vec(any::<u8>(), 0..600)) {
        let known = Conversation::known();
        let mut conversation = known[which % known.len()].clone();
        let step = step % conversation.said.len();
        conversation.change(step, which % 2 == 0, |said| said.clone_from(&noise));
        steps(conversation);
    }

    /// PostgreSQL's answer to a prepared query, of any messages in any order, against what the protocol allows.
    #[test]
    fn an_answer_is_right_or_none(said in prop::collection::vec(0..WORDS.len(), 0..8)) {
        let words: String = said.iter().map(|word| WORDS[*word].0).collect();
        let whole: String = words.chars().filter(|word| !"NSA".contains(*word)).collect();
        let answer = whole.split_inclusive('Z').next().unwrap_or_default();
        let rows = answer.strip_prefix('2').and_then(|rest| rest.strip_suffix("CZ"));
        let right = rows.is_some_and(|rows| rows.chars().all(|word| word == 'D'));
        let mut conversation = scripted::postgresql::conversation();
        let all: Vec<_> = said.iter().map(|word| WORDS[*word].1).collect();
        conversation.change(QUERY_STEP, false, |said| *said = messages(&all));
        conversation.said.truncate(QUERY_STEP + 1);
        prop_assert_eq!(steps(conversation), if right { 3 } else { 2 }, "{}", words);
    }
}

/// What a server may say, each with a letter; the small ones are wrong in themselves.
const WORDS: &[(char, (u8, &[u8]))] = &[
    ('2', (b'2', b"")),
    ('2', (b'2', b"")),
    ('D', (b'D', ROW)),
    ('D', (b'D', ROW)),
    ('C', TWO_SEEN),
    ('C', TWO_SEEN),
    ('Z', (b'Z', b"I")),
    ('Z', (b'Z', b"I")),
    ('N', (b'N', b"SNOTICE\0\0")),
    ('S', (b'S', b"a\0b\0")),
    ('A', (b'A', b"\0\0\0\x01a\0b\0")),
    ('E', (b'E', b"SERROR\0C40001\0Mno\0\0")),
    ('F', (b'E', b"SFATAL\0C57P01\0Mgone\0\0")),
    ('T', (b'T', &[0, 0])),
    ('G', (b'G', &[0, 0, 0])),
    ('d', (b'D', &[0, 2, 255, 255, 255, 255, 255, 255, 255, 255])),
    ('l', (b'D', &[0, 1, 255, 255, 255, 254])),
    ('z', (b'Z', b"")),
];
