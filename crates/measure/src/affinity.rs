//! Which cores this process may use.
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
