//! Which cores this process may use, and how it shares them.
use bakeoff_model::outcome::{Trouble, TroubleKind};

/// Cores the calling thread may run on, in order.
pub fn allowed() -> Vec<u32> {
    // SAFETY: a plain set of bits, filled by the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return vec![0];
        }
        (0..libc::CPU_SETSIZE as u32)
            .filter(|core| libc::CPU_ISSET(*core as usize, &set))
            .collect()
    }
}

/// The calling thread, when it is woken, waits for its turn instead of interrupting who is running (SCHED_BATCH). On
/// cores that a client shares with its server it then finds several answers where it would have found one, and neither
/// pays for a switch per answer (docs/method/reactor.md); where nobody else runs it changes nothing. Best effort.
pub fn wait_for_turn() {
    let ordinary = libc::sched_param { sched_priority: 0 };
    // SAFETY: affects the calling thread only; fails without effect where it is not allowed.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &ordinary) };
}

/// Pins as [`pin`] does, where there are any to pin to; returns the cores that are left to use.
pub fn keep_to(cores: &[u32]) -> Result<Vec<u32>, Trouble> {
    if !cores.is_empty() {
        pin(cores)?;
    }
    Ok(allowed())
}

/// Pins the calling thread, and all threads it will start, to these cores.
pub fn pin(cores: &[u32]) -> Result<(), Trouble> {
    let unknown = cores.iter().find(|core| **core >= libc::CPU_SETSIZE as u32);
    // SAFETY: bits below CPU_SETSIZE only; affects the calling thread.
    let pinned = unknown.is_none()
        && unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            cores
                .iter()
                .for_each(|core| libc::CPU_SET(*core as usize, &mut set));
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
        };
    if pinned {
        return Ok(());
    }
    Err(Trouble::new(
        TroubleKind::Environment,
        format!("could not pin to cores {cores:?}"),
        "run.json: cores",
        format!("this process may use cores {:?}", allowed()),
    ))
}
