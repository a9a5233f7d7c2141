//! Drawing, executing and settling an operation allocates nothing: counted by the allocator itself.
#![allow(clippy::unwrap_used)] // a helper of tests, which clippy does not take for one
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::run::documents::DocumentsSpec;
use bakeoff_model::run::hatshop::{HatshopLayout, HatshopSpec};
use bakeoff_model::run::linkbench::LinkbenchSpec;
use bakeoff_model::run::sysbench::{PreparedMode, SysbenchScript, SysbenchSpec};
use bakeoff_model::run::tpcc::{TpccSpec, TpccVariant};
use bakeoff_model::run::{InsertOrder, RequestDistribution, YcsbSpec};
use bakeoff_model::sql::Upsert;
use bakeoff_workloads::documents::Documents;
use bakeoff_workloads::hatshop::{Hatshop, Store};
use bakeoff_workloads::linkbench::Linkbench;
use bakeoff_workloads::prelude::*;
use bakeoff_workloads::sql::Sql;
use bakeoff_workloads::sysbench::Sysbench;
use bakeoff_workloads::tpcc::Tpcc;
use bakeoff_workloads::ycsb::Ycsb;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

mod session;
use session::documents::YesDocuments;
use session::drawer::Drawer;
use session::graph::YesGraph;
use session::hats::Hats;
use session::sql::YesSql;
use session::tpcc::Warehouse;
use session::{NoProbe, Yes, now};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: hands every call to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// By 20,000 operations, after the first few.
fn allocations_of<W: Workload>(workload: &W, session: &mut W::Session) -> u64 {
    let worker = workload.worker(0);
    let id = ThreadId::FIRST;
    let mut thread = workload.thread(&worker, id);
    now(workload.attach(session)).unwrap();
    let mut steps = |count| {
        for _ in 0..count {
            workload.next(&worker, &mut thread);
            let answer = now(workload.execute(&worker, &mut thread, session, &mut NoProbe));
            assert!(matches!(answer, Ok(Answer::Right)), "{answer:?}");
            workload.settle(
                &worker,
                &mut thread,
                Ended::at_once(Outcome::Ok, false),
                &mut NoProbe,
            );
        }
    };
    steps(100); // the row buffer grows to its size, and the first insert makes its segment
    let before = ALLOCATIONS.with(Cell::get);
    steps(20_000);
    ALLOCATIONS.with(Cell::get) - before
}

fn of_ycsb(spec: &YcsbSpec) -> u64 {
    let ycsb = Ycsb::new(spec, 1, ClientSpec::default()).unwrap();
    allocations_of(&ycsb, &mut AnyRecords::new(Yes::default()))
}

fn of_sysbench(spec: &SysbenchSpec) -> u64 {
    let sysbench = Sysbench::new(spec, 1, ClientSpec::default(), Some(1)).unwrap();
    allocations_of(&sysbench, &mut AnySql::new(YesSql::new()))
}

fn mixed() -> YcsbSpec {
    YcsbSpec {
        read_proportion: 1.0,
        update_proportion: 1.0,
        insert_proportion: 1.0,
        scan_proportion: 1.0,
        read_modify_write_proportion: 1.0,
        ..Default::default()
    }
}

#[test]
fn the_allocator_does_count() {
    let before = ALLOCATIONS.with(Cell::get);
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 1);
}

#[test]
fn no_operation_of_any_distribution_allocates() {
    for request_distribution in [
        RequestDistribution::Uniform,
        RequestDistribution::Zipfian,
        RequestDistribution::ZipfianExact { theta: 0.99 },
        RequestDistribution::Latest,
        RequestDistribution::Hotspot {
            data_fraction: 0.2,
            operation_fraction: 0.8,
        },
        RequestDistribution::Sequential,
        RequestDistribution::Exponential {
            percentile: 95.0,
            fraction: 0.8571428571,
        },
    ] {
        assert_eq!(
            of_ycsb(&YcsbSpec {
                request_distribution,
                ..mixed()
            }),
            0,
            "{request_distribution:?}"
        );
    }
}

#[test]
fn neither_groups_nor_writing_all_fields_allocates() {
    assert_eq!(
        of_ycsb(&YcsbSpec {
            ops_per_transaction: 10,
            ..mixed()
        }),
        0
    );
    assert_eq!(
        of_ycsb(&YcsbSpec {
            write_all_fields: true,
            ..mixed()
        }),
        0
    );
}

#[test]
fn no_script_of_sysbench_allocates_prepared_or_not() {
    use SysbenchScript::*;
    for script in [
        OltpReadWrite,
        OltpReadOnly,
        OltpWriteOnly,
        OltpPointSelect,
        OltpUpdateIndex,
        OltpUpdateNonIndex,
        OltpDelete,
        OltpInsert,
        BulkInsert,
        SelectRandomPoints,
        SelectRandomRanges,
    ] {
        for db_ps_mode in [PreparedMode::Auto, PreparedMode::Disable] {
            let spec = SysbenchSpec {
                script,
                db_ps_mode,
                ..SysbenchSpec::default()
            };
            assert_eq!(of_sysbench(&spec), 0, "{script:?} {db_ps_mode:?}");
        }
    }
    let together = SysbenchSpec {
        pipeline: true,
        ..SysbenchSpec::default()
    };
    assert_eq!(of_sysbench(&together), 0);
}

#[test]
fn no_transaction_of_tpcc_allocates() {
    for variant in [TpccVariant::Tpcc, TpccVariant::TpccMysql, TpccVariant::TprocC] {
        let spec = TpccSpec {
            variant,
            warehouses: 4,
            ..TpccSpec::default()
        };
        let tpcc = Tpcc::new(&spec, 1, ClientSpec::default(), Some(1)).unwrap();
        assert_eq!(
            allocations_of(&tpcc, &mut AnySql::new(Warehouse::default())),
            0,
            "{variant:?}"
        );
    }
}

#[test]
fn no_operation_on_documents_allocates() {
    let mut spec = DocumentsSpec {
        get_part: 1.0,
        put: 1.0,
        patch: 1.0,
        insert: 2.0,
        delete: 1.0,
        find: 1.0,
        find_unindexed: 1.0,
        contains: 1.0,
        count: 1.0,
        range: 1.0,
        get_batch: 1.0,
        put_batch: 1.0,
        insert_order: InsertOrder::Ordered,
        request_distribution: RequestDistribution::Zipfian,
        ..DocumentsSpec::default()
    };
    // So that the session need not look for what is asked.
    spec.template["account"] = "int:7..7".into();
    spec.template["address"]["zip"] = "int:12345..12345".into();
    spec.template["tags"]["each"] = "enum:new".into();
    let documents = || Documents::new(&spec, 1, ClientSpec::default()).unwrap();
    let mut session = AnyDocuments::new(YesDocuments::new(documents()));
    assert_eq!(allocations_of(&documents(), &mut session), 0);
}

fn of_script(text: &str, expect: serde_json::Value) -> u64 {
    let tables = [
        "a", "h", "a_1", "a_2", "a_3", "a_4", "a_5", "a_6", "a_7", "a_8", "a_9",
    ];
    let spec = serde_json::json!({"tables": tables, "scripts": [{"file": {"name": "x.sql", "text": text}, "expect": expect}]});
    let sql = Sql::new(
        &serde_json::from_value(spec).unwrap(),
        1,
        ClientSpec::default(),
        "yes",
        false,
    )
    .unwrap();
    allocations_of(&sql, &mut AnySql::new(YesSql::new()))
}

#[test]
fn scripts_allocate_nothing() {
    let tpcb = "\\set aid random_zipfian(1, 100000 * :scale, 1.1)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
        UPDATE a SET b = b + :delta WHERE aid = :aid;\nSELECT b FROM a WHERE aid = :aid \\gset\n\
        \\if :b > 0\nINSERT INTO h VALUES (:aid, :delta, :b, 1.5 * :delta, :client_id);\n\\endif\nEND;";
    let expect = serde_json::json!([{"statement": 3, "rows": 1, "value": 1}]);
    assert_eq!(of_script(tpcb, expect), 0, "tpcb");
    let pipeline =
        "\\startpipeline\nBEGIN;\nUPDATE a SET b = :client_id;\nSELECT b FROM a;\nCOMMIT;\n\\endpipeline";
    assert_eq!(of_script(pipeline, serde_json::json!([])), 0, "pipeline");
    let text = "\\set n random(1, 9)\nUPDATE a_:n SET b = :client_id;\nSELECT c AS word FROM a_:n \\gset\nSELECT :word;";
    assert_eq!(of_script(text, serde_json::json!([])), 0, "text");
}

#[test]
fn no_request_of_linkbench_allocates() {
    let linkbench = |spec: &LinkbenchSpec| {
        let linkbench = Linkbench::new(spec, 1, ClientSpec::default(), Some(1)).unwrap();
        allocations_of(
            &linkbench,
            &mut AnySql::new(YesGraph::new(Upsert::OnDuplicateKey)),
        )
    };
    assert_eq!(linkbench(&LinkbenchSpec::default()), 0);
    let many_links = LinkbenchSpec {
        getlink: 500.0,
        ..LinkbenchSpec::default()
    };
    assert_eq!(linkbench(&many_links), 0);
}

#[test]
fn no_event_of_the_hat_shop_allocates() {
    for layout in [
        HatshopLayout::LineItems,
        HatshopLayout::LineItemsByOrder,
        HatshopLayout::Documents,
    ] {
        let documents = layout == HatshopLayout::Documents;
        let spec = HatshopSpec {
            layout,
            orders: 20,
            // A patch is three values, and the drawer has none.
            update: if documents { 0.0 } else { 1.0 },
            ..HatshopSpec::default()
        };
        let hatshop = Hatshop::new(&spec, 1, ClientSpec::default(), Some(1)).unwrap();
        let mut session = match documents {
            true => Store::Documents(AnyDocuments::new(Drawer::new())),
            false => Store::Tables(AnySql::new(Hats::new())),
        };
        let id = ThreadId::FIRST;
        let worker = Workload::worker(&hatshop, 0);
        let mut loader = Workload::thread(&hatshop, &worker, id);
        now(hatshop.load_chunk(&worker, &mut loader, &mut session, 0, spec.orders)).unwrap();
        assert_eq!(allocations_of(&hatshop, &mut session), 0, "{layout:?}");
    }
}
