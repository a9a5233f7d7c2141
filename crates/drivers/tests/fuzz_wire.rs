//! What the wire client makes of servers that say anything at all: whole conversations, mutated at some place, and plain
//! noise. It ends each with an answer or an error: it never panics, never waits once the other side has closed, and takes
//! no more memory than what it was sent accounts for. More cases: PROPTEST_CASES=100000 (CONTRIBUTING.md).
#![allow(clippy::unwrap_used, clippy::expect_used)] // test code throughout
mod bench;
mod scripted;

use bakeoff_model::sql::{Ask, SpeaksSql, SqlSession};
use bakeoff_model::value::Value;
use bench::{open, run_on_reactor, wire_driver};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use scripted::{Conversation, spec};
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

/// All that a session is used for; how far it came, in steps.
async fn converse(address: &str, tuned: bool) -> usize {
    let Ok(mut session) = open(&wire_driver(spec(address, tuned), None)).await else {
        return 0;
    };
    let session = session.sql();
    let Ok(statement) = session
        .prepare(&Ask::read("SELECT a, b, c FROM t WHERE k = ?"))
        .await
    else {
        return 1;
    };
    if session
        .query(statement, &[Value::Int(1)], &mut |_| {})
        .await
        .is_err()
    {
        return 2;
    }
    if session.query_text("SELECT 'x', NULL", &mut |_| {}).await.is_err() {
        return 3;
    }
    let mut left = 3;
    let mut next = |row: &mut bakeoff_model::row::RowBuf| {
        left -= 1;
        row.push(Value::Int(left));
        row.push(Value::Text(b"text"));
        left > 0
    };
    match session.bulk_insert("t", &["a", "b"], &mut next).await {
        Err(_) => 4,
        Ok(_) => 5,
    }
}

fn steps(conversation: Conversation) -> usize {
    let tuned = conversation.tuned;
    let before = ALLOCATED_BYTES.get();
    let steps = scripted::serve(conversation, |address| run_on_reactor(converse(address, tuned)));
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
        assert_eq!(steps(conversation), 5);
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
}
