use super::*;
use bakeoff_model::needs::{Offer, Offers};
use serde_json::{Value, json};

fn request(kind: &str, options: Value) -> DriverRequest {
    DriverRequest {
        kind: kind.into(),
        system: None,
        options: options.as_object().unwrap().clone(),
        runner: None,
        isolation: None,
    }
}

fn decided(kind: &str, options: Value) -> ResolvedDriver {
    resolve(&request(kind, options)).unwrap().resolved
}

#[track_caller]
fn refused(request: &DriverRequest, what: &str, place: &str, hint: &str) {
    let trouble = resolve(request).err().unwrap();
    assert_eq!(
        (&*trouble.what, &*trouble.place, &*trouble.hint),
        (what, place, hint)
    );
}

#[test]
fn every_option_of_a_plan_is_decided_and_nothing_that_the_system_knows() {
    assert_eq!(
        Value::Object(
            decided(
                "null",
                json!({"latency_ns": 5, "stalls": [{"at_s": 1, "for_s": 2}]})
            )
            .options
        ),
        json!({
            "latency_ns": 5, "latency": "constant", "error_ratio": 0.0, "wrong_ratio": 0.0,
            "stalls": [{"at_s": 1.0, "for_s": 2.0}], "store": false, "lost_write_ratio": 0.0
        })
    );
    for kind in crate::DRIVERS {
        let names: Vec<String> = (kind.options.describe)()
            .into_iter()
            .map(|option| option.name)
            .collect();
        for of_the_system in ["endpoints", "user", "password", "path", "store_path"] {
            assert!(!names.iter().any(|name| name == of_the_system), "{of_the_system}");
        }
    }
}

#[test]
fn out_of_bounds_and_unknown_options_are_refused_in_words() {
    refused(
        &request("null", json!({"wrong_ratio": 2})),
        "`wrong_ratio` cannot be 2",
        "driver.wrong_ratio",
        "it must be a number from 0 to 1",
    );
    refused(
        &request("null", json!({"latency_n": 2})),
        "unknown option `latency_n`",
        "driver.latency_n",
        "did you mean `latency_ns`?",
    );
    refused(
        &request("null", json!({"user": "me", "latency_ns": 1})),
        "unknown option `user`",
        "driver.user",
        "it is one of: latency_ns, latency, error_ratio, wrong_ratio, stalls, store, lost_write_ratio",
    );
    refused(
        &request("mysql", json!({"client": "odbc"})),
        "`client` cannot be \"odbc\"",
        "driver.client",
        "it is one of: wire",
    );
}

#[test]
fn what_makes_the_load_is_the_kinds_own_with_tls_and_without() {
    for (kind, options, runner, client) in [
        ("mysql", json!({}), None, "wire"),
        ("mysql", json!({"tls": true, "client": "wire"}), None, "wire"),
        (
            "postgresql",
            json!({"tls": {"verify": false}}),
            Some(RunnerKind::Reactor),
            "wire",
        ),
        ("sqlite", json!({}), Some(RunnerKind::Thread), "sqlite"),
    ] {
        let request = DriverRequest {
            runner,
            ..request(kind, options.clone())
        };
        let decided = resolve(&request).unwrap().resolved;
        assert_eq!(decided.client, client, "{kind} {options}");
        assert_eq!(
            decided.offers.offers.has(Offer::Tls),
            client == "wire",
            "{client}"
        );
    }
    assert_eq!(decided("mysql", json!({})).runners, [RunnerKind::Reactor]);
}

#[test]
fn a_client_library_of_before_is_refused_with_what_to_do() {
    for (kind, client) in [("mysql", "mysql_async"), ("postgresql", "tokio_postgres")] {
        refused(
            &request(kind, json!({"client": client, "tls": true})),
            &format!("the client {client} is no longer part of bakeoff"),
            "driver.client",
            "leave `client` out: bakeoff's own client makes the load, with `tls`, too",
        );
    }
}

#[test]
fn what_a_driver_cannot_be_asked_is_refused() {
    refused(
        &DriverRequest {
            runner: Some(RunnerKind::Tokio),
            ..request("postgresql", json!({"tls": true}))
        },
        "the driver postgresql does not run on the runner tokio",
        "driver.runner",
        "leave `runner` out: it runs on reactor",
    );
    refused(
        &DriverRequest {
            isolation: Some(Isolation::Snapshot),
            ..request("sqlite", json!({}))
        },
        "sqlite has no isolation level snapshot",
        "driver.isolation",
        "it has serializable",
    );
}

#[test]
fn a_need_that_a_driver_lacks_is_refused() {
    let needs = Needs {
        offers: Offers::of(&[Offer::Pipeline]),
        ..Needs::default()
    };
    let meet = |kind, options| resolve(&request(kind, options)).unwrap().meet(&needs, "sysbench");
    assert_eq!(meet("postgresql", json!({"tls": true})), Ok(()));
    assert_eq!(meet("mysql", json!({})), Ok(()));
    let refused = meet("sqlite", json!({})).unwrap_err();
    assert_eq!(
        refused.what,
        "sysbench needs statements sent together (a pipeline), which sqlite does not offer"
    );
    assert_eq!(
        (&*refused.place, &*refused.hint),
        (
            "driver",
            "choose another system, or options of the workload that do without"
        )
    );
}

#[test]
fn an_option_may_offer_more() {
    let needs = Needs {
        offers: Offers::of(&[Offer::Scan]),
        ..Needs::default()
    };
    let meet = |options| {
        resolve(&request("cassandra", options))
            .unwrap()
            .meet(&needs, "ycsb")
    };
    assert!(meet(json!({})).is_err() && meet(json!({"layout": "hashed"})).is_err());
    assert_eq!(meet(json!({"layout": "clustered"})), Ok(()));
}

#[test]
fn what_a_plan_leaves_out_is_as_described_and_within_its_bounds() {
    for driver in crate::DRIVERS {
        let left_out = (driver.options.decide)(&Said::new()).unwrap();
        for option in (driver.options.describe)() {
            assert_eq!(
                left_out[&option.name], option.default,
                "{}.{}",
                driver.kind, option.name
            );
        }
        let said = (driver.options.decide)(&left_out).map_err(|trouble| (driver.kind, trouble.what));
        assert_eq!(said, Ok(left_out));
    }
}
