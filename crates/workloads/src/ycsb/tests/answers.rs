//! Which answers are right and which are wrong.
use super::*;

#[test]
fn a_missing_row_is_a_wrong_answer_to_read_update_and_both_halves_of_read_modify_write() {
    for kind in [READ, UPDATE, READ_MODIFY_WRITE] {
        let mut bench = Bench::new(only(kind));
        assert_eq!(bench.answer(), Answer::Right);
        bench.store.change(|state| state.rows.clear());
        bench.probe.parts.clear();
        assert_eq!(bench.answer(), Answer::Wrong("row missing"), "operation {kind}");
        if kind == READ_MODIFY_WRITE {
            let wrong = Outcome::Wrong;
            let parts = [(READ_MODIFY_WRITE_READ, wrong), (READ_MODIFY_WRITE_UPDATE, wrong)];
            assert_eq!(bench.probe.parts, parts);
        }
    }
}

#[test]
fn corrupted_data_is_noticed_with_data_integrity() {
    for kind in [READ, SCAN, READ_MODIFY_WRITE] {
        let mut bench = Bench::new(YcsbSpec {
            data_integrity: true,
            ..only(kind)
        });
        assert_eq!(bench.answer(), Answer::Right);
        bench
            .store
            .change(|state| state.rows.values_mut().for_each(|row| row[9][19] ^= 1));
        assert_eq!(
            bench.answer(),
            Answer::Wrong("field value differs"),
            "operation {kind}"
        );
    }
}

#[test]
fn a_lost_field_is_noticed_without_data_integrity() {
    for by_name in [false, true] {
        let mut bench = Bench::new(YcsbSpec {
            read_all_fields_by_name: by_name,
            ..only(READ)
        });
        assert_eq!(bench.answer(), Answer::Right);
        bench
            .store
            .change(|state| state.rows.values_mut().for_each(|row| drop(row.pop())));
        assert_eq!(bench.answer(), Answer::Wrong("fields missing"));
    }
}

#[test]
fn one_field_or_all_are_written_as_asked() {
    for (write_all_fields, expected) in [(false, 1), (true, 10)] {
        let mut bench = Bench::new(YcsbSpec {
            write_all_fields,
            ..only(UPDATE)
        });
        let before = bench.store.change(|state| state.rows.clone());
        assert_eq!(bench.answer(), Answer::Right);
        let after = bench.store.change(|state| state.rows.clone());
        let changed: usize = before
            .iter()
            .map(|(key, row)| {
                row.iter()
                    .zip(&after[key])
                    .filter(|(old, new)| old != new)
                    .count()
            })
            .sum();
        assert_eq!(changed, expected);
    }
}

#[test]
fn a_scan_is_wrong_when_its_start_row_is_missing_or_more_come_than_asked() {
    let mut bench = Bench::new(YcsbSpec {
        max_scan_length: 5,
        ..only(SCAN)
    });
    (0..200).for_each(|_| assert_eq!(bench.answer(), Answer::Right));

    bench.store.change(|state| state.extra_scan_rows = 200);
    assert_eq!(bench.answer(), Answer::Wrong("more rows than the limit"));

    bench.store.change(|state| state.extra_scan_rows = 0);
    bench.next();
    let start = bench.thread.drawn.key().to_vec();
    bench.store.change(|state| drop(state.rows.remove(&start)));
    assert!(matches!(
        bench.execute(),
        Ok(Answer::Wrong("another row's key" | "rows missing"))
    ));
    bench.store.change(|state| state.rows.clear());
    assert_eq!(bench.answer(), Answer::Wrong("rows missing"));
}

#[test]
fn a_scan_to_the_end_misses_no_row() {
    let mut bench = Bench::new(YcsbSpec {
        scan_last_keys: Some(40),
        ..only(SCAN)
    });
    let mut starts = std::collections::HashSet::new();
    for _ in 0..400 {
        assert_eq!(bench.answer(), Answer::Right);
        starts.insert(bench.thread.drawn.key().to_vec());
    }
    assert_eq!(starts.len(), 40);
    let last = bench
        .store
        .change(|state| state.rows.keys().next_back().cloned())
        .unwrap();
    bench.store.change(|state| drop(state.rows.remove(&last)));
    assert_eq!(bench.answer(), Answer::Wrong("rows missing"));
}
