use bakeoff_histories::History;
use bakeoff_histories::question::{Question, judge};
use bakeoff_histories::record::{MicroOp, Record};
use bakeoff_histories::verdict::Verdict;

use crate::builders::{append, list, ok, read, write};

const LINE: &str = r#"{"session":0,"node":1,"index":7,"outcome":"ok","call_ns":1200,"return_ns":2400,"ops":[["append",3,17],["r",4,[1,2]],["r",4,null],["r",4],["w",5,-1],["r",5,6],["add",5,2]]}"#;

#[test]
fn reading_a_line_and_writing_it_changes_nothing() {
    let record: Record = serde_json::from_str(LINE).unwrap();
    assert_eq!(record.ops[..2], [append(3, 17), list(4, &[1, 2])]);
    assert_eq!(
        record.ops[3..],
        [
            MicroOp::Unanswered(4),
            write(5, -1),
            read(5, 6),
            MicroOp::Add(5, 2)
        ]
    );
    let written = serde_json::to_string(&record).unwrap();
    assert_eq!(written.replace(r#""phase":"load","#, ""), LINE);
}

#[test]
fn reading_names_the_line_that_is_malformed() {
    let refused = |line: &str| {
        History::read(format!("{LINE}\n\n{line}\n").as_bytes())
            .unwrap_err()
            .to_string()
    };
    for (line, reason) in [
        ("{", "EOF"),
        (&LINE.replace("append", "prepend"), "prepend"),
        (&LINE.replace("17", "1.5"), "1.5"),
        (&LINE.replace("[1,2]", "[1,\"a\"]"), "string"),
        (&LINE.replace("\"index\":7,", ""), "index"),
        (&LINE.replace("\"index\":7", "\"index\":7,\"more\":1"), "more"),
        (&LINE.replace("2400", "100"), "call_ns <= return_ns"),
        (&LINE.replace("[\"w\",5,-1]", "[\"w\",5]"), "length"),
        (&LINE.replace("[\"w\",5,-1]", "[\"w\",5,-1,2]"), "trailing"),
    ] {
        let message = refused(line);
        assert!(
            message.starts_with("line 3 of the history: ") && message.contains(reason),
            "{message}"
        );
    }
}

#[test]
fn reading_keeps_lists_that_differ_apart() {
    let records = [&[1, 2, 3][..], &[1, 2], &[1, 3], &[]].map(|values| ok(0, (0, 1), vec![list(9, values)]));
    let history = crate::builders::history(&records);
    let kept: Vec<Vec<i64>> = (0..4)
        .map(|id| match history.ops(id)[0] {
            bakeoff_histories::history::Op::ReadList { list, .. } => history.lists.values(list),
            _ => vec![-1],
        })
        .collect();
    assert_eq!(kept, [vec![1, 2, 3], vec![1, 2], vec![1, 3], vec![]]);
    assert_eq!(history.lists.count(), 5); // [], [1], [1 2], [1 2 3], [1 3]
}

#[test]
fn reading_and_judging_is_one_function_from_lines_to_a_document() {
    let judged = |question: &str, records: &[Record]| {
        let lines: Vec<String> = records
            .iter()
            .map(|record| serde_json::to_string(record).unwrap())
            .collect();
        let question: Question = serde_json::from_str(question).unwrap();
        let mut answer = Vec::new();
        let verdict = judge(lines.join("\n").as_bytes(), &question, &mut answer).unwrap();
        (
            verdict,
            serde_json::from_slice::<serde_json::Value>(&answer).unwrap(),
        )
    };
    let records = [ok(0, (0, 1), vec![list(1, &[7])])];
    let question = r#"{"check": "list-append", "claim": "serializable", "order": "real-time"}"#;
    let (verdict, answer) = judged(question, &records);
    assert_eq!(verdict, Verdict::Violated);
    assert_eq!(answer["verdict"], "VIOLATED");
    assert_eq!(answer["violations"][0]["anomaly"], "phantom");
    assert_eq!(
        answer["violations"][0]["proof"]["transactions"][0]["statements"][0],
        "read key 1: [7]"
    );
    assert!(
        answer["violations"][0]["text"]
            .as_str()
            .unwrap()
            .contains("T1 read 7 of key 1")
    );
    let question = r#"{"check": "register", "claims": {"staleness": {"bounded": {"window_ns": 5}}, "linearizable": true}}"#;
    assert_eq!(
        judged(question, &[ok(0, (0, 1), vec![read(1, 0)])]).0,
        Verdict::Inconclusive
    );
    let question = r#"{"check": "bank", "bank": {"accounts": 1, "balance": 3}}"#;
    assert_eq!(
        judged(question, &[ok(0, (0, 1), vec![read(1, 3)])]).0,
        Verdict::Observed
    );
}
