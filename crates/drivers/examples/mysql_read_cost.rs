//! What the mysql driver costs its client: CPU and memory of reading 1 KB rows by key, apart from any workload.
//!
//! `BAKEOFF_TEST_MYSQL=mysql://user@host:port/schema BAKEOFF_TEST_MYSQL_PASSWORD=... \
//!  cargo run --release -p bakeoff-drivers --example mysql_read_cost -- SESSIONS SECONDS WORKERS`
//! Compare with `sysbench oltp_point_select` on the same server. Loads 100,000 rows on first use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // a bench by hand
#[path = "../tests/bench/mod.rs"]
mod bench;

use bakeoff_drivers::mysql::wire::WireDriver;
use bakeoff_model::record::{Fields, Record, RecordSession, Table, TableSpec, ValueType};
use bench::{mysql_spec, open, run_on_reactor, wire_driver};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: u64 = 100_000;
const BATCH_ROWS: u64 = 1000;
const T: Table = Table(0);

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().unwrap());
    let (sessions, seconds, workers) = (
        args.next().unwrap_or(8),
        args.next().unwrap_or(5),
        args.next().unwrap_or(1),
    );
    let driver = Arc::new(wire_driver(mysql_spec().expect("a server"), None));
    run_on_reactor(load(&driver));
    let idle_bytes = memory_bytes();
    let threads: Vec<_> = (0..workers)
        .map(|worker| {
            let driver = driver.clone();
            std::thread::spawn(move || {
                read(&driver, worker, sessions / workers, Duration::from_secs(seconds))
            })
        })
        .collect();
    let (mut ops, mut cpu_s, mut took_s) = (0, 0.0, 0.0);
    for thread in threads {
        let (of_thread, cpu, took) = thread.join().unwrap();
        ops += of_thread;
        cpu_s += cpu;
        took_s = took;
    }
    println!(
        "{sessions} sessions, {workers} workers: {:.0} reads/s, {:.2} us CPU per read, {:.1} MB before, {:.1} MB now",
        ops as f64 / took_s,
        cpu_s * 1e6 / ops as f64,
        idle_bytes as f64 / 1e6,
        memory_bytes() as f64 / 1e6,
    );
}

fn usertable() -> TableSpec {
    TableSpec {
        name: "read_cost".into(),
        key_column: "YCSB_KEY".into(),
        key_length: 255,
        field_names: (0..10).map(|i| format!("FIELD{i}")).collect(),
        value_type: ValueType::Text,
    }
}

async fn load(driver: &WireDriver) {
    let spec = usertable();
    let mut session = open(driver).await.unwrap();
    session.attach(std::slice::from_ref(&spec)).await.unwrap();
    if session.table_exists(&spec).await.unwrap() && session.count(T).await.unwrap() == ROWS {
        return;
    }
    session.drop_table(&spec).await.unwrap();
    session.create_table(&spec).await.unwrap();
    let bytes = vec![b'x'; 1000];
    let ends: Vec<u32> = (1..=10).map(|i| i * 100).collect();
    let begin = Instant::now();
    for batch in 0..ROWS / BATCH_ROWS {
        let keys: Vec<String> = (0..BATCH_ROWS)
            .map(|i| format!("user{}", batch * BATCH_ROWS + i))
            .collect();
        let records: Vec<Record<'_>> = keys
            .iter()
            .map(|key| Record {
                key: key.as_bytes(),
                bytes: &bytes,
                ends: &ends,
            })
            .collect();
        session.insert_batch(T, &records).await.unwrap();
    }
    println!("loaded {ROWS} rows in {:.1} s", begin.elapsed().as_secs_f64());
}

fn read(driver: &WireDriver, worker: u64, sessions: u64, time: Duration) -> (u64, f64, f64) {
    run_on_reactor(async {
        let done = Rc::new(std::cell::Cell::new(0u64));
        let mut open_sessions = Vec::new();
        for _ in 0..sessions {
            let mut session = open(driver).await.unwrap();
            session.attach(&[usertable()]).await.unwrap();
            session.read(T, b"user1", Fields::All).await.unwrap();
            open_sessions.push(session);
        }
        let (begin, cpu_before_s) = (Instant::now(), thread_cpu_s());
        let users: Vec<_> = open_sessions
            .into_iter()
            .enumerate()
            .map(|(i, mut session)| {
                let done = done.clone();
                async move {
                    let mut random = worker << 32 | i as u64 | 1;
                    let mut key = Vec::new();
                    while begin.elapsed() < time {
                        random = random
                            .wrapping_mul(6364136223846793005)
                            .wrapping_add(1442695040888963407);
                        key.clear();
                        std::io::Write::write_fmt(&mut key, format_args!("user{}", (random >> 33) % ROWS))
                            .unwrap();
                        let row = session.read(T, &key, Fields::All).await.unwrap();
                        assert_eq!(row.unwrap().len(), 11);
                        done.set(done.get() + 1);
                    }
                }
            })
            .collect();
        bakeoff_reactor::join_all(users).await;
        (
            done.get(),
            thread_cpu_s() - cpu_before_s,
            begin.elapsed().as_secs_f64(),
        )
    })
}

/// CPU time of this thread, from the kernel's run-time counter in ns.
fn thread_cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
