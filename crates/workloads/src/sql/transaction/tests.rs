use crate::prelude::*;
use crate::script::Number;
use crate::sql::Sql;
use crate::sql::advance::{Next, advance};
use crate::sql::scripts::Scripts;
use crate::sql::user::User;
use crate::sysbench::fake::{Counted, Fake, deadlock, now};
use bakeoff_model::any::Known;
use serde_json::{Value, json};

/// One script, its user and its session.
struct Story {
    scripts: Scripts,
    user: User,
    session: Known<Fake>,
    counted: Counted,
}

impl Story {
    fn of(text: &str) -> Self {
        Self::expecting(text, json!([]))
    }

    fn expecting(text: &str, expect: Value) -> Self {
        let spec = json!({"scripts": [{"file": {"name": "x.sql", "text": text}, "expect": expect}]});
        let scripts = Scripts::new(&serde_json::from_value(spec).unwrap(), "fake").unwrap();
        let mut session = Fake::new();
        now(scripts.prepare(session.any())).unwrap();
        Self {
            user: scripts.user(&[Number::Int(5), Number::Int(1), Number::Int(1), Number::Int(1)]),
            scripts,
            session,
            counted: Counted::default(),
        }
    }

    fn attempt(&mut self, again: bool) -> Result<Answer<'_>, OpError> {
        let Self {
            scripts,
            user,
            session,
            counted,
        } = self;
        now(scripts.carry_out(0, 7, again, user, session.any(), counted))
    }

    /// What the session was asked since the last time.
    fn asked(&mut self) -> Vec<String> {
        std::mem::take(&mut self.session.asked)
    }

    fn runs(&mut self) -> Vec<String> {
        assert_eq!(self.attempt(false).unwrap(), Answer::Right);
        self.asked()
    }
}

#[test]
fn values_are_bound_and_transactions_are_the_sessions_own() {
    let mut story = Story::of(
        "\\set a 3 * 4\nBEGIN;\nUPDATE t SET a = a + :a WHERE id = :client_id;\nSELECT a FROM t WHERE id = :client_id;\nEND;",
    );
    assert_eq!(
        story.session.prepared,
        [
            "UPDATE t SET a = a + ? WHERE id = ?",
            "SELECT a FROM t WHERE id = ?"
        ]
    );
    assert_eq!(
        story.runs(),
        [
            "BEGIN",
            "UPDATE t SET a = a + 12 WHERE id = 5",
            "SELECT a FROM t WHERE id = 5",
            "COMMIT"
        ]
    );
    let counted = Queries {
        read: 1,
        write: 1,
        other: 2,
    };
    assert_eq!(story.counted.queries, counted);
}

#[test]
fn where_no_parameter_is_allowed_numbers_are_written_into_the_text() {
    let mut story = Story::of("\\set n 2\nUPDATE t_:n SET a = :client_id;\nSELECT count(*) AS c FROM t_:n;");
    assert!(story.session.prepared.is_empty());
    assert_eq!(
        story.runs(),
        ["UPDATE t_2 SET a = 5", "SELECT count(*) AS c FROM t_2"]
    );
}

#[test]
fn another_attempt_draws_what_the_first_drew() {
    let text = "\\set n :client_id\nBEGIN;\n\\set a random(1, 1000000)\nINSERT INTO t VALUES (:a, :n);\n\
        SELECT a AS n FROM t \\gset\n\\set b random(1, 1000000)\nUPDATE t SET b = :b WHERE n = :n;\nEND;";
    let whole = Story::of(text).runs();
    let mut story = Story::of(text);
    story.session.failing.push(("UPDATE", deadlock()));
    let error = story.attempt(false).unwrap_err();
    assert_eq!(error.outcome, Outcome::Fail(FailClass::Conflict));
    let mut first = story.asked();
    assert_eq!(first.pop().as_deref(), Some("ROLLBACK"));
    assert_eq!(first, whole[..first.len()]);
    story.attempt(true).unwrap();
    assert_eq!(story.asked(), whole);
}

#[test]
fn what_is_committed_is_not_done_again() {
    let text = "\\set a random(1, 1000)\nINSERT INTO t VALUES (:a);\nBEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n\
        \\set b random(1, 1000)\nBEGIN;\nUPDATE u SET b = :b;\nCOMMIT;";
    let whole = Story::of(text).runs();
    let mut story = Story::of(text);
    story.session.failing.push(("UPDATE u", deadlock()));
    assert!(story.attempt(false).is_err());
    story.asked();
    story.attempt(true).unwrap();
    assert_eq!(story.asked(), whole[4..]);
    // The next operation begins at the beginning.
    assert_eq!(story.runs(), whole);
}

#[test]
fn variables_keep_their_values_from_one_operation_to_the_next() {
    let mut story = Story::of("SELECT :n;\n\\set n :n + 1");
    assert!(story.attempt(false).unwrap_err().message.contains("no value yet"));
    let mut story = Story::of(
        "\\if :client_id = 5\n\\set n 1\n\\set client_id 6\n\\else\n\\set n :n + 1\n\\endif\nSELECT :n;",
    );
    assert_eq!(
        [story.runs(), story.runs(), story.runs()].concat(),
        ["SELECT 1", "SELECT 2", "SELECT 3"]
    );
}

#[test]
fn gset_takes_one_row_and_aset_the_last_if_there_is_one() {
    // The session answers with 7.
    let mut story = Story::of("SELECT 1 AS a \\gset\nSELECT :a + :a AS b \\gset p_\nUPDATE t SET a = :p_b;");
    assert_eq!(story.runs()[1..], ["SELECT 7 + 7 AS b", "UPDATE t SET a = 7"]);
    let mut story = Story::of("BEGIN;\nSELECT 1 AS a FROM t \\gset\nEND;");
    story.session.empty = true;
    let error = story.attempt(false).unwrap_err();
    assert_eq!(error.message, "\\gset takes one row, and 0 came");
    assert_eq!(error.statement.as_deref(), Some("x.sql, line 2"));
    assert_eq!(story.asked().pop().as_deref(), Some("ROLLBACK"));
    let mut story = Story::of("\\set a 1\nSELECT 2 AS a FROM t \\aset\nUPDATE t SET a = :a;");
    story.session.empty = true;
    assert_eq!(story.runs()[1..], ["UPDATE t SET a = 1"]);
}

#[test]
fn an_answer_that_is_not_the_expected_one_is_wrong_and_does_not_keep_the_transaction_from_its_commit() {
    let text = "BEGIN;\nUPDATE t SET a = 1;\nSELECT a FROM t;\nEND;";
    for (expect, empty, words) in [
        (json!([{"statement": 3, "value": 7}]), false, None),
        (json!([{"statement": 3, "value": "7.0", "rows": 1}]), false, None),
        (
            json!([{"statement": 3, "value": 8}]),
            false,
            Some("x.sql, statement 3: the value is not 8"),
        ),
        (
            json!([{"statement": 3, "rows": 2}]),
            false,
            Some("x.sql, statement 3: the number of rows is not 2"),
        ),
        (
            json!([{"statement": 3, "value": 7}]),
            true,
            Some("x.sql, statement 3: the value is not 7"),
        ),
        (json!([{"statement": 2, "rows": 1}]), false, None),
        (
            json!([{"statement": 2, "rows": 1}]),
            true,
            Some("x.sql, statement 2: the number of rows is not 1"),
        ),
    ] {
        let mut story = Story::expecting(text, expect);
        story.session.empty = empty;
        let found = match story.attempt(false).unwrap() {
            Answer::Right => None,
            Answer::Wrong(words) => Some(words.to_owned()),
        };
        assert_eq!(found.as_deref(), words);
        assert_eq!(story.asked().pop().as_deref(), Some("COMMIT"));
    }
}

#[test]
fn a_pipeline_is_sent_together_and_undone_as_a_whole() {
    let text = "\\startpipeline\nBEGIN;\n\\set a 2 + 1\nUPDATE t SET a = :a;\nSELECT a FROM t;\nCOMMIT;\n\\syncpipeline\n\
        UPDATE u SET a = :a;\n\\endpipeline";
    let mut story = Story::expecting(text, json!([{"statement": 3, "value": 8}]));
    assert_eq!(
        story.attempt(false).unwrap(),
        Answer::Wrong("x.sql, statement 3: the value is not 8")
    );
    let whole = story.asked();
    assert_eq!(
        whole,
        [
            "BEGIN",
            "UPDATE t SET a = 3",
            "SELECT a FROM t",
            "COMMIT",
            "UPDATE u SET a = 3"
        ]
    );
    let counted = Queries {
        read: 1,
        write: 2,
        other: 2,
    };
    assert_eq!(story.counted.queries, counted);
    story.session.failing.push(("SELECT a", deadlock()));
    assert!(story.attempt(false).is_err());
    assert_eq!(story.asked().pop().as_deref(), Some("ROLLBACK"));
    story.session.failing.push(("UPDATE u", deadlock()));
    assert!(story.attempt(true).is_err());
    story.asked();
    assert_eq!(
        story.attempt(true).unwrap(),
        Answer::Wrong("x.sql, statement 3: the value is not 8")
    );
    assert_eq!(story.asked(), whole[4..]);
}

#[test]
fn what_a_script_does_wrong_fails_its_operation_and_is_undone() {
    for (text, message, statement, asked) in [
        (
            "BEGIN;\n\\set a 1 / (:client_id - 5)\nEND;",
            "division by zero",
            "x.sql, line 2: \\set a 1 / (:client_id - 5)",
            vec!["BEGIN", "ROLLBACK"],
        ),
        (
            "BEGIN;\n\\if :client_id\n\\else\nEND;\n\\endif",
            "the script ends inside a transaction",
            "x.sql",
            vec!["BEGIN", "ROLLBACK"],
        ),
        (
            "\\if not :client_id = 5\nBEGIN;\n\\endif\nEND;",
            "a transaction ends that never began",
            "x.sql",
            vec![],
        ),
        (
            "\\if :client_id\nBEGIN;\n\\endif\nBEGIN;\nEND;",
            "a transaction begins inside another",
            "x.sql",
            vec!["BEGIN", "ROLLBACK"],
        ),
    ] {
        let mut story = Story::of(text);
        let error = story.attempt(false).unwrap_err();
        assert_eq!(error.outcome, Outcome::Fail(FailClass::Other));
        assert_eq!(
            (&*error.message, error.statement.as_deref()),
            (message, Some(statement))
        );
        assert_eq!(story.asked(), asked);
    }
}

#[test]
fn a_sleep_takes_its_time() {
    let mut story = Story::of("\\set n 2\n\\sleep :n ms");
    let before_ns = bakeoff_model::time::now_ns();
    story.runs();
    assert!(bakeoff_model::time::now_ns() - before_ns >= 2_000_000);
}

#[test]
fn a_sleep_is_as_long_as_any_run_at_most_and_never_negative() {
    for (amount, seconds) in [
        ("99999999999", 86_400),
        ("9223372036854775807", 86_400),
        ("-5", 0),
        ("3", 3),
    ] {
        let mut story = Story::of(&format!("\\set n {amount}\n\\sleep :n s"));
        match advance(&story.scripts.all[0], &mut story.user) {
            Ok(Next::Sleep(duration)) => assert_eq!(duration.as_secs(), seconds, "{amount}"),
            other => panic!("{amount}: {other:?}"),
        }
    }
}

#[test]
fn a_latency_probe_asks_what_only_reads() {
    let file = |name: &str, text: &str| json!({"file": {"name": name, "text": text}});
    let spec =
        json!({"tables": ["t"], "scripts": [file("a.sql", "DELETE FROM t;"), file("b.sql", "SELECT 1;")]});
    let spec = serde_json::from_value(spec).unwrap();
    let sql = Sql::new(&spec, 1, ClientSpec::default(), "fake", false).unwrap();
    let drawn = |latency_probe| {
        let id = ThreadId {
            latency_probe,
            ..ThreadId::FIRST
        };
        let mut thread = Workload::thread(&sql, &(), id);
        let mut found: Vec<usize> = (0..100).map(|_| Workload::next(&sql, &(), &mut thread)).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    assert_eq!(Workload::latency_probe_operation(&sql), Some(1));
    assert_eq!((drawn(true), drawn(false)), (vec![1], vec![0, 1]));
}
