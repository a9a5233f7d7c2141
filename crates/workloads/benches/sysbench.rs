//! What sysbench OLTP costs itself, per event: `cargo bench -p bakeoff-workloads --bench sysbench`, or
//! `-- PART-OF-A-NAME`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use bakeoff_model::run::sysbench::{PreparedMode, SysbenchRandom, SysbenchScript, SysbenchSpec};
use bakeoff_workloads::prelude::*;
use bakeoff_workloads::sysbench::Sysbench;
use std::hint::black_box;

#[path = "../tests/session/mod.rs"]
mod session;
use session::sql::YesSql;
use session::{NoProbe, now};

mod stopwatch;
use stopwatch::measure;

fn measure_event(name: &str, spec: &SysbenchSpec) {
    let sysbench = Sysbench::new(spec, 1, ClientSpec::default(), Some(1)).unwrap();
    let id = ThreadId::FIRST;
    let mut thread = Workload::thread(&sysbench, &(), id);
    let mut session = AnySql::new(YesSql::new());
    now(Workload::attach(&sysbench, &mut session)).unwrap();
    measure(name, || {
        Workload::next(&sysbench, &(), &mut thread);
        let answer = now(sysbench.execute(&(), &mut thread, &mut session, &mut NoProbe));
        black_box(&answer);
        Workload::settle(
            &sysbench,
            &(),
            &mut thread,
            Ended::at_once(Outcome::Ok, false),
            &mut NoProbe,
        );
    });
}

fn spec(script: SysbenchScript) -> SysbenchSpec {
    let one_table = matches!(script, SysbenchScript::SelectRandomPoints);
    SysbenchSpec {
        script,
        tables: if one_table { 1 } else { 16 },
        table_size: 250_000,
        ..SysbenchSpec::default()
    }
}

fn main() {
    let point = spec(SysbenchScript::OltpPointSelect);
    for (name, rand_type) in [
        ("point select, uniform", SysbenchRandom::Uniform),
        ("point select, special", SysbenchRandom::Special),
        ("point select, gaussian", SysbenchRandom::Gaussian),
        ("point select, pareto", SysbenchRandom::Pareto),
        ("point select, zipfian", SysbenchRandom::Zipfian),
    ] {
        measure_event(
            name,
            &SysbenchSpec {
                rand_type,
                ..point.clone()
            },
        );
    }
    let text = SysbenchSpec {
        db_ps_mode: PreparedMode::Disable,
        ..point
    };
    measure_event("point select, special, values in the text", &text);
    measure_event("update index", &spec(SysbenchScript::OltpUpdateIndex));
    measure_event("update non-index", &spec(SysbenchScript::OltpUpdateNonIndex));
    measure_event("insert", &spec(SysbenchScript::OltpInsert));
    measure_event("bulk insert (a row)", &spec(SysbenchScript::BulkInsert));
    measure_event("select random points", &spec(SysbenchScript::SelectRandomPoints));
    measure_event("write only", &spec(SysbenchScript::OltpWriteOnly));
    measure_event(
        "read write (301 rows come back)",
        &spec(SysbenchScript::OltpReadWrite),
    );
}
