//! Which answers are wrong, and of which scripts.
use super::*;

fn answer(spec: &SysbenchSpec, change: impl FnOnce(&mut User)) -> Answer<'static> {
    let mut user = User::new(spec);
    change(&mut user);
    user.event().1.unwrap()
}

#[test]
fn full_tables_answer_every_script_right() {
    for script in ALL {
        let mut user = User::new(&spec(script));
        for _ in 0..200 {
            assert_eq!(user.event().1.unwrap(), Answer::Right, "{script:?}");
        }
    }
}

#[test]
fn missing_rows_are_wrong_only_where_nothing_deletes() {
    for (script, expected) in [
        (SysbenchScript::OltpPointSelect, Answer::Wrong("row missing")),
        (SysbenchScript::OltpReadOnly, Answer::Wrong("row missing")),
        (SysbenchScript::OltpUpdateIndex, Answer::Wrong("row missing")),
        (SysbenchScript::OltpUpdateNonIndex, Answer::Wrong("row missing")),
        (SysbenchScript::OltpDelete, Answer::Right),
        // A sum always comes, and an insert must have stored its row.
        (
            SysbenchScript::OltpReadWrite,
            Answer::Wrong("not exactly one sum or count"),
        ),
        (SysbenchScript::OltpWriteOnly, Answer::Wrong("row not stored")),
        (SysbenchScript::OltpInsert, Answer::Wrong("row not stored")),
        (SysbenchScript::SelectRandomPoints, Answer::Right),
        (
            SysbenchScript::SelectRandomRanges,
            Answer::Wrong("not exactly one sum or count"),
        ),
    ] {
        assert_eq!(
            answer(&spec(script), |user| user.session.empty = true),
            expected,
            "{script:?}"
        );
    }
}

#[test]
fn a_c_of_another_shape_is_wrong_wherever_it_is_read() {
    let wrong = Answer::Wrong("c is not what it must look like");
    for script in [SysbenchScript::OltpPointSelect, SysbenchScript::OltpReadWrite] {
        assert_eq!(answer(&spec(script), |user| user.session.cut_short = true), wrong);
    }
    let ranges_only = SysbenchSpec {
        point_selects: 0,
        ..spec(SysbenchScript::OltpReadOnly)
    };
    assert_eq!(answer(&ranges_only, |user| user.session.cut_short = true), wrong);
}

#[test]
fn a_wrong_answer_ends_neither_transaction_nor_event() {
    let mut user = User::new(&spec(SysbenchScript::OltpReadOnly));
    user.session.cut_short = true;
    let (asked, answer) = user.event();
    assert!(matches!(answer, Ok(Answer::Wrong(_))));
    assert_eq!((asked.len(), &*asked[15]), (16, "COMMIT"));
}

#[test]
fn ranges_have_fewer_rows_only_at_the_end_of_the_table() {
    let ranges_only = SysbenchSpec {
        point_selects: 0,
        sum_ranges: 0,
        distinct_ranges: 0,
        tables: 1,
        // Every range runs past the end.
        table_size: 100,
        ..SysbenchSpec::default()
    };
    let read_only = SysbenchSpec {
        script: SysbenchScript::OltpReadOnly,
        ..ranges_only
    };
    assert_eq!(
        answer(&read_only, |user| user.session.table_size = 100),
        Answer::Right
    );
    assert_eq!(
        answer(&read_only, |user| user.session.table_size = 99),
        Answer::Wrong("rows missing")
    );
    // Larger than it was said to be: sysbench may have loaded it.
    assert_eq!(
        answer(&read_only, |user| user.session.table_size = 1000),
        Answer::Right
    );
}

#[test]
fn what_was_written_is_reported_and_rows_put_back_are_no_inserts() {
    let mut user = User::new(&spec(SysbenchScript::OltpReadWrite));
    user.event().1.unwrap();
    let did = |user: &User| {
        (
            Workload::evidence(user.sysbench),
            Workload::user_bytes_written(user.sysbench),
        )
    };
    let before = did(&user);
    let (evidence, bytes) = before;
    assert_eq!(
        (evidence.writes_acknowledged, evidence.inserts_acknowledged),
        (4, 0)
    );
    assert_eq!(bytes, 4 + 119 + 4 + 186);
    user.session.failing = vec![("COMMIT", super::super::fake::deadlock())];
    user.event().1.unwrap_err();
    assert_eq!(did(&user), before, "nothing of it was stored");
}
