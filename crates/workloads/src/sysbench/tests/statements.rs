//! Which statements an event sends, in which order, to which tables, and how they are counted.
use super::super::fake::{Fake, deadlock, now};
use super::*;
use bakeoff_model::run::sysbench::{PreparedMode, TableChoice};
use bakeoff_model::workload::Workload;

const POINT: &str = "SELECT c FROM sbtest WHERE id=";
const INDEX_UPDATE: &str = "UPDATE sbtest SET k=k+ WHERE id=";
const NON_INDEX_UPDATE: &str = "UPDATE sbtest SET c= WHERE id=";
const DELETE: &str = "DELETE FROM sbtest WHERE id=";
const INSERT: &str = "INSERT INTO sbtest (id, k, c, pad) VALUES (, , , )";

fn reads() -> Vec<&'static str> {
    let mut forms = vec![POINT; 10];
    forms.extend([
        "SELECT c FROM sbtest WHERE id BETWEEN  AND ",
        "SELECT SUM(k) FROM sbtest WHERE id BETWEEN  AND ",
        "SELECT c FROM sbtest WHERE id BETWEEN  AND  ORDER BY c",
        "SELECT DISTINCT c FROM sbtest WHERE id BETWEEN  AND  ORDER BY c",
    ]);
    forms
}

fn writes() -> Vec<&'static str> {
    vec![INDEX_UPDATE, NON_INDEX_UPDATE, DELETE, INSERT]
}

fn forms_of(spec: &SysbenchSpec) -> Vec<String> {
    let (asked, answer) = User::new(spec).event();
    assert_eq!(answer.unwrap(), Answer::Right);
    asked.iter().map(|sql| form(sql)).collect()
}

#[test]
fn a_pipelined_transaction_asks_what_the_others_ask_and_is_counted_alike() {
    for script in [
        SysbenchScript::OltpReadWrite,
        SysbenchScript::OltpReadOnly,
        SysbenchScript::OltpWriteOnly,
    ] {
        for change in [
            |_: &mut Fake| {},
            |session: &mut Fake| session.empty = true,
            |session: &mut Fake| session.cut_short = true,
            |session: &mut Fake| session.failing = vec![("COMMIT", deadlock())],
            |session: &mut Fake| session.failing = vec![("SELECT c", deadlock()), ("UPDATE", deadlock())],
        ] {
            let together = SysbenchSpec {
                pipeline: true,
                ..spec(script)
            };
            let [one_by_one, together] = [spec(script), together].map(|spec| {
                let mut user = User::new(&spec);
                change(&mut user.session);
                let told: Vec<_> = (0..20).map(|_| format!("{:?}", user.event())).collect();
                let did = Workload::evidence(user.sysbench);
                (told, user.queries(), did, user.thread.hash.value())
            });
            assert_eq!(one_by_one, together, "{script:?}");
        }
    }
}

#[test]
fn every_script_sends_its_statements_in_order() {
    let transaction = |inner: Vec<&'static str>| [vec!["BEGIN"], inner, vec!["COMMIT"]].concat();
    let points = format!("SELECT id, k, c, pad FROM sbtest WHERE k IN ({})", ", ".repeat(9));
    let ranges = format!(
        "SELECT count(k) FROM sbtest WHERE {}",
        ["k BETWEEN  AND "; 10].join(" OR ")
    );
    for (script, expected) in [
        (
            SysbenchScript::OltpReadWrite,
            transaction([reads(), writes()].concat()),
        ),
        (SysbenchScript::OltpReadOnly, transaction(reads())),
        (SysbenchScript::OltpWriteOnly, transaction(writes())),
        (SysbenchScript::OltpPointSelect, vec![POINT]),
        (SysbenchScript::OltpUpdateIndex, vec![INDEX_UPDATE]),
        (SysbenchScript::OltpUpdateNonIndex, vec![NON_INDEX_UPDATE]),
        (SysbenchScript::OltpDelete, vec![DELETE]),
        (SysbenchScript::OltpInsert, vec![INSERT]),
        (SysbenchScript::SelectRandomPoints, vec![&*points]),
        (SysbenchScript::SelectRandomRanges, vec![&*ranges]),
    ] {
        assert_eq!(forms_of(&spec(script)), expected, "{script:?}");
    }
}

#[test]
fn counts_switches_and_skip_trx_change_the_sequence() {
    let spec = SysbenchSpec {
        point_selects: 2,
        range_selects: false,
        index_updates: 0,
        delete_inserts: 2,
        skip_trx: true,
        ..spec(SysbenchScript::OltpReadWrite)
    };
    assert_eq!(
        forms_of(&spec),
        [POINT, POINT, NON_INDEX_UPDATE, DELETE, INSERT, DELETE, INSERT]
    );
}

#[test]
fn values_in_the_text_ask_the_same_as_prepared_statements() {
    for script in ALL {
        let mut prepared = User::new(&spec(script));
        let mut text = User::new(&SysbenchSpec {
            db_ps_mode: PreparedMode::Disable,
            ..spec(script)
        });
        assert!(text.session.prepared.is_empty());
        for _ in 0..20 {
            assert_eq!(prepared.event().0, text.event().0, "{script:?}");
        }
    }
}

#[test]
fn each_group_has_a_table_of_its_own_or_the_transaction_has_one() {
    let tables = |table_choice, user: &mut dyn FnMut(&SysbenchSpec) -> Vec<String>| -> Vec<u32> {
        let spec = SysbenchSpec {
            table_choice,
            ..spec(SysbenchScript::OltpReadWrite)
        };
        user(&spec).iter().filter_map(|sql| table(sql)).collect()
    };
    let mut event = |spec: &SysbenchSpec| User::new(spec).event().0;
    let one = tables(TableChoice::PerTransaction, &mut event);
    assert!(
        one.len() == 18 && one.iter().all(|table| *table == one[0]),
        "{one:?}"
    );
    let many = tables(TableChoice::PerGroup, &mut event);
    assert!(many[..10].iter().all(|table| *table == many[0]), "{many:?}");
    assert_eq!(many[16], many[17], "delete and insert");
    assert!(many.iter().any(|table| *table != many[0]), "{many:?}");
}

#[test]
fn deleted_rows_are_put_back_with_their_ids_and_ranges_have_their_length() {
    let mut user = User::new(&spec(SysbenchScript::OltpReadWrite));
    for _ in 0..50 {
        let (asked, _) = user.event();
        let number = |sql: &str, after: &str| -> u64 {
            let rest = sql.split_once(after).unwrap().1;
            rest.split([' ', ',']).next().unwrap().parse().unwrap()
        };
        assert_eq!(number(&asked[17], "id="), number(&asked[18], "VALUES ("));
        for range in &asked[11..15] {
            assert_eq!(number(range, "AND ") - number(range, "BETWEEN "), 99);
        }
    }
}

#[test]
fn statements_are_counted_as_the_original_counts_them() {
    for (script, counted) in [
        (SysbenchScript::OltpReadWrite, (14, 4, 2)),
        (SysbenchScript::OltpReadOnly, (14, 0, 2)),
        (SysbenchScript::OltpWriteOnly, (0, 4, 2)),
        (SysbenchScript::OltpPointSelect, (1, 0, 0)),
        (SysbenchScript::OltpUpdateIndex, (0, 1, 0)),
        (SysbenchScript::OltpDelete, (0, 1, 0)),
        (SysbenchScript::OltpInsert, (0, 1, 0)),
        (SysbenchScript::SelectRandomPoints, (1, 0, 0)),
    ] {
        let mut user = User::new(&spec(script));
        user.event().1.unwrap();
        assert_eq!(user.queries(), counted, "{script:?}");
    }
    let mut user = User::new(&spec(SysbenchScript::OltpDelete));
    user.session.empty = true;
    assert_eq!(user.event().1.unwrap(), Answer::Right);
    assert_eq!(user.queries(), (0, 0, 1), "a row that was gone before");
}

#[test]
fn a_failed_statement_is_rolled_back_and_the_next_attempt_draws_again() {
    let mut user = User::new(&spec(SysbenchScript::OltpReadWrite));
    user.session.failing = vec![("UPDATE", deadlock())];
    user.next();
    assert_eq!(user.attempt().unwrap_err().code, "1213");
    let first = std::mem::take(&mut user.session.asked);
    assert_eq!((first.len(), &*first[16]), (17, "ROLLBACK"));
    assert_eq!(
        user.queries(),
        (14, 0, 2),
        "what was carried out, begin and rollback"
    );
    assert_eq!(user.attempt().unwrap(), Answer::Right);
    let second = std::mem::take(&mut user.session.asked);
    assert_eq!(second.len(), 20);
    assert_ne!(first[1..11], second[1..11]);
}

#[test]
fn a_failed_commit_is_rolled_back() {
    let mut user = User::new(&spec(SysbenchScript::OltpWriteOnly));
    user.session.failing = vec![("COMMIT", deadlock())];
    let (asked, answer) = user.event();
    assert_eq!((&*answer.unwrap_err().code, &*asked[6]), ("1213", "ROLLBACK"));
}

#[test]
fn nothing_is_rolled_back_where_nothing_is_open() {
    let mut alone = User::new(&spec(SysbenchScript::OltpUpdateIndex));
    alone.session.failing = vec![("UPDATE", deadlock())];
    assert_eq!(alone.event().0.len(), 1);
    let mut lost = User::new(&spec(SysbenchScript::OltpReadOnly));
    lost.session.failing = vec![("SELECT", OpError::lost("2013", "gone"))];
    assert_eq!(lost.event().0.len(), 2);
    let mut begin = User::new(&spec(SysbenchScript::OltpReadOnly));
    begin.session.failing = vec![("BEGIN", deadlock())];
    assert_eq!(begin.event().0, ["BEGIN"]);
}

#[test]
fn a_session_that_cannot_roll_back_is_given_up() {
    let mut user = User::new(&spec(SysbenchScript::OltpReadOnly));
    user.session.failing = vec![("SELECT", deadlock()), ("ROLLBACK", deadlock())];
    user.next();
    let error = user.attempt().unwrap_err();
    assert!(error.connection_lost && error.code == "1213");
    assert_eq!(error.outcome, deadlock().outcome, "what failed was not applied");
    assert_eq!(user.queries(), (0, 0, 1));
}

#[test]
fn every_session_prepares_what_the_script_needs_under_the_same_numbers() {
    for (script, kinds) in [
        (SysbenchScript::OltpReadWrite, 9),
        (SysbenchScript::OltpReadOnly, 5),
        (SysbenchScript::OltpPointSelect, 1),
        (SysbenchScript::OltpInsert, 0),
        (SysbenchScript::BulkInsert, 0),
    ] {
        assert_eq!(
            User::new(&spec(script)).session.prepared.len(),
            8 * kinds,
            "{script:?}"
        );
    }
    // A session that replaces another answers to the same numbers.
    let mut user = User::new(&spec(SysbenchScript::OltpReadWrite));
    user.event().1.unwrap();
    let mut fresh = Fake::new();
    now(Workload::attach(user.sysbench, fresh.any())).unwrap();
    assert_eq!(fresh.prepared, user.session.prepared);
}

#[test]
fn a_session_with_statements_of_others_is_refused() {
    let user = User::new(&spec(SysbenchScript::OltpPointSelect));
    let mut session = Fake::new();
    now(session.prepare(&bakeoff_model::sql::Ask::read("SELECT 1"))).unwrap();
    let error = now(Workload::attach(user.sysbench, session.any())).unwrap_err();
    assert_eq!(error.code, "ATTACH");
}

#[test]
fn operations_have_the_scripts_names_and_only_reads_are_probed() {
    for script in ALL {
        let user = User::new(&spec(script));
        let name = serde_name(script);
        assert_eq!(Workload::operations(user.sysbench)[0].name, name);
        let reads = name.starts_with("select") || name == "oltp_read_only" || name == "oltp_point_select";
        assert_eq!(
            Workload::latency_probe_operation(user.sysbench).is_some(),
            reads,
            "{name}"
        );
    }
}

/// `OltpReadWrite` as documents write it: `oltp_read_write`.
fn serde_name(script: SysbenchScript) -> String {
    let mut name = String::new();
    for c in format!("{script:?}").chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}

#[test]
fn a_new_session_is_wanted_after_a_number_of_events() {
    let mut user = User::new(&SysbenchSpec {
        reconnect: 3,
        ..spec(SysbenchScript::OltpPointSelect)
    });
    let wanted: Vec<bool> = (0..6)
        .map(|_| {
            user.event().1.unwrap();
            Workload::wants_new_session(user.sysbench, &user.thread)
        })
        .collect();
    assert_eq!(wanted, [false, false, true, false, false, true]);
}
