//! Making, loading and indexing tables.
use super::super::load::Stretch;
use super::*;
use bakeoff_model::run::sysbench::IndexTime;
use proptest::prelude::*;

fn made(spec: &SysbenchSpec) -> Vec<String> {
    let mut user = User::new(spec);
    now(Workload::create(user.sysbench, user.session.any(), true)).unwrap();
    std::mem::take(&mut user.session.asked)
}

fn one_table() -> SysbenchSpec {
    SysbenchSpec::default()
}

const COLUMNS: &str =
    "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL";

#[test]
fn tables_are_those_of_the_original() {
    assert_eq!(
        made(&one_table()),
        [
            "DROP TABLE IF EXISTS sbtest1".to_owned(),
            format!(
                "CREATE TABLE sbtest1 (id INTEGER NOT NULL NUMBERED, {COLUMNS}, PRIMARY KEY (id)) /*! ENGINE = innodb */"
            ),
        ]
    );
    let other = SysbenchSpec {
        auto_inc: false,
        secondary: true,
        mysql_storage_engine: String::new(),
        create_table_options: "COMMENT 'x'".into(),
        index_time: IndexTime::BeforeRows,
        ..one_table()
    };
    assert_eq!(
        made(&other)[1..],
        [
            format!("CREATE TABLE sbtest1 (id INTEGER NOT NULL, {COLUMNS}, KEY xid (id)) COMMENT 'x'"),
            "CREATE INDEX k_1 ON sbtest1(k)".to_owned(),
        ]
    );
    let bulk = SysbenchSpec {
        tables: 4,
        ..SysbenchSpec {
            script: SysbenchScript::BulkInsert,
            ..one_table()
        }
    };
    assert_eq!(
        made(&bulk)[7],
        "CREATE TABLE sbtest4 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"
    );
}

#[test]
fn indexes_are_made_once_each_after_the_rows_and_by_one_client() {
    let spec = SysbenchSpec {
        tables: 3,
        ..one_table()
    };
    let mut user = User::new(&spec);
    assert_eq!(Workload::after_load_steps(user.sysbench), 3);
    now(Workload::after_load(user.sysbench, user.session.any(), 2)).unwrap();
    assert_eq!(user.session.asked, ["CREATE INDEX k_3 ON sbtest3(k)"]);
    let steps = |spec: &SysbenchSpec, client| {
        let sysbench = Sysbench::new(spec, 1, client, None).unwrap();
        Workload::after_load_steps(&sysbench)
    };
    assert_eq!(steps(&spec, ClientSpec { index: 1, count: 2 }), 0);
    let without = SysbenchSpec {
        create_secondary: false,
        ..spec.clone()
    };
    assert_eq!(steps(&without, ClientSpec::default()), 0);
    let before = SysbenchSpec {
        index_time: IndexTime::BeforeRows,
        ..spec
    };
    assert_eq!(steps(&before, ClientSpec::default()), 0);
}

fn load(spec: &SysbenchSpec, client: ClientSpec, chunk: u64) -> Vec<(String, i64, i64, Vec<u8>)> {
    let sysbench = Sysbench::new(spec, 9, client, None).unwrap();
    let id = ThreadId::FIRST;
    let mut thread = Workload::thread(&sysbench, &(), id);
    let mut session = Fake::new();
    let total = Workload::load_units(&sysbench);
    for first in (0..total).step_by(chunk as usize) {
        let count = chunk.min(total - first);
        let stored = now(sysbench.load_chunk(&(), &mut thread, session.any(), first, count)).unwrap();
        assert_eq!(stored, count);
    }
    assert_eq!(session.asked.first().map(String::as_str), Some("BEGIN"));
    assert_eq!(session.asked.last().map(String::as_str), Some("COMMIT"));
    std::mem::take(&mut session.loaded)
}

#[test]
fn rows_are_the_same_whoever_loads_them_in_chunks_of_whatever_size() {
    let spec = SysbenchSpec {
        tables: 3,
        table_size: 25_001,
        ..one_table()
    };
    let mut alone = load(&spec, ClientSpec::default(), 10_000);
    let mut shared: Vec<_> = (0..2)
        .flat_map(|index| load(&spec, ClientSpec { index, count: 2 }, 777))
        .collect();
    assert_eq!(alone.len(), 75_003);
    alone.sort();
    shared.sort();
    assert!(alone == shared);
    alone.dedup_by_key(|(table, id, ..)| (table.clone(), *id));
    assert_eq!(alone.len(), 75_003, "every id of every table once");
    let k_in_band = alone
        .iter()
        .filter(|(_, _, k, _)| (12_438..=12_626).contains(k))
        .count();
    assert!(
        (k_in_band as f64 / 75_003.0 - 0.75).abs() < 0.02,
        "k is drawn as ids are: {k_in_band}"
    );
}

#[test]
fn loaders_work_on_different_tables() {
    let spec = SysbenchSpec {
        tables: 4,
        table_size: 25_000,
        ..one_table()
    };
    let sysbench = Sysbench::new(&spec, 1, ClientSpec::default(), None).unwrap();
    let chunk = Workload::load_chunk_units(&sysbench);
    let starts: Vec<(u32, u64)> = (0..10)
        .map(|i| sysbench.stretch(i * chunk, chunk))
        .map(|stretch| (stretch.table, stretch.first_id))
        .collect();
    assert_eq!(
        starts,
        [
            (1, 1),
            (2, 1),
            (3, 1),
            (4, 1),
            (1, 10_001),
            (2, 10_001),
            (3, 10_001),
            (4, 10_001),
            (1, 20_001),
            (3, 20_001),
        ]
    );
}

#[test]
fn ids_that_clients_make_up_and_bulk_rows_begin_with_empty_tables() {
    let own_ids = SysbenchSpec {
        auto_inc: false,
        ..spec(SysbenchScript::OltpInsert)
    };
    for spec in [own_ids, spec(SysbenchScript::BulkInsert)] {
        let sysbench = Sysbench::new(&spec, 1, ClientSpec::default(), None).unwrap();
        assert_eq!(Workload::load_units(&sysbench), 0);
    }
}

proptest! {
    #[test]
    fn stretches_cover_every_row_once(tables in 1u32..6, table_size in 1u64..35_000, most in 1u64..12_000) {
        let spec = SysbenchSpec { tables, table_size, ..one_table() };
        let sysbench = Sysbench::new(&spec, 1, ClientSpec::default(), None).unwrap();
        let total = Workload::load_units(&sysbench);
        prop_assert_eq!(total, u64::from(tables) * table_size);
        let mut next_id = vec![1; tables as usize];
        let mut unit = 0;
        while unit < total {
            let Stretch { table, first_id, rows } = sysbench.stretch(unit, most.min(total - unit));
            let next = &mut next_id[table as usize - 1];
            prop_assert_eq!(*next, first_id);
            prop_assert!((1..=most).contains(&rows));
            *next += rows;
            unit += rows;
        }
        prop_assert!(next_id.iter().all(|next| *next == table_size + 1));
    }
}
