//! What the harness itself costs: a system that answers at once, a closed loop, zipfian keys. Prints CPU time of the
//! worker per operation; the bar is 150 ns, the goal 100. On a quiet machine:
//!
//!     cargo run --release -p bakeoff-measure --example floor [-- SECONDS [THREADS]]
use bakeoff_drivers::null::NullDriver;
use bakeoff_measure::{Control, execute};
use bakeoff_model::run::{NullSpec, RunSpec, WorkloadSpec};
use bakeoff_workloads::ycsb::Ycsb;
use std::io::Write;
use std::sync::Arc;

const BAR_NS: f64 = 150.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().unwrap_or("5".into());
    let threads = arguments.next().unwrap_or("1".into());
    let spec: RunSpec = bakeoff_measure::spec::parse(&format!(
        r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"threads":{threads},"workers":1,
            "workload":{{"kind":"ycsb","records":100000,"field_count":1,"read_all_fields_by_name":true,
                        "request_distribution":{{"kind":"zipfian"}},"read_proportion":1,"update_proportion":0}},
            "warm_up_s":1,"limit":{{"kind":"time","window_s":{seconds}}}}}"#
    ))
    .map_err(|trouble| trouble.to_string())?;
    let WorkloadSpec::Ycsb(options) = &spec.workload;
    let workload = Ycsb::new(options, spec.seed, spec.client).map_err(|trouble| trouble.to_string())?;
    let control = Arc::new(Control::default());
    control.start_now();
    let driver = NullDriver::new(NullSpec::default(), 0);
    let result =
        execute(&spec, driver, workload, control, Arc::new(drop)).map_err(|trouble| trouble.to_string())?;
    let operations: u64 = result.series.iter().map(|series| series.count).sum();
    let window_s = result.window_end_s - result.window_start_s;
    let cpu_ns = result.cost.workers[0].busy_ratio * window_s * 1e9 / operations as f64;
    let wall_ns = window_s * 1e9 / operations as f64;
    writeln!(
        std::io::stdout(),
        "{operations} operations: {cpu_ns:.1} ns of CPU each (wall {wall_ns:.1} ns); bar {BAR_NS} ns: {}",
        if cpu_ns <= BAR_NS { "held" } else { "MISSED" }
    )?;
    Ok(())
}
