//! What the harness adds to a point read of SQLite: CPU per read of the bare call (rusqlite, one prepared statement,
//! keys drawn beforehand, every column copied out) and of the whole engine (keys drawn, row checked, times recorded) on
//! the same file, the same thread count, the same skew of keys, in shuffled pairs. The bar is 1.10.
//!
//!     cargo run --release -p bakeoff-engine --example sqlite_read_cost [-- PAIRS [SECONDS]]
use bakeoff_measure::{Control, execute};
use bakeoff_model::any::{AnyRecords, AnySql};
use bakeoff_model::driver::object;
use bakeoff_model::event::RunResult;
use bakeoff_model::run::{RunSpec, WorkloadSpec};
use bakeoff_workloads::keys::{Scrambled, fnv64};
use bakeoff_workloads::rng::Random;
use bakeoff_workloads::ycsb::Ycsb;
use rusqlite::types::ValueRef;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BAR: f64 = 1.10;
const RECORDS: u64 = 10_000;
/// Keys the bare loop goes round in.
const KEYS: usize = 1 << 16;
/// Reads between two looks at the clock in the bare loop.
const STRETCH: usize = 256;
/// The whole file, KiB: the harness is compared with the call, not with the operating system.
const CACHE: &str = "-65536";

fn main() -> Result<(), Box<dyn Error>> {
    bakeoff_measure::clock::choose();
    let mut arguments = std::env::args().skip(1);
    let pairs: usize = arguments.next().map_or(Ok(9), |n| n.parse())?;
    let seconds: f64 = arguments.next().map_or(Ok(1.0), |n| n.parse())?;
    let path = std::env::temp_dir().join(format!("bakeoff-sqlite-read-cost-{}.db", std::process::id()));
    let outcome = compare(&path, pairs, seconds);
    std::fs::remove_file(&path)?;
    outcome
}

fn compare(path: &Path, pairs: usize, seconds: f64) -> Result<(), Box<dyn Error>> {
    engine(path, "load", seconds)?;
    let keys = keys();
    let mut order = Random::new(11);
    let (mut bare, mut whole, mut ratios) = (vec![], vec![], vec![]);
    for _ in 0..pairs {
        let engine_first = order.below(2) == 0;
        let first = engine_first.then(|| engine_ns(path, seconds)).transpose()?;
        bare.push(bare_ns(path, &keys, seconds)?);
        whole.push(first.map_or_else(|| engine_ns(path, seconds), Ok)?);
        ratios.push(whole[whole.len() - 1] / bare[bare.len() - 1]);
    }
    for figures in [&mut bare, &mut whole, &mut ratios] {
        figures.sort_by(f64::total_cmp);
    }
    let (middle, least) = (pairs / 2, whole[0] / bare[0]);
    let held = if ratios[middle] <= BAR { "held" } else { "MISSED" };
    writeln!(
        std::io::stdout(),
        "CPU per point read: bare {:.0} ns, engine {:.0} ns (medians of {pairs}); ratio {:.3} ({:.3} to {:.3}), of the least {least:.3} (bar {BAR}: {held})",
        bare[middle],
        whole[middle],
        ratios[middle],
        ratios[0],
        ratios[pairs - 1],
    )?;
    Ok(())
}

/// As the workload draws and writes them.
fn keys() -> Vec<String> {
    let (scrambled, mut rng) = (Scrambled::new(RECORDS), Random::new(7));
    let key = |_| format!("user{}", fnv64(scrambled.draw(&mut rng)));
    (0..KEYS).map(key).collect()
}

fn bare_ns(path: &Path, keys: &[String], seconds: f64) -> Result<f64, Box<dyn Error>> {
    let connection = rusqlite::Connection::open(path)?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    let mut statement = connection.prepare("SELECT * FROM usertable WHERE YCSB_KEY = ?")?;
    let columns = statement.column_count();
    let mut row_bytes: Vec<u8> = Vec::new();
    let mut reads = 0;
    let mut read = |key: &str| -> Result<(), Box<dyn Error>> {
        let mut rows = statement.query([key])?;
        let row = rows.next()?.ok_or("a key is missing")?;
        row_bytes.clear();
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Text(value) | ValueRef::Blob(value) => row_bytes.extend_from_slice(value),
                other => return Err(format!("column {column} is {other:?}").into()),
            }
        }
        std::hint::black_box(&row_bytes);
        Ok(())
    };
    keys.iter().try_for_each(|key| read(key))?; // warm
    let (begin, until) = (thread_cpu_ns(), Instant::now() + Duration::from_secs_f64(seconds));
    for stretch in keys.chunks(STRETCH).cycle() {
        stretch.iter().try_for_each(|key| read(key))?;
        reads += stretch.len();
        if Instant::now() >= until {
            break;
        }
    }
    Ok((thread_cpu_ns() - begin) / reads as f64)
}

fn thread_cpu_ns() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure it is given; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn engine_ns(path: &Path, seconds: f64) -> Result<f64, Box<dyn Error>> {
    let result = engine(path, "run", seconds)?;
    let reads: u64 = result
        .series
        .iter()
        .filter(|series| series.outcome == bakeoff_model::outcome::Outcome::Ok)
        .map(|series| series.count)
        .sum();
    let window_s = result.window_end_s - result.window_start_s;
    Ok(result.cost.workers[0].busy_ratio * window_s * 1e9 / reads as f64)
}

fn engine(path: &Path, phase: &str, seconds: f64) -> Result<RunResult, Box<dyn Error>> {
    let spec: RunSpec = bakeoff_measure::spec::parse(&format!(
        r#"{{"format":1,"phase":"{phase}","threads":1,
            "driver":{{"kind":"sqlite","path":{path:?},"pragmas":{{"cache_size":"{CACHE}"}}}},
            "workload":{{"kind":"ycsb","records":{RECORDS},"batch_size":1000,
                        "request_distribution":{{"kind":"zipfian"}},"read_proportion":1,"update_proportion":0}},
            "timeout_s":30,"warm_up_s":0.3,"limit":{{"kind":"time","window_s":{seconds}}}}}"#
    ))
    .map_err(|trouble| trouble.to_string())?;
    let WorkloadSpec::Ycsb(options) = &spec.workload else {
        return Err("the document above asks for YCSB".into());
    };
    let workload = Ycsb::new(options, spec.seed, spec.client).map_err(|trouble| trouble.to_string())?;
    let driver = bakeoff_drivers::sqlite::driver(&spec).map_err(|trouble| trouble.to_string())?;
    let control = Arc::new(Control::default());
    control.start_now();
    let driver = object(driver, |session| AnyRecords::of_sql(AnySql::beneath(session)));
    execute(&spec, driver, workload, control, Arc::new(drop)).map_err(|trouble| trouble.to_string().into())
}
