//! What a run of the Hat Shop is known to have done.
use bakeoff_model::run::hatshop::HatshopSpec;
use bakeoff_workloads::hatshop::{Hatshop, Store};
use bakeoff_workloads::prelude::*;

use crate::session::hats::Hats;
use crate::session::{NoProbe, now};

/// Orders created and deleted after one event, and how many of either are unknown. Two attempts: nobody answered the first.
fn retried(create: f64, last: Outcome) -> (u64, u64) {
    let spec = HatshopSpec {
        create,
        read: 0.0,
        update: 0.0,
        update_attribute: 0.0,
        delete: 1.0 - create,
        orders: 20,
        ..HatshopSpec::default()
    };
    let hatshop = Hatshop::new(&spec, 1, ClientSpec::default(), Some(1)).unwrap();
    let mut session = Store::Tables(AnySql::new(Hats::new()));
    now(hatshop.attach(&mut session)).unwrap();
    let worker = Workload::worker(&hatshop, 0);
    let mut thread = Workload::thread(&hatshop, &worker, ThreadId::FIRST);
    now(hatshop.load_chunk(&worker, &mut thread, &mut session, 0, spec.orders)).unwrap();
    Workload::next(&hatshop, &worker, &mut thread);
    for _ in 0..2 {
        now(hatshop.execute(&worker, &mut thread, &mut session, &mut NoProbe)).unwrap();
    }
    let ended = Ended {
        perhaps_applied: 1,
        ..Ended::at_once(last, false)
    };
    Workload::settle(&hatshop, &worker, &mut thread, ended, &mut NoProbe);
    let evidence = serde_json::to_value(Workload::evidence(&hatshop)).unwrap();
    let sum = |what: &str| -> u64 {
        let told = ["created", "deleted"].map(|kind| evidence[kind][what].as_u64().unwrap());
        told.iter().sum()
    };
    (sum("rows"), sum("unknown"))
}

#[test]
fn what_a_retried_attempt_may_have_done_is_unknown() {
    // The order that the first attempt has deleted is not there any more for the second.
    for (create, done) in [(1.0, 1), (0.0, 0)] {
        assert_eq!(retried(create, Outcome::Ok), (done, 1), "create {create}");
        let failed = Outcome::Fail(FailClass::Constraint);
        assert_eq!(retried(create, failed), (0, 1), "create {create}");
        assert_eq!(retried(create, Outcome::Unknown), (0, 2), "create {create}");
    }
}

#[test]
fn more_users_than_orders_read_and_where_they_write_are_refused() {
    let spec = |update| HatshopSpec {
        create: 0.0,
        read: 1.0,
        update,
        update_attribute: 0.0,
        delete: 0.0,
        orders: 500,
        ..HatshopSpec::default()
    };
    let refused = Hatshop::new(&spec(1.0), 1, ClientSpec::default(), Some(512)).unwrap_err();
    assert!(refused.what.contains("512 users"), "{refused}");
    let reading = Hatshop::new(&spec(0.0), 1, ClientSpec::default(), Some(512)).unwrap();
    let worker = Workload::worker(&reading, 0);
    let last = ThreadId {
        stream: 511,
        ..ThreadId::FIRST
    };
    let mut thread = Workload::thread(&reading, &worker, last);
    for _ in 0..3 {
        Workload::next(&reading, &worker, &mut thread);
    }
}
