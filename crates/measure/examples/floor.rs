//! What the harness itself costs: a system that answers at once, a closed loop. Prints the process's CPU time per
//! operation, from before the first to after the last: for the loop alone (a workload that does nothing), then with YCSB
//! reads of zipfian keys and the null driver, for which the bar is 100 ns. The least of eight rounds; on a quiet machine:
//!
//!     cargo run --release -p bakeoff-measure --example floor [-- SECONDS [THREADS]]
#[path = "../tests/bench/mod.rs"]
mod bench;

use bakeoff_drivers::null::NullDriver;
use bakeoff_drivers::null::NullSpec;
use bakeoff_measure::{Control, execute};
use bakeoff_model::any::AnyRecords;
use bakeoff_model::driver::{AnyDriver, object};
use bakeoff_model::run::{RunSpec, RunnerKind, WorkloadSpec};
use bakeoff_model::time::now_ns;
use bakeoff_model::workload::Workload;
use bakeoff_workloads::ycsb::Ycsb;
use bench::{Reply, TestDriver, TestWorkload, cpu_ns};
use std::io::Write;
use std::sync::Arc;

const BAR_NS: f64 = 100.0;
/// The minimum of this many short runs counts: other work on the machine can only add.
const ROUNDS: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bakeoff_measure::clock::choose();
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().unwrap_or("0.5".into());
    let threads = arguments.next().unwrap_or("1".into());
    let spec: RunSpec = bakeoff_measure::spec::parse(&format!(
        r#"{{"format":1,"phase":"run","driver":{{"kind":"null"}},"threads":{threads},"workers":1,
            "workload":{{"kind":"ycsb","records":100000,"field_count":1,
                        "request_distribution":{{"kind":"zipfian"}},"read_proportion":1,"update_proportion":0}},
            "warm_up_s":0,"limit":{{"kind":"time","window_s":{seconds}}}}}"#
    ))
    .map_err(|trouble| trouble.to_string())?;
    let WorkloadSpec::Ycsb(options) = &spec.workload else {
        return Err("the document above asks for YCSB".into());
    };
    let (mut clock, mut alone, mut ycsb) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let nothing = TestDriver {
            script: Arc::new(|_| Reply::Right),
            runners: &[RunnerKind::Tokio],
            opened: Arc::default(),
            opens: u64::MAX,
            nodes: Arc::default(),
        };
        alone = alone.min(cost_ns(
            &spec,
            Box::new(Arc::new(nothing)),
            TestWorkload::default(),
        )?);
        let reads = Ycsb::new(options, spec.seed, spec.client).map_err(|trouble| trouble.to_string())?;
        let null = object(NullDriver::new(NullSpec::default(), 0), AnyRecords::new);
        ycsb = ycsb.min(cost_ns(&spec, null, reads)?);
        clock = clock.min(clock_ns());
    }
    let held = if ycsb <= BAR_NS { "held" } else { "MISSED" };
    writeln!(
        std::io::stdout(),
        "a look at the clock {clock:.1} ns, two per operation; CPU per operation: loop alone {alone:.1} ns; with zipfian YCSB reads {ycsb:.1} ns (bar {BAR_NS}: {held})"
    )?;
    Ok(())
}

/// Says how fast this machine is just now: about 20 ns where nobody else works.
fn clock_ns() -> f64 {
    const LOOKS: u64 = 500_000;
    let begin_ns = now_ns();
    (0..LOOKS).for_each(|_| {
        std::hint::black_box(now_ns());
    });
    (now_ns() - begin_ns) as f64 / LOOKS as f64
}

fn cost_ns<W: Workload>(
    spec: &RunSpec,
    driver: Box<dyn AnyDriver<W::Session>>,
    workload: W,
) -> Result<f64, String> {
    let control = Arc::new(Control::default());
    control.start_now();
    // Of all operations, and not of a window: who looks at its edges may be late where others work.
    let before_ns = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
    let result =
        execute(spec, driver, workload, control, Arc::new(drop)).map_err(|trouble| trouble.to_string())?;
    let spent_ns = cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID) - before_ns;
    let operations: u64 = result.series.iter().map(|series| series.count).sum();
    Ok(spent_ns as f64 / operations as f64)
}
