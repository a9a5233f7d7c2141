from benches.pair_size import pair

EXECUTE = (
    "<bakeoff_workloads::ycsb::Ycsb as bakeoff_model::workload::Workload<bakeoff_drivers::records::SqlRecords<"
    "bakeoff_drivers::mysql::wire::WireSession>>>::execute::<bakeoff_measure::user::probe::RecordProbe>::{closure#0}"
)


def test_a_symbol_belongs_to_the_pair_it_was_compiled_for() -> None:
    assert pair(EXECUTE) == ("ycsb", "mysql::wire")
    job = "core::ptr::drop_in_place::<Job<bakeoff_drivers::null::NullDriver, bakeoff_workloads::sysbench::Sysbench>>"
    assert pair(job) == ("sysbench", "null")
    assert pair("<bakeoff_drivers::sqlite::SqliteSession>::done") is None
    assert pair("<bakeoff_workloads::ycsb::Ycsb>::new") is None
