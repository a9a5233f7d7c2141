//! What the measuring process costs, as the kernel counts it: `getrusage`, `/proc/self/task/*/schedstat`,
//! `/proc/stat`, `/proc/cpuinfo`. Read twice, at the window's ends; what a kernel does not tell counts as 0.
use crate::record::recorder::Recorder;
use bakeoff_model::event::{ClientCost, WorkerCost};
use bakeoff_model::time::now_ns;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub struct Snapshot {
    at_ns: u64,
    user_s: f64,
    system_s: f64,
    memory_peak_bytes: u64,
    switches_voluntary: u64,
    switches_involuntary: u64,
    steal_ticks: u64,
    all_ticks: u64,
    threads: Vec<ThreadTimes>,
}

#[derive(Clone, Copy, Default)]
struct ThreadTimes {
    cpu_ns: u64,
    /// Runnable, but without a core.
    delay_ns: u64,
    /// Of `cpu_ns`: spinning for a deadline.
    spin_ns: u64,
}

impl Snapshot {
    /// `thread_ids` are the kernel's, one per recorder.
    pub fn take(thread_ids: &[i32], recorders: &[Arc<Recorder>]) -> Self {
        let usage = usage();
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        let (steal_ticks, all_ticks) = read("/proc/stat").as_deref().map_or((0, 0), steal_and_all);
        Self {
            at_ns: now_ns(),
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            memory_peak_bytes: memory_peak_bytes().unwrap_or(usage.ru_maxrss as u64 * 1024),
            switches_voluntary: usage.ru_nvcsw as u64,
            switches_involuntary: usage.ru_nivcsw as u64,
            steal_ticks,
            all_ticks,
            threads: thread_ids
                .iter()
                .zip(recorders)
                .map(|(id, recorder)| thread_times(*id, recorder))
                .collect(),
        }
    }
}

/// CPU time of this process so far.
pub fn cpu_ns() -> u64 {
    let usage = usage();
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// CPU time of the calling thread so far.
pub fn thread_cpu_ns() -> u64 {
    let mut spent = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure; a thread's own clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut spent) };
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

fn usage() -> libc::rusage {
    // SAFETY: a plain structure, filled by the call; RUSAGE_SELF cannot fail.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// First line of /proc/stat: user nice system idle iowait irq softirq steal (guest is part of user).
fn steal_and_all(stat: &str) -> (u64, u64) {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = first
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|t| t.parse().ok())
        .collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}

fn thread_times(thread_id: i32, recorder: &Recorder) -> ThreadTimes {
    let counters = &recorder.counters;
    // First whether it had ended: it may do so while /proc is read, and then writes down its last figures before.
    let alive = schedstat(&format!("/proc/self/task/{thread_id}/schedstat"));
    let (cpu_ns, delay_ns) = match counters.ended_cpu_ns.load(Acquire) {
        0 => alive,
        ended_cpu_ns => (ended_cpu_ns, counters.ended_delay_ns.load(Relaxed)),
    };
    ThreadTimes {
        cpu_ns,
        delay_ns,
        spin_ns: counters.spin_ns.load(Relaxed),
    }
}

/// CPU time and run-queue delay, ns.
fn schedstat(path: &str) -> (u64, u64) {
    let text = read(path).unwrap_or_default();
    let mut numbers = text.split_whitespace().filter_map(|n| n.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The calling thread has done its work; what it cost must outlive its entry in /proc.
pub fn write_down(recorder: &Recorder) {
    let (cpu_ns, delay_ns) = schedstat("/proc/thread-self/schedstat");
    recorder.counters.ended_delay_ns.store(delay_ns, Relaxed);
    recorder.counters.ended_cpu_ns.store(cpu_ns, Release);
}

pub fn cost_between(before: &Snapshot, after: &Snapshot) -> ClientCost {
    let span_ns = after.at_ns.saturating_sub(before.at_ns).max(1) as f64;
    let all_ticks = after.all_ticks.saturating_sub(before.all_ticks).max(1);
    let worker = |(before, after): (&ThreadTimes, &ThreadTimes)| {
        let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns) as f64;
        let spin_ns = after.spin_ns.saturating_sub(before.spin_ns) as f64;
        WorkerCost {
            busy_ratio: ((cpu_ns - spin_ns) / span_ns).clamp(0.0, 1.0),
            run_queue_delay_ratio: (after.delay_ns.saturating_sub(before.delay_ns) as f64 / span_ns).min(1.0),
        }
    };
    ClientCost {
        cpu_user_s: after.user_s - before.user_s,
        cpu_system_s: after.system_s - before.system_s,
        memory_peak_bytes: after.memory_peak_bytes,
        context_switches_voluntary: after.switches_voluntary - before.switches_voluntary,
        context_switches_involuntary: after.switches_involuntary - before.switches_involuntary,
        workers: before.threads.iter().zip(&after.threads).map(worker).collect(),
        steal_ratio: after.steal_ticks.saturating_sub(before.steal_ticks) as f64 / all_ticks as f64,
        cpu_mhz: read("/proc/cpuinfo").as_deref().and_then(mean_mhz),
    }
}

fn mean_mhz(cpuinfo: &str) -> Option<f64> {
    let lines = cpuinfo.lines().filter(|line| line.starts_with("cpu MHz"));
    let all: Vec<f64> = lines
        .filter_map(|line| line.split(':').nth(1)?.trim().parse().ok())
        .collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Largest resident memory since this program began. Not `ru_maxrss`: that one begins at the size of whoever forked us.
fn memory_peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_steal_and_the_sum_from_the_kernels_line() {
        assert_eq!(steal_and_all("cpu  10 1 5 80 2 0 1 7 3 0\ncpu0 1 1"), (7, 106));
        assert_eq!(steal_and_all(""), (0, 0));
    }

    #[test]
    fn means_the_frequencies_of_all_cores() {
        assert_eq!(
            mean_mhz("cpu MHz\t\t: 2000.0\nx\ncpu MHz\t\t: 3000.0\n"),
            Some(2500.0)
        );
        assert_eq!(mean_mhz("nothing"), None);
    }

    #[test]
    fn a_spinning_thread_is_not_busy_and_a_working_one_is() {
        let recorder = Arc::new(Recorder::new(1, 1, 1));
        // SAFETY: asks for the calling thread's number.
        let id = [unsafe { libc::syscall(libc::SYS_gettid) } as i32];
        // Of the processor's time, not the wall's: another process may want the core, too.
        let spend = |cpu_ns: u64| {
            let spent_ns = || schedstat("/proc/thread-self/schedstat").0;
            let until_ns = spent_ns() + cpu_ns;
            while spent_ns() < until_ns {}
        };
        let recorders = [recorder.clone()];
        let start = Snapshot::take(&id, &recorders);
        spend(50_000_000);
        let worked = Snapshot::take(&id, &recorders);
        spend(50_000_000);
        let spun_ns = now_ns() - worked.at_ns;
        recorder.counters.spin_ns.store(spun_ns, Relaxed);
        let spun = Snapshot::take(&id, &recorders);
        let busy = |a, b| cost_between(a, b).workers[0].busy_ratio;
        let busy_ns = busy(&start, &worked) * (worked.at_ns - start.at_ns) as f64;
        assert!((40e6..1e9).contains(&busy_ns), "{busy_ns}");
        assert!(busy(&worked, &spun) < 0.1, "{}", busy(&worked, &spun));
    }
}
