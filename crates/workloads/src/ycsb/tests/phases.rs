//! Before and after a run: create, load, warm, check.
use super::super::insert_sequence::acknowledged;
use super::*;

#[test]
fn the_same_data_is_loaded_whatever_the_batches_and_clients() {
    let spec = YcsbSpec {
        records: 230,
        insert_start: 10,
        field_length_distribution: FieldLength::Uniform,
        ..only(READ)
    };
    let rows = |spec: &YcsbSpec, clients: u32| {
        let store = FakeStore::default();
        for index in 0..clients {
            load(
                &store,
                spec,
                5,
                ClientSpec {
                    index,
                    count: clients,
                },
            )
            .unwrap();
        }
        store.change(|state| std::mem::take(&mut state.rows))
    };
    let whole = rows(&spec, 1);
    assert_eq!(whole.len(), 220);
    assert_eq!(
        whole,
        rows(
            &YcsbSpec {
                batch_size: 7,
                ..spec.clone()
            },
            1
        )
    );
    assert_eq!(
        whole,
        rows(
            &YcsbSpec {
                batch_size: 0,
                ..spec.clone()
            },
            1
        )
    );
    assert_eq!(whole, rows(&spec, 3));
}

#[test]
fn batches_have_the_size_that_was_asked_for() {
    let store = FakeStore::default();
    load(
        &store,
        &YcsbSpec {
            batch_size: 60,
            ..only(READ)
        },
        1,
        ClientSpec::default(),
    )
    .unwrap();
    assert_eq!(store.change(|state| state.batches.clone()), [60, 60, 60, 20]);
}

#[test]
fn a_failed_insert_of_the_load_is_tried_again_up_to_its_limit() {
    let spec = |limit| YcsbSpec {
        insertion_retry_limit: limit,
        insertion_retry_interval_s: 0.001,
        ..only(READ)
    };
    let loaded = |limit, errors: Vec<OpError>| {
        let store = FakeStore::default();
        store.change(|state| state.write_errors = errors);
        let result = load(&store, &spec(limit), 1, ClientSpec::default());
        (result.is_ok(), store.change(|state| state.rows.len()))
    };
    assert_eq!(loaded(2, vec![conflict(), conflict()]), (true, 200));
    assert_eq!(loaded(1, vec![conflict(), conflict()]), (false, 0));
    assert_eq!(loaded(0, vec![conflict()]), (false, 0));
    // Perhaps stored, so a second copy may be a duplicate.
    assert_eq!(
        loaded(5, vec![OpError::lost("gone", "connection lost")]),
        (false, 0)
    );
}

#[test]
fn every_core_workload_runs_right_and_its_state_adds_up() {
    let proportions = [
        ("a", [0.5, 0.5, 0.0, 0.0, 0.0], RequestDistribution::Zipfian),
        ("b", [0.95, 0.05, 0.0, 0.0, 0.0], RequestDistribution::Zipfian),
        ("c", [1.0, 0.0, 0.0, 0.0, 0.0], RequestDistribution::Zipfian),
        ("d", [0.95, 0.0, 0.05, 0.0, 0.0], RequestDistribution::Latest),
        ("e", [0.0, 0.0, 0.05, 0.95, 0.0], RequestDistribution::Zipfian),
        ("f", [0.5, 0.0, 0.0, 0.0, 0.5], RequestDistribution::Zipfian),
    ];
    for (name, [read, update, insert, scan, rmw], distribution) in proportions {
        for data_integrity in [false, true] {
            let mut bench = Bench::new(YcsbSpec {
                read_proportion: read,
                update_proportion: update,
                insert_proportion: insert,
                scan_proportion: scan,
                read_modify_write_proportion: rmw,
                request_distribution: distribution,
                max_scan_length: 20,
                data_integrity,
                ..only(READ)
            });
            let mut done = [0u64; 5];
            for _ in 0..2000 {
                let (kind, outcome) = bench.step();
                assert_eq!(outcome, Outcome::Ok, "workload {name}, operation {kind}");
                done[kind] += 1;
            }
            let did = bench.evidence();
            assert_eq!(did.inserts_acknowledged, done[INSERT]);
            assert_eq!((did.inserts_unknown, did.inserts_failed), (0, 0));
            assert_eq!(
                did.writes_acknowledged,
                done[UPDATE] + done[INSERT] + done[READ_MODIFY_WRITE]
            );
            assert_eq!(bench.rows(), 200 + done[INSERT]);
            let checks = bench.check(&[Some(did)], true);
            assert!(checks.iter().all(|check| check.ok), "workload {name}: {checks:?}");
        }
    }
}

#[test]
fn checks_after_a_load_notice_lost_changed_and_additional_rows() {
    let mut bench = Bench::new(only(READ));
    assert!(bench.check(&[], false).iter().all(|check| check.ok));
    let inserted = Evidence {
        inserts_acknowledged: 1,
        inserts_unknown: 9,
        ..Evidence::default()
    };
    let short = bench.check(&[Some(inserted)], false);
    assert!(!short[0].ok);
    assert_eq!(short[0].expected, "201 to 210 rows");

    bench
        .store
        .change(|state| state.rows.values_mut().for_each(|row| row[3][0] ^= 1));
    let changed = bench.check(&[], false);
    assert!(changed[0].ok && !changed[1].ok);
    assert_eq!(changed[1].evidence.len(), 10);
    assert!(
        changed[1].evidence[0].ends_with(": field value differs"),
        "{:?}",
        changed[1].evidence
    );
    assert!(bench.check(&[], true)[1].ok, "after a run values may differ");

    bench
        .store
        .change(|state| state.rows.values_mut().for_each(|row| row[3].truncate(19)));
    assert!(!bench.check(&[], true)[1].ok, "but not in their length");

    bench.store.change(|state| state.rows.clear());
    let lost = bench.check(&[], true);
    assert!(!lost[0].ok && !lost[1].ok);
    assert_eq!(lost[1].actual, "0 rows right, 50 wrong");
}

#[test]
fn after_a_run_data_integrity_still_verifies_every_value() {
    let mut bench = Bench::new(YcsbSpec {
        data_integrity: true,
        ..only(UPDATE)
    });
    (0..100).for_each(|_| ignore(bench.step()));
    assert!(bench.check(&[], true)[1].ok);
    bench
        .store
        .change(|state| state.rows.values_mut().for_each(|row| row[3][0] ^= 1));
    assert!(!bench.check(&[], true)[1].ok);
}

#[test]
fn an_existing_table_is_only_dropped_when_that_is_allowed() {
    let bench = Bench::new(only(READ));
    let mut session = bench.store.session();
    now(Workload::create(bench.ycsb, &mut session, false)).unwrap();
    let trouble = now(Workload::create(bench.ycsb, &mut session, false)).unwrap_err();
    assert!(trouble.what.contains("usertable exists already"), "{trouble}");
    assert_eq!(bench.rows(), 200);
    now(Workload::create(bench.ycsb, &mut session, true)).unwrap();
    assert_eq!(bench.rows(), 0);
}

#[test]
fn reading_everything_reads_every_row() {
    let bench = Bench::new(only(READ));
    assert_eq!(now(bench.ycsb.scan_all(&mut bench.store.session())).unwrap(), 200);
}

#[test]
fn a_session_is_ready_once_whatever_its_operations_do_is_prepared() {
    fn one(of: impl Fn(u32) -> Use) -> Vec<Use> {
        (0..10).map(of).collect()
    }
    let both = YcsbSpec {
        update_proportion: 1.0,
        ..only(READ)
    };
    let by_field = YcsbSpec {
        read_all_fields: false,
        ..only(READ_MODIFY_WRITE)
    };
    let of_field = |field| Use::Read(Fields::One(field));
    for (spec, prepared) in [
        (only(READ), vec![Use::Read(Fields::All)]),
        (both, [vec![Use::Read(Fields::All)], one(Use::UpdateOne)].concat()),
        (by_field, [one(of_field), one(Use::UpdateOne)].concat()),
        (only(INSERT), vec![Use::Insert]),
        (only(SCAN), vec![Use::Scan(Fields::All)]),
    ] {
        let spec = YcsbSpec {
            field_count: 10,
            ..spec
        };
        let mut bench = Bench::new(spec);
        now(bench.ycsb.attach(&mut bench.session)).unwrap();
        assert_eq!(bench.store.change(|state| state.prepared.clone()), prepared);
    }
}

#[test]
fn a_lost_row_is_found_by_its_key_although_the_count_may_be_right() {
    let mut bench = Bench::new(only(INSERT));
    for _ in 0..20 {
        assert_eq!(bench.step(), (INSERT, Outcome::Ok));
    }
    let mut did = Workload::evidence(bench.ycsb);
    let whole = bench.check_keys(&[Some(did.clone())], true, 100);
    assert_eq!(
        whole[1].expected,
        "20 of 20 acknowledged rows present, read by key"
    );
    assert!(whole[1].ok && whole[1].actual == "20 present, 0 missing, 0 wrong");
    let some = bench.check_keys(&[Some(did.clone())], true, 7);
    assert_eq!(some[1].expected, "7 of 20 acknowledged rows present, read by key");

    let lost = did
        .ledger
        .as_ref()
        .map(|ledger| acknowledged(&[ledger], 100)[4])
        .unwrap();
    let key = bench.ycsb.key_text.text(lost);
    bench
        .store
        .change(|state| state.rows.retain(|row, _| row != key.as_bytes()));
    did.counts.inserts_unknown = 1;
    did.counts.inserts_acknowledged -= 1;
    let found = bench.check_keys(&[Some(did)], true, 100);
    assert!(found[0].ok, "the count hides it: {:?}", found[0]);
    assert!(!found[1].ok);
    assert_eq!(found[1].evidence, [format!("{key}: row missing")]);
    assert_eq!(
        found[1].actual,
        "19 present, 1 missing, 0 wrong; of 1 without an answer 0 present"
    );
}
