//! Times a step: the median of 15 rounds, because the machine has other work. The loop itself is included.
use std::time::Instant;

const ROUNDS: usize = 15;
const STEPS: u32 = 200_000;

pub fn measure(name: &str, mut step: impl FnMut()) {
    let wanted = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    if wanted.is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..STEPS).for_each(|_| step());
            start.elapsed().as_nanos() as f64 / f64::from(STEPS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!(
        "{name:<44} {:>7.1} ns  (fastest round {:.1})",
        rounds[ROUNDS / 2],
        rounds[0]
    );
}
