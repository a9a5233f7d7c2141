//! The client as the latency probe sees it.
use crate::bench::{HALF_A_SECOND, Reply, pause, run, spec, try_run};
use bakeoff_measure::Control;
use bakeoff_model::outcome::Outcome;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[test]
fn the_latency_probe_is_recorded_apart_and_compared_by_operation() {
    let extra = r#","threads":2,"latency_probe_rate_ops_per_s":50,"limit":{"kind":"time","window_s":3600}"#;
    let control = Arc::new(Control::default());
    let stopper = control.clone();
    let asked = [AtomicU64::new(0), AtomicU64::new(0)];
    let ran = try_run(&spec(extra), control, move |_| {
        let by_latency_probe = std::thread::current().name() == Some("latency-probe");
        asked[usize::from(by_latency_probe)].fetch_add(1, SeqCst);
        if asked.iter().all(|asked| asked.load(SeqCst) > 10) {
            stopper.stop();
        }
        pause(2)
    })
    .unwrap();
    let latency_probe = ran.result.latency_probe.as_ref().unwrap();
    assert_eq!(latency_probe.operation, "op");
    assert!(latency_probe.service.count >= 10 && latency_probe.service.min_ns >= 2_000_000);
    let most = (ran.result.window_end_s * 50.0).ceil() as u64;
    assert!(
        latency_probe.service.count <= most,
        "{} of {most}",
        latency_probe.service.count
    );
    let ok = ran.series(Outcome::Ok).unwrap();
    assert_eq!(
        latency_probe.median_ratio,
        Some(ok.service.p50_ns as f64 / latency_probe.service.p50_ns as f64)
    );
    assert_eq!(ran.opened, 3);
}

#[test]
fn a_worker_that_never_waits_for_answers_works_or_waits_for_a_core() {
    let spec = spec(&format!(r#","threads":4{HALF_A_SECOND}"#));
    let (before_s, ran, after_s) = (cpu_s(), run(&spec, |_| Reply::Right), cpu_s());
    let cost = &ran.result.cost;
    let worker = &cost.workers[0];
    // How it divides between the two is the machine's affair.
    assert!(
        worker.busy_ratio + worker.run_queue_delay_ratio > 0.5,
        "{worker:?}"
    );
    let spent_s = cost.cpu_user_s + cost.cpu_system_s;
    assert!(spent_s > 0.0 && spent_s <= after_s - before_s, "{cost:?}");
}

/// Of this process until now.
fn cpu_s() -> f64 {
    // SAFETY: a plain structure, filled by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
