//! Which of a system's nodes users go to, and what is reported of each.
use crate::bench::{self, Nodes, Operations, Ran, Reply, TestWorkload, spec, try_run_of};
use bakeoff_model::event::{Event, Interval};
use bakeoff_model::needs::Needs;
use bakeoff_model::outcome::{FailClass, Outcome, Trouble, TroubleKind};
use bakeoff_model::workload::Operation;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

const ONE_AND_TWO: [(&str, &str); 3] = [("a", "primary"), ("b", "replica"), ("c", "replica")];

/// 40 operations of four users.
fn run(
    nodes: &[(&'static str, &'static str)],
    extra: &str,
    script: impl Fn(u64) -> Reply + Send + Sync + 'static,
) -> Result<Ran, Trouble> {
    let workload = TestWorkload {
        nodes: nodes.to_vec(),
        ..TestWorkload::default()
    };
    let spec = spec(&format!(r#","threads":4{}{extra}"#, bench::operations(40)));
    try_run_of(&spec, Arc::default(), workload, script)
}

/// By node: operations, and those of them that ended ok.
fn operations(ran: &Ran) -> Vec<(u64, u64)> {
    let nodes = ran.result.nodes.iter();
    nodes.map(|node| (node.operations, node.response.count)).collect()
}

#[test]
fn sessions_are_dealt_over_the_nodes_of_a_route() {
    for (routing, expected) in [
        (r#""any""#, [20, 10, 10]),
        (r#"{"role":"replica"}"#, [0, 20, 20]),
        (r#"{"role":"primary"}"#, [40, 0, 0]),
        (r#"{"name":"c"}"#, [0, 0, 40]),
    ] {
        let ran = run(&ONE_AND_TWO, &format!(r#","routing":{routing}"#), |_| {
            Reply::Right
        })
        .unwrap();
        assert_eq!(operations(&ran), expected.map(|n| (n, n)), "{routing}");
        let named: Vec<_> = ran.result.nodes.iter().map(|n| (&*n.name, &*n.role)).collect();
        assert_eq!(named, ONE_AND_TWO);
    }
}

#[test]
fn response_times_of_a_node_are_of_what_it_answered_right() {
    for nodes in [&ONE_AND_TWO[..], &ONE_AND_TWO[..1]] {
        let script = |n| {
            if n % 2 == 0 {
                Reply::Fail(FailClass::Other)
            } else {
                Reply::Right
            }
        };
        let ran = run(nodes, "", script).unwrap();
        let (all, ok): (Vec<u64>, Vec<u64>) = operations(&ran).into_iter().unzip();
        assert_eq!((all.iter().sum::<u64>(), ok.iter().sum::<u64>()), (40, 20));
        assert_eq!(ran.count(Outcome::Ok), 20);
    }
}

#[test]
fn a_node_tells_how_its_operations_ended_and_so_does_each_of_its_seconds() {
    let outcomes = |n| if n % 4 == 1 { Reply::Lost } else { Reply::Right };
    for nodes in [&ONE_AND_TWO[..], &ONE_AND_TWO[..1]] {
        let ran = run(nodes, r#","error_budget_ratio":1"#, outcomes).unwrap();
        for (place, node) in ran.result.nodes.iter().enumerate() {
            assert_eq!(node.outcomes.values().sum::<u64>(), node.operations);
            assert_eq!(node.outcomes.get(&Outcome::Ok), Some(&node.response.count));
            let seconds = ran.intervals().into_iter();
            let of_node = seconds
                .flat_map(|second| second.nodes.get(place))
                .collect::<Vec<_>>();
            assert_eq!(of_node.is_empty(), nodes.len() == 1, "all is of the only one");
            for (told, sum) in [
                (
                    of_node
                        .iter()
                        .map(|n| n.outcomes.values().sum::<u64>())
                        .sum::<u64>(),
                    node.operations,
                ),
                (
                    of_node.iter().map(|n| n.response.count).sum(),
                    node.response.count,
                ),
                (of_node.iter().map(|n| n.reconnects).sum(), node.reconnects),
            ] {
                assert!(of_node.is_empty() || told == sum, "{}: {told} {sum}", node.name);
            }
        }
        let of_all = |read: fn(&bakeoff_model::event::NodeResult) -> u64| {
            ran.result.nodes.iter().map(read).sum::<u64>()
        };
        assert_eq!(
            of_all(|n| *n.outcomes.get(&Outcome::Unknown).unwrap_or(&0)),
            ran.count(Outcome::Unknown)
        );
        assert_eq!(of_all(|n| n.reconnects), ran.result.reconnects);
        assert!(ran.result.reconnects > 0);
    }
}

#[test]
fn tenths_of_seconds_are_reported_of_all_that_ended_ok_and_of_what_writes() {
    let workload = TestWorkload {
        operations: Operations(vec![
            Operation::new("set"),
            Operation::new("get").reading_only(true),
            Operation::new("list").reading_only(true),
        ]),
        ..TestWorkload::default()
    };
    let spec = spec(&bench::operations(300));
    let fails_at_times = |n| {
        if n % 10 == 0 {
            Reply::Fail(FailClass::Other)
        } else {
            Reply::Right
        }
    };
    let ran = try_run_of(&spec, Arc::default(), workload, fails_at_times).unwrap();
    let sum = |read: fn(&Interval) -> &Vec<u64>| ran.intervals().into_iter().flat_map(read).sum::<u64>();
    assert_eq!((sum(|i| &i.tenths.ok), sum(|i| &i.tenths.writes)), (270, 90));
    assert!(
        ran.intervals()
            .iter()
            .all(|i| i.tenths.ok.len() == 10 && i.tenths.writes.len() == 10)
    );
}

#[test]
fn a_node_that_will_not_serve_is_left_for_another_of_the_same_route() {
    let leaves = |nodes: &[(&'static str, &'static str)], extra: &str| {
        let ran = run(nodes, extra, |n| if n == 0 { Reply::Leave } else { Reply::Right }).unwrap();
        let left = ran.opened > 4;
        (
            operations(&ran).into_iter().map(|(all, _)| all).collect(),
            left,
            ran.result.connections_lost,
        )
    };
    // One of two users of the first replica goes over to the second after its first operation.
    let replicas = r#","routing":{"role":"replica"}"#;
    assert_eq!(leaves(&ONE_AND_TWO, replicas), (vec![0, 11, 29], true, 0));
    let named = r#","routing":{"name":"b"}"#;
    assert_eq!(
        leaves(&ONE_AND_TWO, named),
        (vec![0, 40, 0], false, 0),
        "there is no other"
    );
}

const THREE: [(&str, &str); 3] = [("n1", "writer"), ("n2", "reader"), ("n3", "reader")];

/// Users of three nodes that pause a while before each operation; `fate` receives the number of each.
fn of_three(extra: &str, fate: &Arc<Nodes>, tell: impl Fn(&Nodes, u64) + Send + Sync + 'static) -> Ran {
    let workload = TestWorkload {
        nodes: THREE.to_vec(),
        fate: fate.clone(),
        pause_ns: 10_000_000,
        ..TestWorkload::default()
    };
    let told = fate.clone();
    let script = move |n| {
        tell(&told, n);
        Reply::Right
    };
    try_run_of(&spec(extra), Arc::default(), workload, script).unwrap()
}

#[test]
fn sessions_of_a_node_that_dies_go_to_all_others_and_come_back_when_it_does() {
    let fate = Arc::default();
    // A thousand operations of six users with pauses of 10 ms last longer than a session stays away.
    let extra = format!(
        r#","threads":6,"error_budget_ratio":1{}"#,
        bench::operations(1500)
    );
    let ran = of_three(&extra, &fate, |nodes, n| match n {
        120 => nodes.down.store(0b100, SeqCst),
        600 => nodes.down.store(0, SeqCst),
        _ => {}
    });
    // Two users were in or came to an operation on it, and each lost that one only.
    let lost = ran.count(Outcome::Unknown);
    assert!((1..=2).contains(&lost), "{lost} lost");
    let answered = fate.answered.lock().unwrap();
    let at = |from: usize, to: usize| {
        [0, 1, 2].map(|node| answered[from..to].iter().filter(|(at, _)| *at == node).count())
    };
    assert_eq!(at(150, 590)[2], 0, "it is down");
    assert!(
        at(150, 590)[..2].iter().all(|n| *n > 150),
        "its users are dealt over both others: {:?}",
        at(150, 590)
    );
    assert!(
        at(1200, 1480).iter().all(|n| *n > 60),
        "each has its users again: {:?}",
        at(1200, 1480)
    );
    let node = &ran.result.nodes[2];
    assert_eq!(
        (node.outcomes.get(&Outcome::Unknown), node.reconnects),
        (Some(&lost), lost)
    );
}

#[test]
fn a_node_that_is_down_is_not_hammered_however_many_sessions_it_had() {
    let fate = Arc::default();
    let extra = format!(
        r#","threads":90,"error_budget_ratio":1{}"#,
        bench::operations(9000)
    );
    let ran = of_three(&extra, &fate, |nodes, n| {
        if n == 90 {
            nodes.down.store(0b100, SeqCst);
        }
    });
    assert!(
        ran.result.connections_lost >= 25,
        "{}",
        ran.result.connections_lost
    );
    // One at a time, after 5, 10, 20, 40, 80 ms and then every 100 ms; in flight when it went down: one at once.
    let (refused, most) = (
        fate.refused.load(SeqCst),
        8 + (ran.result.elapsed_s * 10.0) as u64,
    );
    assert!((1..=most).contains(&refused), "{refused} tries, {most} at most");
}

#[test]
fn a_read_that_loses_its_connection_has_failed_and_a_write_is_unknown() {
    let workload = TestWorkload {
        operations: Operations(vec![
            Operation::new("set"),
            Operation::new("get").reading_only(true),
        ]),
        ..TestWorkload::default()
    };
    let lost = |n| if n < 2 { Reply::Lost } else { Reply::Right };
    let spec = spec(&format!(r#","error_budget_ratio":1{}"#, bench::operations(20)));
    let ran = try_run_of(&spec, Arc::default(), workload, lost).unwrap();
    let ended = |outcome| ran.series(outcome).map(|s| (&*s.operation, s.count));
    assert_eq!(ended(Outcome::Unknown), Some(("set", 1)));
    assert_eq!(ended(Outcome::Fail(FailClass::Lost)), Some(("get", 1)));
    assert_eq!((ran.result.connections_lost, ran.result.reconnects), (2, 2));
    let told = Outcome::Fail(FailClass::Lost);
    assert_eq!(ran.settled, [(Outcome::Unknown, true), (told, true)]);
}

#[test]
fn why_a_session_could_not_be_opened_again_is_reported_once_with_how_often() {
    let fate = Arc::default();
    let extra = r#","threads":1,"error_budget_ratio":1,"limit":{"kind":"time","window_s":0.4}"#;
    let ran = of_three(extra, &fate, |nodes, n| {
        if n == 3 {
            nodes.down.store(0b111, SeqCst);
        }
    });
    let refused = fate.refused.load(SeqCst);
    assert!(refused > 1, "{refused}");
    let sentences = ran.events.iter().filter_map(|event| match event {
        Event::Warning(warning) if warning.what.contains("no new session") => Some(&*warning.what),
        _ => None,
    });
    let sentences: Vec<&str> = sentences.collect();
    assert_eq!(sentences.len(), 3, "one for each node: {sentences:?}");
    let attempts = |sentence: &str| -> u64 {
        let count = sentence
            .split_once(" in ")
            .unwrap()
            .1
            .split_once(" attempt")
            .unwrap()
            .0;
        count.parse().unwrap()
    };
    assert_eq!(
        sentences.iter().map(|sentence| attempts(sentence)).sum::<u64>(),
        refused
    );
    assert!(
        sentences
            .iter()
            .all(|sentence| sentence.ends_with("the node is down (D)"))
    );
    let sample = ran
        .result
        .errors
        .iter()
        .find(|sample| sample.operation == "open a session");
    assert_eq!(sample.map(|sample| &*sample.message), Some("the node is down"));
}

#[test]
fn what_reads_is_split_from_what_writes_and_a_lost_session_is_replaced_alone() {
    let operations = || {
        Operations(vec![
            Operation::new("set"),
            Operation::new("get").reading_only(true),
            Operation::new("list").reading_only(true),
        ])
    };
    let fate: Arc<Nodes> = Arc::default();
    let split = |extra: &str, sessions: u64| {
        fate.answered.lock().unwrap().clear();
        let workload = TestWorkload {
            operations: operations(),
            nodes: THREE.to_vec(),
            fate: fate.clone(),
            ..TestWorkload::default()
        };
        let spec = spec(&format!(r#","routing":"split","error_budget_ratio":1{extra}"#));
        // The first user's second operation is a read, and loses its session.
        let ran = try_run_of(&spec, Arc::default(), workload, |n| {
            if n == 1 { Reply::Lost } else { Reply::Right }
        });
        let ran = ran.unwrap();
        assert_eq!(ran.opened, 2 * sessions + 1, "{extra}");
        assert!(
            fate.answered
                .lock()
                .unwrap()
                .iter()
                .all(|(node, operation)| (*node == 0) == (*operation == 0))
        );
        let of_nodes: Vec<u64> = ran.result.nodes.iter().map(|node| node.operations).collect();
        assert_eq!(
            of_nodes[0],
            ran.result
                .series
                .iter()
                .find(|s| s.operation == "set")
                .unwrap()
                .count
        );
        assert!(of_nodes.iter().all(|n| *n > 0) || sessions == 1, "{of_nodes:?}");
        let reconnects: Vec<u64> = ran.result.nodes.iter().map(|node| node.reconnects).collect();
        assert_eq!((reconnects[0], reconnects[1] + reconnects[2]), (0, 1), "{extra}");
    };
    split(&bench::operations(300), 1);
    split(&format!(r#","threads":4{}"#, bench::operations(300)), 4);
    split(
        &format!(r#","threads":4,"sessions":2{}"#, bench::operations(300)),
        2,
    );
}

#[test]
fn nothing_is_split_where_all_nodes_are_alike_or_transactions_span_operations() {
    let refused = |nodes: &[(&'static str, &'static str)], own_session| {
        let workload = TestWorkload {
            nodes: nodes.to_vec(),
            needs: Needs {
                own_session,
                ..Needs::default()
            },
            ..TestWorkload::default()
        };
        let spec = spec(r#","routing":"split""#);
        let trouble = try_run_of(&spec, Arc::default(), workload, |_| Reply::Right)
            .err()
            .unwrap();
        assert_eq!(
            (trouble.kind, &*trouble.place),
            (TroubleKind::Usage, "run.json: routing")
        );
        trouble.what
    };
    assert!(refused(&THREE[1..], false).contains("the same role"));
    assert!(refused(&THREE, true).contains("transactions open over several operations"));
}

#[test]
fn a_route_that_no_node_is_on_is_refused_before_anything_starts() {
    for (nodes, hint) in [
        (&ONE_AND_TWO[..], "did you mean `replica`?"),
        (&[], "leave `routing` out"),
    ] {
        let trouble = run(nodes, r#","routing":{"role":"replicas"}"#, |_| Reply::Right)
            .err()
            .unwrap();
        assert_eq!(
            (trouble.kind, &*trouble.place),
            (TroubleKind::Usage, "run.json: routing")
        );
        assert!(trouble.hint.starts_with(hint), "{trouble}");
    }
}
