//! Which writes count, and when: bookings, groups, commits, lost sessions.
use super::*;
use crate::ycsb::fake::State;

#[test]
fn a_record_that_a_retried_attempt_may_have_stored_is_unknown() {
    for (ops_per_transaction, last) in [(1, None), (1, Some(Outcome::Ok)), (2, None)] {
        let mut bench = Bench::new(YcsbSpec {
            ops_per_transaction,
            ..only(INSERT)
        });
        let loaded = bench.store.change(|state| state.rows.len());
        bench.next();
        bench.execute().unwrap(); // stored, and its answer is lost with the connection
        bench.store.change(|state| {
            state.in_transaction = false;
        });
        bench.thread.transaction.clear();
        if last == Some(Outcome::Ok) {
            let key = bench.thread.drawn.key().to_vec();
            bench.store.change(|state| state.rows.remove(&key)); // it was not, after all
        }
        let ended = bench
            .execute()
            .map_or_else(|error| error.outcome, |_| Outcome::Ok);
        assert_eq!(ended, last.unwrap_or(Outcome::Fail(FailClass::Constraint)));
        bench.settle_retried(ended);
        let evidence = bench.evidence();
        assert_eq!(evidence.inserts_unknown, 1);
        bench.store.change(|state| state.in_transaction = false);
        let spec = CheckSpec {
            sample: 0,
            ..CheckSpec::default()
        };
        let done = [Some(Did {
            counts: evidence,
            ledger: None,
        })];
        let checks = now(bench.ycsb.check(&mut bench.session, &done, &spec)).unwrap();
        assert!(checks[0].ok, "{loaded} loaded: {checks:?}");
    }
}

#[test]
fn bytes_written_are_keys_and_values_of_acknowledged_writes() {
    let mut bench = Bench::new(only(UPDATE));
    bench.next();
    let key = bench.thread.drawn.key().len() as u64;
    bench.execute().unwrap();
    bench.settle(Outcome::Ok, false);
    assert_eq!(bench.bytes_written(), key + 20);
    bench.store.change(|state| state.write_errors.push(conflict()));
    bench.step();
    assert_eq!(
        (bench.bytes_written(), bench.evidence().writes_acknowledged),
        (key + 20, 1)
    );
}

#[test]
fn an_acknowledged_insert_that_stored_nothing_is_wrong_and_unknown() {
    let mut bench = Bench::new(only(INSERT));
    bench.store.change(|state| state.ignore_inserts = true);
    assert_eq!(bench.answer(), Answer::Wrong("row not stored"));
    assert_eq!(
        bench.evidence(),
        Evidence {
            inserts_unknown: 1,
            ..Default::default()
        }
    );
}

#[test]
fn what_failed_to_be_inserted_is_never_read() {
    let mut bench = Bench::new(YcsbSpec {
        insert_proportion: 1.0,
        request_distribution: RequestDistribution::Latest,
        ..only(READ)
    });
    let mut failed = 0;
    for step in 0..2000 {
        if step % 5 == 0 {
            bench.store.change(|state| state.write_errors = vec![conflict()]);
        }
        match bench.step() {
            (INSERT, outcome) => failed += u64::from(outcome != Outcome::Ok),
            (_, outcome) => assert_eq!(outcome, Outcome::Ok, "a hole was read"),
        }
    }
    let state = bench.evidence();
    assert!(failed > 100);
    assert_eq!(state.inserts_failed, failed);
    assert_eq!(bench.rows(), 200 + state.inserts_acknowledged);
    let inserted = bench.store.change(|state| state.read_keys.clone());
    assert!(
        inserted.iter().collect::<std::collections::HashSet<_>>().len() > 200,
        "new records are read too"
    );
}

#[test]
fn an_insert_nobody_came_back_for_is_unknown() {
    let mut bench = Bench::new(only(INSERT));
    bench.next();
    bench.execute().unwrap();
    assert_eq!(bench.evidence().inserts_unknown, 1);
    bench.settle(Outcome::Unknown, true);
    assert_eq!(bench.evidence().inserts_unknown, 1);
    assert_eq!(bench.evidence().inserts_acknowledged, 0);
}

#[test]
fn a_retried_insert_keeps_its_key_and_is_counted_once() {
    let mut bench = Bench::new(only(INSERT));
    bench.store.change(|state| state.write_errors = vec![conflict()]);
    bench.next();
    let key = bench.thread.drawn.key().to_vec();
    assert!(bench.execute().is_err());
    assert!(bench.execute().is_ok());
    bench.settle(Outcome::Ok, false);
    assert!(bench.store.change(|state| state.rows.contains_key(&key)));
    let state = bench.evidence();
    assert_eq!(
        (
            state.inserts_acknowledged,
            state.inserts_failed,
            state.inserts_unknown
        ),
        (1, 0, 0)
    );
}

#[test]
fn a_group_commits_with_its_last_operation() {
    let mut bench = Bench::new(YcsbSpec {
        ops_per_transaction: 4,
        ..only(UPDATE)
    });
    for step in 1..=10 {
        bench.step();
        assert_eq!(bench.probe.parts.len(), step / 4);
        assert_eq!(bench.evidence().writes_acknowledged, step as u64 / 4 * 4);
    }
    bench.finish().unwrap();
    assert_eq!(bench.probe.parts, [(COMMIT, Outcome::Ok); 3]);
    assert_eq!(bench.evidence().writes_acknowledged, 10);
    assert_eq!(bench.probe.revoked, 0);
}

#[test]
fn one_transaction_per_thread_commits_at_the_end() {
    let mut bench = Bench::new(YcsbSpec {
        ops_per_transaction: 0,
        ..only(INSERT)
    });
    (0..100).for_each(|_| ignore(bench.step()));
    assert_eq!(bench.evidence().inserts_acknowledged, 0);
    assert_eq!(bench.evidence().inserts_unknown, 100);
    bench.finish().unwrap();
    assert_eq!(bench.evidence().inserts_acknowledged, 100);
    assert_eq!(
        bench.store.change(|state| (state.commits, state.in_transaction)),
        (1, false)
    );
}

#[test]
fn a_failure_ends_its_transaction_and_revokes_what_was_counted_in_it() {
    let mut bench = Bench::new(YcsbSpec {
        ops_per_transaction: 10,
        ..only(INSERT)
    });
    (0..3).for_each(|_| assert_eq!(bench.step().1, Outcome::Ok));
    bench.store.change(|state| state.write_errors.push(conflict()));
    assert_eq!(bench.step().1, Outcome::Fail(FailClass::Conflict));
    assert_eq!(bench.probe.revoked, 3);
    assert_eq!(bench.store.change(|state| state.rollbacks), 1);
    assert_eq!(bench.rows(), 200);
    let state = bench.evidence();
    assert_eq!(
        (
            state.inserts_acknowledged,
            state.inserts_failed,
            state.inserts_unknown
        ),
        (0, 4, 0)
    );
    // The next operation begins another one.
    (0..10).for_each(|_| ignore(bench.step()));
    assert_eq!(bench.evidence().inserts_acknowledged, 10);
    assert_eq!(bench.rows(), 210);
}

#[test]
fn a_commit_that_fails_revokes_its_operations() {
    for (error, failed, unknown) in [(conflict(), 4, 0), (OpError::lost("2013", "lost"), 0, 4)] {
        let mut bench = Bench::new(YcsbSpec {
            ops_per_transaction: 4,
            ..only(INSERT)
        });
        bench
            .store
            .change(|state| state.commit_errors.push(error.clone()));
        (0..3).for_each(|_| assert_eq!(bench.step().1, Outcome::Ok));
        assert_eq!(bench.step().1, error.outcome);
        assert_eq!(bench.probe.revoked, 3);
        assert_eq!(bench.probe.parts, [(COMMIT, error.outcome)]);
        let state = bench.evidence();
        assert_eq!(state.inserts_acknowledged, 0);
        assert_eq!((state.inserts_failed, state.inserts_unknown), (failed, unknown));
    }
}

#[test]
fn what_the_end_of_the_run_leaves_open_is_revoked() {
    let mut bench = Bench::new(YcsbSpec {
        ops_per_transaction: 0,
        ..only(INSERT)
    });
    (0..5).for_each(|_| ignore(bench.step()));
    assert!(Workload::owes(bench.ycsb, &bench.thread));
    Workload::abandon(bench.ycsb, &mut bench.thread, &mut bench.probe);
    assert_eq!((bench.probe.revoked, bench.evidence().inserts_failed), (5, 5));
    assert!(!Workload::owes(bench.ycsb, &bench.thread));
}

#[test]
fn a_lost_session_takes_its_transaction_along() {
    let mut bench = Bench::new(YcsbSpec {
        ops_per_transaction: 0,
        ..only(INSERT)
    });
    (0..5).for_each(|_| ignore(bench.step()));
    bench.next();
    bench.settle(Outcome::Unknown, true); // timed out and dropped before it was sent
    assert_eq!(bench.probe.revoked, 5);
    assert_eq!(bench.evidence().inserts_failed, 5);
    assert!(!bench.thread.transaction.open);
}

#[test]
fn operations_are_listed_with_commit_only_where_there_is_one() {
    let operations = |ops_per_transaction| {
        let spec = YcsbSpec {
            ops_per_transaction,
            ..Default::default()
        };
        let ycsb = Ycsb::new(&spec, 1, ClientSpec::default()).unwrap();
        let keeps = Workload::needs(&ycsb).own_session;
        (Workload::operations(&ycsb).to_vec(), keeps)
    };
    let (alone, keeps_none) = operations(1);
    assert_eq!((alone.len(), keeps_none), (COMMIT, false));
    for grouped in [5, 0] {
        let (all, keeps) = operations(grouped);
        assert_eq!((all.len(), keeps), (COMMIT + 1, true));
        assert_eq!(all[COMMIT].name, "COMMIT");
        assert_eq!(all[..COMMIT], alone);
    }
    let whole = &alone[READ_MODIFY_WRITE].name;
    assert_eq!(alone[READ_MODIFY_WRITE_UPDATE].part_of.as_ref(), Some(whole));
}

#[test]
fn a_session_that_cannot_roll_back_is_not_gone_on_with() {
    let mut bench = Bench::new(YcsbSpec {
        ops_per_transaction: 2,
        ..only(UPDATE)
    });
    for errors in [
        |state: &mut State| state.write_errors = vec![conflict()],
        |state: &mut State| state.commit_errors = vec![conflict()],
    ] {
        bench.store.change(errors);
        bench
            .store
            .change(|state| state.rollback_errors = vec![conflict()]);
        let error = loop {
            bench.next();
            match bench.execute() {
                Ok(_) => bench.settle(Outcome::Ok, false),
                Err(error) => break error,
            }
        };
        assert_eq!(
            error.outcome,
            conflict().outcome,
            "the first error is the one to tell"
        );
        assert!(error.connection_lost);
        bench.settle(error.outcome, true);
        bench.store.change(|state| state.in_transaction = false);
    }
}
