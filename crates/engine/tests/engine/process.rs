//! The engine as its controller sees it: a process with stdin, stdout, signals and an exit code.
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const RUN: &str = r#"{"format":1,"phase":"run","driver":{"kind":"null","latency_ns":1000000},"threads":2,"workers":1,
    "workload":{"kind":"ycsb","read_proportion":1,"update_proportion":0}"#;

/// Every run of this length is ended before; one that is not has its test fail after [`PATIENCE`].
const WINDOW: &str = r#","limit":{"kind":"time","window_s":1200}"#;
const PATIENCE: Duration = Duration::from_secs(600);

fn engine() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bakeoff-engine"))
}

/// One line, as control lines must be.
fn document(extra: &str) -> String {
    format!("{RUN}{extra}}}").replace('\n', " ")
}

struct Engine {
    child: Child,
    events: BufReader<ChildStdout>,
    warnings: Vec<String>,
}

impl Engine {
    /// Given its document on stdin.
    fn start(document: &str) -> Self {
        let mut child = engine()
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        let mut engine = Self {
            child,
            events,
            warnings: vec![],
        };
        engine.say(document);
        engine
    }
    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
    fn start_now(&mut self) {
        self.say(r#"{"control":"start_at","unix_ns":1}"#);
    }
    /// The next event of this kind; others are passed over.
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.events.read_line(&mut line).unwrap() > 0, "no {kind} event");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == kind {
                return event;
            }
            self.warnings.extend(event["what"].as_str().map(str::to_owned));
        }
    }
    /// Exit code, and how long it took.
    fn ended(mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        let _ = self.events.read_to_end(&mut vec![]);
        (self.child.wait().unwrap().code(), begun.elapsed())
    }
    fn signal(&self, signal: i32) {
        // SAFETY: a process this test started and has not waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }
}

fn run_file(name: &str, content: &str, arguments: &[&str]) -> Output {
    let path = std::env::temp_dir().join(format!("bakeoff-engine-{}-{name}.json", std::process::id()));
    std::fs::write(&path, content).unwrap();
    let output = engine().args(arguments).arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    output
}

fn last_event(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

#[test]
fn by_hand_a_run_needs_neither_controller_nor_stdin() {
    let output = run_file(
        "hand",
        &document(r#","limit":{"kind":"operations","operations":200,"max_s":null}"#),
        &["--now"],
    );
    let result = last_event(&output);
    assert_eq!(
        (output.status.code(), &result["event"]),
        (Some(0), &"result".into())
    );
    assert_eq!(
        (&result["series"][0]["count"], &result["interrupted"]),
        (&200.into(), &false.into())
    );
}

#[test]
fn a_controlled_run_waits_for_its_start_and_writes_marks_back() {
    let mut engine = Engine::start(&document(WINDOW));
    engine.until("ready");
    let start_ns = 300_000_000 + unix_ns();
    engine.say(&format!(r#"{{"control":"start_at","unix_ns":{start_ns}}}"#));
    let begun = engine.until("interval");
    // If the machine holds the engine up for longer than that, it warns and begins at once.
    let late = engine.warnings.iter().any(|what| what.contains("began late"));
    let asked_ns = unix_ns();
    engine.say(r#"{"control":"mark","id":7}"#);
    let mark = engine.until("mark");
    let marked_by_ns = unix_ns();
    assert_eq!(mark["id"], 7);
    engine.say(r#"{"control":"stop"}"#);
    let result = engine.until("result");
    let epoch_ns = result["epoch_unix_ns"].as_u64().unwrap();
    assert!(epoch_ns == start_ns || (late && epoch_ns > start_ns), "{result}");
    assert!(asked_ns > epoch_ns + 1_000_000_000, "{begun}");
    let at_ns = epoch_ns + (mark["at_s"].as_f64().unwrap() * 1e9) as u64;
    // The two clocks may drift apart by some parts in 10,000.
    let drift_ns = 1_000_000 + (marked_by_ns - epoch_ns) / 1_000;
    assert!(
        (asked_ns - drift_ns..marked_by_ns + drift_ns).contains(&at_ns),
        "{mark}: not between {asked_ns} and {marked_by_ns}"
    );
    assert_eq!(engine.ended().0, Some(0));
}

fn unix_ns() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64
}

/// Operations in the series of an event.
fn operations(event: &Value, count: &str) -> u64 {
    let series = event["series"].as_array().unwrap();
    series.iter().filter_map(|s| s.pointer(count)?.as_u64()).sum()
}

#[test]
fn stop_ends_it_with_a_result() {
    let mut engine = Engine::start(&document(WINDOW));
    engine.until("ready");
    engine.start_now();
    let first = engine.until("interval");
    engine.say(r#"{"control":"stop"}"#);
    let result = engine.until("result");
    assert_eq!(result["interrupted"], true);
    assert!(result["window_end_s"].as_f64().unwrap() >= 1.0, "{result}");
    let (seen, counted) = (
        operations(&first, "/response/count"),
        operations(&result, "/count"),
    );
    assert!(counted >= seen, "{seen} in the first second, {counted} in all");
    assert_eq!(engine.ended().0, Some(0));
}

#[test]
fn end_of_input_ends_it_in_every_state() {
    for started in [false, true] {
        let mut engine = Engine::start(&document(WINDOW));
        engine.until("ready");
        if started {
            engine.start_now();
            engine.until("interval");
        }
        drop(engine.child.stdin.take());
        let (_, took) = engine.ended();
        assert!(took < PATIENCE, "{took:?}");
    }
}

#[test]
fn a_reader_that_has_gone_away_ends_it() {
    let mut engine = Engine::start(&document(WINDOW));
    engine.until("ready");
    engine.start_now();
    let Engine {
        mut child, events, ..
    } = engine;
    drop(events);
    let begun = Instant::now();
    assert!(!child.wait().unwrap().success());
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn a_blocked_call_cannot_keep_it_alive() {
    // The system answers nothing for an hour, on a runner that cannot cancel.
    let blocked = document(&format!(r#","runner":"thread","timeout_s":2{WINDOW}"#))
        .replace(r#""latency_ns":1000000"#, r#""latency_ns":3600000000000"#);
    let mut engine = Engine::start(&blocked);
    engine.until("ready");
    engine.start_now();
    engine.until("interval"); // both have begun
    engine.say(r#"{"control":"stop"}"#);
    let result = engine.until("result");
    assert_eq!(result["unfinished"]["count"], 2, "{result}");
    let (_, took) = engine.ended();
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn a_signal_reports_what_was_measured_and_exits_with_130() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut engine = Engine::start(&document(WINDOW));
        engine.until("ready");
        engine.start_now();
        engine.until("interval");
        engine.signal(signal);
        assert_eq!(engine.until("result")["interrupted"], true);
        assert_eq!(engine.ended().0, Some(130));
    }
}

#[test]
fn wrong_documents_are_an_error_event_and_exit_code_2() {
    for (content, word) in [
        (document(r#","treads":2"#), "treads"),
        (document(r#","retry":{"retires":2}"#), "retires"),
        ("{".into(), "EOF"),
        (r#"{"format":99}"#.into(), "format 99"),
        (document(r#","io":"epoll""#), "reactor"),
        (
            document(r#","runner":"reactor""#).replace(
                r#""kind":"null","latency_ns":1000000"#,
                r#""kind":"sqlite","path":"x.db""#,
            ),
            "reactor",
        ),
        (document(r#","isolation":"serializable""#), "isolation"),
    ] {
        let output = run_file("wrong", &content, &["--now"]);
        let error = last_event(&output);
        assert_eq!(
            (output.status.code(), &error["event"]),
            (Some(2), &"error".into()),
            "{error}"
        );
        assert!(error["what"].as_str().unwrap().contains(word), "{word}: {error}");
        assert!(!error["hint"].as_str().unwrap().is_empty());
    }
    let missing = engine().args(["--now", "no-such-file.json"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        last_event(&missing)["what"]
            .as_str()
            .unwrap()
            .contains("no-such-file.json")
    );
}

#[test]
fn an_unreachable_server_is_an_error_event_and_exit_code_3() {
    let dead = document(r#","limit":{"kind":"time","window_s":1}"#).replace(
        r#"{"kind":"null","latency_ns":1000000}"#,
        r#"{"kind":"mysql","user":"u","schema":"s","endpoints":[{"name":"a","role":"primary","address":"127.0.0.1:1"}]}"#,
    );
    let output = run_file("dead", &dead, &["--now"]);
    let error = last_event(&output);
    assert_eq!(
        (output.status.code(), &error["event"]),
        (Some(3), &"error".into()),
        "{error}"
    );
}

#[test]
fn every_request_gets_an_answer_in_its_order() {
    let mut resolving = engine()
        .arg("resolve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let requests = [
        r#"{"ask": "workload", "kind": "ycsb", "options": {"preset": "a"}, "driver": {"kind": "null"}}"#,
        r#"{"ask": "workload", "kind": "ycsb", "options": {"recods": 1}}"#,
        "no JSON",
        r#"{"ask": "workload", "kind": "sysbench", "driver": {"kind": "null"}}"#,
        r#"{"ask": "workload", "kind": "sysbench", "driver": {"kind": "oracle"}}"#,
        r#"{"ask": "workload", "kind": "tpc"}"#,
        r#"{"ask": "workload", "kind": "sysbench", "options": {"secondary": true}, "driver": {"kind": "sqlite"}}"#,
    ];
    let mut stdin = resolving.stdin.take().unwrap();
    stdin.write_all(requests.join("\n").as_bytes()).unwrap();
    drop(stdin);
    let output = resolving.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let told = answers
        .iter()
        .map(|answer| answer["label"].as_str().or(answer["where"].as_str()).unwrap());
    let expected = [
        "YCSB A (records 1000)",
        "workload.recods",
        "request",
        "driver",
        "driver",
        "workload.kind",
        "driver",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let hint = answers[3]["hint"].as_str().unwrap();
    assert!(hint.contains("sqlite"), "{hint}");
}

#[test]
fn what_it_can_do_is_listed_and_a_wrong_request_is_refused() {
    let list = engine().arg("list").output().unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["drivers"][0]["kind"], "null");
    assert!(
        list["drivers"][0]["runners"]
            .as_array()
            .unwrap()
            .contains(&"thread".into())
    );
    assert_eq!(list["workloads"][0]["kind"], "ycsb");
    assert_eq!(list["workloads"][1]["options"][0]["name"], "compat");
    let refusal = &list["io_uring_refusal"];
    assert!(refusal.is_null() || refusal.is_string(), "{list}");
    for word in ["--help", "--version", "schema"] {
        assert!(engine().arg(word).output().unwrap().status.success());
    }
    assert_eq!(
        engine().arg("--nonsense").output().unwrap().status.code(),
        Some(2)
    );
    assert_eq!(engine().output().unwrap().status.code(), Some(2));
}
