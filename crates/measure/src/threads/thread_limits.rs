//! How many threads this machine has room for. To try and see is no way of finding out: the thread that cannot map a stack for
//! its signals aborts the process, and one that takes the last number leaves none for anybody else.
use bakeoff_model::outcome::{Trouble, TroubleKind};
use std::path::{Path, PathBuf};

/// Mappings of a thread: two stacks with a guard each. (Counted with 10,000 threads: 3.3, recorders included.)
const MAPPINGS: u64 = 4;
/// Left for the rest of the process or machine.
const SPARE: u64 = 1000;

/// One bound, and who could raise it.
struct Bound {
    threads: u64,
    knob: String,
}

/// Refuses what cannot be had, before any of it is made.
pub fn check(threads: u64) -> Result<(), Trouble> {
    refuse(threads, bounds())
}

fn refuse(threads: u64, bounds: Vec<Bound>) -> Result<(), Trouble> {
    let tightest = bounds.into_iter().min_by_key(|bound| bound.threads);
    match tightest.filter(|bound| bound.threads < threads) {
        None => Ok(()),
        Some(Bound { threads: most, knob }) => Err(Trouble::new(
            TroubleKind::Environment,
            format!("{threads} threads of the operating system cannot be had here: there is room for {most}"),
            "run.json: threads",
            format!("ask for fewer threads, take a runner that needs none for each, or raise {knob}"),
        )),
    }
}

fn bounds() -> Vec<Bound> {
    let kernel = |name: &str, per_thread: u64| {
        let most = number(Path::new("/proc/sys").join(name))?;
        Some(Bound {
            threads: most.saturating_sub(SPARE) / per_thread,
            knob: name.replace('/', "."),
        })
    };
    let mut found: Vec<Bound> = [
        kernel("vm/max_map_count", MAPPINGS),
        kernel("kernel/threads-max", 1),
        kernel("kernel/pid_max", 1),
    ]
    .into_iter()
    .flatten()
    .collect();
    found.extend(user_bound());
    found.extend(cgroup_bounds());
    found
}

fn number(path: PathBuf) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The limit of the user's processes; root has none.
fn user_bound() -> Option<Bound> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: fills the structure it is given; the other call only asks.
    let bounded = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) == 0 && libc::geteuid() != 0 };
    (bounded && limit.rlim_cur != libc::RLIM_INFINITY).then(|| Bound {
        threads: limit.rlim_cur,
        knob: "the limit of processes (ulimit -u)".into(),
    })
}

/// `pids.max` of our control group and those around it, in either version, less what runs there.
fn cgroup_bounds() -> Vec<Bound> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let ours = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let root = match parts.next()? {
            "" => "/sys/fs/cgroup",
            "pids" => "/sys/fs/cgroup/pids",
            _ => return None,
        };
        Some((root, parts.next()?.trim_start_matches('/').to_owned()))
    });
    let around = ours.flat_map(|(root, path)| {
        let own = Path::new(root).join(path);
        own.ancestors()
            .take_while(|group| group.starts_with(root))
            .map(Path::to_owned)
            .collect::<Vec<_>>()
    });
    let bound = |group: PathBuf| {
        let most = number(group.join("pids.max"))?;
        let taken = number(group.join("pids.current")).unwrap_or(0);
        Some(Bound {
            threads: most.saturating_sub(taken),
            knob: format!("pids.max of the control group {}", group.display()),
        })
    };
    around.filter_map(bound).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(threads: u64, knob: &str) -> Bound {
        Bound {
            threads,
            knob: knob.into(),
        }
    }

    #[test]
    fn the_tightest_bound_is_named() {
        let two = || vec![bound(500, "vm.max_map_count"), bound(200, "ulimit -u")];
        assert!(refuse(200, two()).is_ok());
        let trouble = refuse(201, two()).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Environment);
        assert!(trouble.what.contains("201 threads") && trouble.what.contains("room for 200"));
        assert!(trouble.hint.contains("ulimit -u"), "{trouble}");
        assert!(refuse(1_000_000, vec![]).is_ok(), "a kernel that tells nothing");
    }

    #[test]
    fn this_machine_has_bounds_and_room_for_a_few() {
        assert!(!bounds().is_empty());
        assert!(check(2).is_ok());
    }
}
