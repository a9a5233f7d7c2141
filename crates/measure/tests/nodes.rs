//! Which of a system's nodes users go to, and what is told of each.
#![allow(clippy::unwrap_used)] // test code throughout
mod bench;
use bakeoff_model::outcome::{FailClass, Outcome, Trouble, TroubleKind};
use bench::{Ran, Reply, TestWorkload, spec, try_run_of};
use std::sync::Arc;

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
